"""Finding: what is known of a feature of a model that is watched, and how that is said in plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING, Literal

import numpy as np

from clarysage.codec import require
from clarysage.results.text import names_in_sentence, short_name

if TYPE_CHECKING:
    from clarysage.results.monitoring import Monitoring

BOTH = "inputs and contribution"  # both are known to have changed: the column is the likely cause
ALONE = "contribution alone"  # its contribution changed, and no column is known as the cause
FOLLOWS = "along with others"  # its contribution changed, its inputs did not, and those of another feature did both
INPUTS = "inputs alone"  # its inputs shifted, without a known change of its contribution
UNCHANGED = "unchanged"
FLAGGED = (BOTH, ALONE)
STILL = 0.01  # change of the mean loss, as a share of it, below which shares of the change say nothing
Losses = tuple[float, float]
SLICES_NAMED = 3  # in a sentence


@dataclass(frozen=True)
class Shift:
    """How a column of the current rows differs from the reference's.

    Attributes
    ----------
    column
        The column's name.
    kind
        `"numbers"` or `"categories"`: how the column was read.
    distance
        Between 0 and 1: the Kolmogorov-Smirnov distance of numbers, the total variation distance of categories, missing
        cells counted.
    p_value
        How likely such a distance is, on its own, by the chance of drawing rows; 1.0 where the columns are the same.
    hints
        What happened, in plain words, the strongest first.
    facts
        Name -> (reference, current), such as the median, the spread, the share of missing cells.
    """

    column: str
    kind: Literal["numbers", "categories"]
    distance: float
    p_value: float
    hints: tuple[str, ...]
    facts: Mapping[str, tuple[float, float]]

    def __post_init__(self) -> None:
        for name in ("distance", "p_value"):
            require(0 <= getattr(self, name) <= 1, name, getattr(self, name), "a number from 0 to 1")


@dataclass(frozen=True)
class Finding:
    """What is known of a feature in one of the explanations that are compared with the reference.

    Attributes
    ----------
    feature, where : the feature, and what the explanation is called
    verdict : "inputs and contribution", "contribution alone", "along with others", "inputs alone" or "unchanged"
    before, after, difference, low, high : its contribution in the reference, here, the difference and its interval
    after_low, after_high : the interval of its contribution here
    p_value, inputs_p_value : of the difference, and of the shift of its inputs; both adjusted
    share : of the change of the mean loss, what the change of this contribution makes; None where the loss is not
        known, or hardly moved
    shift : of its column; of the column that shifted most, where it is a group of them
    is_shifted : whether its inputs are known to have shifted
    """

    feature: str
    where: str
    verdict: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    after_low: float
    after_high: float
    p_value: float
    inputs_p_value: float
    share: float | None
    shift: Shift
    is_shifted: bool = False

    @property
    def is_flagged(self) -> bool:
        return self.verdict in FLAGGED

    @property
    def is_changed(self) -> bool:
        """Whether its contribution is known to have changed."""
        return self.verdict in (*FLAGGED, FOLLOWS)


def verdicts_of(changed: np.ndarray, shifted: np.ndarray, surely: np.ndarray) -> list[str]:
    """One verdict a feature, from whether its contribution changed, its inputs shifted, and did so surely.

    One column that breaks does change contributions of others. Of these, columns whose inputs seem to have shifted by
    chance are in some 1 - level of all cases: beside a sure cause they are no causes.

    Examples
    --------
    >>> no, yes = np.zeros(3, dtype=bool), np.array([True, True, False])
    >>> verdicts_of(yes, shifted=yes, surely=np.array([True, False, False]))
    ['inputs and contribution', 'along with others', 'unchanged']
    >>> verdicts_of(yes, shifted=np.array([False, True, True]), surely=no)
    ['along with others', 'inputs and contribution', 'inputs alone']
    >>> verdicts_of(yes, shifted=no, surely=no)
    ['contribution alone', 'contribution alone', 'unchanged']
    """
    sure, likely = changed & surely, changed & shifted
    causes = sure if sure.any() else likely
    words = np.where(changed, FOLLOWS if causes.any() else ALONE, np.where(shifted, INPUTS, UNCHANGED))
    return [str(word) for word in np.where(causes, BOTH, words)]


def is_almost_equal(before: float, after: float) -> bool:
    """Whether two mean losses are almost the same."""
    return abs(after - before) < STILL * max(abs(before), abs(after)) or before == after


def finding_sentence(finding: Finding, causes: list[str], losses: Losses | None) -> str:
    """What became of a feature, what that does to the loss, and whether it rests on its contribution, inputs or both.

    ``causes`` are features that the finding may follow: with both inputs and contribution changed, or else with
    inputs that shifted; ``losses`` are the mean losses of the reference and here, None where values are shares of the
    variance of outputs.
    """
    name, noun = short_name(finding.feature), "contribution" if losses else "effect"
    if finding.verdict == INPUTS:
        alone = f"This rests on its inputs alone: its {noun} is not known to have changed."
        return f"{name} has other inputs: {strongest_hint(finding)}. {alone}"
    if finding.verdict == FOLLOWS:
        inputs = "shifted far less surely" if finding.is_shifted else "are not known to have shifted"
        return (
            f"{name} changed along with {names_in_sentence(causes)}, and is not flagged for that: "
            f"its {noun} {movement(finding)}, while its inputs {inputs}."
        )
    state = _state(finding) if losses else f"moves the output {'more' if finding.difference > 0 else 'less'}"
    head, loss = f"{name} {state}: its {noun} {movement(finding)}", _in_the_loss(finding, losses)
    if finding.verdict == BOTH:
        return f"{head}; {strongest_hint(finding)}.{loss} This rests on both, its {noun} and its inputs."
    assert finding.verdict == ALONE
    return f"{head}.{loss} This rests on its {noun} alone: {_else_known(causes, noun)}"


def _else_known(causes: list[str], noun: str) -> str:
    """What may be behind a contribution that changed while its inputs did not."""
    if causes:
        return (
            f"its inputs are not known to have shifted. Those of {names_in_sentence(causes)} did, and may be the cause."
        )
    if noun == "effect":
        return "no inputs are known to have shifted; how they go together may have changed."
    return "no inputs are known to have shifted; the response, or how it depends on the features, may have changed."


def _state(finding: Finding) -> str:
    """What the feature does now, in comparison; that it helps or hurts now only where its interval excludes zero.

    Examples
    --------
    >>> from dataclasses import replace
    >>> duration = Finding("x", "current", ALONE, 0.09, -0.31, -0.4, -0.5, -0.3, -0.41, -0.21, 0.0, 1.0, None, None)
    >>> _state(duration), _state(replace(duration, after_high=0.02))
    ('now hurts', 'no longer helps')
    """
    before, after, is_more = finding.before, finding.after, finding.difference > 0
    if is_more and after <= 0:
        return "no longer hurts" if after == 0 else "hurts less"
    if not is_more and after >= 0:
        return "no longer helps" if after == 0 else "helps less"
    if finding.after_low <= 0 <= finding.after_high:
        return _undecided(before, is_more)
    if is_more:
        return "now helps" if before <= 0 else "helps more"
    return "now hurts" if before >= 0 else "hurts more"


def _undecided(before: float, is_more: bool) -> str:
    """Of a contribution that moved away from zero, or past it, and may yet be zero."""
    if is_more:
        return "no longer hurts" if before < 0 else "contributes more"
    return "no longer helps" if before > 0 else "contributes less"


def movement(finding: Finding) -> str:
    """From where to where the contribution went."""
    before, after = format_pair(finding.before, finding.after)
    return f"{'rose' if finding.difference > 0 else 'fell'} from {before} to {after}"


def format_pair(one: float, other: float) -> tuple[str, str]:
    """Two numbers with few digits, but enough to tell them apart, and to tell the smaller from zero.

    Examples
    --------
    >>> format_pair(0.0352441, -0.2220512), format_pair(0.963, -726.4), format_pair(0.24179, 0.24185)
    (('0.0352', '-0.222'), ('0.96', '-726'), ('0.24179', '0.24185'))
    """
    size, gap = max(abs(one), abs(other)), abs(one - other)
    if size and not 1e-6 <= size < 1e7:
        digits = 3 if not gap else min(max(3, 1 + floor(log10(size)) - floor(log10(gap))), 15)
        return f"{one:.{digits}g}", f"{other:.{digits}g}"
    least = max([0, *(digits - floor(log10(each)) for digits, each in ((2, size), (0, gap)) if each > 0)])
    first, last = (_with_decimals(each, least) for each in (one, other))
    return first, last


def _with_decimals(number: float, least: int) -> str:
    """A number with so many decimals, or up to two more where it has few digits with these."""
    own = 2 - floor(log10(abs(number))) if number else 0
    text = f"{number:,.{min(max(least, min(own, least + 2)), 12)}f}"
    return text if any(digit in text for digit in "123456789") else "0"


def strongest_hint(finding: Finding) -> str:
    """The strongest of what is known of the shift; of a group, with the column it is of."""
    said = finding.shift.hints[0] if finding.shift.hints else "values are distributed otherwise than the reference's"
    return said if finding.shift.column == finding.feature else f"in {short_name(finding.shift.column)} {said}"


def _in_the_loss(finding: Finding, losses: Losses | None) -> str:
    """What the change makes of the change in the mean loss."""
    if losses is None:
        return ""
    before, after = format_pair(*losses)
    if finding.share is None:
        is_still = losses[0] != losses[1] and is_almost_equal(*losses)
        return f" The mean loss hardly moved, from {before} to {after}." if is_still else ""
    if finding.share <= 0:
        way = "fell" if losses[1] < losses[0] else "rose"
        return f" The mean loss {way} all the same, from {before} to {after}."
    is_rise = losses[1] > losses[0]
    if finding.share > 1:
        word, past = ("raise", "rose") if is_rise else ("lower", "fell")
        return f" That alone would {word} the mean loss by more than it {past}, from {before} to {after}."
    part = "less than 1 %" if finding.share < 0.01 else f"{100 * finding.share:.0f} %"
    return f" That makes up {part} of the {'rise' if is_rise else 'fall'} of the mean loss from {before} to {after}."


def sentences_on_features(monitoring: Monitoring) -> list[tuple[Finding, str]]:
    """A sentence on each feature of which something is known, with the finding that its numbers are of."""
    groups = [at for verdicts in (FLAGGED, (FOLLOWS,), (INPUTS,)) for at in _by_feature(monitoring, verdicts)]
    return [(at[0], _sentence(monitoring, at)) for at in groups]


def alarm_sentence(monitoring: Monitoring) -> str:
    """Which features are flagged, or that none is."""
    flagged, shifted, left_out = monitoring.flagged, monitoring.shifted, list(monitoring.left_out)
    unknown = f" Not explained: {names_in_sentence(left_out)}." if left_out else ""
    if flagged:
        return f"FLAGGED: {names_in_sentence(flagged)}.{unknown}"
    noun = "effect" if monitoring.losses is None else "contribution"
    others = f"Inputs shifted: {names_in_sentence(shifted)}." if shifted else "Nor is any column known to have shifted."
    return f"Nothing is flagged: no {noun} is known to have changed. {others}{unknown}"


def _by_feature(monitoring: Monitoring, verdicts: tuple[str, ...]) -> list[list[Finding]]:
    """Findings with such verdicts, feature by feature, the largest change first."""
    groups: dict[str, list[Finding]] = {}
    for one in monitoring.all_findings:
        if one.verdict in verdicts:
            groups.setdefault(one.feature, []).append(one)
    size: Callable[[Finding], float] = (
        (lambda one: one.shift.distance) if INPUTS in verdicts else (lambda one: abs(one.difference))
    )
    chosen = [sorted(found, key=size, reverse=True) for found in groups.values()]
    return sorted(chosen, key=lambda found: -size(found[0]))


def _sentence(monitoring: Monitoring, found: list[Finding]) -> str:
    """Of a feature: the slice where the change is largest, and which others there are."""
    worst, names = found[0], monitoring.names
    beside = [one for one in monitoring.findings(worst.where) if one.feature != worst.feature]
    causes = [one.feature for one in beside if one.verdict == (BOTH if worst.verdict == FOLLOWS else INPUTS)]
    losses = monitoring.losses
    pair = None if losses is None else (float(losses[0]), float(losses[1 + names.index(worst.where)]))
    said = finding_sentence(worst, causes, pair)
    return said if len(names) == 1 else f"{said} {_seen(names, [one.where for one in found], monitoring.is_in_order)}"


def _seen(names: Sequence[str], where: list[str], is_in_order: bool) -> str:
    """In which of the slices; the first of ``where`` is the one that numbers are of.

    Examples
    --------
    >>> _seen(["may", "june", "july"], ["july", "june"], is_in_order=True)
    'Seen from june on, in 2 of 3 slices; the numbers are of july, where it is largest.'
    >>> _seen(["east", "north", "south"], ["south", "north"], is_in_order=False)
    'Seen in 2 of 3 slices (north, south); the numbers are of south, where it is largest.'
    """
    worst, places = short_name(where[0]), sorted(names.index(one) for one in where)
    if len(places) == 1:
        return f"Seen in {worst} alone, of {len(names)} slices."
    if len(places) == len(names):
        which = f"in all {len(names)} slices"
    elif is_in_order and places == list(range(places[0], len(names))):
        which = f"from {short_name(names[places[0]])} on, in {len(places)} of {len(names)} slices"
    else:
        which = ", ".join(short_name(names[i]) for i in places[:SLICES_NAMED])
        more = f" and {len(places) - SLICES_NAMED} more" if len(places) > SLICES_NAMED else ""
        which = f"in {len(places)} of {len(names)} slices ({which}{more})"
    return f"Seen {which}; the numbers are of {worst}, where it is largest."
