"""The page of a comparison: what its template is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from clarysage.errors import InputError
from clarysage.names import columns
from clarysage.render.changes import Change, called, changes
from clarysage.render.comparison_chart import DIFFERENCES, VALUES, Marks, by_change, comparison_chart, drawn
from clarysage.render.comparison_figures import comparison_figures
from clarysage.render.comparison_findings import comparison_findings, headline, tests
from clarysage.render.comparison_remarks import comparison_remarks
from clarysage.render.comparison_table import Place, largest_first, table_data
from clarysage.render.frame import Page
from clarysage.render.listing import Listing
from clarysage.results import Comparison
from clarysage.results.comparison import METHODS, measured, shared_format, signed
from clarysage.results.provenance import shared_facts
from clarysage.results.text import chance_words

VIEWS = {VALUES: "what features contribute", DIFFERENCES: "by how much that differs"}
MOST_ROWS = 60  # of a table that is not scrolled on its own
SHORT = 16  # letters of names of explanations that need not be broken
HEADING_COLUMNS = 18  # letters of the name of an explanation above its column


def comparison_page(comparison: Comparison, *, level: float, about: str | None) -> Page:
    """The page of a comparison; differences are about what they are."""
    refuse(about, comparison)
    found, features = changes(comparison, level), by_change(comparison)
    rows = largest_first(found)
    contents = {
        **_words(comparison, found, features), **pictures(comparison, found, features, level, drawn(found)),
        **table(comparison, found, features, rows, level),
    }  # fmt: skip
    data = table_data(comparison, found, features, rows)
    return Page("comparison.html", _title(called(comparison)), contents, VALUES, {"features": data})


def refuse(about: str | None, found: object) -> None:
    """An error where intervals are asked to be about anything."""
    if about is not None:
        kind = type(found).__name__
        raise InputError("about", got=f"{about!r}", wanted=f"None for a {kind}, which knows what it is about")


def _words(comparison: Comparison, found: Sequence[Change], features: Listing) -> dict[str, Any]:
    """What the template says in sentences and figures."""
    names, show = called(comparison), shared_format(*comparison.explanations)
    return {
        "headline": headline(comparison, found, names[0]),
        "measured": measured(comparison),
        "tests": tests(replace(comparison, names=tuple(names))),
        "figures": comparison_figures(comparison, names, show),
        "findings": comparison_findings(found, names[0], features.told, show),
        "remarks": comparison_remarks(comparison, found, names),
    }


def table(
    comparison: Comparison, found: Sequence[Change], features: Listing, rows: Sequence[Place], level: float
) -> dict[str, Any]:
    """The table of the features, and what was computed how."""
    shared, runs = shared_facts(comparison.explanations, called(comparison))
    return {
        "names": called(comparison), "headings": called(comparison, HEADING_COLUMNS)[:2],
        "features": features, "changes": found, "rows": rows, "signed": signed, "chance": chance_words,
        "number": shared_format(*comparison.explanations), "method": METHODS.get(comparison.adjust or "", ""),
        "level": f"{100 * level:g}", "shared": shared.terms, "differing": runs.terms,
        "most_rows": MOST_ROWS, "is_dense": False, "is_short": max(map(columns, called(comparison)[1:])) <= SHORT,
    }  # fmt: skip


def pictures(
    comparison: Comparison,
    found: Sequence[Change],
    features: Listing,
    level: float,
    several: Sequence[int],
    marks: Marks | None = None,
) -> dict[str, Any]:
    """What the template draws, with bars of several changes."""
    return {
        "views": list(VIEWS.items()),
        "drawings": {
            view: comparison_chart(comparison, found, features, features.order, view, level, marks, several)
            for view in VIEWS
        },
        "left_out": len(found) - len(several),
    }


def _title(names: Sequence[str]) -> str:
    others = names[1] if len(names) == 2 else f"{len(names) - 1} others"
    return f"{names[0]} and {others} compared"
