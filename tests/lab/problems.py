"""Seven problems small enough that their SAGE values are known exactly: ordinary ones, and some made to mislead.

Each is a model of eight features, as a plain function of rows, with examples, responses and background rows of its own.
``PROBLEMS`` is the table of names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.games import PredictivePower
from clarysage.removal import Marginal
from clarysage.testing.problems import log_cosh

FEATURES = 8
EXAMPLES = 80
BACKGROUND = 140


@dataclass(frozen=True)
class Problem:
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
        """v_f with withheld features drawn from the background."""
        return PredictivePower.of(Marginal(self.background).restrict(self.model, self.X), loss, self.X, self.y)


def problem(name: str, seed: int = 0, **sizes: int) -> Problem:
    """A problem by name; ``examples`` and ``background`` change its size."""
    return PROBLEMS[name](np.random.default_rng(seed), **sizes)


def linear(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> Problem:
    """A linear model of dependent features, the last of which it ignores."""
    X, B = _dependent(rng, examples), _dependent(rng, background)
    y = _linear(X) + rng.normal(size=examples)
    return Problem("linear", _linear, X, y, B, ("squared error", "absolute error", log_cosh))


def logistic(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> Problem:
    """Probabilities of two classes; the last feature is ignored."""
    X, B = _dependent(rng, examples), _dependent(rng, background)
    y = _drawn(_logistic(X), rng)
    return Problem("logistic", _logistic, X, y, B, ("cross entropy", "brier", "zero one"))


def redundant(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> Problem:
    """Eight noisy copies of one binary signal: which of them enters first takes nearly all."""
    signal = rng.random(examples + background) < 0.5
    rows = signal[:, None] + 0.3 * rng.normal(size=(len(signal), FEATURES))
    X, B = rows[:examples], rows[examples:]
    y = (signal[:examples] ^ (rng.random(examples) < 0.05)).astype(np.float64)
    return Problem("redundant", _redundant, X, y, B, ("squared error", "cross entropy", "zero one"))


def interaction(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> Problem:
    """Features that count only together; the last two are ignored."""
    X, B = rng.normal(size=(examples, FEATURES)), rng.normal(size=(background, FEATURES))
    y = _interaction(X) + 0.5 * rng.normal(size=examples)
    return Problem("interaction", _interaction, X, y, B, ("squared error", "absolute error", log_cosh))


def weak(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> Problem:
    """Probabilities of three classes that hardly depend on the features."""
    X, B = _dependent(rng, examples), _dependent(rng, background)
    y = _drawn(_weak(X), rng)
    return Problem("weak", _weak, X, y, B, ("cross entropy", "brier", "zero one"))


def rare(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> Problem:
    """A linear model in which one example carries most of the last feature's value; of five times as many as usual."""
    examples = 5 * examples
    X, B = _dependent(rng, examples), _dependent(rng, background)
    X[:, -1], B[:, -1] = 0.3 * rng.normal(size=examples), 0.3 * rng.normal(size=background)
    X[examples // 3, -1] = 1.5 * np.sqrt(examples)
    y = _rare(X) + rng.normal(size=examples)
    return Problem("rare", _rare, X, y, B, ("squared error", "absolute error"))


def null(rng: np.random.Generator, examples: int = EXAMPLES, background: int = BACKGROUND) -> Problem:
    """Probabilities next to one half, and responses that are tosses of a coin: nothing matters."""
    X, B = rng.normal(size=(examples, FEATURES)), rng.normal(size=(background, FEATURES))
    y = (rng.random(examples) < 0.5).astype(np.float64)
    return Problem("null", _null, X, y, B, ("squared error", "cross entropy", "absolute error"))


PROBLEMS: dict[str, Callable[..., Problem]] = {
    "linear": linear,
    "logistic": logistic,
    "redundant": redundant,
    "interaction": interaction,
    "weak": weak,
    "rare": rare,
    "null": null,
}


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


def _dependent(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Normal features that share a part."""
    return rng.normal(size=(rows, FEATURES)) + 0.5 * rng.normal(size=(rows, 1))


def _drawn(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Classes drawn with the given probabilities (n, k)."""
    below = rng.random((len(probabilities), 1)) > np.cumsum(probabilities, axis=1)
    return np.asarray(below[:, :-1].sum(axis=1))
