"""Renderers of summaries and pages: text, notebook output and HTML; they know no kind of result by name."""

from clarysage.render.pages import html, notebook
from clarysage.render.terminal import text

__all__ = ["html", "notebook", "text"]
