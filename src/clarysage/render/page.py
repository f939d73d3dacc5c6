"""Pages and notebook outputs of the kinds of results that have templates of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarysage.names import shortened
from clarysage.render.changes import changes
from clarysage.render.comparison_chart import VALUES, by_change, comparison_chart
from clarysage.render.comparison_page import comparison_page
from clarysage.render.drawing import Drawing
from clarysage.render.frame import Page
from clarysage.render.listing import Listing
from clarysage.render.monitoring_changes import marks_of, monitored_changes
from clarysage.render.monitoring_page import monitoring_page
from clarysage.render.pages import LONGEST_TITLE, _hash, inline_json, source, templates
from clarysage.render.series_chart import series_chart
from clarysage.results import Comparison, Monitoring

LEVEL = 0.95
PAGES: dict[type, Callable[..., Page]] = {Comparison: comparison_page, Monitoring: monitoring_page}


def html(found: Any, *, title: str | None = None, about: str | None = None, level: float = 0.95) -> str:
    """A whole HTML page of a comparison or a monitoring."""
    from clarysage import __version__

    page = PAGES[type(found)](found, level=level, about=about)
    script, style = source("script.js"), source("chart.css") + source("style.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    shell = {
        "title": page.title if title is None else shortened(title, LONGEST_TITLE),
        "script": script,
        "style": style,
        "policy": policy,
        "version": __version__,
        "view": page.view,
        "data": inline_json(page.lists),
    }
    return str(templates().get_template(page.template).render(**shell, **page.contents))


def notebook(found: Any) -> str:
    """HTML for the output of a cell."""
    draw, table = OUTPUTS[type(found)]
    contents = {"style": source("chart.css") + source("notebook.css"), "table": table(found, LEVEL), **draw(found)}
    return str(templates().get_template("notebook.html").render(level=f"{100 * LEVEL:g}", **contents))


def _bars(drawing: Drawing, features: Listing) -> dict[str, Any]:
    return {"bars_drawing": drawing, "drawn": len(features.shown), "features": len(features.names)}


def _of_comparison(comparison: Comparison) -> dict[str, Any]:
    features, found = by_change(comparison), changes(comparison, LEVEL)
    return _bars(comparison_chart(comparison, found, features, features.shown, VALUES, LEVEL), features)


def _of_monitoring(monitoring: Monitoring) -> dict[str, Any]:
    """Lines over the slices, or bars where there is one alone."""
    whole = len(monitoring.feature_names)
    if len(monitoring.names) > 1:
        lines = series_chart(monitoring, LEVEL)
        return {"lines_drawing": lines, "drawn": len(lines.legend), "features": whole}
    features, found = by_change(monitoring.comparison), monitored_changes(monitoring, LEVEL)
    marks = marks_of(found)
    return _bars(
        comparison_chart(monitoring.comparison, found, features, features.shown, VALUES, LEVEL, marks), features
    )


def _tables(found: Any, level: float) -> str:
    """The tables and notes of a summary, without a picture."""
    return str(templates().get_template("output.html").render(summary=found.summary(level), drawing=None))


# what is shown -> what makes its picture, and its table
OUTPUTS: dict[type, tuple[Callable[[Any], dict[str, Any]], Callable[[Any, float], str]]] = {
    Comparison: (_of_comparison, _tables),
    Monitoring: (_of_monitoring, _tables),
}
