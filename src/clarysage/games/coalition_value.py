"""v(S) of one coalition over all examples for a bounded number of model rows: a regression estimator.

What examples gain from all features is known for every one of them, and serves as the auxiliary variable of survey
sampling (Cochran, Sampling Techniques, 1977, ch. 7): of a sample of examples the mean gain from S is moved along a
regression line to the known mean gain of all.
"""

from __future__ import annotations

import numpy as np

from clarysage.protocols import CoalitionValue, Game, SubsampledGame, ability

ROWS = 2**14  # model rows of a coalition, about
ROWS_OF_NATIVE = 2**16  # the same of a model whose structure is known
LEAST_EXAMPLES = 64
COMPARED = 16  # examples at least of which payoffs with few rows are compared with those of all


def coalition_value(game: Game, coalition: np.ndarray, rng: np.random.Generator) -> CoalitionValue:
    r"""Estimates v(S) of a game of a model, exactly where that is affordable.

    Otherwise few background rows are drawn, twice for each example, so that the two payoffs a, b of an example tell
    the variance of their mean. Where examples are too many for that, k of them are drawn by weight, and what they gain
    is corrected by what they would gain with all features, which is known for every example: with g for gains from S,
    c for gains from D

    .. math:: \hat v(S) = \bar g + \beta (v(D) - \bar c)

    over each half of the examples, with the slope beta of the other half, so that it is right on average. Losses for
    which few rows are off on average are corrected by some examples for which all rows are asked.
    """
    subsampled = ability(game, SubsampledGame)
    examples = np.flatnonzero(game.weights > 0)
    is_native = subsampled is not None and not subsampled.asks_model
    rows = game.rows_per_payoff if subsampled is None else subsampled.rows_in_all
    limit = ROWS_OF_NATIVE if is_native else ROWS
    if len(examples) * rows <= limit or len(examples) <= LEAST_EXAMPLES:
        gains = _gains(game, examples, coalition, rng)
        return CoalitionValue(game.weights[examples] @ gains, np.zeros(gains.shape[1]), len(examples) * rows)
    if subsampled is None or is_native:
        sample = _sample(game, max(LEAST_EXAMPLES, limit // rows), rng)
        value, variance = _regression_estimate(game, sample, _gains(game, sample, coalition, rng))
        return CoalitionValue(value, variance, len(sample) * rows)
    estimate = _by_subsamples(game, subsampled, examples, coalition, limit, rng)
    if subsampled.is_unbiased:
        return estimate
    return _debiased(game, subsampled, coalition, estimate, max(COMPARED, limit // rows // 2), rng)


def _by_subsamples(
    game: Game,
    subsampled: SubsampledGame,
    examples: np.ndarray,
    coalition: np.ndarray,
    limit: int,
    rng: np.random.Generator,
) -> CoalitionValue:
    """v(S) from subsamples of the background, of all examples or of a sample of them."""
    if 2 * len(examples) * subsampled.rows > limit:
        sample = _sample(game, max(LEAST_EXAMPLES, limit // subsampled.rows), rng)
        gains, rows = _subsampled_gains(game, subsampled, sample, coalition, rng)
        return CoalitionValue(*_regression_estimate(game, sample, gains), rows)
    gains, rows = _subsampled_gains(game, subsampled, np.tile(examples, 2), coalition, rng)
    first, second = np.split(gains, 2)
    weights = game.weights[examples]
    return CoalitionValue(weights @ (first + second) / 2, weights**2 @ (first - second) ** 2 / 4, rows)


def _debiased(
    game: Game,
    subsampled: SubsampledGame,
    coalition: np.ndarray,
    estimate: CoalitionValue,
    count: int,
    rng: np.random.Generator,
) -> CoalitionValue:
    """The estimate less the mean bias of subsamples, which some examples tell for which all rows are asked."""
    sample, everyone = _sample(game, count, rng), np.ones(len(coalition), dtype=bool)
    compared = subsampled.compare(sample, _repeated(coalition, sample), everyone, rng, skip=True)
    bias = compared.exact - compared.subsampled
    return CoalitionValue(
        estimate.value + bias.mean(axis=0),
        estimate.variance + bias.var(axis=0, ddof=1) / len(bias),
        estimate.rows + compared.rows,
    )


def _sample(game: Game, count: int, rng: np.random.Generator) -> np.ndarray:
    """Examples drawn by weight."""
    return rng.choice(len(game.weights), size=count, p=game.weights)


def _gains(game: Game, examples: np.ndarray, coalition: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What examples gain from a coalition, (n, L)."""
    return np.asarray(game.payoff(examples, _repeated(coalition, examples), rng) - game.ends[0][examples])


def _subsampled_gains(
    game: Game, subsampled: SubsampledGame, examples: np.ndarray, coalition: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """What examples gain from a coalition by a subsample of the background, (n, L), and model rows."""
    payoffs, rows = subsampled.at(examples, _repeated(coalition, examples)[:, None], rng, skip=True)
    return payoffs[:, 0] - game.ends[0][examples], rows


def _repeated(coalition: np.ndarray, examples: np.ndarray) -> np.ndarray:
    return np.broadcast_to(coalition, (len(examples), len(coalition)))


def _regression_estimate(game: Game, sample: np.ndarray, gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean gains (L,) of all examples from those of a sample, (n, L), and their variance.

    Each half of the sample has the slope of the other half, so that slope and residuals are independent.
    """
    auxiliary = game.ends[1] - game.ends[0]
    sampled, mean, half = auxiliary[sample], game.weights @ auxiliary, len(sample) // 2
    one, other = slice(half), slice(half, None)
    parts = [
        gains[this] + _slope(gains[that], sampled[that]) * (mean - sampled[this])
        for this, that in ((one, other), (other, one))
    ]
    value = np.mean([part.mean(axis=0) for part in parts], axis=0)
    return value, np.sum([part.var(axis=0, ddof=1) / len(part) for part in parts], axis=0) / 4


def _slope(gains: np.ndarray, auxiliary: np.ndarray) -> np.ndarray:
    """Slopes (L,) of gains (n, L) in an auxiliary variable; 0 where that has the same value for all."""
    centred = auxiliary - auxiliary.mean(axis=0)
    scatter = (centred**2).sum(axis=0)
    return np.asarray(np.divide((centred * gains).sum(axis=0), scatter, out=np.zeros_like(scatter), where=scatter > 0))
