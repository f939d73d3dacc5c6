"""Withheld features drawn each from its own marginal distribution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.removal.background import bound_to
from clarysage.removal.restricted.hybrid import HybridModel, hybrid_model
from clarysage.tables import read_weights


@dataclass(frozen=True)
class ProductOfMarginals:
    r"""Withheld features come column by column from ``background``, independent of each other.

    .. math:: q(x_{\bar S} | x_S) = \prod_{i \notin S} p(x_i)

    The columns of the background are shuffled apart once, with the seed or Generator ``rng``; the rows so made are then
    fixed, so that every estimator sees the same game.
    """

    background: Any
    weights: Any = None
    rng: Any = 0
    memory_limit: float = 1e9
    name: str = "product of marginals"

    def restrict(self, predictor: Any, X: Any) -> HybridModel:
        rng = _generator(self.rng)
        bound = bound_to(predictor, X, self.background, self.memory_limit)
        rows = bound.background
        m = len(rows)
        mass = read_weights(self.weights, self.background, m, "background weights", "background")
        apart = np.empty_like(rows)
        for j in range(rows.shape[1]):
            apart[:, j] = rows[shuffled(mass, rng), j]
        f_S = hybrid_model(bound.predictor, apart, np.full(m, 1.0 / m), bound.examples)
        return replace(f_S, is_sampled=False)  # rows share individuals

    def limited(self, memory_limit: float) -> ProductOfMarginals:
        return replace(self, memory_limit=memory_limit)


def _generator(rng: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InputError("rng", got=f"{rng!r}", wanted="a seed, or a numpy Generator") from error


def shuffled(mass: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """m row numbers in random order, each about m times its mass; each once where masses are equal."""
    m = len(mass)
    if np.all(mass == mass[0]):
        return rng.permutation(m)
    marks = (np.arange(m) + rng.random()) / m  # systematic sampling: equal steps along the summed masses
    return rng.permutation(np.minimum(np.searchsorted(np.cumsum(mass), marks), m - 1))
