"""Remarks: what a run has to say, warnings first, each with what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clarysage.estimate import StopReason
from clarysage.explanation import Explanation
from clarysage.inference.decisions import UNDECIDED
from clarysage.report.findings import WHERE
from clarysage.report.names import shortened
from clarysage.report.readings import Reading

ADVICE = re.compile(r"(?<=[.:)]) (Try .+|More [a-z ]+ help\.?)$", flags=re.DOTALL)  # with which a note may end
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
    """Warnings, then notes; a note that gives advice is a warning."""
    own = [*_unfinished(explanation), *_heuristic(explanation), *_undecided(shown)]
    others = (note for note in explanation.notes if explanation.constant is not None or not note.startswith(MARK))
    found = [*own, *map(_from_note, others)]
    return [*(one for one in found if one.is_warning), *(one for one in found if not one.is_warning)]


def _from_note(note: str) -> Remark:
    note = shortened(note, LONGEST)
    ending = ADVICE.search(note)
    return Remark(note) if ending is None else Remark(note[: ending.start()], ending[1], is_warning=True)


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
