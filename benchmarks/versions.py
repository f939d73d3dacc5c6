"""Tests on every supported Python with the newest and the oldest libraries, and tests of the wheel.

    make test-versions
    make test-wheel
    python benchmarks/versions.py --only 3.13 --only oldest --pytest "tests/test_axioms.py tests/test_trees.py"
    PYTHONS="python3.12 /opt/python3.14/bin/python3" python benchmarks/versions.py

Without ``--wheel`` each interpreter gets an environment with the newest libraries and runs the suite there. The oldest
Python that pyproject.toml allows gets a second environment, ``oldest``, where each library that pyproject.toml names is
at its lower bound. An interpreter that this machine lacks is named and skipped.

With ``--wheel`` a source distribution and a wheel are built and what is in them is checked. Then the wheel is installed
in an empty environment, far from the sources, and the demo and the example of README.md run there.

This needs nothing beyond Python's own library, and uses uv instead of venv and pip where there is one. Environments are
made in a temporary folder, unless ``--environments`` names a folder where they stay and are used again. The exit code
is 0 if all that ran passed, 1 if something failed, and 2 if there was no interpreter to run it on.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "clarysage"
SUPPORTED = ("3.11", "3.12", "3.13")
OLDEST = "oldest"
NO_INTERPRETER = 2

CACHES = re.compile(
    r"(^|/)(__pycache__|\.[\w-]*cache|\.hypothesis|\.venv[^/]*|\.git|[^/]*\.egg-info|build|dist)/|\.pyc$"
)
DATA_SETS = re.compile(
    r"\.(csv|tsv|arff|parquet|feather|arrow|npy|npz|pkl|joblib|h5|hdf5|mat|data|ckpt|pt|onnx|cbm|xlsx?|zip|t?gz|bz2|xz)$"
)
SHOWN = 5  # files named in a complaint
LARGEST_FILE = 1_000_000  # bytes of a file in the source distribution: figures are smaller, data sets are not
PACKAGE_FILE = f"import {PACKAGE}; print({PACKAGE}.__file__)"
VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"
LIBRARIES = """\
import sys
from importlib.metadata import version
print(*(f"{name} {version(name)}" for name in sys.argv[1:]), sep=", ")
"""
LEADING_OUT = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")  # variables that lead out of an environment
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt"}
DEMO_FILES = ("sage.json", "sage.png", "report.html")


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


def main() -> int:
    """Run what the options ask for, print the table and return the exit code."""
    options = read_options()
    interpreters = find_interpreters(options.pythons, for_wheel=options.wheel)
    if not interpreters:
        print("no interpreter to run anything on: name some by --pythons or PYTHONS", file=sys.stderr)
        return NO_INTERPRETER
    table = Table()
    with tempfile.TemporaryDirectory(prefix=f"{PACKAGE}-versions-") as temporary:
        folder = Path(options.environments or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if options.wheel:
            check_wheel(table, interpreters, folder)
        else:
            check_versions(table, interpreters, folder, options)
    if not table.rows:
        print(f"none of the environments is called {' or '.join(options.only)}", file=sys.stderr)
        return NO_INTERPRETER
    print(f"\n{table}")
    return int(table.failures > 0)


def read_options() -> argparse.Namespace:
    """Reads the command line; PYTHONS from the environment is the default of ``--pythons``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", action="store_true", help="build, check and try the distributions instead")
    parser.add_argument("--pythons", default=os.environ.get("PYTHONS", ""), help="names or paths, between spaces")
    parser.add_argument("--only", action="append", help=f"an environment by its name: 3.12, or {OLDEST}")
    parser.add_argument("--extras", default="test", help="of pyproject.toml, between commas (default: %(default)s)")
    parser.add_argument("--pytest", default="", metavar="ARGS", help="further arguments of pytest")
    parser.add_argument("--jobs", default="auto", help="processes of pytest (default: %(default)s)")
    parser.add_argument("--environments", metavar="FOLDER", help="where environments stay")
    return parser.parse_args()


# Interpreters


def find_interpreters(pythons: str, *, for_wheel: bool) -> dict[str, str]:
    """Paths of interpreters by version, oldest first; for a wheel the one that runs this, unless others are named."""
    if pythons:
        candidates_of = [(name, [name]) for name in pythons.split()]
    elif for_wheel:
        candidates_of = [(sys.executable, [sys.executable])]
    else:
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


# Environments


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


# Versions


