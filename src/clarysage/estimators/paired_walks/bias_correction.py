r"""Two-level Monte Carlo: many walks with a subsample of the background, and few samples of what these are off by.

Values are linear in the game, so with v_q that of subsamples of q background rows,

.. math:: \phi(v) = \phi(v_q) + \phi(v - v_q)

as in multilevel Monte Carlo (Giles 2008). The second term is small, and sampled coalition by coalition: walks would do
as well, but steps of a walk are expensive where all background rows are asked, and errors of neighbouring steps are
much alike. Single coalitions of many examples tell the same with a fraction of the rows.

References
----------
M. B. Giles (2008). Multilevel Monte Carlo path simulation. Operations Research 56, 607-617.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.coalitions import draw_by_size, horvitz_thompson_weights, minimum_variance_probabilities
from clarysage.inference.degrees_of_freedom import Estimated
from clarysage.inference.moments import Moments
from clarysage.protocols import Game, SubsampledWalks, ability


@dataclass(frozen=True)
class BiasCorrection:
    """Draws of v(S) - v_q(S): a coalition and its complement on one example, as contributions to each player.

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
        """Model rows of a draw at most."""
        return 2 * game.rows_per_payoff

    def draw(self, game: Game, count: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
        """Contributions (n, L, p), each by itself right on average, and the model rows they cost."""
        p, sizes = game.n_players, minimum_variance_probabilities(game.n_players)
        examples = rng.choice(len(self.chances), size=count, p=self.chances)
        coalitions = draw_by_size(count, sizes, rng)
        both = np.stack([coalitions, ~coalitions], axis=1).reshape(2 * count, p)
        subsampled = ability(game, SubsampledWalks)
        assert subsampled is not None
        payoffs = subsampled.compare(np.repeat(examples, 2), both, self.active, rng, skip=self.skip)
        # (2 n, L, p)
        off = (payoffs.exact - payoffs.subsampled)[:, :, None] * horvitz_thompson_weights(both, sizes)[:, None, :]
        importance = (game.weights[examples] / self.chances[examples])[:, None, None]
        return off.reshape(count, 2, -1, p).mean(axis=1) * importance, payoffs.rows


def correction(draws: Moments, moves: np.ndarray) -> Estimated:
    """The correction of values from subsamples, by the moments of draws of it.

    Corrections of players that move nothing, by ``moves`` (p,), are set to zero and redistributed among the others, so
    that all corrections sum to zero. Where only variances are kept they are those before that, rather too large.
    """
    mean = Estimated.mean_of(draws)
    values, covariance = _shared(mean.values, moves), mean.covariance
    if covariance.ndim == 3:
        covariance = _shared(_shared(covariance, moves).transpose(0, 2, 1), moves)
    return Estimated(values, np.where(moves, covariance, 0.0), mean.dof)


def _shared(values: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Values (..., p) of players that moved, less their mean; 0 for others."""
    mean = values[..., moves].sum(axis=-1, keepdims=True) / max(1, moves.sum())
    return np.where(moves, values - mean, 0.0)
