"""Squared correlation: R^2 of the linear model of y on each single feature (for categories the correlation ratio)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clarysage._measures.examples import separate_targets
from clarysage._measures.linear_design import as_columns, linear_design, numeric_codes, standardise
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

SECOND_ORDER = 2.0  # variance of chi-square for each degree of freedom: of R^2 by chance, in second order
BY_CHANCE = 0.05  # expected R^2 of an uninformative feature, above which a note warns


@with_shared_options(otherwise="values are computed from X and y in one pass")
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

    For a feature that is not one column of numbers the value is R^2 of the linear model on the columns that encode it,
    which is the squared correlation for one column. For a column of categories it is the correlation ratio: the share
    of the variance of y that is between categories.

    Parameters
    ----------
    model : used only to decide whether numbers in y are classes; may be None
    X, y : rows, all of which are used. Missing categories are a category; missing numbers are replaced by the mean,
        with an indicator of missing cells as a second column
    groups : mapping of names to columns; the value of a group is R^2 of the linear model on all of its columns
    sample_weight : one weight for each row
    feature_names : names of the columns, if X has none or to replace them

    Returns
    -------
    Explanation, without ``base`` and ``total``: values are shares, and no model is evaluated

    Notes
    -----
    Each class is an indicator, and several responses are several columns: the explained variances are added up, and
    divided by the sum of all variances. For two classes the value is the squared point-biserial correlation, and for
    classes and a categorical feature Goodman and Kruskal's tau.

    A constant column has the value zero. R^2 is biased upwards for few rows: by about (k - 1) / N for k uninformative
    categories, or for a group of k columns.

    Intervals are about the population of rows, by the influence function of R^2,

    .. math:: \frac{(1 - R^2) (y - \bar y)^2 - (y - \hat y)^2}{\mathrm{Var}(y)}

    and by the second-order variance 2 k ((1 - R^2) / N)^2 for k parameters of the linear model, without which intervals
    would be too narrow near 0. R^2 is not normally distributed there, and intervals may include negative values.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = squared_correlation(None, X, 3 * X[:, 0] + X[:, 1])
    >>> bool(np.isclose(explanation.values[0], np.corrcoef(X[:, 0], 3 * X[:, 0] + X[:, 1])[0, 1] ** 2))
    True
    """
    table, y, sample_weight = separate_targets(X, y, sample_weight)
    if y is None:
        raise InputError("y", got="None", wanted="a response for each row of X")
    target, weights = read_target(y, table, len(table)), read_weights(sample_weight, table, len(table))
    player_order = PlayerOrder.of(column_names(table, feature_names), table, groups=groups)
    schema = schema_of(table)
    rows = schema.encode(table, "X")
    codes, is_number = numeric_codes(schema, rows)
    is_weighted = weights > 0
    responses = _centre(as_columns(target, model)[is_weighted], weights[is_weighted])
    shares = [
        _explained_share(codes[np.ix_(is_weighted, columns)], is_number[columns], responses, weights[is_weighted])
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
class ExplainedShare:
    """The share of the variance that one player explains.

    Attributes
    ----------
    value : R^2 on these rows
    target : the estimate for the population of rows; None for a single row
    by_chance : the expected share that as many uninformative columns would explain
    """

    value: float
    target: Target | None
    by_chance: float

    def notes(self, name: str) -> list[Note]:
        """Returns a note if a feature has so many categories or columns that they explain much by chance."""
        if self.by_chance <= BY_CHANCE:
            return []
        text = (
            f"{name!r} would seem to explain {100 * self.by_chance:.0f} % by chance if it were uninformative, since it "
            "has many categories or columns for so few rows."
        )
        return [Note(text)]


def _explained_share(
    cells: np.ndarray, is_number: np.ndarray, responses: np.ndarray, weights: np.ndarray
) -> ExplainedShare:
    """Returns R^2 of centred responses (n, k) on the columns (n, c) of one player, with its influence function."""
    variance = weights @ (responses**2).sum(axis=1)
    if variance == 0:  # a constant response has nothing to explain
        influence, value = np.zeros(len(cells)), 0.0
    else:
        fitted = _predict_linearly(cells, is_number, responses, weights)
        value = float(weights @ (fitted**2).sum(axis=1) / variance)
        spread, residual = (responses**2).sum(axis=1), ((responses - fitted) ** 2).sum(axis=1)
        influence = ((1 - value) * spread - residual) / variance
    n, parameters = len(cells), _parameters(cells, is_number)
    by_chance = min(1.0, parameters / max(1, n - 1))
    second = SECOND_ORDER * parameters * ((1 - value) * float(weights @ weights)) ** 2 if variance > 0 else 0.0
    parts = (weights * (value + influence))[:, None]
    return ExplainedShare(value, about_rows(np.array([value]), parts, weights, second), by_chance)


def _predict_linearly(
    cells: np.ndarray, is_number: np.ndarray, responses: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Returns predictions (n, k) of centred responses by the linear model on the columns."""
    if cells.shape[1] == 1 and not is_number[0]:
        return _category_means(cells[:, 0], responses, weights)
    from clarysage.models.least_squares import LeastSquares  # imported late, since it needs scikit-learn

    matrix, _ = linear_design(cells, is_number, weights)
    return LeastSquares().fit(matrix, responses, weights).predict(matrix)


def _parameters(cells: np.ndarray, is_number: np.ndarray) -> int:
    """Returns the degrees of freedom of a linear model on the columns: k - 1 for k categories."""
    distinct = [len(np.unique(column)) for column in cells.T]  # all NaN count as one value
    has_missing = np.isnan(cells).any(axis=0)
    return sum(
        min(values - 1, 1 + int(is_missing)) if is_numeric else values - 1
        for values, is_missing, is_numeric in zip(distinct, has_missing, is_number, strict=True)
    )


def _category_means(codes: np.ndarray, responses: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the mean responses of each row's category: the linear model on indicators, but faster."""
    _, category = np.unique(codes, return_inverse=True)  # all NaN count as one value
    category = category.ravel()
    means = [np.bincount(category, weights * response) / np.bincount(category, weights) for response in responses.T]
    return np.column_stack([of_category[category] for of_category in means])


def _centre(columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns centred responses (n, k) in units of the largest standard deviation; zeros if they are constant."""
    largest = float(np.abs(columns).max()) or 1.0
    centred = columns / largest - weights @ (columns / largest)
    is_constant = np.array([not standardise(column, weights).any() for column in columns.T])
    centred[:, is_constant] = 0.0
    spread = float(np.sqrt((weights @ centred**2).max()))
    return centred / (spread or 1.0)


def _targets(shares: Sequence[ExplainedShare]) -> dict[str, Target]:
    targets = [share.target for share in shares if share.target is not None]
    if len(targets) < len(shares):  # a single row says nothing about the population
        return {}
    return {"rows": Target.concatenated(targets)}
