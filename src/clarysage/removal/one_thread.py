"""Linear algebra on one thread, so that sums do not depend on the machine."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """A context in which sums come out the same on any number of cores."""
    return _controller().limit(limits=1)  # type: ignore[no-any-return]


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
