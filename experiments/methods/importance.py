"""Importances of the features of a task by one method, in a form that can be stored as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

import clarysage as cs


@dataclass(frozen=True)
class Importance:
    """Values of a method with standard errors, about the population of the test part if they are available.

    Attributes
    ----------
    std_errors : about what ``about`` says; None if the method has none
    about : "data", "rows" or "population" (docs/guide/certainty.md)
    """

    method: str
    values: Sequence[float]
    std_errors: Sequence[float] | None
    about: str
    model_rows: float
    seconds: float
    notes: Sequence[str] = ()

    @property
    def scores(self) -> np.ndarray:
        return np.array(self.values)

    @property
    def error_ratio(self) -> float:
        """The largest standard error relative to the range of values: the paper's t, if errors are about the data."""
        if self.std_errors is None:
            raise ValueError(f"{self.method} has no standard errors")
        return float(np.max(self.std_errors) / np.ptp(self.scores))

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns the ends of confidence intervals; None without standard errors."""
        if self.std_errors is None:
            return None
        reach = norm.ppf(0.5 + level / 2) * np.array(self.std_errors)
        return self.scores - reach, self.scores + reach

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, method: str, explanation: cs.Explanation, seconds: float) -> Importance:
        about = explanation.shown
        low, high = explanation.interval(0.95, about=about)
        errors = (np.asarray(high) - np.asarray(low)) / (2 * norm.ppf(0.975))
        return cls(
            method,
            _short(explanation.values),
            _short(errors),
            about,
            float(explanation.model_rows),
            round(seconds, 1),
            list(explanation.notes),
        )


def _short(numbers: Any) -> list[float]:
    return [float(f"{number:.6g}") for number in numbers]
