"""Shapley effects: the variance of a model's output, shared out to its features (function sensitivity)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clarysage._measures.examples import without
from clarysage._measures.sage import sage


def shapley_effects(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    background: Any = None,
    removal: Any = "marginal",
    method: Any = "auto",
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    tolerance: float | None = 0.025,
    budget: float | None = None,
    deadline: float | None = None,
    stop: Any = None,
    n_jobs: Any = None,
    checkpoint: Any = None,
    progress: bool | None = None,
    feature_names: Sequence[str] | None = None,
    max_rows: int | None = None,
    memory_limit: float | None = None,
    batch_size: int | None = None,
    rng: Any = None,
) -> Any:
    r"""Shapley effects: how much of the variance of a model's output each feature explains.

    .. math:: w_f(S) = Var(E[f(X) | X_S])

    These are the SAGE values of a model whose responses are its own outputs, under squared error (supplement on
    function sensitivity): features that move predictions count, whether or not they make them better.

    Parameters
    ----------
    y : not looked at; here so that all measures are called alike. A column that it names is no feature
    others : as in :func:`~clarysage.sage`

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> shapley_effects(lambda X: 3 * X[:, 0] + X[:, 1], X, rng=0).top(2)
    ['x0', 'x1']
    """
    return sage(
        model, without(X, y), background=background, removal=removal, method=method, groups=groups,
        sample_weight=sample_weight, tolerance=tolerance, budget=budget, deadline=deadline, stop=stop, n_jobs=n_jobs,
        checkpoint=checkpoint, progress=progress, feature_names=feature_names, max_rows=max_rows,
        memory_limit=memory_limit, batch_size=batch_size, rng=rng,
    )  # fmt: skip
