"""Categories whose shares are those of others: moved along a cycle, swapped, in reverse order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clarysage.monitoring.shifts.counts import Counts

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
CYCLES = (
    MONTHS,
    tuple(month[:3] for month in MONTHS),
    WEEKDAYS,
    tuple(day[:3] for day in WEEKDAYS),
    tuple(day[:2] for day in WEEKDAYS),
    ("spring", "summer", "autumn", "winter"),
    ("spring", "summer", "fall", "winter"),
    ("q1", "q2", "q3", "q4"),
)
SURE = 1e-4  # p-value from which categories are taken to have changed at all
MANY = 6  # categories exchanged, from which chance hardly hits upon an exchange
LIKELY = {True: 0.01, False: 0.05}  # p-value up to which a difference is taken to be left
FAR_BETTER = {True: 0.5, False: 0.3}  # distance that may be left, as a share of the first
STRANGE = 0.01  # p-value up to which a category of one sample alone is new or gone, and not just rare
SHARP = 7.0  # standard errors of a share: swaps of categories are told from other changes by exactness alone
WRAPPED = 0.02  # share of rows that must go around the end of a cycle: else numbers are just higher


def rearranged(counts: Counts) -> str:
    """How categories were exchanged; empty where no exchange leaves hardly any difference, or two do."""
    if counts.p_value > SURE or len(counts.labels) < 2:
        return ""
    tried = [(words, counts.rearranged(order)) for words, order in _exchanges(counts)]
    found = sorted(
        ((after.distance, words) for words, after in tried if _explains(counts, after)), key=lambda one: one[0]
    )
    if not found or (len(found) > 1 and found[1][0] < found[0][0] * 1.2 and found[1][1] != found[0][1]):
        return ""
    return found[0][1]


def _explains(before: Counts, after: Counts) -> bool:
    is_many = int((after.table[0] != before.table[0]).sum()) >= MANY
    is_close = after.p_value > LIKELY[is_many] or after.distance <= 0.1 * before.distance
    return is_close and after.distance <= FAR_BETTER[is_many] * before.distance


def _exchanges(counts: Counts) -> Iterator[tuple[str, np.ndarray]]:
    """Words for an exchange, and whose shares each category has now."""
    k = len(counts.labels)
    cycle, is_known = _cycle(counts)
    if k > 2 and cycle is not None:
        for places in _places(k, is_known):
            order = np.empty(k, dtype=np.int64)
            order[cycle] = np.roll(cycle, places)
            if _goes_around(counts, cycle, places):
                yield _moved(counts, order, places), order
    if k > 3 and not counts.is_quoted:
        order = np.arange(k)[::-1]
        yield f"categories look reversed: {_example(counts, order)}", order
    yield from _swaps(counts)


def _cycle(counts: Counts) -> tuple[np.ndarray | None, bool]:
    """Places of the labels around a cycle, and whether it is one that people know."""
    plain = [label.strip().strip(".").casefold() for label in counts.labels]
    for cycle in CYCLES:
        if set(plain) <= set(cycle):
            is_whole = len(set(plain)) == len(cycle) == len(plain)
            return (np.array([plain.index(label) for label in cycle]), True) if is_whole else (None, True)
    strangers = np.flatnonzero(~counts.table.all(axis=0))
    is_settled = all(counts.p_of(int(place)) > STRANGE for place in strangers)
    return (np.arange(len(plain)) if is_settled else None), False


def _places(k: int, is_known: bool) -> list[int]:
    """By how many places to move; of labels in an order of our own making, by one alone."""
    return [step for step in range(-(k // 2) + (k % 2 == 0), k // 2 + 1) if step] if is_known else [1, -1]


def _goes_around(counts: Counts, cycle: np.ndarray, places: int) -> bool:
    if counts.is_quoted:
        return True
    if not counts.table[:, cycle[[0, -1]]].all():  # numbers that went beyond the ends did not come around
        return False
    leaving = cycle[-places:] if places > 0 else cycle[:-places]
    return bool(counts.shares[0][leaving].sum() >= WRAPPED)


def _moved(counts: Counts, order: np.ndarray, places: int) -> str:
    how = "one place" if abs(places) == 1 else f"{abs(places)} places"
    return f"categories look moved by {how}: {_example(counts, order)}"


def _swaps(counts: Counts) -> Iterator[tuple[str, np.ndarray]]:
    """Two of the categories that changed most, each in the other's place."""
    change = counts.shares[1] - counts.shares[0]
    one, other = int(change.argmax()), int(change.argmin())
    order = np.arange(len(counts.labels))
    order[one], order[other] = other, one
    share = counts.shares.mean(axis=0)[[one, other]]
    error = float(np.sqrt((share * (1 - share)).max() * sum(1 / rows for rows in counts.rows)))
    if counts.distance >= SHARP * error and (counts.table[:, [one, other]].all() or len(counts.labels) == 2):
        first, second = sorted((one, other), key=lambda place: -counts.shares[0][place])
        yield f"{counts.word(first)} and {counts.word(second)} look swapped", order


def _example(counts: Counts, order: np.ndarray) -> str:
    """What became of the category that most rows of the reference have."""
    most = int(counts.table[0].argmax())
    return f"what was {counts.word(most)} is now {counts.word(int(np.flatnonzero(order == most)[0]))}"
