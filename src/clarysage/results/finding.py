"""Finding: the verdict on a feature of a monitored model, and the sentences that state it in plain words."""

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
FOLLOWS = "along with others"  # only its contribution changed, while another feature has the verdict BOTH
CERTAIN = "inputs for certain"  # its inputs surely shifted, and far; its contribution is not known to have changed
INPUTS = "inputs alone"  # its inputs shifted, without a known change of its contribution
UNCHANGED = "unchanged"
FLAGGED = (BOTH, ALONE, CERTAIN)
SURE_SHIFT = 0.001  # as a share of 1 - level: inputs with a smaller p-value have surely shifted
FAR = 0.25  # distance of inputs from which a sure shift is an alarm of its own
NEGLIGIBLE_CHANGE = 0.01  # of the mean loss, as a share of it; shares of such a change would mean nothing
Losses = tuple[float, float]
SLICES_NAMED = 3  # in a sentence


@dataclass(frozen=True)
class Shift:
    """The difference of the distributions of a column in the current rows and in the reference.

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
        p-value of the test that both are drawn from the same distribution, not adjusted; 1.0 for equal columns.
    hints
        Likely descriptions of the shift in plain words, the strongest first.
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
    """The verdict on a feature in one of the explanations that are compared with the reference.

    Attributes
    ----------
    feature, where : the feature, and the name of the explanation
    verdict : "inputs and contribution", "contribution alone", "along with others", "inputs for certain", "inputs alone"
        or "unchanged"
    before, after : contribution in the reference and in this explanation
    difference, low, high : difference of the two, and its interval
    after_low, after_high : interval of the contribution in this explanation
    p_value, inputs_p_value : p-values of the difference, and of the shift of its inputs; both adjusted
    share : share of the change of this contribution in the change of the mean loss; None where the loss is unknown or
        hardly changed
    shift : shift of its column; for a group, of the column that shifted most
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
        """Tells whether its contribution is known to have changed."""
        return self.verdict in (BOTH, ALONE, FOLLOWS)


def verdicts_of(changed: np.ndarray, shifted: np.ndarray, surely: np.ndarray, far: np.ndarray) -> list[str]:
    """Returns a verdict for each feature, (p,) from whether its contribution changed and its inputs shifted.

    ``surely`` is whether inputs shifted with much more certainty, and ``far`` whether they did so by a large distance.
    When one column breaks, contributions of other features change too. Some of these seem to have shifted only by
    chance, about a share 1 - level of them; next to a sure cause they do not count as causes. Inputs that surely
    shifted far are an alarm of their own: few rows may not show that a contribution changed.

    Examples
    --------
    >>> no, yes = np.zeros(3, dtype=bool), np.array([True, True, False])
    >>> verdicts_of(yes, shifted=yes, surely=np.array([True, False, False]), far=no)
    ['inputs and contribution', 'along with others', 'unchanged']
    >>> verdicts_of(yes, shifted=np.array([False, True, True]), surely=no, far=no)
    ['along with others', 'inputs and contribution', 'inputs alone']
    >>> verdicts_of(yes, shifted=no, surely=no, far=no)
    ['contribution alone', 'contribution alone', 'unchanged']
    >>> verdicts_of(no, shifted=yes, surely=yes, far=np.array([True, False, False]))
    ['inputs for certain', 'inputs alone', 'unchanged']
    """
    sure, likely = changed & surely, changed & shifted
    causes = sure if sure.any() else likely
    of_inputs = np.select([surely & far, shifted], [CERTAIN, INPUTS], UNCHANGED)
    words = np.where(changed, FOLLOWS if causes.any() else ALONE, of_inputs)
    return [str(word) for word in np.where(causes, BOTH, words)]


def is_almost_equal(before: float, after: float) -> bool:
    """Tells whether two mean losses are almost the same."""
    return abs(after - before) < NEGLIGIBLE_CHANGE * max(abs(before), abs(after)) or before == after


