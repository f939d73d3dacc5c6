"""Tables of measured numbers that are kept in docs/, with the command and the commit that made them."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import clarysage

ROOT = Path(__file__).parent.parent


def line(entries: Any) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(map(str, entries)) + " |"


def made(script: str, seed: int) -> dict[str, Any]:
    """How numbers are made that are measured now."""
    return {
        "command": " ".join(["python", f"benchmarks/{script}", *sys.argv[1:]]),
        "commit": commit(),
        "clarysage": clarysage.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "seed": seed,
    }


def digest(cells: Any) -> str:
    return hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest()


def put(page: Path, text: str) -> None:
    """Puts text between the marks of a page."""
    whole = re.sub(
        r"(<!-- table -->\n).*(<!-- end -->)",
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
