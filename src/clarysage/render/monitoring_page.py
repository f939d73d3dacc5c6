"""The page of a model that is watched: what its template is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clarysage.names import isolated, shortened, visible
from clarysage.render.changes import Change, called
from clarysage.render.comparison_chart import VALUES, by_change
from clarysage.render.comparison_page import pictures, refuse, table
from clarysage.render.comparison_remarks import comparison_remarks
from clarysage.render.comparison_table import Place, table_data
from clarysage.render.frame import Page
from clarysage.render.listing import Listing, list_data, listing, numbers
from clarysage.render.monitoring_changes import SEVERITY, kept_rows, marks_of, monitored_changes, with_bars
from clarysage.render.monitoring_inputs import HINT_COLUMNS, inputs_data, inputs_of
from clarysage.render.monitoring_words import error_rates, meanings, monitoring_figures, said_of_features, title_of
from clarysage.render.remarks import from_note, warnings_first
from clarysage.render.series_chart import series_chart
from clarysage.results import Monitoring
from clarysage.results.comparison import measured, shared_format
from clarysage.results.finding import hint
from clarysage.results.monitoring import alarm

MOST_ROWS = 20  # of a table that is not scrolled on its own


def monitoring_page(monitoring: Monitoring, *, level: float, about: str | None) -> Page:
    """The page of a model that is watched; differences are about what they are."""
    refuse(about, monitoring)
    comparison = monitoring.comparison
    found, features = monitored_changes(monitoring, level), by_change(comparison)
    rows, (columns, inputs) = kept_rows(found), inputs_of(monitoring)
    slices = _slices(monitoring)
    contents = {
        **table(comparison, found, features, rows, level),
        **pictures(comparison, found, features, level, with_bars(found), marks_of(found)),
        **_words(monitoring, found),
        "findings": [monitoring.findings(where) for where in monitoring.names],
        "hint": lambda finding: isolated(shortened(hint(finding), HINT_COLUMNS)),
        "is_dense": True, "most_rows": MOST_ROWS, "columns": columns, "inputs": inputs, "slices": slices,
        "slice_cells": _slice_cells(monitoring), "series_drawing": series_chart(monitoring, level) if slices else None,
        "every_input": sum(map(len, monitoring.shifts)),
    }  # fmt: skip
    lists = {
        "features": _features_data(monitoring, found, features, rows),
        "inputs": inputs_data(monitoring, columns, inputs),
    }
    if slices:
        lists["slices"] = _slices_data(monitoring, slices)
    return Page("monitoring.html", title_of(monitoring), contents, VALUES, lists)


def _words(monitoring: Monitoring, found: Sequence[Change]) -> dict[str, Any]:
    """What the template says in sentences and figures."""
    comparison = monitoring.comparison
    return {
        "headline": visible(alarm(monitoring)),
        "is_flagged": monitoring.is_flagged,
        "measured": measured(comparison),
        "figures": monitoring_figures(monitoring, shared_format(*comparison.explanations)),
        "said": said_of_features(monitoring),
        "meanings": meanings(monitoring),
        "error_rates": error_rates(monitoring),
        "remarks": warnings_first(
            [*map(from_note, monitoring.notes), *comparison_remarks(comparison, found, called(comparison))]
        ),
    }


def _features_data(
    monitoring: Monitoring, found: Sequence[Change], features: Listing, rows: Sequence[Place]
) -> dict[str, Any]:
    """What the table of the features is sorted by: verdicts by how severe they are, and inputs."""
    data = table_data(monitoring.comparison, found, features, rows)
    findings = [monitoring.findings(where) for where in monitoring.names]
    data["columns"] |= {
        "known": [SEVERITY.index(findings[k][i].verdict) for k, i in rows],
        "distance": numbers(np.array([findings[k][i].shift.distance for k, i in rows])),
        "inputs_p": numbers(np.array([findings[k][i].inputs_p_value for k, i in rows])),
    }
    return data


def _slices(monitoring: Monitoring) -> Listing | None:
    """The reference and the slices in their order; None where there is one alone."""
    names = monitoring.comparison.names
    return listing(names, range(len(names)), -np.arange(len(names))) if len(names) > 2 else None


def _slice_cells(monitoring: Monitoring) -> list[list[str]]:
    """Headings, and what is told of the reference and each slice beside its name."""
    if len(monitoring.names) == 1:
        return []
    columns = monitoring.summary().tables[0].columns[1:]
    rows = [[column.heading for column in columns], *zip(*(column.cells for column in columns), strict=True)]
    return [[visible(str(cell)) for cell in row] for row in rows]


def _slices_data(monitoring: Monitoring, slices: Listing) -> dict[str, Any]:
    found = [[], *(monitoring.findings(where) for where in monitoring.names)]
    columns: dict[str, Any] = {
        "place": list(range(len(found))),
        "rows": list(monitoring.rows),
        "flagged": [sum(one.is_flagged for one in row) for row in found],
        "inputs shifted alone": [sum(one.is_shifted and not one.is_changed for one in row) for row in found],
    }
    if monitoring.losses is not None:
        columns["mean loss"] = numbers(monitoring.losses)
    return list_data(monitoring.comparison.names, slices, columns=columns)
