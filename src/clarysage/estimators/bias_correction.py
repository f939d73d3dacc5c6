"""What few background rows are off by: a game of its own, whose values are sampled coalition by coalition.

Walks would do as well, but steps of a walk are dear where all background rows are asked, and errors of neighbouring
steps are much alike. Single coalitions of many examples tell the same with a fraction of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.coalitions import draw_by_size, steady_sizes, value_weights
from clarysage.inference.degrees_of_freedom import Estimated
from clarysage.inference.moments import Moments
from clarysage.protocols import Game, SubsampledWalks, ability


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
        subsampled = ability(game, SubsampledWalks)
        assert subsampled is not None
        shown = subsampled.compare(np.repeat(examples, 2), both, self.active, rng, skip=self.skip)
        off = (shown.exact - shown.subsampled)[:, :, None] * value_weights(both, sizes)[:, None, :]  # (2 n, L, p)
        chosen = (game.weights[examples] / self.chances[examples])[:, None, None]
        return off.reshape(count, 2, -1, p).mean(axis=1) * chosen, shown.rows


def correction(comparisons: Moments, moves: np.ndarray) -> Estimated:
    """What is to be added to values from few rows. Players (p,) that never moved anything are left as they are.

    What the draws gave those by chance is shared out among the others: corrections add up to nothing. Where only
    variances are kept they are those before that, rather too large.
    """
    mean = Estimated.mean_of(comparisons)
    values, covariance = _shared(mean.values, moves), mean.covariance
    if covariance.ndim == 3:
        covariance = _shared(_shared(covariance, moves).transpose(0, 2, 1), moves)
    return Estimated(values, np.where(moves, covariance, 0.0), mean.dof)


def _shared(values: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Values (..., p) of players that moved, less their mean; 0 for others."""
    mean = values[..., moves].sum(axis=-1, keepdims=True) / max(1, moves.sum())
    return np.where(moves, values - mean, 0.0)
