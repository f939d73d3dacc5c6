"""Readings: what is known of each value about the data, the rows and the population, and how that is said."""

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

LIKELY_HELPS, LIKELY_HURTS = "likely helps", "likely hurts"  # by an interval on its own, not by all of them at once

OPEN = (UNDECIDED, NO_EFFECT)

# by what is known, in the words of measures of what a model gains, and of all others
GAIN_WORDS = {
    HELPS: "helps",
    LIKELY_HELPS: "likely helps",
    HURTS: "hurts",
    LIKELY_HURTS: "likely hurts",
    UNDECIDED: "cannot be told",
    NO_EFFECT: "no effect",
}
SIGN_WORDS = {
    HELPS: "above zero",
    LIKELY_HELPS: "likely above zero",
    HURTS: "below zero",
    LIKELY_HURTS: "likely below zero",
    UNDECIDED: "cannot be told",
    NO_EFFECT: "zero",
}
LEADS = {
    HELPS: "{count} of {all} {help} the model {where}. What matters most:",
    LIKELY_HELPS: "{count} of {all} likely {help} the model {where}, judged one by one but not all at once:",
    HURTS: "{count} of {all} {hurt} the model {where}; on average it predicts worse for knowing",
    LIKELY_HURTS: "{count} of {all} likely {hurt} the model {where}, judged one by one but not all at once:",
    UNDECIDED: "Whether {count} of {all} {help} or {hurt} the model {where} cannot be told:",
    NO_EFFECT: "{count} of {all} {have} no effect on the loss:",
}
SIGN_LEADS = {
    HELPS: "{count} of {all} {have} a value above zero {where}. The largest:",
    LIKELY_HELPS: "{count} of {all} likely {have} a value above zero {where}, judged one by one but not all at once:",
    HURTS: "{count} of {all} {have} a value below zero {where}:",
    LIKELY_HURTS: "{count} of {all} likely {have} a value below zero {where}, judged one by one but not all at once:",
    UNDECIDED: "{count} of {all} {have} a value that cannot be told from zero {where}:",
    NO_EFFECT: "{count} of {all} {have} a value of zero:",
}
VERBS = {"help": "helps", "hurt": "hurts", "have": "has", "contribute": "contributes", "are": "is", "share": "shares"}


@dataclass(frozen=True)
class Vocabulary:
    """What features are called, and the words for what is known of them: in a sentence, and in the table."""

    leads: Mapping[str, str]
    labels: Mapping[str, str]
    noun: str = "feature"


GAINS, SIGNS = Vocabulary(LEADS, GAIN_WORDS), Vocabulary(SIGN_LEADS, SIGN_WORDS)


@dataclass(frozen=True)
class Verdicts:
    """Values about one thing.

    Attributes
    ----------
    about, choice, meaning : "data", "rows" or "population"; the same on a switch; and in a sentence
    low, high, std_error : (p,)
    labels : of each value "helps", "hurts" or "no effect", right for all of them at once; "likely helps" or "likely
        hurts" where its own interval says so, but not all at once; or "undecided"
    has_intervals : whether there is anything to be unsure of
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
    """One of each thing that something is known about."""
    return [
        verdicts_about(explanation, about, level) for about in ABOUT if about == "data" or about in explanation.targets
    ]


def verdicts_about(explanation: Explanation, about: str, level: float) -> Verdicts:
    """Values about one thing, with intervals of this level."""
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
    """What follows from the intervals of all values at once, and from each on its own, (p,) low and high."""
    if about == "data":  # whose signs allow for all looks that a rule had at the run
        surely = np.array(list(explanation.signs.values()))
    else:
        least, most = explanation.interval(explanation.confidence, about=about, joint=True)
        nothing = (least == 0) & (most == 0)
        surely = np.select([least > 0, most < 0, nothing], [HELPS, HURTS, NO_EFFECT], UNDECIDED)
    is_open = surely == UNDECIDED
    labels = np.select([is_open & (low > 0), is_open & (high < 0)], [LIKELY_HELPS, LIKELY_HURTS], surely)
    return tuple(labels.tolist())


def vocabulary_of(explanation: Explanation) -> Vocabulary:
    """That of measures of what a model gains, or of all others."""
    return GAINS if is_gain(explanation) else SIGNS


def verdict_sentences(explanation: Explanation, verdicts: Verdicts, words: Vocabulary) -> list[Sentence]:
    """What is known of the features, a sentence for each verdict, those of most weight first."""
    labels, show = np.array(verdicts.labels), number_format(explanation)
    sentences = []
    for verdict, lead in words.leads.items():
        places = np.flatnonzero(labels == verdict)
        if len(places) == 0:
            continue
        first = places[np.argsort(-np.abs(explanation.values[places]), kind="stable")][:NAMED]
        sentence = filled_lead(lead, len(places), len(labels), words.noun, where=ABOUT[verdicts.about].where)
        named = tuple((explanation.feature_names[i], show(explanation.values[i])) for i in first)
        sentences.append(Sentence(sentence, named, len(places) - len(first), tone=verdict))
    if verdicts.about == "data":
        sentences += _largest(explanation, words.noun)
    return sentences


def filled_lead(lead: str, count: int, everything: int, noun: str = "feature", **words: str) -> str:
    """The beginning of a sentence on so many of all features, with its verbs."""
    verbs = {verb: ending if count == 1 else verb for verb, ending in VERBS.items()}
    every = f"{everything:,} {noun}{'' if everything == 1 else 's'}"
    return lead.format(**verbs, count=f"{count:,}", all=every, **words)


def _largest(explanation: Explanation, noun: str) -> list[Sentence]:
    """Whether the largest values are known to be the largest on this data; nothing where there is nothing to say."""
    if len(explanation.values) <= NAMED or explanation.draws == 0:
        return []
    if explanation.top(NAMED).is_certain:
        return [Sentence(f"On this data the {NAMED} largest values are known to be the largest.")]
    return [
        Sentence(f"On this data other {noun}s may belong among the {NAMED} largest: the run does not tell them apart.")
    ]
