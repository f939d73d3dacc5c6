"""Changes: each explanation less the reference, as the page of a comparison tells it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from clarysage.names import isolated, shortened
from clarysage.results import Comparison

ROSE, FELL, UNKNOWN, SAME = "rose", "fell", "no known change", "no change"
FLAGGED, ALONG = "flagged", "along"  # marks in charts: a star, and a hollow one
NAME_COLUMNS = 40  # letters of the name of an explanation


@dataclass(frozen=True)
class Change:
    """One explanation less the reference.

    Attributes
    ----------
    name : of the explanation
    before, after, values : (p,) in the reference, in the other, and the difference
    low, high, p : (p,) interval of the difference, each on its own, and its adjusted p-value
    known : of each feature "rose" or "fell" where it is flagged, "no change" where there is none at all, or "no known
        change"; or other words for what is known
    marks : (p,) "flagged" where it is known to have changed, "along" where it most likely did so with another, or
        nothing
    """

    name: str
    before: np.ndarray
    after: np.ndarray
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    known: np.ndarray
    marks: np.ndarray

    @property
    def is_changed(self) -> np.ndarray:
        """(p,) Which are known to differ from the reference."""
        return np.asarray(self.marks != "")


def changes(comparison: Comparison, level: float) -> list[Change]:
    """One for each explanation after the first."""
    lows, highs = (np.atleast_2d(end) for end in comparison.interval(level))
    chances, flags = (np.atleast_2d(one) for one in (comparison.p_values(), comparison.flags))
    names = called(comparison)
    return [
        Change(
            names[k + 1], comparison.reference.values, comparison.explanations[k + 1].values, one.target.values,
            lows[k], highs[k], chances[k], _known(one.target.values, one.target.std_error, flags[k]),
            np.where(flags[k], FLAGGED, ""),
        )
        for k, one in enumerate(comparison.differences)
    ]  # fmt: skip


def called(comparison: Comparison, most: int = NAME_COLUMNS) -> list[str]:
    """What explanations are called on the page: short, and no two alike."""
    names = [isolated(shortened(name, most)) for name in comparison.names]
    count = Counter(names)
    return [f"{name} ({k})" if count[name] > 1 else name for k, name in enumerate(names, start=1)]


def _known(values: np.ndarray, std_error: np.ndarray, flags: np.ndarray) -> np.ndarray:
    nothing = (values == 0) & (std_error == 0)
    return np.select([flags & (values > 0), flags & (values < 0), nothing], [ROSE, FELL, SAME], UNKNOWN)
