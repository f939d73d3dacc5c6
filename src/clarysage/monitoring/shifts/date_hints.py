"""What happened to a column of dates, in plain words."""

from __future__ import annotations

import numpy as np

from clarysage.monitoring.shifts.fits import Samples
from clarysage.monitoring.shifts.rescaled import moved
from clarysage.monitoring.shifts.wording import about, percent

UNITS = (("year", 365.2425), ("day", 1.0), ("hour", 1 / 24), ("minute", 1 / 1440), ("second", 1 / 86_400))


def dated_hints(samples: Samples) -> list[str]:
    """By how much dates moved as a whole, else where they are now; those outside the range of the reference's."""
    offset = moved(samples)
    if offset is not None:
        return [f"dates are about {_duration(abs(offset))} {'later' if offset > 0 else 'earlier'}"]
    after = float((samples.current > samples.reference[-1]).mean())
    before = float((samples.current < samples.reference[0]).mean())
    hints = []
    if after > 0.01:
        hints.append(f"{percent(after)} of dates are after the reference's last, {as_date(samples.reference[-1])}")
    if before > 0.01:
        hints.append(f"{percent(before)} of dates are before the reference's first, {as_date(samples.reference[0])}")
    medians = [float(np.median(side)) for side in (samples.reference, samples.current)]
    words = [as_date(median) for median in medians]
    if words[0] != words[1]:
        way = "later" if medians[1] > medians[0] else "earlier"
        hints.append(f"dates are {way}: the median went from {words[0]} to {words[1]}")
    return hints


def as_date(days: float) -> str:
    """The date so many days after 1970 began.

    Examples
    --------
    >>> as_date(0.0), as_date(19_723.5)
    ('1970-01-01', '2024-01-01')
    """
    return str(np.datetime64(int(np.floor(days)), "D"))


def _duration(days: float) -> str:
    unit, size = next((one for one in UNITS if days >= (2 if one[0] == "year" else 0.99) * one[1]), UNITS[-1])
    words = about(days / size, 3 if unit == "day" else 2)
    return f"{words} {unit}{'' if words == '1' else 's'}"
