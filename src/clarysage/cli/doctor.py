"""What ``clarysage doctor`` finds: versions, optional parts, the machine, a self-check, and what is wrong."""

from __future__ import annotations

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

from clarysage import __version__
from clarysage.cli.console import reason
from clarysage.models.libraries import LIBRARIES

FORMAT = "clarysage doctor"
VERSION = 1
NOWHERE = "compiled code is made anew by each run; NUMBA_CACHE_DIR names a folder to keep it in, which can be written"
UNBOUND = "clarysage is run from a folder and not installed, so the versions that it needs are not known"
LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMBA_CACHE_DIR",
    "NUMBA_DISABLE_JIT",
    "LOKY_MAX_CPU_COUNT",
)
CLOSE = 1e-9  # errors of the self-check, as shares of the largest value: rounding alone


@dataclass(frozen=True)
class Machine:
    """What a run has to work with.

    Attributes
    ----------
    cores : of the machine
    allowed : of those, the ones that this process may use by its affinity and limits of its container
    pools : threads of each numerical library that is loaded; the most, where it is loaded more than once
    limits : variables of the environment that say something about threads and compiled code
    cache : the folder where compiled code is kept, None where there is none that can be written
    """

    cores: int | None
    allowed: int
    pools: dict[str, int]
    limits: dict[str, str]
    cache: str | None

    @classmethod
    def found(cls) -> Machine:
        """This one. Loads numba and numpy."""
        import joblib
        import threadpoolctl

        from clarysage.structure.kernels.compiled import cache_folder

        found = sorted((pool["num_threads"], pool["internal_api"]) for pool in threadpoolctl.threadpool_info())
        limits = {name: os.environ[name] for name in LIMITS if name in os.environ}
        return cls(
            os.cpu_count(), joblib.cpu_count(), {name: threads for threads, name in found}, limits, cache_folder()
        )


@dataclass(frozen=True)
class SelfCheck:
    """Whether the values were right, how long it took with loading the libraries, and what went wrong."""

    is_right: bool
    seconds: float
    trouble: str = ""


def self_check() -> SelfCheck:
    """The check, done; an error of a library is a trouble, too."""
    start = time.perf_counter()
    try:
        error = farthest()
    except Exception as broken:
        return SelfCheck(False, time.perf_counter() - start, f"{type(broken).__name__}: {reason(broken)}")
    trouble = "" if error < CLOSE else f"SAGE values of a linear function are off by {100 * error:.1f} % of the largest"
    return SelfCheck(error < CLOSE, time.perf_counter() - start, trouble)


def farthest() -> float:
    r"""The largest error of exact SAGE values of f(x) = w x, as a share of the largest value.

    With squared error and y = f(x), f_S misses by the sum of z_j = w_j (x_j - mean of the background) over withheld j,
    so that v_f is quadratic in the z_j, and each value is :math:`\phi_i = E[z_i \sum_j z_j]`.
    """
    import numpy as np

    import clarysage as cs

    rng, w = np.random.default_rng(0), np.array([2.0, -1.0, 0.5])
    X, background = rng.normal(size=(32, 3)), rng.normal(size=(16, 3))
    found = cs.sage(lambda rows: rows @ w, X, X @ w, background=background, loss="squared error", method="exact", rng=0)
    z = w * (X - background.mean(axis=0))  # (n, d)
    expected = (z * z.sum(axis=1, keepdims=True)).mean(axis=0)
    return float(np.abs(found.values - expected).max() / np.abs(expected).max())


