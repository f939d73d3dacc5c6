"""Kernel regression (Kernel SHAP): Shapley values as the least-squares problem of Eq. 8, from paired coalitions.

References
----------
S. M. Lundberg, S.-I. Lee (2017). A unified approach to interpreting model predictions. NeurIPS 30.
I. Covert, S.-I. Lee (2021). Improving KernelSHAP: practical Shapley value estimation using linear regression. AISTATS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.coalitions import draw_by_kernel, kernel_size_probabilities
from clarysage.errors import InputError, Set
from clarysage.estimators.draws import Draws, collect, draw_examples, estimate_of_draws, total
from clarysage.estimators.limits import by_quarters, rows_per_chunk
from clarysage.inference.estimate import Estimate
from clarysage.protocols import Game


@dataclass(frozen=True)
class Kernel:
    r"""Kernel regression: solves Eq. 8 from coalitions drawn by the Shapley kernel, each with its complement.

    A coalition and its complement are antithetic (paired sampling; Covert and Lee 2021).

    With A = E[1_S 1_S'] and b = E[1_S (v(S) - v(\emptyset))] over the kernel, the values are

    .. math:: \phi = A^{-1}(b - \mathbf{1} (\mathbf{1}^T A^{-1} b - v(D)) / (\mathbf{1}^T A^{-1} \mathbf{1}))

    A is known: 1/2 on the diagonal and one number c off it, so that A^{-1} 1 is a multiple of 1 and the solution is

    .. math:: \phi = (b - \bar b) / (1/2 - c) + v(D) / p.

    b is a mean of independent draws, so the values are unbiased. Their covariance is that of the centred b: it sums to
    zero along the efficiency constraint, since v(D) is known.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> from clarysage.estimators import estimate
    >>> estimate(TabularGame([0, 1, 2, 3]), Kernel(), seed=0).values.round(6)
    array([[1., 2.]])
    """

    name: str = "kernel"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Draws,)

    def check(self, game: Game) -> None:
        if game.n_players < 2:
            hint = Set("method", "exact")
            raise InputError("method", got="kernel for one player", wanted="two or more players", hint=hint)

    def chunk(self, game: Game) -> int:
        return max(1, rows_per_chunk(game) // max(1, self.rows(game, 1)))

    def pause(self, game: Game, made: int) -> int:
        return by_quarters(self.chunk(game), made)

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return draws * 2 * game.rows_per_payoff

    def limit(self, game: Game) -> int | None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Draws:
        p = game.n_players
        examples = draw_examples(game, draws, rng)
        coalitions = draw_by_kernel(draws, p, rng)
        payoffs = game.payoff(np.tile(examples, 2), np.vstack([coalitions, ~coalitions]), rng)
        gains = payoffs.reshape(2, draws, -1) - game.ends[0][examples]  # v(S) - v(empty), (2, n, L)
        sides = np.stack([coalitions, ~coalitions]).astype(np.float64)  # (2, n, p)
        b = np.einsum("snl,snp->nlp", gains, sides) / 2
        contributions = (b - b.mean(axis=2, keepdims=True)) / (0.5 - _pair_probability(p))
        return collect(game, contributions, examples, payoffs)

    def merge(self, state: Draws, other: Draws) -> Draws:
        return state.merge(other)

    def read(self, game: Game, state: Draws) -> Estimate:
        even = total(game)[:, None] / game.n_players
        return estimate_of_draws(game, state, self.rows(game, state.moments.count), shift=even)


def _pair_probability(p: int) -> float:
    """Returns the probability that a coalition drawn by the kernel holds two given players: A off the diagonal."""
    sizes = np.arange(1, p)
    return float((kernel_size_probabilities(p) * sizes * (sizes - 1)).sum() / (p * (p - 1)))
