"""Summary and Page: what there is to say of a result, in words, tables and figures that are independent of any medium.

Each kind of result makes a :class:`Summary`, for text, notebooks, the command line and MLflow, and a :class:`Page`, for
one HTML file. What renders them (``clarysage.render``, ``clarysage.integrations``, ``clarysage.cli``) knows no kind of
result by name. Names of features are given as they are; whoever shows them shortens and escapes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clarysage.errors import Note

if TYPE_CHECKING:
    import pandas as pd

Terms = tuple[tuple[str, str], ...]  # a word, and what it stands for
FEW, SHOWN = 30, 20  # items that are shown at once, and of more the number that is shown at first
Steps = tuple[float | None, ...]  # one number for each step, None where it is not known


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes
    ----------
    text : what it says
    tone : a verdict such as "helps" or "rose", by which pages colour the text; nothing for plain text
    more, small : what follows the text, and what is below it in small print
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
    heading : what is above it
    cells : one a row
    kind : "name" of what a row is about, "number" (at the right), "interval", "words", "long" for whole sentences, or
        "bar", which texts alone have
    key : by which a page sorts the table; nothing where it does not
    order : one number or text a row, which rows are sorted by
    rises : whether the first click sorts upwards
    by_view : cells and order by the view that they are shown in, in the place of the above, where these differ
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
    """Features, or whatever else a table and figures list, in one order.

    Attributes
    ----------
    names : as they are given
    order : places of the items, from the top
    weights : (p,) those of most weight are shown first, where there are many
    """

    names: tuple[str, ...]
    order: tuple[int, ...]
    weights: np.ndarray

    @property
    def first(self) -> int:
        """How many are shown at first."""
        return SHOWN if len(self.names) > FEW else len(self.names)

    @property
    def rank(self) -> list[int]:
        """0 for the item of most weight, for each item."""
        ranks: list[int] = np.argsort(np.argsort(-self.weights, kind="stable")).tolist()
        return ranks

    @property
    def shown(self) -> list[int]:
        """Places of the items that are shown at first, from the top."""
        rank = self.rank
        return [i for i in self.order if rank[i] < self.first]


@dataclass(frozen=True)
class Table:
    """A table, by its columns.

    Attributes
    ----------
    columns : the first is of names
    caption : what the table shows; in a text above it, in the place of the headline
    items : what rows are of, where a page lets readers search and sort them; None for a table that stays as it is
    of : place of the item of each row; default: the items in their order
    others : what rows are told apart by where several are of one item; ``order`` of the column with the key "other" has
        their places
    sorted_by : key of the column, and whether downwards, that rows are sorted by at first
    label : what it is called when it is read aloud
    most : rows beyond which it is scrolled on its own; None for any number
    is_divided : whether a text that is too narrow has it in blocks, each with the names, and headings in lines
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


@dataclass(frozen=True)
class Sentence:
    """A sentence on what was found.

    Attributes
    ----------
    text : how it begins
    named : names that follow, with a word on each
    more : how many more there are
    tone : a verdict such as "helps" or "rose", by which pages colour the sentence
    tag, name : a word in a box, and a name in bold, that stand before the text
    """

    text: str
    named: Terms = ()
    more: int = 0
    tone: str = ""
    tag: str = ""
    name: str = ""


# figures: numbers and words; where lines and bars go is the renderer's business


@dataclass(frozen=True)
class Ends:
    """Intervals of values in one view, or in all where it has no name.

    Attributes
    ----------
    low, high : (p,)
    is_open : (p,) which values cannot be told from zero; their bars are faint
    """

    low: np.ndarray
    high: np.ndarray
    is_open: np.ndarray
    view: str = ""


@dataclass(frozen=True)
class Series:
    """Bars of one kind, one a feature.

    Attributes
    ----------
    values : (p,)
    ends : intervals, of which a view shows one
    style : what the bars look like; by their sign where nothing is said
    marks : (p,) what kind of star each has ("flagged" or "along"), nothing for none; None where there are none at all
    """

    values: np.ndarray
    ends: tuple[Ends, ...] = ()
    style: str = ""
    marks: np.ndarray | None = None


@dataclass(frozen=True)
class Bars:
    """Bars with intervals, one row a feature.

    Attributes
    ----------
    title : what they show
    items : the features, as in the table of the section
    series : of which there may be several, side by side
    row_words : (p,) what to say of each feature after its name
    largest : what is the largest at the top: "value" or "difference"
    told : how many rows are read aloud
    legend, marks : names of several series; kinds of stars, and what they say
    view : which it is shown in; empty for all
    label : what it is called when it is read aloud
    """

    title: str
    items: Items
    series: tuple[Series, ...]
    row_words: tuple[str, ...]
    largest: str = "value"
    told: int = 5
    legend: tuple[str, ...] = ()
    marks: Terms = ()
    view: str = ""
    label: str = ""