@dataclass(frozen=True)
class Checkup:
    """All that was found; ``machine`` is None where a library to look with is broken: ``trouble`` says why."""

    libraries: list[Library]
    parts: list[tuple[Part, Library]]
    machine: Machine | None
    check: SelfCheck
    is_terminal: bool
    trouble: str = ""

    @classmethod
    def done(cls) -> Checkup:
        """The checkup of this installation. The self-check comes first: it loads what threads are looked at of."""
        check, parts, is_terminal = self_check(), [(part, part.library) for part in optional()], sys.stdout.isatty()
        try:
            return cls(needed(), parts, Machine.found(), check, is_terminal)
        except Exception as broken:  # numba, as a rule, which the self-check does not touch
            return cls(needed(), parts, None, check, is_terminal, f"{type(broken).__name__}: {reason(broken)}")

    @property
    def problems(self) -> list[str]:
        """What must be mended before clarysage can be relied on."""
        missing = [f"{one.name} is not installed" for one in self.libraries if not one.is_installed]
        old = [
            f"{one.name} {one.version} is older than {one.lowest}, which is needed"
            for one in self.libraries
            if one.is_old
        ]
        unloaded = [f"libraries cannot be loaded: {self.trouble}"] if self.trouble else []
        wrong = [] if self.check.is_right else [f"the self-check failed: {self.check.trouble}"]
        return [*missing, *old, *unloaded, *wrong]

    @property
    def remarks(self) -> list[str]:
        """What is not as it should be, but not in the way."""
        old = [
            f"{one.name} {one.version} is older than {one.lowest}, which is wanted for {part.purpose}: "
            f"{part.install} --upgrade"
            for part, one in self.parts
            if one.is_old
        ]
        nowhere = self.machine is not None and self.machine.cache is None
        return [*old, *([NOWHERE] if nowhere else []), *([] if bounds() else [UNBOUND])]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain objects."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "clarysage": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "needed": [{**asdict(one), "is_old": one.is_old} for one in self.libraries],
            "optional": [
                {**asdict(one), "is_old": one.is_old, "purpose": part.purpose, "install": part.install}
                for part, one in self.parts
            ],
            "machine": None if self.machine is None else asdict(self.machine),
            "stdout_is_terminal": self.is_terminal,
            "self_check": asdict(self.check),
            "problems": self.problems,
            "remarks": self.remarks,
        }

    def text(self) -> str:
        """Everything to read."""
        blocks = {
            "Needed": [(one.name, _version(one)) for one in self.libraries],
            "Optional": [(one.name, _version(one, part)) for part, one in self.parts],
            "Machine": [*_machine(self.machine), ("stdout", "a terminal" if self.is_terminal else "not a terminal")],
            "Self-check": [("SAGE of a linear function", _checked(self.check))],
        }
        lines = [f"clarysage {__version__}, Python {platform.python_version()}, {platform.platform()}"]
        for title, rows in blocks.items():
            wide = max(len(name) for name, _ in rows)
            lines += [title, *(f"  {name:<{wide}}  {said}" for name, said in rows)]
        return "\n".join(
            [
                *lines,
                *(f"Problem: {text}." for text in self.problems),
                *(f"Remark: {text}." for text in self.remarks),
                *([] if self.problems else ["Everything that is needed is there."]),
            ]
        )


def _version(library: Library, part: Part | None = None) -> str:
    if not library.is_installed:
        return "MISSING" if part is None else f"not installed; for {part.purpose}: {part.install}"
    version = library.version or "installed, version not known"
    if library.is_old:
        version += f", OLDER than {library.lowest}"
    return version if part is None else f"{version}, for {part.purpose}"


def _machine(machine: Machine | None) -> list[tuple[str, str]]:
    if machine is None:
        return [("cores and threads", "not known")]
    pools = ", ".join(f"{name} {threads}" for name, threads in machine.pools.items())
    limits = ", ".join(f"{name}={value}" for name, value in machine.limits.items())
    return [
        ("cores", f"{machine.allowed} of {machine.cores} may be used"),
        ("threads", (pools or "no library with threads is loaded") + (f" ({limits})" if limits else "")),
        ("compiled code", "kept nowhere" if machine.cache is None else f"kept in {machine.cache}"),
    ]


def _checked(check: SelfCheck) -> str:
    return f"{'agrees with its closed form' if check.is_right else 'FAILED'} ({check.seconds:.1f} s with loading)"


# what clarysage cannot do without, as distributions are called
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


@dataclass(frozen=True)
class Library:
    """A library, needed or optional.

    Attributes
    ----------
    name : as its distribution is called
    version : the one that is installed, None where none is or that is not known
    lowest : the lowest version that is known to do, None where that is not known
    is_installed : whether it is there, be its version known or not
    """

    name: str
    version: str | None
    lowest: str | None
    is_installed: bool

    @property
    def is_old(self) -> bool:
        """Whether the version is below the lowest that does."""
        return self.version is not None and self.lowest is not None and is_below(self.version, self.lowest)


