"""How features are withheld: the restricted model f_S of Eq. 1. Removals by name are in :mod:`clarysage.catalogue`."""

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
from clarysage.removal.baseline import Baseline
from clarysage.removal.copula import Copula
from clarysage.removal.gaussian import Gaussian
from clarysage.removal.marginal import Marginal
from clarysage.removal.neighbours import Neighbours
from clarysage.removal.product import ProductOfMarginals
from clarysage.removal.surrogate import Surrogate
from clarysage.removal.tree_conditional import TreeConditional

SAFEST = "copula"  # since it copes with columns of any kind


def as_removal(removal: Any, background: Any, weights: Any, rng: np.random.Generator) -> Removal:
    """A removal by name, made of the background, or an object as it is."""
    if isinstance(removal, str):
        named: Removal = REMOVALS.get_row(removal)(background, weights, rng)
        return named
    ready = None if isinstance(removal, type) else ability(removal, Removal)
    if ready is not None:
        return ready
    got = f"the class {removal.__name__}" if isinstance(removal, type) else type(removal).__name__
    raise InputError("removal", got=got, wanted=["a name", PythonOnly(", or an object such as Marginal(X_train)")])


def is_auto_conditional(removal: object) -> bool:
    """Whether a removal is to be chosen among the conditional ones."""
    return REMOVALS.is_special(removal)


def is_conditional(removal: str) -> bool:
    """Whether a removal, by its name, learns from background rows what withheld features are, given the kept ones."""
    return is_auto_conditional(removal) or REMOVALS.get_row(removal).is_conditional


def default_rows(removal: str) -> float:
    """How many background rows there are to be at most for a removal, by its name, where the user does not say."""
    return ROWS_TO_LEARN_FROM if is_auto_conditional(removal) else REMOVALS.get_row(removal).default_rows


def name_of(removal: Any) -> str:
    """What a removal is called: the name in the catalogue, that of an object, or its class."""
    if isinstance(removal, str):
        return REMOVALS.get_row(removal).name
    named = ability(removal, NamedRemoval)
    return type(removal).__name__ if named is None else str(named.name)


def limited(removal: Removal, memory_limit: float, *, is_named: bool) -> Removal:
    """The removal within the limit of a run; of that and an object's own limit, the lower one holds.

    The limit of a removal that was asked for by name, ``is_named``, is that of the run.
    """
    own = ability(removal, LimitedRemoval)
    if own is None:
        return removal
    return own.limited(memory_limit if is_named else min(own.memory_limit, memory_limit))


def knowing_examples(removal: Removal, examples: np.ndarray | None) -> Removal:
    """The removal, told which rows of X its background rows are (m,), where that is known and makes a difference."""
    made_of_examples = ability(removal, RemovalFromExamples)
    return removal if examples is None or made_of_examples is None else made_of_examples.knowing_examples(examples)


def seed_in(removal: Removal) -> int | None:
    """The seed that a removal learns or draws with, where it has one."""
    seeded = ability(removal, SeededRemoval)
    seed = None if seeded is None else seeded.rng
    return int(seed) if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) else None


def singly(restricted: RestrictedModel) -> DrawsRows:
    """The restricted model with rows to draw from; raises where there are none, since predictions are learned."""
    drawing = ability(restricted, DrawsRows)
    if drawing is not None:
        return drawing.singly()
    others = [name for name in removals_that_draw_given_others() if name != SAFEST]
    raise InputError(
        "removal",
        got=f"{type(restricted).__name__}, which has no rows to draw: it predicts without what is withheld",
        wanted="a removal that puts drawn values in its place",
        hint=[Set("removal", SAFEST), *(f', "{name}"' for name in others[:-1]), f' or "{others[-1]}"'],
    )


__all__ = [
    "REMOVALS",
    "Baseline",
    "Copula",
    "Gaussian",
    "Marginal",
    "Neighbours",
    "ProductOfMarginals",
    "Surrogate",
    "TreeConditional",
    "as_removal",
    "default_rows",
    "is_auto_conditional",
    "is_conditional",
    "knowing_examples",
    "limited",
    "name_of",
    "seed_in",
    "singly",
]
