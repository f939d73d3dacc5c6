"""Pages to send to a colleague: one HTML file each, with everything in it and aggregates alone."""

from clarysage.report.notebook import notebook
from clarysage.report.page import PAGES, html

__all__ = ["PAGES", "html", "notebook"]
