"""What the command says on stderr, a line each; stdout is for data alone."""

from __future__ import annotations

import logging
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import Any

import typer

from clarysage._utils.display import visible
from clarysage.cli.messages import error_in_shell, note_in_shell
from clarysage.errors import ClarysageError, ClarysageWarning, InputError, Note, RunFailedError, in_python

FAILED, USAGE, NOT_CONVERGED, FLAGGED = 1, 2, 3, 4  # exit codes

# what a library of models says, in its own English -> advice that only the command line has
ADVICE = (
    (r"features, but \w+ is expecting|Feature shape mismatch", "--drop for columns that are no features"),
    (
        r"could not convert string to float|pandas dtypes must be|DataFrame.dtypes for data must be",
        "--drop for columns that are no features, or a model that takes text",
    ),
)

Say = Callable[[str | Note], None]


class OptionError(InputError):
    """A value of an option that is wrong whatever the files hold."""


def speaker(quiet: bool) -> Say:
    """Makes a function that prints a note on stderr, or one that does nothing."""

    def say(note: str | Note) -> None:
        text = str(note_in_shell(note)) if isinstance(note, Note) else note
        print(f"note: {visible(text)}", file=sys.stderr, flush=True)

    return (lambda note: None) if quiet else say


def complain(text: str) -> None:
    """One line of error, however many the text had."""
    print(f"error: {visible(text)}", file=sys.stderr, flush=True)


def print_data(text: str) -> None:
    """JSON or a page on stdout: in UTF-8, as they are in files, whatever the terminal's encoding."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    print(text, flush=True)


def has_viewer(quiet: bool) -> bool:
    """Whether to show a progress bar: only to somebody who looks at a terminal."""
    return not quiet and sys.stderr.isatty()


@contextmanager
def guarded(say: Say, *, debug: bool, called: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turns every error into one line and an exit code, warnings and the log into notes; ``debug`` shows the traceback.

    ``called`` says what the command calls arguments of the library, where that is not what others call them.
    """
    with warnings.catch_warnings(), _log_as_notes(say):
        warnings.showwarning = _as_note(say)
        try:
            yield
        except (typer.Exit, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            complain("interrupted before there was an estimate")
            raise typer.Exit(FAILED) from None
        except Exception as error:
            if debug:
                traceback.print_exc()
            complain(worded(error, called))
            raise typer.Exit(USAGE if isinstance(error, OptionError) else FAILED) from None


@contextmanager
def clean_stdout() -> Iterator[None]:
    """Sends what models and libraries print, from Python or not, to stderr."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def worded(error: Exception, called: Mapping[str, str] | None = None) -> str:
    """An error in the words of the command line: options for arguments, flags for keywords."""
    if isinstance(error, InputError):
        advice = (hint for pattern, hint in ADVICE if re.search(pattern, in_python(error.got)))
        return error_in_shell(error, called, next(advice, ""))
    if isinstance(error, RunFailedError) and isinstance(error.__cause__, Exception):
        return worded(error.__cause__, called)
    if isinstance(error, ClarysageError):
        return str(error)
    return f"{type(error).__name__}: {reason(error)}"


def reason(error: BaseException) -> str:
    """The first line of what an error says, without the time and place that C++ libraries put before it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    first = re.sub(r"^\[[\d:]+\] |^\S+\.(cpp|cc|h|hpp):\d+:? ", "", lines[0] if lines else type(error).__name__)
    return re.sub(r"^\S+\.(cpp|cc|h|hpp|cu):\d+: ", "", first)[:200].rstrip(".")


@contextmanager
def _log_as_notes(say: Say) -> Iterator[None]:
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: say(f"{record.getMessage().removeprefix('clarysage: ')}.")  # type: ignore[method-assign]
    log = logging.getLogger("clarysage")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def _as_note(say: Say) -> Any:
    def show(message: Any, category: Any, *place: Any, **more: Any) -> None:
        is_ours = isinstance(message, ClarysageWarning) and isinstance(message.args[0], Note)
        say(message.args[0] if is_ours else reason(message) + ".")

    return show
