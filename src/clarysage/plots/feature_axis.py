"""An axis with one row, or column, for each feature: sized so that every name can be read."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clarysage.plots.canvas import INK, axis_inches, font_points, literal, open_axis, text_inches

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST_LINE = 40  # letters of a name before it goes on in the next line
MOST_LINES = 5  # of a name, before it breaks off
SPACING = 1.25  # of lines, in units of the font size
BREADTH, HEIGHT = 5.0, 3.5  # inches for the values, across and upright
THINNEST = 0.13  # inches of one of several bars at a place
SHORTEST, LONGEST = 1.1, 200.0  # inches for the features, whatever their number


class _Wrapper(textwrap.TextWrapper):
    """Breaks lines at blanks, and after the joints of names such as mean_daily_load."""

    wordsep_re = re.compile(r"(\s+|[^\s_./-]*[_./-]+)")


@dataclass(frozen=True)
class Labels:
    """Names as they are written: wrapped, and free of formulas."""

    texts: tuple[str, ...]

    @classmethod
    def of(cls, names: Sequence[str]) -> Labels:
        wrapper = _Wrapper(LONGEST_LINE, max_lines=MOST_LINES, placeholder="…")
        return cls(tuple(literal("\n".join(wrapper.wrap(name))) for name in names))

    @property
    def lines(self) -> int:
        return max(text.count("\n") + 1 for text in self.texts)

    @property
    def length(self) -> float:
        """Inches of the longest line."""
        return max(text_inches(line, "ytick.labelsize") for text in self.texts for line in text.split("\n"))


def feature_axis(
    ax: Axes | None, names: Sequence[str], *, is_horizontal: bool = True, spare: float = 0.0, bars: int = 1
) -> tuple[Axes, float]:
    """An axis whose places 0, 1, ... bear the names, from the top or from the left; and its width in inches.

    ``spare`` inches after the last place stay free; there is room for so many ``bars`` beside one another at each.
    """
    labels = Labels.of(names)
    along = min(max(inches_along(labels, bars), SHORTEST if is_horizontal else BREADTH), LONGEST) + spare
    inside = (BREADTH, along) if is_horizontal else (along, HEIGHT)
    if ax is None:
        ax = _new_axis(inside, labels.length, is_horizontal)
    else:
        inside = axis_inches(ax)
        inside = (0.85 * inside[0], inside[1])  # names, too, will take some of its width
    _write_names(ax, labels, inside[1] if is_horizontal else inside[0], is_horizontal, spare)
    return ax, inside[0]


def inches_along(labels: Labels, bars: int = 1) -> float:
    """Room that the places of so many bars take, and their names, one below the other."""
    inch = font_points("ytick.labelsize") / 72
    return len(labels.texts) * max(0.27, THINNEST * (bars + 1), inch * (SPACING * labels.lines + 0.5))


def _new_axis(inside: tuple[float, float], reach: float, is_horizontal: bool) -> Any:
    """An axis of about this size in inches, within a figure that also holds names of this length and a note."""
    frame = 0.13 * font_points()
    width, height = inside
    return open_axis(
        None, width + (reach + 0.4 if is_horizontal else 0.9), height + frame + (0.0 if is_horizontal else reach)
    )


def _write_names(ax: Any, labels: Labels, inches: float, is_horizontal: bool, spare: float) -> None:
    """Names at the ticks, in a font no larger than the room for each allows."""
    n = len(labels.texts)
    pitch = max(inches - spare, 0.5 * inches) / n
    points = font_points("ytick.labelsize")
    style = {"fontsize": max(1.0, min(points, 72 * pitch / (SPACING * labels.lines))), "usetex": False}
    if is_horizontal:
        ax.set_yticks(range(n), labels=labels.texts, **style)
        ax.set_ylim(n - 0.5 + spare / pitch, -0.5)  # the first at the top
    else:
        fits = pitch > labels.length + 0.2
        ax.set_xticks(range(n), labels=labels.texts, rotation=0 if fits else 90, **style)
        ax.set_xlim(-0.5, n - 0.5 + spare / pitch)
    ax.tick_params(axis="y" if is_horizontal else "x", length=0)
    ax.spines[["top", "right"]].set_visible(False)


def value_axis(ax: Any, label: str, *, is_horizontal: bool = True) -> None:
    """A label, a line at zero and a faint grid for the values."""
    (ax.set_xlabel if is_horizontal else ax.set_ylabel)(literal(label))
    (ax.axvline if is_horizontal else ax.axhline)(0, color=INK, linewidth=0.8, zorder=1.5, gid="zero")
    ax.grid(axis="x" if is_horizontal else "y", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
