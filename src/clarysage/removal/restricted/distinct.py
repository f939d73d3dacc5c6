"""Hybrid rows of one coalition, of which equal ones are passed to the model only once.

If columns have few distinct values, the kept cells of many examples are equal, and so are the withheld cells of many
background rows: u times w hybrid rows then stand for all n times m.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clarysage.removal.background import distinct_rows
from clarysage.removal.restricted.prefixes import batches


@dataclass(frozen=True)
class DistinctOutputs:
    """Predictions for the hybrid rows of n examples and m background rows.

    Attributes
    ----------
    outputs : (u, w, k) for distinct kept cells and distinct withheld cells
    of_examples, of_rows : (n,) and (m,), which of them the examples and the background rows have
    """

    outputs: np.ndarray
    of_examples: np.ndarray
    of_rows: np.ndarray

    @classmethod
    def of(
        cls,
        predict: Callable[[np.ndarray], np.ndarray],
        rows_per_call: int,
        x: np.ndarray,
        b: np.ndarray,
        is_kept: np.ndarray,
    ) -> DistinctOutputs:
        """Returns the predictions for examples x (n, d) and background rows b (m, d), with kept columns (d,)."""
        (first_x, of_examples), (first_b, of_rows) = distinct_rows(x[:, is_kept]), distinct_rows(b[:, ~is_kept])
        x, b, outputs = x[first_x], b[first_b], []
        for part in batches(len(x) * len(b), rows_per_call):
            pair = np.arange(part.start, min(part.stop, len(x) * len(b)))
            outputs.append(predict(np.where(is_kept, x[pair // len(b)], b[pair % len(b)])))
        return cls(np.concatenate(outputs).reshape(len(x), len(b), -1), of_examples, of_rows)

    @property
    def rows(self) -> int:
        """Rows that were passed to the model."""
        return int(self.outputs.shape[0] * self.outputs.shape[1])

    def __call__(self, part: slice) -> np.ndarray:
        """Returns the predictions (n, m, k) for a part of the examples."""
        return np.take(
            self.outputs[self.of_examples[part]], self.of_rows, axis=1
        )  # contiguous, as sums of other rows are
