"""Withheld features drawn from their joint marginal distribution: rows of a fixed background.

This is also called interventional removal, since the kept features do not change how the withheld ones are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.removal.background import bound_to, source_of
from clarysage.removal.restricted.hybrid import HybridModel, hybrid_model
from clarysage.tables import read_weights


@dataclass(frozen=True)
class Marginal:
    r"""Withheld features come together from one row of ``background``, independently of the kept ones.

    .. math:: q(x_{\bar S} | x_S) = p(x_{\bar S})

    This is the paper's sampling assumption (Sec. 3.4). It breaks the dependence between kept and withheld features:
    with strongly correlated features some hybrid rows are unlike any real one.

    Parameters
    ----------
    background : table of rows with the columns of X
    weights : one weight for each background row
    memory_limit : bytes that the rows given to the model at once may take
    examples : for a background drawn from X, the number in X of each of its rows, -1 for a row from elsewhere; without
        it, such rows are recognised if they equal exactly one row of X

    Examples
    --------
    >>> import numpy as np
    >>> f_S = Marginal([[0.0, 0.0], [2.0, 2.0]]).restrict(lambda X: X.sum(axis=1), [[5.0, 7.0]])
    >>> f_S.predict(np.array([[5.0, 7.0]]), np.array([[True, False]]), rng=None)
    array([[6.]])
    """

    background: Any
    weights: Any = None
    memory_limit: float = 1e9
    examples: Any = None
    name: str = "marginal"

    def restrict(self, predictor: Any, X: Any) -> HybridModel:
        bound = bound_to(predictor, X, self.background, self.memory_limit)
        rows = bound.background
        weights = read_weights(self.weights, self.background, len(rows), "background weights", "background")
        has_weight = weights > 0
        f_S = hybrid_model(bound.predictor, rows[has_weight], weights[has_weight], bound.examples)
        source = source_of(self.examples, len(rows), len(bound.examples.codes))
        return f_S if source is None else replace(f_S, source=source[has_weight])

    def limited(self, memory_limit: float) -> Marginal:
        return replace(self, memory_limit=memory_limit)

    def with_self_matches(self, examples: np.ndarray) -> Marginal:
        return replace(self, examples=examples)
