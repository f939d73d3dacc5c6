"""A model that is watched in words and figures: what was found, what verdicts mean, and how often they are wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from clarysage.names import isolated, shortened, visible
from clarysage.render.changes import NAME_COLUMNS
from clarysage.results import Monitoring
from clarysage.results.comparison import rows_words, signed
from clarysage.results.finding import ALONE, BOTH, FLAGGED, FOLLOWS, INPUTS, UNCHANGED, called
from clarysage.results.monitoring import sentences_of_features
from clarysage.results.text import loss_words

LONGEST = 800  # letters of a sentence
MEANINGS = {
    BOTH: "Flagged: its {noun} changed, and so did its own inputs, which are the likely cause.",
    ALONE: "Flagged: its {noun} changed, while its inputs are not known to have shifted, and no other feature changed "
    "in both. {cause} may have changed, or inputs of other features.",
    FOLLOWS: "Not flagged: its {noun} changed, while its inputs are not known to have shifted. Beside a feature that "
    "changed in both it most likely follows that one.",
    INPUTS: "Not flagged: its inputs shifted, but its {noun} is not known to have changed. A column can break like "
    "that where the model draws little from it.",
    UNCHANGED: "Neither is known to have changed, which does not say that nothing did: the interval tells how large a "
    "change may have been missed.",
}
CAUSES = {
    "contribution": "The response, or how it depends on the features,",
    "effect": "How features go together",
}
HOLM = (
    "Where nothing has changed, the chance that anything at all is flagged{everywhere} is at most {chance}, and the "
    "chance that any inputs are said to have shifted is at most {chance} too."
)
BENJAMINI_HOCHBERG = (
    "Of the {noun}s that are said to have changed about {chance} have not, and of the inputs that are said to have "
    "shifted likewise."
)
SINGLE = (
    "p is not adjusted for the number of tests: where nothing has changed, each finds something with a chance of about "
    "{chance}, and there are {count:,} of {noun}s and {inputs:,} of inputs."
)
DISTANCE = (
    "The distance of inputs is 0 where two columns are distributed alike and 1 where they have nothing in common: of "
    "numbers the largest gap between the shares that lie below a point (Kolmogorov-Smirnov), of categories the share "
    "of rows that would have to change theirs (total variation)."
)


@dataclass(frozen=True)
class Said:
    """A sentence on a feature: its verdict, its name, and what becomes of it."""

    verdict: str
    name: str
    rest: str

    @property
    def is_flagged(self) -> bool:
        return self.verdict in FLAGGED


def noun_of(monitoring: Monitoring) -> str:
    """What features have: a contribution to what the model saves, or an effect on its output."""
    return "effect" if monitoring.losses is None else "contribution"


def said_of_features(monitoring: Monitoring) -> list[Said]:
    """The sentences of a monitoring, with the names that they begin with set apart."""
    found = []
    for finding, sentence in sentences_of_features(monitoring):
        name = called(finding.feature)
        assert sentence.startswith(name)
        found.append(Said(finding.verdict, visible(name), shortened(sentence[len(name) :], LONGEST)))
    return found


def meanings(monitoring: Monitoring) -> list[tuple[str, str]]:
    """What each verdict means."""
    noun = noun_of(monitoring)
    return [(verdict, words.format(noun=noun, cause=CAUSES[noun])) for verdict, words in MEANINGS.items()]


def error_rates(monitoring: Monitoring) -> list[str]:
    """How often verdicts are wrong, what the distance is, and what intervals are about."""
    comparison, several = monitoring.comparison, len(monitoring.names) > 1
    said = {"holm": HOLM, "benjamini hochberg": BENJAMINI_HOCHBERG}.get(comparison.adjust or "", SINGLE)
    rate = said.format(
        noun=noun_of(monitoring), chance=f"{100 * (1 - comparison.level):.3g} %",
        everywhere=", in any slice," if several else "", count=np.size(comparison.flags),
        inputs=monitoring.shift_p_values.size,
    )  # fmt: skip
    return [rate, DISTANCE, *_rows(monitoring)]


def _rows(monitoring: Monitoring) -> list[str]:
    """What rows and intervals are, where that is the same for all slices."""
    comparison = monitoring.comparison
    kinds = {(one.is_paired, one.about) for one in comparison.differences}
    if len(kinds) > 1:
        return []
    reference, other = (_name(name) for name in comparison.names[:2])
    names = (reference, other if len(monitoring.names) == 1 else "Each slice")
    first = replace(
        comparison, explanations=comparison.explanations[:2], differences=comparison.differences[:1], names=names
    )
    return rows_words(first)


def monitoring_figures(monitoring: Monitoring, show: Callable[[float], str]) -> list[tuple[str, str]]:
    """Mean losses, where they are known, how many slices are flagged, and rows."""
    reference, *others = map(_name, monitoring.comparison.names)
    losses, (first, *counts) = monitoring.losses, monitoring.rows
    found = []
    if losses is not None:
        loss = f"Mean {loss_words(monitoring.comparison.reference.loss)}"
        found.append((f"{loss} in {reference}", show(float(losses[0]))))
        worst, last = int(np.argmax(losses[1:])), len(others) - 1
        chosen = {worst: "the highest" if worst < last else "the highest and last"} if last else {0: ""}
        chosen |= {} if last in chosen else {last: "the last"}
        for k, which in chosen.items():
            moved = signed(show(float(losses[k + 1] - losses[0])))
            term = f"{loss} in {others[k]}{which and f', {which}'}"
            found.append((term, f"{show(float(losses[k + 1]))} ({moved})"))
    if len(others) > 1:
        flagged = sum(any(one.is_flagged for one in monitoring.findings(where)) for where in monitoring.names)
        found.append(("Slices in which something is flagged", f"{flagged:,} of {len(others):,}"))
    where = others[0] if len(others) == 1 else f"{len(others):,} slices"
    return [*found, (f"Rows in {reference}", f"{first:,}"), (f"Rows in {where}", f"{sum(counts):,}")]


def title_of(monitoring: Monitoring) -> str:
    """Which model is watched, on what, against what."""
    reference, *others = map(_name, monitoring.comparison.names)
    model = _name(str(monitoring.comparison.reference.provenance.get("model", "The model")))
    return f"{model} on {others[0] if len(others) == 1 else f'{len(others)} slices'} against {reference}"


def _name(name: str) -> str:
    return isolated(shortened(name, NAME_COLUMNS))
