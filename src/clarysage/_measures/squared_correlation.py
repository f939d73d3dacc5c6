"""Squared correlation: the share of the variance of y that each feature explains linearly, by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage._measures.examples import taken_apart
from clarysage._measures.linear_design import linear_design, numbers_of, scaled
from clarysage._measures.lineup import Lineup, column_names
from clarysage._measures.provenance import fingerprint, fingerprint_of_rows, versions
from clarysage._measures.response import as_columns
from clarysage._measures.table import MEASURES
from clarysage.errors import InputError, as_note
from clarysage.inference.estimate import StopReason, Target
from clarysage.inference.population import about_rows
from clarysage.results import Explanation
from clarysage.tables import read_target, read_weights, schema_of

MEASURE = "squared correlation"
SECOND_ORDER = 2.0  # of what chance explains of a column, squared: its variance, as that of chi-square
BY_CHANCE = 0.05  # of the variance, that a feature may seem to explain without a note


def squared_correlation(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    r"""Squared correlation: the share of the variance of y that each feature alone explains linearly.

    .. math:: \phi_i = \mathrm{Corr}(X_i, Y)^2, \qquad \phi_0 = 0    (Table 3)

    Where a feature is not one column of numbers it is R^2 of the linear model on what stands for it, which is the same
    for one column. For a column of categories that is the correlation ratio, the share of the variance of y that lies
    between the means of categories.

    Parameters
    ----------
    model : looked at for no more than whether numbers in y are classes; may be None
    X, y : rows, all of which are used. Missing cells are a category of their own; a column of numbers with missing
        cells is that of numbers, its mean in their place, and a mark for missing
    groups : mapping of names to columns whose share is that of the linear model on all of them
    sample_weight : one weight a row
    feature_names : names for the columns, where X has none or others are wanted

    Returns
    -------
    Explanation, without ``base`` and ``total``: values are shares, and no model is judged

    Notes
    -----
    Classes are as many indicators, and several responses several columns: what is explained of each is added up, and
    divided by the sum of their variances. Of two classes it is the squared point-biserial correlation, and of classes
    by categories Goodman and Kruskal's tau.

    A constant column explains nothing. R^2 of few rows is too large: by about (k - 1) / N for k categories that tell
    nothing, or k columns of a group.

    Intervals are about the population of rows, by the influence of each row on R^2,

    .. math:: \frac{(1 - R^2) (y - \bar y)^2 - (y - \hat y)^2}{\mathrm{Var}(y)}

    and by what chance adds, 2 k ((1 - R^2) / N)^2 for k numbers that the linear model has to choose, without which they
    would be too narrow near 0. R^2 is not normal there: they may reach below it.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = squared_correlation(None, X, 3 * X[:, 0] + X[:, 1])
    >>> bool(np.isclose(explanation.values[0], np.corrcoef(X[:, 0], 3 * X[:, 0] + X[:, 1])[0, 1] ** 2))
    True
    """
    X, y, sample_weight = taken_apart(X, y, sample_weight)
    if y is None:
        raise InputError("y", got="None", wanted="a response for each row of X")
    target, mass = read_target(y, X, len(X)), read_weights(sample_weight, X, len(X))
    lineup = Lineup.of(column_names(X, feature_names), X, groups=groups)
    schema = schema_of(X)
    rows = schema.encode(X, "X")
    codes, is_number = numbers_of(schema, rows)
    there = mass > 0
    responses = _centred(as_columns(target, model)[there], mass[there])
    shares = [
        _share(codes[np.ix_(there, columns)], is_number[columns], responses, mass[there])
        for columns in (np.flatnonzero(lineup.players.owner == player) for player in range(len(lineup.players)))
    ]
    p, names = len(shares), lineup.players.names
    return Explanation(
        values=np.array([one.value for one in shares]), std_error=np.zeros(p), covariance=np.zeros((p, p)),
        dof=np.ones(p), feature_names=names, total=None, base=None, model_rows=0, draws=0,
        stopped=StopReason.EXACT, measure=MEASURE, loss="squared error", removal="none", method="closed form",
        constant=0.0, groups=lineup.members, headline=MEASURES[MEASURE].headline, targets=_targets(shares),
        held_fixed="nothing",
        notes=tuple(as_note(note) for name, one in zip(names, shares, strict=True) for note in one.notes(name)),
        provenance={
            **versions(), "examples": len(X), "columns": schema.width,
            "fingerprints": {
                "X": fingerprint_of_rows(rows, schema), "y": fingerprint(target), "weights": fingerprint(mass),
            },
        },
    )  # fmt: skip


@dataclass(frozen=True)
class Share:
    """Of the variance, that is explained, and what it says of the population of rows, where there are several.

    ``by_chance`` is what as many columns would explain on average that tell nothing.
    """

    value: float
    about: Target | None
    by_chance: float

    def notes(self, name: str) -> list[str]:
        """A word where so many categories, or columns, explain much by themselves."""
        if self.by_chance <= BY_CHANCE:
            return []
        return [f"{name!r} would seem to explain {100 * self.by_chance:.0f} % if it told nothing, by its categories or "
                "columns alone: they are many for so few rows."]  # fmt: skip


def _share(cells: np.ndarray, is_number: np.ndarray, responses: np.ndarray, mass: np.ndarray) -> Share:
    """R^2 of centred responses (n, k) by the columns (n, c) of one player, and its influence function."""
    whole = mass @ (responses**2).sum(axis=1)
    if whole == 0:  # a constant response leaves nothing to explain
        residual, value = np.zeros(len(cells)), 0.0
    else:
        fitted = _fitted(cells, is_number, responses, mass)
        value = float(mass @ (fitted**2).sum(axis=1) / whole)
        spread, left = (responses**2).sum(axis=1), ((responses - fitted) ** 2).sum(axis=1)
        residual = ((1 - value) * spread - left) / whole
    n, free = len(cells), _free(cells, is_number)
    by_chance = min(1.0, free / max(1, n - 1))
    second = SECOND_ORDER * free * ((1 - value) * float(mass @ mass)) ** 2 if whole > 0 else 0.0
    parts = (mass * (value + residual))[:, None]
    return Share(value, about_rows(np.array([value]), parts, mass, second), by_chance)


def _fitted(cells: np.ndarray, is_number: np.ndarray, responses: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """What the linear model on the columns predicts of centred responses, (n, k)."""
    if cells.shape[1] == 1 and not is_number[0]:
        return _means(cells[:, 0], responses, mass)
    from clarysage.models.least_squares import LeastSquares  # late, since it comes with scikit-learn

    matrix, _ = linear_design(cells, is_number, mass)
    return LeastSquares().fit(matrix, responses, mass).predict(matrix)


def _free(cells: np.ndarray, is_number: np.ndarray) -> int:
    """Numbers that a linear model on the columns has to choose: k - 1 for k categories."""
    distinct = [len(np.unique(column)) for column in cells.T]  # which takes all NaN for one value
    missing = np.isnan(cells).any(axis=0)
    return sum(
        min(values - 1, 1 + int(is_missing)) if is_one else values - 1
        for values, is_missing, is_one in zip(distinct, missing, is_number, strict=True)
    )


def _means(codes: np.ndarray, responses: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Mean responses of the category of each row; for very many categories the same as the linear model, but fast."""
    _, place = np.unique(codes, return_inverse=True)  # which takes all NaN for one value
    place = place.ravel()
    sums = [np.bincount(place, mass * response) / np.bincount(place, mass) for response in responses.T]
    return np.column_stack([means[place] for means in sums])


def _centred(columns: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Responses (n, k) less their means, in units in which the largest variance is one; zeros where constant."""
    largest = float(np.abs(columns).max()) or 1.0
    centred = columns / largest - mass @ (columns / largest)
    is_constant = np.array([not scaled(column, mass).any() for column in columns.T])
    centred[:, is_constant] = 0.0
    spread = float(np.sqrt((mass @ centred**2).max()))
    return centred / (spread or 1.0)


def _targets(shares: list[Share]) -> dict[str, Target]:
    about = [one.about for one in shares if one.about is not None]
    if len(about) < len(shares):  # of one row nothing can be learned about others
        return {}
    return {
        "rows": Target(
            *(np.concatenate([getattr(one, part) for one in about]) for part in ("values", "std_error", "dof", "skew"))
        )
    }
