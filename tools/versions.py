"""Tests on every supported Python with the newest and the oldest libraries, and the site with the oldest.

    make test-versions
    python -m tools.versions --only 3.13 --only oldest --pytest "tests/test_axioms.py tests/test_trees.py"
    PYTHONS="python3.12 /opt/python3.14/bin/python3" python -m tools.versions

Each interpreter gets an environment with the newest libraries and runs the suite there. The oldest Python that
pyproject.toml allows gets a second environment, ``oldest``, where each library that pyproject.toml names is at its
lower bound, and a third one, ``oldest-site``, which builds the site with the lower bounds of the extra ``docs``. An
interpreter that this machine lacks is named and skipped.

Environments are made in a temporary folder, unless ``--environments`` names a folder where they stay and are used
again. The exit code is 0 if all that ran passed, 1 if something failed, and 2 if there was no interpreter to run it on.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tools.environments import PACKAGE, ROOT, Environment, Table, find_interpreters, part

OLDEST = "oldest"
OLDEST_SITE = "oldest-site"
NO_INTERPRETER = 2
LIBRARIES = """\
import sys
from importlib.metadata import version
print(*(f"{name} {version(name)}" for name in sys.argv[1:]), sep=", ")
"""


def main() -> int:
    """Run what the options ask for, print the table and return the exit code."""
    options = read_options()
    interpreters = find_interpreters(options.pythons)
    if not interpreters:
        print("no interpreter to run anything on: name some by --pythons or PYTHONS", file=sys.stderr)
        return NO_INTERPRETER
    table = Table()
    with tempfile.TemporaryDirectory(prefix=f"{PACKAGE}-versions-") as temporary:
        folder = Path(options.environments or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        check_versions(table, interpreters, folder, options)
    if not table.rows:
        print(f"none of the environments is called {' or '.join(options.only)}", file=sys.stderr)
        return NO_INTERPRETER
    print(f"\n{table}")
    return int(table.failures > 0)


def read_options() -> argparse.Namespace:
    """Reads the command line; PYTHONS from the environment is the default of ``--pythons``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pythons", default=os.environ.get("PYTHONS", ""), help="names or paths, between spaces")
    parser.add_argument("--only", action="append", help=f"an environment by its name: 3.12, {OLDEST} or {OLDEST_SITE}")
    parser.add_argument("--extras", default="test", help="of pyproject.toml, between commas (default: %(default)s)")
    parser.add_argument("--pytest", default="", metavar="ARGS", help="further arguments of pytest")
    parser.add_argument("--jobs", default="auto", help="processes of pytest (default: %(default)s)")
    parser.add_argument("--environments", metavar="FOLDER", help="where environments stay")
    return parser.parse_args()


def check_versions(table: Table, interpreters: Mapping[str, str], folder: Path, options: argparse.Namespace) -> None:
    """Run the suite in an environment of each interpreter, and in one with the oldest libraries."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [extra.strip() for extra in options.extras.split(",") if extra.strip()]
    least = lower_bound(project["requires-python"])
    suite = partial(run_suite, pytest=options.pytest, jobs=options.jobs)
    environments = {
        version: (f"{version}, newest libraries", Setup(path, extras, requirements_of(project, extras)), suite)
        for version, path in interpreters.items()
    }
    if least in interpreters:
        oldest, oldest_site = (
            Setup(interpreters[least], names, requirements_of(project, names), pinned=True)
            for names in (extras, ["docs"])
        )
        environments[OLDEST] = (f"{least}, oldest libraries", oldest, suite)
        environments[OLDEST_SITE] = (f"{least}, site with the oldest libraries", oldest_site, build_site)
    else:
        print(f"python{least} is not among the interpreters: {OLDEST} and {OLDEST_SITE} are skipped")
    for name, (title, setup, work) in environments.items():
        if not options.only or name in options.only:
            table.run(title, lambda work=work, setup=setup, name=name: work(setup.install(folder / name)))


@dataclass(frozen=True)
class Setup:
    """An interpreter, extras, and what these require, which is at its lower bounds if pinned."""

    interpreter: str
    extras: Sequence[str]
    requirements: Sequence[str]
    pinned: bool = False

    def install(self, folder: Path) -> Environment:
        """Makes the environment in a folder, with the sources and their extras, and prints the versions in it."""
        environment = Environment.make(folder, self.interpreter)
        pins = [at_lower_bound(requirement) for requirement in self.requirements] if self.pinned else []
        environment.install(f".[{','.join(self.extras)}]" if self.extras else ".", *pins, editable=True)
        environment.run("python", "-c", LIBRARIES, *dict.fromkeys(map(library, self.requirements)), cwd=ROOT)
        return environment


def run_suite(environment: Environment, *, pytest: str, jobs: str) -> str:
    """Runs pytest; the last line of what it prints."""
    arguments = ["-p", "no:cacheprovider", *shlex.split(pytest)]
    printed = environment.run("python", "-m", "pytest", "-n", jobs, *arguments, cwd=ROOT)
    return printed.strip().splitlines()[-1].strip("= ")


def build_site(environment: Environment) -> str:
    """Builds the site from nothing, where a warning is a failure."""
    site = environment.folder / "site"
    arguments = ["--quiet", "--fresh-env", "--fail-on-warning", "--keep-going", "-c", "docs", "-d", site / "doctrees"]
    environment.run("python", "-m", "sphinx", *arguments, ".", site / "html", cwd=ROOT)
    return f"{sum(1 for _ in (site / 'html').rglob('*.html'))} pages"


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


if __name__ == "__main__":
    sys.exit(main())
