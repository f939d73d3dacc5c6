"""``clarysage doctor``: checks the installation: libraries, machine and a self-check.

Libraries are inspected by their metadata, without importing them.
"""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from importlib.machinery import PathFinder
from importlib.util import find_spec
from itertools import zip_longest
from typing import Any

import typer

from clarysage import __version__
from clarysage._utils.atomic import write_atomically
from clarysage.cli.console import FAILED, clean_stdout, handled_errors, note_printer, print_data, print_error, reason
from clarysage.cli.options import ConsoleOptions, JsonOptions, with_option_groups
from clarysage.cli.output import STDOUT, OutputFiles
from clarysage.models.libraries import LIBRARIES

FORMAT = "clarysage doctor"
VERSION = 1
NO_CACHE = "compiled code is not cached but compiled in each run; set NUMBA_CACHE_DIR to a writable folder"
NO_METADATA = "clarysage is run from a folder and not installed, so the versions that it needs are not known"
ENVIRONMENT = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMBA_CACHE_DIR",
    "NUMBA_DISABLE_JIT",
    "LOKY_MAX_CPU_COUNT",
)
TOLERANCE = 1e-9  # of the self-check, relative to the largest value: only rounding errors

# required libraries, by the names of their distributions
NEEDED = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "numba",
    "joblib",
    "threadpoolctl",
    "lazy-loader",
    "matplotlib",
    "jinja2",
    "typer",
    "tqdm",
)


@with_option_groups
def doctor(*, written: JsonOptions, console: ConsoleOptions) -> None:
    """Check the installation: versions, optional libraries, cores and threads. Useful for bug reports.

    Shows versions of required libraries, the purpose of optional libraries and how to install them, cores and threads,
    the cache folder of compiled code, and a test explanation with known values. Optional libraries are not loaded.

    Prints text, or JSON with --json -. Exit codes: 0 success, 1 a required library is missing, too old or broken,
    2 wrong usage.
    """
    say, json_file = note_printer(console.quiet), written.json_file
    with handled_errors(say, debug=console.debug):
        with clean_stdout():
            OutputFiles(json_file, {}).check([])
            diagnosis = Diagnosis.run()
        data = json.dumps(diagnosis.to_dict(), indent=1, ensure_ascii=False)
        if json_file == STDOUT:
            print_data(data)
        else:
            print(diagnosis.text(), flush=True)
        if json_file is not None and json_file != STDOUT:
            write_atomically(f"{data}\n", json_file)
            say(f"wrote {json_file}")
        if diagnosis.problems:
            print_error("; ".join(diagnosis.problems))
            raise typer.Exit(FAILED)


@dataclass(frozen=True)
class Library:
    """The installation of a library, required or optional.

    Attributes
    ----------
    name : the name of its distribution or module
    version : the installed version; None if the library is not installed or its version is not known
    lowest : the lowest version that works with clarysage; None if it is not known
    is_installed : whether the library is installed, with or without a known version
    """

    name: str
    version: str | None
    lowest: str | None
    is_installed: bool

    @property
    def is_old(self) -> bool:
        """True if the version is lower than the lowest that works."""
        return self.version is not None and self.lowest is not None and is_below(self.version, self.lowest)


@dataclass(frozen=True)
class OptionalLibrary:
    """An optional library and its purpose.

    Attributes
    ----------
    module : the module that is imported
    extra : the extra of clarysage that installs it
    purpose : what it is used for
    distribution : the name of its distribution, if that is not the name of the module
    """

    module: str
    extra: str
    purpose: str
    distribution: str = ""

    @property
    def library(self) -> Library:
        """The installation of the library, under the name in clarysage's metadata or that of the module."""
        requirement = next((key for key in lowest_versions() if key[1] == self.extra), None)
        lowest = None if requirement is None else lowest_versions()[requirement]
        names = (*([] if requirement is None else [requirement[0]]), self.distribution, self.module)
        versions = (version_of(name) for name in names if name)
        is_installed = can_be_imported(self.module)
        version = next((version for version in versions if version is not None), None)
        return Library(self.module, version if is_installed else None, lowest, is_installed)

    @property
    def install(self) -> str:
        """The command that installs the library."""
        is_extra = any(extra == self.extra for _, extra in lowest_versions())
        package = f'"clarysage[{self.extra}]"' if is_extra else self.distribution or self.module
        return f"pip install {package}"


