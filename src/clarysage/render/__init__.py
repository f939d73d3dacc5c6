"""Texts, outputs of notebooks and pages of results, made of their summaries; no kind of result is known by name."""

from clarysage.render.pages import html, notebook
from clarysage.render.terminal import text

__all__ = ["html", "notebook", "text"]
