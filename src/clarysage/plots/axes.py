"""Axes, labels and notes shared by all plots.

matplotlib is imported inside functions, so that importing this package does not need it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import InputError, MissingLibraryError, PythonOnly
from clarysage.results import Explanation, Importances
from clarysage.results.text import LABELS, loss_words, short_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, which people with any colour vision can tell apart
BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#8C8C8C"
INK = "#333333"
NOTE_SIZE = 0.83  # of notes, in units of the font size
NOTE_SPACING = 1.25  # between lines of a note, in units of its font size
LETTER_WIDTH = 0.6  # of an average letter, in units of the font size


def check(explanation: object, ax: object) -> None:
    """Raises unless this is one Explanation, and one axis or None; raises where matplotlib is missing."""
    if not isinstance(explanation, Explanation):
        hint = "one entry at a time" if isinstance(explanation, (list, tuple)) else "the result of cs.sage"
        raise InputError("explanation", got=type(explanation).__name__, wanted="an Explanation", hint=PythonOnly(hint))
    check_axis(ax)


def check_importances(importances: object, ax: object) -> None:
    """Raises unless this is Importances, and one axis or None; raises where matplotlib is missing."""
    if not isinstance(importances, Importances):
        hint = PythonOnly("the result of cs.importances")
        raise InputError("importances", got=type(importances).__name__, wanted="Importances", hint=hint)
    check_axis(ax)


def check_axis(ax: object) -> None:
    """Raises unless this is one axis or None; raises where matplotlib is missing."""
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
    """Returns the given axis, or one in a new pyplot figure of this size in inches, which notebooks show."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def is_count(value: Any) -> bool:
    """Returns True for a whole number of one or more; booleans do not count."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value > 0)


def literal(text: str) -> str:
    """Escapes text so that matplotlib shows it letter by letter: a dollar sign does not begin a formula.

    Examples
    --------
    >>> print(literal("price_$ or cost_$"))
    price_\\$ or cost_\\$
    """
    return text.replace("$", r"\$")


def font_points(setting: str = "font.size") -> float:
    """Returns the size in points of one of matplotlib's font settings."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    return float(FontProperties(size=rcParams[setting]).get_size_in_points())