def optional_libraries() -> list[OptionalLibrary]:
    """Returns the optional libraries, including the model libraries."""
    of_models = [
        OptionalLibrary(library.name, library.extra or library.name, library.summary, library.distribution)
        for library in LIBRARIES.values()
        if not library.is_needed
    ]
    return [
        OptionalLibrary("polars", "polars", "data in polars frames"),
        OptionalLibrary("pyarrow", "arrow", "Parquet files and Arrow tables"),
        OptionalLibrary("narwhals", "frames", "frames of Dask, DuckDB, Ibis, Modin and others"),
        *of_models,
        OptionalLibrary("skops", "skops", "scikit-learn models in files that cannot run code"),
        OptionalLibrary("shap", "shap", "mean absolute SHAP by its fast explainers"),
        OptionalLibrary("mlflow", "mlflow", "logging results to MLflow"),
    ]


def needed_libraries() -> list[Library]:
    """Returns the required libraries as they are installed."""
    versions = {name: version_of(name) for name in NEEDED}
    return [
        Library(name, version, lowest_versions().get((name, None)), is_installed=version is not None)
        for name, version in versions.items()
    ]


def can_be_imported(module: str) -> bool:
    """Tells whether a module exists, without importing it or the packages that contain it.

    Examples
    --------
    >>> [can_be_imported(module) for module in ("xml.dom.minidom", "xml.nothing", "nothing.minidom", "json.tool.main")]
    [True, False, False, False]
    """
    package, *parts = module.split(".")
    try:
        spec = find_spec(package)
    except ValueError:  # the module is loaded and has no spec, since it was created by hand
        return not parts
    for part in parts:
        if spec is None or spec.submodule_search_locations is None:
            return False
        spec = PathFinder.find_spec(f"{spec.name}.{part}", spec.submodule_search_locations)
    return spec is not None


