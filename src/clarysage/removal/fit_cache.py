"""What was fitted for coalitions, kept as long as there is room."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar


class Sized(Protocol):
    """Something that knows what it weighs."""

    @property
    def nbytes(self) -> int: ...


Fit = TypeVar("Fit", bound=Sized)


class FitCache(Generic[Fit]):
    """Fits by key, within ``limit`` bytes: those not used for longest are dropped first.

    Threads may share it; a copy that travels to another process begins empty. A fit must depend on its key alone, so
    that it makes no difference whether it was at hand.
    """

    def __init__(self, limit: float) -> None:
        self.limit, self.used = limit, 0
        self._fits: OrderedDict[bytes, Fit] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._fits)

    def __getstate__(self) -> dict[str, Any]:
        return {"limit": self.limit}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def get(self, key: bytes, fit: Callable[[], Fit]) -> Fit:
        with self._lock:
            if key in self._fits:
                self._fits.move_to_end(key)
                return self._fits[key]
        made = fit()  # outside the lock: two threads may both make it, and make the same
        with self._lock:
            if key not in self._fits and made.nbytes <= self.limit:
                self._fits[key] = made
                self.used += made.nbytes
                while self.used > self.limit:
                    self.used -= self._fits.popitem(last=False)[1].nbytes
        return made