def check_versions(table: Table, interpreters: Mapping[str, str], folder: Path, options: argparse.Namespace) -> None:
    """Run the suite in an environment of each interpreter, and in one with the oldest libraries."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [extra.strip() for extra in options.extras.split(",") if extra.strip()]
    requirements = requirements_of(project, extras)
    least = lower_bound(project["requires-python"])
    environments: dict[str, tuple[str, list[str]]] = {version: (path, []) for version, path in interpreters.items()}
    if least in interpreters:
        environments[OLDEST] = (interpreters[least], [at_lower_bound(requirement) for requirement in requirements])
    else:
        print(f"python{least} is not among the interpreters: {OLDEST} is skipped")
    for name, (interpreter, pins) in environments.items():
        if not options.only or name in options.only:
            work = partial(run_suite, folder / name, interpreter, extras, requirements, pins, options)
            table.run(f"{least}, {OLDEST} libraries" if name == OLDEST else f"{name}, newest libraries", work)


def run_suite(
    folder: Path,
    interpreter: str,
    extras: Sequence[str],
    requirements: Sequence[str],
    pins: Sequence[str],
    options: argparse.Namespace,
) -> str:
    """Install the sources with their extras and run pytest; the last line of what it prints."""
    environment = Environment.make(folder, interpreter)
    environment.install(f".[{','.join(extras)}]" if extras else ".", *pins, editable=True)
    environment.run("python", "-c", LIBRARIES, *dict.fromkeys(map(library, requirements)), cwd=ROOT)
    arguments = ["-p", "no:cacheprovider", *shlex.split(options.pytest)]
    printed = environment.run("python", "-m", "pytest", "-n", options.jobs, *arguments, cwd=ROOT)
    return printed.strip().splitlines()[-1].strip("= ")


def requirements_of(project: Mapping[str, Any], extras: Iterable[str]) -> list[str]:
    """Requirements of the package and of some extras, where extras that name other extras are followed."""
    requirements = list(project["dependencies"])
    waiting, seen = list(extras), set()
    while waiting:
        extra = waiting.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for requirement in project["optional-dependencies"][extra]:
            if library(requirement) == project["name"]:
                waiting += re.findall(r"[\w-]+", requirement.partition("[")[2])
            else:
                requirements.append(requirement)
    return requirements


def library(requirement: str) -> str:
    """The name that a requirement begins with."""
    return part(r"([\w.-]+)", requirement)


def lower_bound(text: str) -> str:
    """The version behind ``>=``."""
    return part(r">=\s*([^\s,;]+)", text)


def at_lower_bound(requirement: str) -> str:
    """The requirement with its lower bound as the only version, and its marker if it has one."""
    specifier, semicolon, marker = requirement.partition(";")
    if ">=" not in specifier:
        return requirement
    name = part(r"([\w.-]+\s*(?:\[.*?\])?)", specifier)
    return f"{name}=={lower_bound(specifier)}{semicolon}{marker}"


# The wheel


def check_wheel(table: Table, interpreters: Mapping[str, str], folder: Path) -> None:
    """Build both distributions, look into them, and use the wheel where the sources are not."""
    interpreter = [*interpreters.values()][-1]
    with tempfile.TemporaryDirectory(prefix=f"{PACKAGE}-wheel-") as temporary:
        distributions = Path(temporary) / "distributions"
        if not table.run("build", lambda: build(folder / "build", interpreter, distributions)):
            return
        table.run("source distribution", lambda: check_source_distribution(distributions))
        table.run("wheel", lambda: check_wheel_contents(distributions))
        for version, path in interpreters.items():
            work_folder = Path(temporary) / version
            work_folder.mkdir()
            environment = Environment(work_folder / "environment")
            if table.run(f"{version}, wheel installed", partial(install_wheel, environment, path, distributions)):
                table.run(f"{version}, {PACKAGE} demo", partial(run_demo, environment, work_folder))
                table.run(f"{version}, README.md", partial(run_example, environment, work_folder))


def build(folder: Path, interpreter: str, distributions: Path) -> str:
    """Build the source distribution, a wheel out of it, and another wheel straight from the sources."""
    environment = Environment.make(folder, interpreter)
    environment.install("build")
    environment.run("python", "-m", "build", "--outdir", distributions, ROOT, cwd=folder)
    environment.run("python", "-m", "build", "--wheel", "--outdir", distributions / "straight", ROOT, cwd=folder)
    return "built, the wheel by way of the source distribution"


def check_source_distribution(distributions: Path) -> str:
    """See that it holds sources, tests and documentation, and neither data sets nor caches."""
    path = only_file(distributions, "*.tar.gz")
    with tarfile.open(path) as archive:
        sizes = {member.name.partition("/")[2]: member.size for member in archive.getmembers() if member.isfile()}
    missing = {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        f"src/{PACKAGE}/__init__.py",
        "conftest.py",
        "tests/oracle.py",
    } - set(sizes)
    refuse("lacks", missing)
    refuse("holds caches:", filter(CACHES.search, sizes))
    refuse("holds data sets:", filter(DATA_SETS.search, sizes))
    refuse("holds large files:", (name for name, size in sizes.items() if size > LARGEST_FILE))
    return f"{len(sizes)} files, {path.stat().st_size / 1e6:.1f} MB, no data sets and no caches"


def check_wheel_contents(distributions: Path) -> str:
    """See that it holds the package, all of it, and metadata; the same by either way of building it."""
    wheel = only_file(distributions, "*.whl")
    names, straight = (wheel_files(path) for path in (wheel, only_file(distributions / "straight", "*.whl")))
    refuse("is another if built straight from the sources, in", names ^ straight)
    package = {name for name in names if not re.match(rf"{PACKAGE}-[^/]+\.dist-info/", name)}
    files = (path for path in (ROOT / "src" / PACKAGE).rglob("*") if path.is_file())
    sources = {name for path in files if not CACHES.search(name := path.relative_to(ROOT / "src").as_posix())}
    refuse("holds what is not in the package:", package - sources)
    refuse("lacks", sources - package)
    refuse("lacks metadata:", METADATA - {name.rpartition("/")[2] for name in names - package})
    size = wheel.stat().st_size / 1e6
    return f"{len(package)} files of the package and {len(names - package)} of metadata, {size:.1f} MB"


def install_wheel(environment: Environment, interpreter: str, distributions: Path) -> str:
    """Install the wheel in an empty environment, and see that this is where the package is imported from."""
    Environment.make(environment.folder, interpreter)
    environment.install(str(only_file(distributions, "*.whl")))
    path = Path(environment.run("python", "-c", PACKAGE_FILE, cwd=environment.folder.parent).strip().splitlines()[-1])
    if not path.resolve().is_relative_to(environment.folder.resolve()):
        raise CheckError(f"{PACKAGE} is imported from {path}, outside of the environment")
    return "imported from the environment"


def run_demo(environment: Environment, parent: Path) -> str:
    """Run the demo, and see that it prints a table and writes a plot, a report and JSON."""
    printed = environment.run(PACKAGE, "demo", cwd=parent)
    folder = parent / f"{PACKAGE}-demo"
    refuse("did not write", (name for name in DEMO_FILES if not (folder / name).is_file()))
    features = json.loads((folder / "sage.json").read_text(encoding="utf-8"))["feature_names"]
    refuse("has no line in its table for", (name for name in features if f"\n  {name} " not in printed))
    report = (folder / "report.html").read_text(encoding="utf-8")
    refuse("has no word in its report of", (name for name in features if name not in report))
    check_image(folder / "sage.png")
    return f"a table of {len(features)} features, a plot, a report and JSON"


def run_example(environment: Environment, folder: Path) -> str:
    """Run the first example of README.md, and see that it draws its plot."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = part(r"```python\n(.*?)```", text)
    environment.run("python", "-c", code, cwd=folder)
    check_image(folder / "wine.png")
    return f"its {len(code.strip().splitlines())} lines draw their plot"


def part(pattern: str, text: str) -> str:
    """The group of the first match of a pattern, which must be there."""
    match = re.search(pattern, text, flags=re.DOTALL)
    if match is None:
        raise CheckError(f"nothing like {pattern} is in {text[:80]!r}")
    return match[1]


def check_image(path: Path) -> None:
    """See that a file is there and begins like a PNG."""
    if not path.is_file() or not path.read_bytes().startswith(b"\x89PNG"):
        raise CheckError(f"{path.name} is no image")


def wheel_files(path: Path) -> set[str]:
    """Names of files in a wheel."""
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def only_file(folder: Path, pattern: str) -> Path:
    """The file of a pattern, of which there must be a single instance."""
    paths = [*folder.glob(pattern)]
    if len(paths) != 1:
        raise CheckError(f"{len(paths)} files {pattern} were built")
    return paths[0]


def refuse(complaint: str, names: Iterable[str]) -> None:
    """Raise CheckError if there are any names, with the first few."""
    listed = sorted(names)
    if listed:
        others = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
        raise CheckError(f"{complaint} {', '.join(listed[:SHOWN])}{others}")


if __name__ == "__main__":
    sys.exit(main())
