"""Builds the distributions of a version, tries them, and writes its release notes.

    make release                      # dist/ has the wheel, the source distribution and the notes
    make test-wheel                   # the same in a temporary folder, on one Python
    python -m tools.release --tag v1.2.3 --pythons python3.12

The version is the one in ``src/clarysage/__init__.py``, and its notes are its section of CHANGELOG.md. A wheel is built
from the source distribution and another one straight from the sources, and both have the same files: those of the
package that git knows. twine checks the metadata. The wheel is then installed in an empty environment of each
interpreter, far from the sources, where the demo and the example of README.md run. An interpreter that this machine
lacks is named and skipped.

With ``--tag`` the version must be the tag's, its section must have a date, and the sources must be committed.
The exit code is 0 if all that ran passed, 1 if something failed, and 2 if there was no interpreter to run it on.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from tools.environments import PACKAGE, ROOT, CheckError, Environment, Table, find_interpreters, part

NO_INTERPRETER = 2
SHOWN = 5  # files named in a complaint
LARGEST = 1_200_000  # bytes; sources and a few templates need no more, data sets would
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
BESIDE_THE_SOURCES = {"CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", ".gitignore"}
PACKAGE_FILE = f"import {PACKAGE}; print({PACKAGE}.__file__)"
DEMO_FILES = ("sage.json", "sage.png", "report.html")


def main() -> int:
    """Builds and tries the distributions, prints the table and returns the exit code."""
    options = read_options()
    interpreters = find_interpreters(options.pythons)
    if not interpreters:
        print("no interpreter to run anything on: name some by --pythons or PYTHONS", file=sys.stderr)
        return NO_INTERPRETER
    table = Table()
    with tempfile.TemporaryDirectory(prefix=f"{PACKAGE}-release-") as temporary:
        folder = Path(temporary)
        table.run("notes", lambda: write_notes(folder, options.tag))
        check_distributions(table, interpreters, folder)
        if not (table.failures or options.check_only):
            table.run("dist", lambda: deliver(folder, options.dist))
    print(f"\n{table}")
    return int(table.failures > 0)


def read_options() -> argparse.Namespace:
    """Reads the command line; PYTHONS from the environment is the default of ``--pythons``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check-only", action="store_true", help="leave nothing behind")
    parser.add_argument("--tag", help="the tag that the release is made from, as v1.2.3")
    parser.add_argument("--pythons", default=os.environ.get("PYTHONS", ""), help="names or paths, between spaces")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where the files go (default: %(default)s)")
    return parser.parse_args()


# Notes


