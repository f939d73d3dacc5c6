"""How features are withheld: the restricted model f_S of Eq. 1. ``REMOVALS`` is the table of names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clarysage.errors import InputError, resembling
from clarysage.protocols import Removal
from clarysage.removal.baseline import Baseline
from clarysage.removal.copula import Copula
from clarysage.removal.gaussian import Gaussian
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
    "gaussian": lambda background, weights, rng: Gaussian(background, weights=weights, rng=rng),
    "copula": lambda background, weights, rng: Copula(background, weights=weights, rng=rng),
    "neighbours": lambda background, weights, rng: Neighbours(background, weights=weights),
    "trees": lambda background, weights, rng: TreeConditional(background, weights=weights, rng=seed_of(rng)),
    "surrogate": lambda background, weights, rng: Surrogate(background, weights=weights, rng=seed_of(rng)),
}

# removals that aim at p(x_rest | x_S), among which "auto conditional" chooses
CONDITIONAL = ("gaussian", "copula", "neighbours", "trees", "surrogate")
AUTO_CONDITIONAL = "auto conditional"
ROWS_TO_AVERAGE, ROWS_TO_LEARN_FROM = 512, 4096


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
    name = _spelled(removal)
    if name in REMOVALS:
        return name
    known = ", ".join(map(repr, [*REMOVALS, AUTO_CONDITIONAL]))
    raise InputError("removal", got=f"{removal!r}", wanted=f"one of {known}, or an object such as Marginal(X)",
                     hint=resembling(name, [*REMOVALS, AUTO_CONDITIONAL]))  # fmt: skip


def is_auto_conditional(removal: Any) -> bool:
    """Whether a removal is to be chosen among the conditional ones."""
    return isinstance(removal, str) and _spelled(removal) == AUTO_CONDITIONAL


def is_conditional(removal: str) -> bool:
    """Whether a removal, by its name, learns from background rows what withheld features are, given the kept ones."""
    return is_auto_conditional(removal) or removal_name(removal) in CONDITIONAL


def default_rows(removal: str) -> float:
    """How many background rows there are to be at most for a removal, by its name, where the user does not say."""
    if is_conditional(removal):
        return ROWS_TO_LEARN_FROM
    return math.inf if removal_name(removal) == "baseline" else ROWS_TO_AVERAGE


def _spelled(removal: str) -> str:
    return removal.lower().replace("_", " ").replace("-", " ").strip()


__all__ = [
    "AUTO_CONDITIONAL",
    "CONDITIONAL",
    "REMOVALS",
    "ROWS_TO_AVERAGE",
    "ROWS_TO_LEARN_FROM",
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
    "removal_name",
]
