"""html and notebook: a result as a self-contained HTML page, and as the output of a notebook cell.

The content security policy of a page allows only its own script and style, by their hashes. The output of a cell has no
script and no ids, since a notebook holds many outputs; text and lines take the colours of the notebook. Notebooks that
are not trusted drop styles and pictures but keep their texts: therefore tables come first, and the style moves the
picture above them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from clarysage._utils.display import SHOWN, shortened, shortened_inside, text_width, visible
from clarysage.errors import InputError, in_python
from clarysage.render.chart import NARROW, WIDE, bars, listing_of
from clarysage.render.figures import curve, pixel_map, squares
from clarysage.render.lines import lines
from clarysage.results.result import Result
from clarysage.results.summary import Bars, Column, Figure, Image, Lines, Page, Squares, Table

LEVEL = 0.95  # level of intervals in notebooks
LONGEST_TITLE, LONGEST_NAME = 200, 60  # characters
LONGEST_NOTE = 2000
MANY_COLUMNS, TOO_MANY = 8, 12  # a table with more columns has smaller letters, and upright headings
SHORT, UNBROKEN = 16, 24  # columns of names that are not broken into lines, or only at their blanks
# "<", ">" and "&" mean something to HTML; all beyond ASCII, such as U+2028, is escaped by json itself
ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"}


def html(result: Result, *, title: str | None = None, about: str | None = None, level: float = 0.95) -> str:
    """Returns an HTML page that needs no other file and no network.

    It holds only aggregates: values of features, never of single examples.

    Parameters
    ----------
    result : any result, such as an Explanation or a Comparison
    title : title of the page; default: what was computed, such as the measure and the model
    about : what intervals of an Explanation or Interactions are about when the page is opened, as in
        :meth:`clarysage.Explanation.interval`; a switch on the page shows the other targets
    level : level of the intervals

    Examples
    --------
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> page = html(cs.sage(lambda X: X[:, 0], X, X[:, 0], rng=0), title="Sales & more")
    >>> "<title>Sales &amp; more</title>" in page
    True
    """
    from clarysage import __version__

    _check(result, title)
    page: Page = result.details(level, about=about)
    script, style = source("script.js"), source("chart.css") + source("style.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return str(
        templates()
        .get_template("page.html")
        .render(
            page=page,
            title=page.title if title is None else shortened(title, LONGEST_TITLE),
            script=script,
            style=style,
            policy=policy,
            version=__version__,
            data=inline_json(lists(page)),
        )
    )


def notebook(result: Result) -> str:
    """Returns HTML for the output of a cell: the chart of the page, and the tables of the text."""
    summary = result.summary(LEVEL)
    picture: dict[str, Any] = {"drawing": None, "kind": ""}
    if summary.figure is not None:
        picture = {"drawing": drawing_of(summary.figure, all_features=False), "kind": _kind(summary.figure)}
        picture |= dict(zip(("drawn", "features"), _count(summary.figure), strict=True))
    style = source("chart.css") + source("notebook.css")
    template = templates().get_template("output.html")
    return str(template.render(summary=summary, style=style, level=f"{100 * LEVEL:g}", **picture))


def drawing_of(figure: Figure, *, width: float = WIDE, all_features: bool = True) -> Any:
    """Returns the data with which a template draws a figure; bars of all features, or of those shown at first."""
    if isinstance(figure, Bars):
        return bars(figure, width=width, all_features=all_features)
    if isinstance(figure, Lines):
        return lines(figure, width=width)
    if isinstance(figure, Squares):
        return squares(figure, width=width)
    return pixel_map(figure) if isinstance(figure, Image) else curve(figure, width=width)


def _count(figure: Bars | Lines) -> tuple[int, int]:
    """Returns the number of features that are drawn, and the number of all features."""
    if isinstance(figure, Lines):
        return len(figure.legend), figure.drawn_of
    features = listing_of(figure.items)
    return len(features.shown), len(features.names)


def lists(page: Page) -> dict[str, Any]:
    """Returns the data by which the script sorts and searches, for each section with such a table."""
    return {section.id: _list(section.table) for section in page.sections if section.table is not None}


def _list(table: Table) -> dict[str, Any]:
    """Returns items in the order of the chart, and sort keys of rows by column and by view."""
    assert table.items is not None
    items = listing_of(table.items)
    data: dict[str, Any] = {
        "names": [table.items.names[i] for i in items.order],
        "rank": [items.rank[i] for i in items.order],
        "columns": {column.key: _order(column.order) for column in table.columns if column.key and len(column.order)},
    }
    views = {view for column in table.columns for view in column.by_view}
    if views:
        data["views"] = {
            view: {column.key: _order(column.by_view[view][1]) for column in table.columns if view in column.by_view}
            for view in sorted(views)
        }
    if table.of is None:
        data["places"] = list(items.order)
    else:
        position = {item: row for row, item in enumerate(items.order)}
        data["of"] = [position[item] for item in table.of]
    if table.others:
        data["others"] = list(table.others)
    return data


def _order(order: Sequence[float | str]) -> list[float | str | None]:
    """Converts sort keys to numbers that JSON allows, and texts."""
    return [entry if isinstance(entry, (str, int)) else _number(entry) for entry in order]


def _number(value: float) -> float | None:
    return float(f"{value:.7g}") if np.isfinite(value) else None


def inline_json(data: Any) -> str:
    r"""Returns plain objects as text for the inside of ``<script type="application/json">``.

    Examples
    --------
    >>> inline_json("</script>\u2028")
    '"\\u003c/script\\u003e\\u2028"'
    """
    return json.dumps(data, allow_nan=False, separators=(",", ":")).translate(ESCAPED)


def source(name: str) -> str:
    """Returns a file of the templates with LF line ends, since hashes depend on them and checkouts may change them."""
    loader = templates().loader
    return str(loader.get_source(templates(), name)[0]).replace("\r\n", "\n")


@cache
def templates() -> Any:
    """Returns the templates of this package, in which every text is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("clarysage", "render/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "breakable": _breakable,
        "columns_of_notebooks": _columns_of_notebooks,
        "drawing": drawing_of,
        "narrow_drawing": partial(drawing_of, width=NARROW),
        "is_tall": lambda table: table.most is not None and len(_rows(table)) > table.most,
        "kind": _kind,
        "largest": lambda table: (table.largest(SHOWN), table.left_out(SHOWN)),
        "listing": listing_of,
        "rows": _rows,
        "shortened": shortened,
        "shortened_inside": shortened_inside,
        "table_class": _table_class,
        "visible": visible,
        "words": lambda words: shortened(in_python(words), LONGEST_NOTE),
    }
    return environment


