"""w_f, the variance of the model's output that subsets of features explain: Shapley effects."""

from __future__ import annotations

import numpy as np

from clarysage.games.predictive_power import PredictivePower
from clarysage.players import Players
from clarysage.protocols import RestrictedModel, TableLike, WeightsLike


def sensitivity(
    restricted: RestrictedModel,
    X: TableLike,
    *,
    players: Players | None = None,
    sample_weight: WeightsLike | None = None,
    codes: np.ndarray | None = None,
) -> PredictivePower:
    r"""The game of function sensitivity, whose Shapley values are the Shapley effects.

    .. math:: w_f(S) = Var(E[f(X) | X_S])

    It is v_f with Y = f(X) and squared error (paper, supplement on function sensitivity): no labels are needed, and
    what is shared out is the variance of the output, summed over outputs. ``codes`` are as in
    :meth:`PredictivePower.of`.
    """
    return PredictivePower.of(
        restricted, "squared error", X, None, players=players, sample_weight=sample_weight, codes=codes
    )