def text_inches(line: str, setting: str = "font.size") -> float:
    """Returns the width in inches of a line of text in the font of one of matplotlib's settings."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=font_points(setting))
    return float(text_to_path.get_text_width_height_descent(line, font, ismath=False)[0]) / 72


def axis_inches(ax: Any) -> tuple[float, float]:
    """Returns the current width and height of an axis in inches; a layout may still take some of it."""
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    return box.width / dpi, box.height / dpi


def note(ax: Any, sentences: Sequence[str], width: float) -> None:
    """Writes small sentences under the axis and its label, wrapped to a width in inches."""
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
    """Returns the height in inches of a note of this width."""
    return (_wrapped(sentences, width).count("\n") + 1) * NOTE_SPACING * NOTE_SIZE * font_points() / 72


def note_of_figure(figure: Any, sentences: Sequence[str]) -> None:
    """Writes small sentences under all axes of a figure."""
    figure.supxlabel(_wrapped(sentences, 0.95 * figure.get_size_inches()[0]), **_note_style())


def _note_style() -> dict[str, Any]:
    return {"fontsize": NOTE_SIZE * font_points(), "color": INK, "linespacing": NOTE_SPACING, "gid": "note"}


def _wrapped(sentences: Sequence[str], width: float) -> str:
    letters = max(30, int(72 * width / (LETTER_WIDTH * NOTE_SIZE * font_points())))
    return literal("\n".join(line for sentence in sentences for line in textwrap.wrap(sentence, letters)))


LABEL_SIZE, SHORTEST_LABEL = "axes.labelsize", 20  # of the value axis: its font, and the letters that are on one line
LONGEST_LINE = 40  # letters of a name before it continues on the next line
MOST_LINES = 5  # of a name, before it is cut
SPACING = 1.25  # between lines of a name, in units of the font size
VALUE_WIDTH, VALUE_HEIGHT = 5.0, 3.5  # inches of the value axis, horizontal and vertical
THINNEST = 0.13  # inches of one of several bars of a feature
SHORTEST, LONGEST = 1.1, 200.0  # inches of the feature axis, for any number of features


class _Wrapper(textwrap.TextWrapper):
    """Breaks lines at blanks, and after underscores, dots, slashes and dashes, as in mean_daily_load."""

    wordsep_re = re.compile(r"(\s+|[^\s_./-]*[_./-]+)")


@dataclass(frozen=True)
class Labels:
    """Names wrapped and escaped as tick labels."""

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
        """Length of the longest line in inches."""
        return max(text_inches(line, "ytick.labelsize") for text in self.texts for line in text.split("\n"))


def feature_axis(
    ax: Axes | None, names: Sequence[str], *, is_horizontal: bool = True, spare: float = 0.0, bars: int = 1
) -> tuple[Axes, float]:
    """Returns an axis with the names at positions 0, 1, ..., from the top or the left, and its width in inches.

    ``spare`` inches after the last position stay free; each has room for ``bars`` bars next to each other.
    """
    labels = Labels.of(names)
    length = min(max(inches_of_features(labels, bars), SHORTEST if is_horizontal else VALUE_WIDTH), LONGEST) + spare
    inside = (VALUE_WIDTH, length) if is_horizontal else (length, VALUE_HEIGHT)
    if ax is None:
        ax = _new_axis(inside, labels.length, is_horizontal)
    else:
        inside = axis_inches(ax)
        inside = (0.85 * inside[0], inside[1])  # names take some of its width, too
    _write_names(ax, labels, inside[1] if is_horizontal else inside[0], is_horizontal, spare)
    return ax, inside[0]


def inches_of_features(labels: Labels, bars: int = 1) -> float:
    """Returns the length in inches of a feature axis with these names and this number of bars for each."""
    inch = font_points("ytick.labelsize") / 72
    return len(labels.texts) * max(0.27, THINNEST * (bars + 1), inch * (SPACING * labels.lines + 0.5))


def _new_axis(inside: tuple[float, float], name_length: float, is_horizontal: bool) -> Any:
    """Opens an axis of about this size in inches, in a figure that also has room for the names and a note."""
    frame = 0.13 * font_points()
    width, height = inside
    return open_axis(
        None,
        width + (name_length + 0.4 if is_horizontal else 0.9),
        height + frame + (0.0 if is_horizontal else name_length),
    )


def _write_names(ax: Any, labels: Labels, inches: float, is_horizontal: bool, spare: float) -> None:
    """Writes names at the ticks, in a font small enough for the space of each."""
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
    """Adds a label, wrapped to the length of the axis, a line at zero and a faint grid to the value axis."""
    letters = int(len(label) * axis_inches(ax)[0 if is_horizontal else 1] / max(text_inches(label, LABEL_SIZE), 1e-9))
    lines = textwrap.wrap(label, max(letters, SHORTEST_LABEL))
    (ax.set_xlabel if is_horizontal else ax.set_ylabel)(literal("\n".join(lines)))
    (ax.axvline if is_horizontal else ax.axhline)(0, color=INK, linewidth=0.8, zorder=1.5, gid="zero")
    ax.grid(axis="x" if is_horizontal else "y", color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


DATE = re.compile(r"\d{4}(Q[1-4]|-\d\d(-\d\d( \d\d:\d\d)?)?)?")  # names of slices by date
SPARSEST = 4.0  # positions for each slice, at most; with longer gaps slices have equal distances
SLICE_NAME_LETTERS = 24
NAME_GAP = 0.12  # inches between two names of slices


def slice_positions(names: Sequence[str]) -> np.ndarray:
    """Returns positions of slices: dates in proportion to time, the closest two at a distance of one.

    Examples
    --------
    >>> slice_positions(["2024-11", "2024-12", "2025-02"]).tolist(), slice_positions(["b", "a"]).tolist()
    ([0.0, 1.0, 3.0], [0.0, 1.0])
    """
    equal = np.arange(len(names), dtype=float)
    if len({len(name) for name in names}) > 1 or not all(map(DATE.fullmatch, names)):
        return equal
    try:
        times = np.array([_time(name) for name in names], dtype=float)
    except ValueError:  # such as month 13
        return equal
    steps = np.diff(times)
    if len(steps) == 0 or steps.min() <= 0 or times[-1] - times[0] > SPARSEST * len(names) * steps.min():
        return equal
    return np.asarray((times - times[0]) / steps.min())


def _time(name: str) -> int:
    if "Q" in name:
        year, quarter = name.split("Q")
        return 4 * int(year) + int(quarter)
    return int(np.datetime64(name.replace(" ", "T")).astype(int))


def write_slice_names(ax: Any, names: Sequence[str], positions: np.ndarray, inches: float) -> None:
    """Writes as many names as can be read below an axis of this width in inches; long ones upright, except dates."""
    texts = [literal(short_name(name, SLICE_NAME_LETTERS)) for name in names]
    pitch = inches / (positions[-1] - positions[0] + 1)
    longest = max(text_inches(text, "xtick.labelsize") for text in texts) + NAME_GAP
    is_level = longest <= pitch or all(map(DATE.fullmatch, names))
    space = longest if is_level else 1.25 * font_points("xtick.labelsize") / 72
    shown = spaced_apart(positions, space / pitch)
    ax.set_xticks(positions[shown], [texts[i] for i in shown], rotation=0 if is_level else 90, usetex=False)
    ax.set_xticks(positions, minor=True)
    ax.set_xlim(positions[0] - 0.5, positions[-1] + 0.5)


def spaced_apart(positions: np.ndarray, distance: float) -> list[int]:
    """Returns indices of positions, from the first on, with at least this distance between them.

    Examples
    --------
    >>> spaced_apart(np.array([0.0, 1.0, 2.0, 3.0]), 1.5)
    [0, 2]
    """
    selected = [0]
    for i in range(1, len(positions)):
        if positions[i] - positions[selected[-1]] >= distance - 1e-9:
            selected.append(i)
    return selected


def value_label(explanation: Explanation) -> str:
    """Returns the name of the value and its unit, the loss."""
    if explanation.values_are == "variance":
        return "Shapley effect (variance of the output)"
    if explanation.measure in LABELS:
        return f"{LABELS[explanation.measure]} (reduction of {loss_words(explanation.loss)})"
    name = explanation.measure[:1].upper() + explanation.measure[1:]
    is_loss = explanation.base is not None and explanation.loss
    return f"{name} (in units of {explanation.loss})" if is_loss else name


def interval_note(explanation: Explanation, level: float, joint: bool, about: str) -> list[str]:
    """Returns a sentence on the meaning of the intervals, or on exact values."""
    exact = [] if explanation.draws else ["The values have no sampling error."]
    if exact and about == "data":
        return exact
    coverage = "Simultaneous" if joint else "Pointwise"
    return [f"{coverage} {100 * level:.6g}% intervals about {explanation.meaning(about)}.", *exact]


def drawn_words(drawn: int, count: int, more: str = "") -> str:
    """Returns a sentence on how many features are drawn, for plots that leave some out."""
    return f"{drawn:,} of {count:,} features are drawn{more}."


def convergence_note(explanation: Explanation) -> list[str]:
    """Returns a warning if the run ended before it converged."""
    return [] if explanation.stopped.is_wanted else [f"NOT CONVERGED: {explanation.stopped.value}"]
