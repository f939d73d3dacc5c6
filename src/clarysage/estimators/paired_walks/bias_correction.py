r"""Two-level Monte Carlo: many walks with subsamples of the background, and few samples of the bias of these.

Values are linear in the game, so with v_q the game of subsamples of q background rows,

.. math:: \phi(v) = \phi(v_q) + \phi(v - v_q)

as in multilevel Monte Carlo (Giles 2008). The second term is small. It is sampled by single coalitions, not by walks:
a step of a walk is expensive with all background rows, and the errors of neighbouring steps are almost the same, so
single coalitions of many examples tell as much at a fraction of the model rows. How many are drawn is decided in the
pilot run (:mod:`clarysage.estimators.paired_walks.pilot`).

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
    """Draws of v(S) - v_q(S), for a coalition and its complement on one example, as contributions of each player.

    Attributes
    ----------
    chances : (N,) probability of each example to be drawn (importance sampling)
    active : (p,) players that may have an effect
    skip : whether predictions that are known are reused
    """

    chances: np.ndarray
    active: np.ndarray
    skip: bool

    @staticmethod
    def cost(game: Game) -> int:
        """Returns the most model rows of a draw."""
        return 2 * game.rows_per_payoff

    def draw(self, game: Game, count: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
        """Returns contributions (n, L, p), each of them unbiased, and the model rows they cost."""
        p, probabilities = game.n_players, minimum_variance_probabilities(game.n_players)
        examples = rng.choice(len(self.chances), size=count, p=self.chances)
        coalitions = draw_by_size(count, probabilities, rng)
        both = np.stack([coalitions, ~coalitions], axis=1).reshape(2 * count, p)
        subsampled = ability(game, SubsampledWalks)
        assert subsampled is not None, "the pilot run found that the game has subsamples"
        payoffs = subsampled.compare(np.repeat(examples, 2), both, self.active, rng, skip=self.skip)
        # (2 n, L, p)
        bias = (payoffs.exact - payoffs.subsampled)[:, :, None] * horvitz_thompson_weights(both, probabilities)[
            :, None, :
        ]
        importance = (game.weights[examples] / self.chances[examples])[:, None, None]
        return bias.reshape(count, 2, -1, p).mean(axis=1) * importance, payoffs.rows


def correction(draws: Moments, has_effect: np.ndarray) -> Estimated:
    """Returns the correction of values from subsamples, by the moments of its draws.

    Corrections of players without an effect, by ``has_effect`` (p,), are set to zero and redistributed among the
    others, so that all corrections sum to zero. If only variances are kept, they are those before this step, which are
    slightly too large.
    """
    mean = Estimated.mean_of(draws)
    values, covariance = _redistribute(mean.values, has_effect), mean.covariance
    if covariance.ndim == 3:
        covariance = _redistribute(_redistribute(covariance, has_effect).transpose(0, 2, 1), has_effect)
    return Estimated(values, np.where(has_effect, covariance, 0.0), mean.dof)


def _redistribute(values: np.ndarray, has_effect: np.ndarray) -> np.ndarray:
    """Returns values (..., p) of players with an effect, less their mean, and 0 for the others."""
    mean = values[..., has_effect].sum(axis=-1, keepdims=True) / max(1, has_effect.sum())
    return np.where(has_effect, values - mean, 0.0)
