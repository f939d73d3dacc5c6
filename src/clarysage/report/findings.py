"""Findings: which features matter, which hurt and of which it cannot be told, a sentence each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.explanation import Explanation
from clarysage.inference.decisions import HELPS, HURTS, NO_EFFECT, UNDECIDED
from clarysage.report.readings import LIKELY_HELPS, LIKELY_HURTS, Reading, is_gain

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
VERBS = {"help": "helps", "hurt": "hurts", "have": "has"}


@dataclass(frozen=True)
class Finding:
    """A sentence: how it begins, the places of features that it names, and how many more there are."""

    known: str
    lead: str
    places: tuple[int, ...]
    more: int


def findings(explanation: Explanation, reading: Reading) -> list[Finding]:
    """What is known of the features, those of most weight first."""
    known = np.array(reading.known)
    found = []
    for word, lead in (LEADS if is_gain(explanation) else SIGN_LEADS).items():
        places = np.flatnonzero(known == word)
        if len(places) == 0:
            continue
        first = places[np.argsort(-np.abs(explanation.values[places]), kind="stable")][:NAMED]
        sentence = _filled(lead, len(places), len(known), WHERE[reading.about])
        found.append(Finding(word, sentence, tuple(map(int, first)), len(places) - len(first)))
    return found


def _filled(lead: str, count: int, everything: int, where: str) -> str:
    verbs = {verb: ending if count == 1 else verb for verb, ending in VERBS.items()}
    every = f"{everything:,} feature{'' if everything == 1 else 's'}"
    return lead.format(**verbs, count=f"{count:,}", all=every, where=where)


def top_words(explanation: Explanation, k: int = NAMED) -> str:
    """Whether the largest values are known to be the largest on this data; empty where there is nothing to say."""
    if len(explanation.values) <= k or explanation.draws == 0:
        return ""
    if explanation.top(k).is_certain:
        return f"On this data the {k} largest values are known to be the largest."
    return f"On this data other features may belong among the {k} largest: the run does not tell them apart."
