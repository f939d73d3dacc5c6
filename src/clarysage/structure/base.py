"""A model's structure, f = link(representation(row)): the interface that linear models, trees and networks share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import scipy

Link = Literal["identity", "logistic", "positive", "softmax", "exponential"]


def apply_link(margins: np.ndarray, link: Link) -> np.ndarray:
    """Predictions (..., k) of margins (..., K); "logistic" gives both classes, "positive" the second alone.

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
    positive = scipy.special.expit(margins)
    return positive if link == "positive" else np.concatenate([1 - positive, positive], axis=-1)


def n_outputs(margins: int, link: Link) -> int:
    """How many predictions so many margins make."""
    return 2 if link == "logistic" else margins


def mean_predictions(margins: np.ndarray, mass: np.ndarray, link: Link) -> np.ndarray:
    """Mean predictions (..., k) over background rows of the given mass, of margins (..., K, m), which are used up.

    Where the rows are but a part of all, so are their masses of 1, and the means of all parts add up.
    """
    if link in ("logistic", "positive"):
        positive = scipy.special.expit(margins, out=margins) @ mass
        return positive if link == "positive" else np.concatenate([mass.sum() - positive, positive], axis=-1)
    if link == "softmax":
        return np.asarray(scipy.special.softmax(margins, axis=-2) @ mass)
    return np.asarray(apply_link(margins, link) @ mass)


DOUBLE_ROUNDING = 1e-9  # of the largest prediction, by which a form's predictions may differ from those of its model
SINGLE_ROUNDING = 1e-5  # the same for a model that computes in single precision


class UnknownStructureError(Exception):
    """A model's insides are not of a kind that is known; the message says why."""


class BackgroundEvaluator(Protocol):
    """A form beside all background rows of a run."""

    def walk(self, x: np.ndarray, arrivals: np.ndarray, steps: int) -> np.ndarray:
        """Mean predictions at the proper prefixes of walks of rows x, as the form sees them: (n, p - 1, k)."""
        ...


class Representation(Protocol):
    """Margins of rows z (n, D) of inner columns, D of them, each of one of the model's d columns.

    Rows x of examples and b of the background are handed over as the form sees them (decisions of trees, say), and of
    walks when each of the d columns arrives, (n, d).
    """

    @property
    def n_margins(self) -> int:
        """K, how many margins there are."""
        ...

    @property
    def is_linear(self) -> bool:
        """Whether margins of a mean of rows are the mean of their margins."""
        ...

    @property
    def takes_missing(self) -> bool:
        """Whether rows may have cells that are no finite numbers."""
        ...

    def thresholds(self) -> dict[int, np.ndarray]:
        """Numbers at which the form may jump, for those of the inner columns that have such."""
        ...

    @property
    def is_used(self) -> np.ndarray:
        """Which of the inner columns have any effect, (D,)."""
        ...

    def with_owner(self, owner: np.ndarray) -> Representation:
        """The form, knowing of which column each inner column is, (D,)."""
        ...

    def encode(self, z: np.ndarray) -> np.ndarray:
        """Rows z (n, D) as the form sees them, one entry a row."""
        ...

    def margins(self, rows: np.ndarray) -> np.ndarray:
        """Margins (n, K) of rows as they are."""
        ...

    def prefix_margins(
        self, x: np.ndarray, b: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray, steps: int
    ) -> np.ndarray:
        """Margins at the proper prefixes of walks with the picked ones (n, q) of rows b: (n, q, p - 1, K)."""
        ...

    def hybrid_margins(self, x: np.ndarray, b: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Margins of rows x with all rows b in the columns that are not kept (n, d): (n, m, K)."""
        ...

    def with_background(self, b: np.ndarray, mass: np.ndarray, link: Link) -> BackgroundEvaluator:
        """The form beside rows b of the given mass, for walks with all of them."""
        ...


@dataclass(frozen=True)
class Structure:
    """A model's insides: f = link(form(view(table))).

    Attributes
    ----------
    view : makes inner rows (n, D) of a table as the model gets it; None where these are its numbers
    owner : of which column each inner column is, (D,); None where they are the same
    rounding : share of the largest prediction by which the model's own may differ, for those that add in few digits
    """

    representation: Representation
    link: Link = "identity"
    view: Callable[[Any], np.ndarray] | None = None
    owner: np.ndarray | None = None
    rounding: float = DOUBLE_ROUNDING

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Predictions (n, k) of inner rows."""
        return apply_link(self.representation.margins(self.representation.encode(z)), self.link)
