"""Tables of the docs that are made from registries: ``python -m tests.tables_of_docs`` writes them anew."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from clarysage.catalogue import LOSSES, METHODS, REMOVALS
from clarysage.registry import Registry

GUIDE = Path(__file__).parent.parent / "docs" / "guide.md"
TABLES: dict[str, Registry[Any]] = {"losses": LOSSES, "removals": REMOVALS, "methods": METHODS}


def with_tables(page: str) -> str:
    """A page with the tables between its markers made anew."""
    for what, registry in TABLES.items():
        marked = re.compile(rf"(<!-- table of {what} -->\n).*?(<!-- end of table -->)", re.DOTALL)
        page, count = marked.subn(lambda match, rows=registry: f"{match[1]}\n{rows.markdown()}\n\n{match[2]}", page)
        assert count == 1, f"{count} places for the table of {what}"
    return page


if __name__ == "__main__":
    GUIDE.write_text(with_tables(GUIDE.read_text()))
