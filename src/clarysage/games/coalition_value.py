"""v(S) of one coalition over all examples, for a bounded number of model rows, with the variance of its sampling."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.protocols import Worth
from clarysage.removal.hybrid import HybridModel

ROWS = 2**14  # model rows of a coalition, about
ROWS_OF_NATIVE = 2**16  # the same of a model whose structure is known
LEAST_EXAMPLES = 64
COMPARED = 16  # examples at least of which payoffs with few rows are compared with those of all


def worth(game: Any, coalition: np.ndarray, rng: np.random.Generator) -> Worth:
    r"""v(S) of a game of a model, exact where that is affordable.

    Otherwise few background rows are drawn, twice for each example, so that the two payoffs a, b of an example tell
    the variance of their mean. Where examples are too many for that, k of them are drawn by weight, and what they gain
    is corrected by what they would gain with all features, which is known for every example: with g for gains from S,
    c for gains from D

    .. math:: \hat v(S) = \bar g + \beta (v(D) - \bar c)

    over each half of the examples, with the slope beta of the other half, so that it is right on average. Losses for
    which few rows are off on average are set right by some examples for which all rows are asked.
    """
    examples = np.flatnonzero(game.weights > 0)
    is_native = isinstance(game.restricted, HybridModel) and game.restricted.native is not None
    rows = game.rows_per_payoff if game.short is None else len(game.short.restricted.background)
    limit = ROWS_OF_NATIVE if is_native else ROWS
    if len(examples) * rows <= limit or len(examples) <= LEAST_EXAMPLES:
        gains = _gains(game, examples, coalition, rng)
        return Worth(game.weights[examples] @ gains, np.zeros(gains.shape[1]), len(examples) * rows)
    if is_native or game.short is None:
        drawn = _drawn(game, max(LEAST_EXAMPLES, limit // rows), rng)
        value, variance = _regressed(game, drawn, _gains(game, drawn, coalition, rng))
        return Worth(value, variance, len(drawn) * rows)
    found = _with_few_rows(game, examples, coalition, limit, rng)
    return (
        found if game.short.is_unbiased else _set_right(game, coalition, found, max(COMPARED, limit // rows // 2), rng)
    )


def _with_few_rows(
    game: Any, examples: np.ndarray, coalition: np.ndarray, limit: int, rng: np.random.Generator
) -> Worth:
    if 2 * len(examples) * game.short.rows > limit:
        drawn = _drawn(game, max(LEAST_EXAMPLES, limit // game.short.rows), rng)
        gains, rows = _few(game, drawn, coalition, rng)
        return Worth(*_regressed(game, drawn, gains), rows)
    gains, rows = _few(game, np.tile(examples, 2), coalition, rng)
    one, two = np.split(gains, 2)
    weights = game.weights[examples]
    return Worth(weights @ (one + two) / 2, weights**2 @ (one - two) ** 2 / 4, rows)


def _set_right(game: Any, coalition: np.ndarray, found: Worth, count: int, rng: np.random.Generator) -> Worth:
    """The same without what few rows are off by on average."""
    drawn = _drawn(game, count, rng)
    shown = game.short.compared(drawn, _of_each(coalition, drawn), np.ones(len(coalition), dtype=bool), rng)
    off = shown.exact - shown.few
    return Worth(
        found.value + off.mean(axis=0), found.variance + off.var(axis=0, ddof=1) / len(off), found.rows + shown.rows
    )


def _drawn(game: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """Examples drawn by weight."""
    return rng.choice(len(game.weights), size=count, p=game.weights)


def _gains(game: Any, examples: np.ndarray, coalition: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What examples gain from a coalition, (n, L)."""
    return np.asarray(game.payoff(examples, _of_each(coalition, examples), rng) - game.ends[0][examples])


def _few(game: Any, examples: np.ndarray, coalition: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """The same from few background rows, and model rows."""
    payoffs, rows = game.short.at(examples, _of_each(coalition, examples)[:, None], rng)
    return payoffs[:, 0] - game.ends[0][examples], rows


def _of_each(coalition: np.ndarray, examples: np.ndarray) -> np.ndarray:
    return np.broadcast_to(coalition, (len(examples), len(coalition)))


def _regressed(game: Any, drawn: np.ndarray, gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean gains (L,) of all examples by those of drawn ones, (n, L), and their variance."""
    whole = game.ends[1] - game.ends[0]
    known, mean, half = whole[drawn], game.weights @ whole, len(drawn) // 2
    one, other = slice(half), slice(half, None)
    parts = [
        gains[own] + _slope(gains[away], known[away]) * (mean - known[own])
        for own, away in ((one, other), (other, one))
    ]
    value = np.mean([part.mean(axis=0) for part in parts], axis=0)
    return value, np.sum([part.var(axis=0, ddof=1) / len(part) for part in parts], axis=0) / 4


def _slope(gains: np.ndarray, known: np.ndarray) -> np.ndarray:
    """By what gains (n, L) grow with known ones, (L,); nothing where those are all the same."""
    off = known - known.mean(axis=0)
    scatter = (off**2).sum(axis=0)
    return np.asarray(np.divide((off * gains).sum(axis=0), scatter, out=np.zeros_like(scatter), where=scatter > 0))
