"""Remarks of kinds of results that have templates of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clarysage.errors import Note, as_note, in_python
from clarysage.names import shortened
from clarysage.results import Explanation
from clarysage.results.provenance import notes_of_runs

LONGEST = 2000  # letters of a remark


@dataclass(frozen=True)
class Remark:
    """What is so, what to do about it, and whether it is a warning."""

    text: str
    advice: str = ""
    is_warning: bool = False


def remarks_of_runs(explanations: Sequence[Explanation], names: Sequence[str]) -> list[Remark]:
    """What each run has to say, with the names of those that say it unless all do."""
    return list(map(from_note, notes_of_runs(explanations, names)))


def warnings_first(found: Sequence[Remark]) -> list[Remark]:
    """The same, warnings before others."""
    return sorted(found, key=lambda one: not one.is_warning)


def from_note(note: Note | str) -> Remark:
    """A note, with its advice set apart; one that gives advice is a warning."""
    note = as_note(note)
    text, advice = (shortened(in_python(words), LONGEST) for words in (note.text, note.advice))
    return Remark(text, advice, is_warning=note.level == "warning")
