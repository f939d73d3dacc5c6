"""
A run that was interrupted
==========================

With a checkpoint, the same call goes on where a run stopped, and gives the same bits as a run that was not
interrupted. Here the first run stops early since its tolerance is larger.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import clarysage as cs

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 6))
y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=300)


def model(rows):
    """Predicts from a product and a sum."""
    return rows[:, 0] * rows[:, 1] + rows[:, 2]


data = {"X": X[:150], "y": y[:150], "background": X[150:], "method": "permutation", "check_manifold": False, "rng": 0}
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "run.ckpt"
    early = cs.sage(model, **data, tolerance=0.1, checkpoint=file)
    resumed = cs.sage(model, **data, tolerance=0.03, checkpoint=file)
whole = cs.sage(model, **data, tolerance=0.03)
print("same bits as without the break:", np.array_equal(resumed.values, whole.values))

figure, axes = plt.subplots(1, 2, figsize=(10, 3), sharex=True, layout="constrained")
early.plot(ax=axes[0], about="data", title=f"after {early.draws:,} draws")
resumed.plot(ax=axes[1], about="data", title=f"after {resumed.draws:,} draws")
