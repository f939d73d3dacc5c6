"""Numbers that stop at a bound, where the reference's go on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clarysage.monitoring.shifts.combined import CLEAR
from clarysage.monitoring.shifts.fits import Samples
from clarysage.monitoring.shifts.shares import p_of_share
from clarysage.monitoring.shifts.wording import few_digits, percent

ENOUGH = 5  # rows at the bound


def clipped(samples: Samples) -> list[str]:
    """A word for each end at which numbers were clipped."""
    flipped = replace(samples, reference=-samples.reference[::-1], current=-samples.current[::-1])
    is_above, is_below = _is_clipped(samples), _is_clipped(flipped)
    if not is_above and not is_below:
        return []
    ends = np.array([samples.current[0] if is_below else -np.inf, samples.current[-1] if is_above else np.inf])
    if samples.left(np.clip(samples.reference, *ends)) > samples.critical:
        return []
    return [
        f"values stop at {few_digits(end)}, {percent(share)} of the reference's are {word}"
        for end, share, word in (
            (ends[0], (samples.reference < ends[0]).mean(), "below"),
            (ends[1], (samples.reference > ends[1]).mean(), "above"),
        )
        if np.isfinite(end)
    ]


def _is_clipped(samples: Samples) -> bool:
    """Whether as many current numbers are at their highest as the reference has there and beyond."""
    top, n, m = samples.current[-1], len(samples.reference), len(samples.current)
    at, there, beyond = (
        int(count.sum()) for count in (samples.current == top, samples.reference == top, samples.reference > top)
    )
    if at < ENOUGH or beyond < ENOUGH:
        return False
    is_more = at / m > there / n and p_of_share(at, at + there, m, n + m) <= CLEAR
    as_many = p_of_share(at, at + there + beyond, m, n + m) > CLEAR
    return is_more and as_many
