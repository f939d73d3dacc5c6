"""The reference: a page for each name in ``clarysage/__init__.pyi``, listed by what it is for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

TASKS = {
    "Explain": "Which features does a model rely on? Begin with :func:`~clarysage.sage`.",
    "Results": "What these functions return, and what can be done with it: compared, merged, drawn, saved.",
    "Other measures": "Measures beside SAGE, called in the same way: :doc:`which one is for me? </docs/measures>`",
    "Removals": "How features are withheld: :doc:`the background </docs/guide/data>`, :doc:`correlated features "
    "</docs/conditional>`.",
    "Losses": "By what a model is judged: :doc:`which one? </docs/guide/loss>`",
    "Estimators": "How Shapley values are computed: :doc:`methods </docs/guide/runs>`, :doc:`definitions "
    "</docs/theory/definitions>`.",
    "Stopping": "Rules that end a run: :doc:`when does a run stop? </docs/theory/stopping>`",
    "Executing": "Options of runs, and who computes: :doc:`workers and clusters </docs/scaling>`.",
    "Extending": "The parts that the functions above are made of, for games, models and measures of your own: "
    ":doc:`how it is built </docs/design>`.",
    "Data, plots, other tools": "Modules.",
    "Errors and notes": "What is raised, and what results say about themselves.",
}
TASK_OF_ROOM = {
    "_measures": "Other measures",
    "removal": "Removals",
    "losses": "Losses",
    "estimators": "Estimators",
    "inference": "Stopping",
    "results": "Results",
    "monitoring": "Explain",
    "games": "Extending",
    "models": "Extending",
    "players": "Extending",
    "execution": "Executing",
    "": "Data, plots, other tools",
    "errors": "Errors and notes",
}
TASK_OF_NAME = {  # where it is another one than that of the room
    "sage": "Explain",
    "shapley_effects": "Explain",
    "interactions": "Explain",
    "universal_power": "Explain",
    "importances": "Explain",
    "compare": "Explain",
    "removal_quality": "Removals",
    "off_manifold": "Removals",
    "OffManifold": "Removals",
    "RemovalQuality": "Removals",
    "Run": "Executing",
    "Measure": "Extending",
    "game": "Extending",
    "estimate": "Extending",
    "Estimate": "Extending",
}


def setup(app: Sphinx) -> dict[str, bool]:
    """Has the list written before pages are made of it, and docstrings changed to the form that numpydoc reads."""
    from sphinx.ext import autosummary

    autosummary.WELL_KNOWN_ABBREVIATIONS += ("Eq.", "Sec.")  # where no first sentence ends
    app.connect("config-inited", write_lists)
    app.connect("autodoc-process-docstring", set_entries, priority=400)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_lists(app: Sphinx, _: Config) -> None:
    """Writes the list of the public names, which is left alone if it has not changed."""
    folder = Path(app.srcdir) / "docs" / "api"
    folder.mkdir(exist_ok=True)
    names = public_names(Path(app.srcdir) / "src" / "clarysage" / "__init__.pyi")
    for page in folder.glob("clarysage.*.rst"):
        if page.stem.removeprefix("clarysage.") not in names:
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


def public_names(stub: Path) -> dict[str, str]:
    """The names that a stub imports, with the room that each comes from."""
    imports = [node for node in ast.parse(stub.read_text()).body if isinstance(node, ast.ImportFrom)]
    return {alias.name: (node.module or "").partition(".")[0] for node in imports for alias in node.names}


def listing(names: dict[str, str]) -> str:
    """The page of the reference, of names with their rooms."""
    if unknown := set(names.values()) - set(TASK_OF_ROOM):
        raise ValueError(f"docs/site/api.py has no task for the rooms {sorted(unknown)}")
    if gone := set(TASK_OF_NAME) - set(names):
        raise ValueError(f"docs/site/api.py has tasks of names that are gone: {sorted(gone)}")
    of_task: dict[str, list[str]] = {task: [] for task in TASKS}
    for name, room in names.items():
        of_task[TASK_OF_NAME.get(name, TASK_OF_ROOM[room])].append(name)
    parts = [heading("API reference", "="), "What ``import clarysage as cs`` offers, by task.\n"]
    for task, what in TASKS.items():
        parts.append(heading(task, "-") + f"\n{what}\n" + table(sorted(of_task[task], key=str.casefold)))
    return "\n".join(parts)


def heading(title: str, line: str) -> str:
    """A heading."""
    return f"{title}\n{line * len(title)}\n"


def table(names: Iterable[str]) -> str:
    """A table of names with the first sentences about them, and a page for each."""
    rows = "".join(f"   {name}\n" for name in names)
    return f"\n.. currentmodule:: clarysage\n\n.. autosummary::\n   :toctree:\n\n{rows}"
