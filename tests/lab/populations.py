"""Populations that rows can be drawn from afresh, whose SAGE values are known: what intervals about them must hold.

Each is a model of eight features with a law of rows and responses. ``POPULATIONS`` is the table of names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from clarysage.coalitions import masks, shapley_values
from clarysage.games import PredictivePower
from clarysage.removal import Marginal

FEATURES = 8
LEVELS, SPAN = 5, 1.5  # of each feature of the model of trees, from one end to the other of zero
FAR_OUT = 8.0  # times as far as others, rare rows are
NODES = 48  # of a quadrature


@dataclass(frozen=True)
class Population:
    """A law of rows (n, 8) with responses, a model, a loss, and the values of an endless sample from it."""

    name: str
    draw: Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]
    model: Callable[[np.ndarray], np.ndarray]
    loss: str
    truth: np.ndarray

    def game(self, examples: int, background: int, rng: np.random.Generator, *, overlap: bool = False) -> Any:
        """The game of fresh rows; with ``overlap`` the background is drawn from them."""
        X, y = self.draw(examples, rng)
        chosen = rng.choice(examples, background, replace=False) if overlap else None
        rows = self.draw(background, rng)[0] if chosen is None else X[chosen]
        return PredictivePower.of(Marginal(rows, examples=chosen).restrict(self.model, X), self.loss, X, y)


CORRELATED = 0.4 ** np.abs(np.subtract.outer(np.arange(FEATURES), np.arange(FEATURES)))
SLOPES = np.array([1.2, 1.0, 0.8, 0.5, 0.3, 0.0, 0.25, 0.0])
LEARNED = np.array([1.0, 1.1, 0.7, 0.6, 0.2, 0.0, -0.25, 0.0])  # by the model, which ignores the last feature


@cache
def linear(name: str = "linear", *, offset: float = 0.0, dof: float = np.inf, rare: float = 0.0) -> Population:
    """A linear model, off by a constant where ``offset`` says so, of rows with tails like Student's t, or of which the
    share ``rare`` is eight times as far out.

    The sixth feature is used, and worth nothing; the seventh harms; the last is ignored.
    """
    learned = LEARNED.copy()
    learned[5] = _worthless(learned, 5)
    root = np.linalg.cholesky(CORRELATED)
    scale = 1.0 if np.isinf(dof) else (dof - 2) / dof  # to keep the covariance

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, FEATURES)) @ root.T
        if np.isfinite(dof):
            X *= np.sqrt(scale * dof / rng.chisquare(dof, size=(n, 1)))
        X *= np.where(rng.random((n, 1)) < rare, FAR_OUT, 1.0) if rare else 1.0
        return X, X @ SLOPES + rng.normal(size=n)

    truth = _of_linear(learned, CORRELATED, SLOPES) * (1 - rare + rare * FAR_OUT**2)
    return Population(name, draw, Linear(learned, offset), "squared error", truth)


@cache
def redundant() -> Population:
    """Eight noisy copies of one sign, and their mean as the model."""
    agree = 0.8  # correlation of a copy with the sign

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        sign = rng.choice([-1.0, 1.0], size=n)
        flips = rng.random((n, FEATURES)) < (1 - agree) / 2
        return np.where(flips, -sign[:, None], sign[:, None]), sign

    covariance = np.full((FEATURES, FEATURES), agree**2)
    np.fill_diagonal(covariance, 1.0)
    weights = np.full(FEATURES, 1 / FEATURES)
    slopes = np.linalg.solve(covariance, np.full(FEATURES, agree))
    return Population("redundant", draw, Linear(weights), "squared error", _of_linear(weights, covariance, slopes))


@cache
def logistic() -> Population:
    """A logistic model that is too sure of itself, of correlated normal rows."""
    learned = 1.25 * LEARNED
    root = np.linalg.cholesky(CORRELATED)

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, FEATURES)) @ root.T
        return X, (rng.random(n) < _sigmoid(X @ SLOPES)).astype(np.float64)

    return Population("logistic", draw, Logistic(learned), "cross entropy", _of_logistic(learned, SLOPES, CORRELATED))


@cache
def boosting() -> Population:
    """Boosted trees, fitted once to 2,000 rows of independent features of five levels each.

    All predictions there are were made once, and are looked up: runs are many, and the values known by enumeration.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    levels = np.linspace(-SPAN, SPAN, LEVELS)

    def mean(X: np.ndarray) -> np.ndarray:
        x = X.T
        return np.asarray(np.sin(2 * x[0] * x[1]) + x[2] + 0.5 * x[3] ** 2 + 0.3 * x[4] * (x[5] > 0))

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = levels[rng.integers(LEVELS, size=(n, FEATURES))]
        return X, mean(X) + 0.5 * rng.normal(size=n)

    X, y = draw(2000, np.random.default_rng(0))
    model = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=15, random_state=0).fit(X, y)
    grid = np.array(list(product(levels, repeat=FEATURES)))
    shape = (LEVELS,) * FEATURES
    f, g = model.predict(grid).reshape(shape), mean(grid).reshape(shape)
    losses = []
    for kept in masks(np.arange(2**FEATURES), FEATURES):
        f_S = f.mean(axis=tuple(np.flatnonzero(~kept)), keepdims=True)
        losses.append(((g - f_S) ** 2).mean())
    return Population("boosting", draw, LookedUp(f.ravel()), "squared error", shapley_values(-np.array(losses)))


