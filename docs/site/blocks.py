"""Blocks of code without the empty line that a doctest needs at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Has the blocks of each page trimmed when it has been read."""
    app.connect("doctree-read", trim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def trim(app: Sphinx, page: nodes.document) -> None:
    """Removes empty lines at the ends of blocks of code."""
    from docutils import nodes

    for block in page.findall(nodes.literal_block):
        if block.rawsource == block.astext():  # else it is highlighted already
            block.rawsource = block.astext().rstrip()
            block[:] = [nodes.Text(block.rawsource)]
