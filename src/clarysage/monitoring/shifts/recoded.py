"""Yes and no in another code: of two numbers, one is another now."""

from __future__ import annotations

import numpy as np

from clarysage.monitoring.shifts.fits import Samples
from clarysage.monitoring.shifts.wording import few_digits


def recoded(samples: Samples) -> str:
    """What became of the number that is no longer there, where both sides have two; empty where that is not so.

    Two numbers are a code as a rule: that 0 and 2 are twice 0 and 1 says less than that 1 is 2 now.

    Examples
    --------
    >>> recoded(Samples.of(np.repeat([0.0, 1.0], 50), np.repeat([0.0, 2.0], 50)))
    'what was 1 is now 2'
    """
    before, after = np.unique(samples.reference), np.unique(samples.current)
    was, now = np.setdiff1d(before, after), np.setdiff1d(after, before)
    if not (len(before) == len(after) == 2 and len(was) == len(now) == 1):
        return ""
    left = samples.left(np.sort(np.where(samples.reference == was[0], now[0], samples.reference)))
    in_turn = samples.left(np.where(samples.reference == before[0], after[0], after[1]))  # both may have moved
    if left > in_turn or not samples.explains(left):
        return ""
    return f"what was {few_digits(float(was[0]))} is now {few_digits(float(now[0]))}"
