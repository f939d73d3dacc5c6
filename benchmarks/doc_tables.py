"""Generated tables in docs/: their text in Markdown, where it goes in the page, and how the numbers were made.

A page marks the place of a table by ``<!-- name -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import clarysage

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # where tests.lab is imported from


def table_row(entries: Iterable[Any]) -> str:
    """Returns a row of a Markdown table."""
    return "| " + " | ".join(map(str, entries)) + " |"


def table(headings: Sequence[str], rows: Iterable[str]) -> str:
    """Returns a Markdown table of rows that :func:`table_row` made."""
    return "\n".join([table_row(headings), table_row(["---"] * len(headings)), *rows])


def replace_block(page: Path, text: str, name: str = "table") -> None:
    """Replaces what stands between the marks of a block in a page."""
    content, count = re.subn(
        rf"(<!-- {name} -->\n).*?(<!-- end -->)",
        lambda marks: f"{marks[1]}\n{text}\n\n{marks[2]}",
        page.read_text(),
        flags=re.DOTALL,
    )
    if count != 1:
        raise ValueError(f"{page.name} has {count} blocks between <!-- {name} --> and <!-- end -->, wanted one")
    page.write_text(content)


def provenance(script: str, seed: int, commits: str | None = None) -> dict[str, Any]:
    """Returns the command, the commit and the versions that made the numbers; ``commits`` if not the current one."""
    return {
        "command": " ".join(["python", f"benchmarks/{script}", *_without_cache(sys.argv[1:])]),
        "commit": commits or current_commit(),
        "clarysage": clarysage.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "seed": seed,
    }


def _without_cache(arguments: list[str]) -> list[str]:
    """Leaves out ``--keep FILE``: the cache file has no influence on the numbers."""
    return [
        argument
        for position, argument in enumerate(arguments)
        if "--keep" not in arguments[max(0, position - 1) : position + 1]
    ]


def current_commit() -> str:
    """Returns the commit of the work tree, and says so if the sources have changes."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "HEAD") + (" with changes" if git("status", "--porcelain", "src", "benchmarks") else "")


def digest(cells: Any) -> str:
    """Returns the sha256 of the numbers, by which a page and its JSON file can be compared."""
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class CellCache:
    """Finished cells of a table, one JSON line each, so that an interrupted run can be continued.

    Without a file every cell is computed.
    """

    path: Path | None
    finished: dict[str, dict[str, Any]]

    @classmethod
    def load(cls, path: Path | None) -> CellCache:
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        entries = [json.loads(line) for line in lines]
        return cls(path, {entry["key"]: entry for entry in entries})

    def get(self, key: tuple[Any, ...], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Returns the cell from the file, or computes it and appends it to the file."""
        name = json.dumps(key)
        if name not in self.finished:
            self.finished[name] = {"key": name, "commit": current_commit(), "cell": compute()}
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps(self.finished[name]) + "\n")
        return dict(self.finished[name]["cell"])

    @property
    def commits(self) -> str:
        """The commits at which the cells were computed."""
        return ", ".join(dict.fromkeys(entry["commit"] for entry in self.finished.values()))
