"""One thread for what is computed by other libraries, so that sums do not depend on the machine."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """A context within which BLAS and OpenMP compute with one thread."""
    limits: AbstractContextManager[Any] = _controller("torch" in sys.modules).limit(limits=1)
    return limits


@cache
def _controller(has_torch: bool) -> ThreadpoolController:
    import sklearn.ensemble  # noqa: F401  brings the libraries that are to be limited

    return ThreadpoolController()
