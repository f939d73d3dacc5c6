"""What measures that fit learners anew cost, said before they run, or to somebody who did not ask for them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clarysage.cli.console import Say
from clarysage.cli.request import Loaded
from clarysage.errors import InputError

if TYPE_CHECKING:
    from clarysage._measures.table import Measure


def say_costs(found: Loaded, only: Sequence[str] | None, say: Say, *, refits: bool) -> None:
    """Say how many fits refits take, and how long where they are asked for: one fit is made and timed."""
    from clarysage._measures.table import MEASURES, as_measure, fits_wanted

    if found.tables["y"] is None:
        return
    slow = {row.name: row for row in (MEASURES.values() if only is None else map(as_measure, only)) if row.refits}
    folds = {"folds": 1} if found.train is not None else {}
    fits = {name: fits_wanted(name, _players(found), **folds) for name in slow}
    if only is None and not refits:
        costs = ", ".join(f"{name} ({counted(fits[name])})" for name in slow)
        say(f"left out, since they fit learners anew: {costs}; --refits asks for them.")
    elif slow:
        learner = None if all(row.own_learners for row in slow.values()) else _learner(found)
        seconds = None if learner is None else _seconds(learner, found)
        costs_of_each = [
            _cost(row, fits[name], seconds) for name, row in slow.items() if learner is not None or row.own_learners
        ]
        if costs_of_each:
            say("; ".join(costs_of_each) + ".")


def counted(fits: int | None) -> str:
    """A number of fits in words.

    Examples
    --------
    >>> counted(1234), counted(None)
    ('1,234 fits', 'fits whose number is not known')
    """
    return "fits whose number is not known" if fits is None else f"{fits:,} fit{'s' * (fits != 1)}"


def lasting(seconds: float) -> str:
    """A time in words.

    Examples
    --------
    >>> lasting(0.2), lasting(75), lasting(600), lasting(9000)
    ('less than a second', 'about 75 s', 'about 10 min', 'about 2.5 h')
    """
    if seconds < 1:
        return "less than a second"
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


def _cost(row: Measure, fits: int | None, seconds: float | None) -> str:
    count = f"{row.name}: {counted(fits)}"
    if row.own_learners:
        return f"{count} of {row.own_learners}"
    return count if fits is None or seconds is None else f"{count}, {lasting(fits * seconds)}"


def _players(found: Loaded) -> int:
    from clarysage.players import Players

    return len(Players.of(tuple(map(str, found.tables["X"].columns)), found.groups))


def _learner(found: Loaded) -> Any:
    """What is fitted; None where the model cannot be fitted anew, which its measures will say."""
    from clarysage.models.learners import refittable

    try:
        return refittable(found.model)
    except InputError:
        return None


def _seconds(learner: Any, found: Loaded) -> float | None:
    """Seconds of a fit on all columns; None where it fails, which is for the measures to say."""
    X, y = (found.tables["X"], found.tables["y"]) if found.train is None else found.train[:2]
    begun = time.perf_counter()
    try:
        learner.fit(X, y)
    except Exception:  # the learner's own, who knows which
        return None
    return time.perf_counter() - begun
