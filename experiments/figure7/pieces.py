"""The runs behind a figure, in pieces that are kept: converged values, runs of SAGE, and explanations of examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import clarysage as cs
from experiments.figure7.black_box import black_box, evaluations, options
from experiments.kept import Kept
from experiments.scale import Scale
from experiments.tasks import Task, task_of

AT_ONCE = 32  # examples of a piece
METHODS = ("permutation", "paired walks")
MADE_BY = ("converged", "least", "most", "local_tolerance", "iterations", "pairs")  # settings that pieces depend on


@dataclass(frozen=True, eq=False)
class Runs:
    """What was run for a task.

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
    """All pieces of a task; those that were made before are found again."""
    task, settings = task_of(name), scale.settings("figure7")
    kept = Kept.of(scale.folder("convergence") / f"{name}.json", task=name, **{one: settings[one] for one in MADE_BY})
    repetitions, lots = range(settings["repetitions"]), range(0, min(settings["local"], len(task.test)), AT_ONCE)
    names = [
        "converged 0",
        *(f"{method} {r}" for method in METHODS for r in repetitions),
        *(f"pilot {i}" for i in range(settings["pilots"])),
        *(f"local {first}" for first in lots),
    ]
    kept.all(names, partial(_made, name, settings), title=f"{task.title} convergence", jobs=scale.jobs)
    return _gathered(kept.found, settings, lots)


def _made(name: str, settings: Mapping[str, Any], piece: str) -> Any:
    kind, number = piece.rsplit(" ", 1)
    make = MAKERS.get(kind) or partial(sampled, kind)
    return make(task_of(name), settings, int(number))


def converged(task: Task, settings: Mapping[str, Any], seed: int) -> list[float]:
    """Values of a long run, which may look into the model: only how near it comes matters here."""
    found = cs.sage(task.model, task.test.X, task.test.y, tolerance=settings["converged"], rng=seed, **options(task))
    return _short(found.values)


def sampled(method: str, task: Task, settings: Mapping[str, Any], seed: int) -> list[list[float]]:
    """Evaluations and values of runs of growing length, each the beginning of the next; a list a run."""
    model, found = black_box(task), []
    for budget in budgets(settings["least"], settings["most"]):
        one = cs.sage(
            model, task.test.X, task.test.y, method=method, tolerance=None, budget=budget, rng=1 + seed, **options(task)
        )
        found.append([float(one.model_rows), *_short(one.values)])
    return found


def pilot(task: Task, settings: Mapping[str, Any], number: int) -> list[float]:
    """Algorithm 1 on a single example, to the paper's tolerance or to the most iterations that are allowed.

    Walks are the same as those of a black box; the structure of trees makes them quicker.
    """
    i = shuffled(task)[number]
    found = cs.sage(
        task.model,
        task.test.X.iloc[[i]],
        task.test.y[[i]],
        method="permutation",
        rng=0,
        **options(task),
        tolerance=settings["local_tolerance"],
        budget=int(evaluations(task, settings["iterations"])),
    )
    return [float(found.draws), *_short([found.std_error.max() / np.ptp(found.values)])]


def local(task: Task, settings: Mapping[str, Any], first: int) -> list[list[list[float]]]:
    """Loss SHAP values of some examples, and their standard errors."""
    rows = shuffled(task)[first : first + AT_ONCE]
    found = cs.mean_loss_shap(
        task.model,
        task.test.X.iloc[rows],
        task.test.y[rows],
        method="paired walks",
        walks=settings["pairs"],
        rng=first,
        **options(task),
    )
    return [[_short(row) for row in part] for part in (found.per_example, found.per_example_error)]


MAKERS = {"converged": converged, "pilot": pilot, "local": local}


def budgets(least: int, most: int) -> list[int]:
    """Doubling from the least to the most.

    Examples
    --------
    >>> budgets(25, 200)
    [25, 50, 100, 200]
    """
    return [least * 2**k for k in range(int(np.log2(most / least)) + 1)]


def shuffled(task: Task) -> np.ndarray:
    """The rows of the test part in a random order."""
    return np.random.default_rng(0).permutation(len(task.test))


def _gathered(found: Mapping[str, Any], settings: Mapping[str, Any], lots: range) -> Runs:
    walked = {
        method: np.array([found[f"{method} {r}"] for r in range(settings["repetitions"])]) for method in METHODS
    }  # (R, m, 1 + d)
    both = [np.concatenate([np.array(found[f"local {first}"][k]) for first in lots]) for k in (0, 1)]
    return Runs(
        np.array(found["converged 0"]),
        {method: one[:, :, 0].mean(axis=0) for method, one in walked.items()},
        {method: one[:, :, 1:] for method, one in walked.items()},
        *both,
        np.array([found[f"pilot {i}"] for i in range(settings["pilots"])]),
    )


def _short(numbers: Any) -> list[float]:
    return [float(f"{number:.6g}") for number in numbers]
