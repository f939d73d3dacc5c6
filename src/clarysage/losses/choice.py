"""The choice of a loss: by name, as an object or a function, or by what fits the model where the user names none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.catalogue import LOSSES, LossRow
from clarysage.errors import Advice, Call, Either, InputError, ModelError, Note, Or, PythonOnly, Set
from clarysage.losses.classification import (
    SUM_TOLERANCE,
    CrossEntropy,
    are_probabilities,
    labels_instead_of_probabilities,
)
from clarysage.losses.custom import CustomLoss
from clarysage.losses.multilabel import MultiLabel
from clarysage.losses.regression import SquaredError
from clarysage.losses.scikit_learn import metric_of
from clarysage.losses.terms import (
    EACH_TARGET,
    LossTerm,
    PerClass,
    PerTarget,
    class_terms,
    scale_of_targets,
    target_terms,
)
from clarysage.protocols import Loss, ModelFacts, ability

MEMBERS = ("name", "task", "degree", "debiasing", "ceiling", "encode", "check", "best_constant")


def as_loss(loss: Any) -> Loss:
    """Returns a loss given by name, as an object, or as a callable ``loss(y_true, y_pred)`` with one value per example.

    A metric or a scorer of scikit-learn stands for the loss whose mean it is.

    Examples
    --------
    >>> as_loss("zero one").name, as_loss("pinball(0.9)")
    ('zero one', Pinball(alpha=0.9))
    """
    if isinstance(loss, str):
        return _named(LOSSES.get_row(loss))
    if isinstance(loss, type) and hasattr(loss, "encode"):
        return as_loss(loss())
    ready = ability(loss, Loss)
    if ready is not None and callable(loss):
        return ready
    metric = metric_of(loss)
    if metric is not None:
        return metric.loss
    if not callable(loss):
        accepted = "a name, a callable loss(y_true, y_pred), or a list"
        raise InputError("loss", got=f"{type(loss).__name__}", wanted=accepted)
    if hasattr(loss, "encode"):  # an incomplete Loss, since functions of (y_true, y_pred) do not have this method
        missing = ", ".join(member for member in MEMBERS if not hasattr(loss, member))
        got = f"a {type(loss).__name__} without {missing}"
        raise InputError("loss", got=got, wanted="all members of clarysage.protocols.Loss")
    return CustomLoss(loss)


def _named(row: LossRow) -> Loss:
    try:
        named: Loss = row()
    except InputError as error:  # about the value of a parameter
        got = [f"{row.name!r}, with {error.argument} ", *error.got]
        raise InputError("loss", got=got, wanted=error.wanted, hint=error.hint) from error
    return named


def is_auto(loss: Any) -> bool:
    """Tells whether the loss is "auto", to be chosen by the model's task."""
    return LOSSES.is_special(loss)


def makes_shapley_effects(loss: Any) -> bool:
    """Tells whether a loss can be used without y, with the model's outputs as the response: degree 2, or "auto"."""
    if isinstance(loss, PerTarget):
        return makes_shapley_effects(loss.loss)
    return is_auto(loss) or (not is_several(loss) and as_loss(loss).degree == 2)


def is_several(loss: Any) -> bool:
    """Tells whether a user asks for a list of explanations: by a list of losses, or for each class or target."""
    return isinstance(loss, (list, tuple, PerClass, PerTarget))


def several_in_words(loss: Any) -> str:
    """Returns what a user gave that stands for several losses, for an error where only one is possible."""
    return f"a list of {len(loss)}" if isinstance(loss, (list, tuple)) else f"a loss of each {loss.part}"


def of_each_part(loss: Any, *, per_class: bool, per_target: bool) -> Any:
    """Returns a loss of each class, or of each target, if the user asks for it."""
    if per_class and per_target:
        raise InputError("per_class", got="per_class and per_target", wanted="one of the two")
    if per_class:
        return PerClass(loss)
    return PerTarget(loss) if per_target else loss