def finding_sentence(finding: Finding, causes: list[str], losses: Losses | None) -> str:
    """Returns sentences on a finding: the change, its effect on the loss, and the evidence for it.

    ``causes`` are features that may have caused the change: those with the verdict "inputs and contribution", or else
    those whose inputs shifted. ``losses`` are the mean losses of the reference and of this explanation, None where
    values are shares of the variance of outputs.
    """
    name, noun = short_name(finding.feature), "contribution" if losses else "effect"
    if finding.verdict == INPUTS:
        evidence = f"The only evidence is its inputs: its {noun} is not known to have changed."
        return f"{name} has different inputs: {strongest_hint(finding)}. {evidence}"
    if finding.verdict == CERTAIN:
        evidence = f"That is certain, and an alarm of its own: whether its {noun} changed, these rows do not show."
        return f"{name} has different inputs: {strongest_hint(finding)}. {evidence}"
    if finding.verdict == FOLLOWS:
        inputs = "shifted with much less certainty" if finding.is_shifted else "are not known to have shifted"
        return (
            f"{name} changed along with {names_in_sentence(causes)}, and is therefore not flagged: "
            f"its {noun} {movement(finding)}, while its inputs {inputs}."
        )
    state = _state(finding) if losses else f"moves the output {'more' if finding.difference > 0 else 'less'}"
    head, loss = f"{name} {state}: its {noun} {movement(finding)}", _in_the_loss(finding, losses)
    if finding.verdict == BOTH:
        return f"{head}; {strongest_hint(finding)}.{loss} Both its {noun} and its inputs changed."
    assert finding.verdict == ALONE
    return f"{head}.{loss} The only evidence is its {noun}: {_possible_causes(causes, noun)}"


def _possible_causes(causes: list[str], noun: str) -> str:
    """Returns a clause on possible causes of a contribution that changed while its inputs did not."""
    if causes:
        return (
            f"its inputs are not known to have shifted. Those of {names_in_sentence(causes)} did, and may be the cause."
        )
    if noun == "effect":
        return "no inputs are known to have shifted; the dependence between inputs may have changed."
    return "no inputs are known to have shifted; the response, or how it depends on the features, may have changed."


