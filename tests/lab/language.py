"""Checks that the source speaks the field's language: part of ``make lint``.

::

    python -m tests.lab.language              # every finding, and exit code 1 where there is one
    python -m tests.lab.language --count      # how many there are of each kind in each folder

It looks for four things: names that are words of no field (``found``, ``told``, ``doubt``); docstrings that open with
a clause in place of a sentence ("What a walk costs"); names of classes that occur twice; and lines that are kept from
the formatter. ``docs/glossary.md`` has the words to use.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path("src/clarysage")

NOT_NAMES = frozenset(["found", "one", "said", "told", "place", "known", "own", "kept", "whole", "wanted", "such"])
NOT_IN_NAMES = frozenset(
    [
        "doubt",
        "tilt",
        "leaning",
        "tour",
        "arrivals",
        "owed",
        "dear",
        "imitated",
        "crowd",
        "anew",
        "told",
        "vain",
        "said",
    ]
)  # not even as a part, as in "doubt_in"
ALLOWED = frozenset([("errors.py", "wanted")])  # an error says what was got, what was wanted and what to try
NO_SENTENCES = (
    "What|Whether|How|Of|The same|Which|Where|Who|Whose|When|That of|Those of|As it|So that|"
    "By which|In which|With which|From which|Such"
)
OPENING = re.compile(rf"({NO_SENTENCES})\b")
OVERRIDE = re.compile(r"#\s*fmt:\s*(skip|off)")


@dataclass(frozen=True)
class Finding:
    """One place in the source that a reader from the field would stumble over."""

    kind: str
    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {self.text}"


def names_in(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every name that the module gives to something: modules' own names, functions, classes, arguments, variables."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno


def is_dialect(name: str) -> bool:
    """Tells whether a name is, or has as a part, a word that says nothing to a reader from the field.

    Examples
    --------
    >>> [is_dialect(name) for name in ("found", "founder", "doubt_in", "known_rows")]
    [True, False, True, False]
    """
    parts = name.lower().strip("_").split("_")
    return "_".join(parts) in NOT_NAMES or not NOT_IN_NAMES.isdisjoint(parts)


def docstrings_in(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Every docstring of the module, of its classes and functions, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text, node.body[0].lineno


def findings_in(paths: Sequence[Path]) -> list[Finding]:
    """All findings in the files, in the order of the files and their lines."""
    findings: list[Finding] = []
    classes: dict[str, list[tuple[Path, int]]] = defaultdict(list)
    for path in paths:
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        findings += [
            Finding("name", path, line, name)
            for name, line in names_in(tree)
            if is_dialect(name) and (path.name, name) not in ALLOWED
        ]
        findings += [
            Finding("docstring", path, line, text.splitlines()[0])
            for text, line in docstrings_in(tree)
            if OPENING.match(text)
        ]
        findings += [
            Finding("formatter override", path, number, line.strip())
            for number, line in enumerate(source.splitlines(), start=1)
            if OVERRIDE.search(line)
        ]
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name].append((path, node.lineno))
    findings += [
        Finding("class name that occurs twice", path, line, name)
        for name, places in classes.items()
        if len(places) > 1
        for path, line in places
    ]
    return sorted(findings, key=lambda finding: (finding.path, finding.line, finding.kind))


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what there is to find in the source; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.language", description=__doc__)
    parser.add_argument("--count", action="store_true", help="print numbers in place of the findings")
    parser.add_argument("paths", nargs="*", type=Path, default=[SOURCE], help="files or folders (%(default)s)")
    options = parser.parse_args(arguments)
    files = sorted(file for path in options.paths for file in (path.rglob("*.py") if path.is_dir() else [path]))
    findings = findings_in(files)
    if options.count:
        count = Counter((finding.path.parent.as_posix(), finding.kind) for finding in findings)
        lines = [f"{number:5} {folder}: {kind}" for (folder, kind), number in sorted(count.items())]
    else:
        lines = [str(finding) for finding in findings]
    sys.stdout.write("".join(f"{line}\n" for line in [*lines, f"{len(findings)} findings in {len(files)} files"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
