r"""Debiased loss estimators: the loss of a mean prediction over all background rows, from a subsample of them.

The plug-in estimator, the loss of the subsample's mean, is biased by Jensen's gap, which is approximately (by the
delta method, that is Taylor's series, of second order)

.. math:: E[\ell(\bar a)] - \ell(E \bar a) \approx \tfrac12 \ell''(E \bar a) \, Var(\bar a)

For squared error and the Brier score :class:`UnbiasedSquare` subtracts an unbiased estimate of the gap; for cross
entropy :class:`TaylorLogarithm` subtracts its second-order term, and so does :class:`Taylor` for any smooth loss.
:class:`UnbiasedLinear` has no gap, and :class:`PlugIn` does not correct it. The attribute ``debiasing`` of a loss is
the estimator that it uses. The same formulas give the bias of losses because the background itself is finite.
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
    raw : plain mean over the drawn rows; as a mixture of predictions it is a valid prediction
    adjusted : mean adjusted by a control variate; it has a smaller variance, and may lie outside the range of valid
        predictions
    variance : of ``adjusted`` over the draws of rows; unbiased under simple random sampling
    """

    raw: np.ndarray
    adjusted: np.ndarray
    variance: np.ndarray

    @classmethod
    def exactly(cls, mean: np.ndarray) -> MeanEstimate:
        """Returns means that are known exactly."""
        return cls(mean, mean, np.zeros_like(mean))


@dataclass(frozen=True)
class Strata:
    """Stratification of the background rows, which may differ between classes of examples.

    Attributes
    ----------
    ranked : (c, m) background rows in ascending order of the stratification variable, for each class of examples
    class_of : (N,) the class of each example
    """

    ranked: np.ndarray
    class_of: np.ndarray


