"""Inputs of a model that is watched: how each column shifted, and what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.names import isolated, shortened
from clarysage.render.comparison_table import Place, row_data, telling
from clarysage.render.listing import Listing, listing, numbers
from clarysage.results import Monitoring, Shift

MOST_ROWS = 200
MOST_HINTS, HINT_COLUMNS, FACT_COLUMNS = 3, 160, 40
DAYS = " (days since 1970)"
LAST_DAY = 2_900_000  # of the dates that people write
UNTOLD = ("rows",)  # the same for all columns


@dataclass(frozen=True)
class Input:
    """A column in one of the explanations.

    Attributes
    ----------
    place : of the explanation, and of the column
    kind, distance, p : as in a Shift, p adjusted
    is_shifted : whether it is known to have
    hints, facts : what is known of the shift, and numbers of the column before and now
    """

    place: Place
    kind: str
    distance: float
    p: float
    is_shifted: bool
    hints: tuple[str, ...]
    facts: str


def inputs_of(monitoring: Monitoring, most: int = MOST_ROWS) -> tuple[Listing, list[Input]]:
    """Columns, and their rows in the table, the largest distance first.

    Of each column there is the slice where it is furthest from the reference, and those in which it is known to have
    shifted, as far as there is room.
    """
    names = [one.column for one in monitoring.shifts[0]]
    at = {name: j for j, name in enumerate(names)}  # columns of a file may come in any order
    found = {
        (k, at[one.column]): (one, float(p))
        for k, columns in enumerate(monitoring.shifts)
        for one, p in zip(columns, monitoring.shift_p_values[k], strict=True)
    }
    chance = 1 - monitoring.comparison.level
    largest, weights = np.zeros(len(names)), np.zeros(len(names))
    for (_, j), (one, p) in found.items():
        largest[j], weights[j] = max(largest[j], one.distance), max(weights[j], one.distance + (p < chance))
    places = sorted(found, key=lambda place: -found[place][0].distance)
    furthest = {j: (k, j) for k, j in reversed(places)}
    worth = [place for place in places if place == furthest[place[1]] or found[place][1] < chance]
    kept = telling(worth, lambda place: int(found[place][1] >= chance), most)
    columns = listing(names, np.argsort(-largest, kind="stable").tolist(), weights)
    return columns, [_input(place, *found[place], chance) for place in kept]


def _input(place: Place, shift: Shift, p: float, chance: float) -> Input:
    told = shift.hints[:MOST_HINTS] if p < chance else ()  # what may be chance needs no reason
    hints = tuple(isolated(shortened(one, HINT_COLUMNS)) for one in told)
    facts = "; ".join(_fact(name, *pair) for name, pair in shift.facts.items() if name not in UNTOLD)
    return Input(place, shift.kind, shift.distance, p, p < chance, hints, facts)


def _fact(name: str, before: float, now: float) -> str:
    """A number of a column before and now.

    Examples
    --------
    >>> _fact("median", 181.0, 10860.0), _fact("missing share", 0.0, 0.25), _fact("lowest (days since 1970)", 0.0, 1.0)
    ('median 181, now 10,860', 'missing 0 %, now 25 %', 'lowest 1970-01-01, now 1970-01-02')
    """
    term, is_date = name.removesuffix(DAYS).removesuffix(" share"), name.endswith(DAYS)
    one, other = (_number(value, is_date, name.endswith(" share")) for value in (before, now))
    return f"{shortened(term, FACT_COLUMNS)} {one}, now {other}"


def _number(value: float, is_date: bool, is_share: bool) -> str:
    if is_date and abs(value) < LAST_DAY:
        return str(np.datetime64(int(np.floor(value)), "D"))
    return f"{100 * value:.3g} %" if is_share else f"{value:,.5g}" if abs(value) < 1e5 else f"{value:,.6g}"


def inputs_data(monitoring: Monitoring, columns: Listing, inputs: Sequence[Input]) -> dict[str, Any]:
    """What the page sorts and searches by, in the order of its rows."""
    told: dict[str, Any] = {
        "kind": [one.kind for one in inputs],
        "distance": numbers(np.array([one.distance for one in inputs])),
        "p": numbers(np.array([one.p for one in inputs])),
        "known": [int(not one.is_shifted) for one in inputs],
    }
    names = [one.column for one in monitoring.shifts[0]]
    return row_data(names, columns, [one.place for one in inputs], told, monitoring.names)
