"""Least-recently-used cache whose limit is in bytes, and which computes each value once, also among threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar

LIMIT = 2.0**28  # bytes


class Sized(Protocol):
    """A value that knows its size in memory, such as an array."""

    @property
    def nbytes(self) -> int: ...


Value = TypeVar("Value", bound=Sized)


class LRUCache(Generic[Value]):
    """A cache of values by key; each value is computed once, even if several threads request it at the same time.

    If all values together take more than ``limit`` bytes, the least recently used ones are dropped. A copy in another
    process starts empty: a value must depend only on its key.

    Examples
    --------
    >>> import numpy as np
    >>> cache = LRUCache()
    >>> cache.get(b"key", lambda: np.ones(1)), cache.get(b"key", lambda: np.zeros(1)), cache.computed
    (array([1.]), array([1.]), 1)
    """

    def __init__(self, limit: float = LIMIT) -> None:
        self.limit, self.computed, self.size = limit, 0, 0
        self._values: OrderedDict[bytes, Value] = OrderedDict()
        self._pending: dict[bytes, Future[Value]] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return LRUCache, (self.limit,)

    def __contains__(self, key: bytes) -> bool:
        with self._lock:
            return key in self._values

    def get(self, key: bytes, compute: Callable[[], Value]) -> Value:
        """Returns the value of a key: from the cache, from the thread that is computing it, or by computing it."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            pending = self._pending.get(key)
            if pending is None:
                mine = self._pending[key] = Future()
        if pending is not None:
            return pending.result()
        try:
            value = compute()
            self.put(key, value)
            mine.set_result(value)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._pending[key]
        return value

    def put(self, key: bytes, value: Value) -> None:
        """Stores a value that was computed elsewhere."""
        with self._lock:
            self.computed += 1
            self.size += value.nbytes - self._values[key].nbytes if key in self._values else value.nbytes
            self._values[key] = value
            while self.size > self.limit and len(self._values) > 1:
                self.size -= self._values.popitem(last=False)[1].nbytes
