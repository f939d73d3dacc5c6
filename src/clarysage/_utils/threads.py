"""One thread for what is computed by other libraries, so that sums do not depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

BRING_THREADS = ("sklearn.utils._openmp_helpers", "torch")  # libraries that are known once they are loaded


@contextmanager
def one_thread() -> Iterator[None]:
    """A context within which BLAS and OpenMP compute with one thread.

    Threads may be within it at the same time: the first to come sets the limit, the last to leave takes it off.
    """
    loaded = tuple(name in sys.modules for name in BRING_THREADS)
    with _LOCK:
        if _INSIDE.count == 0:
            _INSIDE.limit = _controller(loaded).limit(limits=1)
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
    """How many are within, and what takes the limit off."""

    count: int = 0
    limit: Any = None


_LOCK, _INSIDE = Lock(), _Inside()


@cache
def _controller(loaded: tuple[bool, ...]) -> ThreadpoolController:
    return ThreadpoolController()
