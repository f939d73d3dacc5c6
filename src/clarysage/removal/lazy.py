"""What is computed when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Found = TypeVar("Found")


class Once(Generic[Found]):
    """A value that is computed once, also where threads ask for it at the same time.

    A copy that is sent to another process has it already, so that nobody computes it again.

    Examples
    --------
    >>> asked = []
    >>> value = Once(lambda: asked.append("when") or 3)
    >>> value.is_known, value(), value(), asked
    (False, 3, 3, ['when'])
    """

    def __init__(self, compute: Callable[[], Found]) -> None:
        self._compute: Callable[[], Found] | None = compute
        self._found: list[Found] = []
        self._lock = threading.Lock()

    @property
    def is_known(self) -> bool:
        return bool(self._found)

    def __call__(self) -> Found:
        with self._lock:
            if self._compute is not None:
                self._found.append(self._compute())
                self._compute = None  # lets go of what it was computed from
            return self._found[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return _known, (self(),)


def _known(found: Found) -> Once[Found]:
    value = Once(lambda: found)
    value()
    return value
