"""True SAGE values of a game, from a plain permutation sampler that shares no code with the methods compared.

Each example is walked along a random permutation of the features and along its reverse, several times. The loss of a
coalition is that of the mean prediction over all background rows, so the values are unbiased for any loss. A row that
does not change when a feature enters is not predicted again. The results stay in ``benchmarks/.cache``, under a key
made from the game itself; when more passes are needed, they are added to the stored ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from games import BenchmarkGame
from joblib import Parallel, delayed

CACHE = Path(__file__).parent / ".cache"
ROWS_AT_ONCE = 65_536
PASSES_AT_ONCE = 2  # the fewest from which a variance can be estimated
CLIP = 1e-12  # the smallest probability, as in both libraries


@dataclass(frozen=True)
class Truth:
    """Values (d,), their variances (d,), and the number of passes over all examples."""

    values: np.ndarray
    variance: np.ndarray
    passes: int

    @property
    def range(self) -> float:
        return float(np.ptp(self.values))

    def merge(self, other: Truth) -> Truth:
        passes = self.passes + other.passes
        weight, other_weight = self.passes / passes, other.passes / passes
        return Truth(
            weight * self.values + other_weight * other.values,
            weight**2 * self.variance + other_weight**2 * other.variance,
            passes,
        )


def truth(game: BenchmarkGame, passes: int) -> Truth:
    """Returns the values of a game from at least the given number of passes over its examples."""
    f = prediction(game.model)
    full, empty = f(game.X), f(game.background)
    path = CACHE / f"truth-{cache_key(game, full, empty)}.npz"
    stored = None
    if path.exists():
        with np.load(path) as arrays:
            stored = Truth(arrays["values"], arrays["variance"], int(arrays["passes"]))
        if stored.passes >= passes:
            return stored
    done = stored.passes if stored else 0
    work = (delayed(sample_values)(game, f, full, empty, seed) for seed in range(done, passes, PASSES_AT_ONCE))
    parts = Parallel(n_jobs=-1)(work)  # on all cores: this is not timed
    merged = reduce(Truth.merge, parts if stored is None else [stored, *parts])
    CACHE.mkdir(exist_ok=True)
    np.savez(path, values=merged.values, variance=merged.variance, passes=merged.passes)
    return merged


def cache_key(game: BenchmarkGame, *outputs: np.ndarray) -> str:
    key = hashlib.sha256(game.loss.encode())
    for array in (game.X, game.y, game.background, *outputs):
        key.update(np.ascontiguousarray(array).tobytes())
    return key.hexdigest()[:16]


def prediction(model: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Returns the model as a function: probabilities of a classifier, else predictions."""
    return getattr(model, "predict_proba", None) or getattr(model, "predict", None) or model


def sample_values(game: BenchmarkGame, f: Callable, full: np.ndarray, empty: np.ndarray, seed: int) -> Truth:
    """Estimates the values from a few passes over the examples, with antithetic permutations."""
    N, d, m = game.shape
    rng = np.random.default_rng([2020, seed])
    gains = np.empty((PASSES_AT_ONCE, N, d))
    at_once = max(1, ROWS_AT_ONCE // ((d - 1) * m))
    for number in range(PASSES_AT_ONCE):
        for start in range(0, N, at_once):
            part = slice(start, min(start + at_once, N))
            orders = rng.permuted(np.tile(np.arange(d), (part.stop - start, 1)), axis=1)
            forward, backward = (
                walk_gains(game, f, full, empty, part, direction) for direction in (orders, orders[:, ::-1])
            )
            gains[number, part] = (forward + backward) / 2
    within = gains.var(axis=0, ddof=1).sum(axis=0)  # of single passes: every example is walked equally often
    return Truth(gains.mean(axis=(0, 1)), within / N**2 / PASSES_AT_ONCE, PASSES_AT_ONCE)


def walk_gains(
    game: BenchmarkGame, f: Callable, full: np.ndarray, empty: np.ndarray, part: slice, orders: np.ndarray
) -> np.ndarray:
    """Returns by how much each feature (n, d) reduces the loss when it enters, for examples in the given orders."""
    X, y, background = game.X[part], game.y[part], game.background
    (n, d), m = orders.shape, len(background)
    coalitions = np.argsort(orders, axis=1)[:, None, :] <= np.arange(d - 1)[:, None]  # (n, d - 1, d)
    values, replaced = np.take_along_axis(X, orders, axis=1), background[:, orders].transpose(1, 2, 0)  # (n, d, m)
    is_new = (values[:, :, None] != replaced)[:, : d - 1]  # (n, d - 1, m): the entering feature changes the row
    example, step, row = np.nonzero(is_new)
    outputs = np.empty((n, d, m, *empty.shape[1:]))
    outputs[:, 0] = empty
    outputs[:, 1:][is_new] = f(np.where(coalitions[example, step], X[example], background[row]))
    last = np.maximum.accumulate(np.arange(1, d)[:, None] * is_new, axis=1)  # the step at which the row last changed
    steps = np.concatenate([np.zeros((n, 1, m), dtype=int), last], axis=1)
    means = outputs[np.arange(n)[:, None, None], steps, np.arange(m)].mean(axis=2)  # (n, d, ...)
    losses = loss_values(game.loss, np.concatenate([means, full[part][:, None]], axis=1), y)  # (n, d + 1)
    gains = np.empty((n, d))
    np.put_along_axis(gains, orders, losses[:, :-1] - losses[:, 1:], axis=1)
    return gains


def loss_values(name: str, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Returns the losses of predictions (n, steps) or (n, steps, classes)."""
    if name == "squared error":
        return (predictions - y[:, None]) ** 2
    return -np.log(np.maximum(predictions[np.arange(len(y)), :, y], CLIP))
