"""A model's structure, f = link(representation(row)): the interface that linear models, trees and networks share.

A *representation* turns a row into K margins (raw scores), such as log odds; a *link* turns margins into predictions.
Restricted predictions f(x_S, b) are then computed from margins that are updated along a walk, instead of by model
calls. Symbols in shapes: d columns of the model's table, D inner columns (after one-hot encoding, say), K margins, k
predictions, n examples, m background rows, q background rows drawn for each example, p players.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import scipy

Link = Literal["identity", "logistic", "positive", "softmax", "exponential", "labels"]

DOUBLE_ROUNDING = 1e-9  # tolerated difference between a structure and its model, as a share of the largest prediction
SINGLE_ROUNDING = 1e-5  # the same for a model that computes in single precision


class UnknownStructureError(Exception):
    """The structure of a model is not supported; the message says why."""


def apply_link(margins: np.ndarray, link: Link) -> np.ndarray:
    """Turns margins (..., K) into predictions (..., k); "logistic" gives both classes, "positive" only the second.

    With "labels" a prediction is one for the class with the largest margin, and zero for the others; a single margin is
    that of the second of two classes.

    Examples
    --------
    >>> apply_link(np.array([[0.0]]), "logistic")
    array([[0.5, 0.5]])
    """
    if link == "identity":
        return margins
    if link == "exponential":
        return np.asarray(np.exp(margins))
    if link == "softmax":
        return np.asarray(scipy.special.softmax(margins, axis=-1))
    if link == "labels" and margins.shape[-1] > 1:
        return np.asarray(margins.argmax(axis=-1)[..., None] == np.arange(margins.shape[-1]), dtype=np.float64)
    positive = (margins > 0).astype(np.float64) if link == "labels" else scipy.special.expit(margins)
    return positive if link == "positive" else np.concatenate([1 - positive, positive], axis=-1)


def n_outputs(n_margins: int, link: Link) -> int:
    """Returns the number k of predictions for K margins."""
    return 2 if link == "logistic" or (link == "labels" and n_margins == 1) else n_margins


def mean_predictions(margins: np.ndarray, row_weights: np.ndarray, link: Link) -> np.ndarray:
    """Returns weighted means (..., k) of predictions over background rows, from margins (..., K, m).

    The margins are overwritten. For a part of the background the weights add up to less than 1, and the means of all
    parts add up to the mean over the whole background.
    """
    if link in ("logistic", "positive"):
        positive = scipy.special.expit(margins, out=margins) @ row_weights
        return positive if link == "positive" else np.concatenate([row_weights.sum() - positive, positive], axis=-1)
    if link == "softmax":
        return np.asarray(scipy.special.softmax(margins, axis=-2) @ row_weights)
    if link == "labels":
        is_largest = margins == margins.max(axis=-2, keepdims=True)
        if margins.shape[-2] == 1 or np.count_nonzero(is_largest) * margins.shape[-2] > margins.size:  # with ties
            return np.asarray(row_weights @ apply_link(np.moveaxis(margins, -2, -1), link))
        return np.asarray(is_largest @ row_weights)
    return np.asarray(apply_link(margins, link) @ row_weights)


class BackgroundEvaluator(Protocol):
    """A representation together with all background rows of a run, prepared for means over these."""

    def walk(self, x: np.ndarray, entry_position: np.ndarray, steps: int) -> np.ndarray:
        """Returns mean predictions at the proper prefixes of walks of encoded rows x: (n, p - 1, k)."""
        ...


class Representation(Protocol):
    """Margins as a function of rows z (n, D) of inner columns, each of which is made of one of the d columns.

    Examples x and background rows b are passed *encoded*: bits of decisions for trees, products with weights for
    linear models. ``entry_position`` (n, d) is the step of a walk at which each of the d columns becomes known.
    """

    @property
    def n_margins(self) -> int:
        """K, the number of margins."""
        ...

    @property
    def is_linear(self) -> bool:
        """True if the margins of a mean of rows are the mean of their margins."""
        ...

    @property
    def takes_missing(self) -> bool:
        """True if rows may have NaN or infinite cells."""
        ...

    def thresholds(self) -> dict[int, np.ndarray]:
        """Returns the cut points of those inner columns at which margins may jump."""
        ...

    @property
    def is_used(self) -> np.ndarray:
        """Marks the inner columns that have any effect, (D,)."""
        ...

    def with_owner(self, owner: np.ndarray) -> Representation:
        """Returns a copy that knows which column each inner column is made of, (D,)."""
        ...

    def encode(self, z: np.ndarray) -> np.ndarray:
        """Encodes rows z (n, D), one entry of the result for each row."""
        ...

    def margins(self, rows: np.ndarray) -> np.ndarray:
        """Returns margins (n, K) of encoded rows."""
        ...

    def prefix_margins(
        self, x: np.ndarray, b: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray, steps: int
    ) -> np.ndarray:
        """Returns margins (n, q, p - 1, K) at the proper prefixes of walks with the rows b[background_index[i, j]]."""
        ...

    def hybrid_margins(self, x: np.ndarray, b: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """Returns margins (n, m, K) of x with each row of b in the columns that are not kept, ``is_kept`` (n, d)."""
        ...

    def with_background(self, b: np.ndarray, row_weights: np.ndarray, link: Link) -> BackgroundEvaluator:
        """Returns an evaluator of mean predictions over the encoded rows b, weighted by ``row_weights`` (m,)."""
        ...


@dataclass(frozen=True)
class Structure:
    """A model as f = link(representation(view(table))).

    Attributes
    ----------
    view : turns a table, as the model gets it, into inner rows (n, D); None where these are the table's numbers
    owner : column that each inner column is made of, (D,); None where both are the same
    rounding : tolerated difference from the model's own predictions, as a share of the largest of them
    absent : what a cell that a sparse row does not store is for the model: zero, or NaN for a missing cell
    """

    representation: Representation
    link: Link = "identity"
    view: Callable[[Any], np.ndarray] | None = None
    owner: np.ndarray | None = None
    rounding: float = DOUBLE_ROUNDING
    absent: float = 0.0

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Returns predictions (n, k) of inner rows."""
        return apply_link(self.representation.margins(self.representation.encode(z)), self.link)