class Debiasing(Protocol):
    """Estimates the loss of a mean prediction over m background rows from a subsample of them."""

    @property
    def is_unbiased(self) -> bool:
        """True if the estimate is unbiased for any model under simple random sampling of rows."""
        ...

    def strata(self, loss: Any, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        """Returns strata of background rows with predictions ``alone`` (m, k); None for simple random sampling."""
        ...

    @property
    def error_grows_with_loss(self) -> bool:
        """True if the bias of the estimate is largest where losses are large."""
        ...

    @property
    def jumps(self) -> bool:
        """True if the loss is a step function, of whose steps a subsample is often on the other side."""
        ...

    @property
    def rows(self) -> int:
        """Number of rows to draw."""
        ...

    def __call__(self, loss: Any, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        """Returns estimated losses (n,)."""
        ...

    @property
    def knows_bias(self) -> bool:
        """True if :meth:`bias` is known, rather than set to zero."""
        ...

    def bias(self, loss: Any, estimate: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Returns the bias (n,) of losses due to a finite background, whose mean prediction has the variance (n, k)."""
        ...

    def derivative(
        self, loss: Any, estimate: MeanEstimate, target: np.ndarray, direction: np.ndarray, step_size: np.ndarray
    ) -> np.ndarray:
        """Returns the Gateaux derivative (n,) of losses when mean predictions move in a ``direction`` (n, k).

        ``step_size`` (n,) is the step of a difference quotient, where the derivative has no formula.
        """
        ...


@dataclass(frozen=True)
class PlugIn:
    """The plug-in estimator: the loss of the mean over the drawn rows, without a correction of its bias.

    With ``is_adjusted`` the mean is adjusted by the control variate, for losses that accept any number as a prediction.
    """

    is_adjusted: bool = False
    is_unbiased: bool = False
    error_grows_with_loss: bool = False
    jumps: bool = False
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
        self, loss: Any, estimate: MeanEstimate, target: np.ndarray, direction: np.ndarray, step_size: np.ndarray
    ) -> np.ndarray:
        mean = self._mean(estimate)
        return np.asarray((loss(mean + step_size[:, None] * direction, target) - loss(mean, target)) / step_size)

    def _mean(self, estimate: MeanEstimate) -> np.ndarray:
        return estimate.adjusted if self.is_adjusted else estimate.raw


@dataclass(frozen=True)
class UnbiasedLinear:
    """The loss of a subsample's mean for losses that are linear in the prediction, for which it is unbiased."""

    is_unbiased: bool = True
    error_grows_with_loss: bool = False
    jumps: bool = False
    rows: int = 2
    knows_bias: bool = True

    def strata(self, loss: Any, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        return None

    def __call__(self, loss: Any, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        return np.asarray(loss(estimate.adjusted, target))

    def bias(self, loss: Any, estimate: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return np.zeros(len(variance))

    def derivative(
        self, loss: Any, estimate: MeanEstimate, target: np.ndarray, direction: np.ndarray, step_size: np.ndarray
    ) -> np.ndarray:
        return np.asarray(loss(direction, target))


@dataclass(frozen=True)
class UnbiasedSquare:
    r"""The squared error of a subsample's mean, minus the estimated variance of the mean, which is exactly unbiased.

    .. math:: E[(\bar a - y)^2 - \widehat{Var}(\bar a)] = (\bar f_m - y)^2

    With ``of_two`` only the second of two classes counts, as in the Brier score. With ``scale`` errors are divided by a
    number for each output.
    """

    of_two: bool = False
    scale: tuple[float, ...] | None = None
    is_unbiased: bool = True
    error_grows_with_loss: bool = False
    jumps: bool = False
    rows: int = 4

    def strata(self, loss: Any, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        return None

    def __call__(self, loss: Any, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        gap = self._counted(estimate.variance, power=2).sum(axis=-1)
        return np.asarray(loss(estimate.adjusted, target) - gap)

    @property
    def knows_bias(self) -> bool:
        return True

    def bias(self, loss: Any, estimate: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return np.asarray(self._counted(variance, power=2).sum(axis=-1))

    def derivative(
        self, loss: Any, estimate: MeanEstimate, target: np.ndarray, direction: np.ndarray, step_size: np.ndarray
    ) -> np.ndarray:
        error = self._counted(estimate.adjusted) - self._counted(target)
        return np.asarray(2 * (error * self._counted(direction)).sum(axis=-1))

    def _counted(self, by_output: np.ndarray, power: int = 1) -> np.ndarray:
        """Returns the outputs that count, divided by a power of their scale."""
        if self.of_two and by_output.shape[-1] == 2:
            return by_output[..., -1:]
        return by_output if self.scale is None else np.asarray(by_output / np.array(self.scale) ** power)


@dataclass(frozen=True)
class TaylorLogarithm:
    r"""Cross entropy, minus the logarithm of a mean probability, with a bounded second-order correction.

    .. math:: -\log A - \tfrac12 \frac{r}{1 + r}, \qquad r = \widehat{Var}(\bar a) / A^2

    A mean that is adjusted by a control variate may be close to zero or negative, so that A is at least half of the raw
    mean. For small r the correction is the second-order term of Taylor's series of E[-log A]; for large r, where the
    series is not valid, the correction is at most one half. Rows are drawn by stratified sampling: one from each
    stratum of the probability of the true class.
    """

    least: float = 0.5
    is_unbiased: bool = False
    error_grows_with_loss: bool = True
    jumps: bool = False
    rows: int = 8

    def strata(self, loss: Any, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        strata: Strata | None = loss.strata(alone, target)
        return strata

    def __call__(self, loss: Any, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        A = self._mean(loss, estimate, target)
        r = loss.variances(estimate.variance, target) / A**2
        return np.asarray(loss.expected(-np.log(A) - 0.5 * r / (1 + r), target))

    @property
    def knows_bias(self) -> bool:
        return True

    def bias(self, loss: Any, estimate: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        A = self._mean(loss, estimate, target)
        by_draw, in_total = (
            loss.variances(np.maximum(total, 0.0), target) / A**2
            for total in (estimate.variance, estimate.variance + variance)
        )
        return np.asarray(loss.expected(0.5 * (in_total / (1 + in_total) - by_draw / (1 + by_draw)), target))

    def derivative(
        self, loss: Any, estimate: MeanEstimate, target: np.ndarray, direction: np.ndarray, step_size: np.ndarray
    ) -> np.ndarray:
        towards = loss.probabilities(estimate.adjusted + direction, target)
        mean = loss.probabilities(estimate.adjusted, target)
        step_size = step_size.reshape(-1, *[1] * (towards.ndim - 1))
        A = np.maximum(self._mean(loss, estimate, target), step_size * towards)  # the mean includes the row itself
        return np.asarray(loss.expected((mean - towards) / A, target))

    def _mean(self, loss: Any, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        """Returns A: (n,), or (n, k) for soft targets."""
        raw, adjusted = (loss.probabilities(mean, target) for mean in (estimate.raw, estimate.adjusted))
        return np.asarray(np.maximum(np.maximum(adjusted, self.least * raw), loss.clip))


class SmoothLoss(Protocol):
    """A loss with derivatives by each output."""

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray: ...

    def derivatives(self, prediction: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the first and the second derivative by each output, (n, k)."""
        ...

    def scale(self, prediction: np.ndarray) -> np.ndarray:
        """Returns the change of a prediction for which the second derivative may be taken as constant, (n, k)."""
        ...


@dataclass(frozen=True)
class Taylor:
    r"""A smooth loss of a subsample's mean, with a bounded second-order correction, by the derivatives of the loss.

    .. math:: \ell(A) - \tfrac12 \ell''(A) \, s^2 \frac{r}{1 + r}, \qquad r = \widehat{Var}(\bar a) / s^2

    The scale s is the change of a prediction for which the second derivative may be taken as constant. For small r the
    correction is the second-order term of Taylor's series; for large r, where the series is not valid, it is bounded.
    A loss that is quadratic as far as its scale is estimated nearly without bias, and a linear one has no correction.
    With ``least`` predictions are positive, and A is at least this share of the raw mean. For a single output, rows are
    drawn by stratified sampling: one from each stratum of the prediction.
    """

    least: float | None = None
    error_grows_with_loss: bool = False
    is_unbiased: bool = False
    jumps: bool = False
    knows_bias: bool = True
    rows: int = 8

    def strata(self, loss: SmoothLoss, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        if alone.shape[1] > 1:
            return None
        return Strata(np.argsort(alone, axis=0, kind="stable").T.copy(), np.zeros(len(target), dtype=np.intp))

    def __call__(self, loss: SmoothLoss, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        A = self._mean(estimate)
        return np.asarray(loss(A, target) - _gap(loss, A, target, estimate.variance))

    def bias(self, loss: SmoothLoss, estimate: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        A = self._mean(estimate)
        by_draw, in_total = (
            _gap(loss, A, target, np.maximum(total, 0.0)) for total in (estimate.variance, estimate.variance + variance)
        )
        return np.asarray(in_total - by_draw)

    def derivative(
        self, loss: SmoothLoss, estimate: MeanEstimate, target: np.ndarray, direction: np.ndarray, step_size: np.ndarray
    ) -> np.ndarray:
        A = self._mean(estimate)
        if self.least is not None:
            A = np.maximum(A, step_size[:, None] * (estimate.adjusted + direction))  # the mean includes the row itself
        return np.asarray((loss.derivatives(A, target)[0] * direction).sum(axis=-1))

    def _mean(self, estimate: MeanEstimate) -> np.ndarray:
        """Returns A, (n, k)."""
        return estimate.adjusted if self.least is None else np.maximum(estimate.adjusted, self.least * estimate.raw)


def _gap(loss: SmoothLoss, mean: np.ndarray, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Returns Jensen's gap (n,) of a mean with a variance (n, k)."""
    square = loss.scale(mean) ** 2
    r = variance / square
    return np.asarray((0.5 * loss.derivatives(mean, target)[1] * square * r / (1 + r)).sum(axis=-1))
