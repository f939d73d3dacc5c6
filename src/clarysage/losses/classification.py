"""Losses of class probabilities: cross entropy (log loss), zero-one loss, Brier score.

A model returns probabilities (n, k), one column for each class, or (n, 1), the probability of the second of two.
Targets are class numbers (n,), or probabilities (n, k) where the response itself is soft (label distributions).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clarysage.errors import Call, InputError, ModelError, Or, PythonOnly, Set, Words
from clarysage.losses.debiasing import Debiasing, PlugIn, Strata, TaylorLogarithm, UnbiasedSquare
from clarysage.protocols import LossTask

NAMED = Call("as_predictor", "model", (Set("classes", ("a", "b")),))
MOST_NAMED = 8  # classes in a message
LEAST_FLOOR = 1e-12  # of probabilities, where a model does not say what its training rows can tell from zero
ROUNDING = 1e-9  # difference of probabilities that count as equal
SUM_ROUNDING = 1e-14  # relative difference of sums of a few numbers that are equal
SUM_TOLERANCE = 1e-3  # rows of float16 or float32 probabilities add up to one only approximately


@dataclass(frozen=True)
class CrossEntropy:
    """Cross entropy: minus the logarithm of the predicted probability of the true class.

    Probabilities are clipped to at least ``floor``, so that a probability of zero for the true class has a finite loss.
    If it is None, it is ``default_floor``, which measures choose by the model: where probabilities are shares of
    training rows, as in leaves of trees or among nearest neighbours, it is that of half a row; for other models it is
    1e-12, with a loss of 27.63. The explanation reports the rows whose loss was bounded.

    Parameters
    ----------
    floor : the least probability that enters the loss; None for ``default_floor``
    default_floor : the floor without one of the user, which measures choose by the model

    Examples
    --------
    >>> outputs, y = np.array([[0.2, 0.8], [1.0, 0.0]]), np.array([1, 1])
    >>> CrossEntropy()(outputs, y).round(2), CrossEntropy(floor=0.01)(outputs, y).round(2)
    (array([ 0.22, 27.63]), array([0.22, 4.61]))
    """

    floor: float | None = None
    default_floor: float = LEAST_FLOOR
    task: ClassVar[LossTask] = "classification"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = TaylorLogarithm()

    def __post_init__(self) -> None:
        check_floor(self.floor)

    @property
    def name(self) -> str:
        return "cross entropy" if self.floor is None else f"cross entropy({self.floor!r})"

    @property
    def clip(self) -> float:
        """The least probability that enters the loss."""
        return self.default_floor if self.floor is None else self.floor

    @property
    def ceiling(self) -> float:
        return -math.log(self.clip)

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        if outputs.shape[1] == 1 and classes is None and np.isin(outputs, (0.0, 1.0)).all():
            raise labels_instead_of_probabilities("outputs that are all 0 or 1, as labels are")
        return class_target(y, classes, outputs.shape[1])

    def check(self, outputs: np.ndarray) -> None:
        check_probabilities(outputs, self.name)

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        return self.expected(-np.log(np.maximum(self.probabilities(prediction, target), self.clip)), target)

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns the class frequencies; zero for classes so rare that their bounded loss costs less."""
        return _as_outputs(best_probabilities(class_shares(target, weights, outputs), self.clip), outputs)

    def probabilities(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Returns the probabilities that enter the loss: (n,) of the true class, or (n, k) for soft targets."""
        return _of_true_class(_all_classes(prediction), target)

    def variances(self, variance: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Returns the variances of these probabilities, from the variances (n, k) of the model's outputs."""
        by_class = np.repeat(variance, 2, axis=-1) if variance.shape[-1] == 1 else variance
        return _of_true_class(by_class, target)

    def expected(self, losses: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Returns the losses (n,) of examples, as expectations over soft targets."""
        return losses if target.ndim == 1 else np.asarray((target * losses).sum(axis=-1))

    def strata(self, alone: np.ndarray, target: np.ndarray) -> Strata:
        """Returns strata of background rows by the probability of the true class, with predictions ``alone`` (m, k)."""
        class_of = target if target.ndim == 1 else target.argmax(axis=1)
        return Strata(np.argsort(_all_classes(alone), axis=0, kind="stable").T.copy(), class_of)


@dataclass(frozen=True)
class ZeroOne:
    """Zero-one loss: 1 if the class with the largest probability is not the true class, else 0.

    Ties go to the first class; probabilities that differ only by rounding are ties.

    Examples
    --------
    >>> ZeroOne()(np.array([[0.2, 0.8], [0.6, 0.4]]), np.array([1, 1]))
    array([0., 1.])
    """

    name: str = "zero one"
    ceiling: float = math.inf
    task: ClassVar[LossTask] = "classification"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = PlugIn(is_adjusted=True, jumps=True)

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        target = class_target(y, classes, outputs.shape[1])
        return target if target.ndim == 1 else target.argmax(axis=1)

    def check(self, outputs: np.ndarray) -> None:
        check_probabilities(outputs, self.name)

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        probabilities = _all_classes(prediction)
        is_largest = probabilities >= probabilities.max(axis=-1, keepdims=True) - ROUNDING
        return np.asarray(is_largest.argmax(axis=-1) != target, dtype=np.float64)

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns probability one for the most frequent class, the first of several."""
        shares = class_shares(target, weights, outputs)
        return _as_outputs(np.eye(len(shares))[(shares >= shares.max() - ROUNDING).argmax()], outputs)


@dataclass(frozen=True)
class Brier:
    """Brier score: the squared distance between probabilities and the true class.

    For two classes it is (p - y)^2 of the second class, from 0 to 1; for more classes it is the sum over classes, from
    0 to 2.

    Examples
    --------
    >>> Brier()(np.array([[0.2, 0.8]]), np.array([[0.0, 1.0]])).round(2)
    array([0.04])
    """

    name: str = "brier"
    ceiling: float = math.inf
    task: ClassVar[LossTask] = "classification"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = UnbiasedSquare(of_two=True)

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        target = class_target(y, classes, outputs.shape[1])
        return np.eye(max(outputs.shape[1], 2))[target] if target.ndim == 1 else target

    def check(self, outputs: np.ndarray) -> None:
        check_probabilities(outputs, self.name)

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        if target.shape[-1] == 2:
            return np.asarray((prediction[..., -1] - target[..., 1]) ** 2)
        return np.asarray(((prediction - target) ** 2).sum(axis=-1))

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns the class frequencies."""
        return _as_outputs(class_shares(target, weights, outputs), outputs)


def are_probabilities(outputs: np.ndarray) -> bool:
    """Tells whether all outputs are between 0 and 1, beyond rounding."""
    return bool(((outputs >= -SUM_TOLERANCE) & (outputs <= 1 + SUM_TOLERANCE)).all())


def check_probabilities(outputs: np.ndarray, loss: str) -> None:
    """Raises an error unless every row of outputs (n, k) is a distribution over classes."""
    if not are_probabilities(outputs):
        raise ModelError(
            "model",
            got=f"outputs from {outputs.min():.4g} to {outputs.max():.4g}",
            wanted=f'class probabilities, for the loss "{loss}"',
            hint=[
                _output("predict_proba"),
                ", ",
                Set("output", "softmax"),
                ' or "sigmoid" for logits',
                Or(),
                'a regression loss such as "squared error"',
            ],
        )
    if outputs.shape[1] == 1:
        return
    off = np.abs(outputs.sum(axis=1) - 1)
    if off.max() > SUM_TOLERANCE:
        row = int(off.argmax())
        raise ModelError(
            "model",
            got=f"{int((off > SUM_TOLERANCE).sum()):,} of {len(outputs):,} rows of outputs that do not add up to one, "
            f"such as {np.array2string(outputs[row][:6], precision=4)}",
            wanted=f'class probabilities, for the loss "{loss}"',
            hint=[_output("softmax"), " for logits"],
        )


def labels_instead_of_probabilities(got: str) -> ModelError:
    """Returns the error for a loss of probabilities and a model that predicts labels."""
    hint: Words = [_output("predict_proba"), Or(), Set("loss", "zero one")]
    return ModelError("model", got=got, wanted="probabilities of the classes", hint=hint)


def _output(name: str) -> Call:
    return Call("as_predictor", "model", (Set("output", name),))


def class_target(y: np.ndarray, classes: Sequence[Any] | None, outputs: int) -> np.ndarray:
    """Returns y as class numbers (n,), or as probabilities (n, k)."""
    n_classes = max(outputs, 2)
    if y.ndim == 2:
        return _soft_target(y, n_classes)
    if classes is None:
        classes = presumed_classes(y, n_classes)
    if len(classes) != n_classes:
        got = f"{outputs} outputs for {len(classes)} classes"
        raise ModelError("model", got=got, wanted="one output for each class, for two or more classes")
    number_of = {_plain(label): number for number, label in enumerate(classes)}
    if all(isinstance(label, str) for label in number_of) and y.dtype.kind not in "UO":
        number_of = {_number(label): number for label, number in number_of.items()}
    numbers = np.array([number_of.get(_plain(label), -1) for label in y.tolist()])
    if (numbers < 0).any():
        if y.dtype.kind == "f" and n_classes == 2 and ((y > 0) & (y < 1)).any() and ((y >= 0) & (y <= 1)).all():
            return np.column_stack([1 - y, y])  # the probability of the second class
        unknown = y.tolist()[int((numbers < 0).argmax())]
        shown = ", ".join(repr(_plain(label)) for label in list(classes)[:MOST_NAMED])
        raise InputError(
            "y",
            got=f"the label {unknown!r}",
            wanted=f"the model's classes: {shown}",
            hint=_advice_on_labels(y, list(map(_plain, classes))),
        )
    return numbers


def _advice_on_labels(y: np.ndarray, classes: list[Any]) -> Words:
    """Returns advice on labels that are no classes: how to map them, if they may be other names of the classes."""
    labels, k = {_plain(label) for label in y.tolist()}, len(classes)
    numbers: list[Any] = [list(range(k)), *([[-1, 1]] if k == 2 else [])]
    names = next((names for names in numbers if labels <= {*names} != {*classes}), None)
    if names is None and len(labels) == k and all(isinstance(label, str) and label not in classes for label in labels):
        names = sorted(labels)
    if names is None or k > MOST_NAMED:
        return [NAMED, " for a model that does not know the names of its classes"]
    renamed = Call("as_predictor", "model", (Set("classes", tuple(map(str, names))),))
    if k == 2:
        mapped = f"y = np.where(y == {names[1]!r}, {classes[1]!r}, {classes[0]!r})"
        return [PythonOnly(mapped), Or(), renamed, f" if {names[1]!r} means {classes[1]!r}"]
    in_order = f" if {names} mean {classes}, in this order"
    if names != numbers[0]:
        return [renamed, in_order]
    index = "y.astype(int)" if y.dtype.kind == "f" else "y"
    return [PythonOnly(f"y = np.array({classes})[{index}]"), Or(), renamed, in_order]


def class_shares(target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
    """Returns weighted class frequencies (c,), for targets that are class numbers (n,) or probabilities (n, c).

    Examples
    --------
    >>> class_shares(np.array([0, 2, 2]), np.array([2.0, 1.0, 1.0]), 3)
    array([0.5, 0. , 0.5])
    """
    sums = weights @ target if target.ndim > 1 else np.bincount(target, weights, minlength=max(outputs, 2))
    return np.asarray(sums / weights.sum())


def best_probabilities(shares: np.ndarray, floor: float) -> np.ndarray:
    """Returns the constant probabilities (k,) of least mean cross entropy, for classes of the given frequencies (k,).

    A class that gets no probability costs the bounded loss; the others then share its probability, which pays if it is
    rarer than about e times the floor. The classes without probability are the rarest ones.

    Examples
    --------
    >>> best_probabilities(np.array([0.9, 0.08, 0.02]), floor=1e-12)
    array([0.9 , 0.08, 0.02])
    >>> best_probabilities(np.array([0.9, 0.08, 0.02]), floor=0.01).round(3)
    array([0.918, 0.082, 0.   ])
    """
    order, best, least = np.argsort(shares, kind="stable"), shares, math.inf
    for count in range(len(shares)):
        constant = shares.copy()
        constant[order[:count]] = 0
        constant = constant / constant.sum() if count else constant
        risk = float(shares @ -np.log(np.maximum(constant, floor)))
        if count == 0 or risk < least * (1 - SUM_ROUNDING):
            best, least = constant, risk
    return best


def check_floor(floor: float | None) -> None:
    """Raises unless a floor of probabilities is above zero and below one, or None."""
    if floor is not None and not 0 < floor < 1:
        raise InputError("floor", got=repr(floor), wanted="a probability above 0 and below 1, or None", hint="0.001")


def _as_outputs(shares: np.ndarray, outputs: int) -> np.ndarray:
    """Returns probabilities in the model's form: only that of the second of two classes, if it has one output."""
    return shares[-1:] if outputs == 1 else shares


def _soft_target(y: np.ndarray, n_classes: int) -> np.ndarray:
    target = y.astype(np.float64)
    proper = (target >= 0).all() and np.allclose(target.sum(axis=1), 1, atol=1e-6)
    if target.shape[1] != n_classes or not proper:
        raise InputError(
            "y",
            got=f"an array of shape {y.shape}",
            wanted=f"labels (n,), or probabilities (n, {n_classes}) adding to one",
        )
    return target


def presumed_classes(y: np.ndarray, n_classes: int) -> list[Any]:
    """Returns the presumed classes of a model that does not name them: 0 to k - 1, or the k labels of y, sorted."""
    labels = sorted({_plain(label) for label in y.tolist()}, key=lambda label: (str(type(label)), label))
    is_count = all(isinstance(label, (int, float)) and 0 <= label < n_classes for label in labels)
    if is_count and (y.dtype.kind in "biu" or all(float(label).is_integer() or n_classes == 2 for label in labels)):
        return list(range(n_classes))
    if len(labels) == n_classes:
        return labels
    raise InputError(
        "y",
        got=f"{len(labels)} labels, such as {labels[0]!r}, for a model with {n_classes} classes of unknown names",
        wanted=f"class numbers 0 to {n_classes - 1}",
        hint=NAMED,
    )


def _plain(label: Any) -> Any:
    """Returns a label that is the same for 1, 1.0, True and their numpy equivalents."""
    value = label.item() if isinstance(label, np.generic) else label
    if isinstance(value, bool):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _number(label: Any) -> Any:
    """Returns the number that a label written in digits stands for, as in CatBoost models and CSV files."""
    try:
        return _plain(float(label))
    except ValueError:
        return {"True": 1, "False": 0}.get(label, label)


def _all_classes(prediction: np.ndarray) -> np.ndarray:
    if prediction.shape[-1] > 1:
        return prediction
    return np.concatenate([1 - prediction, prediction], axis=-1)


def _of_true_class(by_class: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Returns the entries (n,) of the true class, or all entries (n, k) where the target is soft."""
    return by_class if target.ndim > 1 else np.asarray(by_class[np.arange(len(target)), target])
