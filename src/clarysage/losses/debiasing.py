"""Debiased losses: the loss of a mean prediction over all background rows, estimated from a subsample of them.

The loss of a subsample's mean is off by Jensen's gap. :class:`Square` takes off exactly what the scatter of the draw
adds, :class:`Logarithm` the second term of Taylor's series, :class:`Linear` has nothing to take off, and :class:`Plain`
leaves the gap as it is. Each loss says as ``debiasing`` which of them it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


@dataclass(frozen=True)
class MeanEstimate:
    """The mean of predictions over a subsample of the background, (n, k) each.

    Attributes
    ----------
    raw : mean over the drawn rows alone; a mixture of predictions, so as valid as they are
    adjusted : by a control variate, what is known of the drawn rows' own predictions; it scatters less, and may leave
        the range of valid predictions
    variance : of ``adjusted`` over the draws of rows; unbiased where rows are drawn simply, at random
    """

    raw: np.ndarray
    adjusted: np.ndarray
    variance: np.ndarray

    @classmethod
    def exactly(cls, mean: np.ndarray) -> MeanEstimate:
        """Means that are known."""
        return cls(mean, mean, np.zeros_like(mean))


@dataclass(frozen=True)
class Strata:
    """Background rows in the order of a key, one order for each kind of example, (c, m); and the kinds, (N,)."""

    ranked: np.ndarray
    kinds: np.ndarray


class Debiasing(Protocol):
    """Estimates the loss of a mean prediction over m background rows from a subsample of them."""

    @property
    def is_unbiased(self) -> bool:
        """Whether the estimate is right on average, whatever the model, when rows are drawn simply."""
        ...

    def strata(self, loss: Any, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        """Returns strata for background rows of predictions ``alone`` (m, k), None where rows are drawn simply."""
        ...

    @property
    def errs_with_loss(self) -> bool:
        """Whether the estimate is off most where losses are large."""
        ...

    @property
    def rows(self) -> int:
        """How many rows to draw."""
        ...

    def __call__(self, loss: Any, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        """Estimated losses (n,)."""
        ...

    @property
    def knows_bias(self) -> bool:
        """Whether it is known what a finite background adds to losses."""
        ...

    def bias(self, loss: Any, estimate: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Returns what a finite background, whose mean has the variance (n, k), adds to losses: their bias (n,)."""
        ...

    def derivative(
        self, loss: Any, estimate: MeanEstimate, target: np.ndarray, direction: np.ndarray, share: np.ndarray
    ) -> np.ndarray:
        """Returns the Gateaux derivative (n,) of losses when mean predictions move in a ``direction`` (n, k).

        ``share`` (n,) is a small share of the way, for a difference quotient.
        """
        ...


