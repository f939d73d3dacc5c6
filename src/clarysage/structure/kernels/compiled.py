"""The door to numba. Whoever imports this waits for it: kernels are imported where they are called."""

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

SLOW = 2.0  # seconds of compiling after which the user is told
WORD = "clarysage: compiling kernels for this machine; later runs find them ready"

OPTIONS = {"nogil": True, "error_model": "numpy"}

_log = logging.getLogger("clarysage")
_telling = threading.Lock()


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel: a plain function of arrays and numbers, compiled when it is first called, for any number of threads.

    Compiled code is kept beside the source or in the user's cache; where neither can be written, or what is there
    cannot be read, it is made anew in each process.
    """
    try:
        fast = numba.njit(function, cache=True, **OPTIONS)
    except RuntimeError:  # there is no place to keep it
        fast = part(function)

    @wraps(function)
    def kernel(*arguments: Any) -> Any:
        nonlocal fast
        if fast.signatures:
            return fast(*arguments)
        with event.install_listener("numba:compile", _Patience()):
            try:
                return fast(*arguments)
            except (OSError, EOFError, UnpicklingError):  # of the place, before anything was computed
                fast = part(function)
                return fast(*arguments)

    return kernel


class _Patience(event.Listener):  # type: ignore[misc]
    """Tells the user of compiling that takes long; not of code that is loaded, nor of work that takes long itself."""

    def __init__(self) -> None:
        self.waiting: list[threading.Timer] = []

    def on_start(self, event: Any) -> None:
        word = threading.Timer(SLOW, _tell)
        word.daemon = True
        word.start()
        self.waiting.append(word)

    def on_end(self, event: Any) -> None:
        if self.waiting:  # none where another thread began before us
            self.waiting.pop().cancel()


def _tell() -> None:
    """Warn of compiling, once in a process; timers of kernels that call each other end at the same time."""
    with _telling:
        _warn_once()


@cache
def _warn_once() -> None:
    _log.warning(WORD)


def part(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that kernels of the same file call, or that is kept nowhere."""
    return numba.njit(function, **OPTIONS)  # type: ignore[no-any-return]


def kept_in() -> str | None:
    """The folder where compiled code is kept, which can be written; None where there is none."""
    try:
        found = numba.njit(_nothing, cache=True)
    except RuntimeError:
        return None
    return found.stats.cache_path if hasattr(found, "stats") else None  # a plain function where numba is switched off


def _nothing() -> None:
    """Looked for in the place of kernels."""


@intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(typing: Any, word: Any) -> Any:
    """The place of the lowest bit that is set in a word, which is not zero."""

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        is_zero_undefined = context.get_constant(types.boolean, True)
        return builder.cttz(arguments[0], is_zero_undefined)

    return types.uint64(types.uint64), made
