"""The reference: a page for each public name, listed where ``clarysage/__init__.pyi`` has it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

ROOMS = {
    "_measures": "Measures",
    "removal": "Removal of features",
    "losses": "Losses",
    "estimators": "Estimators",
    "inference": "Estimates and rules to stop",
    "results": "Results",
    "monitoring": "Monitoring",
    "games": "Games",
    "models": "Models",
    "players": "Players",
    "execution": "Clusters",
    "": "Modules",
    "errors": "Errors and notes",
}


def setup(app: Sphinx) -> dict[str, bool]:
    """Has the list written before pages are made of it, and docstrings changed to the form that numpydoc reads."""
    app.connect("config-inited", write_lists)
    app.connect("autodoc-process-docstring", set_entries, priority=400)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_lists(app: Sphinx, _: Config) -> None:
    """Writes the list of the public names, which is left alone if it has not changed."""
    folder = Path(app.srcdir) / "docs" / "api"
    folder.mkdir(exist_ok=True)
    names = public_names(Path(app.srcdir) / "src" / "clarysage" / "__init__.pyi")
    for page in folder.glob("clarysage.*.rst"):
        if not any(page.stem == f"clarysage.{name}" for room in names.values() for name in room):
            page.unlink()  # of a name that is gone
    text = listing(names)
    page = folder / "index.rst"
    if not page.exists() or page.read_text() != text:
        page.write_text(text)


def set_entries(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Sets what is said of an argument, which begins beside its name, into lines of their own: it is no type."""
    entry = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)")
    lines[:] = [part for line in lines for part in parts_of(entry.fullmatch(line), line)]


def parts_of(entry: re.Match[str] | None, line: str) -> tuple[str, ...]:
    """The lines in place of one."""
    return (entry[1], f"    {entry[2]}") if entry else (line,)


def public_names(stub: Path) -> dict[str, list[str]]:
    """The names that a stub imports, by the room they come from."""
    names: dict[str, list[str]] = {}
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            room = (node.module or "").partition(".")[0]
            names.setdefault(room, []).extend(alias.name for alias in node.names)
    return names


def listing(names: dict[str, list[str]]) -> str:
    """The page of the reference."""
    if set(names) != set(ROOMS):
        raise ValueError(f"docs/site/api.py names the rooms {sorted(ROOMS)}, __init__.pyi has {sorted(names)}")
    parts = [heading("API reference", "="), "What ``import clarysage as cs`` offers.\n"]
    parts += [heading(title, "-") + table(sorted(names[room], key=str.casefold)) for room, title in ROOMS.items()]
    return "\n".join(parts)


def heading(title: str, line: str) -> str:
    """A heading."""
    return f"{title}\n{line * len(title)}\n"


def table(names: Iterable[str]) -> str:
    """A table of names with the first sentences about them, and a page for each."""
    rows = "".join(f"   {name}\n" for name in names)
    return f"\n.. currentmodule:: clarysage\n\n.. autosummary::\n   :toctree:\n\n{rows}"
