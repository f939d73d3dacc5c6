"""sage-importance's PermutationEstimator: its variance per permutation, and what one costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from games import Case

BATCH = 128  # the quickest of 16 to 512, or within 5 % of it, on every game here
LOSSES = {"squared error": "mse", "cross entropy": "cross entropy"}


def run(case: Case, permutations: int, seed: int, model: Any = None) -> tuple[np.ndarray, float]:
    """Variances per permutation (d,), and processor seconds a model row."""
    import sage

    imputer = sage.MarginalImputer(model or case.model, case.background)
    estimator = sage.PermutationEstimator(imputer, LOSSES[case.loss], random_state=seed)
    options = {"batch_size": BATCH, "detect_convergence": False, "n_permutations": permutations, "bar": False}
    begun = time.process_time()
    found = estimator(case.X, case.y, **options)
    seconds = time.process_time() - begun
    variance = np.asarray(found.std) ** 2 * permutations * permutations / (permutations - 1)
    return variance, seconds / (permutations * rows(case) + rows_of_check(case))


def rows(case: Case) -> int:
    """Model rows of one permutation: d + 1 coalitions, both ends among them, on every background row."""
    _, d, m = case.shape
    return (d + 1) * m


def rows_of_check(case: Case) -> int:
    """Model rows of the check of probabilities at the start of a run; not charged when costs are compared."""
    return min(BATCH, len(case.X)) * len(case.background) if case.loss == "cross entropy" else 0


def count_rows(case: Case, predict: Callable[[np.ndarray], np.ndarray]) -> None:
    """Assert that a permutation costs what :func:`rows` says."""
    counted = 0

    def counting(X: np.ndarray) -> np.ndarray:
        nonlocal counted
        counted += len(X)
        return predict(X)

    run(case, BATCH, 0, counting)
    assert counted == BATCH * rows(case) + rows_of_check(case), counted