@dataclass(frozen=True)
class Fit:
    """A model and data that losses are chosen for: facts about the model, its outputs (N, k), responses and weights.

    Attributes
    ----------
    names : of the columns of y, None if they have none
    """

    facts: ModelFacts
    outputs: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    names: Sequence[str] | None = None

    def losses(self, loss: Any) -> list[Loss]:
        """Returns one loss or several as objects; "auto" is replaced by the loss that suits the model."""
        if isinstance(loss, (list, tuple)):
            return [chosen for each in loss for chosen in self.losses(each)]
        if isinstance(loss, PerClass):
            of_class = (self.facts.classes, self.outputs, self.weights)
            return [term for each in self.losses(loss.loss) for term in class_terms(each, self.y, *of_class)]
        if isinstance(loss, PerTarget):
            given = self._chosen() if is_auto(loss.loss) else loss.loss
            return [term for each in self.losses(given) for term in target_terms(each, self.outputs, self.names)]
        if not is_auto(loss):
            return [_with_floor(as_loss(loss), self.facts.floor)]
        scale = scale_of_targets(self.y, self.weights)
        chosen = self._chosen()
        return self.losses(SquaredError(scale) if chosen == "squared error" and scale is not None else chosen)

    def _chosen(self) -> str:
        return loss_for(self.facts, self.outputs, self.y)


def as_losses(loss: Any, fit: Fit) -> tuple[Loss, ...]:
    """Returns one loss or several as objects, for a model and data; "auto" is replaced by the loss that suits them."""
    losses = tuple(fit.losses(loss))
    if not losses:
        raise InputError("loss", got="an empty list", wanted="one loss or more")
    if fit.facts.hard and any(isinstance(each, CrossEntropy) for each in losses):
        raise labels_instead_of_probabilities("a classifier that predicts labels")
    return losses


def _with_floor(loss: Loss, floor: float | None) -> Loss:
    """Returns a loss of probabilities with the floor of a model, where the user has set none."""
    return (
        loss
        if floor is None or not isinstance(loss, (CrossEntropy, MultiLabel))
        else replace(loss, default_floor=floor)
    )


NO_PREDICTIONS = {
    "ranking": "a ranker, whose scores are not predictions of y",
    "survival": "a survival model, whose outputs are not predictions of y: hazards, or times where y may be censored",
}


def check_predicts_response(task: str | None, losses: Iterable[Loss]) -> None:
    """Raises for a ranker or a survival model with a loss of predictions, since outputs have another unit than y."""
    if task in NO_PREDICTIONS and not all(isinstance(loss, CustomLoss) for loss in losses):
        raise InputError(
            "model",
            got=NO_PREDICTIONS[task],
            wanted="a model that predicts y",
            hint=[
                Either("leaving out y", "leaving out --target"),
                " to get Shapley effects of its outputs",
                Or(),
                PythonOnly("loss= with a function of your own"),
            ],
        )


def loss_for(facts: ModelFacts, outputs: np.ndarray, y: np.ndarray) -> str:
    """Returns the name of the loss that a model was fitted to minimise.

    Labels have the zero-one loss, whatever the objective. Without an objective, the model's task decides; without a
    task, its outputs (n, k) and y do.

    Examples
    --------
    >>> loss_for(ModelFacts("classification"), np.array([[0.3, 0.7]]), np.array(["a"]))
    'cross entropy'
    >>> from clarysage.protocols import Objective
    >>> fitted = ModelFacts("regression", objective=Objective("quantile(alpha=0.9)", "pinball(0.9)"))
    >>> loss_for(fitted, np.array([[3.0]]), np.array([2.0]))
    'pinball(0.9)'
    """
    task, objective = facts.task, facts.objective
    if objective is not None and not facts.hard:
        if objective.loss != "cross entropy":
            return objective.loss
        task = "classification"
    if task == "regression":
        return "squared error"
    if task is None and _looks_like_scores(outputs, y):
        raise _scores_instead_of_probabilities(outputs, y)
    if task == "classification" or (task is None and _looks_like_classification(outputs, y)):
        if facts.hard or _looks_like_labels(task, outputs):
            return "zero one"
        return "multi label cross entropy" if _looks_like_several_labels(outputs, y) else "cross entropy"
    return "squared error"


