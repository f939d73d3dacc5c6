"""Coefficient size: how steep a linear model is in each feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clarysage._measures.intrinsic import Reading
from clarysage.models.unwrap import Inside
from clarysage.structure.linear import Linear

NOTE = (
    "A heuristic, outside the framework of additive importance measures: it tells how steep the model is in a feature, "
    "not what the feature is worth to its predictions. Features that tell the same may have large coefficients that "
    "cancel, or share one that is large."
)
PLAIN = "Coefficients are as large as the units of their columns make them: scaled=True makes them comparable."
SCALED = "Coefficients are times the standard deviation, over the rows of X, of what they are multiplied with."


def coefficient_size(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    scaled: bool = False,
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
) -> Any:
    r"""Coefficient size: the magnitude of a linear model's coefficients (Table 1), a heuristic.

    .. math:: \phi_i = \sum_k \sum_{j \in i} |w_{jk}| \qquad \text{or, scaled,} \qquad
        \phi_i = \sum_k sd_x \Big( \sum_{j \in i} w_{jk} z_j(x) \Big)

    with outputs k (one, but for several classes or responses), and the columns j, of values z_j, that the steps of a
    pipeline make of column i: one where it is scaled, several where it is one-hot encoded.

    Parameters
    ----------
    model : a linear model: of scikit-learn, with ``coef_``; of statsmodels, by arrays or frames; at the end of a
        Pipeline if its other steps keep columns apart
    X : rows, for the names and the order of columns, and for their scales
    y : is not looked at
    scaled : False, the default, for the coefficients as they are, which is what the heuristic means: they depend on
        the units of columns. True for the standard deviation of what a feature adds to the output on the rows of X, in
        units of the output: that of a number is |w| times its standard deviation, that of a category is the spread of
        the effects of its values, weighted by how frequent they are, whichever of them was left out of the encoding
    groups : mapping of names to columns, whose values are added up
    sample_weight : one weight a row, for standard deviations
    feature_names : names for the columns, where X has none or others are wanted

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``: values add up to nothing that a model gains

    Notes
    -----
    Behind a scaler coefficients are those of the scaled columns. With links, as of a logistic regression, the output
    is the margin; with a transformed response, it is that. A classifier of K classes has K coefficients a column, or
    one where there are two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> coefficient_size(LinearRegression().fit(X, 2 * X[:, 0] - 3 * X[:, 1]), X).values.round(6)
    array([2., 3.])
    """
    reading = Reading.of("coefficient size", model)
    weights, inside = _coefficients(reading)
    beside = reading.beside(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    values = beside.sizes(weights, inside, scaled=scaled).sum(axis=1)
    return beside.explanation(values, [NOTE, SCALED if scaled else PLAIN])


def _coefficients(reading: Reading) -> tuple[np.ndarray, Inside]:
    """Weights (D, K) of the columns that the last estimator gets, and where these come from."""
    last = reading.opened.last
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(last).__mro__}
    weights = _of_results(last) if ("statsmodels", "ResultsWrapper") in kinds else _of_estimator(last)
    if weights is not None:
        return weights, reading.inside
    structure = reading.structure
    if structure is not None and isinstance(structure.form, Linear):
        return structure.form.weights, Inside.of(structure)
    raise reading.refused("a linear model, such as scikit-learn's with coef_")


def _of_estimator(model: Any) -> np.ndarray | None:
    """Of an estimator with coefficients (D,) or (K, D), or of one such for each class or response."""
    coefficients = getattr(model, "coef_", None)
    if coefficients is None and type(model).__name__ in ONE_EACH:
        parts = [_of_estimator(one) for one in model.estimators_]
        known = [part for part in parts if part is not None]
        return np.hstack(known) if known and len(known) == len(parts) else None
    if coefficients is None:
        return None
    dense = coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients
    return np.atleast_2d(np.asarray(dense, dtype=np.float64)).T


def _of_results(results: Any) -> np.ndarray | None:
    """Of results of statsmodels: (D,), or (D, K - 1) for classes compared with the first; None for formulas."""
    fitted, weights = results.model, np.asarray(results.params, dtype=np.float64)
    columns = np.asarray(getattr(fitted, "exog", None)).shape[1:]
    if hasattr(fitted, "formula") or not columns or len(weights) < columns[0]:
        return None
    return weights.reshape(len(weights), -1)[: columns[0]]  # what follows, as a dispersion, is no coefficient


ONE_EACH = ("OneVsRestClassifier", "OneVsOneClassifier", "MultiOutputRegressor", "MultiOutputClassifier")
