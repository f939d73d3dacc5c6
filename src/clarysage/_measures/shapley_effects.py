"""Shapley effects: the variance of a model's output, shared out to its features (function sensitivity)."""

from __future__ import annotations

from typing import Unpack

from clarysage._measures.examples import without
from clarysage._measures.options import SharedOptions, with_shared_options
from clarysage._measures.sage import sage
from clarysage.protocols import MethodLike, ModelLike, TableLike, TargetLike
from clarysage.results import Explanation


@with_shared_options(unused={"loss": "shares of a variance are found by squared error"})
def shapley_effects(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    method: MethodLike = "auto",
    **options: Unpack[SharedOptions],
) -> Explanation:
    r"""Shapley effects: how much of the variance of a model's output each feature explains.

    .. math:: w_f(S) = Var(E[f(X) | X_S])

    These are the SAGE values of a model whose responses are its own outputs, under squared error (supplement on
    function sensitivity): features that move predictions count, whether or not they make them better.

    Parameters
    ----------
    model, X : as in :func:`~clarysage.sage`
    y : not looked at; here so that all measures are called alike. A column that it names is no feature
    method : as in :func:`~clarysage.sage`

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> shapley_effects(lambda X: 3 * X[:, 0] + X[:, 1], X, rng=0).top(2)
    ['x0', 'x1']
    """
    return sage(model, without(X, y), method=method, **options)
