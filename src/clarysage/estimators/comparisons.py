"""What few background rows are off by: a game of its own, whose values are sampled coalition by coalition.

Walks would do as well, but steps of a walk are dear where all background rows are asked, and errors of neighbouring
steps are much alike. Single coalitions of many examples tell the same with a tenth of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.coalitions import draw_by_size, steady_sizes, value_weights
from clarysage.estimators.draws import ROWS_PER_CHUNK
from clarysage.inference.moments import Moments
from clarysage.inference.sums import Estimated
from clarysage.protocols import Game


@dataclass(frozen=True)
class Comparisons:
    """Draws of v_all(S) - v_few(S): a coalition and its complement on one example, as contributions to each player.

    Attributes
    ----------
    chances : (N,) how likely each example is to be drawn, adding up to one
    active : (p,) players that matter
    skip : whether known predictions need not be asked again
    """

    chances: np.ndarray
    active: np.ndarray
    skip: bool

    @staticmethod
    def cost(game: Game) -> int:
        """Model rows of a comparison at most."""
        return 2 * game.rows_per_payoff

    def draw(self, game: Game, count: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
        """Contributions (n, L, p), each by itself right on average, and the model rows they cost."""
        p, sizes = game.n_players, steady_sizes(game.n_players)
        examples = rng.choice(len(self.chances), size=count, p=self.chances)
        coalitions = draw_by_size(count, sizes, rng)
        both = np.stack([coalitions, ~coalitions], axis=1).reshape(2 * count, p)
        off, rows = self._errors(game, np.repeat(examples, 2), both, rng)
        found = (off[:, :, None] * value_weights(both, sizes)[:, None, :]).reshape(count, 2, -1, p).mean(axis=1)
        return found * (game.weights[examples] / self.chances[examples])[:, None, None], rows

    def _errors(
        self, game: Game, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        """v_all(S) - v_few(S), (n, L), and the model rows they cost."""
        assert game.short is not None
        at_once, found, rows = max(1, ROWS_PER_CHUNK // game.rows_per_payoff), [], 0
        for start in range(0, len(examples), at_once):
            part = slice(start, start + at_once)
            one = game.short.compared(examples[part], coalitions[part], self.active, rng, skip=self.skip)
            found.append(one.exact - one.few)
            rows += one.rows
        return np.concatenate(found), rows


def correction(comparisons: Moments, moves: np.ndarray) -> Estimated:
    """What is to be added to values from few rows. Players (p,) that never moved anything are left as they are.

    What the draws gave those by chance is shared out among the others: corrections add up to nothing.
    """
    found = Estimated.mean_of(comparisons)
    share = moves / max(1, moves.sum())
    keep = np.diag(moves.astype(np.float64)) - np.outer(moves, share)
    if found.covariance.ndim == 2:
        covariance = np.where(moves, found.covariance, 0.0)
    elif np.isfinite(found.covariance).all():
        covariance = keep @ found.covariance @ keep.T
    else:
        covariance = found.covariance
    return Estimated(found.values @ keep.T, covariance, found.dof)
