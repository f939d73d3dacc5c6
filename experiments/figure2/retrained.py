"""Test accuracies of networks that are fitted to some of the pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from experiments.learners import Network
from experiments.result_cache import ResultCache
from experiments.table2.subsets import members, named
from experiments.tasks import task_of


def accuracies(subsets: Sequence[np.ndarray], rows: int, seeds: int, folder: Path, *, jobs: int) -> np.ndarray:
    """Returns test accuracies (subsets, seeds) of networks fitted to the first rows, from the cache where possible.

    Cached results are named by pixels and seed, so they do not depend on the method that chose the pixels.
    """
    learner = _learner(rows, 0)
    cache = ResultCache.open(folder / "mnist.json", task="mnist", learner=str(learner))
    names = [f"{named(subset)} {seed}" for subset in subsets for seed in range(seeds)]
    shares = cache.compute(names, partial(accuracy, rows), title="MNIST selected", jobs=jobs)
    return np.array(shares).reshape(len(subsets), seeds)


def accuracy(rows: int, name: str) -> float:
    """Returns the test accuracy of a network; the name gives its subset of pixels and its seed."""
    task, (subset, seed) = task_of("mnist"), name.split()
    columns = [task.features[i] for i in members(subset, len(task.features))]
    model, test = _learner(rows, int(seed)).fit(task.parts.of(columns)), task.test.of(columns)
    is_correct = model.classes_[model.predict_proba(test.X).argmax(axis=1)] == test.y
    return float(np.mean(is_correct))


def _learner(rows: int, seed: int) -> Network:
    learner, size = task_of("mnist").learner, len(task_of("mnist").parts.train)
    assert isinstance(learner, Network)
    return replace(learner, rows=None if rows >= size else rows, seed=seed)
