"""Populations with known SAGE values, from which fresh rows can be drawn: a test of intervals about populations.

Each has a distribution of rows and responses, and a model of eight features. ``POPULATIONS`` is the table of names.
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
LEVELS, SPAN = 5, 1.5  # number of levels of each feature of the trees, from -SPAN to SPAN
RARE_SCALE = 8.0  # scale of rare rows relative to the others
NODES = 48  # of the quadrature


@dataclass(frozen=True)
class Population:
    """A distribution of rows (n, 8) and responses, a model, a loss, and the SAGE values of the population."""

    name: str
    draw: Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]
    model: Callable[[np.ndarray], np.ndarray]
    loss: str
    truth: np.ndarray

    def game(self, examples: int, background: int, rng: np.random.Generator, *, overlap: bool = False) -> Any:
        """Returns the game of fresh rows; with ``overlap`` the background is drawn from them."""
        X, y = self.draw(examples, rng)
        chosen = rng.choice(examples, background, replace=False) if overlap else None
        rows = self.draw(background, rng)[0] if chosen is None else X[chosen]
        return PredictivePower.of(Marginal(rows, examples=chosen).restrict(self.model, X), self.loss, X, y)


CORRELATED = 0.4 ** np.abs(np.subtract.outer(np.arange(FEATURES), np.arange(FEATURES)))
SLOPES = np.array([1.2, 1.0, 0.8, 0.5, 0.3, 0.0, 0.25, 0.0])
LEARNED = np.array([1.0, 1.1, 0.7, 0.6, 0.2, 0.0, -0.25, 0.0])  # by the model, which ignores the last feature


@cache
def linear(name: str = "linear", *, offset: float = 0.0, dof: float = np.inf, rare: float = 0.0) -> Population:
    """Returns a linear model with a constant error ``offset``, on normal or Student's t rows, a share ``rare`` of them
    with eight times the scale.

    The sixth feature is used but has value zero; the seventh has a negative value; the last is ignored.
    """
    learned = LEARNED.copy()
    learned[5] = _weight_of_zero_value(learned, 5)
    root = np.linalg.cholesky(CORRELATED)
    scale = 1.0 if np.isinf(dof) else (dof - 2) / dof  # to keep the covariance

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, FEATURES)) @ root.T
        if np.isfinite(dof):
            X *= np.sqrt(scale * dof / rng.chisquare(dof, size=(n, 1)))
        X *= np.where(rng.random((n, 1)) < rare, RARE_SCALE, 1.0) if rare else 1.0
        return X, X @ SLOPES + rng.normal(size=n)

    truth = _values_of_linear(learned, CORRELATED, SLOPES) * (1 - rare + rare * RARE_SCALE**2)
    return Population(name, draw, Linear(learned, offset), "squared error", truth)


@cache
def redundant() -> Population:
    """Returns eight noisy copies of one sign, with their mean as the model."""
    agree = 0.8  # correlation of a copy with the sign

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        sign = rng.choice([-1.0, 1.0], size=n)
        flips = rng.random((n, FEATURES)) < (1 - agree) / 2
        return np.where(flips, -sign[:, None], sign[:, None]), sign

    covariance = np.full((FEATURES, FEATURES), agree**2)
    np.fill_diagonal(covariance, 1.0)
    weights = np.full(FEATURES, 1 / FEATURES)
    slopes = np.linalg.solve(covariance, np.full(FEATURES, agree))
    return Population(
        "redundant", draw, Linear(weights), "squared error", _values_of_linear(weights, covariance, slopes)
    )


@cache
def logistic() -> Population:
    """Returns an overconfident logistic model on correlated normal rows."""
    learned = 1.25 * LEARNED
    root = np.linalg.cholesky(CORRELATED)

    def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(n, FEATURES)) @ root.T
        return X, (rng.random(n) < _sigmoid(X @ SLOPES)).astype(np.float64)

    return Population(
        "logistic", draw, Logistic(learned), "cross entropy", _values_of_logistic(learned, SLOPES, CORRELATED)
    )


@cache
def boosting() -> Population:
    """Returns boosted trees on independent features with five levels each.

    All possible predictions are computed once and looked up, so that many runs are fast; the values follow by
    enumeration.
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
    for S in masks(np.arange(2**FEATURES), FEATURES):
        f_S = f.mean(axis=tuple(np.flatnonzero(~S)), keepdims=True)
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
    """A table of the predictions for all rows of evenly spaced levels; the last feature varies fastest."""

    predictions: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        numbers = np.rint((rows + SPAN) * ((LEVELS - 1) / (2 * SPAN))).astype(np.intp)
        return np.asarray(self.predictions[numbers @ LEVELS ** np.arange(FEATURES - 1, -1, -1)])


@dataclass(frozen=True)
class Logistic:
    weights: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return _sigmoid(rows @ self.weights)


def _values_of_linear(learned: np.ndarray, covariance: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Returns the values of a linear model with squared error, for responses with the given slopes.

    E[(y - f_S)^2] is (slopes - w_S)' covariance (slopes - w_S) up to a constant, since withheld features have mean 0.
    """
    off = slopes - masks(np.arange(2**FEATURES), FEATURES) * learned
    return shapley_values(-np.einsum("si,ij,sj->s", off, covariance, off))


def _weight_of_zero_value(learned: np.ndarray, feature: int) -> float:
    """Returns the nonzero weight at which a feature has value zero, by bisection."""
    low, high = 0.05, 3.0

    def value(weight: float) -> float:
        weights = np.where(np.arange(FEATURES) == feature, weight, learned)
        return float(_values_of_linear(weights, CORRELATED, SLOPES)[feature])

    assert value(low) > 0 > value(high)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if value(middle) > 0 else (low, middle)
    return low


def _values_of_logistic(learned: np.ndarray, slopes: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Returns the values of a logistic model of normal rows with cross entropy, by quadrature.

    The margin of the features in S and the log odds of the response are jointly normal; the margin of the withheld
    features is an independent normal variable.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    losses = []
    for S in masks(np.arange(2**FEATURES), FEATURES):
        inside, outside = learned * S, learned * ~S
        var_in, var_out = (float(weights_of @ covariance @ weights_of) for weights_of in (inside, outside))
        with_odds, var_odds = float(inside @ covariance @ slopes), float(slopes @ covariance @ slopes)
        margin = np.sqrt(var_in) * nodes  # (a,)
        f, other = (_sigmoid(side * (margin[:, None] + np.sqrt(var_out) * nodes)) @ weights for side in (1, -1))
        slope = with_odds / var_in if var_in > 0 else 0.0
        left = np.sqrt(max(0.0, var_odds - slope * with_odds))
        probability = _sigmoid(slope * margin[:, None] + left * nodes) @ weights  # P(y = 1 | margin)
        losses.append(-weights @ (probability * np.log(f) + (1 - probability) * np.log(other)))
    return shapley_values(-np.array(losses))


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-z)))
