"""The methods that the paper compares, each as importances of the features of a task."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import clarysage as cs
from experiments.kept import Kept
from experiments.methods.importance import Importance
from experiments.methods.refits import refitted
from experiments.parts import Part
from experiments.scale import Scale
from experiments.tasks import Task, task_of


def importances(name: str, scale: Scale, methods: Sequence[str] | None = None) -> dict[str, Importance]:
    """Importances of a task's features by method; those that were made before at the same scale are found again."""
    asked = list(METHODS if methods is None else methods)
    found = _kept(name, scale).all(asked, partial(_made, name, scale), title=f"{task_of(name).title} importances")
    return {method: Importance(**one) for method, one in zip(asked, found, strict=True)}


def known(name: str, scale: Scale, methods: Sequence[str]) -> dict[str, Importance] | None:
    """The same without making any: None where those of some of the methods are not there."""
    found = _kept(name, scale).found
    return {one: Importance(**found[one]) for one in methods} if set(methods) <= set(found) else None


def settings(name: str, scale: Scale) -> dict[str, Any]:
    """What the configuration says of a task: MNIST has settings of its own."""
    whole = scale.settings("methods")
    return {key: value for key, value in whole.items() if key.startswith("mnist_") == (name == "mnist")}


def _kept(name: str, scale: Scale) -> Kept:
    return Kept.of(
        scale.folder("importances") / f"{name}.json",
        task=name,
        learner=str(task_of(name).learner),
        settings=settings(name, scale),
    )


def _made(name: str, scale: Scale, method: str) -> dict[str, Any]:
    return METHODS[method](name, scale).kept()


def sage(name: str, scale: Scale) -> Importance:
    task, X, y = asked_about(name, scale)
    return explained("sage", task, X, y, function=cs.sage, background=task.background, **precision(name, scale))


def conditional_sage(name: str, scale: Scale) -> Importance:
    """Withheld features are not drawn: a surrogate, fitted to masked training rows, stands in for the model."""
    task, X, y = asked_about(name, scale)
    removal, when = surrogate(task, scale), precision(name, scale, "conditional_")
    return explained("conditional sage", task, X, y, function=cs.sage, removal=removal, **when)


def surrogate(task: Task, scale: Scale) -> cs.Surrogate:
    """Boosted trees, or for the network of MNIST, whose 784 columns are too many for them, another network."""
    if task.name != "mnist":
        return cs.Surrogate(task.parts.train.first(4096).X)
    from experiments.methods.chances import Chances

    known = task.parts.train.first(settings(task.name, scale)["mnist_conditional_rows"]).X
    return cs.Surrogate(known, regressor=Chances(2 * known.shape[1], task.model.predict_proba(known)))


def permutation_test(name: str, scale: Scale) -> Importance:
    task, X, y = asked_about(name, scale)
    repeats = settings(name, scale)["mnist_repeats" if name == "mnist" else "repeats"]
    return explained("permutation test", task, X, y, function=cs.permutation_test, repeats=repeats)


def mean_importance(name: str, scale: Scale) -> Importance:
    """Categories are set to the commonest one, where the paper leaves the method out."""
    task, X, y = asked_about(name, scale)
    return explained("mean importance", task, X, y, function=cs.mean_importance, background=task.parts.train.X)


def explained(
    method: str, task: Task, X: Any, y: Any, /, *, function: Callable[..., cs.Explanation], **options: Any
) -> Importance:
    begun = time.monotonic()
    found = function(task.explained, X, y, loss=task.loss, feature_names=task.features, rng=0, **options)
    return Importance.of(method, found, time.monotonic() - begun)


def asked_about(name: str, scale: Scale) -> tuple[Task, Any, Any]:
    """A task and the rows of its test part that are asked about: of MNIST the first few."""
    task = task_of(name)
    part: Part = task.test
    if name == "mnist":
        part = part.first(settings(name, scale)["mnist_examples"])
    return task, part.X, part.y


def precision(name: str, scale: Scale, kind: str = "") -> dict[str, Any]:
    """When SAGE stops; on MNIST by Algorithm 1, which had three quarters of the error of paired walks after 28 s."""
    given = settings(name, scale)
    if name == "mnist":
        return {"method": "permutation", "tolerance": given["mnist_tolerance"], "budget": given[f"mnist_{kind}budget"]}
    return {"tolerance": given[f"{kind}tolerance"]}


METHODS: dict[str, Callable[[str, Scale], Importance]] = {
    "permutation test": permutation_test,
    "mean importance": mean_importance,
    "feature ablation": partial(refitted, "feature ablation"),
    "univariate predictors": partial(refitted, "univariate predictors"),
    "sage": sage,
    "conditional sage": conditional_sage,
}
