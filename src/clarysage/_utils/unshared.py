"""What other libraries share out by joblib, such as the trees of a forest, is computed by whoever asked for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unshared() -> Iterator[None]:
    """A context within which joblib computes one thing after the other.

    A forest with ``n_jobs=2`` adds up its trees in the order in which threads end, so that last bits are left to
    chance; and under ``joblib.parallel_config("dask")`` it would send them to the cluster, call by call, and wait for
    ever if a worker is lost for good. Our own workers share out what there is to share.

    Examples
    --------
    >>> with unshared():
    ...     sum(range(4))
    6
    """
    joblib = sys.modules.get("joblib")
    if joblib is None:  # then nobody shares anything out
        yield
        return
    with joblib.parallel_config("sequential"):
        yield
