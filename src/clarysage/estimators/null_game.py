"""A test for null games, in which no player ever changes a payoff: every example is walked along an order and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.coalitions import permutations
from clarysage.errors import Note
from clarysage.estimators.draws import Draws, collect, is_null_game
from clarysage.estimators.loop import COVERAGE, estimate
from clarysage.estimators.permutation import Permutation
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import ROUNDING, Budget, Deadline, row_limit
from clarysage.protocols import Game, Rule

AFFORDABLE_ROWS = 4_000_000


def estimate_null_game(game: Game, stop: Sequence[Rule], **options: Any) -> tuple[Estimate | None, int]:
    """Returns values of zero for a null game, such as that of a constant model, or None; and the model rows spent.

    Only games are tested in which every example has the same loss with all features as with none. The test ends at the
    first change of a payoff, once every example has been seen, at the deadline, or when half of the budget or an
    affordable number of model rows is spent. The model rows are counted only if the game is not a null game.
    """
    if not is_null_game(game):
        return None, 0
    affordable = max(AFFORDABLE_ROWS, Sweep().rows(game, 2))
    rows = min(affordable, (row_limit(stop) - game.rows_spent) // 2)
    if rows < Sweep().rows(game, 2):
        return None, 0
    limits: list[Rule] = [Budget(game.rows_spent + int(rows)), *(rule for rule in stop if isinstance(rule, Deadline))]
    result = estimate(game, Sweep(), stop=[_verdict, *limits], **options)
    if result.stopped is StopReason.RULE:
        return None, result.model_rows - game.rows_spent
    result = replace(result, values=np.zeros_like(result.values), trace=None)
    if result.stopped is StopReason.BUDGET and rows == affordable:
        visited = 100 * result.coverage.visited
        note = Note(
            f"The result is based on {visited:.1f} % of the examples: using all of them would take too long.",
            topic=COVERAGE,
        )
        result = replace(result, stopped=StopReason.NO_EFFECT, notes=(note,))
    return result, 0


@dataclass(frozen=True)
class Sweep(Permutation):
    """Walks one example after the other, each along a random order and its reverse."""

    name: str = "sweep"

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return 2 * super().rows(game, draws)

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Draws:
        examples = np.flatnonzero(game.weights > 0)
        visited = examples[(first + np.arange(draws)) % len(examples)]
        orders = permutations(draws, game.n_players, rng)
        forward, reverse = (game.walk(visited, order, rng) for order in (orders, orders[:, ::-1]))  # (n, p + 1, L)
        changes = np.abs(np.diff(forward, axis=1)) + np.abs(np.diff(reverse, axis=1))
        return collect(game, changes.transpose(0, 2, 1), visited, forward[:0])


def _verdict(estimate: Estimate) -> StopReason | None:
    if (estimate.values > ROUNDING * estimate.scale[:, None]).any():
        return StopReason.RULE
    return StopReason.NO_EFFECT if estimate.coverage.unvisited == 0 else None
