"""One thread for what is computed by other libraries, so that sums do not depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from clarysage.shared_setting import shared_by_threads

BRING_THREADS = ("sklearn.utils._openmp_helpers", "torch")  # libraries that are known once they are loaded


@shared_by_threads
@contextmanager
def one_thread() -> Iterator[None]:
    """A context within which BLAS and OpenMP compute with one thread."""
    with _controller(tuple(name in sys.modules for name in BRING_THREADS)).limit(limits=1):
        yield


@cache
def _controller(loaded: tuple[bool, ...]) -> ThreadpoolController:
    return ThreadpoolController()
