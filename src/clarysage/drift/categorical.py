"""Drift of a column of categories, or of a few integers: tests, and hints about what became of labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clarysage.drift.column_samples import NUMBERS, NUMERAL, TEXT, ColumnSample, missing_hint, missing_p
from clarysage.drift.numeric import number_facts, number_hints
from clarysage.drift.two_sample_tests import (
    COLUMN_LEVEL,
    HINT_LEVEL,
    are_rare,
    bonferroni,
    chi_square_p,
    hypergeometric_p,
    new_categories_p,
    tarone_p,
    total_variation,
)
from clarysage.drift.wording import first_labels, from_to, percent, quoted
from clarysage.results.finding import Shift

MOST_SHARES_SHOWN = 2
LEAST_RESPELLED = 0.5  # share of the rows with new labels that another spelling must explain
LEAST_RESPELLED_ROWS = 0.005  # share of all rows

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
EXCHANGE_LEVEL = 1e-4  # p-value of the categories up to which exchanges are looked for
MANY_EXCHANGED = 6  # exchanged categories from which an exchange hardly fits by chance
LEAST_P_AFTER = {True: 0.01, False: 0.05}  # p-value after an exchange that explains; True: of many categories
MOST_DISTANCE_AFTER = {True: 0.5, False: 0.3}  # distance after such an exchange, as a share of the one before
EXACT_DISTANCE = 0.1  # the same share, from which the p-value does not matter
RIVAL_RATIO = 1.2  # distance of another exchange, as a multiple of the best one, up to which both are as good
NEW_LEVEL = 0.01  # p-value up to which a category of one sample is new or gone, and not just rare
LEAST_SWAP = 7.0  # distance in standard errors of a share: only exact swaps differ from other changes
LEAST_WRAPPED = 0.02  # share of rows that must go around the end of a cycle: otherwise numbers are just higher


@dataclass(frozen=True)
class CategoryCounts:
    """Numbers of rows of each category in both samples.

    Attributes
    ----------
    labels : (k,), in a meaningful order where there is one
    table : counts (2, k) of the reference and of the current rows
    is_text : whether labels are text, which hints quote, rather than numbers
    """

    labels: tuple[str, ...]
    table: np.ndarray
    is_text: bool = True

    @classmethod
    def of(cls, reference: ColumnSample, current: ColumnSample) -> CategoryCounts:
        """Counts the cells that are not missing; labels are in the order of numbers, of a list, or of the alphabet."""
        samples = reference.as_text(), current.as_text()
        occurring = {label for sample in samples for label in sample.counts}
        are_numbers = all(sample.cell_type == NUMBERS for sample in (reference, current))
        if are_numbers:
            labels = sorted(occurring, key=_number_of)
        elif any(sample.is_categorical for sample in samples):
            all_labels = dict.fromkeys(label for sample in samples for label in sample.labels)
            labels = [label for label in all_labels if label in occurring]
        else:
            labels = sorted(occurring)
        table = np.array([[sample.counts.get(label, 0) for label in labels] for sample in samples], dtype=np.int64)
        return cls(tuple(labels), table.reshape(2, -1), not are_numbers)

    @cached_property
    def rows(self) -> tuple[int, int]:
        reference, current = self.table.sum(axis=1)
        return int(reference), int(current)

    @cached_property
    def shares(self) -> np.ndarray:
        """Shares of the cells that are not missing, (2, k)."""
        return np.asarray(self.table / np.maximum(self.table.sum(axis=1, keepdims=True), 1))

    @cached_property
    def distance(self) -> float:
        return total_variation(*self.table)

    @cached_property
    def p_value(self) -> float:
        return chi_square_p(*self.table)

    def label(self, i: int) -> str:
        """Returns a label as hints show it."""
        return quoted(self.labels[i]) if self.is_text else self.labels[i]

    def share_p(self, i: int) -> float:
        """Returns the p-value of the share of one category."""
        counts = self.table[:, i]
        return hypergeometric_p(int(counts[1]), int(counts.sum()), self.rows[1], sum(self.rows))

    def permuted(self, order: np.ndarray) -> CategoryCounts:
        """Exchanges the reference's counts: category i gets those of category order[i]."""
        return replace(self, table=np.array([self.table[0][order], self.table[1]]))


def _number_of(label: str) -> float:
    return {"False": 0.0, "True": 1.0}[label] if label in ("False", "True") else float(label)


