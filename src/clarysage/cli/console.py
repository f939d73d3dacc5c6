"""Notes and errors on stderr, one line each, which a terminal shows wrapped; stdout is for data alone."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

import typer

from clarysage._utils.display import visible
from clarysage.cli.messages import error_in_shell, note_in_shell
from clarysage.errors import ClarysageError, ClarysageWarning, InputError, Note, RunFailedError, in_python

FAILED, USAGE, NOT_CONVERGED, FLAGGED = 1, 2, 3, 4  # exit codes

# error message of a model library -> advice for the command line (these libraries have no structured errors)
ADVICE = (
    (r"features, but \w+ is expecting|Feature shape mismatch", "--drop for columns that are not features"),
    (
        r"could not convert string to float|pandas dtypes must be|DataFrame.dtypes for data must be",
        "--drop for columns that are not features, or a model that takes text",
    ),
)

Say = Callable[[str | Note], None]


class OptionError(InputError):
    """An option value that is wrong, independently of the files."""


def note_printer(quiet: bool) -> Say:
    """Returns a function that prints a note on stderr, or does nothing if ``quiet``."""

    def say(note: str | Note) -> None:
        text = str(note_in_shell(note)) if isinstance(note, Note) else note
        _print_line(f"note: {visible(text)}")

    return (lambda note: None) if quiet else say


def print_error(text: str) -> None:
    """Prints an error as one line on stderr."""
    _print_line(f"error: {visible(text)}")


def terminal_width(stream: TextIO) -> int | None:
    """Returns the number of columns of the terminal that shows a stream; None for files and pipes."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def _print_line(line: str) -> None:
    """Prints a line on stderr, wrapped at blanks if that is a terminal."""
    width = terminal_width(sys.stderr)
    if width is not None:
        line = textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    print(line, file=sys.stderr, flush=True)


def print_data(text: str) -> None:
    """Prints JSON or HTML on stdout, always in UTF-8, as in files."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    print(text, flush=True)


@contextmanager
def handled_errors(say: Say, *, debug: bool, argument_names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turns errors into one line and an exit code, and warnings and log records into notes.

    ``debug`` also shows the traceback; ``argument_names`` has names of arguments that differ for this command.
    """
    with warnings.catch_warnings(), _log_as_notes(say):
        warnings.showwarning = _as_note(say)
        try:
            yield
        except (typer.Exit, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            print_error("interrupted before there was an estimate")
            raise typer.Exit(FAILED) from None
        except Exception as error:
            if debug:
                traceback.print_exc()
            print_error(error_text(error, argument_names))
            raise typer.Exit(USAGE if isinstance(error, OptionError) else FAILED) from None


@contextmanager
def clean_stdout() -> Iterator[None]:
    """Redirects everything that models and libraries print, in Python or in C, to stderr."""
    sys.stdout.flush()
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def error_text(error: Exception, argument_names: Mapping[str, str] | None = None) -> str:
    """Returns the text of an error for the command line, with options in place of arguments."""
    if isinstance(error, InputError):
        advice = (hint for pattern, hint in ADVICE if re.search(pattern, in_python(error.got)))
        return error_in_shell(error, argument_names, next(advice, ""))
    if isinstance(error, RunFailedError) and isinstance(error.__cause__, Exception):
        return error_text(error.__cause__, argument_names)
    if isinstance(error, ClarysageError):
        return str(error)
    return f"{type(error).__name__}: {reason(error)}"


def reason(error: BaseException) -> str:
    """Returns the first line of an error message, without the time and file position that C++ libraries add."""
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
    def show(message: Any, category: Any, *location: Any, **more: Any) -> None:
        is_ours = isinstance(message, ClarysageWarning) and isinstance(message.args[0], Note)
        say(message.args[0] if is_ours else reason(message) + ".")

    return show
