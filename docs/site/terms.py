"""Anchors for the terms of the glossary, so that pages link to ``glossary.md#coalition``."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

GLOSSARY = "docs/glossary"


def setup(app: Sphinx) -> dict[str, bool]:
    """Adds the anchors when the page has been read, before links are resolved."""
    app.connect("doctree-read", add_anchors, priority=900)  # after MyST has stored the headings
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_anchors(app: Sphinx, page: nodes.document) -> None:
    """Gives each row of a table an anchor for each of its terms; the first row with a term has it."""
    from docutils import nodes

    if app.env.docname == GLOSSARY:
        slugs = app.env.metadata[GLOSSARY].setdefault("myst_slugs", {})
        for row in page.findall(nodes.row):
            for term in terms(row[0].astext()):
                slug = slug_of(term)
                if slug and slug not in slugs and slug not in page.ids:
                    row["ids"].append(slug)
                    slugs[slug] = (row.line or 0, slug, term)


def terms(cell: str) -> list[str]:
    """The terms in a cell, without what stands in parentheses."""
    return [term.strip() for term in re.sub(r"\([^)]*\)", "", cell).split(",")]


def slug_of(term: str) -> str:
    """The anchor of a term: letters without accents, digits and hyphens."""
    letters = unicodedata.normalize("NFKD", term).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", letters.replace("'", "")).strip("-")