def compare_categories(name: str, reference: ColumnSample, current: ColumnSample) -> Shift:
    """Tests the shares of categories together and one by one, new categories, and the share of missing cells."""
    if TEXT in (reference.cell_type, current.cell_type):
        reference, current = reference.as_text(), current.as_text()
    counts = CategoryCounts.of(reference, current)
    p = bonferroni([*_category_p(counts), *missing_p(reference, current)])
    missing = np.array([reference.missing, current.missing])
    with_missing = [np.append(side, count) for side, count in zip(counts.table, missing, strict=True)]
    hints: list[str] = []
    if p <= COLUMN_LEVEL:
        of_missing, of_categories = missing_hint(reference, current), _hints(counts, reference, current)
        missing_change = abs(missing[1] / current.rows - missing[0] / reference.rows)
        is_missing_first = missing_change > total_variation(*counts.table)
        hints = [*of_missing, *of_categories] if is_missing_first else [*of_categories, *of_missing]
    return Shift(name, "categories", total_variation(*with_missing), p, tuple(hints), _facts(reference, current))


def _category_p(counts: CategoryCounts) -> list[float]:
    """Returns the p-values of the tests that apply to the counts; an empty list if there is nothing to test."""
    if min(counts.rows) == 0 or len(counts.labels) < 2:
        return []
    reference, current = counts.table
    single = tarone_p(reference, current, rows=counts.rows)
    if len(counts.labels) == 2:
        return [single]
    p_values = [single, chi_square_p(reference, current)]
    if are_rare(reference, current).any():
        p_values.append(new_categories_p(reference, current, rows=counts.rows))
    return p_values


def _facts(reference: ColumnSample, current: ColumnSample) -> dict[str, tuple[float, float]]:
    if reference.cell_type == NUMBERS == current.cell_type:
        return number_facts(reference, current)
    return {
        "missing share": (reference.missing_share, current.missing_share),
        "distinct": (float(len(reference.counts)), float(len(current.counts))),
        "rows": (float(reference.rows), float(current.rows)),
    }


def _hints(counts: CategoryCounts, reference: ColumnSample, current: ColumnSample) -> list[str]:
    """Says what became of labels, else of numbers, else which shares changed most."""
    if min(counts.rows) == 0:
        return []
    hints = _label_hints(counts)
    if not hints and reference.cell_type == NUMBERS == current.cell_type and not reference.is_boolean:
        hints = number_hints(reference.present, current.present, NUMBERS)
    return hints or _share_hints(counts)


def _label_hints(counts: CategoryCounts) -> list[str]:
    """Names labels that were respelled, renamed or exchanged, new or gone; empty where only shares changed."""
    spelling, counts = _respelled(counts)
    hints = [spelling] if spelling else []
    if spelling and counts.p_value > HINT_LEVEL:
        return hints
    explanation = _constant_hint(counts) or _renaming_hint(counts) or _exchange_hint(counts)
    if explanation:
        return [*hints, explanation]
    return [*hints, *_new_label_hints(counts), *_lost_label_hints(counts)]


def _constant_hint(counts: CategoryCounts) -> str:
    distinct = (counts.table > 0).sum(axis=1)
    if distinct[1] == 1 and distinct[0] > 1:
        return f"all cells are {counts.label(int(counts.table[1].argmax()))} now"
    return ""


def _renaming_hint(counts: CategoryCounts) -> str:
    """Names one category that is gone and one that is new, if both have the same share."""
    reference, current = counts.table
    gone, new = np.flatnonzero((current == 0) & (reference > 0)), np.flatnonzero((reference == 0) & (current > 0))
    if len(gone) != 1 or len(new) != 1 or not counts.is_text:
        return ""
    old, renamed = int(gone[0]), int(new[0])
    order = np.arange(len(counts.labels))
    order[renamed], order[old] = old, renamed
    after = counts.permuted(order)
    if counts.share_p(renamed) > HINT_LEVEL or after.p_value <= HINT_LEVEL or after.share_p(renamed) <= HINT_LEVEL:
        return ""
    return f"{counts.label(old)} looks renamed to {counts.label(renamed)}, {percent(counts.shares[1][renamed])} of rows"


def _new_label_hints(counts: CategoryCounts) -> list[str]:
    labels, share = _labels_of_one_side(counts, 1)
    verb = "is" if len(labels) == 1 else "are"
    return [f"{first_labels(labels, 'categories')} {verb} new, {share} of rows"] if labels else []


