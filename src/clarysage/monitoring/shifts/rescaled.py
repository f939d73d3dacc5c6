"""Numbers in another unit: times a factor, plus an offset, both, or with their sign flipped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clarysage.monitoring.shifts.fits import LARGEST, Samples
from clarysage.monitoring.shifts.grids import in_steps, is_on, step_of
from clarysage.monitoring.shifts.line import Line
from clarysage.monitoring.shifts.units import CONVERSIONS, near_units
from clarysage.monitoring.shifts.wording import about

LEVELS = (np.arange(99) + 1) / 100
PLAIN = 0.02  # typical gap, in units of the one that chance makes, that a plainer number may leave beyond the next
ROUNDED = 0.04  # change, as a share, up to which numbers are rounded
UNIT = 5  # digits that a known unit is plainer by
PRICE = 0.5  # the same of the largest gap for each number that is fitted, and for rounding
FAR = 0.5  # gap from which two numbers may be fitted: less is as likely a change of shape


@dataclass(frozen=True)
class Rescaling:
    """current = factor x reference + offset, in law, maybe on steps; and what is left between the two."""

    factor: float
    offset: float
    line: Line
    fitted: int
    step: float = 0.0
    name: str = ""

    @property
    def left(self) -> float:
        """The largest gap."""
        return self.line.distance

    def __str__(self) -> str:
        steps = f", in {in_steps(self.step)}" if self.step else ""
        return f"{self._change()}{steps}{self.name and f', as from {self.name}'}"

    def _change(self) -> str:
        if self.factor == -1:
            return "values look as if their sign were flipped"
        if self.factor == 1:
            return f"values are about {about(abs(self.offset), 3)} {'higher' if self.offset > 0 else 'lower'}"
        times = f"{about(self.factor)} times" if self.factor > 1 else f"1/{about(1 / self.factor)} of"
        more = f" {'plus' if self.offset > 0 else 'minus'} {about(abs(self.offset))}" if self.offset else ""
        return f"values are about {times} the reference's{more}"


def rescaled(samples: Samples) -> Rescaling | None:
    """The simplest change of unit that gives the current numbers; None where there is none, or two are as good."""
    families = (_plainest(samples, family) for family in _families(samples))
    found = [one for one in families if one is not None and samples.explains(one.left)]
    if any(one.fitted < 2 and one.left <= samples.critical for one in found) or samples.gap < FAR:
        found = [one for one in found if one.fitted < 2]
    if not found:
        return None
    found.sort(key=lambda one: _score(one, samples))
    nearly = _score(found[0], samples) + PRICE
    rivals = [one for one in found[1:] if one.fitted == found[0].fitted == 1 and _score(one, samples) < nearly]
    return None if rivals else found[0]


def moved(samples: Samples) -> float | None:
    """The offset alone that gives the current numbers."""
    found = min(_offsets(samples), key=lambda one: one.line.typical, default=None)
    return found.offset if found is not None and samples.explains(found.left) else None


def _score(one: Rescaling, samples: Samples) -> float:
    return one.left / samples.critical + PRICE * (one.fitted + bool(one.step))


def _plainest(samples: Samples, family: Iterator[Rescaling]) -> Rescaling | None:
    """The one that leaves least, where a plainer number, by the digits it takes, may leave a little more."""
    return min(family, key=lambda one: one.line.typical + PLAIN * samples.critical * _digits(one), default=None)


def _digits(one: Rescaling) -> int:
    """How many digits its numbers take; far fewer where it is a known factor."""
    factor = one.factor if one.factor >= 1 else 1 / one.factor
    is_known = factor in near_units(factor) if factor > 1 else True
    return (-UNIT if is_known else _digits_of(factor)) + _digits_of(one.offset)


def _digits_of(value: float) -> int:
    return len(f"{abs(value):.3e}".split("e")[0].replace(".", "").rstrip("0"))


def _families(samples: Samples) -> Iterator[Iterator[Rescaling]]:
    yield _tried(samples, [(-1.0, 0.0)], fitted=0)
    for name, conversion in CONVERSIONS.items():
        yield _tried(samples, [conversion], fitted=0, name=name)
    yield _tried(samples, [(factor, 0.0) for factor in _factors(samples)], fitted=1)
    yield _offsets(samples)
    yield _tried(samples, _lines(samples), fitted=2)


def _tried(samples: Samples, lines: list[tuple[float, float]], *, fitted: int, name: str = "") -> Iterator[Rescaling]:
    """Changes as they are; if none will do, on the steps that the current numbers take, where these are coarse."""
    is_explained, step = False, step_of(samples.current)
    for factor, offset in lines:
        line = samples.line(_changed(samples, factor, offset))
        is_explained |= samples.explains(line.distance)
        yield Rescaling(factor, offset, line, fitted, name=name)
    for factor, offset in lines if step >= 1 and not is_explained else []:
        changed = _changed(samples, factor, offset)
        if not is_on(changed, step):
            for turn in (np.round, np.floor):
                yield Rescaling(factor, offset, samples.line(turn(changed / step) * step), fitted, step, name)


def _changed(samples: Samples, factor: float, offset: float) -> np.ndarray:
    """In order."""
    return np.asarray((factor * samples.reference + offset)[:: 1 if factor > 0 else -1])


def _offsets(samples: Samples) -> Iterator[Rescaling]:
    """By differences of medians, of means, and of the middles of ranges."""
    reference, current = samples.quantiles(LEVELS)
    ends = [(side[0] + side[-1]) / 2 for side in (samples.reference, samples.current)]
    found = [float(np.median(current - reference)), float(np.mean(current - reference)), float(ends[1] - ends[0])]
    if is_on(samples.reference, 1.0) and is_on(samples.current, 1.0):
        found = list(map(round, found))
    return _tried(samples, [(1.0, one) for one in _rounder(found) if one], fitted=1)


def _factors(samples: Samples) -> list[float]:
    """Known units first, then ratios of quantiles and of means, and numbers near them that are rounder."""
    reference, current = samples.quantiles(LEVELS)
    told = reference != 0
    if not told.any() or not current.any():
        return []
    sizes = [np.abs(side[side != 0]) for side in (reference, current)]
    found = [
        _weighted_median(current[told] / reference[told], np.abs(reference[told])),
        float(sizes[1].mean() / sizes[0].mean()),
        float(np.median(sizes[1]) / np.median(sizes[0])),
    ]
    found = [one for one in found if 1 / LARGEST < one < LARGEST]
    known = dict.fromkeys(unit for one in found for unit in near_units(one))
    larger, smaller = [one for one in found if one > 1], [1 / one for one in found if one < 1]
    return [*known, *_rounder(larger), *(1 / one for one in _rounder(smaller))]


def _lines(samples: Samples) -> list[tuple[float, float]]:
    """Ratios of widths between quantiles that lie opposite, and what is then between medians."""
    reference, current = samples.quantiles(LEVELS)
    half = len(LEVELS) // 2
    width, wide = ((side[::-1] - side)[:half] for side in (reference, current))
    if not (width > 0).any():
        return []
    factor = _weighted_median(wide[width > 0] / width[width > 0], width[width > 0])
    if not 1 / LARGEST < factor < LARGEST:
        return []
    offsets = {one: float(np.median(current - one * reference)) for one in _rounder([factor])}
    return [(one, offset) for one, middle in offsets.items() for offset in _rounder([middle]) if offset]


def _rounder(values: list[float]) -> list[float]:
    """Numbers to one digit, where that changes little, to two, to three, and as they are: what people write."""
    found = [float(f"{value:.{digits}e}") for digits in range(3) for value in values if value]
    near = [one for one in found if any(abs(one / value - 1) < ROUNDED for value in values if value)]
    return list(dict.fromkeys([*near, *values]))


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(sums, sums[-1] / 2)])
