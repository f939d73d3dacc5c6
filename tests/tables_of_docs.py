"""Tables in the docs that are generated from registries: ``python -m tests.tables_of_docs`` updates them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from clarysage._measures.table import MEASURES, PROPERTIES
from clarysage.catalogue import LOSSES, METHODS, REMOVALS
from clarysage.models.objectives import OBJECTIVES, ObjectiveRow

DOCS = Path(__file__).parent.parent / "docs"
MEASURES_PAGE, LOSSES_PAGE, GUIDE = DOCS / "measures.md", DOCS / "losses.md", DOCS / "guide"


def table_of_measures() -> str:
    """Returns Tables 1 and 3 of the paper in Markdown, with a star at the names of heuristics."""
    header = ["measure", "game", "u(S) approximates it for", "constant φ₀", *PROPERTIES]
    rows = [
        [
            f"{row.name}*" if row.is_heuristic else row.name,
            f"`{row.approximates}`" if row.approximates else "–",
            row.subdomain or "–",
            row.constant or "–",
            *row.properties.values(),
        ]
        for row in MEASURES.values()
    ]
    lines = [" | ".join(cells) for cells in (header, *rows)]
    return "\n".join([f"| {lines[0]} |", f"|{'---|' * len(header)}", *(f"| {line} |" for line in lines[1:])])


def table_of_objectives(library: str) -> str:
    """Returns a Markdown table of the objectives of a library, and of the losses that stand for them."""
    rows = OBJECTIVES[library].values()
    lines = [f"| {_objective(row)} | {_loss(row)} | {_remark(row)} |" for row in rows if row.task is None]
    for task, remark in REFUSED.items():
        names = ", ".join(f"`{row.name}`" for row in rows if row.task == task)
        lines += [f"| {names} | refused | {remark} |"] if names else []
    return "\n".join(["| objective | loss | remark |", "|---|---|---|", *lines])


REFUSED = {"ranking": "scores order rows", "survival": "hazards, or times where y may be censored"}


def _objective(row: ObjectiveRow) -> str:
    name = row.name if " " in row.name and not row.name.startswith(("GLM", "RLM")) else f"`{row.name}`"
    return "; ".join([name, *filter(None, [", ".join(f"`{estimator}`" for estimator in row.estimators)])])


def _loss(row: ObjectiveRow) -> str:
    return f"`{row.loss}({row.parameter})`" if row.parameter else f"`{row.loss}`"


def _remark(row: ObjectiveRow) -> str:
    nearest = f"the nearest, with a warning, to an objective {row.difference}" if row.difference else ""
    return "; ".join(filter(None, (row.remark, nearest)))


TABLES: dict[Path, dict[str, Callable[[], str]]] = {
    GUIDE / "loss.md": {"losses": LOSSES.markdown},
    GUIDE / "data.md": {"removals": REMOVALS.markdown},
    GUIDE / "runs.md": {"methods": METHODS.markdown},
    MEASURES_PAGE: {"measures": table_of_measures},
    LOSSES_PAGE: {library: partial(table_of_objectives, library) for library in OBJECTIVES},
}


def with_tables(path: Path) -> str:
    """Returns a page with updated tables between its markers."""
    page = path.read_text()
    for what, table in TABLES[path].items():
        marked = re.compile(rf"(<!-- table of {what} -->\n).*?(<!-- end of table -->)", re.DOTALL)
        rows = table().replace("\\", r"\\")  # backslashes are special in a replacement
        page, count = marked.subn(rf"\1\n{rows}\n\n\2", page)
        assert count == 1, f"{count} places for the table of {what}"
    return page


if __name__ == "__main__":
    for path in TABLES:
        path.write_text(with_tables(path))
