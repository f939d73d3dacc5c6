"""The model's output at single examples as a game: SHAP values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clarysage.games.predictive_power import PredictivePower
from clarysage.losses.classification import SUM_TOLERANCE
from clarysage.losses.output import Output
from clarysage.players import Players
from clarysage.protocols import RestrictedModel, TableLike, WeightsLike

LOOKED_AT = 16  # examples, to see which outputs there are


def pointwise(
    restricted: RestrictedModel,
    X: TableLike,
    *,
    players: Players | None = None,
    sample_weight: WeightsLike | None = None,
    codes: np.ndarray | None = None,
) -> PredictivePower:
    r"""The game whose payoffs are the outputs of f_S at an example, one "loss" an output.

    .. math:: v_{f,x}(S) = f_S(x_S)

    Shapley values of an example in it are its SHAP values. Of two outputs that are the probabilities of two classes the
    second alone is played for: the values of the first are the same with the other sign. ``codes`` are as in
    :meth:`PredictivePower.of`.
    """
    rows = restricted.schema.encode(X, "X") if codes is None else codes
    few = rows[:LOOKED_AT]
    numbers = outputs_of(restricted.full(few), restricted.facts.task)
    losses = tuple(Output(number) for number in numbers)
    v = PredictivePower.of(restricted, losses, X, None, players=players, sample_weight=sample_weight, codes=rows)
    return replace(v, rows_in_vain=len(few))


def outputs_of(outputs: np.ndarray, task: str | None) -> list[int]:
    """Outputs that are not known from others, by those of some examples, (n, k).

    Examples
    --------
    >>> outputs_of(np.array([[0.3, 0.7]]), "classification"), outputs_of(np.array([[3.0, 5.0]]), "regression")
    ([1], [0, 1])
    """
    k = outputs.shape[1]
    adds_up = bool((np.abs(outputs.sum(axis=1) - 1) <= SUM_TOLERANCE).all() and (outputs >= 0).all())
    return [1] if k == 2 and task != "regression" and adds_up else list(range(k))
