"""Drift of a column of numbers, dates or durations: tests, hints about what changed, and numbers that describe it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.drift.column_samples import DATES, DURATIONS, ColumnSample, missing_hint, missing_p
from clarysage.drift.transformations import (
    NumberSamples,
    clipping_hints,
    find_offset,
    find_rescaling,
    find_rounding,
    recoding_hint,
)
from clarysage.drift.two_sample_tests import (
    COLUMN_LEVEL,
    HINT_LEVEL,
    TwoSampleECDF,
    bonferroni,
    hypergeometric_p,
    kolmogorov_smirnov_p,
    log_p_all_current,
    smallest_attainable_p,
    tarone_p,
)
from clarysage.drift.wording import (
    about,
    as_date,
    duration,
    few_digits,
    from_to,
    percent,
    plain_number,
    two_numbers,
)
from clarysage.results.finding import Shift

ATTAINABLE_LEVEL = 0.01  # a test that cannot have a p-value as small is left out
UNITS = {DATES: " (days since 1970)", DURATIONS: " (days)"}

# values that programs write in place of missing cells
PLACEHOLDERS = {float(sign * size) for size in (9, 99, 999, 9999, 99999, 999999, 88, 888, 8888) for sign in (1, -1)} | {
    -1.0,
    0.0,
    -(2.0**31),
    2.0**31 - 1,
    2.0**32 - 1,
    -(2.0**63),
    2.0**63 - 1,
}
SPIKE_LEVEL = 0.01  # p-value of a spike, adjusted for the number of values
LEAST_SPIKE = 0.005  # share of rows
LEAST_SPIKE_RATIO = 5.0  # of the shares in both samples
STANDS_OUT = {True: 3.0, False: 5.0}  # times the rows of the next value; True: for known placeholders
MOST_SPIKES = 2

ONE_DIRECTION = 0.3  # largest gap in the other direction, as a share of the widest, if all values moved in one
LEAST_BEYOND = 0.2  # share of rows beyond the reference's range, in units of the distance, that is worth a hint
SPREAD_RATIO = 1.1  # ratio of interquartile ranges from which they count as different


def compare_numbers(name: str, reference: ColumnSample, current: ColumnSample) -> Shift:
    """Tests distribution functions, the shares of repeated values and the share of missing cells."""
    samples = reference.present, current.present
    ecdf = TwoSampleECDF.of(*samples)
    missing_change = abs(current.missing_share - reference.missing_share)
    p = bonferroni([*_distribution_p(*samples, ecdf), *_repeated_values_p(ecdf), *missing_p(reference, current)])
    hints: list[str] = []
    if p <= COLUMN_LEVEL:
        of_missing, of_numbers = missing_hint(reference, current), number_hints(*samples, reference.cell_type)
        hints = [*of_missing, *of_numbers] if missing_change > ecdf.distance else [*of_numbers, *of_missing]
    distance = max(ecdf.distance, missing_change)
    return Shift(name, "numbers", distance, p, tuple(hints), number_facts(reference, current))


def _distribution_p(reference: np.ndarray, current: np.ndarray, ecdf: TwoSampleECDF) -> list[float]:
    if not all(ecdf.rows) or len(ecdf.values) == 1:
        return []
    return [kolmogorov_smirnov_p(reference, current, ecdf.distance)]


def _repeated_values_p(ecdf: TwoSampleECDF) -> list[float]:
    """Returns the p-value of the shares of values that occur more than once; an empty list if it cannot be small."""
    counts = ecdf.counts[:, ecdf.counts.sum(axis=0) > 1]
    if not all(ecdf.rows) or not counts.size or len(ecdf.values) == 1:
        return []
    # the most frequent value can have the smallest p-value, unless nearly all rows have it
    most = counts.sum(axis=0).max(keepdims=True)
    if smallest_attainable_p(most, ecdf.rows[1], sum(ecdf.rows)).min() > ATTAINABLE_LEVEL:
        return []
    return [tarone_p(counts[0], counts[1], ecdf.rows)]


def number_facts(reference: ColumnSample, current: ColumnSample) -> dict[str, tuple[float, float]]:
    """Returns numbers that describe both samples; only those that are finite in both."""
    facts: dict[str, tuple[float, float]] = {}
    finite = [sample.present[np.isfinite(sample.present)] for sample in (reference, current)]
    unit = UNITS.get(reference.cell_type, "")
    if all(len(values) for values in finite):
        low, median, high = zip(*(_quartiles(values) for values in finite), strict=True)
        facts[f"median{unit}"] = _pair(*median)
        facts[f"spread{unit and ' (days)'}"] = _pair(high[0] - low[0], high[1] - low[1])
        facts[f"lowest{unit}"] = _pair(finite[0][0], finite[1][0])
        facts[f"highest{unit}"] = _pair(finite[0][-1], finite[1][-1])
    facts["missing share"] = reference.missing_share, current.missing_share
    facts["distinct"] = _pair(_distinct(reference.present), _distinct(current.present))
    facts["rows"] = _pair(reference.rows, current.rows)
    return {name: pair for name, pair in facts.items() if np.isfinite(pair).all()}


def _pair(reference: float, current: float) -> tuple[float, float]:
    return float(reference), float(current)


def _distinct(ordered: np.ndarray) -> int:
    return int((ordered[1:] != ordered[:-1]).sum()) + 1 if len(ordered) else 0


def _quartiles(ordered: np.ndarray) -> np.ndarray:
    return np.asarray(np.interp(np.array([0.25, 0.5, 0.75]) * (len(ordered) - 1), np.arange(len(ordered)), ordered))


def number_hints(reference: np.ndarray, current: np.ndarray, cell_type: str) -> list[str]:
    """Returns hints about what changed between sorted samples without missing cells, the strongest first."""
    samples = NumberSamples.of(reference, current)
    if not len(reference) or not len(current):
        return []
    if cell_type == DATES:
        return [] if samples.is_one_empty else _date_hints(samples)
    constant = _constant_hints(reference, current)
    if constant:
        return constant
    return [*_finite_hints(reference, current, samples), *_infinity_hints(reference, current)]


def _finite_hints(reference: np.ndarray, current: np.ndarray, samples: NumberSamples) -> list[str]:
    """Names a transformation that gives the current numbers; else spikes, and changes of the other numbers."""
    if samples.is_one_empty:
        return []
    recoding = recoding_hint(samples)
    if recoding:
        return [recoding]
    spikes = _find_spikes(reference, current)
    if not any(spike.is_isolated_placeholder for spike in spikes):
        transformation = _transformation_hints(samples)
        if transformation:
            return transformation
    if not spikes:
        return _description_hints(samples)
    hints, spike_values = [str(spike) for spike in spikes], [spike.value for spike in spikes]
    others = NumberSamples.of(*(side[~np.isin(side, spike_values)] for side in (reference, current)))
    if others.is_one_empty or others.distance <= others.critical:
        return hints
    return [*hints, *(_transformation_hints(others) or _description_hints(others))]


def _transformation_hints(samples: NumberSamples) -> list[str]:
    """Names the transformation that explains the whole change; empty where there is none."""
    rounding = find_rounding(samples)
    if rounding is not None and rounding.is_explanation:
        return [rounding.hint]
    rescaling = find_rescaling(samples) if samples.distance > samples.critical else None
    return clipping_hints(samples) if rescaling is None else [str(rescaling)]


def _description_hints(samples: NumberSamples) -> list[str]:
    """Describes a change that no transformation explains: rounding, numbers out of range, location or spread."""
    rounding = find_rounding(samples)
    return [*([] if rounding is None else [rounding.hint]), *_out_of_range_hints(samples), *_location_hints(samples)]


def _constant_hints(reference: np.ndarray, current: np.ndarray) -> list[str]:
    is_constant = reference[0] == reference[-1], current[0] == current[-1]
    if is_constant == (True, True) and reference[0] != current[0]:
        before, after = few_digits(reference[0]), few_digits(current[0])
        if before == after:
            before, after = plain_number(reference[0]), plain_number(current[0])
        return [f"all values are {after} now, {before} in the reference"]
    if is_constant == (False, True):
        return [f"all values are {few_digits(current[0])} now"]
    if is_constant == (True, False):
        return [f"values vary now, all of the reference's are {few_digits(reference[0])}"]
    return []


def _infinity_hints(reference: np.ndarray, current: np.ndarray) -> list[str]:
    before, after = int(np.isinf(reference).sum()), int(np.isinf(current).sum())
    p = hypergeometric_p(after, before + after, len(current), len(reference) + len(current))
    if p > HINT_LEVEL:
        return []
    return [f"infinite values went {from_to(before / len(reference), after / len(current))}"]


def _out_of_range_hints(samples: NumberSamples) -> list[str]:
    """Counts current numbers outside the reference's range, where there are more than chance brings."""
    n, m = len(samples.reference), len(samples.current)
    lowest, highest = samples.reference[0], samples.reference[-1]
    above = int((samples.current > highest).sum())
    below = int((samples.current < lowest).sum())
    hints = []
    for count, words, bound in sorted(
        [
            (above, "above the reference's highest", highest),
            (below, "below the reference's lowest", lowest),
        ],
        key=lambda side: -side[0],
    ):
        if count and count >= LEAST_BEYOND * samples.distance * m:
            p = np.exp(log_p_all_current(np.array(float(count)), (n, m)))  # the outermost rows are all current ones
            if p <= HINT_LEVEL / 10:
                hints.append(f"{percent(count / m)} of values are {words}, {about(bound, 3)}")
    return hints


