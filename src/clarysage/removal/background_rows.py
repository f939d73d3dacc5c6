"""What a conditional removal learns from: background rows of positive mass, and the examples that are among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.models import BoundPredictor
from clarysage.removal.marginal import bound_to
from clarysage.removal.row_identity import KnownRows, source_of
from clarysage.tables import EncodedTable, read_weights


@dataclass(frozen=True)
class BackgroundRows:
    """Rows of codes (m, d) in an order that says nothing, their masses, and the examples that they are."""

    predictor: BoundPredictor
    rows: np.ndarray
    mass: np.ndarray
    known: KnownRows

    @classmethod
    def of(cls, removal: Any, predictor: Any, X: Any) -> tuple[BackgroundRows, EncodedTable]:
        """From the ``background``, ``weights``, ``memory_limit`` and ``examples`` of a removal; beside X as codes."""
        bound = bound_to(predictor, X, removal.background, removal.memory_limit)
        rows, codes = bound.background, bound.examples.codes
        mass = read_weights(removal.weights, removal.background, len(rows), "background weights", "background")
        source = source_of(removal.examples, len(rows), len(codes))
        there = np.random.default_rng(0).permutation(np.flatnonzero(mass > 0))  # or ties would go by a table's order
        rows, mass = rows[there], mass[there]
        known = KnownRows.of(codes, rows, mass, None if source is None else source[there])
        return cls(bound.predictor, rows, mass, known), bound.examples
