"""Numbers that keep to coarser or finer steps than they did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.monitoring.shifts.fits import Samples
from clarysage.monitoring.shifts.grids import in_steps, share_on, step_of
from clarysage.monitoring.shifts.wording import percent

ENOUGH = 20  # numbers that must keep to steps for these to be meant
MOST = 0.5  # share of the other sample that may be on the steps


@dataclass(frozen=True)
class Rounding:
    """Words on digits that were lost or won, and whether that is all that happened."""

    words: str
    is_all: bool


def rounded(samples: Samples) -> Rounding | None:
    """What became of digits; None where there is nothing to say."""
    if min(len(samples.reference), len(samples.current)) < ENOUGH:
        return None
    steps = step_of(samples.reference), step_of(samples.current)
    if steps[1] > steps[0] and share_on(samples.reference, steps[1]) < MOST:
        return _coarser(samples, steps[1])
    if steps[0] > steps[1] and share_on(samples.current, steps[0]) < MOST:
        words = f"values are no longer {in_steps(steps[0])}, as all of the reference's are"
        return Rounding(words, samples.gap <= samples.critical)
    return None


def _coarser(samples: Samples, step: float) -> Rounding:
    """How numbers were rounded, where that is the one way that gives them."""
    turns = (("rounded", np.round), ("cut", np.trunc), ("rounded down", np.floor), ("rounded up", np.ceil))
    left = {word: samples.left(turn(samples.reference / step) * step) for word, turn in turns}
    best = min(left, key=lambda word: left[word])
    ways = {gap for gap in left.values() if gap <= samples.critical}
    if len(ways) == 1:
        return Rounding(f"values are {best} to {in_steps(step)}", True)
    share = share_on(samples.reference, step)
    rest = f"{percent(share) if share else 'none'} of the reference's"
    return Rounding(f"all values are {in_steps(step)} now, {rest}", bool(ways))
