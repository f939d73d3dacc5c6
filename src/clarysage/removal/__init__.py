"""How features are withheld: the restricted model f_S of Eq. 1. ``REMOVALS`` is the table of names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.protocols import Removal
from clarysage.removal.baseline import Baseline
from clarysage.removal.marginal import Marginal
from clarysage.removal.neighbours import Neighbours
from clarysage.removal.product import ProductOfMarginals
from clarysage.removal.seed import seed_of
from clarysage.removal.surrogate import Surrogate
from clarysage.removal.tree_conditional import TreeConditional

# name -> removal made of (background, its weights, generator)
REMOVALS: dict[str, Callable[[Any, Any, np.random.Generator], Removal]] = {
    "marginal": lambda background, weights, rng: Marginal(background, weights=weights),
    "product of marginals": lambda background, weights, rng: ProductOfMarginals(background, weights=weights, rng=rng),
    "baseline": lambda background, weights, rng: Baseline(background=background, weights=weights),
    "neighbours": lambda background, weights, rng: Neighbours(background, weights=weights),
    "trees": lambda background, weights, rng: TreeConditional(background, weights=weights, rng=seed_of(rng)),
    "surrogate": lambda background, weights, rng: Surrogate(background, weights=weights, rng=seed_of(rng)),
}


def as_removal(removal: Any, background: Any, weights: Any, rng: np.random.Generator) -> Removal:
    """A removal by name, made of the background, or an object as it is."""
    if isinstance(removal, str):
        return REMOVALS[removal_name(removal)](background, weights, rng)
    if hasattr(removal, "restrict") and not isinstance(removal, type):
        return removal  # type: ignore[no-any-return]
    got = f"the class {removal.__name__}" if isinstance(removal, type) else type(removal).__name__
    raise InputError("removal", got=got, wanted="a name, or an object such as Marginal(X_train)")


def removal_name(removal: str) -> str:
    """The name in the table that is meant, whatever its case and joints.

    Examples
    --------
    >>> removal_name("Product_of_marginals")
    'product of marginals'
    """
    name = removal.lower().replace("_", " ").replace("-", " ").strip()
    if name in REMOVALS:
        return name
    known = ", ".join(map(repr, REMOVALS))
    raise InputError("removal", got=f"{removal!r}", wanted=f"one of {known}, or an object such as Marginal(X)")


__all__ = [
    "REMOVALS",
    "Baseline",
    "Marginal",
    "Neighbours",
    "ProductOfMarginals",
    "Surrogate",
    "TreeConditional",
    "as_removal",
    "removal_name",
]
