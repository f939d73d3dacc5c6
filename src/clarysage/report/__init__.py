"""Pages to send to a colleague: one HTML file each, with everything in it and aggregates alone."""

from clarysage.report.page import html

__all__ = ["html"]
