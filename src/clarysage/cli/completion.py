"""What the shell offers after an option: names of the library's tables, and columns of a file's first line.

Names come from the registries, which take milliseconds to import: the rooms with what they name, which take a second,
are left alone. They are offered with dashes for blanks, which shells would take for two words.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer

from clarysage.registry import Registry, loaded

REGISTRIES = {  # where the names are, which is imported where they are asked for
    "loss": "clarysage.catalogue:LOSSES",
    "removal": "clarysage.catalogue:REMOVALS",
    "method": "clarysage.catalogue:METHODS",
    "backend": "clarysage.catalogue:BACKENDS",
    "about": "clarysage.catalogue:ABOUT",
    "adjust": "clarysage.catalogue:ADJUSTMENTS",
    "every": "clarysage.catalogue:PERIODS",
    "measure": "clarysage._measures.table:MEASURES",
}
TABLES = ("data", "current", "reference")  # arguments with the columns that options name
QUOTED = frozenset(" \t\"'`$\\:")  # in a column, would need quotes that shells do not add


def registry(what: str) -> Registry[Any]:
    """The registry of the names of an option."""
    rows: Registry[Any] = loaded(REGISTRIES[what])
    return rows


def names(what: str) -> Callable[[str], list[str]]:
    """Completes a name of a table.

    Examples
    --------
    >>> names("loss")("s")
    ['squared-error']
    """

    def complete(incomplete: str) -> list[str]:
        return _starting(incomplete, registry(what).names)

    return complete


def measures(incomplete: str) -> list[str]:
    """Completes the last of several measures.

    Examples
    --------
    >>> measures("sage,perm")
    ['sage,permutation-test']
    """
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _starting(last, registry("measure").names)]


def columns(context: typer.Context, incomplete: str) -> list[str]:
    """Completes a column of the table on the command line, if it is text that can be read."""
    from clarysage.cli.data_files import header

    known = [context.params[name] for name in TABLES if context.params.get(name)]
    for path in [*known, *context.args]:  # where an option lacks its value, arguments are not told apart
        try:
            found = header(Path(path))
        except (OSError, ValueError, EOFError, csv.Error, zlib.error):
            continue
        if found:
            return [name for name in found if name.startswith(incomplete) and not set(name) & QUOTED]
    return []


def _starting(incomplete: str, known: Sequence[str]) -> list[str]:
    dashed = [name.replace(" ", "-") for name in known]
    return [name for name in dashed if name.startswith(incomplete.lower())]