def _location_hints(samples: NumberSamples) -> list[str]:
    """Says that values are higher, lower, wider or narrower, or where the distribution functions differ most."""
    ecdf = TwoSampleECDF.of(samples.reference, samples.current)
    if samples.distance <= samples.critical / 2:
        return []
    widest = int(np.abs(ecdf.gaps).argmax())
    is_higher = bool(ecdf.gaps[widest] < 0)  # fewer current rows up to there
    opposite = max(0.0, float(ecdf.gaps.max() if is_higher else -ecdf.gaps.min()))
    low, median, high = np.array(
        [np.quantile(sample, [0.25, 0.5, 0.75]) for sample in (samples.reference, samples.current)]
    ).T
    is_one_direction = opposite <= ONE_DIRECTION * samples.distance
    if is_one_direction and median[0] != median[1] and (median[1] > median[0]) == is_higher:
        before, after = two_numbers(*median)
        return [f"values are {'higher' if is_higher else 'lower'}: the median went from {before} to {after}"]
    spread = high - low
    if not is_one_direction and max(spread) > SPREAD_RATIO * min(spread):
        before, after = two_numbers(*spread)
        comparative = "more" if spread[1] > spread[0] else "less"
        return [f"values are {comparative} spread: the middle half spans {after}, {before} in the reference"]
    shares = ecdf.cumulative[:, widest] / np.array(ecdf.rows)
    return [f"values of {about(ecdf.values[widest], 3)} or less went {from_to(*shares)}"]


