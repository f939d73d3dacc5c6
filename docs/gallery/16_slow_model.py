"""
A slow model and a deadline
===========================

This model takes half a millisecond for every row. A run with a deadline ends after so many seconds, whatever it knows
by then, and its intervals say how much that is. The same call with more time has narrower ones.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import clarysage as cs

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 5))
y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + rng.normal(size=400)


def model(rows):
    """Predicts after half a millisecond for each row."""
    time.sleep(0.0005 * len(rows))
    return 2 * rows[:, 0] + rows[:, 1] * rows[:, 2] + 0.5 * rows[:, 3]


data = {"X": X[:200], "y": y[:200], "background": X[200:], "check_manifold": False, "rng": 0}
figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), sharex=True, layout="constrained")
for ax, deadline in zip(axes, [1, 6], strict=True):
    began = time.perf_counter()
    explanation = cs.sage(model, **data, deadline=deadline)
    seconds = time.perf_counter() - began
    explanation.plot(ax=ax, about="data", title=f"deadline of {deadline} s: {explanation.model_rows:,} rows predicted")
    print(f"deadline {deadline} s: took {seconds:.1f} s, largest standard error {explanation.std_error.max():.2f}")
