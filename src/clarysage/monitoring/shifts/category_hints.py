"""What happened to a column of categories, in plain words."""

from __future__ import annotations

import numpy as np

from clarysage.monitoring.shifts.combined import CLEAR
from clarysage.monitoring.shifts.counts import Counts
from clarysage.monitoring.shifts.newcomers import p_of_newcomers
from clarysage.monitoring.shifts.rearranged import rearranged
from clarysage.monitoring.shifts.spellings import respelled
from clarysage.monitoring.shifts.wording import listed, percent


def category_hints(counts: Counts) -> list[str]:
    """Labels written otherwise, moved or swapped, new or gone; empty where shares alone changed."""
    if min(counts.rows) == 0:
        return []
    spelling, counts = respelled(counts)
    hints = [spelling] if spelling else []
    if spelling and counts.p_value > CLEAR:
        return hints
    constant = _constant(counts)
    if constant:
        return [*hints, constant]
    renamed = _renamed(counts)
    if renamed:
        return [*hints, renamed]
    moved = rearranged(counts)
    if moved:
        return [*hints, moved]
    return [*hints, *_strangers(counts, 1), *_strangers(counts, 0)]


def _constant(counts: Counts) -> str:
    kinds = (counts.table > 0).sum(axis=1)
    if kinds[1] == 1 and kinds[0] > 1:
        return f"all cells are {counts.word(int(counts.table[1].argmax()))} now"
    return ""


def _renamed(counts: Counts) -> str:
    """One category gone and one new, of the same share."""
    gone, new = (np.flatnonzero((one == 0) & (other > 0)) for one, other in (counts.table[::-1], counts.table))
    if len(gone) != 1 or len(new) != 1 or not counts.is_quoted:
        return ""
    order = np.arange(len(counts.labels))
    order[new[0]], order[gone[0]] = gone[0], new[0]
    after = counts.rearranged(order)
    if counts.p_of(int(new[0])) > CLEAR or after.p_value <= CLEAR or after.p_of(int(new[0])) <= CLEAR:
        return ""
    share = percent(counts.shares[1][new[0]])
    return f"{counts.word(int(gone[0]))} looks renamed to {counts.word(int(new[0]))}, {share} of rows"


def _strangers(counts: Counts, side: int) -> list[str]:
    """Categories that one side has and the other has not, where there are more such rows than chance brings."""
    own, other = counts.table[side], counts.table[1 - side]
    places = np.flatnonzero((own > 0) & (other == 0))
    places = places[np.argsort(-own[places], kind="stable")]
    if not len(places) or not counts.is_quoted:
        return []
    bounds = [
        p_of_newcomers(other, own, (counts.rows[1 - side], counts.rows[side])),
        counts.p_of(int(places[0])) * len(own),
    ]
    if min(bounds) > CLEAR:
        return []
    names = listed([counts.labels[place] for place in places], "categories")
    share, verb = percent(own[places].sum() / own.sum()), "is" if len(places) == 1 else "are"
    return [f"{names} {verb} new, {share} of rows" if side else f"{names} {verb} gone, {share} of the reference's rows"]
