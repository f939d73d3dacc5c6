r"""Terms of a loss: what one class, or one target, contributes to it.

The mean loss is a sum of terms, and so is each value, since a value is linear in the loss. A term of an output is the
loss of this output alone. With W_c the weight of the examples of class c, and y_x the class of example x,

.. math:: E[\ell] = \sum_c W_c \, E[\ell \mid y = c], \qquad
    E[\ell \mid y = c] = \sum_x \frac{w_x [y_x = c]}{W_c} \, \ell_x

so that the term of a class is the mean over its examples, and the values of classes, weighted by their shares, add up
to those of all examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from clarysage.catalogue import LOSSES
from clarysage.errors import Advice, Either, InputError, Note, Or, Set, Words
from clarysage.losses.classification import are_probabilities, class_target, presumed_classes
from clarysage.losses.debiasing import Debiasing, MeanEstimate, Strata
from clarysage.losses.multilabel import MultiLabel
from clarysage.losses.regression import SquaredError
from clarysage.losses.robust import Pinball
from clarysage.protocols import Loss, LossLike, LossTask, units_of

EACH_CLASS = Either("loss=cs.PerClass()", "--per-class")
EACH_TARGET = Either("loss=cs.PerTarget()", "--per-target")
UNLIKE = 3.0  # ratio of standard deviations above which squared errors are not added in the units of the targets
MOST = 0.9  # share of one target in a loss of several, from which it hides the others
ROUNDING = 1e-12  # relative size of a standard deviation that is zero up to rounding


@dataclass(frozen=True)
class PerClass:
    """A loss, or several, on the examples of each class by itself: one explanation for each class, from a single run.

    Attributes
    ----------
    loss : a loss of classes

    Examples
    --------
    >>> import clarysage as cs
    >>> X, y = np.arange(12.0).reshape(6, 2) % 5, np.array([0, 1, 1, 0, 1, 0])
    >>> model = lambda X: 1 / (1 + np.exp(X[:, 0] - X[:, 1]))
    >>> [explanation.loss for explanation in cs.sage(model, X, y, loss=cs.PerClass(), rng=0)]
    ['cross entropy of class 0', 'cross entropy of class 1']
    """

    part: ClassVar[str] = "class"

    loss: LossLike | Sequence[LossLike] = "auto"


@dataclass(frozen=True)
class PerTarget:
    """A loss, or several, of each target of a multi-output model: one explanation for each, from a single run.

    Attributes
    ----------
    loss : a loss of numbers, or the multi-label cross entropy

    Examples
    --------
    >>> import clarysage as cs
    >>> X = np.arange(12.0).reshape(6, 2) % 5
    >>> [explanation.top(1) for explanation in cs.sage(lambda X: X, X, X, loss=cs.PerTarget(), rng=0)]
    [['x0'], ['x1']]
    """

    part: ClassVar[str] = "target"

    loss: LossLike | Sequence[LossLike] = "auto"


@dataclass(frozen=True)
class LossTerm:
    """A term of a loss: that of one output, or the mean over the examples of one class.

    Attributes
    ----------
    loss : the whole loss, whose targets it takes
    name : its name
    subject : "class" or "target", and which one
    output : the only output that counts, None for all
    of_class : the number of the only class whose examples count, None for all
    share : the share of these examples, by weight

    Examples
    --------
    >>> from clarysage.losses import SquaredError
    >>> term = LossTerm(SquaredError(), "squared error of 'b'", ("target", "b"), output=1)
    >>> term(np.array([[0.0, 3.0]]), np.array([[5.0, 1.0]]))
    array([4.])
    """

    loss: Loss
    name: str
    subject: tuple[str, Any]
    output: int | None = None
    of_class: int | None = None
    share: float = 1.0

    @property
    def task(self) -> LossTask:
        return self.loss.task

    @property
    def degree(self) -> int | None:
        return self.loss.degree if self.of_class is None else None

    @property
    def ceiling(self) -> float:
        return self.loss.ceiling / self.share

    @property
    def debiasing(self) -> Debiasing:
        return DebiasedTerm(self.counted.debiasing)

    @property
    def counted(self) -> Loss:
        """The loss of the columns that count."""
        if self.output is None or not isinstance(self.loss, (SquaredError, Pinball)):
            return self.loss
        return self.loss.of_output(self.output)

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        return self.loss.encode(y, classes, outputs)

    def check(self, outputs: np.ndarray) -> None:
        self.loss.check(outputs)

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        return np.asarray(self.factor(target) * self.counted(self.columns(prediction), self.columns(target)))

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns the best constant of the whole loss, so that the losses of terms add up to its loss."""
        return self.loss.best_constant(target, weights, outputs)

    def columns(self, array: np.ndarray) -> np.ndarray:
        """Returns the columns of predictions or targets (..., k) that count."""
        return array if self.output is None else array[..., self.output : self.output + 1]

    def factor(self, target: np.ndarray) -> np.ndarray | float:
        """Returns the factors (n,) by which the weights of examples are multiplied: 1 / W_c in the class c, else 0."""
        if self.of_class is None:
            return 1.0
        numbers = target if target.ndim == 1 else target.argmax(axis=1)
        return np.asarray((numbers == self.of_class) / self.share)

    def units(self, outputs: int) -> np.ndarray:
        """Returns the units (k,) in which errors of outputs are squared; infinite ones for those that do not count."""
        return np.where(np.arange(outputs) == self.output, units_of(self.loss, outputs), np.inf)


