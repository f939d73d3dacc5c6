"""Transformations of the reference's numbers that give the current ones: rescaled, recoded, rounded or clipped.

A transformation explains a change of distribution if the Kolmogorov-Smirnov distance between the transformed reference
and the current numbers is no larger than chance makes it, or is a small part of the distance without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from clarysage.drift.two_sample_tests import HINT_LEVEL, TwoSampleECDF, hypergeometric_p
from clarysage.drift.wording import about, few_digits, percent

LARGEST = 1e100  # numbers from here on are treated as infinite, since their products may be
MOST_ROWS = 4_000  # of each sample, evenly spaced in order: more rows add little
CRITICAL = 1.63  # 99 % quantile of the Kolmogorov-Smirnov distribution, in units of sqrt(1/n + 1/m)
UNEXPLAINED_SHARE = 0.1  # share of the first distance that may remain: rows change in small ways besides
COMPARED_BITS = 33  # numbers are compared to so many bits: a change of unit rounds floats differently

# factors between units
TIME_FACTORS = (60.0, 3600.0, 24.0, 1440.0, 86_400.0, 7.0, 12.0, 365.25)
PREFIX_FACTORS = (10.0, 100.0, 1e3, 1e6, 1e9, 1024.0)
MEASURE_FACTORS = (2.20462, 1.609344, 3.28084, 2.54, 3.6)  # pounds, miles, feet, inches, metres per second
UNIT_FACTORS = (*TIME_FACTORS, *PREFIX_FACTORS, *MEASURE_FACTORS)
CONVERSIONS = {  # factor and offset
    "Celsius to Fahrenheit": (1.8, 32.0),
    "Fahrenheit to Celsius": (1 / 1.8, -32 / 1.8),
    "Celsius to Kelvin": (1.0, 273.15),
    "Kelvin to Celsius": (1.0, -273.15),
    "Fahrenheit to Kelvin": (1 / 1.8, 273.15 - 32 / 1.8),
    "Kelvin to Fahrenheit": (1.8, 32 - 1.8 * 273.15),
}
NEAR_UNIT = 1.12  # ratio of an estimated factor to a known one up to which the known one is tried

# the search for a change of unit
LEVELS = (np.arange(99) + 1) / 100  # of quantiles
DIGIT_PENALTY = 0.02  # root mean square gap, in units of the critical distance, that one digit less is worth
UNIT_BONUS = 5  # digits by which a known unit counts as simpler
PARAMETER_PENALTY = 0.5  # distance, in units of the critical one, that a fitted number, or rounding, must gain
LEAST_DISTANCE_OF_TWO = 0.5  # distance from which two numbers may be fitted: smaller ones may be changes of shape
ROUND_NUMBER = 0.04  # relative change of a fitted number up to which a rounder number takes its place

# multiples of a step, and bounds
STEPS = tuple(10.0**power for power in range(6, -7, -1))
LEAST_ROWS_ON_STEPS = 20  # rows that must be multiples of a step for it to be no coincidence
MOST_ON_STEPS = 0.5  # share of the other sample that may be multiples of the step
LEAST_ROWS_AT_BOUND = 5


@dataclass(frozen=True)
class NumberSamples:
    """Sorted finite numbers of both samples, thinned evenly where they are many.

    Attributes
    ----------
    reference, current : the numbers
    distance : Kolmogorov-Smirnov distance between them
    critical : the distance that chance exceeds one time in a hundred
    """

    reference: np.ndarray
    current: np.ndarray
    distance: float
    critical: float

    @classmethod
    def of(cls, reference: np.ndarray, current: np.ndarray) -> NumberSamples:
        """Makes samples of sorted numbers, none of which is missing."""
        finite = [sample[np.abs(sample) < LARGEST] for sample in (reference, current)]
        samples = [_thinned(sample) for sample in finite]
        rows = [max(1, len(sample)) for sample in finite]
        critical = CRITICAL * np.sqrt(1 / rows[0] + 1 / rows[1]) + (max(rows) > MOST_ROWS) / MOST_ROWS
        return cls(samples[0], samples[1], TwoSampleECDF.of(*samples).distance, float(critical))

    @property
    def is_one_empty(self) -> bool:
        """True where one of the samples has no finite number."""
        return not len(self.reference) or not len(self.current)

    def ecdf_after(self, transformed: np.ndarray) -> TwoSampleECDF:
        """Compares the reference's numbers, transformed and in order, with the current ones."""
        return TwoSampleECDF.of(_to_compared_bits(transformed), _to_compared_bits(self.current))

    def distance_after(self, transformed: np.ndarray) -> float:
        """Returns the distance that remains between the transformed reference and the current numbers."""
        return self.ecdf_after(transformed).distance

    def is_explained(self, remaining: float) -> bool:
        """Returns whether the remaining distance is no more than chance makes, or a small part of the first one."""
        return remaining <= max(self.critical, UNEXPLAINED_SHARE * self.distance) and remaining <= self.distance / 2

    def quantiles(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns quantiles of both samples as numbers that occur, without interpolation."""
        return _order_statistics(self.reference, levels), _order_statistics(self.current, levels)


def _order_statistics(ordered: np.ndarray, levels: np.ndarray) -> np.ndarray:
    return np.asarray(ordered[np.minimum((levels * len(ordered)).astype(np.int64), len(ordered) - 1)])


def _thinned(ordered: np.ndarray) -> np.ndarray:
    if len(ordered) <= MOST_ROWS:
        return ordered
    return np.asarray(ordered[np.linspace(0, len(ordered) - 1, MOST_ROWS).round().astype(np.int64)])


def _to_compared_bits(values: np.ndarray) -> np.ndarray:
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, COMPARED_BITS)), exponent - COMPARED_BITS))


# --- rescaled: another unit, an offset, a flipped sign


@dataclass(frozen=True)
class Rescaling:
    """A linear transformation of the reference's numbers, compared with the current ones.

    Attributes
    ----------
    factor, offset : current = factor x reference + offset, in distribution
    ecdf : distribution functions of the transformed reference and of the current numbers
    fitted : how many of factor and offset are estimated from the samples
    step : the transformed numbers are rounded to multiples of it; 0 where they are not
    name : of a known conversion, such as "Celsius to Kelvin"
    """

    factor: float
    offset: float
    ecdf: TwoSampleECDF
    fitted: int
    step: float = 0.0
    name: str = ""

    def __str__(self) -> str:
        steps = f", in {steps_in_words(self.step)}" if self.step else ""
        return f"{self._change_in_words()}{steps}{self.name and f', as from {self.name}'}"

    def _change_in_words(self) -> str:
        if self.factor == -1:
            return "values look as if their sign were flipped"
        if self.factor == 1:
            return f"values are about {about(abs(self.offset), 3)} {'higher' if self.offset > 0 else 'lower'}"
        times = f"{about(self.factor)} times" if self.factor > 1 else f"1/{about(1 / self.factor)} of"
        offset = f" {'plus' if self.offset > 0 else 'minus'} {about(abs(self.offset))}" if self.offset else ""
        return f"values are about {times} the reference's{offset}"

    @property
    def remaining(self) -> float:
        """The Kolmogorov-Smirnov distance that remains."""
        return self.ecdf.distance

    @property
    def digits(self) -> int:
        """The number of digits of factor and offset, smaller for known factors."""
        factor = self.factor if self.factor >= 1 else 1 / self.factor
        is_known = factor in near_units(factor) if factor > 1 else True
        return (-UNIT_BONUS if is_known else _digits(factor)) + _digits(self.offset)

    def misfit(self, critical: float) -> float:
        """Returns the remaining distance in units of the critical one, penalised for fitted numbers and rounding."""
        return self.remaining / critical + PARAMETER_PENALTY * (self.fitted + bool(self.step))


def find_rescaling(samples: NumberSamples) -> Rescaling | None:
    """Finds the simplest change of unit that gives the current numbers; None where none does, or two fit as well."""
    candidates = (_simplest(samples, family) for family in _families(samples))
    fitting = [
        candidate for candidate in candidates if candidate is not None and samples.is_explained(candidate.remaining)
    ]
    is_one_number_enough = any(
        candidate.fitted < 2 and candidate.remaining <= samples.critical for candidate in fitting
    )
    if is_one_number_enough or samples.distance < LEAST_DISTANCE_OF_TWO:
        fitting = [candidate for candidate in fitting if candidate.fitted < 2]
    if not fitting:
        return None
    fitting.sort(key=lambda candidate: candidate.misfit(samples.critical))
    best, *others = fitting
    similar = best.misfit(samples.critical) + PARAMETER_PENALTY
    rivals = [
        other for other in others if other.fitted == best.fitted == 1 and other.misfit(samples.critical) < similar
    ]
    return None if rivals else best


def find_offset(samples: NumberSamples) -> float | None:
    """Finds an offset that alone gives the current numbers."""
    best = min(_offsets(samples), key=lambda candidate: candidate.ecdf.rms_gap, default=None)
    return best.offset if best is not None and samples.is_explained(best.remaining) else None


def _simplest(samples: NumberSamples, family: Iterator[Rescaling]) -> Rescaling | None:
    """Returns the rescaling with the smallest gap between distribution functions, penalised for its digits."""

    def penalised_gap(candidate: Rescaling) -> float:
        return candidate.ecdf.rms_gap + DIGIT_PENALTY * samples.critical * candidate.digits

    return min(family, key=penalised_gap, default=None)


def _digits(value: float) -> int:
    return len(f"{abs(value):.3e}".split("e")[0].replace(".", "").rstrip("0"))


def near_units(factor: float) -> list[float]:
    """Returns factors between known units that are about as large, the nearest first.

    Examples
    --------
    >>> near_units(57.0), near_units(0.15)
    ([60.0], [0.14285714285714285])
    """
    units = [unit for size in UNIT_FACTORS for unit in (size, 1 / size)]
    ratio = {unit: max(factor / unit, unit / factor) for unit in units}
    return sorted((unit for unit in units if ratio[unit] < NEAR_UNIT), key=lambda unit: ratio[unit])


def _families(samples: NumberSamples) -> Iterator[Iterator[Rescaling]]:
    yield _rescalings(samples, [(-1.0, 0.0)], fitted=0)
    for name, conversion in CONVERSIONS.items():
        yield _rescalings(samples, [conversion], fitted=0, name=name)
    yield _rescalings(samples, [(factor, 0.0) for factor in _factors(samples)], fitted=1)
    yield _offsets(samples)
    yield _rescalings(samples, _factors_with_offsets(samples), fitted=2)


def _rescalings(
    samples: NumberSamples, lines: list[tuple[float, float]], *, fitted: int, name: str = ""
) -> Iterator[Rescaling]:
    """Tries factors with offsets; if none fits, rounded to the steps that the current numbers have, if coarse."""
    is_explained, step = False, step_of(samples.current)
    for factor, offset in lines:
        ecdf = samples.ecdf_after(_rescaled(samples.reference, factor, offset))
        is_explained |= samples.is_explained(ecdf.distance)
        yield Rescaling(factor, offset, ecdf, fitted, name=name)
    if is_explained or step < 1:
        return
    for factor, offset in lines:
        rescaled = _rescaled(samples.reference, factor, offset)
        if not is_on_steps(rescaled, step):
            for to_integer in (np.round, np.floor):
                ecdf = samples.ecdf_after(to_integer(rescaled / step) * step)
                yield Rescaling(factor, offset, ecdf, fitted, step, name)


def _rescaled(ordered: np.ndarray, factor: float, offset: float) -> np.ndarray:
    """Rescales sorted numbers and returns them sorted."""
    return np.asarray((factor * ordered + offset)[:: 1 if factor > 0 else -1])


def _offsets(samples: NumberSamples) -> Iterator[Rescaling]:
    """Tries offsets: differences of medians, of means, and of midranges."""
    reference, current = samples.quantiles(LEVELS)
    midranges = [(sample[0] + sample[-1]) / 2 for sample in (samples.reference, samples.current)]
    offsets = [
        float(np.median(current - reference)),
        float(np.mean(current - reference)),
        float(midranges[1] - midranges[0]),
    ]
    if is_on_steps(samples.reference, 1.0) and is_on_steps(samples.current, 1.0):
        offsets = list(map(round, offsets))
    return _rescalings(samples, [(1.0, offset) for offset in _with_rounder(offsets) if offset], fitted=1)


def _factors(samples: NumberSamples) -> list[float]:
    """Returns factors to try: known units, then ratios of quantiles and of means, and rounder numbers near them."""
    reference, current = samples.quantiles(LEVELS)
    nonzero = reference != 0
    if not nonzero.any() or not current.any():
        return []
    sizes = [np.abs(side[side != 0]) for side in (reference, current)]
    ratios = [
        _weighted_median(current[nonzero] / reference[nonzero], np.abs(reference[nonzero])),
        float(sizes[1].mean() / sizes[0].mean()),
        float(np.median(sizes[1]) / np.median(sizes[0])),
    ]
    ratios = [ratio for ratio in ratios if 1 / LARGEST < ratio < LARGEST]
    units = dict.fromkeys(unit for ratio in ratios for unit in near_units(ratio))
    larger, smaller = [ratio for ratio in ratios if ratio > 1], [1 / ratio for ratio in ratios if ratio < 1]
    return [*units, *_with_rounder(larger), *(1 / divisor for divisor in _with_rounder(smaller))]


def _factors_with_offsets(samples: NumberSamples) -> list[tuple[float, float]]:
    """Returns ratios of interquantile ranges, each with the offset that then remains between the medians."""
    reference, current = samples.quantiles(LEVELS)
    half = len(LEVELS) // 2
    ranges, current_ranges = ((side[::-1] - side)[:half] for side in (reference, current))
    positive = ranges > 0
    if not positive.any():
        return []
    ratio = _weighted_median(current_ranges[positive] / ranges[positive], ranges[positive])
    if not 1 / LARGEST < ratio < LARGEST:
        return []
    offsets = {factor: float(np.median(current - factor * reference)) for factor in _with_rounder([ratio])}
    return [(factor, offset) for factor, exact in offsets.items() for offset in _with_rounder([exact]) if offset]


def _with_rounder(values: list[float]) -> list[float]:
    """Returns numbers to one, two and three digits, where that changes them little, and the numbers themselves."""
    rounded = [float(f"{value:.{digits}e}") for digits in range(3) for value in values if value]
    near = [number for number in rounded if any(abs(number / value - 1) < ROUND_NUMBER for value in values if value)]
    return list(dict.fromkeys([*near, *values]))


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values)
    cumulative = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(cumulative, cumulative[-1] / 2)])


# --- recoded: one of two numbers is another now


def recoding_hint(samples: NumberSamples) -> str:
    """Names the number that took the place of one of two; empty where no such replacement gives the current numbers.

    Two numbers are usually a code for yes and no: that 0 and 2 are twice 0 and 1 says less than that 1 is 2 now.

    Examples
    --------
    >>> recoding_hint(NumberSamples.of(np.repeat([0.0, 1.0], 50), np.repeat([0.0, 2.0], 50)))
    'what was 1 is now 2'
    """
    before, after = np.unique(samples.reference), np.unique(samples.current)
    lost, new = np.setdiff1d(before, after), np.setdiff1d(after, before)
    if not (len(before) == len(after) == 2 and len(lost) == len(new) == 1):
        return ""
    remaining = samples.distance_after(np.sort(np.where(samples.reference == lost[0], new[0], samples.reference)))
    remaining_in_order = samples.distance_after(np.where(samples.reference == before[0], after[0], after[1]))
    if remaining > remaining_in_order or not samples.is_explained(remaining):  # both numbers may have changed
        return ""
    return f"what was {few_digits(float(lost[0]))} is now {few_digits(float(new[0]))}"


# --- rounded: multiples of a coarser or finer step


def step_of(values: np.ndarray) -> float:
    """Returns the largest power of ten that all numbers are multiples of; 0 where there is none.

    Examples
    --------
    >>> step_of(np.array([10.0, 30.0])), step_of(np.array([0.5, 2.0])), step_of(np.array([1 / 3]))
    (10.0, 0.1, 0.0)
    """
    if not len(values) or not values.any():
        return 0.0
    return next((step for step in STEPS if is_on_steps(values, step)), 0.0)


def is_on_steps(values: np.ndarray, step: float) -> bool:
    """Returns whether all numbers are multiples of a step."""
    return bool(step and _share_on_steps(values, step) == 1)


def _share_on_steps(values: np.ndarray, step: float) -> float:
    """Returns the share of numbers that are multiples of a step, up to the rounding of floats."""
    steps = values / step
    deviation = np.abs(steps - np.round(steps))
    return float((deviation <= np.maximum(1e-9, 1e-12 * np.abs(steps))).mean())


def steps_in_words(step: float) -> str:
    """Names the multiples of a step.

    Examples
    --------
    >>> steps_in_words(1.0), steps_in_words(100.0), steps_in_words(0.1)
    ('whole numbers', 'multiples of 100', 'numbers of 1 decimal')
    """
    if step >= 1:
        return "whole numbers" if step == 1 else f"multiples of {step:,.0f}"
    decimals = round(-np.log10(step))
    return f"numbers of {decimals} decimal{'s' if decimals > 1 else ''}"


@dataclass(frozen=True)
class Rounding:
    """A hint on decimals that were lost or gained, and whether that explains the change of distribution."""

    hint: str
    is_explanation: bool


def find_rounding(samples: NumberSamples) -> Rounding | None:
    """Finds whether one sample has numbers that are multiples of a coarser step."""
    if min(len(samples.reference), len(samples.current)) < LEAST_ROWS_ON_STEPS:
        return None
    before, after = step_of(samples.reference), step_of(samples.current)
    if after > before and _share_on_steps(samples.reference, after) < MOST_ON_STEPS:
        return _coarser(samples, after)
    if before > after and _share_on_steps(samples.current, before) < MOST_ON_STEPS:
        hint = f"values are no longer {steps_in_words(before)}, as all of the reference's are"
        return Rounding(hint, samples.distance <= samples.critical)
    return None


def _coarser(samples: NumberSamples, step: float) -> Rounding:
    """Names the way of rounding where only one gives the current numbers."""
    ways = (("rounded", np.round), ("cut", np.trunc), ("rounded down", np.floor), ("rounded up", np.ceil))
    remaining = {word: samples.distance_after(way(samples.reference / step) * step) for word, way in ways}
    best = min(remaining, key=lambda word: remaining[word])
    explaining = {distance for distance in remaining.values() if distance <= samples.critical}
    if len(explaining) == 1:
        return Rounding(f"values are {best} to {steps_in_words(step)}", True)
    share = _share_on_steps(samples.reference, step)
    in_reference = f"{percent(share) if share else 'none'} of the reference's"
    return Rounding(f"all values are {steps_in_words(step)} now, {in_reference}", bool(explaining))


# --- clipped: numbers stop at a bound


def clipping_hints(samples: NumberSamples) -> list[str]:
    """Returns a hint for each end at which numbers stop, where the reference's go on."""
    flipped = replace(samples, reference=-samples.reference[::-1], current=-samples.current[::-1])
    is_above, is_below = _is_clipped_above(samples), _is_clipped_above(flipped)
    if not is_above and not is_below:
        return []
    low, high = samples.current[0] if is_below else -np.inf, samples.current[-1] if is_above else np.inf
    if samples.distance_after(np.clip(samples.reference, low, high)) > samples.critical:
        return []
    return [
        f"values stop at {few_digits(bound)}, {percent(share)} of the reference's are {side}"
        for bound, share, side in (
            (low, (samples.reference < low).mean(), "below"),
            (high, (samples.reference > high).mean(), "above"),
        )
        if np.isfinite(bound)
    ]


def _is_clipped_above(samples: NumberSamples) -> bool:
    """Tests whether as many current numbers equal the highest as the reference has there and above."""
    highest, n, m = samples.current[-1], len(samples.reference), len(samples.current)
    at_bound = int((samples.current == highest).sum())
    reference_at_bound = int((samples.reference == highest).sum())
    reference_above = int((samples.reference > highest).sum())
    if at_bound < LEAST_ROWS_AT_BOUND or reference_above < LEAST_ROWS_AT_BOUND:
        return False
    at_or_above = at_bound + reference_at_bound + reference_above
    is_more = at_bound / m > reference_at_bound / n
    is_more = is_more and hypergeometric_p(at_bound, at_bound + reference_at_bound, m, n + m) <= HINT_LEVEL
    return is_more and hypergeometric_p(at_bound, at_or_above, m, n + m) > HINT_LEVEL
