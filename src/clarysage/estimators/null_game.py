"""A test for null games, in which no player ever moves a payoff: every example is looked at in two opposite orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.coalitions import permutations
from clarysage.errors import Note
from clarysage.estimators.draws import Draws, collect, is_null
from clarysage.estimators.loop import COVERAGE, estimate
from clarysage.estimators.permutation import Permutation
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import ROUNDING, Budget, Deadline, row_limit
from clarysage.protocols import Game, Rule

AFFORDABLE_ROWS = 4_000_000


def estimate_null_game(game: Game, stop: Sequence[Rule], **options: Any) -> tuple[Estimate | None, int]:
    """The zeros of a game that no player moves, such as that of a constant model; None where one does.

    Only a game whose examples all lose the same with all features as with none is looked at. The look ends at the
    first thing that moves, once every example has been seen, at the deadline, or where half of the budget or a fair
    price is spent. The second result is the model rows that a look cost in vain.
    """
    if not is_null(game):
        return None, 0
    price = max(AFFORDABLE_ROWS, Sweep().rows(game, 2))
    rows = min(price, (row_limit(stop) - game.rows_spent) // 2)
    if rows < Sweep().rows(game, 2):
        return None, 0
    limits: list[Rule] = [Budget(game.rows_spent + int(rows)), *(rule for rule in stop if isinstance(rule, Deadline))]
    found = estimate(game, Sweep(), stop=[_verdict, *limits], **options)
    if found.stopped is StopReason.RULE:
        return None, found.model_rows - game.rows_spent
    found = replace(found, values=np.zeros_like(found.values), trace=None)
    if found.stopped is StopReason.BUDGET and rows == price:
        visited = 100 * found.coverage.visited
        note = Note(
            f"It rests on {visited:.1f} % of the examples: to look at all of them would take too long.", topic=COVERAGE
        )
        found = replace(found, stopped=StopReason.NO_EFFECT, notes=(note,))
    return found, 0


@dataclass(frozen=True)
class Sweep(Permutation):
    """Walks of one example after the other, each in a random order and its reverse."""

    name: str = "sweep"

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return 2 * super().rows(game, draws)

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Draws:
        examples = np.flatnonzero(game.weights > 0)
        chosen = examples[(first + np.arange(draws)) % len(examples)]
        orders = permutations(draws, game.n_players, rng)
        forth, back = (game.walk(chosen, way, rng) for way in (orders, orders[:, ::-1]))  # (n, p + 1, L)
        moves = np.abs(np.diff(forth, axis=1)) + np.abs(np.diff(back, axis=1))
        return collect(game, moves.transpose(0, 2, 1), chosen, forth[:0])


def _verdict(estimate: Estimate) -> StopReason | None:
    if (estimate.values > ROUNDING * estimate.scale[:, None]).any():
        return StopReason.RULE
    return StopReason.NO_EFFECT if estimate.coverage.unvisited == 0 else None
