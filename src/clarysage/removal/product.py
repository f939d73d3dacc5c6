"""Withheld features drawn independently, each from its own marginal distribution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.removal.background import bound_to
from clarysage.removal.restricted.hybrid import HybridModel, hybrid_model
from clarysage.synonyms import with_synonyms
from clarysage.tables import read_weights


@with_synonyms
@dataclass(frozen=True)
class ProductOfMarginals:
    r"""Withheld features come column by column from ``background``, independent of each other.

    .. math:: q(x_{\bar S} | x_S) = \prod_{i \notin S} p(x_i)

    The columns of the background are shuffled independently once, with the seed or Generator ``rng``. The resulting
    rows are then fixed, so that every estimator sees the same game.

    Parameters
    ----------
    background : table of rows with the columns of X
    weights : one weight for each background row
    rng : seed or Generator of the shuffles
    memory_limit : bytes that the rows given to the model at once may take

    Examples
    --------
    >>> import numpy as np
    >>> f_S = ProductOfMarginals([[0.0, 0.0], [2.0, 2.0]]).restrict(lambda X: X.sum(axis=1), [[5.0, 7.0]])
    >>> f_S.predict(np.array([[5.0, 7.0]]), np.array([[True, False]]), rng=None)
    array([[6.]])
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
        weights = read_weights(self.weights, self.background, m, "background weights", "background")
        independent = np.empty_like(rows)
        for j in range(rows.shape[1]):
            independent[:, j] = rows[shuffled(weights, rng), j]
        f_S = hybrid_model(bound.predictor, independent, np.full(m, 1.0 / m), bound.examples)
        return replace(f_S, is_sampled=False)  # several rows contain cells of the same individual

    def limited(self, memory_limit: float) -> ProductOfMarginals:
        return replace(self, memory_limit=memory_limit)


def _generator(rng: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise InputError("rng", got=f"{rng!r}", wanted="a seed, or a numpy Generator") from error


def shuffled(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns m row numbers in random order, each about m times its weight often; exactly once if weights are equal."""
    m = len(weights)
    if np.all(weights == weights[0]):
        return rng.permutation(m)
    levels = (np.arange(m) + rng.random()) / m  # systematic sampling: equal steps along the cumulative weights
    return rng.permutation(np.minimum(np.searchsorted(np.cumsum(weights), levels), m - 1))
