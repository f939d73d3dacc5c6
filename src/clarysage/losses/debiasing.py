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
    """The mean of predictions over few background rows, (n, k) each.

    Attributes
    ----------
    plain : mean over the drawn rows alone; a mixture of predictions, so as valid as they are
    mean : the same, corrected by what is known of the drawn rows' own predictions; it scatters less, and may leave the
        range of valid predictions
    variance : of ``mean`` over the draws of rows; unbiased where rows are drawn simply, at random
    """

    plain: np.ndarray
    mean: np.ndarray
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
    """Estimates l(mean over m rows, y) from few of the rows."""

    @property
    def is_unbiased(self) -> bool:
        """Whether the estimate is right on average, whatever the model, when rows are drawn simply."""
        ...

    def strata(self, loss: Any, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        """How best to stratify background rows of predictions ``alone`` (m, k); None to draw them simply."""
        ...

    @property
    def errs_with_loss(self) -> bool:
        """Whether the estimate is off most where losses are large."""
        ...

    @property
    def rows(self) -> int:
        """How many rows to draw."""
        ...

    def __call__(self, loss: Any, few: MeanEstimate, target: np.ndarray) -> np.ndarray:
        """Estimated losses (n,)."""
        ...

    @property
    def knows_excess(self) -> bool:
        """Whether it is known what a finite background adds to losses."""
        ...

    def excess(self, loss: Any, few: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """What losses (n,) of a mean over a sampled background, of the given variance (n, k), are too large by."""
        ...

    def tilt(
        self, loss: Any, few: MeanEstimate, target: np.ndarray, towards: np.ndarray, step: np.ndarray
    ) -> np.ndarray:
        """The change of losses (n,) when mean predictions move ``towards`` (n, k), per share of the way, for small
        shares such as ``step`` (n,)."""
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

    def __call__(self, loss: Any, few: MeanEstimate, target: np.ndarray) -> np.ndarray:
        return np.asarray(loss(self._mean(few), target))

    @property
    def knows_excess(self) -> bool:
        return False

    def excess(self, loss: Any, few: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return np.zeros(len(variance))

    def tilt(
        self, loss: Any, few: MeanEstimate, target: np.ndarray, towards: np.ndarray, step: np.ndarray
    ) -> np.ndarray:
        mean = self._mean(few)
        return np.asarray((loss(mean + step[:, None] * towards, target) - loss(mean, target)) / step)

    def _mean(self, few: MeanEstimate) -> np.ndarray:
        return few.mean if self.is_adjusted else few.plain


@dataclass(frozen=True)
class Linear:
    """A mean over few rows: right on average, whatever the model, since an output is linear in itself."""

    is_unbiased: bool = True
    errs_with_loss: bool = False
    rows: int = 2
    knows_excess: bool = True

    def strata(self, loss: Any, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        return None

    def __call__(self, loss: Any, few: MeanEstimate, target: np.ndarray) -> np.ndarray:
        return np.asarray(loss(few.mean, target))

    def excess(self, loss: Any, few: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return np.zeros(len(variance))

    def tilt(
        self, loss: Any, few: MeanEstimate, target: np.ndarray, towards: np.ndarray, step: np.ndarray
    ) -> np.ndarray:
        return np.asarray(loss(towards, target))


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

    def __call__(self, loss: Any, few: MeanEstimate, target: np.ndarray) -> np.ndarray:
        return np.asarray(loss(few.mean, target) - self._counted(few.variance, target).sum(axis=-1))

    @property
    def knows_excess(self) -> bool:
        return True

    def excess(self, loss: Any, few: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return np.asarray(self._counted(variance, target).sum(axis=-1))

    def tilt(
        self, loss: Any, few: MeanEstimate, target: np.ndarray, towards: np.ndarray, step: np.ndarray
    ) -> np.ndarray:
        off = few.mean[..., -1:] - target[..., -1:] if self._is_one(target) else few.mean - target
        return np.asarray(2 * (off * self._counted(towards, target)).sum(axis=-1))

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

    def __call__(self, loss: Any, few: MeanEstimate, target: np.ndarray) -> np.ndarray:
        A = self._mean(loss, few, target)
        r = loss.variances(few.variance, target) / A**2
        return np.asarray(loss.expected(-np.log(A) - 0.5 * r / (1 + r), target))

    @property
    def knows_excess(self) -> bool:
        return True

    def excess(self, loss: Any, few: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        A = self._mean(loss, few, target)
        less, more = (loss.variances(np.maximum(one, 0.0), target) / A**2
                      for one in (few.variance, few.variance + variance))  # fmt: skip
        return np.asarray(loss.expected(0.5 * (more / (1 + more) - less / (1 + less)), target))

    def tilt(
        self, loss: Any, few: MeanEstimate, target: np.ndarray, towards: np.ndarray, step: np.ndarray
    ) -> np.ndarray:
        moved, mean = (loss.probabilities(shown, target) for shown in (few.mean + towards, few.mean))
        share = step.reshape(-1, *[1] * (moved.ndim - 1))
        A = np.maximum(self._mean(loss, few, target), share * moved)  # the mean holds the row itself, if no other
        return np.asarray(loss.expected((mean - moved) / A, target))

    def _mean(self, loss: Any, few: MeanEstimate, target: np.ndarray) -> np.ndarray:
        """A: (n,), or (n, k) for soft targets."""
        plain, mean = (loss.probabilities(shown, target) for shown in (few.plain, few.mean))
        return np.asarray(np.maximum(np.maximum(mean, self.least * plain), loss.clip))
