"""What the shell offers after an option: names of the library's tables, and columns of a file's first line.

The names are written down here, since the rooms that have the tables take a second to load; a test compares the two.
They are offered with dashes for blanks, which shells would take for two words.
"""

from __future__ import annotations

import csv
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import typer

NAMES: dict[str, tuple[str, ...]] = {
    "loss": ("squared error", "absolute error", "cross entropy", "zero one", "brier", "auto"),
    "removal": (
        "marginal", "product of marginals", "baseline", "gaussian", "copula", "neighbours", "trees", "surrogate",
        "auto conditional",
    ),
    "method": ("exact", "paired walks", "surrogate walks", "permutation", "kernel", "auto"),
    "backend": ("processes", "threads", "dask", "ray"),
    "about": ("data", "rows", "population"),
    "adjust": ("holm", "benjamini hochberg", "none"),
    "every": ("hour", "day", "week", "month", "quarter", "year"),
    "measure": (
        "sage", "shapley effects", "mean loss shap", "shapley net effects", "feature ablation", "permutation test",
        "conditional permutation test", "mean importance", "univariate predictors", "squared correlation",
        "mean absolute shap", "coefficient size", "gini importance", "number of splits", "network weights",
        "aggregated saliency",
    ),
}  # fmt: skip
TABLES = ("data", "current", "reference")  # arguments with the columns that options name
QUOTED = frozenset(" \t\"'`$\\:")  # in a column, would need quotes that shells do not add


def names(what: str) -> Callable[[str], list[str]]:
    """Completes a name of a table.

    Examples
    --------
    >>> names("loss")("s")
    ['squared-error']
    """

    def complete(incomplete: str) -> list[str]:
        return _starting(incomplete, NAMES[what])

    return complete


def measures(incomplete: str) -> list[str]:
    """Completes the last of several measures.

    Examples
    --------
    >>> measures("sage,perm")
    ['sage,permutation-test']
    """
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _starting(last, NAMES["measure"])]


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
