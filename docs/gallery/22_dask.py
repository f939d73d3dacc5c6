"""
Workers of a Dask cluster
=========================

The same call, on a cluster: the workers get the model and the data once, and then the numbers of the chunks that they
are to compute. Chunks draw from random streams of their own, so that the result has the same bits as without a
cluster. The cluster here is made of two threads; yours has an address, ``Client("tcp://scheduler:8786")``.
"""

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

import clarysage as cs

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 6))
y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=300)


def model(rows):
    """Predicts from a product and a sum."""
    return rows[:, 0] * rows[:, 1] + rows[:, 2]


data = {"X": X[:150], "y": y[:150], "background": X[150:], "method": "permutation", "check_manifold": False, "rng": 0}
two_threads = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
with LocalCluster(**two_threads) as cluster, Client(cluster) as client:
    on_cluster = cs.sage(model, **data, n_jobs=cs.Dask(client))
alone = cs.sage(model, **data)
print("same bits:", np.array_equal(on_cluster.values, alone.values))

figure, axes = plt.subplots(1, 2, figsize=(11, 3.3), sharex=True, layout="constrained")
on_cluster.plot(ax=axes[0], title="two workers")
alone.plot(ax=axes[1], title="this process")
