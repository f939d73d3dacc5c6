"""What happened to a column of numbers or dates, in plain words."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from clarysage.monitoring.shifts.clipped import clipped
from clarysage.monitoring.shifts.combined import CLEAR
from clarysage.monitoring.shifts.date_hints import dated_hints
from clarysage.monitoring.shifts.fits import Samples
from clarysage.monitoring.shifts.line import Line
from clarysage.monitoring.shifts.reading import DATES
from clarysage.monitoring.shifts.recoded import recoded
from clarysage.monitoring.shifts.rescaled import rescaled
from clarysage.monitoring.shifts.rounded import rounded
from clarysage.monitoring.shifts.shares import p_of_share
from clarysage.monitoring.shifts.spikes import spikes
from clarysage.monitoring.shifts.wording import about, both, few_digits, from_to, percent, plain_number

ONE_WAY = 0.3  # gap the other way, as a share of the widest, up to which all values moved one way
PART = 0.2  # share of rows beyond the range, in units of the gap, from which they are named
WIDER = 1.1  # ratio of spreads from which they differ


def number_hints(reference: np.ndarray, current: np.ndarray, sort: str) -> list[str]:
    """Of sorted samples without missing cells, the strongest first."""
    samples = Samples.of(reference, current)
    if not len(reference) or not len(current):
        return []
    if sort == DATES:
        return [] if samples.are_empty else dated_hints(samples)
    constant = _constant(reference, current)
    if constant:
        return constant
    return [*_explained(reference, current, samples), *_infinite(reference, current)]


def _explained(reference: np.ndarray, current: np.ndarray, samples: Samples) -> list[str]:
    """Changes that give the current numbers; if none does, spikes, and then changes of the other numbers."""
    if samples.are_empty:
        return []
    code = recoded(samples)
    if code:
        return [code]
    found = spikes(reference, current)
    changes = [] if any(spike.is_apart for spike in found) else _changes(samples)
    if changes:
        return changes
    if not found:
        return _described(samples)
    hints, values = [str(spike) for spike in found], [spike.value for spike in found]
    samples = Samples.of(*(side[~np.isin(side, values)] for side in (reference, current)))
    if samples.are_empty or samples.gap <= samples.critical:
        return hints
    return [*hints, *(_changes(samples) or _described(samples))]


def _changes(samples: Samples) -> list[str]:
    """What explains all there is, empty where nothing does."""
    digits = rounded(samples)
    if digits is not None and digits.is_all:
        return [digits.words]
    rescaling = rescaled(samples) if samples.gap > samples.critical else None
    return clipped(samples) if rescaling is None else [str(rescaling)]


def _described(samples: Samples) -> list[str]:
    """In general words: digits, numbers beyond the range, where those are no small part of it, and how they moved."""
    digits = rounded(samples)
    return [*([] if digits is None else [digits.words]), *_beyond(samples), *_moved(samples)]


def _constant(reference: np.ndarray, current: np.ndarray) -> list[str]:
    is_flat = reference[0] == reference[-1], current[0] == current[-1]
    if is_flat == (True, True) and reference[0] != current[0]:
        few, full = ([show(side[0]) for side in (current, reference)] for show in (few_digits, plain_number))
        words = full if few[0] == few[1] else few
        return [f"all values are {words[0]} now, {words[1]} in the reference"]
    if is_flat == (False, True):
        return [f"all values are {few_digits(current[0])} now"]
    if is_flat == (True, False):
        return [f"values vary now, all of the reference's are {few_digits(reference[0])}"]
    return []


def _infinite(reference: np.ndarray, current: np.ndarray) -> list[str]:
    counts = [int(np.isinf(side).sum()) for side in (reference, current)]
    p = p_of_share(counts[1], sum(counts), len(current), len(reference) + len(current))
    if p > CLEAR:
        return []
    return [f"infinite values went {from_to(counts[0] / len(reference), counts[1] / len(current))}"]


def _beyond(samples: Samples) -> list[str]:
    """Current numbers outside the reference's range, where there are more than chance brings."""
    n, m = len(samples.reference), len(samples.current)
    above = int((samples.current > samples.reference[-1]).sum())
    below = int((samples.current < samples.reference[0]).sum())
    return [
        f"{percent(count / m)} of values are {word}, {about(bound, 3)}"
        for count, word, bound in sorted(
            [
                (above, "above the reference's highest", samples.reference[-1]),
                (below, "below the reference's lowest", samples.reference[0]),
            ],
            key=lambda one: -one[0],
        )
        if count >= PART * samples.gap * m and count and _p_beyond(count, n, m) <= CLEAR / 10
    ]


def _p_beyond(count: int, n: int, m: int) -> float:
    """The chance that the outermost ``count`` of n + m rows are all among the m: C(m, count) / C(n + m, count)."""
    return float(np.exp(gammaln(m + 1) - gammaln(m - count + 1) - gammaln(n + m + 1) + gammaln(n + m - count + 1)))


def _moved(samples: Samples) -> list[str]:
    """Higher, lower, wider or narrower, or the point at which shares differ most."""
    line = Line.of(samples.reference, samples.current)
    if samples.gap <= samples.critical / 2:
        return []
    widest = int(np.abs(line.gaps).argmax())
    is_higher = bool(line.gaps[widest] < 0)  # fewer rows up to there
    other = max(0.0, float(line.gaps.max() if is_higher else -line.gaps.min()))
    (low, middle, high) = np.array(
        [np.quantile(side, [0.25, 0.5, 0.75]) for side in (samples.reference, samples.current)]
    ).T
    if other <= ONE_WAY * samples.gap and middle[0] != middle[1] and (middle[1] > middle[0]) == is_higher:
        words = both(*middle)
        return [f"values are {'higher' if is_higher else 'lower'}: the median went from {words[0]} to {words[1]}"]
    spread = high - low
    if other > ONE_WAY * samples.gap and max(spread) > WIDER * min(spread):
        words = both(*spread)
        word = "more" if spread[1] > spread[0] else "less"
        return [f"values are {word} spread: the middle half spans {words[1]}, {words[0]} in the reference"]
    shares = line.below[:, widest] / np.array(line.rows)
    return [f"values of {about(line.values[widest], 3)} or less went {from_to(*shares)}"]
