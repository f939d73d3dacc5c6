"""Facts: what was computed and how, as terms and what they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clarysage.names import shortened, visible
from clarysage.render.readings import is_gain
from clarysage.results import Explanation
from clarysage.results.text import loss_words, number_format

# what provenance says -> what it is called on the page; the rest goes by its own name
CALLED = {
    "model": "Model", "learner": "Learner", "design": "Fitted", "examples": "Rows explained", "columns": "Columns",
    "background_rows": "Background rows", "seed": "Seed",
}  # fmt: skip
COUNTED = ("fits",)  # told with the cost
VERSIONS = ("clarysage", "python", "numpy")
LONGEST = 400  # letters of a fact, which a file may hold any number of
NONE = "none"


def facts(explanation: Explanation) -> list[tuple[str, str]]:
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
    return [(visible(term), shortened(words, LONGEST)) for term, words in found if words]


def shared_facts(explanations: Iterable[Explanation]) -> tuple[list[tuple[str, str]], list[tuple[str, list[str]]]]:
    """Facts that are the same in all explanations; and the others, a term with what it is in each."""
    told = [{**dict(facts(one)), "Run": sampling(one)} for one in explanations]
    terms = list(dict.fromkeys(term for one in told for term in one))
    each = {term: [one.get(term, "") for one in told] for term in terms}
    shared = [(term, words[0]) for term, words in each.items() if len(set(words)) == 1]
    return shared, [(term, words) for term, words in each.items() if len(set(words)) > 1]


def figures(explanation: Explanation) -> list[tuple[str, str]]:
    """The loss with and without features, and what they save, where the measure is of a loss."""
    show, base, total = number_format(explanation), explanation.base, explanation.total
    if base is None or total is None:
        return []
    if not is_gain(explanation):
        return [("Explained by all features", show(total))]
    loss = loss_words(explanation.loss)
    share = f" ({100 * total / base:.0f} %)" if base > 0 else ""
    return [
        (f"Mean {loss} without features", show(base)),
        (f"Mean {loss} with all features", show(base - total)),
        ("Saved by the features" if total >= 0 else "Added by the features", f"{show(abs(total))}{share}"),
    ]


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
