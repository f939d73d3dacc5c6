"""Removals: ways to withhold features, which turn a model f into the restricted model f_S of Eq. 1.

Each removal has a file; the engines that evaluate f_S are in :mod:`clarysage.removal.restricted`. The names of removals
are in :mod:`clarysage.catalogue`.
"""

from __future__ import annotations

from clarysage.catalogue import REMOVALS
from clarysage.removal.baseline import Baseline
from clarysage.removal.choice import (
    as_removal,
    default_rows,
    is_auto_conditional,
    is_by_rows,
    is_conditional,
    limited,
    name_of,
    seed_in,
    singly,
    with_self_matches,
)
from clarysage.removal.copula import Copula
from clarysage.removal.gaussian import Gaussian
from clarysage.removal.marginal import Marginal
from clarysage.removal.neighbours import Neighbours
from clarysage.removal.product import ProductOfMarginals
from clarysage.removal.surrogate import Surrogate
from clarysage.removal.tree_conditional import TreeConditional

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
    "is_by_rows",
    "is_conditional",
    "limited",
    "name_of",
    "seed_in",
    "singly",
    "with_self_matches",
]
