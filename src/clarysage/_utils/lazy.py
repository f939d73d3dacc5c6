"""Lazy values: computed when they are first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Lazy(Generic[Value]):
    """A value that is computed once, also where threads ask for it at the same time.

    A copy that is sent to another process has it already, so that nobody computes it again.

    Examples
    --------
    >>> asked = []
    >>> value = Lazy(lambda: asked.append("when") or 3)
    >>> value.is_known, value(), value(), asked
    (False, 3, 3, ['when'])
    """

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute
        self._value: list[Value] = []
        self._lock = threading.Lock()

    @property
    def is_known(self) -> bool:
        return bool(self._value)

    def __call__(self) -> Value:
        with self._lock:
            if self._compute is not None:
                self._value.append(self._compute())
                self._compute = None  # lets go of what it was computed from
            return self._value[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return _known, (self(),)


def _known(value: Value) -> Lazy[Value]:
    lazy = Lazy(lambda: value)
    lazy()
    return lazy
