"""Settings of the whole process that threads may want at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import wraps
from threading import Lock

Context = Callable[[], AbstractContextManager[None]]


def shared_by_threads(setting: Context) -> Context:
    """A context that threads may be within at the same time: the first to come makes the setting, the last to leave
    undoes it."""
    lock, within, inside = Lock(), ExitStack(), 0

    @contextmanager
    @wraps(setting)
    def shared() -> Iterator[None]:
        nonlocal inside
        with lock:
            if inside == 0:
                within.enter_context(setting())
            inside += 1
        try:
            yield
        finally:
            with lock:
                inside -= 1
                if inside == 0:
                    within.close()

    return shared
