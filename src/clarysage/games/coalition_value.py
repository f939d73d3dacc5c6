"""The value v(S) of one coalition over all examples, by a regression estimator with a bounded number of model rows.

The gain from all features is known for every example. It is the auxiliary variable of a regression estimator, as survey
sampling has it (Cochran 1977, ch. 7): the mean gain from S in a sample of examples is moved along a regression line to
where the auxiliary variable has its known population mean. The slope of each half of the sample is fitted on the other
half (cross-fitting, Chernozhukov et al. 2018), so that the estimate is unbiased.

References
----------
W. G. Cochran (1977). Sampling Techniques, 3rd edition. Wiley.
V. Chernozhukov et al. (2018). Double/debiased machine learning for treatment and structural parameters. The
Econometrics Journal 21, C1-C68.
"""

from __future__ import annotations

import numpy as np

from clarysage.protocols import CoalitionValue, Game, SubsampledGame, ability

ROWS = 2**14  # model rows to spend on a coalition, approximately
ROWS_OF_NATIVE = 2**16  # model rows where the structure of the model is known
LEAST_EXAMPLES = 64
COMPARED = 16  # least number of examples whose payoffs by a subsample are compared with those by all background rows


def coalition_value(game: Game, coalition: np.ndarray, rng: np.random.Generator) -> CoalitionValue:
    r"""Estimates v(S) of a game of a model; the value is exact where that is affordable.

    Otherwise the background is subsampled, independently twice for each example, so that the difference of the two
    payoffs of an example estimates the variance of their mean. Where there are too many examples for that, some are
    drawn with probabilities proportional to their weights, and a regression estimator corrects the mean gain of the
    sample: with gains g from S and gains c from the full coalition D,

    .. math:: \hat v(S) = \bar g + \beta (v(D) - \bar c)

    over each half of the sample, with the slope beta of the other half. Where the subsample makes losses biased, the
    mean bias is estimated from some examples that are evaluated with all background rows, and is taken off (two-phase
    sampling).
    """
    subsampled = ability(game, SubsampledGame)
    examples = np.flatnonzero(game.weights > 0)
    is_native = subsampled is not None and not subsampled.calls_model
    rows = game.rows_per_payoff if subsampled is None else subsampled.rows_per_exact_payoff
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
    """Estimates v(S) from subsamples of the background, over all examples or over a sample of them."""
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
    """Corrects an estimate for the mean bias of subsamples, by examples that are evaluated with all background rows."""
    sample, everyone = _sample(game, count, rng), np.ones(len(coalition), dtype=bool)
    compared = subsampled.compare(sample, _repeated(coalition, sample), everyone, rng, skip=True)
    bias = compared.exact - compared.subsampled
    return CoalitionValue(
        estimate.value + bias.mean(axis=0),
        estimate.variance + bias.var(axis=0, ddof=1) / len(bias),
        estimate.rows + compared.rows,
    )


def _sample(game: Game, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draws examples with replacement, with probabilities equal to their weights."""
    return rng.choice(len(game.weights), size=count, p=game.weights)


def _gains(game: Game, examples: np.ndarray, coalition: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns the gains (n, L) of examples from a coalition."""
    return np.asarray(game.payoff(examples, _repeated(coalition, examples), rng) - game.ends[0][examples])


def _subsampled_gains(
    game: Game, subsampled: SubsampledGame, examples: np.ndarray, coalition: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Returns the gains (n, L) of examples from a coalition by a subsample of the background, and the model rows."""
    payoffs, rows = subsampled.at(examples, _repeated(coalition, examples)[:, None], rng, skip=True)
    return payoffs[:, 0] - game.ends[0][examples], rows


def _repeated(coalition: np.ndarray, examples: np.ndarray) -> np.ndarray:
    return np.broadcast_to(coalition, (len(examples), len(coalition)))


def _regression_estimate(game: Game, sample: np.ndarray, gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the mean gains (L,) of all examples, estimated from the gains (n, L) of a sample, and their variances.

    Each half of the sample uses the slope of the other half, so that slope and residuals are independent.
    """
    auxiliary = game.ends[1] - game.ends[0]
    sampled, mean, half = auxiliary[sample], game.weights @ auxiliary, len(sample) // 2
    first, second = slice(half), slice(half, None)
    parts = [
        gains[this] + _slope(gains[that], sampled[that]) * (mean - sampled[this])
        for this, that in ((first, second), (second, first))
    ]
    value = np.mean([part.mean(axis=0) for part in parts], axis=0)
    return value, np.sum([part.var(axis=0, ddof=1) / len(part) for part in parts], axis=0) / 4


def _slope(gains: np.ndarray, auxiliary: np.ndarray) -> np.ndarray:
    """Returns the regression slopes (L,) of gains (n, L) on an auxiliary variable; 0 where that is constant."""
    centred = auxiliary - auxiliary.mean(axis=0)
    scatter = (centred**2).sum(axis=0)
    return np.asarray(np.divide((centred * gains).sum(axis=0), scatter, out=np.zeros_like(scatter), where=scatter > 0))
