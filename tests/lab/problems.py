"""Seven problems so small that their SAGE values are known exactly; some are ordinary, some are difficult on purpose.

Each has a model of eight features, which is a plain function of rows, with examples, responses and background rows.
``PROBLEMS`` is the table of names. :func:`exact_values` enumerates all coalitions (:func:`tabulated`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.coalitions import masks
from clarysage.estimators import Exact, estimate
from clarysage.games import PredictivePower, TabularGame
from clarysage.removal import Marginal
from clarysage.testing.problems import log_cosh

FEATURES = 8
EXAMPLES = 80
BACKGROUND = 140
ROWS_PER_PAYOFF = 16  # nominal cost of a payoff: chunks then have a few hundred walks, as with models of ordinary size


@dataclass(frozen=True)
class SmallProblem:
    """A model with examples, responses and background, and the losses that make sense for it.

    Examples
    --------
    >>> problem("linear").game("squared error").n_players
    8
    """

    name: str
    model: Callable[[np.ndarray], np.ndarray]
    X: np.ndarray
    y: np.ndarray
    background: np.ndarray
    losses: tuple[Any, ...]

    def game(self, loss: Any) -> PredictivePower:
        """Returns v_f, with withheld features drawn from the background."""
        return PredictivePower.of(Marginal(self.background).restrict(self.model, self.X), loss, self.X, self.y)


def problem(name: str, seed: int = 0, **sizes: int) -> SmallProblem:
    """Returns a problem by name; ``examples`` and ``background`` change its size."""
    return PROBLEMS[name](np.random.default_rng(seed), **sizes)


def linear(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> SmallProblem:
    """A linear model of dependent features, the last of which it ignores."""
    X, B = _draw_correlated(rng, examples), _draw_correlated(rng, background)
    y = _linear(X) + rng.normal(size=examples)
    return SmallProblem("linear", _linear, X, y, B, ("squared error", "absolute error", log_cosh))


def logistic(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> SmallProblem:
    """Probabilities of two classes; the last feature is ignored."""
    X, B = _draw_correlated(rng, examples), _draw_correlated(rng, background)
    y = _draw_classes(_logistic(X), rng)
    return SmallProblem("logistic", _logistic, X, y, B, ("cross entropy", "brier", "zero one"))


def redundant(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> SmallProblem:
    """Eight noisy copies of one binary signal: the copy that enters first gets nearly all of its value."""
    signal = rng.random(examples + background) < 0.5
    rows = signal[:, None] + 0.3 * rng.normal(size=(len(signal), FEATURES))
    X, B = rows[:examples], rows[examples:]
    y = (signal[:examples] ^ (rng.random(examples) < 0.05)).astype(np.float64)
    return SmallProblem("redundant", _redundant, X, y, B, ("squared error", "cross entropy", "zero one"))


def interaction(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> SmallProblem:
    """Features that matter mostly through interactions; the last two are ignored."""
    X, B = rng.normal(size=(examples, FEATURES)), rng.normal(size=(background, FEATURES))
    y = _interaction(X) + 0.5 * rng.normal(size=examples)
    return SmallProblem("interaction", _interaction, X, y, B, ("squared error", "absolute error", log_cosh))


def weak(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> SmallProblem:
    """Probabilities of three classes that hardly depend on the features."""
    X, B = _draw_correlated(rng, examples), _draw_correlated(rng, background)
    y = _draw_classes(_weak(X), rng)
    return SmallProblem("weak", _weak, X, y, B, ("cross entropy", "brier", "zero one"))


def rare(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> SmallProblem:
    """A linear model; one example, of five times as many as usual, carries most of the last feature's value."""
    examples = 5 * examples
    X, B = _draw_correlated(rng, examples), _draw_correlated(rng, background)
    X[:, -1], B[:, -1] = 0.3 * rng.normal(size=examples), 0.3 * rng.normal(size=background)
    X[examples // 3, -1] = 1.5 * np.sqrt(examples)
    y = _rare(X) + rng.normal(size=examples)
    return SmallProblem("rare", _rare, X, y, B, ("squared error", "absolute error"))


def null(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> SmallProblem:
    """Probabilities close to one half, and responses independent of the features: nothing matters."""
    X, B = rng.normal(size=(examples, FEATURES)), rng.normal(size=(background, FEATURES))
    y = (rng.random(examples) < 0.5).astype(np.float64)
    return SmallProblem("null", _null, X, y, B, ("squared error", "cross entropy", "absolute error"))


PROBLEMS: dict[str, Callable[..., SmallProblem]] = {
    "linear": linear,
    "logistic": logistic,
    "redundant": redundant,
    "interaction": interaction,
    "weak": weak,
    "rare": rare,
    "null": null,
}


def tabulated(game: PredictivePower, rows_per_payoff: int = ROWS_PER_PAYOFF) -> TabularGame:
    """Returns the table of all payoffs of a game of one loss, for estimators that need only payoffs of coalitions.

    Examples
    --------
    >>> tabulated(problem("linear", examples=5).game("squared error")).payoffs.shape
    (5, 256)
    """
    rng = np.random.default_rng(0)  # without effect: withheld features are averaged over the whole background
    examples = np.arange(len(game.weights))
    coalitions = masks(np.arange(2**game.n_players), game.n_players)
    payoffs = [game.payoff(examples, np.tile(members, (len(examples), 1)), rng)[:, 0] for members in coalitions]
    return TabularGame(np.column_stack(payoffs), game.weights, rows_per_payoff)


def exact_values(table: TabularGame) -> np.ndarray:
    """Returns the values (p,) by enumeration of all coalitions (Eq. 6)."""
    return np.asarray(estimate(table, Exact()).values[0])


SLOPES = np.array([2.0, 1.5, 1.0, 0.8, 0.5, 0.3, -0.7, 0.0])
RARE_SLOPES = np.array([2.0, 1.5, 1.0, 0.8, 0.5, 0.3, -0.7, 1.0])
FAINT_SLOPES = 0.15 * np.array([[2, 1, 0, -1, 1, 0, 0, 1], [0, 1, 2, 1, -1, 0, 1, 0], [0] * 8]).T


def _linear(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows @ SLOPES)


def _rare(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows @ RARE_SLOPES)


def _logistic(rows: np.ndarray) -> np.ndarray:
    second = _sigmoid(0.7 * rows @ SLOPES)
    return np.column_stack([1 - second, second])


def _redundant(rows: np.ndarray) -> np.ndarray:
    return _sigmoid(8 * (rows.mean(axis=1) - 0.5))


def _interaction(rows: np.ndarray) -> np.ndarray:
    x = rows.T
    return np.asarray(x[0] * x[1] + x[2] * x[3] + 0.5 * x[4] + x[0] * np.maximum(x[5], 0))


def _weak(rows: np.ndarray) -> np.ndarray:
    odds = np.exp(rows @ FAINT_SLOPES)
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _null(rows: np.ndarray) -> np.ndarray:
    return _sigmoid(0.01 * rows.sum(axis=1))


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-z)))


def _draw_correlated(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Draws correlated normal features: each is the sum of an independent part and a common part."""
    return rng.normal(size=(rows, FEATURES)) + 0.5 * rng.normal(size=(rows, 1))


def _draw_classes(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws classes with the given probabilities (n, k)."""
    below = rng.random((len(probabilities), 1)) > np.cumsum(probabilities, axis=1)
    return np.asarray(below[:, :-1].sum(axis=1))
