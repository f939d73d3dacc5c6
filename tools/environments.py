"""Interpreters of this machine, environments made with them, and a table of what was tried in them.

This needs nothing beyond Python's own library, and uses uv instead of venv and pip where there is one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "clarysage"
SUPPORTED = ("3.11", "3.12", "3.13")
VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"
LEADING_OUT = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")  # variables that lead out of an environment


class CheckError(Exception):
    """A check failed; the message goes into the table."""


@dataclass
class Table:
    """A table of the checks: name, result and seconds."""

    rows: list[tuple[str, str, float]] = field(default_factory=list)
    failures: int = 0

    def run(self, name: str, work: Callable[[], str]) -> bool:
        """Do some work, which returns its result or raises CheckError, and keep a row about it."""
        print(f"\n== {name}", flush=True)
        start = time.perf_counter()
        try:
            result, passed = work(), True
        except (CheckError, OSError, ValueError, KeyError) as error:
            kind = "" if isinstance(error, CheckError) else f"{type(error).__name__}: "
            result, passed = f"FAILED: {kind}{error}", False
            self.failures += 1
        print(f"-- {name}: {result}", flush=True)
        self.rows.append((name, result, time.perf_counter() - start))
        return passed

    def __str__(self) -> str:
        cells = [("environment", "result", "seconds"), *((name, result, f"{s:.0f}") for name, result, s in self.rows)]
        first, second, third = (max(map(len, column)) for column in zip(*cells, strict=True))
        lines = [f"{name:<{first}}  {result:<{second}}  {s:>{third}}" for name, result, s in cells]
        return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def find_interpreters(names: str) -> dict[str, str]:
    """Paths of interpreters by version, oldest first: those named, or else one of each version that is supported."""
    candidates_of = [(name, [name]) for name in names.split()]
    if not candidates_of:
        candidates_of = [(f"python{version}", list(interpreter_paths(version))) for version in SUPPORTED]
    interpreters: dict[str, str] = {}
    for name, candidates in candidates_of:
        working = next(((v, path) for path in candidates if (v := version_of(path)) is not None), None)
        if working is None:
            print(f"{name} is not on this machine: skipped")
        else:
            interpreters.setdefault(*working)
    return dict(sorted(interpreters.items(), key=lambda item: release(item[0])))


def interpreter_paths(version: str) -> Iterable[str]:
    """Returns candidates for an interpreter: on the path, and among pyenv's, newest patch first."""
    yield f"python{version}"
    folder = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    patches = [path for path in folder.glob(f"{version}.*") if re.fullmatch(r"[\d.]+", path.name)]
    for patch in sorted(patches, key=lambda path: release(path.name), reverse=True):
        yield str(patch / "bin" / f"python{version}")


def version_of(interpreter: str) -> str | None:
    """Returns the version, as in "3.12", or None if it does not start, as a shim of pyenv without an interpreter."""
    path = shutil.which(interpreter)
    if path is None:
        return None
    answer = subprocess.run([path, "-c", VERSION], capture_output=True, text=True, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else None


def release(version: str) -> tuple[int, ...]:
    """The numbers of a version, to sort by."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


@dataclass(frozen=True)
class Environment:
    """A virtual environment in a folder of its own."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, interpreter: str) -> Environment:
        """Make it, or take what is there from an earlier run."""
        environment = cls(folder)
        if not environment.python.exists():
            uv, path = shutil.which("uv"), shutil.which(interpreter) or interpreter
            run([uv, "venv", "--quiet", "--python", path, folder] if uv else [path, "-m", "venv", folder])
        return environment

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def variables(self) -> dict[str, str]:
        """Variables for what runs inside: nothing that leads out of it, no window, and compiled code of its own."""
        variables = {key: value for key, value in os.environ.items() if key not in LEADING_OUT}
        variables["PATH"] = os.pathsep.join([str(self.folder / "bin"), os.environ.get("PATH", os.defpath)])
        return {**variables, "MPLBACKEND": "Agg", "NUMBA_CACHE_DIR": str(self.folder / "numba")}

    def install(self, *requirements: str, editable: bool = False) -> None:
        """Install the newest versions that fit."""
        uv = shutil.which("uv")
        installer: list[str | Path] = [self.python, "-m", "pip", "install"]
        if uv:
            installer = [uv, "pip", "install", "--python", self.python]
        options = ["--quiet", "--upgrade", *(["--editable"] if editable else [])]
        run([*installer, *options, *requirements], cwd=ROOT, env=self.variables())

    def run(self, *command: str | Path, cwd: Path) -> str:
        """Run a program of the environment; its output, which is shown as well."""
        return run([self.folder / "bin" / command[0], *command[1:]], cwd=cwd, env=self.variables())


def run(command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a command and show what it prints as it comes; what it printed, or CheckError with its last line."""
    lines: list[str] = []
    with subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        text=True,
        encoding="utf-8",
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        for text in process.stdout:
            print(text, end="", flush=True)
            lines.append(text)
    if process.returncode:
        ending = [text.strip("= \n") for text in lines if text.strip("= \n")][-1:]
        raise CheckError(*(ending or [f"exit code {process.returncode} of {Path(command[0]).name}"]))
    return "".join(lines)


def part(pattern: str, text: str) -> str:
    """The group of the first match of a pattern, which must be there."""
    match = re.search(pattern, text, flags=re.DOTALL)
    if match is None:
        raise CheckError(f"nothing like {pattern} is in {text[:80]!r}")
    return match[1]
