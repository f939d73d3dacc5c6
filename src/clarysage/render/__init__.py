"""Pages to send to a colleague: one HTML file each, with everything in it and aggregates alone."""

from clarysage.render.notebook import notebook
from clarysage.render.page import PAGES, html

__all__ = ["PAGES", "html", "notebook"]
