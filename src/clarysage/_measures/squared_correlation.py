"""Squared correlation: the share of the variance of y that each feature explains linearly, by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clarysage._measures.examples import taken_apart
from clarysage._measures.linear_design import as_columns, linear_design, numbers_of, scaled
from clarysage._measures.options import with_shared_options
from clarysage._measures.player_order import PlayerOrder, column_names
from clarysage._measures.provenance import fingerprint, fingerprint_of_rows, versions
from clarysage._measures.table import MEASURES
from clarysage.errors import InputError, Note
from clarysage.inference.estimate import StopReason, Target
from clarysage.inference.population import about_rows
from clarysage.protocols import GroupsLike, ModelLike, TableLike, TargetLike, WeightsLike
from clarysage.results import Explanation
from clarysage.tables import read_target, read_weights, schema_of

SECOND_ORDER = 2.0  # of what chance explains of a column, squared: its variance, as that of chi-square
BY_CHANCE = 0.05  # of the variance, that a feature may seem to explain without a note


@with_shared_options(otherwise="values are found from X and y in one pass")
def squared_correlation(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    groups: GroupsLike | None = None,
    sample_weight: WeightsLike | None = None,
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
    table, y, sample_weight = taken_apart(X, y, sample_weight)
    if y is None:
        raise InputError("y", got="None", wanted="a response for each row of X")
    target, weights = read_target(y, table, len(table)), read_weights(sample_weight, table, len(table))
    player_order = PlayerOrder.of(column_names(table, feature_names), table, groups=groups)
    schema = schema_of(table)
    rows = schema.encode(table, "X")
    codes, is_number = numbers_of(schema, rows)
    is_weighted = weights > 0
    responses = _centred(as_columns(target, model)[is_weighted], weights[is_weighted])
    shares = [
        _share(codes[np.ix_(is_weighted, columns)], is_number[columns], responses, weights[is_weighted])
        for columns in (
            np.flatnonzero(player_order.players.owner == player) for player in range(len(player_order.players))
        )
    ]
    p, names, row = len(shares), player_order.players.names, MEASURES["squared correlation"]
    return Explanation(
        values=np.array([share.value for share in shares]),
        std_error=np.zeros(p),
        covariance=np.zeros((p, p)),
        dof=np.ones(p),
        feature_names=names,
        total=None,
        base=None,
        model_rows=0,
        draws=0,
        stopped=StopReason.EXACT,
        measure=row.name,
        loss="squared error",
        removal="none",
        method="closed form",
        constant=0.0,
        groups=player_order.members,
        headline=row.headline,
        targets=_targets(shares),
        values_are=row.values_are,
        held_fixed="nothing",
        notes=tuple(note for name, share in zip(names, shares, strict=True) for note in share.notes(name)),
        provenance={
            **versions(),
            "examples": len(table),
            "columns": schema.width,
            "fingerprints": {
                "X": fingerprint_of_rows(rows, schema),
                "y": fingerprint(target),
                "weights": fingerprint(weights),
            },
        },
    )


@dataclass(frozen=True)
class Share:
    """Share of the variance that one player explains.

    Attributes
    ----------
    value : R^2 on these rows
    target : what it says of the population of rows; None where there is one row alone
    by_chance : what as many columns would explain on average if they told nothing
    """

    value: float
    target: Target | None
    by_chance: float

    def notes(self, name: str) -> list[Note]:
        """A note where so many categories, or columns, explain much by themselves."""
        if self.by_chance <= BY_CHANCE:
            return []
        text = (
            f"{name!r} would seem to explain {100 * self.by_chance:.0f} % if it told nothing, by its categories or "
            "columns alone: they are many for so few rows."
        )
        return [Note(text)]


def _share(cells: np.ndarray, is_number: np.ndarray, responses: np.ndarray, weights: np.ndarray) -> Share:
    """R^2 of centred responses (n, k) by the columns (n, c) of one player, and its influence function."""
    variance = weights @ (responses**2).sum(axis=1)
    if variance == 0:  # a constant response leaves nothing to explain
        influence, value = np.zeros(len(cells)), 0.0
    else:
        fitted = _fitted(cells, is_number, responses, weights)
        value = float(weights @ (fitted**2).sum(axis=1) / variance)
        spread, residual = (responses**2).sum(axis=1), ((responses - fitted) ** 2).sum(axis=1)
        influence = ((1 - value) * spread - residual) / variance
    n, parameters = len(cells), _parameters(cells, is_number)
    by_chance = min(1.0, parameters / max(1, n - 1))
    second = SECOND_ORDER * parameters * ((1 - value) * float(weights @ weights)) ** 2 if variance > 0 else 0.0
    parts = (weights * (value + influence))[:, None]
    return Share(value, about_rows(np.array([value]), parts, weights, second), by_chance)


def _fitted(cells: np.ndarray, is_number: np.ndarray, responses: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Predictions (n, k) of centred responses by the linear model on the columns."""
    if cells.shape[1] == 1 and not is_number[0]:
        return _category_means(cells[:, 0], responses, weights)
    from clarysage.models.least_squares import LeastSquares  # late, since it comes with scikit-learn

    matrix, _ = linear_design(cells, is_number, weights)
    return LeastSquares().fit(matrix, responses, weights).predict(matrix)


def _parameters(cells: np.ndarray, is_number: np.ndarray) -> int:
    """Numbers that a linear model on the columns has to choose: k - 1 for k categories."""
    distinct = [len(np.unique(column)) for column in cells.T]  # which takes all NaN for one value
    has_missing = np.isnan(cells).any(axis=0)
    return sum(
        min(values - 1, 1 + int(is_missing)) if is_numeric else values - 1
        for values, is_missing, is_numeric in zip(distinct, has_missing, is_number, strict=True)
    )


def _category_means(codes: np.ndarray, responses: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean responses of the category of each row; for very many categories the same as the linear model, but fast."""
    _, category = np.unique(codes, return_inverse=True)  # which takes all NaN for one value
    category = category.ravel()
    means = [np.bincount(category, weights * response) / np.bincount(category, weights) for response in responses.T]
    return np.column_stack([of_category[category] for of_category in means])


def _centred(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Responses (n, k) less their means, in units in which the largest variance is one; zeros where constant."""
    largest = float(np.abs(columns).max()) or 1.0
    centred = columns / largest - weights @ (columns / largest)
    is_constant = np.array([not scaled(column, weights).any() for column in columns.T])
    centred[:, is_constant] = 0.0
    spread = float(np.sqrt((weights @ centred**2).max()))
    return centred / (spread or 1.0)


def _targets(shares: Sequence[Share]) -> dict[str, Target]:
    targets = [share.target for share in shares if share.target is not None]
    if len(targets) < len(shares):  # of one row nothing can be learned about others
        return {}
    parts = (
        np.concatenate([getattr(target, part) for target in targets]) for part in ("values", "std_error", "dof", "skew")
    )
    return {"rows": Target(*parts)}
