"""phi_0 of measures that leave features out of the whole: v(D), over the best constant, less the values (Table 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clarysage.games import PredictivePower
from clarysage.results import Explanation


def over_best_constant(v: PredictivePower) -> PredictivePower:
    r"""The game with the best constant prediction in the place of f with nothing known, :math:`\min_c E[\ell(c, Y)]`.

    Examples
    --------
    >>> from clarysage.removal import Marginal
    >>> X = np.array([[0.0], [2.0]])
    >>> v = PredictivePower.of(Marginal(X).restrict(lambda X: X[:, 0] + 5, X), "squared error", X, X[:, 0])
    >>> float(v.ends[0].mean()), float(over_best_constant(v).ends[0].mean())
    (-26.0, -1.0)
    """
    n, k = v.outputs.shape
    payoffs = []
    for loss, target in zip(v.losses, v.targets, strict=True):
        best = loss.best_constant(target, v.weights, k)
        payoffs.append(-loss(np.tile(best, (n, 1)), target))
    return replace(v, ends=(np.column_stack(payoffs), v.ends[1]))


def with_constant(found: Sequence[Explanation]) -> list[Explanation]:
    """Explanations whose phi_0 is what values leave of the total, so that u(D) is v(D)."""
    return [replace(one, constant=one.total - float(one.values.sum())) for one in found if one.total is not None]
