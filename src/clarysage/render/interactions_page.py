"""The page of interactions: that of the values of pairs, in words of their own, with a grid of all pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from clarysage.inference.sequential import HELPS, HURTS, NO_EFFECT, UNDECIDED
from clarysage.names import shortened
from clarysage.render.explanation_page import explanation_page
from clarysage.render.findings import Words
from clarysage.render.frame import Page
from clarysage.render.grid import Grid, grid
from clarysage.render.readings import LIKELY_HELPS, LIKELY_HURTS
from clarysage.results import Interactions
from clarysage.results.interactions import NONE, SHARED, TOGETHER
from clarysage.results.interactions_text import left_out
from clarysage.results.text import number_format

MOST, FEWEST = 20, 3  # players of a grid
LABEL_COLUMNS, ABOVE_COLUMNS = 24, 14  # letters of a name beside the grid, and above it
WORDS = Words(
    noun="pair",
    known={
        HELPS: TOGETHER, LIKELY_HELPS: f"likely {TOGETHER}", HURTS: SHARED, LIKELY_HURTS: f"likely {SHARED}",
        UNDECIDED: "cannot be told", NO_EFFECT: NONE,
    },
    leads={
        HELPS: "{count} of {all} {are} worth more together than each feature without the other {where}:",
        LIKELY_HELPS: "{count} of {all} {are} likely worth more together {where}, judged one by one, not all at once:",
        HURTS: "{count} of {all} {share} what they know {where}, so that one stands in for the other:",
        LIKELY_HURTS: "{count} of {all} likely {share} what they know {where}, judged one by one, not all at once:",
        UNDECIDED: "Of {count} of {all} it cannot be told {where}:",
        NO_EFFECT: "{count} of {all} {have} nothing to do with one another:",
    },
)  # fmt: skip


def interactions_page(interactions: Interactions, *, level: float, about: str | None) -> Page:
    """The page of the pairs."""
    page = explanation_page(interactions.found, level=level, about=about, words=WORDS)
    more = {"left_out": left_out(interactions), "grid": pair_grid(interactions, level, about)}
    return replace(page, template="interactions.html", contents={**page.contents, **more})


def pair_grid(interactions: Interactions, level: float, about: str | None) -> Grid | None:
    """All pairs of players, those with the largest SAGE values first; None where they are too few."""
    players = interactions.players[:MOST]
    if len(players) < FEWEST:
        return None
    numbers = interactions.matrix[: len(players), : len(players)]
    show = number_format(interactions.found)
    meanings = dict(zip(map(frozenset, interactions.pairs), interactions.meanings(level, about=about), strict=True))
    names = [shortened(name, LABEL_COLUMNS) for name in players]
    texts = [["" if np.isnan(value) else show(value) for value in row] for row in numbers]
    said = [
        [f"{names[i]} × {names[j]}: {texts[i][j]}, {meanings.get(frozenset((one, other)), '')}"
         for j, other in enumerate(players)]
        for i, one in enumerate(players)
    ]  # fmt: skip
    count = (
        f"{len(players):,} of {len(interactions.players):,} features"
        if len(interactions.players) > MOST
        else "Features"
    )
    return grid(
        numbers, texts, said, names, [shortened(name, ABOVE_COLUMNS) for name in players],
        title="Interactions of all pairs", words=f"{count} by features, those with the largest SAGE values first. The "
        "table has every number.",
    )  # fmt: skip