def version_of(distribution: str) -> str | None:
    """Returns the version of a distribution; None if it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


@cache
def lowest_versions() -> dict[tuple[str, str | None], str | None]:
    """Returns the lowest version of each library, by its name and extra, from clarysage's own metadata.

    Empty if clarysage is not installed but run from a folder.
    """
    try:
        requirements = metadata.requires("clarysage") or []
    except metadata.PackageNotFoundError:
        return {}
    return dict(map(parse_requirement, requirements))


def parse_requirement(text: str) -> tuple[tuple[str, str | None], str | None]:
    """Parses a requirement in the metadata: ((name, extra), lowest version).

    Examples
    --------
    >>> parse_requirement('polars>=1.0; extra == "polars"')
    (('polars', 'polars'), '1.0')
    >>> parse_requirement("numpy<3,>=1.26")
    (('numpy', None), '1.26')
    """
    specifier, _, marker = text.partition(";")
    name = re.split(r"[^\w.-]", specifier.strip(), maxsplit=1)[0]
    lowest, extra = re.search(r">=\s*([\w.]+)", specifier), re.search(r"extra\s*==\s*[\"']([\w-]+)", marker)
    return (name.lower(), extra and extra.group(1)), lowest and lowest.group(1)


def is_below(version: str, lowest: str) -> bool:
    """Tells whether a version is lower than another, by their numbers.

    Examples
    --------
    >>> is_below("1.9.3", "1.26"), is_below("2.0", "2.0.0"), is_below("3.1.0rc1", "3.1")
    (True, False, False)
    """
    pairs = zip_longest(_numbers(version), _numbers(lowest), fillvalue=0)
    return next((mine < other for mine, other in pairs if mine != other), False)


def _numbers(version: str) -> list[int]:
    _, _, release = version.partition("+")[0].rpartition("!")  # the local label and the epoch are ignored
    return [int(digits.group()) for part in release.split(".") if (digits := re.match(r"\d+", part))]


@dataclass(frozen=True)
class Machine:
    """Cores, threads and environment of this process.

    Attributes
    ----------
    cores : number of cores of the machine
    allowed : number of cores that this process may use, by its affinity and the limits of its container
    pools : number of threads of each loaded numerical library; the maximum, if it is loaded more than once
    limits : environment variables about threads and compiled code
    cache : the cache folder of compiled code, None if there is no writable folder
    """

    cores: int | None
    allowed: int
    pools: dict[str, int]
    limits: dict[str, str]
    cache: str | None

    @classmethod
    def inspect(cls) -> Machine:
        """Inspects this machine; imports numba and numpy."""
        import joblib
        import threadpoolctl

        from clarysage.structure.kernels.compiled import cache_folder

        pools = sorted((pool["num_threads"], pool["internal_api"]) for pool in threadpoolctl.threadpool_info())
        limits = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        threads_of = {name: threads for threads, name in pools}
        return cls(os.cpu_count(), joblib.cpu_count(), threads_of, limits, cache_folder())


@dataclass(frozen=True)
class SelfCheck:
    """Result of the self-check: whether the values were right, its seconds with imports, and what went wrong."""

    is_right: bool
    seconds: float
    trouble: str = ""

    @classmethod
    def run(cls) -> SelfCheck:
        """Runs the self-check; an error of a library makes it fail, too."""
        start = time.perf_counter()
        try:
            error = largest_error()
        except Exception as broken:
            return cls(False, time.perf_counter() - start, f"{type(broken).__name__}: {reason(broken)}")
        is_right = error < TOLERANCE
        trouble = f"SAGE values of a linear function are off by {100 * error:.1f} % of the largest"
        return cls(is_right, time.perf_counter() - start, "" if is_right else trouble)


def largest_error() -> float:
    r"""Returns the largest error of exact SAGE values of f(x) = w x, relative to the largest value.

    With squared error and y = f(x), the error of f_S is the sum of z_j = w_j (x_j - mean of the background) over
    withheld j. So v_f is quadratic in the z_j, and each value is :math:`\phi_i = E[z_i \sum_j z_j]`.
    """
    import numpy as np

    import clarysage as cs

    rng, w = np.random.default_rng(0), np.array([2.0, -1.0, 0.5])
    X, background = rng.normal(size=(32, 3)), rng.normal(size=(16, 3))
    sage = cs.sage(lambda rows: rows @ w, X, X @ w, background=background, loss="squared error", method="exact", rng=0)
    z = w * (X - background.mean(axis=0))  # (n, d)
    expected = (z * z.sum(axis=1, keepdims=True)).mean(axis=0)
    return float(np.abs(sage.values - expected).max() / np.abs(expected).max())


@dataclass(frozen=True)
class Diagnosis:
    """The complete diagnosis; ``machine`` is None if a library that inspects it is broken, and ``trouble`` says why."""

    needed: list[Library]
    optional: list[tuple[OptionalLibrary, Library]]
    machine: Machine | None
    self_check: SelfCheck
    is_terminal: bool
    trouble: str = ""

    @classmethod
    def run(cls) -> Diagnosis:
        """Diagnoses this installation. The self-check runs first: it loads the libraries whose threads are counted."""
        self_check, is_terminal = SelfCheck.run(), sys.stdout.isatty()
        needed, optional = needed_libraries(), [(library, library.library) for library in optional_libraries()]
        try:
            return cls(needed, optional, Machine.inspect(), self_check, is_terminal)
        except Exception as broken:  # usually of numba, which the self-check does not use
            return cls(needed, optional, None, self_check, is_terminal, f"{type(broken).__name__}: {reason(broken)}")

    @property
    def problems(self) -> list[str]:
        """Problems that must be solved before clarysage can be used reliably."""
        missing = [f"{library.name} is not installed" for library in self.needed if not library.is_installed]
        old = [
            f"{library.name} {library.version} is older than {library.lowest}, which is needed"
            for library in self.needed
            if library.is_old
        ]
        not_loaded = [f"libraries cannot be loaded: {self.trouble}"] if self.trouble else []
        wrong = [] if self.self_check.is_right else [f"the self-check failed: {self.self_check.trouble}"]
        return [*missing, *old, *not_loaded, *wrong]

    @property
    def remarks(self) -> list[str]:
        """Minor problems that do not affect results."""
        old = [
            f"{library.name} {library.version} is older than {library.lowest}, which is needed for {optional.purpose}: "
            f"{optional.install} --upgrade"
            for optional, library in self.optional
            if library.is_old
        ]
        has_no_cache = self.machine is not None and self.machine.cache is None
        return [*old, *([NO_CACHE] if has_no_cache else []), *([] if lowest_versions() else [NO_METADATA])]

    def to_dict(self) -> dict[str, Any]:
        """Returns the diagnosis as plain objects for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "clarysage": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "needed": [{**asdict(library), "is_old": library.is_old} for library in self.needed],
            "optional": [
                {**asdict(library), "is_old": library.is_old, "purpose": optional.purpose, "install": optional.install}
                for optional, library in self.optional
            ],
            "machine": None if self.machine is None else asdict(self.machine),
            "stdout_is_terminal": self.is_terminal,
            "self_check": asdict(self.self_check),
            "problems": self.problems,
            "remarks": self.remarks,
        }

    def text(self) -> str:
        """Returns the diagnosis as text."""
        blocks = {
            "Needed": [(library.name, _version(library)) for library in self.needed],
            "Optional": [(library.name, _version(library, optional)) for optional, library in self.optional],
            "Machine": [*_machine(self.machine), ("stdout", "a terminal" if self.is_terminal else "not a terminal")],
            "Self-check": [("SAGE of a linear function", _self_check(self.self_check))],
        }
        lines = [f"clarysage {__version__}, Python {platform.python_version()}, {platform.platform()}"]
        for title, rows in blocks.items():
            width = max(len(name) for name, _ in rows)
            lines += [title, *(f"  {name:<{width}}  {value}" for name, value in rows)]
        lines += [f"Problem: {problem}." for problem in self.problems]
        lines += [f"Remark: {remark}." for remark in self.remarks]
        lines += [] if self.problems else ["Everything that is needed is installed and works."]
        return "\n".join(lines)


def _version(library: Library, optional: OptionalLibrary | None = None) -> str:
    if not library.is_installed:
        return "MISSING" if optional is None else f"not installed; for {optional.purpose}: {optional.install}"
    version = library.version or "installed, version not known"
    if library.is_old:
        version += f", OLDER than {library.lowest}"
    return version if optional is None else f"{version}, for {optional.purpose}"


def _machine(machine: Machine | None) -> list[tuple[str, str]]:
    if machine is None:
        return [("cores and threads", "not known")]
    pools = ", ".join(f"{name} {threads}" for name, threads in machine.pools.items())
    limits = ", ".join(f"{name}={value}" for name, value in machine.limits.items())
    return [
        ("cores", f"{machine.allowed} of {machine.cores} may be used"),
        ("threads", (pools or "no library with threads is loaded") + (f" ({limits})" if limits else "")),
        ("compiled code", "not cached" if machine.cache is None else f"cached in {machine.cache}"),
    ]


def _self_check(check: SelfCheck) -> str:
    return f"{'agrees with its closed form' if check.is_right else 'FAILED'} ({check.seconds:.1f} s with imports)"
