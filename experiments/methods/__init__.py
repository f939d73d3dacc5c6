"""The methods that the paper compares; each returns importances of the features of a task."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import clarysage as cs
from experiments.methods.importance import Importance
from experiments.methods.refits import refitted
from experiments.parts import Part
from experiments.result_cache import ResultCache
from experiments.scale import Scale
from experiments.tasks import Task, task_of


def importances(name: str, scale: Scale, methods: Sequence[str] | None = None) -> dict[str, Importance]:
    """Returns importances of a task's features by method, from the cache of this scale where possible."""
    names = list(METHODS if methods is None else methods)
    results = _cache(name, scale).compute(
        names, partial(_compute, name, scale), title=f"{task_of(name).title} importances"
    )
    return {method: Importance(**result) for method, result in zip(names, results, strict=True)}


def cached_importances(name: str, scale: Scale, methods: Sequence[str]) -> dict[str, Importance] | None:
    """Returns importances from the cache; None if those of some methods are missing."""
    results = _cache(name, scale).results
    return {method: Importance(**results[method]) for method in methods} if set(methods) <= set(results) else None


def settings(name: str, scale: Scale) -> dict[str, Any]:
    """Returns the configuration of the methods for a task: MNIST has its own settings."""
    configuration = scale.settings("methods")
    return {key: value for key, value in configuration.items() if key.startswith("mnist_") == (name == "mnist")}


def _cache(name: str, scale: Scale) -> ResultCache:
    return ResultCache.open(
        scale.folder("importances") / f"{name}.json",
        task=name,
        learner=str(task_of(name).learner),
        settings=settings(name, scale),
    )


def _compute(name: str, scale: Scale, method: str) -> dict[str, Any]:
    return METHODS[method](name, scale).as_dict()


def sage(name: str, scale: Scale) -> Importance:
    task, X, y = task_and_rows(name, scale)
    return explained("sage", task, X, y, function=cs.sage, background=task.background, **precision(name, scale))


def conditional_sage(name: str, scale: Scale) -> Importance:
    """Computes SAGE values with a surrogate of the model, fitted to masked training rows, as the removal."""
    task, X, y = task_and_rows(name, scale)
    removal, when = surrogate(task, scale), precision(name, scale, "conditional_")
    return explained("conditional sage", task, X, y, function=cs.sage, removal=removal, **when)


def surrogate(task: Task, scale: Scale) -> cs.Surrogate:
    """Returns a surrogate of boosted trees; for MNIST, whose 784 columns are too many for them, a network."""
    if task.name != "mnist":
        return cs.Surrogate(task.parts.train.first(4096).X)
    from experiments.methods.chances import Chances

    rows = task.parts.train.first(settings(task.name, scale)["mnist_conditional_rows"]).X
    return cs.Surrogate(rows, regressor=Chances(2 * rows.shape[1], task.model.predict_proba(rows)))


def permutation_test(name: str, scale: Scale) -> Importance:
    task, X, y = task_and_rows(name, scale)
    repeats = settings(name, scale)["mnist_repeats" if name == "mnist" else "repeats"]
    return explained("permutation test", task, X, y, function=cs.permutation_test, repeats=repeats)


def mean_importance(name: str, scale: Scale) -> Importance:
    """Replaces categories by the most frequent one; the paper leaves the method out there."""
    task, X, y = task_and_rows(name, scale)
    return explained("mean importance", task, X, y, function=cs.mean_importance, background=task.parts.train.X)


def explained(
    method: str, task: Task, X: Any, y: Any, /, *, function: Callable[..., cs.Explanation], **options: Any
) -> Importance:
    begun = time.monotonic()
    explanation = function(task.explained, X, y, loss=task.loss, feature_names=task.features, rng=0, **options)
    return Importance.of(method, explanation, time.monotonic() - begun)


def task_and_rows(name: str, scale: Scale) -> tuple[Task, Any, Any]:
    """Returns a task and the test rows to explain: only the first ones for MNIST."""
    task = task_of(name)
    part: Part = task.test
    if name == "mnist":
        part = part.first(settings(name, scale)["mnist_examples"])
    return task, part.X, part.y


def precision(name: str, scale: Scale, kind: str = "") -> dict[str, Any]:
    """Returns options for SAGE; on MNIST Algorithm 1, whose error after 28 s was three quarters of paired walks'."""
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
