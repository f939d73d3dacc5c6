"""Cached runs for the figure: converged values, runs of SAGE, and local explanations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import clarysage as cs
from experiments.figure7.black_box import black_box, evaluations, options
from experiments.result_cache import ResultCache
from experiments.scale import Scale
from experiments.tasks import Task, task_of

AT_ONCE = 32  # local explanations in one cached result
METHODS = ("permutation", "paired walks")
MADE_BY = (
    "converged",
    "least",
    "most",
    "local_tolerance",
    "iterations",
    "pairs",
)  # settings of cached results


@dataclass(frozen=True, eq=False)
class Runs:
    """Results of the runs of a task.

    Attributes
    ----------
    converged : (d,)
    evaluations, values : (m,) and (R, m, d) by method
    local : (n, d) loss SHAP values of single examples
    noise : (n, d) their standard errors
    pilots : for each of some examples the iterations it was given, and its largest error as a share of the range
    """

    converged: np.ndarray
    evaluations: Mapping[str, np.ndarray]
    values: Mapping[str, np.ndarray]
    local: np.ndarray
    noise: np.ndarray
    pilots: np.ndarray


def runs(name: str, scale: Scale) -> Runs:
    """Makes all runs of a task, from the cache where possible."""
    task, settings = task_of(name), scale.settings("figure7")
    cache = ResultCache.open(
        scale.folder("convergence") / f"{name}.json", task=name, **{setting: settings[setting] for setting in MADE_BY}
    )
    repetitions, lots = range(settings["repetitions"]), range(0, min(settings["local"], len(task.test)), AT_ONCE)
    names = [
        "converged 0",
        *(f"{method} {r}" for method in METHODS for r in repetitions),
        *(f"pilot {i}" for i in range(settings["pilots"])),
        *(f"local {first}" for first in lots),
    ]
    cache.compute(names, partial(_made, name, settings), title=f"{task.title} convergence", jobs=scale.jobs)
    return _gathered(cache.results, settings, lots)


def _made(name: str, settings: Mapping[str, Any], piece: str) -> Any:
    kind, number = piece.rsplit(" ", 1)
    make = MAKERS.get(kind) or partial(sampled, kind)
    return make(task_of(name), settings, int(number))


def converged(task: Task, settings: Mapping[str, Any], seed: int) -> list[float]:
    """Returns the values of a long run; it may use the structure of the model, since its cost does not matter."""
    explanation = cs.sage(
        task.model, task.test.X, task.test.y, tolerance=settings["converged"], rng=seed, **options(task)
    )
    return _short(explanation.values)


def sampled(method: str, task: Task, settings: Mapping[str, Any], seed: int) -> list[list[float]]:
    """Returns evaluations and values of runs of increasing length, each the beginning of the next."""
    model, points = black_box(task), []
    for budget in budgets(settings["least"], settings["most"]):
        explanation = cs.sage(
            model, task.test.X, task.test.y, method=method, tolerance=None, budget=budget, rng=1 + seed, **options(task)
        )
        points.append([float(explanation.model_rows), *_short(explanation.values)])
    return points


def pilot(task: Task, settings: Mapping[str, Any], number: int) -> list[float]:
    """Algorithm 1 on a single example, to the paper's tolerance or to the most iterations that are allowed.

    Walks are the same as those of a black box; the structure of trees makes them quicker.
    """
    i = shuffled(task)[number]
    explanation = cs.sage(
        task.model,
        task.test.X.iloc[[i]],
        task.test.y[[i]],
        method="permutation",
        rng=0,
        **options(task),
        tolerance=settings["local_tolerance"],
        budget=int(evaluations(task, settings["iterations"])),
    )
    return [float(explanation.draws), *_short([explanation.std_error.max() / np.ptp(explanation.values)])]


def local(task: Task, settings: Mapping[str, Any], first: int) -> list[list[list[float]]]:
    """Returns loss SHAP values of some examples, and their standard errors."""
    rows = shuffled(task)[first : first + AT_ONCE]
    explanation = cs.mean_loss_shap(
        task.model,
        task.test.X.iloc[rows],
        task.test.y[rows],
        method="paired walks",
        walks=settings["pairs"],
        rng=first,
        **options(task),
    )
    return [[_short(row) for row in part] for part in (explanation.per_example, explanation.per_example_error)]


MAKERS = {"converged": converged, "pilot": pilot, "local": local}


def budgets(least: int, most: int) -> list[int]:
    """Returns budgets that double from the least to the most.

    Examples
    --------
    >>> budgets(25, 200)
    [25, 50, 100, 200]
    """
    return [least * 2**k for k in range(int(np.log2(most / least)) + 1)]


def shuffled(task: Task) -> np.ndarray:
    """Returns the row numbers of the test part in a random order."""
    return np.random.default_rng(0).permutation(len(task.test))


def _gathered(results: Mapping[str, Any], settings: Mapping[str, Any], lots: range) -> Runs:
    walked = {
        method: np.array([results[f"{method} {r}"] for r in range(settings["repetitions"])]) for method in METHODS
    }  # (R, m, 1 + d)
    both = [np.concatenate([np.array(results[f"local {first}"][k]) for first in lots]) for k in (0, 1)]
    return Runs(
        np.array(results["converged 0"]),
        {method: walks[:, :, 0].mean(axis=0) for method, walks in walked.items()},
        {method: walks[:, :, 1:] for method, walks in walked.items()},
        *both,
        np.array([results[f"pilot {i}"] for i in range(settings["pilots"])]),
    )


def _short(numbers: Any) -> list[float]:
    return [float(f"{number:.6g}") for number in numbers]
