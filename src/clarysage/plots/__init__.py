"""Pictures of results: functions of an Explanation, of a Comparison, of a Monitoring, of Importances, or of what is
known of removals, that return a matplotlib axis, or an array of them.

matplotlib is imported when a function is first called, not before.
"""

from clarysage.plots.bars import bars
from clarysage.plots.comparison import comparison
from clarysage.plots.importances import ranks, side_by_side
from clarysage.plots.interactions import interactions
from clarysage.plots.monitoring import monitoring
from clarysage.plots.pixels import pixels
from clarysage.plots.proxy import proxy
from clarysage.plots.removal_errors import removal_errors
from clarysage.plots.signs import signs

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