def _lost_label_hints(counts: CategoryCounts) -> list[str]:
    labels, share = _labels_of_one_side(counts, 0)
    verb = "is" if len(labels) == 1 else "are"
    return [f"{first_labels(labels, 'categories')} {verb} gone, {share} of the reference's rows"] if labels else []


def _labels_of_one_side(counts: CategoryCounts, side: int) -> tuple[list[str], str]:
    """Returns the labels that the other side lacks and their share of rows; none if chance explains their rows."""
    of_side, of_other = counts.table[side], counts.table[1 - side]
    indices = np.flatnonzero((of_side > 0) & (of_other == 0))
    indices = indices[np.argsort(-of_side[indices], kind="stable")]
    if not len(indices) or not counts.is_text:
        return [], ""
    p_of_all = new_categories_p(of_other, of_side, (counts.rows[1 - side], counts.rows[side]))
    p_of_largest = counts.share_p(int(indices[0])) * len(of_side)
    if min(p_of_all, p_of_largest) > HINT_LEVEL:
        return [], ""
    return [counts.labels[i] for i in indices], percent(of_side[indices].sum() / of_side.sum())


def _share_hints(counts: CategoryCounts) -> list[str]:
    """Shows the shares that changed most."""
    change = np.abs(counts.shares[1] - counts.shares[0])
    order = np.argsort(-change, kind="stable")[:MOST_SHARES_SHOWN]
    shown = [i for i in order if change[i] >= change[order[0]] / 2 and counts.table[:, i].any()]
    if len(counts.labels) == 2:
        shown = shown[:1]  # the other share follows
    return [f"{counts.label(i)} went {from_to(*counts.shares[:, i])}" for i in shown]


# --- respelled: labels that differ by case, spaces or punctuation only


def _without_spaces(label: str) -> str:
    return " ".join(label.split())


def _without_case(label: str) -> str:
    return label.casefold()


def _as_numeral(label: str) -> str:
    """Rewrites a numeral without leading and trailing zeros."""
    return repr(float(label.replace(",", "."))) if NUMERAL.fullmatch(label) else label


def _without_punctuation(label: str) -> str:
    return re.sub(r"[\W_]+", "", label.casefold()) or label


SPELLINGS: dict[str, Callable[[str], str]] = {
    "case": _without_case,
    "blanks": _without_spaces,
    "case and blanks": lambda label: _without_case(_without_spaces(label)),
    "the way numbers are written": lambda label: _as_numeral(label.strip()),
    "case, blanks and signs": _without_punctuation,
}


def _respelled(counts: CategoryCounts) -> tuple[str, CategoryCounts]:
    """Returns a hint on respelled labels, empty where there is none, and the counts with both spellings merged."""
    reference, current = counts.table
    new = np.flatnonzero((reference == 0) & (current > 0))
    if not len(new) or not counts.is_text:
        return "", counts
    old = sorted((i for i in range(len(counts.labels)) if reference[i] > 0), key=lambda i: reference[i])
    for difference, normalise in SPELLINGS.items():
        old_of = {normalise(counts.labels[i]): i for i in old}  # of several, the most frequent in the reference
        normalised = {int(i): normalise(counts.labels[i]) for i in new}
        respelled = {i: old_of[label] for i, label in normalised.items() if label in old_of}
        rows = current[list(respelled)].sum()
        if rows >= LEAST_RESPELLED * current[new].sum() and rows >= LEAST_RESPELLED_ROWS * counts.rows[1]:
            most = max(respelled, key=lambda i: current[i])
            example = f"{quoted(counts.labels[respelled[most]])} is now {quoted(counts.labels[most])}"
            return f"labels differ from the reference's by {difference} alone: {example}", _merged(counts, respelled)
    return "", counts


def _merged(counts: CategoryCounts, respelled: dict[int, int]) -> CategoryCounts:
    table = counts.table.copy()
    for new, old in respelled.items():
        table[1][old] += table[1][new]
        table[1][new] = 0
    occurs = table.sum(axis=0) > 0
    labels = tuple(label for label, does_occur in zip(counts.labels, occurs, strict=True) if does_occur)
    return replace(counts, labels=labels, table=table[:, occurs])


# --- exchanged: categories with the shares of others, moved along a cycle, swapped or in reverse order


