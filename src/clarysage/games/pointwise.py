"""The model's output at single examples as a game: SHAP values."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.games.predictive_power import PredictivePower
from clarysage.losses.classification import SUM_TOLERANCE
from clarysage.losses.output import Output
from clarysage.players import Players


def pointwise(restricted: Any, X: Any, *, players: Players | None = None, sample_weight: Any = None) -> PredictivePower:
    r"""The game whose payoffs are the outputs of f_S at an example, one "loss" an output.

    .. math:: v_{f,x}(S) = f_S(x_S)

    Shapley values of an example in it are its SHAP values. Of two outputs that are the probabilities of two classes the
    second alone is played for: the values of the first are the same with the other sign.
    """
    numbers = outputs_of(restricted.empty(), restricted.predictor.predictor.task)
    losses = [Output(number) for number in numbers]
    return PredictivePower.of(restricted, losses, X, None, players=players, sample_weight=sample_weight)


def outputs_of(mean: np.ndarray, task: str | None) -> list[int]:
    """Outputs that are not known from others, by their means (k,) over the background.

    Examples
    --------
    >>> outputs_of(np.array([0.3, 0.7]), "classification"), outputs_of(np.array([3.0, 5.0]), "regression")
    ([1], [0, 1])
    """
    is_pair = len(mean) == 2 and task != "regression" and abs(mean.sum() - 1) <= SUM_TOLERANCE and mean.min() >= 0
    return [1] if is_pair else list(range(len(mean)))