def _date_hints(samples: NumberSamples) -> list[str]:
    """Says by how much all dates moved; otherwise which are outside the reference's range, and where the median is."""
    offset = find_offset(samples)
    if offset is not None:
        return [f"dates are about {duration(abs(offset))} {'later' if offset > 0 else 'earlier'}"]
    first, last = samples.reference[0], samples.reference[-1]
    after = float((samples.current > last).mean())
    before = float((samples.current < first).mean())
    hints = []
    if after > 0.01:
        hints.append(f"{percent(after)} of dates are after the reference's last, {as_date(last)}")
    if before > 0.01:
        hints.append(f"{percent(before)} of dates are before the reference's first, {as_date(first)}")
    medians = float(np.median(samples.reference)), float(np.median(samples.current))
    dates = as_date(medians[0]), as_date(medians[1])
    if dates[0] != dates[1]:
        direction = "later" if medians[1] > medians[0] else "earlier"
        hints.append(f"dates are {direction}: the median went from {dates[0]} to {dates[1]}")
    return hints


@dataclass(frozen=True)
class Spike:
    """A value that fills many more rows of one sample than of the other.

    Attributes
    ----------
    value : the value
    shares : of the rows of the reference and of the current sample
    is_isolated_placeholder : whether it is a known placeholder at an end of the range that is farther from the other
        values than their interquartile range, or the only negative number
    """

    value: float
    shares: tuple[float, float]
    is_isolated_placeholder: bool

    def __str__(self) -> str:
        before, after = (percent(share) if share else "none" for share in self.shares)
        is_placeholder = self.value in PLACEHOLDERS and self.shares[1] > self.shares[0]
        reason = ", perhaps for missing cells" if is_placeholder else ""
        return f"{few_digits(self.value)} fills {after} of rows, {before} of the reference's{reason}"


