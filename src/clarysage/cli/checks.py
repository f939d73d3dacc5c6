"""Checks of options, files and optional libraries, before anything is computed."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from clarysage.cli.console import OptionError
from clarysage.errors import InputError, MissingLibraryError, Set, Words, resembling
from clarysage.registry import Registry


def check_options(settings: dict[str, Any], *, has_target: bool) -> None:
    """Raises an error for wrong values of the arguments of cs.sage or cs.importances."""
    from clarysage._measures.examples import check_memory
    from clarysage.catalogue import LOSSES, METHODS, REMOVALS
    from clarysage.execution.n_jobs import as_executor
    from clarysage.inference.stopping import Budget, Converged, Deadline
    from clarysage.losses.choice import makes_shapley_effects

    for registry in (LOSSES, METHODS, REMOVALS):
        if registry.argument in settings:
            _check_name(settings[registry.argument], registry)
    _check_values(
        settings,
        {
            "loss": makes_shapley_effects,
            "tolerance": Converged,
            "budget": Budget,
            "deadline": Deadline,
            "n_jobs": as_executor,
            "memory_limit": check_memory,
        },
    )
    if not has_target and not makes_shapley_effects(settings["loss"]):
        raise OptionError(
            "loss", got=f"{settings['loss']!r} without --target", wanted="a --target to compute the loss of predictions"
        )


def check_background_rows(rows: int | None, background: Path | None) -> None:
    """Raises an error if a number of background rows is given without a background."""
    if rows is not None and background is None:
        raise OptionError(
            "background_rows",
            got=f"{rows:,} without --background",
            wanted="a file of rows to draw from",
            hint=[Set("background", "train.csv"), " ", Set("background_rows", rows)],
        )


def as_n_jobs(n_jobs: int, backend: str, address: str | None) -> Any:
    """Returns the library's ``n_jobs`` for --n-jobs, --backend and --address.

    Raises an error if these contradict each other, or if a cluster cannot be reached or has no workers.
    """
    from clarysage.catalogue import BACKENDS
    from clarysage.execution.n_jobs import workers_of

    try:
        workers = workers_of(n_jobs, backend, address)
    except InputError as error:
        raise OptionError(error.argument, **error.parts) from error
    row = BACKENDS[backend]
    try:
        if row.is_cluster:
            workers.workers()
    except InputError as error:
        hint: Words = [f"{row.start}, and " if row.start else "", Set("address", row.address)]
        parts = error.parts | {"wanted": "the address of a running cluster with workers", "hint": hint}
        raise OptionError("address", **parts) from error
    return workers


def check_about(about: str) -> None:
    """Raises an error for an unknown source of uncertainty."""
    from clarysage.catalogue import ABOUT

    _check_name(about, ABOUT)


def check_tolerance(tolerance: float) -> None:
    """Raises an error for a tolerance out of range."""
    from clarysage.inference.stopping import Converged

    _check_values({"tolerance": tolerance}, {"tolerance": Converged})


def check_rows(rows: bool | None, json_file: Path | None) -> None:
    """Raises an error if contributions of rows are requested without a JSON file."""
    if rows and json_file is None:
        hint = "--json sage.json --rows"
        raise OptionError("--rows", got="no --json", wanted="a file for the contributions of single rows", hint=hint)


def check_level(level: float) -> None:
    """Raises an error for a confidence level out of range."""
    if not 0 < level < 1:
        raise OptionError("level", got=f"{level:g}", wanted="a number between 0 and 1", hint=Set("level", 0.95))


def as_adjustment(name: str) -> str | None:
    """Returns the name of the adjustment of p-values; None for no adjustment."""
    from clarysage.catalogue import ADJUSTMENTS

    _check_name(name, ADJUSTMENTS)
    return None if ADJUSTMENTS.is_special(name) else ADJUSTMENTS[name].name


def as_every(every: str | None, by: str | None) -> str | int | None:
    """Returns the length of slices: a period of the dates in the --by column, or a number of rows."""
    from clarysage.catalogue import PERIODS

    if every is None or every.isdecimal():
        return None if every is None else int(every)
    _check_name(every, PERIODS)
    if by is None:
        raise OptionError(
            "every",
            got=f"{every!r} without --by",
            wanted="the column with the dates",
            hint=[Set("by", "date"), " ", Set("every", PERIODS[every].name)],
        )
    return PERIODS[every].name


def measure_names(names: str) -> list[str]:
    """Returns the measures in a list of names separated by commas, each once."""
    from clarysage._measures.table import as_measure

    try:
        measures = [as_measure(name).name for name in names.split(",") if name.strip()]
    except InputError as error:
        raise OptionError("--only", **error.parts) from error
    if not measures:
        raise OptionError("--only", got=repr(names), wanted="names of measures, separated by commas")
    return list(dict.fromkeys(measures))


def as_count(number: float | None) -> float | None:
    """Converts a count that the user typed as a decimal, such as 1e6, to an integer."""
    return int(number) if number is not None and number.is_integer() else number


def check_readable(argument: str, path: Path, *, suffix: str = "", folder: bool = False) -> None:
    """Raises an error unless the file, or the folder if ``folder`` is true, exists and can be read.

    The hint suggests similar names with the suffix.
    """
    if (os.path.isfile(path) or (folder and os.path.isdir(path))) and os.access(
        path, os.R_OK
    ):  # unlike its method, no error for a name that is too long
        return
    if os.path.exists(path):
        raise InputError(argument, got=f"{path}, which is not a readable file", wanted="a file")
    similar = resembling(path.name, [name for name in _names_in(path.parent) if name.lower().endswith(suffix)])
    raise InputError(argument, got=f"{path}, which does not exist", wanted="a file", hint=similar)


def check_writable(option: str, path: Path, inputs: list[Path]) -> None:
    """Raises an error unless the file can be written without overwriting an input."""
    if not path.parent.is_dir():
        raise InputError(
            option, got=f"{path}, in a folder that does not exist", wanted="a file in a folder that exists"
        )
    if path.is_dir():
        raise InputError(option, got=f"{path}, which is a folder", wanted="the name of a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(option, got=f"{path}, which is not writable", wanted="a writable file")
    if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
        raise InputError(option, got=f"{path}, which is an input of the run", wanted="another file")


def explanation_in(path: Path) -> Any:
    """Loads the explanation in a file; raises an error for other results."""
    import clarysage as cs

    check_readable("FILE", path)
    result = cs.load(path)
    if not isinstance(result, cs.Explanation):
        raise InputError(
            "FILE",
            got=f"{path}, which contains {type(result).__name__}",
            wanted="an explanation",
            hint="a file written by explain --json",
        )
    return result


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def imported(library: str, extra: str | None, purpose: str) -> Any:
    """Imports an optional library; the error names the extra that installs it."""
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        raise MissingLibraryError(library.partition(".")[0], extra, purpose) from error


def _check_name(name: str, registry: Registry[Any]) -> None:
    if name not in registry and not registry.is_special(name):
        raise OptionError(registry.argument, **registry.unknown(name).parts)


def _check_values(settings: dict[str, Any], checks: dict[str, Callable[[Any], object]]) -> None:
    for name, check in checks.items():
        if settings.get(name) is None:
            continue
        try:
            check(settings[name])
        except InputError as error:
            raise OptionError(error.argument, **error.parts) from error