def _breakable(name: str) -> Any:
    """Returns a name as HTML; the lines of a long one may break after underscores."""
    from markupsafe import Markup, escape

    return escape(name).replace("_", Markup("_<wbr>")) if text_width(name) > UNBROKEN else escape(name)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _kind(block: object) -> str:
    """Returns the name of the macro for a block."""
    return type(block).__name__.lower()


def _rows(table: Table) -> list[tuple[int, int]]:
    """Returns the rows of a table, each with the index of its item."""
    if table.of is not None:
        return list(enumerate(table.of))
    if table.items is not None:
        return list(enumerate(table.items.order))
    return [(row, row) for row in range(len(table.columns[0].cells))]


def _table_class(table: Table) -> str:
    """Returns CSS classes: small letters and upright headings for many columns, and short names of others on a line."""
    is_short = bool(table.others) and max(map(text_width, table.others)) <= SHORT
    count = len(table.columns)
    return " ".join(["dense"] * (count > MANY_COLUMNS) + ["crowded"] * (count > TOO_MANY) + ["short"] * is_short)


def _columns_of_notebooks(table: Table) -> list[Column]:
    """Returns the columns that are not empty, without bars, which the picture shows."""
    return [column for column in table.columns if column.kind != "bar" and (column.heading or any(column.cells))]


def _check(result: Result, title: object) -> None:
    from clarysage.results.files import KINDS
    from clarysage.results.result import Result

    if not isinstance(result, Result):
        kinds = ", ".join(kind.result.__name__ for kind in KINDS.values())
        raise InputError("result", got=type(result).__name__, wanted=f"one of {kinds}")
    if title is not None and not isinstance(title, str):
        raise InputError("title", got=f"{title!r}", wanted="a text")
