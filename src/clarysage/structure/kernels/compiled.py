"""Compiles kernels with numba. Importing this file imports numba, so kernels are imported where they are called."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import cache, wraps
from pickle import UnpicklingError
from typing import Any

import numba
from numba.core import event, types
from numba.extending import intrinsic

SLOW = 2.0  # seconds of compiling after which a message says so
MESSAGE = "clarysage: compiling kernels for this machine; later runs find them ready"

OPTIONS = {"nogil": True, "error_model": "numpy"}

_log = logging.getLogger("clarysage")
_warning_lock = threading.Lock()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a kernel of a plain function of arrays and numbers, compiled at its first call; any thread may call it.

    Compiled code is cached next to the source or in the user's cache folder. Where neither can be written, or the
    cached code cannot be read, each process compiles for itself.
    """
    try:
        fast = numba.njit(function, cache=True, **OPTIONS)
    except RuntimeError:  # there is no folder to cache it in
        fast = part(function)

    @wraps(function)
    def kernel(*arguments: Any) -> Any:
        nonlocal fast
        if fast.signatures:
            return fast(*arguments)
        with event.install_listener("numba:compile", _SlowCompiling()):
            try:
                return fast(*arguments)
            except (OSError, EOFError, UnpicklingError):  # of the cache, before anything was computed
                fast = part(function)
                return fast(*arguments)

    return kernel


class _SlowCompiling(event.Listener):  # type: ignore[misc]
    """Logs a message when compiling takes long, but not when loading cached code or the computation itself does."""

    def __init__(self) -> None:
        self.timers: list[threading.Timer] = []

    def on_start(self, event: Any) -> None:
        timer = threading.Timer(SLOW, _warn)
        timer.daemon = True
        timer.start()
        self.timers.append(timer)

    def on_end(self, event: Any) -> None:
        if self.timers:  # none where another thread began before us
            self.timers.pop().cancel()


def _warn() -> None:
    """Warns once in a process; timers of kernels that call each other end at the same time."""
    with _warning_lock:
        _warn_once()


@cache
def _warn_once() -> None:
    _log.warning(MESSAGE)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles a function that kernels of the same file call, or that cannot be cached."""
    return numba.njit(function, **OPTIONS)  # type: ignore[no-any-return]


def cache_folder() -> str | None:
    """Returns the writable folder where compiled code is cached; None where there is none."""
    try:
        cached = numba.njit(_nothing, cache=True)
    except RuntimeError:
        return None
    return cached.stats.cache_path if hasattr(cached, "stats") else None  # a plain function where numba is disabled


def _nothing() -> None:
    """Does nothing: it replaces a kernel when the folder of its cache is looked up."""


@intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(typing: Any, word: Any) -> Any:
    """Returns the position of the lowest bit that is set in a word, which must not be zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        is_zero_undefined = context.get_constant(types.boolean, True)
        return builder.cttz(arguments[0], is_zero_undefined)

    return types.uint64(types.uint64), generate