@dataclass(frozen=True)
class Part:
    """What an optional library brings.

    Attributes
    ----------
    module : what is imported of it
    extra : of clarysage, with which it comes
    purpose : what it is for
    distribution : what it is installed by, where that is not the name of the module
    """

    module: str
    extra: str
    purpose: str
    distribution: str = ""

    @property
    def library(self) -> Library:
        """The library as it is installed, under the name that clarysage asks for, its own or that of the module."""
        asked = next((key for key in bounds() if key[1] == self.extra), None)
        lowest = None if asked is None else bounds()[asked]
        names = (*([] if asked is None else [asked[0]]), self.distribution, self.module)
        versions = (version_of(name) for name in names if name)
        is_installed = is_there(self.module)
        version = next((version for version in versions if version is not None), None)
        return Library(self.module, version if is_installed else None, lowest, is_installed)

    @property
    def install(self) -> str:
        """How to get it."""
        is_extra = any(extra == self.extra for _, extra in bounds())
        return (
            f'pip install "clarysage[{self.extra}]"' if is_extra else f"pip install {self.distribution or self.module}"
        )


def optional() -> list[Part]:
    """What optional libraries bring, those of models among them."""
    of_models = [
        Part(library.name, library.extra or library.name, library.summary, library.distribution)
        for library in LIBRARIES.values()
        if not library.is_needed
    ]
    return [
        Part("polars", "polars", "data in polars frames"),
        Part("pyarrow", "arrow", "Parquet files and Arrow tables"),
        *of_models,
        Part("skops", "skops", "scikit-learn models in files that run no code"),
        Part("shap", "shap", "mean absolute SHAP by its fast explainers"),
        Part("mlflow", "mlflow", "results logged to MLflow"),
    ]


def needed() -> list[Library]:
    """The libraries that clarysage cannot do without."""
    versions = {name: version_of(name) for name in NEEDED}
    return [
        Library(name, version, bounds().get((name, None)), is_installed=version is not None)
        for name, version in versions.items()
    ]


def is_there(module: str) -> bool:
    """Whether a module can be found. Nothing is imported, not even the packages that it is in.

    Examples
    --------
    >>> is_there("xml.dom.minidom"), is_there("xml.nothing"), is_there("nothing.minidom"), is_there("json.tool.main")
    (True, False, False, False)
    """
    package, *parts = module.split(".")
    try:
        spec = find_spec(package)
    except ValueError:  # of a module that is loaded and was made by hand
        return not parts
    for part in parts:
        if spec is None or spec.submodule_search_locations is None:
            return False
        spec = PathFinder.find_spec(f"{spec.name}.{part}", spec.submodule_search_locations)
    return spec is not None


def version_of(distribution: str) -> str | None:
    """The version of a distribution, None where it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


@cache
def bounds() -> dict[tuple[str, str | None], str | None]:
    """The lowest version of each library by its name and its extra, as clarysage's own metadata have them.

    Empty where clarysage is not installed but run from a folder.
    """
    try:
        asked = metadata.requires("clarysage") or []
    except metadata.PackageNotFoundError:
        return {}
    return dict(map(requirement, asked))


def requirement(text: str) -> tuple[tuple[str, str | None], str | None]:
    """A line of metadata, read: name, extra, lowest version.

    Examples
    --------
    >>> requirement('polars>=1.0; extra == "polars"')
    (('polars', 'polars'), '1.0')
    >>> requirement("numpy<3,>=1.26")
    (('numpy', None), '1.26')
    """
    wanted, _, marker = text.partition(";")
    name = re.split(r"[^\w.-]", wanted.strip(), maxsplit=1)[0]
    lowest, extra = re.search(r">=\s*([\w.]+)", wanted), re.search(r"extra\s*==\s*[\"']([\w-]+)", marker)
    return (name.lower(), extra and extra.group(1)), lowest and lowest.group(1)


def is_below(version: str, lowest: str) -> bool:
    """Whether a version comes before another, by the numbers in them.

    Examples
    --------
    >>> is_below("1.9.3", "1.26"), is_below("2.0", "2.0.0"), is_below("3.1.0rc1", "3.1")
    (True, False, False)
    """
    pairs = zip_longest(_numbers(version), _numbers(lowest), fillvalue=0)
    return next((one < other for one, other in pairs if one != other), False)


def _numbers(version: str) -> list[int]:
    public = version.partition("+")[0].partition("!")  # without a local label; with the epoch apart
    return [int(found.group()) for part in (public[2] or public[0]).split(".") if (found := re.match(r"\d+", part))]
