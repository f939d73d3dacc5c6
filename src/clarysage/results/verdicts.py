"""Verdicts: what intervals say about the sign of each value, for the data, the rows and the population.

A verdict without "likely" holds for all values simultaneously (Bonferroni; for the data, also over interim analyses).
"Likely" is a verdict by the interval of a single value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clarysage.catalogue import ABOUT
from clarysage.inference.sequential import HELPS, HURTS, NO_EFFECT, UNDECIDED
from clarysage.results.summary import Sentence
from clarysage.results.text import NAMED, interval_words, is_gain, number_format

if TYPE_CHECKING:
    from clarysage.results.explanation import Explanation

LIKELY_HELPS, LIKELY_HURTS = "likely helps", "likely hurts"  # by its own interval, not simultaneously with the others

OPEN = (UNDECIDED, NO_EFFECT)

# labels of verdicts: for measures of what a model gains, and for all others
GAIN_WORDS = {
    HELPS: "helps",
    LIKELY_HELPS: "likely helps",
    HURTS: "hurts",
    LIKELY_HURTS: "likely hurts",
    UNDECIDED: "undecided",
    NO_EFFECT: "no effect",
}
SIGN_WORDS = {
    HELPS: "above zero",
    LIKELY_HELPS: "likely above zero",
    HURTS: "below zero",
    LIKELY_HURTS: "likely below zero",
    UNDECIDED: "undecided",
    NO_EFFECT: "zero",
}
LEADS = {
    HELPS: "{count} of {all} {help} the model {where}. The most important:",
    LIKELY_HELPS: "{count} of {all} likely {help} the model {where} (pointwise, not simultaneous):",
    HURTS: "{count} of {all} {hurt} the model {where}, which on average predicts worse because of",
    LIKELY_HURTS: "{count} of {all} likely {hurt} the model {where} (pointwise, not simultaneous):",
    UNDECIDED: "It is undecided whether {count} of {all} {help} or {hurt} the model {where}:",
    NO_EFFECT: "{count} of {all} {have} no effect on the loss:",
}
SIGN_LEADS = {
    HELPS: "{count} of {all} {have} a value above zero {where}. The largest:",
    LIKELY_HELPS: "{count} of {all} likely {have} a value above zero {where} (pointwise, not simultaneous):",
    HURTS: "{count} of {all} {have} a value below zero {where}:",
    LIKELY_HURTS: "{count} of {all} likely {have} a value below zero {where} (pointwise, not simultaneous):",
    UNDECIDED: "{count} of {all} {have} a value that cannot be distinguished from zero {where}:",
    NO_EFFECT: "{count} of {all} {have} a value of zero:",
}
VERBS = {"help": "helps", "hurt": "hurts", "have": "has", "contribute": "contributes", "are": "is", "share": "shares"}


@dataclass(frozen=True)
class Vocabulary:
    """Words for verdicts: the beginnings of sentences, the labels in tables, and the noun for a player.

    ``is_by_size`` says that the largest values are those that are furthest from zero, whatever their sign.
    """

    leads: Mapping[str, str]
    labels: Mapping[str, str]
    noun: str = "feature"
    is_by_size: bool = False


GAINS, SIGNS = Vocabulary(LEADS, GAIN_WORDS), Vocabulary(SIGN_LEADS, SIGN_WORDS)


@dataclass(frozen=True)
class Verdicts:
    """Intervals of all values about one target of inference, and the verdict on each value.

    Attributes
    ----------
    about, choice, meaning : target: "data", "rows" or "population"; its label on a switch; and in a sentence
    low, high, std_error : (p,) ends of the intervals, and standard errors
    labels : (p,) "helps", "hurts" or "no effect", simultaneously right for all values; "likely helps" or "likely hurts"
        where only the interval of the value itself excludes zero; or "undecided"
    has_intervals : whether values have intervals, rather than being exact
    """

    about: str
    choice: str
    meaning: str
    low: np.ndarray
    high: np.ndarray
    std_error: np.ndarray
    labels: tuple[str, ...]
    has_intervals: bool


def all_verdicts(explanation: Explanation, level: float) -> list[Verdicts]:
    """Returns the verdicts for every target of inference that the explanation has."""
    return [
        verdicts_about(explanation, about, level) for about in ABOUT if about == "data" or about in explanation.targets
    ]


def verdicts_about(explanation: Explanation, about: str, level: float) -> Verdicts:
    """Returns the verdicts for one target of inference, with intervals of this level."""
    low, high = explanation.interval(level, about=about)
    return Verdicts(
        about=about,
        choice=ABOUT[about].choice,
        meaning=interval_words(explanation, about),
        low=low,
        high=high,
        std_error=explanation.target(about).std_error,
        labels=_labels(explanation, about, low, high),
        has_intervals=about != "data" or explanation.draws > 0,
    )


def _labels(explanation: Explanation, about: str, low: np.ndarray, high: np.ndarray) -> tuple[str, ...]:
    """Returns verdicts by simultaneous intervals, or else by ``low`` and ``high``, the ends of single intervals."""
    surely = np.array(list(explanation.signs_about(about).values()))
    is_open = surely == UNDECIDED
    labels = np.select([is_open & (low > 0), is_open & (high < 0)], [LIKELY_HELPS, LIKELY_HURTS], surely)
    return tuple(labels.tolist())


def vocabulary_of(explanation: Explanation) -> Vocabulary:
    """Returns the words for measures of what a model gains, or those for all others."""
    return GAINS if is_gain(explanation) else SIGNS


def verdict_sentences(explanation: Explanation, verdicts: Verdicts, words: Vocabulary) -> list[Sentence]:
    """Returns a sentence for each verdict, naming the features with the largest values first."""
    labels, show = np.array(verdicts.labels), number_format(explanation)
    sentences = []
    for verdict, lead in words.leads.items():
        indices = np.flatnonzero(labels == verdict)
        if len(indices) == 0:
            continue
        first = indices[np.argsort(-np.abs(explanation.values[indices]), kind="stable")][:NAMED]
        sentence = filled_lead(lead, len(indices), len(labels), words.noun, where=ABOUT[verdicts.about].where)
        named = tuple((explanation.feature_names[i], show(explanation.values[i])) for i in first)
        sentences.append(Sentence(sentence, named, len(indices) - len(first), tone=verdict))
    return sentences + _largest(explanation, verdicts.about, words.noun)


def filled_lead(lead: str, count: int, everything: int, noun: str = "feature", **words: str) -> str:
    """Fills in the beginning of a sentence: number of features, number of all features, and the form of the verb."""
    verbs = {verb: ending if count == 1 else verb for verb, ending in VERBS.items()}
    every = f"{everything:,} {noun}{'' if everything == 1 else 's'}"
    return lead.format(**verbs, count=f"{count:,}", all=every, **words)


def _largest(explanation: Explanation, about: str, noun: str) -> list[Sentence]:
    """Says which features have the largest values, if that is known; empty for exact values or very few features."""
    if len(explanation.values) <= NAMED or (explanation.draws == 0 and about == "data"):
        return []
    which = f"which {NAMED} {noun}s have the largest values {ABOUT[about].where}"
    first, show = explanation.top(NAMED, about=about), number_format(explanation)
    if not first.is_certain:
        return [Sentence(f"It is undecided {which}.")]
    return [Sentence(f"It is known {which}:", tuple((name, show(explanation[name])) for name in first))]
