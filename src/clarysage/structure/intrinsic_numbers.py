"""Numbers inside models: coefficients, gains, split counts and layer weights, which adapters or structures can read.

These abilities are asked for by :func:`~clarysage.protocols.ability`; a method returns None where this particular model
does not have these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class HasCoefficients(Protocol):
    """A linear model, or a linear representation, that knows its coefficients."""

    def coefficients(self) -> np.ndarray | None:
        """Returns weights (D, K) of the columns that the model gets, one column for each class or response."""
        ...


@dataclass(frozen=True)
class Gains:
    """Total gain of the splits on each column, (D,), in the library's own units; ``remark`` says what is special."""

    values: np.ndarray
    remark: str = ""


class HasGains(Protocol):
    """Trees that store by how much each split improved the fit."""

    def gains(self) -> Gains | None:
        """Returns gains of the columns that the model gets."""
        ...


class HasSplitCounts(Protocol):
    """Trees that count their splits on each column."""

    def split_counts(self) -> np.ndarray | None:
        """Returns the number of splits on each column that the model gets, (D,)."""
        ...


@dataclass(frozen=True)
class LayerWeights:
    """Weights of a first layer (D, h), of later layers if all are known, and the model rows spent to find them."""

    first: np.ndarray
    later: tuple[np.ndarray, ...] | None = None
    model_rows: int = 0


class HasLayerWeights(Protocol):
    """A network that knows the weights of its layers."""

    def layer_weights(self, width: int) -> LayerWeights | None:
        """Returns weights of the layers that receive rows of ``width`` numbers."""
        ...
