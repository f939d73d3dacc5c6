"""Findings of several measures: what they put first, and how far they agree with SAGE on the order of features."""

from __future__ import annotations

import numpy as np

from clarysage.names import shortened
from clarysage.render.findings import NAMED, Finding
from clarysage.render.listing import Listing
from clarysage.results import Importances
from clarysage.results.importances import YARDSTICK

MEASURE_COLUMNS = 40


def importances_findings(importances: Importances, features: Listing) -> list[Finding]:
    """A sentence each."""
    return [_first(importances, features), *_agreement(importances)]


def _first(importances: Importances, features: Listing) -> Finding:
    """Which features measures put first, those that most of them do at the front."""
    firsts = (importances.ranks().to_numpy() == 1).sum(axis=1)
    places = [int(i) for i in np.argsort(-firsts, kind="stable") if firsts[i] > 0]
    named = tuple((features.told[i], f"{firsts[i]} of {len(importances)}") for i in places[:NAMED])
    return Finding("first", "Measures that put a feature first:", named, len(places) - len(named))


def _agreement(importances: Importances) -> list[Finding]:
    """The measures that are closest to SAGE in the order of features, and those that are furthest from it."""
    if YARDSTICK not in importances or len(importances) < 3 or len(importances.feature_names) < 3:
        return []
    found = importances.correlation()[YARDSTICK].drop(YARDSTICK).dropna().sort_values(ascending=False, kind="stable")
    half = min(NAMED, len(found) // 2)
    named = [(shortened(str(name), MEASURE_COLUMNS), f"{value:.2f}") for name, value in found.items()]
    leads = [("Closest to SAGE in the order of features, by rank correlation:", named[:half]),
             ("Furthest from it:", named[::-1][:half])]  # fmt: skip
    return [Finding("order", lead, tuple(told)) for lead, told in leads if told]
