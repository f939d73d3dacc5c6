"""Shell completion of option values: names from the library's registries, and columns of the data file.

Names come from the registries, which import in milliseconds; the objects that they name would take a second, so these
are not imported. Blanks in names are completed as dashes, since shells split words at blanks.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer

from clarysage.registry import Registry, loaded

REGISTRIES = {  # imported only when a name is completed
    "loss": "clarysage.catalogue:LOSSES",
    "removal": "clarysage.catalogue:REMOVALS",
    "method": "clarysage.catalogue:METHODS",
    "backend": "clarysage.catalogue:BACKENDS",
    "about": "clarysage.catalogue:ABOUT",
    "adjust": "clarysage.catalogue:ADJUSTMENTS",
    "every": "clarysage.catalogue:PERIODS",
    "measure": "clarysage._measures.table:MEASURES",
}
TABLES = ("data", "current", "reference")  # arguments that are tables
QUOTED = frozenset(" \t\"'`$\\:")  # characters in a column name that need quotes, which shells do not add


def registry(option: str) -> Registry[Any]:
    """Returns the registry with the values of an option."""
    rows: Registry[Any] = loaded(REGISTRIES[option])
    return rows


def completion_of(option: str) -> Callable[[str], list[str]]:
    """Returns a function that completes the values of an option from its registry.

    Examples
    --------
    >>> completion_of("loss")("s")
    ['squared-error']
    """

    def complete(incomplete: str) -> list[str]:
        return _starting(incomplete, registry(option).names)

    return complete


def complete_measures(incomplete: str) -> list[str]:
    """Completes the last name in a list of measures.

    Examples
    --------
    >>> complete_measures("sage,perm")
    ['sage,permutation-importance']
    """
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _starting(last, registry("measure").names)]


def complete_column(context: typer.Context, incomplete: str) -> list[str]:
    """Completes a column name from the table on the command line, if it is a readable text file."""
    from clarysage.cli.data_files import header

    paths = [context.params[name] for name in TABLES if context.params.get(name)]
    for path in [*paths, *context.args]:  # after an incomplete option, arguments are not parsed into params
        try:
            column_names = header(Path(path))
        except (OSError, ValueError, EOFError, csv.Error, zlib.error):
            continue
        if column_names:
            return [name for name in column_names if name.startswith(incomplete) and not set(name) & QUOTED]
    return []


def _starting(incomplete: str, names: Sequence[str]) -> list[str]:
    dashed = [name.replace(" ", "-") for name in names]
    return [name for name in dashed if name.startswith(incomplete.lower())]
