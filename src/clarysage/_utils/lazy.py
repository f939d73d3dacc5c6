"""Lazy values, which are computed at their first use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class Lazy(Generic[Value]):
    """A value that is computed once, even if several threads request it at the same time.

    It is computed before it is sent to another process, so the copy does not compute it again.

    Examples
    --------
    >>> calls = []
    >>> value = Lazy(lambda: calls.append("computed") or 3)
    >>> value.is_known, value(), value(), calls
    (False, 3, 3, ['computed'])
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
                self._compute = None  # releases the inputs of the computation
            return self._value[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return _computed, (self(),)


def _computed(value: Value) -> Lazy[Value]:
    lazy = Lazy(lambda: value)
    lazy()
    return lazy
