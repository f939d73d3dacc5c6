"""Single values that fill many rows: stand-ins for missing cells, or a filling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.monitoring.shifts.line import Line
from clarysage.monitoring.shifts.shares import p_of_share
from clarysage.monitoring.shifts.wording import few_digits, percent

STAND_INS = {float(sign * size) for size in (9, 99, 999, 9999, 99999, 999999, 88, 888, 8888) for sign in (1, -1)} | {
    -1.0,
    0.0,
    -(2.0**31),
    2.0**31 - 1,
    2.0**32 - 1,
    -(2.0**63),
    2.0**63 - 1,
}
RARE = 0.01  # chance of such a spike by the draw of rows, values looked at counted
LEAST = 0.005  # share of rows
TIMES = 5.0  # as many as in the other sample
STANDS_OUT = {True: 3.0, False: 5.0}  # as many as the next value: of known stand-ins, and of others
SHOWN = 2


@dataclass(frozen=True)
class Spike:
    """A value and the shares of rows of the reference and of the current sample that have it.

    It ``is_apart`` where it is a known stand-in at an end, farther from other values than half of these from one
    another, or the one negative number.
    """

    value: float
    shares: tuple[float, float]
    is_apart: bool

    def __str__(self) -> str:
        why = ", perhaps for missing cells" if self.value in STAND_INS and self.shares[1] > self.shares[0] else ""
        words = (f"{percent(share)}" if share else "none" for share in self.shares)
        return "{value} fills {1} of rows, {0} of the reference's{why}".format(
            *words, value=few_digits(self.value), why=why
        )


def spikes(reference: np.ndarray, current: np.ndarray) -> list[Spike]:
    """Values of sorted samples that fill many more rows of one than of the other, and stand out."""
    line = Line.of(reference[np.isfinite(reference)], current[np.isfinite(current)])
    if not all(line.rows):
        return []
    return [*_spikes(line, 1), *_spikes(line, 0)]


def _spikes(line: Line, side: int) -> list[Spike]:
    counts, shares = line.counts, line.counts / np.array(line.rows)[:, None]
    often = np.argsort(-counts[side], kind="stable")[: SHOWN + 1]
    rest = counts[side][often[SHOWN]] if len(often) > SHOWN else 1
    found = []
    known = np.flatnonzero(np.isin(line.values, list(STAND_INS)) & (counts[side] > 0))
    for place in dict.fromkeys([*often[:SHOWN], *known]):
        value, count, m = float(line.values[place]), int(counts[side][place]), line.rows[side]
        is_known, is_apart = value in STAND_INS, _is_apart(line, side, int(place))
        is_large = count >= max(3, LEAST * m) and shares[side][place] >= TIMES * shares[1 - side][place]
        looked_at = len(STAND_INS) if is_known else len(line.values)
        p = p_of_share(count, int(counts[:, place].sum()), m, sum(line.rows)) * looked_at
        if is_large and p <= RARE and ((is_known and is_apart) or count >= STANDS_OUT[is_known] * rest):
            found.append(Spike(value, (float(shares[0][place]), float(shares[1][place])), is_known and is_apart))
    return found


def _is_apart(line: Line, side: int, place: int) -> bool:
    value, own = line.values[place], line.counts[side].copy()
    own[place] = 0
    if not own.any():
        return False
    below = np.cumsum(own)
    low, high = (line.values[np.searchsorted(below, level * below[-1])] for level in (0.25, 0.75))
    first, last = line.values[np.flatnonzero(own)[[0, -1]]]
    is_negative = place == 0 and value < 0 <= line.values[1]
    return bool(is_negative or max(first - value, value - last) > high - low)
