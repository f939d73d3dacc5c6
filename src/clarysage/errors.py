"""Errors that say what was got, what was wanted and what to try."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class ClarysageError(Exception):
    """Base of every error raised by clarysage.

    ``explanation`` holds the estimate so far when a run broke off in the middle, else None.
    """

    explanation: Any = None


class InputError(ClarysageError, ValueError):
    """An argument that cannot be understood, named by its argument.

    Examples
    --------
    >>> print(InputError("budget", got="-3", wanted="a positive number of model rows", hint="budget=1_000_000"))
    budget: got -3; wanted a positive number of model rows. Try budget=1_000_000.
    """

    def __init__(self, argument: str, *, got: str, wanted: str, hint: str = "") -> None:
        self.argument = argument
        self.parts = {"got": got, "wanted": wanted, "hint": hint}
        super().__init__(f"{argument}: got {got}; wanted {wanted}." + (f" Try {hint}." if hint else ""))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.argument, self.parts)


def _rebuild(kind: type[InputError], argument: str, parts: dict[str, str]) -> InputError:
    return kind(argument, **parts)


class ModelError(InputError, RuntimeError):
    """A model that raised, or returned something that is not one prediction per row."""


class WorkersLostError(InputError, RuntimeError):
    """Workers that die whenever they are given the same work."""


class UnavailableError(InputError):
    """Something a result cannot tell, such as an interval it holds no variance for."""


class FormatError(InputError):
    """A file that is not what its name or header says."""


class MissingLibraryError(ClarysageError, ImportError):
    """An optional library that is needed and not installed."""

    def __init__(self, library: str, extra: str | None, purpose: str) -> None:
        package = library if extra is None else f"'clarysage[{extra}]'"
        super().__init__(f"{purpose} needs {library}, which is not installed. Try pip install {package}.")


class MissingDataError(ClarysageError, OSError):
    """A dataset that is neither on this machine nor to be had from its public address, with what to do about it."""


class ClarysageWarning(UserWarning):
    """A remark about a run, with what to do about it."""


def resembling(name: str, known: Iterable[str]) -> str:
    """Names like the given one, for a hint; empty where there is none.

    Examples
    --------
    >>> resembling("tmep", ["Temp", "Hour"])
    "'Temp'"
    """
    spelled = {candidate.lower(): candidate for candidate in reversed(list(known))}
    return " or ".join(repr(spelled[match]) for match in get_close_matches(name.lower(), list(spelled), n=2))
