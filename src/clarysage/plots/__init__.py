"""Plots of results with matplotlib: each function takes one kind of result and returns an axis, or an array of axes.

matplotlib is imported when a function is first called.
"""

from typing import TYPE_CHECKING

from clarysage.plots.bars import bars
from clarysage.plots.comparison import comparison
from clarysage.plots.importances import ranks, side_by_side
from clarysage.plots.interactions import interactions
from clarysage.plots.monitoring import monitoring
from clarysage.plots.pixels import pixels
from clarysage.plots.proxy import proxy
from clarysage.plots.removal_errors import removal_errors
from clarysage.plots.signs import signs
from clarysage.synonyms import IN_PLACE_OF_PLOTS, missing_attribute

__all__ = [
    "bars",
    "comparison",
    "interactions",
    "monitoring",
    "pixels",
    "proxy",
    "ranks",
    "removal_errors",
    "side_by_side",
    "signs",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        raise missing_attribute(__name__, name, IN_PLACE_OF_PLOTS)
