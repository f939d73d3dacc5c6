"""The table of a comparison: its rows, and what a page sorts and searches them by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clarysage.render.changes import Change
from clarysage.render.listing import Listing, list_data, numbers
from clarysage.results import Comparison

Place = tuple[int, int]  # of a change, and of a feature


def largest_first(found: Sequence[Change]) -> list[Place]:
    """Rows of the table, the largest difference first."""
    values = np.stack([one.values for one in found])
    order = np.argsort(-np.abs(values), axis=None, kind="stable")
    return [(int(k), int(i)) for k, i in zip(*np.unravel_index(order, values.shape), strict=True)]


def telling(rows: Sequence[Place], severity: Callable[[Place], int], most: int) -> list[Place]:
    """Rows, or of more than so many the first of each name, then those of least ``severity``, then the first."""
    keys, seen = [], set()
    for at, row in enumerate(rows):
        keys.append((row[1] in seen, severity(row), at))
        seen.add(row[1])
    return [rows[at] for at in sorted(at for *_, at in sorted(keys)[: max(most, len(seen))])]


def table_data(
    comparison: Comparison, found: Sequence[Change], features: Listing, rows: Sequence[Place]
) -> dict[str, Any]:
    """What the page sorts and searches by, in the order of its rows."""

    def column(part: str) -> np.ndarray:
        return np.array([getattr(found[k], part)[i] for k, i in rows])

    columns: dict[str, Any] = {part: numbers(column(part)) for part in ("before", "after", "low", "p")}
    columns |= {"size": numbers(np.abs(column("values"))), "known": column("known").tolist()}
    return row_data(comparison.feature_names, features, rows, columns, comparison.names[1:])


def row_data(
    names: Sequence[str], listed: Listing, rows: Sequence[Place], columns: dict[str, Any], others: Sequence[str]
) -> dict[str, Any]:
    """What the script is told of rows, each of a name that is listed, in one of others where there are several."""
    at = {place: row for row, place in enumerate(listed.order)}
    of, told = [at[i] for _, i in rows], {}
    if len(others) > 1:
        columns, told = {**columns, "other": [k for k, _ in rows]}, {"others": list(others)}
    return list_data(names, listed, of=of, columns=columns, **told)
