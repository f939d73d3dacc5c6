"""Summary and Page: the words, tables and figures that describe a result, independent of any medium (view model).

Each kind of result makes a :class:`Summary`, for text, notebooks, the command line and MLflow, and a :class:`Page`, for
one HTML file. The renderers (``clarysage.render``, ``clarysage.integrations``, ``clarysage.cli``) know no kind of
result by name. Names of features are unchanged; renderers shorten and escape them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clarysage._utils.display import SHOWN
from clarysage.errors import Either, InputError, Note, Set

if TYPE_CHECKING:
    import pandas as pd

Terms = tuple[tuple[str, str], ...]  # pairs of a term and its value
FEW = 30  # most items that a page shows all at first
Steps = tuple[float | None, ...]  # one number for each step, None where it is unknown


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : text of the cell
    tone : a verdict such as "helps" or "rose", which determines the colour of the text; empty for plain text
    more, small : text that follows, and text below in small print
    """

    text: str
    tone: str = ""
    more: str = ""
    small: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    heading : text above the column
    cells : one for each row
    kind : "name" of the item of a row, "number" (aligned to the right), "interval", "words", "long" for full sentences,
        or "bar", which only texts show
    key : key by which a page sorts the table; empty if it does not sort by this column
    order : sort keys, one number or text for each row
    rises : whether the first click sorts in ascending order
    by_view : cells and order for each view, in place of the above, where views differ
    """

    heading: str
    cells: Sequence[str | Cell] = ()
    kind: Literal["name", "number", "interval", "words", "long", "bar"] = "number"
    key: str = ""
    order: Sequence[float | str] = ()
    rises: bool = False
    by_view: Mapping[str, tuple[Sequence[str | Cell], Sequence[float | str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Items:
    """Features, or other items that a table and figures list, in one order.

    Attributes
    ----------
    names : unchanged names
    order : indices of the items, from the top
    weights : (p,) if there are many items, those with the largest weights are shown at first
    """

    names: tuple[str, ...]
    order: tuple[int, ...]
    weights: np.ndarray

    @property
    def first(self) -> int:
        """Number of items that are shown at first."""
        return SHOWN if len(self.names) > FEW else len(self.names)

    @property
    def rank(self) -> list[int]:
        """Rank of each item by weight, 0 for the largest weight."""
        ranks: list[int] = np.argsort(np.argsort(-self.weights, kind="stable")).tolist()
        return ranks

    @property
    def shown(self) -> list[int]:
        """Indices of the items that are shown at first, from the top."""
        rank = self.rank
        return [i for i in self.order if rank[i] < self.first]


@dataclass(frozen=True)
class Table:
    """A table, by its columns.

    Attributes
    ----------
    columns : the columns; the first holds names
    caption : description of the table; texts show it above the table, in place of the headline
    items : items of the rows, if readers of a page can search and sort them; None for a fixed table
    of : index of the item of each row; default: the items in their order
    others : labels that distinguish several rows of one item; ``order`` of the column with the key "other" holds their
        indices
    sorted_by : key and direction of the initial order of rows
    label : name for screen readers
    most : number of rows above which the table has its own scroll bar; None for no limit
    is_divided : whether a narrow text divides the table into blocks of columns, each with the names
    weights : (rows,) sizes of the items, by which texts and notebooks choose the rows that they show; None for all rows
    noun, by : noun for an item, and what is largest for the items that are shown
    """

    columns: tuple[Column, ...]
    caption: str = ""
    items: Items | None = None
    of: tuple[int, ...] | None = None
    others: tuple[str, ...] = ()
    sorted_by: tuple[str, Literal["ascending", "descending"]] = ("", "descending")
    label: str = ""
    most: int | None = None
    is_divided: bool = False
    weights: np.ndarray | None = None
    noun: str = "feature"
    by: str = "absolute values"

    def largest(self, top: int | None) -> Table:
        """Returns the table with only the ``top`` rows with the largest weights, in their order; None for all rows."""
        check_top(top)
        if self.left_out(top) is None:
            return self
        assert self.weights is not None
        rows = np.sort(np.argsort(-self.weights, kind="stable")[:top]).tolist()
        columns = (replace(column, cells=[column.cells[i] for i in rows]) for column in self.columns)
        return replace(self, columns=tuple(columns), weights=self.weights[rows])

    def left_out(self, top: int | None) -> Note | None:
        """Returns a note on the rows that are not among the ``top`` largest; None if there are none."""
        rows = 0 if self.weights is None else len(self.weights)
        if top is None or rows <= top:
            return None
        text = f"{top:,} of {rows:,} {self.noun}s are shown, those with the largest {self.by}: "
        return Note((text, Either("table(top=None)", f"--top {rows}"), " shows all."))


def check_top(top: object) -> None:
    """Raises unless this is a number of items to show, or None for all."""
    is_count = isinstance(top, (int, np.integer)) and not isinstance(top, bool) and bool(top > 0)
    if top is not None and not is_count:
        raise InputError(
            "top", got=f"{top!r}", wanted="a whole number of one or more, or None for all", hint=Set("top", 10)
        )


@dataclass(frozen=True)
class Sentence:
    """A sentence that states a finding.

    Attributes
    ----------
    text : beginning of the sentence
    named : names that follow, each with a value
    more : number of further names
    tone : a verdict such as "helps" or "rose", which determines the colour of the sentence
    tag, name : a word in a box, and a name in bold, before the text
    """

    text: str
    named: Terms = ()
    more: int = 0
    tone: str = ""
    tag: str = ""
    name: str = ""


# figures: numbers and words; renderers compute positions


@dataclass(frozen=True)
class Ends:
    """Intervals of values in one view, or in all views if ``view`` is empty.

    Attributes
    ----------
    low, high : (p,) ends of the intervals
    is_open : (p,) whether the sign of a value is undecided; its bar is faint
    """

    low: np.ndarray
    high: np.ndarray
    is_open: np.ndarray
    view: str = ""


@dataclass(frozen=True)
class Series:
    """Bars of one kind, one for each feature.

    Attributes
    ----------
    values : (p,) lengths of the bars
    ends : intervals, one for each view
    style : style of the bars; by default determined by their sign
    marks : (p,) kind of star of each bar, "flagged" or "along", or empty; None if there are no stars
    """

    values: np.ndarray
    ends: tuple[Ends, ...] = ()
    style: str = ""
    marks: np.ndarray | None = None


@dataclass(frozen=True)
class Bars:
    """A chart of bars with intervals, one row for each feature.

    Attributes
    ----------
    title : title of the chart
    items : the features, as in the table of the section
    series : one or more series, side by side
    row_words : (p,) text on each feature, after its name
    largest : what the order is by, with the largest at the top: "value" or "difference"
    described : number of rows in the description for screen readers
    legend, marks : names of several series; kinds of stars and their meanings
    view : the view that shows the chart; empty for all
    label : name for screen readers
    """

    title: str
    items: Items
    series: tuple[Series, ...]
    row_words: tuple[str, ...]
    largest: str = "value"
    described: int = 5
    legend: tuple[str, ...] = ()
    marks: Terms = ()
    view: str = ""
    label: str = ""


@dataclass(frozen=True)
class Line:
    """A line over slices.

    Attributes
    ----------
    values : (n,) one for each slice
    ends : low and high ends of intervals, (n,) each, drawn as a shaded band
    reference : value of a dashed line
    marked : (n,) whether a point has a diamond; default: every point has the mark of its line
    flagged : (n,) whether a point has a star
    """

    values: np.ndarray
    ends: tuple[np.ndarray, np.ndarray] | None = None
    reference: float | None = None
    marked: np.ndarray | None = None
    flagged: np.ndarray | None = None


@dataclass(frozen=True)
class Panel:
    """Lines on one axis.

    Attributes
    ----------
    label : label of the axis
    lines : one for each name of the legend
    height : "large", "middle" or "small"
    limits : limits of the axis; default: the range of values, intervals, references and zero, which is drawn
    is_single : whether there is a single line that does not belong to the legend
    """

    label: str
    lines: tuple[Line, ...]
    height: Literal["large", "middle", "small"]
    limits: tuple[float, float] | None = None
    is_single: bool = False


@dataclass(frozen=True)
class Lines:
    """Lines over slices, in panels from the top.

    Attributes
    ----------
    title, words : title, and description for screen readers
    slices, slice_words : (n,) names of the slices, and text on each, after its name
    flagged : (n,) whether a slice is shaded
    panels : panels from the top
    legend, marks : names of the lines; kinds of stars and their meanings
    drawn_of : number of all features
    label : name for screen readers
    """

    title: str
    words: str
    slices: tuple[str, ...]
    slice_words: tuple[str, ...]
    flagged: np.ndarray
    panels: tuple[Panel, ...]
    legend: tuple[str, ...]
    marks: Terms
    drawn_of: int
    label: str = ""


@dataclass(frozen=True)
class Squares:
    """Shaded squares for numbers (r, c), the strongest shade for the largest absolute value; no square for nan.

    Attributes
    ----------
    texts, words : (r, c) number on each square, and its description
    rows, across : names of rows and columns
    title, summary : title, and description for screen readers
    """

    numbers: np.ndarray
    texts: Sequence[Sequence[str]]
    words: Sequence[Sequence[str]]
    rows: tuple[str, ...]
    across: tuple[str, ...]
    title: str
    summary: str
    label: str = ""


@dataclass(frozen=True)
class Image:
    """Values of a square number of features as pixels, row by row from the top left.

    Attributes
    ----------
    values : (p,) one for each pixel
    highest, lowest : the largest and the smallest value, formatted
    section : id of the section whose table has the values
    is_open : whether the image is unfolded at first
    """

    values: np.ndarray
    highest: str
    lowest: str
    section: str = "features"
    is_open: bool = True


@dataclass(frozen=True)
class Curve:
    """A line on logarithmic axes, where standard errors fall in a straight line: x and y (m,), and descriptions."""

    x: np.ndarray
    y: np.ndarray
    title: str
    axes: str
    words: str
    label: str = ""


Figure = Bars | Lines | Squares | Image | Curve


# parts of a page


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a page.

    Attributes
    ----------
    text : the text
    key : meanings of the colours for positive and negative numbers, shown before the text
    style : "lead" for the headline, "raised" or "quieted" for an alarm, "quiet" for small print
    view : the view that shows the paragraph; empty for all
    link : text of a link at the end, and the id of its section
    """

    text: str
    style: Literal["", "lead", "raised", "quieted", "quiet"] = ""
    view: str = ""
    link: tuple[str, str] | None = None
    key: tuple[str, str] | None = None


