"""Pictures of explanations: functions of an Explanation that return a matplotlib axis.

matplotlib is imported when a function is first called, not before.
"""

from clarysage.plots.bars import bars
from clarysage.plots.pixels import pixels
from clarysage.plots.signs import signs

__all__ = ["bars", "pixels", "signs"]
