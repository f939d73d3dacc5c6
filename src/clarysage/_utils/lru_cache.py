"""What has been computed already, within a limit of memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar

LIMIT = 2.0**28  # bytes


class Sized(Protocol):
    """Something that knows what it weighs, such as an array."""

    @property
    def nbytes(self) -> int: ...


Kept = TypeVar("Kept", bound=Sized)


class Memo(Generic[Kept]):
    """What was computed by key, once for each, also where threads ask for it at the same time.

    Those not asked for longest give way when they take more than ``limit`` bytes together. A copy that is sent to
    another process begins empty: what is computed must depend on its key alone.

    Examples
    --------
    >>> import numpy as np
    >>> memo = Memo()
    >>> memo.get(b"key", lambda: np.ones(1)), memo.get(b"key", lambda: np.zeros(1)), memo.computed
    (array([1.]), array([1.]), 1)
    """

    def __init__(self, limit: float = LIMIT) -> None:
        self.limit, self.computed, self.size = limit, 0, 0
        self._known: OrderedDict[bytes, Kept] = OrderedDict()
        self._coming: dict[bytes, Future[Kept]] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Memo, (self.limit,)

    def __contains__(self, key: bytes) -> bool:
        with self._lock:
            return key in self._known

    def get(self, key: bytes, compute: Callable[[], Kept]) -> Kept:
        """What there is for a key, from memory, from the thread that is at it, or computed."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
            coming = self._coming.get(key)
            if coming is None:
                mine = self._coming[key] = Future()
        if coming is not None:
            return coming.result()
        try:
            found = compute()
            self.put(key, found)
            mine.set_result(found)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._coming[key]
        return found

    def put(self, key: bytes, found: Kept) -> None:
        """Keep what was computed elsewhere."""
        with self._lock:
            self.computed += 1
            self.size += found.nbytes - self._known[key].nbytes if key in self._known else found.nbytes
            self._known[key] = found
            while self.size > self.limit and len(self._known) > 1:
                self.size -= self._known.popitem(last=False)[1].nbytes
