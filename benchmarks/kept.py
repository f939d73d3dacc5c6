"""Tables of measured numbers that are kept in docs/, with the command and the commit that made them."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import clarysage

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # where tests.lab is imported from


def line(entries: Any) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(map(str, entries)) + " |"


@dataclass(frozen=True)
class Cells:
    """Cells of a table, each made once: those that are in the file are not made again, and new ones are put there.

    Without a file they are all made.
    """

    path: Path | None
    found: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, path: Path | None) -> Cells:
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        kept = [json.loads(one) for one in lines]
        return cls(path, {one["key"]: one for one in kept})

    def get(self, key: tuple[Any, ...], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        name = json.dumps(key)
        if name not in self.found:
            self.found[name] = {"key": name, "commit": commit(), "cell": make()}
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps(self.found[name]) + "\n")
        return dict(self.found[name]["cell"])

    @property
    def commits(self) -> str:
        """The commits that the cells are of."""
        return ", ".join(dict.fromkeys(one["commit"] for one in self.found.values()))


def made(script: str, seed: int, commits: str | None = None) -> dict[str, Any]:
    """How numbers are made that are measured now, or were at other commits."""
    return {
        "command": " ".join(["python", f"benchmarks/{script}", *_said(sys.argv[1:])]),
        "commit": commits or commit(),
        "clarysage": clarysage.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "seed": seed,
    }


def _said(words: list[str]) -> list[str]:
    """What was asked for, but for the file that cells were kept in, which is no part of what was made."""
    return [word for place, word in enumerate(words) if "--keep" not in words[max(0, place - 1) : place + 1]]


def digest(cells: Any) -> str:
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()


def put(page: Path, text: str, mark: str = "table") -> None:
    """Puts text between the marks of a page, which has one pair of them or several of different names."""
    whole = re.sub(
        rf"(<!-- {mark} -->\n).*?(<!-- end -->)",
        lambda marks: f"{marks[1]}\n{text}\n\n{marks[2]}",
        page.read_text(),
        flags=re.DOTALL,
    )
    page.write_text(whole)


def commit() -> str:
    """The commit that the numbers are of, and whether the sources had been changed since."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "HEAD") + (" with changes" if git("status", "--porcelain", "src", "benchmarks") else "")
