"""Test accuracies of networks that are fitted anew to some of the pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from experiments.kept import Kept
from experiments.learners import Network
from experiments.table2.subsets import members, named
from experiments.tasks import task_of


def accuracies(subsets: Sequence[np.ndarray], rows: int, seeds: int, folder: Path, *, jobs: int) -> np.ndarray:
    """Test accuracies (subsets, seeds) of networks fitted to so many rows; those that were found before are kept.

    Pieces are named by their pixels and seed, so they hold whatever method chose the pixels.
    """
    learner = _learner(rows, 0)
    kept = Kept.of(folder / "mnist.json", task="mnist", learner=str(learner))
    names = [f"{named(subset)} {seed}" for subset in subsets for seed in range(seeds)]
    found = kept.all(names, partial(accuracy, rows), title="MNIST selected", jobs=jobs)
    return np.array(found).reshape(len(subsets), seeds)


def accuracy(rows: int, name: str) -> float:
    """Share of test rows that a network with a named subset and seed gets right."""
    task, (subset, seed) = task_of("mnist"), name.split()
    columns = [task.features[i] for i in members(subset, len(task.features))]
    model, test = _learner(rows, int(seed)).fit(task.parts.of(columns)), task.test.of(columns)
    right = model.classes_[model.predict_proba(test.X).argmax(axis=1)] == test.y
    return float(np.mean(right))


def _learner(rows: int, seed: int) -> Network:
    learner, whole = task_of("mnist").learner, len(task_of("mnist").parts.train)
    assert isinstance(learner, Network)
    return replace(learner, rows=None if rows >= whole else rows, seed=seed)