@dataclass(frozen=True)
class DebiasedTerm:
    """The debiased estimator of the whole loss, applied to a term of it."""

    of_loss: Debiasing

    @property
    def is_unbiased(self) -> bool:
        return self.of_loss.is_unbiased

    @property
    def error_grows_with_loss(self) -> bool:
        return self.of_loss.error_grows_with_loss

    @property
    def rows(self) -> int:
        return self.of_loss.rows

    @property
    def jumps(self) -> bool:
        return self.of_loss.jumps

    @property
    def knows_bias(self) -> bool:
        return self.of_loss.knows_bias

    def strata(self, loss: LossTerm, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        return self.of_loss.strata(loss.counted, loss.columns(alone), loss.columns(target))

    def __call__(self, loss: LossTerm, estimate: MeanEstimate, target: np.ndarray) -> np.ndarray:
        losses = self.of_loss(loss.counted, _columns(loss, estimate), loss.columns(target))
        return np.asarray(loss.factor(target) * losses)

    def bias(self, loss: LossTerm, estimate: MeanEstimate, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        columns = _columns(loss, estimate), loss.columns(target), loss.columns(variance)
        return np.asarray(loss.factor(target) * self.of_loss.bias(loss.counted, *columns))

    def derivative(
        self, loss: LossTerm, estimate: MeanEstimate, target: np.ndarray, direction: np.ndarray, step_size: np.ndarray
    ) -> np.ndarray:
        columns = _columns(loss, estimate), loss.columns(target), loss.columns(direction)
        return np.asarray(loss.factor(target) * self.of_loss.derivative(loss.counted, *columns, step_size))


def _columns(loss: LossTerm, estimate: MeanEstimate) -> MeanEstimate:
    return MeanEstimate(loss.columns(estimate.raw), loss.columns(estimate.adjusted), loss.columns(estimate.variance))


def class_terms(
    loss: Loss, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray, weights: np.ndarray
) -> list[Loss]:
    """Returns the terms of the classes that y has; raises for a loss that is not one of single classes."""
    if loss.task != "classification" or y.ndim > 1:
        hint: Words = [EACH_TARGET, " for one explanation of each target"] if y.ndim > 1 else ""
        got = f"the loss {loss.name!r}" if y.ndim == 1 else f"y of shape {y.shape}"
        raise InputError("per_class", got=got, wanted="a loss of classes, and y with the class of each row", hint=hint)
    target = class_target(y, classes, outputs.shape[1])
    if target.ndim > 1:
        raise InputError("per_class", got="y with probabilities of classes", wanted="the class of each row")
    names = presumed_classes(y, max(outputs.shape[1], 2)) if classes is None else list(classes)
    return [
        LossTerm(
            loss,
            f"{_label(loss)} of class {names[number]!r}",
            ("class", names[number]),
            of_class=number,
            share=float(weights[target == number].sum()),
        )
        for number in np.unique(target[weights > 0]).tolist()
    ]


def target_terms(loss: Loss, outputs: np.ndarray, names: Sequence[str] | None) -> list[Loss]:
    """Returns the terms of the outputs of a model, one for each target; raises for a loss of classes."""
    numbers = range(outputs.shape[1])
    subjects = [("target", number if names is None else names[number]) for number in numbers]
    if isinstance(loss, MultiLabel):
        return [replace(loss, label=number) for number in numbers]
    if loss.task != "regression":
        hint: Words = [EACH_CLASS, " for one explanation of each class"]
        raise InputError(
            "per_target", got=f"the loss {loss.name!r}", wanted="a loss of numbers or of labels", hint=hint
        )
    word = "target " if names is None else ""
    return [
        LossTerm(loss, f"{_label(loss)} of {word}{subject[1]!r}", subject, output=number)
        for number, subject in zip(numbers, subjects, strict=True)
    ]


def scale_of_targets(y: np.ndarray, weights: np.ndarray) -> tuple[float, ...] | None:
    """Returns the standard deviations of targets (N, k), to two digits; None if their squared errors can be added.

    They can if no target has a standard deviation of more than ``UNLIKE`` times that of another: with two targets, one
    would then have more than nine tenths of the sum. Shares, from 0 to 1, have the same unit.

    Examples
    --------
    >>> scale_of_targets(np.array([[0.1, 500.0], [0.3, 800.0]]), np.full(2, 0.5))
    (0.1, 150.0)
    """
    if y.ndim == 1 or y.dtype.kind not in "biuf" or are_probabilities(y):
        return None
    numbers = y.astype(np.float64)
    spread = np.sqrt(weights @ (numbers - weights @ numbers) ** 2)
    if not spread.min() > ROUNDING * np.abs(numbers).max() or spread.max() <= UNLIKE * spread.min():
        return None
    return tuple(float(f"{number:.2g}") for number in spread)


def about_targets(
    losses: Sequence[Loss], targets: Sequence[np.ndarray], nothing: np.ndarray, weights: np.ndarray, names: Any
) -> list[Note | str]:
    """Returns a warning for each loss of several targets (N, k) in which the errors of one hide those of the others.

    The share of a target is that in the loss of the prediction with nothing kept, (k,).
    """
    notes: list[Note | str] = []
    for loss, target in zip(losses, targets, strict=True):
        if loss.task != "regression" or isinstance(loss, LossTerm) or target.ndim < 2 or target.shape[1] < 2:
            continue
        predictions = np.broadcast_to(nothing, target.shape)
        terms = target_terms(loss, predictions, names)
        sizes = np.array([weights @ np.abs(term(predictions, target)) for term in terms])
        if are_probabilities(target) or sizes.max() <= MOST * sizes.sum():
            continue
        largest = terms[int(sizes.argmax())]
        assert isinstance(largest, LossTerm)
        advice: list[str | Advice] = ["Try ", EACH_TARGET, " for one explanation of each target"]
        scale = scale_of_targets(target, weights)
        if loss == SquaredError() and scale is not None:
            advice += [Or(), Set("loss", SquaredError(scale).name), " to divide the errors by standard deviations"]
        share = f"{100 * sizes.max() / sizes.sum():.3g} % of the {_label(loss)} without features"
        text = (
            f"Errors of targets were added up in their own units: those of target {largest.subject[1]!r} are {share}."
        )
        notes.append(Note(text, [*advice, "."]))
    return notes


def row_weights(losses: Sequence[Loss], targets: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Returns the weights of examples in the mean of each loss: (N,) if they are the same for all, else (N, L)."""
    if not any(isinstance(loss, LossTerm) for loss in losses):
        return weights
    terms = [
        loss.factor(target) if isinstance(loss, LossTerm) else 1.0 for loss, target in zip(losses, targets, strict=True)
    ]
    if all(isinstance(factor, float) for factor in terms):
        return weights
    return np.column_stack([weights * factor for factor in terms])


def _label(loss: Loss) -> str:
    row = LOSSES.get(loss.name)
    return loss.name if row is None or not row.label else row.label
