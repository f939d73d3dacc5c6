"""How much of v the additive proxy u(S) = sum of phi_i leaves unexplained, over subsets as in Table 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.coalitions import draw_uniform_sizes, masks
from clarysage.estimators.draws import Draws, by_quarters, collect, draw_examples, read, total
from clarysage.estimators.interactions import payoffs_at, rows_at
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import FEWEST_DRAWS
from clarysage.protocols import Game, SubsampledGame, ability

EXAMPLES = 64  # of a block
BLOCKS_AT_ONCE = 8
CLEAR = 3.0  # standard errors that the variance of v must be above zero for a share of it to mean something
ROUNDING = 1e-12
SQUARES, POWERS, MEANS = 0, 1, 2  # E[(v - u)^2], E[v^2], E[v]; then E[(v - u) 1(i in S)] of each player


@dataclass(frozen=True)
class Share:
    """A share of the variance of v over subsets, and its standard error by the sampling of the run."""

    value: float
    std_error: float


def enumerated_share(payoffs: np.ndarray, values: np.ndarray) -> Share | None:
    """The share of the variance of v that values (p,) leave, from payoffs (2^p,) of all coalitions by number.

    None where v does not vary.

    Examples
    --------
    >>> share = enumerated_share(np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.5, 0.5]))  # both players, or nothing
    >>> round(share.value, 3)
    0.375
    """
    p = len(values)
    S = masks(np.arange(2**p), p)
    sizes = S.sum(axis=1)
    chance = 1 / ((p + 1) * np.bincount(sizes)[sizes])
    v = payoffs - payoffs[0]
    off, variance = chance @ (v - S @ values) ** 2, chance @ (v - chance @ v) ** 2
    if variance <= (ROUNDING * np.abs(payoffs).max()) ** 2:
        return None
    return Share(float(off / variance), 0.0)


@dataclass(frozen=True)
class Blocks:
    r"""Moments of v and of v - u over subsets, from blocks of examples that share a random coalition.

    v(S) is a mean over examples, so a square of it takes pairs of them: with r_x(S) = v_x(S) - u(S) for B examples x,

    .. math:: \widehat{(v - u)^2}(S) = \frac{(\sum_x r_x)^2 - \sum_x r_x^2}{B (B - 1)}

    is right on average, where the square of the mean would hold the differences of examples. S and its complement make
    a block. Of v_x the part that grows evenly with |S| towards the known v_x(D) is replaced by its mean.

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
        """Any game will do."""

    def chunk(self, game: Game) -> int:
        return BLOCKS_AT_ONCE

    def pause(self, game: Game, made: int) -> int:
        return by_quarters(self.chunk(game), made)

    @staticmethod
    def payoffs(draws: int) -> int:
        """How many payoffs so many blocks take."""
        return 2 * EXAMPLES * draws

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return self.payoffs(draws) * rows_at(game, ability(game, SubsampledGame))

    def limit(self, game: Game) -> int | None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Draws:
        examples = draw_examples(game, draws * EXAMPLES, rng)
        one_way = draw_uniform_sizes(draws, game.n_players, rng)
        S = np.stack([one_way, ~one_way], axis=1)  # (n, 2, p)
        subsampled = ability(game, SubsampledGame)
        payoffs, _ = payoffs_at(game, subsampled, examples, np.repeat(S, EXAMPLES, axis=0), rng, skip=True)
        empty, full = (end[examples] for end in game.ends)  # (n B, L)
        share = np.repeat(S.mean(axis=2), EXAMPLES, axis=0)[:, :, None]
        v = payoffs - empty[:, None] - share * ((full - empty) - total(game))[:, None]
        v = v.reshape(draws, EXAMPLES, 2, -1)
        u = np.einsum("nsp,lp->nsl", S, self.values)[:, None]
        off = (v - u).mean(axis=1)  # (n, 2, L)
        moments = np.stack([_square(v - u), _square(v), v.mean(axis=1)], axis=3).mean(axis=1)  # (n, L, 3)
        apart = np.einsum("nsl,nsp->nlp", off, S) / 2
        return collect(game, np.concatenate([moments, apart], axis=2), examples, payoffs)

    def merge(self, one: Draws, other: Draws) -> Draws:
        return one.merge(other)

    def read(self, game: Game, state: Draws) -> Estimate:
        return read(game, state, self.rows(game, state.moments.count))


def sampled_share(found: Estimate, place: int, covariance: np.ndarray) -> Share | None:
    r"""The share from moments found by blocks, for loss ``place``; covariance (p, p) is that of the values of u.

    Errors d of the values, independent of the blocks, move E[(v - u)^2] by E[(\sum_{i \in S} d_i)^2], which is taken
    off (i is in S with a chance of 1/2, i and j are with 1/3), and by -2 E[(v - u) \sum_{i \in S} d_i]; how far the two
    scatter is part of the error.
    None where the variance of v cannot be told from zero.
    """
    moments, scatter = found.values[place], found.covariance[place]
    p = len(covariance)
    spread = (np.eye(p) / 6 + 1 / 3) @ covariance
    off = moments[SQUARES] - np.trace(spread)
    variance = moments[POWERS] - moments[MEANS] ** 2 + scatter[MEANS, MEANS]
    towards = np.array([0.0, 1.0, -2 * moments[MEANS]])
    if variance <= max(CLEAR * np.sqrt(towards @ scatter[:3, :3] @ towards), ROUNDING**2 * found.scale[place] ** 2):
        return None
    slope = (np.array([1.0, 0.0, 0.0]) - off / variance * towards) / variance
    along, squared = 4 * moments[3:] @ covariance @ moments[3:], 2 * (spread * spread.T).sum()
    by_values = max(along - squared, squared) / variance**2  # v - u was seen with d in it: twice ``squared`` too large
    return Share(float(off / variance), float(np.sqrt(slope @ scatter[:3, :3] @ slope + by_values)))


@dataclass(frozen=True)
class ShareKnown:
    """Stops once the standard error of the share is below ``tolerance``; covariances (L, p, p) are those of u."""

    tolerance: float
    covariances: np.ndarray

    def __call__(self, estimate: Estimate) -> StopReason | None:
        if estimate.draws < FEWEST_DRAWS:
            return None
        shares = [sampled_share(estimate, place, one) for place, one in enumerate(self.covariances)]
        is_known = all(share is not None and share.std_error <= self.tolerance for share in shares)
        return StopReason.RULE if is_known else None


def _square(each: np.ndarray) -> np.ndarray:
    """Estimates of the square of a mean from B draws of it, right on average: (n, B, ...) -> (n, ...)."""
    B = each.shape[1]
    return np.asarray((each.sum(axis=1) ** 2 - (each**2).sum(axis=1)) / (B * (B - 1)))
