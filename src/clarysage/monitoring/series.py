"""A series of slices, explained one after the other; what is done is kept where one of them fails."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from clarysage.errors import ClarysageWarning, InputError, Note, RunFailedError, parts_of
from clarysage.inference.estimate import StopReason
from clarysage.monitoring.blame import blaming
from clarysage.monitoring.sides import Side
from clarysage.monitoring.slices import Slices
from clarysage.results import Explanation, Shift

INTERRUPTED = Note("The run was interrupted before its end.")  # why slices are left out


@dataclass(frozen=True)
class Series:
    """Explanations by the places of their slices, and why other slices have none, by their names."""

    found: dict[int, Explanation]
    left_out: dict[str, Note]

    @property
    def notes(self) -> list[Note]:
        """A remark on each slice that failed, and one on all that an interrupt left out."""
        failed = {name: why for name, why in self.left_out.items() if why != INTERRUPTED}
        notes = [_beginning(f"Left out: {name!r}, which cannot be explained. ", why) for name, why in failed.items()]
        cut = [name for name in self.left_out if name not in failed]
        if cut:
            more = f" and {len(cut) - 1} more" if len(cut) > 1 else ""
            notes.append(Note(f"Interrupted: {cut[0]!r}{more} {'are' if more else 'is'} left out."))
        return notes


def explained_slices(
    explain: Callable[[Side], Explanation], after: Side, slices: Slices, reference: Any, moved: tuple[Any, ...]
) -> Series:
    """The slices of current rows; an error where none of them can be explained."""
    found: dict[int, Explanation] = {}
    failed: dict[str, InputError | RunFailedError] = {}
    for k, name in enumerate(slices.names):
        try:
            one = _explained(explain, after.rows(slices.places[k]), name, reference, moved[k])
        except KeyboardInterrupt:
            if not found:
                raise
            break
        except (InputError, RunFailedError) as error:
            failed[name] = error
            continue
        if one.stopped is not StopReason.INTERRUPTED or not found:  # half a slice is of use where there is no other
            found[k] = one
        if one.stopped is StopReason.INTERRUPTED:
            break
    if not found:
        raise next(iter(failed.values()))
    done = {slices.names[k] for k in found}
    left_out = {name: failed[name].note if name in failed else INTERRUPTED for name in slices.names if name not in done}
    for name in failed:
        note = _beginning(f"The slice {name!r} is left out, since it cannot be explained: ", left_out[name])
        warnings.warn(ClarysageWarning(note), stacklevel=3)
    return Series(found, left_out)


def _beginning(words: str, note: Note) -> Note:
    """A note with words before it."""
    return replace(note, text=(words, *parts_of(note.text)))


def _explained(
    explain: Callable[[Side], Explanation], side: Side, name: str, reference: Any, moved: tuple[Shift, ...]
) -> Explanation:
    with blaming(name, side, reference, moved):
        return explain(side)
