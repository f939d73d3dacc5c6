"""How much the correlation moves when rows are split into parts otherwise than in the paper."""

from __future__ import annotations

from functools import partial

import numpy as np

import clarysage as cs
from experiments.kept import Kept
from experiments.scale import Scale
from experiments.table2.correlation import correlation
from experiments.table2.subsets import drawn
from experiments.tasks import task_of

MOVED = ("credit",)  # whose test part has 100 rows, and whose fits are cheap
FIRST = 1000  # random_state of the first of the other splits


def over_splits(name: str, scale: Scale) -> list[float]:
    """SAGE's correlation in other splits, each with a model, values and subsets of its own."""
    settings = scale.settings("table2")
    if name not in MOVED or not settings["other_splits"]:
        return []
    number, tolerance = settings["split_subsets"], scale.settings("methods")["tolerance"]
    kept = Kept.of(scale.folder("splits") / f"{name}.json", task=name, subsets=number, tolerance=tolerance)
    asked = [str(FIRST + i) for i in range(settings["other_splits"])]
    title = f"{task_of(name).title} other splits"
    return kept.all(asked, partial(in_split, name, number, tolerance), title=title, jobs=scale.jobs)


def in_split(name: str, number: int, tolerance: float, random_state: str) -> float:
    task = task_of(name, int(random_state))
    X, y = task.test.X, task.test.y
    found = cs.sage(
        task.explained, X, y, background=task.background, loss=task.loss, tolerance=tolerance, rng=int(random_state)
    )
    subsets = drawn(len(task.features), number, seed=int(random_state))
    different, back = np.unique(subsets, axis=0, return_inverse=True)
    losses = np.array([task.retrained([task.features[i] for i in np.flatnonzero(one)]) for one in different])[
        back.ravel()
    ]
    return float(f"{correlation(subsets @ found.values, -losses):.6g}")
