"""What ``clarysage doctor`` finds: versions, optional parts, the machine, a self-check, and what is wrong."""

from __future__ import annotations

import os
import platform
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

from clarysage import __version__
from clarysage.cli.console import reason
from clarysage.cli.installed import Library, Part, bounds, needed, optional

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

        from clarysage.structure.kernels.compiled import kept_in

        found = sorted((pool["num_threads"], pool["internal_api"]) for pool in threadpoolctl.threadpool_info())
        limits = {name: os.environ[name] for name in LIMITS if name in os.environ}
        return cls(os.cpu_count(), joblib.cpu_count(), {name: threads for threads, name in found}, limits, kept_in())


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
