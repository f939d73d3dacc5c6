"""Provenance: how values were computed, as words and what they stand for, and what runs have to say of themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clarysage._utils.display import shortened, visible
from clarysage.errors import Note, parts_of
from clarysage.inference.estimate import StopReason
from clarysage.results.summary import Facts, Runs, Terms
from clarysage.results.text import is_gain, loss_words, number_format

if TYPE_CHECKING:
    from clarysage.results.explanation import Explanation

# what provenance says -> what it is called on the page; the rest goes by its own name
CALLED = {
    "model": "Model",
    "learner": "Learner",
    "design": "Fitted",
    "examples": "Rows explained",
    "columns": "Columns",
    "background_rows": "Background rows",
    "seed": "Seed",
}
COUNTED = ("fits",)  # told with the cost
VERSIONS = ("clarysage", "python", "numpy")
LONGEST = 400  # letters of a fact, which a file may hold any number of
NONE = "none"

MORE = "Intervals are as wide as this run leaves them. Run it again with {more} for narrower ones."
UNFINISHED = {
    StopReason.BUDGET: MORE.format(more="a larger budget"),
    StopReason.DEADLINE: MORE.format(more="a later deadline"),
    StopReason.INTERRUPTED: MORE.format(more="the same seed and let it end"),
    StopReason.FAILED: "Values rest on what came before. Mend the model, or leave out the rows that it fails on.",
    StopReason.RULE: MORE.format(more="a stricter rule"),
}
HEURISTIC = Note(
    "A heuristic: its values add up to nothing that the model gains or loses.",
    advice="Take SAGE values to know what features bring the model.",
)


def facts(explanation: Explanation) -> Terms:
    """What a reader needs to do the same again."""
    told = dict(explanation.provenance)
    found = [("Measure", explanation.measure)]
    found += [(CALLED[key], _words(told[key])) for key in ("model", "learner", "design") if key in told]
    if explanation.loss not in (NONE, ""):
        found.append(("Loss", loss_words(explanation.loss)))
    if explanation.removal not in (NONE, ""):
        found.append(("Removal", explanation.removal))
    found += [(CALLED[key], _words(told[key])) for key in ("examples", "columns", "background_rows") if key in told]
    if explanation.groups:
        found.append(("Groups", _groups(explanation.groups)))
    found += [("Method", explanation.method), ("Cost", _cost(explanation))]
    found += [("Seed", _words(told["seed"]))] if "seed" in told else []
    found.append(("Versions", ", ".join(f"{name} {_words(told[name])}" for name in VERSIONS if name in told)))
    rest = {key: value for key, value in told.items() if key not in {*CALLED, *COUNTED, *VERSIONS}}
    found += [(_title(key), _words(value)) for key, value in rest.items()]
    return tuple((visible(term), shortened(words, LONGEST)) for term, words in found if words)


def shared_facts(explanations: Iterable[Explanation], names: Sequence[str]) -> tuple[Facts, Runs]:
    """Facts that are the same in all explanations; and the others, a term with what it is in each."""
    told = [{**dict(facts(one)), "Run": sampling(one)} for one in explanations]
    terms = list(dict.fromkeys(term for one in told for term in one))
    each = {term: tuple(one.get(term, "") for one in told) for term in terms}
    shared = tuple((term, words[0]) for term, words in each.items() if len(set(words)) == 1)
    differing = tuple((term, words) for term, words in each.items() if len(set(words)) > 1)
    return Facts(shared), Runs(tuple(names), differing)


def losses(explanation: Explanation) -> Terms:
    """The loss with and without features, and what they save, where the measure is of a loss."""
    show, base, total = number_format(explanation), explanation.base, explanation.total
    if base is None or total is None:
        return ()
    if not is_gain(explanation):
        return (("Explained by all features", show(total)),)
    loss = loss_words(explanation.loss)
    share = f" ({100 * total / base:.0f} %)" if base > 0 else ""
    return (
        (f"Mean {loss} without features", show(base)),
        (f"Mean {loss} with all features", show(base - total)),
        ("Saved by the features" if total >= 0 else "Added by the features", f"{show(abs(total))}{share}"),
    )


def sampling(explanation: Explanation) -> str:
    """How the run ended, and how far its own sampling may be off."""
    if explanation.draws == 0:
        return explanation.stopped.value
    error, values = float(explanation.std_error.max()), explanation.values
    span = max(float(values.max() - values.min()), float(abs(values).max()))
    share = f", {100 * error / span:.1f} % of the range of the values" if span > 0 else ""
    return (
        f"{explanation.stopped.value} After {explanation.draws:,} draws the largest standard error of the sampling is "
        f"{number_format(explanation)(error)}{share}."
    )


def notes_of_run(explanation: Explanation) -> list[Note]:
    """What a run has to say of itself: whether it ended early, whether its measure is a heuristic, its notes."""
    notes, stopped = list(explanation.notes), explanation.stopped
    if explanation.constant is None:
        notes.insert(0, HEURISTIC)
    if not stopped.is_wanted:
        notes.insert(0, Note(f"Not converged. {stopped.value}", advice=UNFINISHED[stopped]))
    return notes


def notes_of_runs(explanations: Sequence[Explanation], names: Sequence[str]) -> list[Note]:
    """What each run has to say of itself, with the names of those that say it unless all do."""
    pairs = zip(explanations, names, strict=True)
    whose = names_by_note((name, note) for explanation, name in pairs for note in notes_of_run(explanation))
    return [note if len(saying) == len(names) else named(note, saying) for note, saying in whose.items()]


def names_by_note(pairs: Iterable[tuple[str, Note]]) -> dict[Note, list[str]]:
    """Names by what is said of them, so that each note comes once."""
    names: dict[Note, list[str]] = {}
    for name, note in pairs:
        hashable = Note(parts_of(note.text), parts_of(note.advice) if note.advice else "")
        names.setdefault(hashable, []).append(name)
    return names


def named(note: Note, names: Sequence[str]) -> Note:
    """A note with the names of those that it is of before it."""
    return replace(note, text=(f"{', '.join(names)}: ", *parts_of(note.text)))


def warnings_first(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Notes, warnings before others."""
    return tuple(sorted(notes, key=lambda note: note.level != "warning"))


def _cost(explanation: Explanation) -> str:
    fits = f", {explanation.fits:,} fits" if explanation.fits else ""
    draws = f", {explanation.draws:,} draws" if explanation.draws else ""
    return f"{explanation.model_rows:,} model rows{draws}{fits}"


def _groups(groups: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{name}: {', '.join(members)}" for name, members in groups.items())


def _title(key: str) -> str:
    words = key.replace("_", " ")
    return words[:1].upper() + words[1:]


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_words(inner)}" for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_words, value))
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if is_count and value < 10**12 else str(value)