def _find_spikes(reference: np.ndarray, current: np.ndarray) -> list[Spike]:
    """Finds spikes of the current sample, then those of the reference; both sorted."""
    ecdf = TwoSampleECDF.of(reference[np.isfinite(reference)], current[np.isfinite(current)])
    if not all(ecdf.rows):
        return []
    return [*_spikes_of(ecdf, 1), *_spikes_of(ecdf, 0)]


def _spikes_of(ecdf: TwoSampleECDF, side: int) -> list[Spike]:
    counts, shares = ecdf.counts, ecdf.counts / np.array(ecdf.rows)[:, None]
    most_frequent = np.argsort(-counts[side], kind="stable")[: MOST_SPIKES + 1]
    next_count = counts[side][most_frequent[MOST_SPIKES]] if len(most_frequent) > MOST_SPIKES else 1
    placeholders = np.flatnonzero(np.isin(ecdf.values, list(PLACEHOLDERS)) & (counts[side] > 0))
    spikes = []
    for i in dict.fromkeys([*most_frequent[:MOST_SPIKES], *placeholders]):
        value, count, rows = float(ecdf.values[i]), int(counts[side][i]), ecdf.rows[side]
        is_placeholder = value in PLACEHOLDERS
        is_isolated = is_placeholder and _is_isolated(ecdf, side, int(i))
        is_large = count >= max(3, LEAST_SPIKE * rows) and shares[side][i] >= LEAST_SPIKE_RATIO * shares[1 - side][i]
        tests = len(PLACEHOLDERS) if is_placeholder else len(ecdf.values)
        p = hypergeometric_p(count, int(counts[:, i].sum()), rows, sum(ecdf.rows)) * tests
        stands_out = is_isolated or count >= STANDS_OUT[is_placeholder] * next_count
        if is_large and p <= SPIKE_LEVEL and stands_out:
            spikes.append(Spike(value, (float(shares[0][i]), float(shares[1][i])), is_isolated))
    return spikes


def _is_isolated(ecdf: TwoSampleECDF, side: int, i: int) -> bool:
    """Returns whether a value is far from all others of its sample, or its only negative one."""
    value, counts = ecdf.values[i], ecdf.counts[side].copy()
    counts[i] = 0
    if not counts.any():
        return False
    cumulative = np.cumsum(counts)
    low, high = (ecdf.values[np.searchsorted(cumulative, level * cumulative[-1])] for level in (0.25, 0.75))
    first, last = ecdf.values[np.flatnonzero(counts)[[0, -1]]]
    is_only_negative = i == 0 and value < 0 <= ecdf.values[1]
    return bool(is_only_negative or max(first - value, value - last) > high - low)
