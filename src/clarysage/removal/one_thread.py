"""One thread for what is computed by other libraries, so that sums do not depend on the machine."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

BRING_THREADS = ("sklearn.utils._openmp_helpers", "torch")  # libraries that are known once they are loaded


def one_thread() -> AbstractContextManager[Any]:
    """A context within which BLAS and OpenMP compute with one thread."""
    limits: AbstractContextManager[Any] = _controller(tuple(name in sys.modules for name in BRING_THREADS)).limit(
        limits=1
    )
    return limits


@cache
def _controller(loaded: tuple[bool, ...]) -> ThreadpoolController:
    return ThreadpoolController()