def note_on_choice(loss: Loss, facts: ModelFacts, fitted: str = "model") -> Note:
    """Returns a note on a loss that was chosen for a fitted model: a warning, if it is not the model's objective."""
    loss = loss.loss if isinstance(loss, LossTerm) else loss
    choice, objective = f"Loss {loss.name!r} was chosen for this {fitted}", facts.objective
    if isinstance(loss, SquaredError) and loss.scale is not None:
        reason = "it divides errors of each target by its standard deviation, since one would hide the others in a sum."
        sum_of_errors = Set("loss", "squared error")
        return Note(
            [f"{choice}: {reason} For the sum, use ", sum_of_errors, "; for each target by itself, ", EACH_TARGET, "."]
        )
    if objective is None:
        return Note(f"{choice}.")
    if facts.hard:
        return Note(f"{choice}, which predicts labels; its objective is {objective.name}.")
    if not objective.difference:
        return Note(f"{choice}.")
    nearest = f"{choice}, as the nearest to its objective {objective.name}, {objective.difference}."
    return Note(nearest, advice=["Choose another one with ", Set("loss"), "."])


def _looks_like_scores(outputs: np.ndarray, y: np.ndarray) -> bool:
    """Tells whether a single output is neither a probability nor a number in the range of y, for y of two classes.

    The classes are labels, 0 and 1, or -1 and 1. Outputs from -1 to 1 for the last may well be predictions of y.
    """
    if y.ndim > 1 or outputs.shape[1] > 1 or are_probabilities(outputs):
        return False
    labels = set(y.tolist())
    if labels == {-1, 1}:
        return bool((np.abs(outputs) > 1 + SUM_TOLERANCE).any())
    return labels == {0, 1} or (y.dtype.kind in "USO" and len(labels) == 2)


def _scores_instead_of_probabilities(outputs: np.ndarray, y: np.ndarray) -> ModelError:
    regression: list[str | Advice] = [Or(), Set("loss", "squared error"), " for a regression of these numbers"]
    return ModelError(
        "model",
        got=f"one output from {outputs.min():.4g} to {outputs.max():.4g}, for y of two classes",
        wanted="probabilities, or a loss by its name: logits, margins and regressions look alike",
        hint=[
            Call("as_predictor", "model", (Set("output", "sigmoid"),)),
            " for logits",
            Or(", "),
            Set("loss", "hinge"),
            " for margins",
            *(regression if y.dtype.kind not in "USO" else []),
        ],
    )


def _looks_like_labels(task: str | None, outputs: np.ndarray) -> bool:
    return task is None and outputs.shape[1] == 1 and bool(np.isin(outputs, (0.0, 1.0)).all())


def _looks_like_several_labels(outputs: np.ndarray, y: np.ndarray) -> bool:
    """Tells whether outputs are probabilities of labels that do not exclude each other, each zero or one in y."""
    if y.ndim < 2 or y.shape != outputs.shape or y.shape[1] == 1 or not are_probabilities(outputs):
        return False
    return bool(np.isin(y, (0, 1)).all() and np.abs(outputs.sum(axis=1) - 1).max() > SUM_TOLERANCE)


def _looks_like_classification(outputs: np.ndarray, y: np.ndarray) -> bool:
    if y.dtype.kind in "bUSO":
        return True
    if not are_probabilities(outputs):
        return y.ndim == 1 and outputs.shape[1] > 1  # several outputs for one response: logits, which the loss refuses
    if _looks_like_several_labels(outputs, y):
        return True
    if outputs.shape[1] == 1:
        return y.ndim == 1 and looks_like_two_classes(y)
    return y.ndim == 1 or bool(np.allclose(outputs.sum(axis=1), 1, atol=SUM_TOLERANCE))


def looks_like_two_classes(y: np.ndarray) -> bool:
    """Tells whether numbers are labels of two classes: 0 and 1, or two whole numbers such as -1 and 1."""
    labels = np.unique(y)
    return bool(np.isin(labels, (0, 1)).all() or (len(labels) == 2 and (labels == np.round(labels)).all()))
