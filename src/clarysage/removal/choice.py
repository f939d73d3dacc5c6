"""The choice of a removal: by name or as an object; its name, its default background, its memory limit and its seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.catalogue import REMOVALS, ROWS_TO_LEARN_FROM, removals_that_draw_given_others
from clarysage.errors import InputError, PythonOnly, Set
from clarysage.protocols import (
    DrawsRows,
    LimitedRemoval,
    NamedRemoval,
    Removal,
    RemovalFromExamples,
    RestrictedModel,
    SeededRemoval,
    ability,
)

SAFEST = "copula"  # which accepts columns of any kind


def as_removal(removal: Any, background: Any, weights: Any, rng: np.random.Generator) -> Removal:
    """Makes a removal from its name and a background; returns an object that is a removal as it is."""
    if isinstance(removal, str):
        named: Removal = REMOVALS.get_row(removal)(background, weights, rng)
        return named
    ready = None if isinstance(removal, type) else ability(removal, Removal)
    if ready is not None:
        return ready
    got = f"the class {removal.__name__}" if isinstance(removal, type) else type(removal).__name__
    raise InputError("removal", got=got, wanted=["a name", PythonOnly(", or an object such as Marginal(X_train)")])


def is_auto_conditional(removal: object) -> bool:
    """Tells whether a removal is to be chosen among the conditional ones."""
    return REMOVALS.is_special(removal)


def is_conditional(removal: str) -> bool:
    """Tells whether the removal of a name estimates the distribution of withheld features given the kept ones."""
    return is_auto_conditional(removal) or REMOVALS.get_row(removal).is_conditional


def is_by_rows(removal: Removal) -> bool:
    """Tells whether the withheld cells of several columns always come from one row, so that they may be one column."""
    row = REMOVALS.row_of(removal)
    return row is not None and row.by_rows


def default_rows(removal: str) -> float:
    """Returns the default number of background rows, at most, for the removal of a name."""
    return ROWS_TO_LEARN_FROM if is_auto_conditional(removal) else REMOVALS.get_row(removal).default_rows


def name_of(removal: Any) -> str:
    """Returns the name of a removal: that in the catalogue, that of an object, or that of its class."""
    if isinstance(removal, str):
        return REMOVALS.get_row(removal).name
    named = ability(removal, NamedRemoval)
    return type(removal).__name__ if named is None else str(named.name)


def limited(removal: Removal, memory_limit: float, *, is_named: bool) -> Removal:
    """Returns the removal with the memory limit of a run, or with the object's own limit if that is lower.

    A removal that was given by name, ``is_named``, has no limit of its own.
    """
    limitable = ability(removal, LimitedRemoval)
    if limitable is None:
        return removal
    return limitable.limited(memory_limit if is_named else min(limitable.memory_limit, memory_limit))


def with_self_matches(removal: Removal, examples: np.ndarray | None) -> Removal:
    """Returns the removal, given the row of X that each background row is (m,), if that is known and matters."""
    made_of_examples = ability(removal, RemovalFromExamples)
    return removal if examples is None or made_of_examples is None else made_of_examples.with_self_matches(examples)


def seed_in(removal: Removal) -> int | None:
    """Returns the seed that a removal learns or draws with; None if it has none."""
    seeded = ability(removal, SeededRemoval)
    seed = None if seeded is None else seeded.rng
    return int(seed) if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) else None


def singly(restricted: RestrictedModel) -> DrawsRows:
    """Returns the restricted model prepared for single imputation; raises an error if its predictions are learned."""
    drawing = ability(restricted, DrawsRows)
    if drawing is not None:
        return drawing.singly()
    others = [name for name in removals_that_draw_given_others() if name != SAFEST]
    raise InputError(
        "removal",
        got=f"{type(restricted).__name__}, which draws no values: it predicts without the withheld features",
        wanted="a removal that replaces withheld features by drawn values",
        hint=[Set("removal", SAFEST), *(f', "{name}"' for name in others[:-1]), f' or "{others[-1]}"'],
    )
