"""Runs of a method of ours on a game: values, standard errors, model rows and seconds of each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from games import Case
from truth import Truth, prediction

import clarysage as cs


@dataclass(frozen=True)
class Runs:
    """One row a run: values (runs, d), variances that the method claims for them (runs, d), model rows, seconds."""

    values: np.ndarray
    claimed: np.ndarray
    rows: np.ndarray
    seconds: np.ndarray

    def squared_errors(self, known: Truth) -> np.ndarray:
        """Squared distances (runs, d) from the truth, less what the error of the truth itself adds to them."""
        return np.asarray((self.values - known.values) ** 2 - known.variance)

    def seconds_of_a_run(self) -> float:
        """Of a run of mean length, at the pace of the quickest."""
        return float((self.seconds / self.rows).min() * self.rows.mean())


def run(case: Case, method: str, seed: int, model: Any = None, **options: Any) -> tuple[Any, float]:
    """One whole call, and its processor seconds; the model is a black box, whatever is known of its insides."""
    begun = time.process_time()
    found = cs.sage(
        model or prediction(case.model),
        case.X,
        case.y,
        background=case.background,
        loss=case.loss,
        method=method,
        rng=seed,
        **options,
    )
    return found, time.process_time() - begun


def gathered(found: list[tuple[Any, float]]) -> Runs:
    return Runs(
        np.array([one.values for one, _ in found]),
        np.array([one.std_error for one, _ in found]) ** 2,
        np.array([one.model_rows for one, _ in found], dtype=float),
        np.array([seconds for _, seconds in found]),
    )


def count_rows(case: Case, method: str, **options: Any) -> tuple[int, int]:
    """Model rows of a run as it reports them, and as a model that counts them sees them."""
    predict, counted = prediction(case.model), 0

    def counting(X: np.ndarray) -> np.ndarray:
        nonlocal counted
        counted += len(X)
        return predict(X)

    found, _ = run(case, method, 0, counting, **options)
    return found.model_rows, counted