def _state(finding: Finding) -> str:
    """Says how the effect of a feature changed; "now helps" or "now hurts" only where its interval excludes zero.

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
    """Says how a contribution changed whose interval now includes zero."""
    if is_more:
        return "no longer hurts" if before < 0 else "contributes more"
    return "no longer helps" if before > 0 else "contributes less"


def movement(finding: Finding) -> str:
    """Says from which value to which the contribution rose or fell."""
    before, after = format_pair(finding.before, finding.after)
    return f"{'rose' if finding.difference > 0 else 'fell'} from {before} to {after}"


def format_pair(number: float, second: float) -> tuple[str, str]:
    """Formats two numbers with few digits, but enough to distinguish them from each other and from zero.

    Examples
    --------
    >>> format_pair(0.0352441, -0.2220512), format_pair(0.963, -726.4), format_pair(0.24179, 0.24185)
    (('0.0352', '-0.222'), ('0.96', '-726'), ('0.24179', '0.24185'))
    """
    size, gap = max(abs(number), abs(second)), abs(number - second)
    if size and not 1e-6 <= size < 1e7:
        digits = 3 if not gap else min(max(3, 1 + floor(log10(size)) - floor(log10(gap))), 15)
        return f"{number:.{digits}g}", f"{second:.{digits}g}"
    least = max([0, *(digits - floor(log10(each)) for digits, each in ((2, size), (0, gap)) if each > 0)])
    first, last = (_with_decimals(each, least) for each in (number, second))
    return first, last


def _with_decimals(number: float, least: int) -> str:
    """Formats a number with at least this many decimals, up to two more where it would have few digits."""
    needed = 2 - floor(log10(abs(number))) if number else 0
    text = f"{number:,.{min(max(least, min(needed, least + 2)), 12)}f}"
    return text if any(digit in text for digit in "123456789") else "0"


def strongest_hint(finding: Finding) -> str:
    """Returns the strongest hint on the shift; for a group, with the name of the column."""
    words = (
        finding.shift.hints[0] if finding.shift.hints else "the distribution of its values differs from the reference"
    )
    return words if finding.shift.column == finding.feature else f"in {short_name(finding.shift.column)} {words}"


def _in_the_loss(finding: Finding, losses: Losses | None) -> str:
    """Returns a sentence on the share of a finding in the change of the mean loss."""
    if losses is None:
        return ""
    before, after = format_pair(*losses)
    if finding.share is None:
        is_still = losses[0] != losses[1] and is_almost_equal(*losses)
        return f" The mean loss hardly changed, from {before} to {after}." if is_still else ""
    if finding.share <= 0:
        direction = "fell" if losses[1] < losses[0] else "rose"
        return f" The mean loss {direction} nevertheless, from {before} to {after}."
    is_rise = losses[1] > losses[0]
    if finding.share > 1:
        past = "rose" if is_rise else "fell"
        return f" The mean loss {past} from {before} to {after}; this change accounts for more than all of it."
    part = "less than 1 %" if finding.share < 0.01 else f"{100 * finding.share:.0f} %"
    direction = "rise" if is_rise else "fall"
    return f" This change accounts for {part} of the {direction} of the mean loss from {before} to {after}."


def sentences_on_features(monitoring: Monitoring) -> list[tuple[Finding, str]]:
    """Returns a sentence for each feature with a known change, and the finding that its numbers come from."""
    groups = [
        at
        for verdicts in ((BOTH, ALONE), (CERTAIN,), (FOLLOWS,), (INPUTS,))
        for at in _by_feature(monitoring, verdicts)
    ]
    return [(at[0], _sentence(monitoring, at)) for at in groups]


def alarm_sentence(monitoring: Monitoring) -> str:
    """Returns the sentence that says which features are flagged, or that none is."""
    flagged, shifted, left_out = monitoring.flagged, monitoring.shifted, list(monitoring.left_out)
    unknown = f" Not explained: {names_in_sentence(left_out)}." if left_out else ""
    if flagged:
        return f"FLAGGED: {names_in_sentence(flagged)}.{unknown}"
    noun = "effect" if monitoring.losses is None else "contribution"
    also = f"Inputs shifted: {names_in_sentence(shifted)}." if shifted else "No column is known to have shifted either."
    return f"Nothing is flagged: no {noun} is known to have changed. {also}{unknown}"


def _by_feature(monitoring: Monitoring, verdicts: tuple[str, ...]) -> list[list[Finding]]:
    """Groups the findings with one of the verdicts by feature, the largest change first."""
    groups: dict[str, list[Finding]] = {}
    for finding in monitoring.all_findings:
        if finding.verdict in verdicts:
            groups.setdefault(finding.feature, []).append(finding)
    is_by_inputs = verdicts in ((CERTAIN,), (INPUTS,))
    size: Callable[[Finding], float] = (
        (lambda finding: finding.shift.distance) if is_by_inputs else (lambda finding: abs(finding.difference))
    )
    chosen = [sorted(findings, key=size, reverse=True) for findings in groups.values()]
    return sorted(chosen, key=lambda findings: -size(findings[0]))


def _sentence(monitoring: Monitoring, findings: list[Finding]) -> str:
    """Returns the sentence on a feature, for the slice with the largest change, and the other slices."""
    worst, names = findings[0], monitoring.names
    others = [finding for finding in monitoring.findings(worst.where) if finding.feature != worst.feature]
    causes = [
        finding.feature for finding in others if finding.verdict == (BOTH if worst.verdict == FOLLOWS else INPUTS)
    ]
    losses = monitoring.losses
    pair = None if losses is None else (float(losses[0]), float(losses[1 + names.index(worst.where)]))
    sentence = finding_sentence(worst, causes, pair)
    return (
        sentence
        if len(names) == 1
        else f"{sentence} {_seen(names, [finding.where for finding in findings], monitoring.is_in_order)}"
    )


def _seen(names: Sequence[str], where: list[str], is_in_order: bool) -> str:
    """Says in which slices a finding was seen; the first of ``where`` is the slice that the numbers come from.

    Examples
    --------
    >>> _seen(["may", "june", "july"], ["july", "june"], is_in_order=True)
    'Seen from june on, in 2 of 3 slices; the numbers are from july, where the change is largest.'
    >>> _seen(["east", "north", "south"], ["south", "north"], is_in_order=False)
    'Seen in 2 of 3 slices (north, south); the numbers are from south, where the change is largest.'
    """
    worst, indices = short_name(where[0]), sorted(names.index(name) for name in where)
    if len(indices) == 1:
        return f"Seen only in {worst}, one of {len(names)} slices."
    if len(indices) == len(names):
        which = f"in all {len(names)} slices"
    elif is_in_order and indices == list(range(indices[0], len(names))):
        which = f"from {short_name(names[indices[0]])} on, in {len(indices)} of {len(names)} slices"
    else:
        which = ", ".join(short_name(names[i]) for i in indices[:SLICES_NAMED])
        more = f" and {len(indices) - SLICES_NAMED} more" if len(indices) > SLICES_NAMED else ""
        which = f"in {len(indices)} of {len(names)} slices ({which}{more})"
    return f"Seen {which}; the numbers are from {worst}, where the change is largest."
