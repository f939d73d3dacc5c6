"""Axes to draw on, text that is shown as it is, and the note below an axis: the door to matplotlib."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import InputError, MissingLibraryError, PythonOnly
from clarysage.results import Explanation, Importances

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which people with any colour vision can tell apart
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#8C8C8C"
INK = "#333333"
NOTE = 0.83  # size of notes, in units of the font size
LINES = 1.25  # from one line of them to the next, in units of their size
LETTER = 0.6  # width of an average letter, in units of the font size


def check(explanation: object, ax: object) -> None:
    """An error for anything but one Explanation and one axis, or None for it; and for want of matplotlib."""
    if not isinstance(explanation, Explanation):
        hint = "one entry at a time" if isinstance(explanation, (list, tuple)) else "the result of cs.sage"
        raise InputError("explanation", got=type(explanation).__name__, wanted="an Explanation", hint=PythonOnly(hint))
    check_axis(ax)


def check_importances(importances: object, ax: object) -> None:
    """An error for anything but Importances and one axis, or None for it; and for want of matplotlib."""
    if not isinstance(importances, Importances):
        wanted, hint = "Importances", "the result of cs.importances"
        raise InputError("importances", got=type(importances).__name__, wanted=wanted, hint=PythonOnly(hint))
    check_axis(ax)


def check_axis(ax: object) -> None:
    """An error for anything but one axis, or None for it; and for want of matplotlib."""
    try:
        from matplotlib.axes import Axes
    except ImportError as error:
        raise MissingLibraryError("matplotlib", None, "A plot") from error
    if ax is not None and not isinstance(ax, Axes):
        is_many = isinstance(ax, (np.ndarray, list, tuple))
        raise InputError(
            "ax",
            got=type(ax).__name__,
            wanted="a matplotlib Axes, or None for a new figure",
            hint=PythonOnly("one of its entries, such as ax=axes[0]" if is_many else "ax=fig.add_subplot()"),
        )


def open_axis(ax: Axes | None, width: float, height: float) -> Any:
    """The axis given, or one in a new figure of this size in inches, which pyplot knows and notebooks show."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def is_count(value: Any) -> bool:
    """Whether this is a whole number of one or more; True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value > 0)


def literal(text: str) -> str:
    """Text that matplotlib shows letter by letter: a dollar sign does not begin a formula.

    Examples
    --------
    >>> print(literal("price_$ or cost_$"))
    price_\\$ or cost_\\$
    """
    return text.replace("$", r"\$")


def font_points(setting: str = "font.size") -> float:
    """Size in points of one of matplotlib's font settings."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size=rcParams[setting]).get_size_in_points())


def text_inches(line: str, setting: str = "font.size") -> float:
    """Width in inches of a line of text in the font of one of matplotlib's settings."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=font_points(setting))
    return float(text_to_path.get_text_width_height_descent(line, font, ismath=False)[0]) / 72


def axis_inches(ax: Any) -> tuple[float, float]:
    """Width and height of an axis as it stands, in inches; a layout may still take some of it."""
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    return box.width / dpi, box.height / dpi


def note(ax: Any, sentences: Sequence[str], width: float) -> None:
    """Write small sentences under the axis and its label, wrapped to a width in inches."""
    ax.annotate(
        _wrapped(sentences, width),
        xy=(0.5, 0),
        xycoords=("axes fraction", ax.xaxis.label),
        xytext=(0, -4),
        textcoords="offset points",
        ha="center",
        va="top",
        annotation_clip=False,
        **_note_style(),
    )


def note_inches(sentences: Sequence[str], width: float) -> float:
    """Height of such a note."""
    return (_wrapped(sentences, width).count("\n") + 1) * LINES * NOTE * font_points() / 72


def note_of_figure(figure: Any, sentences: Sequence[str]) -> None:
    """Write small sentences under all axes of a figure."""
    figure.supxlabel(_wrapped(sentences, 0.95 * figure.get_size_inches()[0]), **_note_style())


def _note_style() -> dict[str, Any]:
    return {"fontsize": NOTE * font_points(), "color": INK, "linespacing": LINES, "gid": "note"}


def _wrapped(sentences: Sequence[str], width: float) -> str:
    letters = max(30, int(72 * width / (LETTER * NOTE * font_points())))
    return literal("\n".join(line for sentence in sentences for line in textwrap.wrap(sentence, letters)))