@dataclass(frozen=True)
class Line:
    """A line over slices.

    Attributes
    ----------
    values : (n,)
    ends : low and high ends of intervals, (n,) each, which are shaded
    reference : a dashed line
    marked : (n,) where there is a diamond; default: marks of the line at every point
    flagged : (n,) where there is a star
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
    label : what the axis measures
    lines : one a name of the legend
    height : "large", "middle" or "small"
    limits : of the axis; default: what values, intervals and references take, and zero, which is drawn
    is_single : whether there is a single line, which is of no name of the legend
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
    title, words : what it is, and what it shows, to be read aloud
    slices, slice_words : (n,) their names, and what to say of each after its name
    flagged : (n,) which slices are shaded
    panels : from the top
    legend, marks : names of the lines; kinds of stars, and what they say
    drawn_of : how many features there are in all
    label : what it is called when it is read aloud
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
    """Shaded squares for numbers (r, c), the strongest for the largest size; none for nan.

    Attributes
    ----------
    texts, words : (r, c) the number that is written on each, and what to say of it
    rows, across : names of rows and columns
    title, summary : what it is, and what it shows, to be read aloud
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
    values : (p,)
    highest, lowest : the largest and the smallest value as they are printed
    section : whose table has the values
    is_open : whether it is shown at once
    """

    values: np.ndarray
    highest: str
    lowest: str
    section: str = "features"
    is_open: bool = True


@dataclass(frozen=True)
class Curve:
    """A line on axes of powers, where errors fall straight: x and y (m,), what axes are, what it shows in words."""

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
    text : the words
    key : what the colours of what is above zero and below stand for, before the text
    style : "lead" for what there is to know first, "raised" or "quieted" for an alarm, "quiet" for small print
    view : which it is shown in; empty for all
    link : words at the end, and the section they lead to
    """

    text: str
    style: Literal["", "lead", "raised", "quieted", "quiet"] = ""
    view: str = ""
    link: tuple[str, str] | None = None
    key: tuple[str, str] | None = None


@dataclass(frozen=True)
class Boxes:
    """Single numbers in boxes, each below what it is."""

    terms: Terms


@dataclass(frozen=True)
class Sentences:
    """Sentences on what was found, shown in one view, or in all where it has no name."""

    sentences: tuple[Sentence, ...]
    view: str = ""


@dataclass(frozen=True)
class Controls:
    """What readers may choose: a view of several, and which items of the section are shown.

    Attributes
    ----------
    legend, choices : what a switch of views is of, and views with their words; none where there are fewer than two
    search : what the field is called that items are searched by
    largest : of what the items that are shown first are the largest, such as "changes"
    has_count : whether readers may choose how many items are shown, and are told how many there are
    """

    legend: str = ""
    choices: Terms = ()
    search: str = "Search"
    largest: str = ""
    has_count: bool = True


@dataclass(frozen=True)
class Facts:
    """Words and what they stand for; ``is_verdicts`` colours the words as verdicts."""

    terms: Terms
    is_verdicts: bool = False


@dataclass(frozen=True)
class Runs:
    """Facts that differ between runs: a word, and what it stands for in each of the named runs."""

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
    id : of the section; scripts find the table with ``items`` in it by this
    heading : above it
    blocks : from the top
    noun : what its items are called
    """

    id: str
    heading: str
    blocks: tuple[Block, ...]
    noun: str = "feature"

    @property
    def table(self) -> Table | None:
        """The table that readers may search and sort."""
        return next((block for block in self.blocks if isinstance(block, Table) and block.items is not None), None)


@dataclass(frozen=True)
class Page:
    """All there is to say of a result.

    Attributes
    ----------
    title : above the page, where no other is given; as it may be seen
    sections : from the top
    view : of the views that a switch shows the one that is shown at first; empty where there is no switch
    """

    title: str
    sections: tuple[Section, ...]
    view: str = ""


@dataclass(frozen=True)
class Record:
    """Numbers and words of a result, for tools that track experiments.

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
    """A result in brief, for a terminal, a notebook, a file of facts.

    Attributes
    ----------
    kind : of the result, in a word, as its file is called
    title : above a page
    headline : what was computed
    findings : sentences to be read before the tables
    tables : those that fit a terminal, names in the first column
    notes : sentences below them: what numbers mean, what it cost, remarks; those with advice are warnings
    figure : what a notebook draws
    unfinished : of runs that ended before they converged, a sentence each
    flagged : names of what somebody should look at
    pictures : what draws each, by its name: "plot", and others where there are such
    about, choices : what intervals are about, and what else they can be about, where the result leaves a choice
    width : to which a text is wrapped, and tables are divided into blocks; None for lines as long as they are
    record : numbers and words; None for kinds that are not tracked
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
    pictures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    about: str = ""
    choices: tuple[str, ...] = ()
    width: int | None = None
    record: Record | None = None
