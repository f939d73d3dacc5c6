"""Facts and notes: how values were computed, as pairs of a term and its value, and the notes of runs."""

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

# key of the provenance -> label on the page; other keys are their own labels
LABELS = {
    "model": "Model",
    "learner": "Learner",
    "design": "Fitted",
    "examples": "Rows explained",
    "columns": "Columns",
    "background_rows": "Background rows",
    "seed": "Seed",
}
COUNTED = ("fits",)  # stated with the cost
VERSIONS = ("clarysage", "python", "numpy")
LONGEST = 400  # characters of a value, since files may hold any number of them
NONE = "none"

MORE = "Intervals are as wide as this run leaves them. Run it again with {more} for narrower ones."
UNFINISHED = {
    StopReason.BUDGET: MORE.format(more="a larger budget"),
    StopReason.DEADLINE: MORE.format(more="a later deadline"),
    StopReason.INTERRUPTED: MORE.format(more="the same seed, without an interrupt,"),
    StopReason.FAILED: "Values use the draws before the failure. Fix the model, or leave out rows on which it fails.",
    StopReason.RULE: MORE.format(more="a stricter rule"),
}
HEURISTIC = Note(
    "A heuristic: its values do not add up to anything that the model gains or loses.",
    advice="Use SAGE values to know what features contribute to the model.",
)


def facts(explanation: Explanation) -> Terms:
    """Returns the facts that a reader needs to repeat the computation."""
    provenance = dict(explanation.provenance)
    terms = [("Measure", explanation.measure)]
    terms += [(LABELS[key], _words(provenance[key])) for key in ("model", "learner", "design") if key in provenance]
    if explanation.loss not in (NONE, ""):
        terms.append(("Loss", loss_words(explanation.loss)))
    if explanation.removal not in (NONE, ""):
        terms.append(("Removal", explanation.removal))
    terms += [
        (LABELS[key], _words(provenance[key]))
        for key in ("examples", "columns", "background_rows")
        if key in provenance
    ]
    if explanation.groups:
        terms.append(("Groups", _groups(explanation.groups)))
    terms += [("Method", explanation.method), ("Cost", _cost(explanation))]
    terms += [("Seed", _words(provenance["seed"]))] if "seed" in provenance else []
    terms.append(
        ("Versions", ", ".join(f"{name} {_words(provenance[name])}" for name in VERSIONS if name in provenance))
    )
    remaining = {key: value for key, value in provenance.items() if key not in {*LABELS, *COUNTED, *VERSIONS}}
    terms += [(_title(key), _words(value)) for key, value in remaining.items()]
    return tuple((visible(term), shortened(words, LONGEST)) for term, words in terms if words)


def shared_facts(explanations: Iterable[Explanation], names: Sequence[str]) -> tuple[Facts, Runs]:
    """Returns the facts that all explanations share, and those that differ, with the value in each explanation."""
    facts_of_runs = [{**dict(facts(explanation)), "Run": end_of_run(explanation)} for explanation in explanations]
    terms = list(dict.fromkeys(term for facts_of_run in facts_of_runs for term in facts_of_run))
    each = {term: tuple(facts_of_run.get(term, "") for facts_of_run in facts_of_runs) for term in terms}
    shared = tuple((term, words[0]) for term, words in each.items() if len(set(words)) == 1)
    differing = tuple((term, words) for term, words in each.items() if len(set(words)) > 1)
    return Facts(shared), Runs(tuple(names), differing)


def loss_facts(explanation: Explanation) -> Terms:
    """Returns the loss with and without features, and their difference, where the measure is about a loss."""
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
        ("Reduction by the features" if total >= 0 else "Increase by the features", f"{show(abs(total))}{share}"),
    )


def end_of_run(explanation: Explanation) -> str:
    """Returns sentences on how the run ended and on its sampling error."""
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
    """Returns the notes of a run: whether it ended early, whether its measure is a heuristic, and its own notes."""
    notes, stopped = list(explanation.notes), explanation.stopped
    if explanation.constant is None:
        notes.insert(0, HEURISTIC)
    if not stopped.is_wanted:
        notes.insert(0, Note(f"Not converged. {stopped.value}", advice=UNFINISHED[stopped]))
    return notes


def notes_of_runs(explanations: Sequence[Explanation], names: Sequence[str]) -> list[Note]:
    """Returns the notes of several runs, each once, with the names of its runs unless all runs have it."""
    pairs = zip(explanations, names, strict=True)
    runs_by_note = names_by_note((name, note) for explanation, name in pairs for note in notes_of_run(explanation))
    return [note if len(runs) == len(names) else note_with_names(note, runs) for note, runs in runs_by_note.items()]


def names_by_note(pairs: Iterable[tuple[str, Note]]) -> dict[Note, list[str]]:
    """Groups names by their note, so that each note appears once."""
    names: dict[Note, list[str]] = {}
    for name, note in pairs:
        hashable = Note(parts_of(note.text), parts_of(note.advice) if note.advice else "")
        names.setdefault(hashable, []).append(name)
    return names


def note_with_names(note: Note, names: Sequence[str]) -> Note:
    """Returns a note that begins with the names of the runs it belongs to."""
    return replace(note, text=(f"{', '.join(names)}: ", *parts_of(note.text)))


def warnings_first(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Sorts notes, warnings first."""
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
