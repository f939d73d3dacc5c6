"""Formulas as MathML, which browsers draw without a script or a font from another host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, bool]:
    """Adds the way to write formulas."""
    app.add_html_math_renderer("mathml", inline_renderers=(write_inline, None), block_renderers=(write_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Writes a formula within a line."""
    writer.body.append(mathml(node.astext(), "inline"))
    raise SkipNode


def write_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Writes a formula on a line of its own."""
    writer.body.append(f'<div class="math">{mathml(node.astext(), "block")}</div>')
    raise SkipNode


def mathml(formula: str, display: str) -> str:
    """Converts a formula; the difference of sets is a plain backslash, since few fonts have the sign for it."""
    return convert(formula, display=display).replace("<mi>&#x029F5;</mi>", "<mo>&#x0005C;</mo>")
