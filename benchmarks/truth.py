"""True values of a game, by a method that shares no code with those compared: plain walks over the whole background.

Every example is walked through a random order of the features and its reverse, several times; each loss is that of
the mean prediction over all background rows, so the values are unbiased for any loss. Rows that equal the row before
them are not predicted again. Results are kept in ``benchmarks/.cache`` under a key made of the game itself, and passes
that are wanted beyond those kept are added to them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from games import Case
from joblib import Parallel, delayed

CACHE = Path(__file__).parent / ".cache"
ROWS_AT_ONCE = 65_536
PASSES_AT_ONCE = 2  # the fewest that tell how far they vary
CLIP = 1e-12  # the least probability, as in both libraries


@dataclass(frozen=True)
class Truth:
    """Values (d,), their variances (d,), and the passes over all examples behind them."""

    values: np.ndarray
    variance: np.ndarray
    passes: int

    @property
    def range(self) -> float:
        return float(np.ptp(self.values))

    def merge(self, other: Truth) -> Truth:
        passes = self.passes + other.passes
        one, two = self.passes / passes, other.passes / passes
        return Truth(one * self.values + two * other.values, one**2 * self.variance + two**2 * other.variance, passes)


def truth(case: Case, passes: int) -> Truth:
    """The values of a game by at least the given number of passes over its examples."""
    f = prediction(case.model)
    full, empty = f(case.X), f(case.background)
    path = CACHE / f"truth-{key_of(case, full, empty)}.npz"
    found = None
    if path.exists():
        with np.load(path) as kept:
            found = Truth(kept["values"], kept["variance"], int(kept["passes"]))
        if found.passes >= passes:
            return found
    done = found.passes if found else 0
    work = (delayed(walked)(case, f, full, empty, seed) for seed in range(done, passes, PASSES_AT_ONCE))
    parts = Parallel(n_jobs=-1)(work)  # on all cores: this is not timed
    found = reduce(Truth.merge, parts if found is None else [found, *parts])
    CACHE.mkdir(exist_ok=True)
    np.savez(path, values=found.values, variance=found.variance, passes=found.passes)
    return found


def key_of(case: Case, *outputs: np.ndarray) -> str:
    key = hashlib.sha256(case.loss.encode())
    for part in (case.X, case.y, case.background, *outputs):
        key.update(np.ascontiguousarray(part).tobytes())
    return key.hexdigest()[:16]


def prediction(model: Any) -> Callable[[np.ndarray], np.ndarray]:
    """The model as a function: probabilities of a classifier, else predictions."""
    return getattr(model, "predict_proba", None) or getattr(model, "predict", None) or model


def walked(case: Case, f: Callable, full: np.ndarray, empty: np.ndarray, seed: int) -> Truth:
    """A few passes over the examples."""
    N, d, m = case.shape
    rng = np.random.default_rng([2020, seed])
    gains = np.empty((PASSES_AT_ONCE, N, d))
    at_once = max(1, ROWS_AT_ONCE // ((d - 1) * m))
    for number in range(PASSES_AT_ONCE):
        for start in range(0, N, at_once):
            part = slice(start, min(start + at_once, N))
            orders = rng.permuted(np.tile(np.arange(d), (part.stop - start, 1)), axis=1)
            one, other = (shares(case, f, full, empty, part, way) for way in (orders, orders[:, ::-1]))
            gains[number, part] = (one + other) / 2
    within = gains.var(axis=0, ddof=1).sum(axis=0)  # of single passes: every example is walked equally often
    return Truth(gains.mean(axis=(0, 1)), within / N**2 / PASSES_AT_ONCE, PASSES_AT_ONCE)


def shares(case: Case, f: Callable, full: np.ndarray, empty: np.ndarray, part: slice, orders: np.ndarray) -> np.ndarray:
    """Gains (n, d) of the features of some examples in the given orders (n, d)."""
    X, y, background = case.X[part], case.y[part], case.background
    (n, d), m = orders.shape, len(background)
    kept = np.argsort(orders, axis=1)[:, None, :] <= np.arange(d - 1)[:, None]  # (n, d - 1, d), by arrival
    ours, theirs = np.take_along_axis(X, orders, axis=1), background[:, orders].transpose(1, 2, 0)  # (n, d), (n, d, m)
    is_new = (ours[:, :, None] != theirs)[:, : d - 1]  # (n, d - 1, m): the arriving feature changes the row
    who, step, which = np.nonzero(is_new)
    outputs = np.empty((n, d, m, *empty.shape[1:]))
    outputs[:, 0] = empty
    outputs[:, 1:][is_new] = f(np.where(kept[who, step], X[who], background[which]))
    last = np.maximum.accumulate(np.arange(1, d)[:, None] * is_new, axis=1)  # the step that made each row what it is
    places = np.concatenate([np.zeros((n, 1, m), dtype=int), last], axis=1)
    means = outputs[np.arange(n)[:, None, None], places, np.arange(m)].mean(axis=2)  # (n, d, ...)
    losses = loss(case.loss, np.concatenate([means, full[part][:, None]], axis=1), y)  # (n, d + 1)
    gains = np.empty((n, d))
    np.put_along_axis(gains, orders, losses[:, :-1] - losses[:, 1:], axis=1)
    return gains


def loss(name: str, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Losses of predictions (n, steps) or (n, steps, classes)."""
    if name == "squared error":
        return (predictions - y[:, None]) ** 2
    return -np.log(np.maximum(predictions[np.arange(len(y)), :, y], CLIP))