@dataclass(frozen=True)
class Plain:
    """The loss of the mean over the drawn rows, off by what curvature makes of their scatter.

    ``is_adjusted`` takes the corrected mean, for losses that accept any number as a prediction.
    """

    is_adjusted: bool = False
    is_unbiased: bool = False
    errs_with_loss: bool = False
    rows: int = 8

    def strata(self, loss: Any, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        return None

    def __call__(self, loss: Any, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        return np.asarray(loss(self._mean(estimate), target))

    @property
    def knows_bias(self) -> bool:
        return False

    def bias(self, loss: Any, estimate: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return np.zeros(len(variance))

    def derivative(
        self, loss: Any, estimate: MeanEstimate, target: np.ndarray, direction: np.ndarray, share: np.ndarray
    ) -> np.ndarray:
        mean = self._mean(estimate)
        return np.asarray((loss(mean + share[:, None] * direction, target) - loss(mean, target)) / share)

    def _mean(self, estimate: MeanEstimate) -> np.ndarray:
        return estimate.adjusted if self.is_adjusted else estimate.raw


@dataclass(frozen=True)
class Linear:
    """The mean of a subsample as it is, without bias whatever the model, since an output is linear in itself."""

    is_unbiased: bool = True
    errs_with_loss: bool = False
    rows: int = 2
    knows_bias: bool = True

    def strata(self, loss: Any, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        return None

    def __call__(self, loss: Any, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        return np.asarray(loss(estimate.adjusted, target))

    def bias(self, loss: Any, estimate: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return np.zeros(len(variance))

    def derivative(
        self, loss: Any, estimate: MeanEstimate, target: np.ndarray, direction: np.ndarray, share: np.ndarray
    ) -> np.ndarray:
        return np.asarray(loss(direction, target))


@dataclass(frozen=True)
class Square:
    r"""Squared errors, less the variance that the draw of rows adds to them: exactly unbiased.

    .. math:: E[(\bar a - y)^2 - \widehat{Var}(\bar a)] = (\bar f_m - y)^2

    ``of_two`` counts the second of two classes alone, as Brier's score does.
    """

    of_two: bool = False
    is_unbiased: bool = True
    errs_with_loss: bool = False
    rows: int = 4

    def strata(self, loss: Any, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        return None

    def __call__(self, loss: Any, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        return np.asarray(loss(estimate.adjusted, target) - self._counted(estimate.variance, target).sum(axis=-1))

    @property
    def knows_bias(self) -> bool:
        return True

    def bias(self, loss: Any, estimate: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return np.asarray(self._counted(variance, target).sum(axis=-1))

    def derivative(
        self, loss: Any, estimate: MeanEstimate, target: np.ndarray, direction: np.ndarray, share: np.ndarray
    ) -> np.ndarray:
        off = estimate.adjusted[..., -1:] - target[..., -1:] if self._is_one(target) else estimate.adjusted - target
        return np.asarray(2 * (off * self._counted(direction, target)).sum(axis=-1))

    def _counted(self, by_output: np.ndarray, target: np.ndarray) -> np.ndarray:
        return by_output[..., -1:] if self._is_one(target) else by_output

    def _is_one(self, target: np.ndarray) -> bool:
        return self.of_two and target.shape[-1] == 2


@dataclass(frozen=True)
class Logarithm:
    r"""-log of a mean probability, with a bounded correction of second order.

    .. math:: -\log A - \tfrac12 \frac{r}{1 + r}, \qquad r = \widehat{Var}(\bar a) / A^2

    The mean a that is corrected by known predictions may come near zero or below: A is at least half of the plain
    mean. For small r this is the second term of Taylor's series of E[-log A]; for large r, where the series has no
    say, it takes off one half at most. Rows are drawn one from each stratum of the probability of the true class.
    """

    least: float = 0.5
    is_unbiased: bool = False
    errs_with_loss: bool = True
    rows: int = 8

    def strata(self, loss: Any, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        kinds = target if target.ndim == 1 else target.argmax(axis=1)
        return Strata(np.argsort(loss.all_classes(alone), axis=0, kind="stable").T.copy(), kinds)

    def __call__(self, loss: Any, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        A = self._mean(loss, estimate, target)
        r = loss.variances(estimate.variance, target) / A**2
        return np.asarray(loss.expected(-np.log(A) - 0.5 * r / (1 + r), target))

    @property
    def knows_bias(self) -> bool:
        return True

    def bias(self, loss: Any, estimate: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        A = self._mean(loss, estimate, target)
        less, more = (
            loss.variances(np.maximum(total, 0.0), target) / A**2
            for total in (estimate.variance, estimate.variance + variance)
        )
        return np.asarray(loss.expected(0.5 * (more / (1 + more) - less / (1 + less)), target))

    def derivative(
        self, loss: Any, estimate: MeanEstimate, target: np.ndarray, direction: np.ndarray, share: np.ndarray
    ) -> np.ndarray:
        moved = loss.probabilities(estimate.adjusted + direction, target)
        mean = loss.probabilities(estimate.adjusted, target)
        share = share.reshape(-1, *[1] * (moved.ndim - 1))
        A = np.maximum(self._mean(loss, estimate, target), share * moved)  # the mean holds the row itself, if no other
        return np.asarray(loss.expected((mean - moved) / A, target))

    def _mean(self, loss: Any, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        """A: (n,), or (n, k) for soft targets."""
        raw, adjusted = (loss.probabilities(mean, target) for mean in (estimate.raw, estimate.adjusted))
        return np.asarray(np.maximum(np.maximum(adjusted, self.least * raw), loss.clip))
