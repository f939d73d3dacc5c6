"""Lack of fit of the additive proxy u(S) = sum of phi_i: its share of unexplained variance of v, 1 - R^2 of Table 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.coalitions import draw_uniform_sizes, masks
from clarysage.estimators.draws import Draws, collect, draw_examples, estimate_of_draws, total
from clarysage.estimators.interactions import rows_per_unbiased_payoff, unbiased_payoffs
from clarysage.estimators.limits import by_quarters
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import FEWEST_DRAWS
from clarysage.protocols import Game, SubsampledGame, ability

EXAMPLES = 64  # in a block
BLOCKS_AT_ONCE = 8
SIGNIFICANT = 3.0  # standard errors above zero: a smaller variance of v has no share of it returned
ROUNDING = 1e-12
UNEXPLAINED, SQUARE, MEAN = 0, 1, 2  # E[(v - u)^2], E[v^2], E[v]; then E[(v - u) 1(i in S)] of each player


@dataclass(frozen=True)
class UnexplainedShare:
    """The unexplained share of the variance of v over subsets, and its standard error due to sampling."""

    value: float
    std_error: float


def enumerated_share(payoffs: np.ndarray, values: np.ndarray) -> UnexplainedShare | None:
    """Returns the unexplained share of values (p,), from payoffs (2^p,) of all coalitions by number.

    It is None if v does not vary.

    Examples
    --------
    >>> share = enumerated_share(np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.5, 0.5]))  # both players, or nothing
    >>> round(share.value, 3)
    0.375
    """
    p = len(values)
    S = masks(np.arange(2**p), p)
    sizes = S.sum(axis=1)
    probability = 1 / ((p + 1) * np.bincount(sizes)[sizes])
    v = payoffs - payoffs[0]
    unexplained, variance = probability @ (v - S @ values) ** 2, probability @ (v - probability @ v) ** 2
    if variance <= (ROUNDING * np.abs(payoffs).max()) ** 2:
        return None
    return UnexplainedShare(float(unexplained / variance), 0.0)


@dataclass(frozen=True)
class Blocks:
    r"""Moments of v and of v - u over subsets, from blocks of examples that share a random coalition.

    v(S) is a mean over examples, so a square of it takes pairs of them: with r_x(S) = v_x(S) - u(S) for B examples x,

    .. math:: \widehat{(v - u)^2}(S) = \frac{(\sum_x r_x)^2 - \sum_x r_x^2}{B (B - 1)}

    is unbiased (a U-statistic), while the square of the mean would include the variance between examples. S and its
    complement make a block (antithetic coalitions). The part of v_x that grows linearly with |S| up to the known v_x(D)
    is replaced by its mean, as a control variate.

    Attributes
    ----------
    values : (L, p) of u
    """

    values: np.ndarray
    name: str = "blocks"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Draws,)

    def check(self, game: Game) -> None:
        """Accepts any game."""

    def chunk(self, game: Game) -> int:
        return BLOCKS_AT_ONCE

    def pause(self, game: Game, made: int) -> int:
        return by_quarters(self.chunk(game), made)

    @staticmethod
    def payoffs(draws: int) -> int:
        """Returns the number of payoffs that ``draws`` blocks take."""
        return 2 * EXAMPLES * draws

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return self.payoffs(draws) * rows_per_unbiased_payoff(game, ability(game, SubsampledGame))

    def limit(self, game: Game) -> int | None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Draws:
        examples = draw_examples(game, draws * EXAMPLES, rng)
        coalitions = draw_uniform_sizes(draws, game.n_players, rng)
        S = np.stack([coalitions, ~coalitions], axis=1)  # (n, 2, p)
        subsampled = ability(game, SubsampledGame)
        payoffs, _ = unbiased_payoffs(game, subsampled, examples, np.repeat(S, EXAMPLES, axis=0), rng, skip=True)
        empty, full = (end[examples] for end in game.ends)  # (n B, L)
        share = np.repeat(S.mean(axis=2), EXAMPLES, axis=0)[:, :, None]
        v = payoffs - empty[:, None] - share * ((full - empty) - total(game))[:, None]
        v = v.reshape(draws, EXAMPLES, 2, -1)
        u = np.einsum("nsp,lp->nsl", S, self.values)[:, None]
        residual = (v - u).mean(axis=1)  # (n, 2, L)
        moments = np.stack([_square(v - u), _square(v), v.mean(axis=1)], axis=3).mean(axis=1)  # (n, L, 3)
        by_player = np.einsum("nsl,nsp->nlp", residual, S) / 2
        return collect(game, np.concatenate([moments, by_player], axis=2), examples, payoffs)

    def merge(self, state: Draws, other: Draws) -> Draws:
        return state.merge(other)

    def read(self, game: Game, state: Draws) -> Estimate:
        return estimate_of_draws(game, state, self.rows(game, state.moments.count))


def sampled_share(estimate: Estimate, loss: int, covariance: np.ndarray) -> UnexplainedShare | None:
    r"""Returns the unexplained share by the moments of blocks, for a loss by number; None if v hardly varies.

    Errors d of the values of u, of covariance (p, p) and independent of the blocks, change E[(v - u)^2] by
    E[(\sum_{i \in S} d_i)^2], which is subtracted (i is in S with probability 1/2, i and j with 1/3), and by
    -2 E[(v - u) \sum_{i \in S} d_i]. The variance of both is part of the error. None is returned if the variance of v
    is not significantly above zero.
    """
    moments, covariance_of_moments = estimate.values[loss], estimate.covariance[loss]
    p = len(covariance)
    spread = (np.eye(p) / 6 + 1 / 3) @ covariance
    unexplained = moments[UNEXPLAINED] - np.trace(spread)
    variance = moments[SQUARE] - moments[MEAN] ** 2 + covariance_of_moments[MEAN, MEAN]
    leading = covariance_of_moments[:3, :3]
    gradient = np.array([0.0, 1.0, -2 * moments[MEAN]])  # of the variance of v, in the moments
    error = np.sqrt(gradient @ leading @ gradient)
    if variance <= max(SIGNIFICANT * error, ROUNDING**2 * estimate.scale[loss] ** 2):
        return None
    slope = (np.array([1.0, 0.0, 0.0]) - unexplained / variance * gradient) / variance
    linear, quadratic = 4 * moments[3:] @ covariance @ moments[3:], 2 * (spread * spread.T).sum()
    by_values = max(linear - quadratic, quadratic) / variance**2  # ``linear`` holds d in v - u: 2 x quadratic too large
    return UnexplainedShare(float(unexplained / variance), float(np.sqrt(slope @ leading @ slope + by_values)))


@dataclass(frozen=True)
class ShareKnown:
    """A stopping rule on the standard error of the share, by ``tolerance``; covariances (L, p, p) are those of u."""

    tolerance: float
    covariances: np.ndarray

    def __call__(self, estimate: Estimate) -> StopReason | None:
        if estimate.draws < FEWEST_DRAWS:
            return None
        shares = [sampled_share(estimate, loss, covariance) for loss, covariance in enumerate(self.covariances)]
        is_known = all(share is not None and share.std_error <= self.tolerance for share in shares)
        return StopReason.RULE if is_known else None


def _square(each: np.ndarray) -> np.ndarray:
    """Returns unbiased estimates of the square of a mean from B draws of it: (n, B, ...) -> (n, ...)."""
    B = each.shape[1]
    return np.asarray((each.sum(axis=1) ** 2 - (each**2).sum(axis=1)) / (B * (B - 1)))