POPULATIONS: dict[str, Callable[[], Population]] = {
    "linear": linear,
    "offset": lambda: linear("offset", offset=1.5),
    "boosting": boosting,
    "logistic": logistic,
    "redundant": redundant,
    "heavy tails": lambda: linear("heavy tails", dof=5.0),
    "rare rows": lambda: linear("rare rows", rare=0.01),
}


@dataclass(frozen=True)
class Linear:
    weights: np.ndarray
    intercept: float = 0.0

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows @ self.weights + self.intercept)


@dataclass(frozen=True)
class LookedUp:
    """Predictions for all rows of evenly spaced levels, the last feature's level counting by ones."""

    predictions: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        numbers = np.rint((rows + SPAN) * ((LEVELS - 1) / (2 * SPAN))).astype(np.intp)
        return np.asarray(self.predictions[numbers @ LEVELS ** np.arange(FEATURES - 1, -1, -1)])


@dataclass(frozen=True)
class Logistic:
    weights: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return _sigmoid(rows @ self.weights)


def _of_linear(learned: np.ndarray, covariance: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Values by squared error of a linear model, for responses with the given slopes: E[(y - f_S)^2], up to a constant,
    is (slopes - w_S)' covariance (slopes - w_S), since withheld features of mean zero drop out."""
    off = slopes - masks(np.arange(2**FEATURES), FEATURES) * learned
    return shapley_values(-np.einsum("si,ij,sj->s", off, covariance, off))


def _worthless(learned: np.ndarray, place: int) -> float:
    """The weight other than zero at which a feature is worth nothing, by bisection."""
    low, high = 0.05, 3.0

    def worth(weight: float) -> float:
        return float(_of_linear(np.where(np.arange(FEATURES) == place, weight, learned), CORRELATED, SLOPES)[place])

    assert worth(low) > 0 > worth(high)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if worth(middle) > 0 else (low, middle)
    return low


def _of_logistic(learned: np.ndarray, slopes: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Values by cross entropy of a logistic model of normal rows: the margin of the kept features and the log odds of
    the response are jointly normal, the margin of the withheld ones is normal beside them."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    losses = []
    for kept in masks(np.arange(2**FEATURES), FEATURES):
        inside, outside = learned * kept, learned * ~kept
        var_in, var_out = (float(one @ covariance @ one) for one in (inside, outside))
        with_odds, var_odds = float(inside @ covariance @ slopes), float(slopes @ covariance @ slopes)
        margin = np.sqrt(var_in) * nodes  # (a,)
        f, other = (_sigmoid(side * (margin[:, None] + np.sqrt(var_out) * nodes)) @ weights for side in (1, -1))
        slope = with_odds / var_in if var_in > 0 else 0.0
        left = np.sqrt(max(0.0, var_odds - slope * with_odds))
        chance = _sigmoid(slope * margin[:, None] + left * nodes) @ weights  # P(y = 1 | margin)
        losses.append(-weights @ (chance * np.log(f) + (1 - chance) * np.log(other)))
    return shapley_values(-np.array(losses))


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-z)))
