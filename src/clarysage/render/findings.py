"""Findings: which features matter, which hurt and of which it cannot be told, a sentence each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clarysage.inference.sequential import HELPS, HURTS, NO_EFFECT, UNDECIDED
from clarysage.render.readings import GAIN_WORDS, LIKELY_HELPS, LIKELY_HURTS, SIGN_WORDS, Reading, is_gain
from clarysage.results import Explanation
from clarysage.results.text import number_format

NAMED = 3  # features that a sentence names
WHERE = {
    "data": "on this data",
    "rows": "on other rows of the same population",
    "population": "on other rows of the same population, with another background",
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
class Finding:
    """A sentence: how it begins, features that it names with a word on each, and how many more there are."""

    known: str
    lead: str
    named: tuple[tuple[str, str], ...] = ()
    more: int = 0


@dataclass(frozen=True)
class Words:
    """What features are called, and the words for what is known of them: in a sentence, and in the table."""

    leads: Mapping[str, str]
    known: Mapping[str, str]
    noun: str = "feature"


def words_of(explanation: Explanation) -> Words:
    """Those of measures of what a model gains, or of all others."""
    return Words(LEADS, GAIN_WORDS) if is_gain(explanation) else Words(SIGN_LEADS, SIGN_WORDS)


def findings(explanation: Explanation, reading: Reading, told: Sequence[str], words: Words) -> list[Finding]:
    """What is known of the features, by the names they are told by, those of most weight first."""
    known, show = np.array(reading.known), number_format(explanation)
    found = []
    for word, lead in words.leads.items():
        places = np.flatnonzero(known == word)
        if len(places) == 0:
            continue
        first = places[np.argsort(-np.abs(explanation.values[places]), kind="stable")][:NAMED]
        sentence = filled(lead, len(places), len(known), words.noun, where=WHERE[reading.about])
        named = tuple((told[i], show(explanation.values[i])) for i in first)
        found.append(Finding(word, sentence, named, len(places) - len(first)))
    return found


def filled(lead: str, count: int, everything: int, noun: str = "feature", **words: str) -> str:
    """The beginning of a sentence on so many of all features, with its verbs."""
    verbs = {verb: ending if count == 1 else verb for verb, ending in VERBS.items()}
    every = f"{everything:,} {noun}{'' if everything == 1 else 's'}"
    return lead.format(**verbs, count=f"{count:,}", all=every, **words)


def top_words(explanation: Explanation, k: int = NAMED, noun: str = "feature") -> str:
    """Whether the largest values are known to be the largest on this data; empty where there is nothing to say."""
    if len(explanation.values) <= k or explanation.draws == 0:
        return ""
    if explanation.top(k).is_certain:
        return f"On this data the {k} largest values are known to be the largest."
    return f"On this data other {noun}s may belong among the {k} largest: the run does not tell them apart."