@dataclass(frozen=True)
class Boxes:
    """Single numbers in boxes, each below its name."""

    terms: Terms


@dataclass(frozen=True)
class Sentences:
    """Sentences that state findings, shown in one view, or in all views if ``view`` is empty."""

    sentences: tuple[Sentence, ...]
    view: str = ""


@dataclass(frozen=True)
class Controls:
    """Controls for readers: a switch between views, and a search for the items of the section.

    Attributes
    ----------
    legend, choices : legend of the switch, and views with their labels; there is no switch for fewer than two
    search : label of the search field
    largest : quantity, such as "changes", that is largest for the items shown at first
    has_count : whether readers see the number of items and choose how many are shown
    """

    legend: str = ""
    choices: Terms = ()
    search: str = "Search"
    largest: str = ""
    has_count: bool = True


@dataclass(frozen=True)
class Facts:
    """Pairs of a term and its value; ``is_verdicts`` colours the terms as verdicts."""

    terms: Terms
    is_verdicts: bool = False


@dataclass(frozen=True)
class Runs:
    """Facts that differ between runs: a term, and its value in each of the named runs."""

    names: tuple[str, ...]
    terms: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Notes:
    """Notes, warnings first."""

    notes: tuple[Note, ...]


Block = Paragraph | Boxes | Sentences | Controls | Figure | Table | Facts | Runs | Notes


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Attributes
    ----------
    id : id of the section, by which scripts find its table with ``items``
    heading : heading of the section
    blocks : blocks from the top
    noun : noun for an item
    """

    id: str
    heading: str
    blocks: tuple[Block, ...]
    noun: str = "feature"

    @property
    def table(self) -> Table | None:
        """Table that readers can search and sort, if there is one."""
        return next((block for block in self.blocks if isinstance(block, Table) and block.items is not None), None)


@dataclass(frozen=True)
class Page:
    """The contents of the HTML page of a result.

    Attributes
    ----------
    title : default title of the page, safe to display
    sections : sections from the top
    view : the view that is shown at first; empty if there is no switch
    """

    title: str
    sections: tuple[Section, ...]
    view: str = ""


@dataclass(frozen=True)
class Record:
    """Numbers and words of a result, for tools that track experiments, such as MLflow.

    Attributes
    ----------
    name : the name under which the result is kept, unless the caller gives another one
    frame : makes the table of the result as a pandas DataFrame
    columns : the columns of the table that are kept as numbers, one for each item
    numbers : numbers that belong to no single item, one for each step
    words : how the result was computed
    plot : draws a plot of moderate size; None where there is none
    item : the column of the table that names the items, such as the features; None where rows have no names
    section : the column that tells apart several rows of the same item, such as other explanations or measures; rows
        of the same item may also differ in the column "where", whose entries (slices) are the steps
    """

    name: str
    frame: Callable[[], pd.DataFrame]
    columns: tuple[str, ...]
    numbers: Mapping[str, Steps]
    words: Mapping[str, str]
    plot: Callable[[], Any] | None = None
    item: str | None = "feature"
    section: str = "compared"


@dataclass(frozen=True)
class Summary:
    """A result in brief, for terminals, notebooks and tools that track experiments.

    Attributes
    ----------
    kind : kind of the result, as in the name of its file
    title : title of a page
    headline : what was computed
    findings : sentences before the tables
    tables : tables that fit a terminal, with names in the first column
    notes : sentences after the tables: meaning of the numbers, cost, remarks; notes with advice are warnings
    figure : the figure that a notebook draws
    unfinished : a sentence for each run that ended before convergence
    flagged : names that need attention
    pictures : functions that draw plots of the ``top`` features, by name: "plot", and others if there are any
    about, choices : target of the intervals, and possible targets, where the result leaves a choice
    width : number of columns to which text is wrapped and tables are divided into blocks; None for no limit
    record : numbers and words for tools that track experiments; None for kinds that are not tracked
    """

    kind: str
    title: str
    headline: str
    tables: tuple[Table, ...]
    findings: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    figure: Bars | Lines | None = None
    unfinished: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()
    pictures: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    about: str = ""
    choices: tuple[str, ...] = ()
    width: int | None = None
    record: Record | None = None
