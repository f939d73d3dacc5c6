"""A check that numbers come out right on this machine: SAGE values of a linear function are known in closed form."""

from __future__ import annotations

import time
from dataclasses import dataclass

from clarysage.cli.console import reason

CLOSE = 1e-9  # of the largest value: rounding alone


@dataclass(frozen=True)
class SelfCheck:
    """Whether the values were right, how long it took with loading the libraries, and what went wrong."""

    is_right: bool
    seconds: float
    trouble: str = ""


def self_check() -> SelfCheck:
    """The check, done; an error of a library is a trouble, too."""
    start = time.perf_counter()
    try:
        error = farthest()
    except Exception as broken:
        return SelfCheck(False, time.perf_counter() - start, f"{type(broken).__name__}: {reason(broken)}")
    trouble = "" if error < CLOSE else f"SAGE values of a linear function are off by {100 * error:.1f} % of the largest"
    return SelfCheck(error < CLOSE, time.perf_counter() - start, trouble)


def farthest() -> float:
    r"""The largest error of exact SAGE values of f(x) = w x, as a share of the largest value.

    With squared error and y = f(x), f_S misses by the sum of z_j = w_j (x_j - mean of the background) over withheld j,
    so that v_f is quadratic in the z_j, and each value is :math:`\phi_i = E[z_i \sum_j z_j]`.
    """
    import numpy as np

    import clarysage as cs

    rng, w = np.random.default_rng(0), np.array([2.0, -1.0, 0.5])
    X, background = rng.normal(size=(32, 3)), rng.normal(size=(16, 3))
    found = cs.sage(lambda rows: rows @ w, X, X @ w, background=background, loss="squared error", method="exact", rng=0)
    z = w * (X - background.mean(axis=0))  # (n, d)
    expected = (z * z.sum(axis=1, keepdims=True)).mean(axis=0)
    return float(np.abs(found.values - expected).max() / np.abs(expected).max())
