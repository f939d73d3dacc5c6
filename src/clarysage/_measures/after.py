"""The option ``after``: the model behind a step of a pipeline, and the data as this step returns them."""

from __future__ import annotations

from typing import Any

from clarysage._measures.examples import separate_targets, without_targets
from clarysage.errors import InputError, Note, Set
from clarysage.models.pipelines import PipelineStep, pipeline_in, step_of_texts
from clarysage.tables import labels_of


def after_step(name: Any, arguments: dict[str, Any]) -> tuple[dict[str, Any], Note]:
    """Returns the arguments of a measure for the model behind a step of its pipeline, and a note.

    The rows of X, of the background and of training data are transformed by the steps up to this one, and the columns
    are named as this step names them.
    """
    step, changed = PipelineStep.of(arguments["model"], name), dict(arguments)
    X, named = arguments["X"], [value for key in ("y", "sample_weight") if isinstance(value := arguments.get(key), str)]
    background = arguments.get("background")
    if named:
        X, y, weights = separate_targets(X, arguments.get("y"), arguments.get("sample_weight"))
        changed |= {"y": y} | ({} if weights is None else {"sample_weight": weights})
        background = without_targets(background, X, named)
    changed |= {"model": step.model, "X": step.transform(X, "X")}
    if background is not None:
        changed["background"] = step.transform(background, "background")
    train = arguments.get("train")
    if isinstance(train, (list, tuple)) and train:
        changed["train"] = (step.transform(train[0], "train"), *train[1:])
    if labels_of(changed["X"]) is None and arguments.get("feature_names") is None and step.feature_names is not None:
        changed["feature_names"] = step.feature_names
    width = changed["X"].shape[1]
    return changed, Note(f"Explained is the model after the step {step.name!r}, on the {width:,} columns of that step.")


def refuse_texts(model: Any) -> None:
    """Raises an error for a model that takes texts, which are no table, and names the step that makes one of them."""
    name = step_of_texts(model)
    if name is not None:
        raise InputError(
            "X",
            got=f"texts, since the first step of {type(pipeline_in(model)).__name__} makes columns of them",
            wanted="these columns, such as words, as features",
            hint=Set("after", name),
        )
