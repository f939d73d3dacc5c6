"""Tables in the docs that are generated from registries: ``python -m tests.tables_of_docs`` updates them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from clarysage._measures.table import MEASURES, PROPERTIES
from clarysage.catalogue import LOSSES, METHODS, REMOVALS

DOCS = Path(__file__).parent.parent / "docs"
GUIDE, MEASURES_PAGE = DOCS / "guide.md", DOCS / "measures.md"


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


TABLES: dict[Path, dict[str, Callable[[], str]]] = {
    GUIDE: {"losses": LOSSES.markdown, "removals": REMOVALS.markdown, "methods": METHODS.markdown},
    MEASURES_PAGE: {"measures": table_of_measures},
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
