"""Limits the threads of other libraries, so that their floating-point sums have the same bits on any machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Limits BLAS and OpenMP to one thread within the context.

    Several threads may be inside at the same time: the first to enter sets the limit, the last to leave removes it.
    """
    with _LOCK:
        if _INSIDE.count == 0:
            _INSIDE.limit = _controller(len(sys.modules)).limit(limits=1)
        _INSIDE.count += 1
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE.count -= 1
            if _INSIDE.count == 0:
                _INSIDE.limit.restore_original_limits()


@dataclass
class _Inside:
    """The number of threads inside the context, and the limit to remove."""

    count: int = 0
    limit: Any = None


_LOCK, _INSIDE = Lock(), _Inside()


@lru_cache(maxsize=1)
def _controller(modules: int) -> ThreadpoolController:
    """Finds the thread pools of loaded libraries, again whenever modules have been imported since the last time."""
    return ThreadpoolController()


@contextmanager
def sequential_joblib() -> Iterator[None]:
    """Makes joblib run its tasks one after the other within the context.

    A forest with ``n_jobs=2`` sums its trees in the order in which threads finish, so the last bits depend on timing.
    Under ``joblib.parallel_config("dask")`` it would send each call to the cluster, and wait forever for a lost worker.
    Only our own workers run in parallel.

    Examples
    --------
    >>> with sequential_joblib():
    ...     sum(range(4))
    6
    """
    joblib = sys.modules.get("joblib")
    if joblib is None:  # no library uses it
        yield
        return
    with joblib.parallel_config("sequential"):
        yield