def write_notes(folder: Path, tag: str | None) -> str:
    """Writes the notes of the version to a folder; with a tag, sees that the sources are ready for it."""
    version = version_in((ROOT / "src" / PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    heading, notes = notes_of(version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if tag is not None:
        check_tag(tag, version, heading, git("status", "--porcelain"))
    (folder / f"{PACKAGE}-{version}-notes.md").write_text(notes, encoding="utf-8")
    return f"{heading}, {len(notes.splitlines())} lines"


def version_in(source: str) -> str:
    """The version that a source assigns to ``__version__``."""
    return part(r'^(?:.*\n)?__version__ = "([^"]+)"', source)


def notes_of(version: str, changelog: str) -> tuple[str, str]:
    """The heading of a version's section in a changelog, and the section as notes that are read elsewhere.

    Links to files of the repository lead nowhere there: their text stays, with the path behind it.
    """
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    wanted = [section for section in sections if section.split(maxsplit=1)[:1] == [version]]
    if len(wanted) != 1:
        raise CheckError(f"CHANGELOG.md has {len(wanted)} sections '## {version}', and not 1")
    heading, _, body = wanted[0].partition("\n")
    if not body.strip():
        raise CheckError(f"CHANGELOG.md says nothing about {version}")
    notes = re.sub(r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)", r"\1 (`\2`)", body)
    return heading.strip(), notes.strip() + "\n"


def check_tag(tag: str, version: str, heading: str, changes: str) -> None:
    """Sees that a tag is the version's, that its section has a date, and that all changes are committed."""
    if tag != f"v{version}":
        raise CheckError(f"the tag is {tag}, and the version {version}: the tag would be v{version}")
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", heading):
        raise CheckError(f"CHANGELOG.md has '## {heading}', and a release needs '## {version} (YYYY-MM-DD)'")
    if changes.strip():
        raise CheckError(f"changes are not committed: {changes.split()[-1]}")


# What is in the distributions


def check_distributions(table: Table, interpreters: Mapping[str, str], folder: Path) -> None:
    """Builds both distributions, looks into them, and uses the wheel where the sources are not."""
    newest = [*interpreters.values()][-1]
    environment = Environment(folder / "build")
    if not table.run("build", lambda: build(environment, newest, folder)):
        return
    table.run("metadata", lambda: check_metadata(environment, folder))
    table.run("source distribution", lambda: check_source_distribution(folder))
    table.run("wheel", lambda: check_wheel(folder))
    for version, path in interpreters.items():
        work_folder = folder / version
        work_folder.mkdir()
        installed = Environment(work_folder / "environment")
        if table.run(f"{version}, wheel installed", partial(install_wheel, installed, path, folder)):
            table.run(f"{version}, {PACKAGE} demo", partial(run_demo, installed, work_folder))
            table.run(f"{version}, README.md", partial(run_example, installed, work_folder))


def build(environment: Environment, interpreter: str, folder: Path) -> str:
    """Builds the source distribution, a wheel out of it, and another wheel straight from the sources."""
    Environment.make(environment.folder, interpreter)
    environment.install("build", "twine>=6.1")
    environment.run("python", "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    environment.run("python", "-m", "build", "--wheel", "--outdir", folder / "straight", ROOT, cwd=folder)
    return "built, the wheel by way of the source distribution"


def check_metadata(environment: Environment, folder: Path) -> str:
    """Sees that twine finds nothing wrong."""
    files = [only_file(folder, "*.whl"), only_file(folder, "*.tar.gz")]
    environment.run("python", "-m", "twine", "check", "--strict", *files, cwd=folder)
    return "twine check passed for both"


@dataclass(frozen=True)
class Contents:
    """Files of a distribution with their bytes, by their names below the folder that an archive may have."""

    files: Mapping[str, bytes]

    @classmethod
    def of_wheel(cls, path: Path) -> Contents:
        """Reads a wheel, whose metadata get the folder ``dist-info``."""
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}
        return cls({re.sub(r"^[^/]+\.dist-info/", "dist-info/", name): data for name, data in members.items()})

    @classmethod
    def of_sources(cls, path: Path) -> Contents:
        """Reads a source distribution."""
        with tarfile.open(path) as archive:
            members = {
                member.name: archive.extractfile(member) for member in archive.getmembers() if not member.isdir()
            }
            return cls({name.partition("/")[2]: data.read() if data else b"" for name, data in members.items()})

    def check(self, wanted: Iterable[str]) -> None:
        """Sees that it has the files that are wanted and no others, and in them no path of this machine."""
        expected = set(wanted)
        refuse("lacks", expected - set(self.files))
        refuse("holds what does not belong there:", set(self.files) - expected)
        refuse("has paths that lead out of it:", filter(leads_out, self.files))
        refuse("has paths of this machine in", self._with_paths([str(ROOT), str(Path.home())]))

    def _with_paths(self, folders: Iterable[str]) -> Iterator[str]:
        sought = [f"{folder.rstrip('/')}/".encode() for folder in folders if folder.strip("/")]
        return (name for name, data in self.files.items() if any(folder in data for folder in sought))


def leads_out(name: str) -> bool:
    """Tells whether a file would be written outside of the folder that it is unpacked in."""
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts


def check_source_distribution(folder: Path) -> str:
    """Sees that it holds the package and what it is built from: the tests need a checkout, and stay there."""
    path = only_file(folder, "*.tar.gz")
    contents = Contents.of_sources(path)
    contents.check(BESIDE_THE_SOURCES | {f"src/{name}" for name in package_files()})
    return described(contents, path)


def check_wheel(folder: Path) -> str:
    """Sees that it holds the package, typed, and metadata with the licence; the same by either way of building it."""
    path = only_file(folder, "*.whl")
    contents, straight = (Contents.of_wheel(wheel) for wheel in (path, only_file(folder / "straight", "*.whl")))
    refuse("is another if built straight from the sources, in", set(contents.files) ^ set(straight.files))
    contents.check({*package_files(), f"{PACKAGE}/py.typed", *(f"dist-info/{name}" for name in METADATA)})
    return described(contents, path)


def described(contents: Contents, path: Path) -> str:
    """The number of files and the size, which must not be larger than it may be."""
    size = path.stat().st_size
    if size > LARGEST:
        raise CheckError(f"has {size:,} bytes, and may have {LARGEST:,}")
    return f"{len(contents.files)} files, {size:,} bytes of at most {LARGEST:,}"


def package_files() -> set[str]:
    """Files of the package that git knows, below the folder of the sources."""
    return {name.removeprefix("src/") for name in git("ls-files", f"src/{PACKAGE}").splitlines()}


def git(*arguments: str) -> str:
    """Runs git in the repository; what it prints."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def only_file(folder: Path, pattern: str) -> Path:
    """The file of a pattern, of which there must be a single instance."""
    paths = [*folder.glob(pattern)]
    if len(paths) != 1:
        raise CheckError(f"{len(paths)} files {pattern} were built")
    return paths[0]


def refuse(complaint: str, names: Iterable[str]) -> None:
    """Raises CheckError if there are any names, with the first few."""
    listed = sorted(names)
    if listed:
        others = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
        raise CheckError(f"{complaint} {', '.join(listed[:SHOWN])}{others}")


# The wheel in use


def install_wheel(environment: Environment, interpreter: str, folder: Path) -> str:
    """Installs the wheel in an empty environment, and sees that this is where the package is imported from."""
    Environment.make(environment.folder, interpreter)
    environment.install(str(only_file(folder, "*.whl")))
    path = Path(environment.run("python", "-c", PACKAGE_FILE, cwd=environment.folder.parent).strip().splitlines()[-1])
    if not path.resolve().is_relative_to(environment.folder.resolve()):
        raise CheckError(f"{PACKAGE} is imported from {path}, outside of the environment")
    return "imported from the environment"


def run_demo(environment: Environment, parent: Path) -> str:
    """Runs the demo, and sees that it prints a table and writes a plot, a report and JSON."""
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
    """Runs the first example of README.md, and sees that it draws its plot."""
    code = part(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"))
    environment.run("python", "-c", code, cwd=folder)
    check_image(folder / "wine.png")
    return f"its {len(code.strip().splitlines())} lines draw their plot"


def check_image(path: Path) -> None:
    """Sees that a file is there and begins like a PNG."""
    if not path.is_file() or not path.read_bytes().startswith(b"\x89PNG"):
        raise CheckError(f"{path.name} is no image")


# The result


def deliver(folder: Path, dist: Path) -> str:
    """Copies the distributions and the notes to their folder, in place of earlier ones."""
    dist.mkdir(parents=True, exist_ok=True)
    for old in dist.glob(f"{PACKAGE}-*"):
        old.unlink()
    files = sorted(path for path in folder.glob(f"{PACKAGE}-*") if path.is_file())
    for path in files:
        shutil.copy2(path, dist)
    return ", ".join(path.name for path in files)


if __name__ == "__main__":
    sys.exit(main())