def _exchange_hint(counts: CategoryCounts) -> str:
    """Names the exchange of categories that explains the change; empty where none does, or two do as well."""
    if counts.p_value > EXCHANGE_LEVEL or len(counts.labels) < 2:
        return ""
    exchanges = [(hint, counts.permuted(order)) for hint, order in _exchanges(counts)]
    explaining = sorted(
        ((after.distance, hint) for hint, after in exchanges if _is_explained(counts, after)),
        key=lambda distance_and_hint: distance_and_hint[0],
    )
    if not explaining:
        return ""
    (distance, hint), *others = explaining
    if others and others[0][0] < distance * RIVAL_RATIO and others[0][1] != hint:
        return ""
    return hint


def _is_explained(before: CategoryCounts, after: CategoryCounts) -> bool:
    are_many = int((after.table[0] != before.table[0]).sum()) >= MANY_EXCHANGED
    is_close = after.p_value > LEAST_P_AFTER[are_many] or after.distance <= EXACT_DISTANCE * before.distance
    return is_close and after.distance <= MOST_DISTANCE_AFTER[are_many] * before.distance


def _exchanges(counts: CategoryCounts) -> Iterator[tuple[str, np.ndarray]]:
    """Yields hints on exchanges, and which category's reference rows each category gets."""
    k = len(counts.labels)
    cycle, is_calendar = _cycle(counts)
    if k > 2 and cycle is not None:
        for steps in _steps_around(k, is_calendar):
            order = np.empty(k, dtype=np.int64)
            order[cycle] = np.roll(cycle, steps)
            if _goes_around(counts, cycle, steps):
                distance = "one place" if abs(steps) == 1 else f"{abs(steps)} places"
                yield f"categories look moved by {distance}: {_example(counts, order)}", order
    if k > 3 and not counts.is_text:
        order = np.arange(k)[::-1]
        yield f"categories look reversed: {_example(counts, order)}", order
    yield from _swaps(counts)


def _cycle(counts: CategoryCounts) -> tuple[np.ndarray | None, bool]:
    """Returns the indices of the labels around a cycle (None if there is none), and whether it is a calendar's."""
    labels = [label.strip().strip(".").casefold() for label in counts.labels]
    for cycle in CYCLES:
        if set(labels) <= set(cycle):
            is_complete = len(set(labels)) == len(cycle) == len(labels)
            return (np.array([labels.index(label) for label in cycle]), True) if is_complete else (None, True)
    one_sided = np.flatnonzero(~counts.table.all(axis=0))
    are_only_rare = all(counts.share_p(int(i)) > NEW_LEVEL for i in one_sided)
    return (np.arange(len(labels)) if are_only_rare else None), False


def _steps_around(k: int, is_calendar: bool) -> list[int]:
    """Returns the steps to try around a cycle of k labels; only to a neighbour if the cycle is not a calendar's."""
    return [steps for steps in range(-(k // 2) + (k % 2 == 0), k // 2 + 1) if steps] if is_calendar else [1, -1]


def _goes_around(counts: CategoryCounts, cycle: np.ndarray, steps: int) -> bool:
    """Returns whether rows go around the end of the cycle, as they need not where numbers are just higher."""
    if counts.is_text:
        return True
    if not counts.table[:, cycle[[0, -1]]].all():  # the numbers at the ends do not occur in both samples
        return False
    leaving = cycle[-steps:] if steps > 0 else cycle[:-steps]
    return bool(counts.shares[0][leaving].sum() >= LEAST_WRAPPED)


def _swaps(counts: CategoryCounts) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the swap of the two categories whose shares rose and fell most."""
    change = counts.shares[1] - counts.shares[0]
    risen, fallen = int(change.argmax()), int(change.argmin())
    order = np.arange(len(counts.labels))
    order[risen], order[fallen] = fallen, risen
    share = counts.shares.mean(axis=0)[[risen, fallen]]
    std_error = float(np.sqrt((share * (1 - share)).max() * sum(1 / rows for rows in counts.rows)))
    is_in_both = counts.table[:, [risen, fallen]].all() or len(counts.labels) == 2
    if counts.distance >= LEAST_SWAP * std_error and is_in_both:
        first, second = sorted((risen, fallen), key=lambda i: -counts.shares[0][i])
        yield f"{counts.label(first)} and {counts.label(second)} look swapped", order


def _example(counts: CategoryCounts, order: np.ndarray) -> str:
    """Says which category the reference's most frequent one is now."""
    most = int(counts.table[0].argmax())
    return f"what was {counts.label(most)} is now {counts.label(int(np.flatnonzero(order == most)[0]))}"
