"""Remarks: what a run has to say, warnings first, each with what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clarysage.inference.estimate import StopReason
from clarysage.inference.sequential import UNDECIDED
from clarysage.names import shortened
from clarysage.render.findings import WHERE
from clarysage.render.readings import Reading
from clarysage.results import Explanation
from clarysage.results.notes import parted

MORE = "Intervals are as wide as this run leaves them. Run it again with {more} for narrower ones."
UNFINISHED = {
    StopReason.BUDGET: MORE.format(more="a larger budget"),
    StopReason.DEADLINE: MORE.format(more="a later deadline"),
    StopReason.INTERRUPTED: MORE.format(more="the same seed and let it end"),
    StopReason.FAILED: "Values rest on what came before. Mend the model, or leave out the rows that it fails on.",
    StopReason.RULE: MORE.format(more="a stricter rule"),
}
HEURISTIC = "A heuristic: its values add up to nothing that the model gains or loses."
MARK = HEURISTIC.partition(":")[0]  # with which notes of measures begin that say what theirs is
LONGEST = 2000  # letters of a remark


@dataclass(frozen=True)
class Remark:
    """What is so, what to do about it, and whether it is a warning."""

    text: str
    advice: str = ""
    is_warning: bool = False


def remarks(explanation: Explanation, shown: Reading) -> list[Remark]:
    """Warnings, then notes."""
    return warnings_first([*run_remarks(explanation), *_undecided(shown)])


def run_remarks(explanation: Explanation) -> list[Remark]:
    """What a run has to say of itself."""
    others = (note for note in explanation.notes if explanation.constant is not None or not note.startswith(MARK))
    return [*_unfinished(explanation), *_heuristic(explanation), *map(from_note, others)]


def remarks_of_runs(explanations: Sequence[Explanation], names: Sequence[str]) -> list[Remark]:
    """What each run has to say, with the names of those that say it unless all do."""
    said: dict[Remark, list[str]] = {}
    for one, name in zip(explanations, names, strict=True):
        for remark in run_remarks(one):
            said.setdefault(remark, []).append(name)
    return [
        remark if len(whose) == len(names) else Remark(f"{', '.join(whose)}: {remark.text}", remark.advice,
                                                       remark.is_warning)
        for remark, whose in said.items()
    ]  # fmt: skip


def warnings_first(found: Sequence[Remark]) -> list[Remark]:
    """The same, warnings before others."""
    return sorted(found, key=lambda one: not one.is_warning)


def from_note(note: str) -> Remark:
    """A note, with its advice set apart; one that gives advice is a warning."""
    text, advice = parted(shortened(note, LONGEST))
    return Remark(text, advice, is_warning=bool(advice))


def _unfinished(explanation: Explanation) -> list[Remark]:
    stopped = explanation.stopped
    return [] if stopped.is_wanted else [Remark(f"Not converged. {stopped.value}", UNFINISHED[stopped], True)]


def _heuristic(explanation: Explanation) -> list[Remark]:
    if explanation.constant is not None:
        return []
    told = next((shortened(note, LONGEST) for note in explanation.notes if note.startswith(MARK)), HEURISTIC)
    return [Remark(told, "Take SAGE values to know what features bring the model.", is_warning=True)]


def _undecided(shown: Reading) -> list[Remark]:
    count = sum(known == UNDECIDED for known in shown.known)
    if 2 * count <= len(shown.known):
        return []
    values = f"{count:,} of {len(shown.known):,} values"
    text = f"Of {values} it cannot be told whether they are above zero {WHERE[shown.about]}."
    advice = "A smaller tolerance tells more." if shown.about == "data" else "Explain more rows."
    return [Remark(text, advice, is_warning=True)]
