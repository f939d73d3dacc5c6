"""How many fits of a learner a measure takes, before any is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarysage._measures.table import as_measure

TYPICAL_PAIRS = 128  # that walks commonly need at the default tolerance, where all examples are judged at once


def all_subsets(players: int) -> int:
    """Subsets to be fitted where none is left out: all but the empty one."""
    return int(2**players - 1)


def subsets_of_walks(players: int) -> int:
    """Subsets that paired walks commonly come by, at most."""
    return 2 * (players - 1) * TYPICAL_PAIRS


def one_by_one(players: int) -> int:
    """Subsets of all players, and of all but one or of one alone."""
    return 1 if players == 1 else 1 + players


def _every_subset(players: int) -> int:
    return min(all_subsets(players), 1 + subsets_of_walks(players)) if players > 1 else 1


SUBSETS: dict[str, Callable[[int], int]] = {"one by one": one_by_one, "all": _every_subset}


def fits_wanted(measure: Any, players: int, folds: int = 5) -> int | None:
    """Fits that a measure takes for so many features or groups; 0 if it makes none, None if that is not known.

    One fit a fold: 1 where rows to fit on are given apart from those to judge by. Of measures that may sample, what
    they commonly take at most.

    Examples
    --------
    >>> fits_wanted("feature ablation", players=8), fits_wanted("shapley net effects", players=4)
    (45, 75)
    """
    row = as_measure(measure)
    if not row.refits:
        return 0
    return None if row.fits is None else SUBSETS[row.fits](players) * folds
