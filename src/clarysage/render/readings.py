"""Readings: what is known of each value about the data, the rows and the population, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.inference.sequential import HELPS, HURTS, NO_EFFECT, UNDECIDED
from clarysage.results import Explanation
from clarysage.results.text import about_words

CHOICES = {"data": "this data", "rows": "other rows", "population": "other rows and background"}

LIKELY_HELPS, LIKELY_HURTS = "likely helps", "likely hurts"  # by an interval on its own, not by all of them at once

OPEN = (UNDECIDED, NO_EFFECT)

# by what is known, in the words of measures of what a model gains, and of all others
GAIN_WORDS = {
    HELPS: "helps", LIKELY_HELPS: "likely helps", HURTS: "hurts", LIKELY_HURTS: "likely hurts",
    UNDECIDED: "cannot be told", NO_EFFECT: "no effect",
}  # fmt: skip
SIGN_WORDS = {
    HELPS: "above zero", LIKELY_HELPS: "likely above zero", HURTS: "below zero", LIKELY_HURTS: "likely below zero",
    UNDECIDED: "cannot be told", NO_EFFECT: "zero",
}  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """Values about one thing.

    Attributes
    ----------
    about, choice, meaning : "data", "rows" or "population"; the same on a switch; and in a sentence
    low, high, std_error : (p,)
    known : of each value "helps", "hurts" or "no effect", right for all of them at once; "likely helps" or "likely
        hurts" where its own interval says so, but not all at once; or "undecided"
    has_intervals : whether there is anything to be unsure of
    """

    about: str
    choice: str
    meaning: str
    low: np.ndarray
    high: np.ndarray
    std_error: np.ndarray
    known: tuple[str, ...]
    has_intervals: bool

    @property
    def switch(self) -> tuple[str, str]:
        """The view that shows it, and what a switch calls it."""
        return self.about, self.choice


def readings(explanation: Explanation, level: float) -> list[Reading]:
    """One of each thing that something is known about."""
    return [_reading(explanation, about, level) for about in CHOICES if about == "data" or about in explanation.targets]


def is_gain(explanation: Explanation) -> bool:
    """Whether values are of a loss, so that features help or hurt; others have a size and a sign alone."""
    return explanation.base is not None and explanation.values_are == "gain"


def _reading(explanation: Explanation, about: str, level: float) -> Reading:
    low, high = explanation.interval(level, about=about)
    return Reading(
        about=about, choice=CHOICES[about], meaning=about_words(explanation, about), low=low, high=high,
        std_error=explanation.target(about).std_error, known=_known(explanation, about, low, high),
        has_intervals=about != "data" or explanation.draws > 0,
    )  # fmt: skip


def _known(explanation: Explanation, about: str, low: np.ndarray, high: np.ndarray) -> tuple[str, ...]:
    """What follows from the intervals of all values at once, and from each on its own, (p,) low and high."""
    if about == "data":  # whose signs allow for all looks that a rule had at the run
        surely = np.array(list(explanation.signs.values()))
    else:
        least, most = explanation.interval(explanation.confidence, about=about, joint=True)
        nothing = (least == 0) & (most == 0)
        surely = np.select([least > 0, most < 0, nothing], [HELPS, HURTS, NO_EFFECT], UNDECIDED)
    open_ones = surely == UNDECIDED
    known = np.select([open_ones & (low > 0), open_ones & (high < 0)], [LIKELY_HELPS, LIKELY_HURTS], surely)
    return tuple(known.tolist())
