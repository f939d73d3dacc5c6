"""What may be read off a model, by the adapter of its library or by the form of its insides.

Abilities are asked for by :func:`~clarysage.protocols.ability`; a method returns None where this very model has no such
thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np


class HasCoefficients(Protocol):
    """Of a linear model, or of a form that is linear."""

    def coefficients(self) -> np.ndarray | None:
        """Weights (D, K) of the columns that the model gets, one column for each class or response."""
        ...


@dataclass(frozen=True)
class Gains:
    """How much splits on each column helped in the fit, (D,), in the library's own units; and what is special."""

    values: np.ndarray
    remark: str = ""


class HasGains(Protocol):
    """Of trees that keep by how much their splits helped in the fit."""

    def gains(self) -> Gains | None:
        """Gains of the columns that the model gets."""
        ...


class HasSplitCounts(Protocol):
    """Of trees, as a model or as a form."""

    def split_counts(self) -> np.ndarray | None:
        """How many splits are about each column that the model gets, (D,)."""
        ...


@dataclass(frozen=True)
class LayerWeights:
    """Weights of a first layer (D, h), of later layers if all are known, and the model rows it took to find out."""

    first: np.ndarray
    later: tuple[np.ndarray, ...] | None = None
    model_rows: int = 0


class HasLayerWeights(Protocol):
    """Of a network, as a model or as a form."""

    def layer_weights(self, width: int) -> LayerWeights | None:
        """Weights of the layers that rows of so many numbers go into."""
        ...
