"""notebook: a result in the output of a cell, the chart of its page with the table that its text has too.

No script and no ids, since a notebook holds many outputs; text and lines take the colour that the notebook has for
them, so that they can be read on light and on dark. Notebooks that are not trusted leave out styles and pictures, but
not the texts in them: the table comes first, and the style puts the picture above it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarysage.render.changes import changes
from clarysage.render.comparison_chart import VALUES, by_change, comparison_chart
from clarysage.render.drawing import Drawing
from clarysage.render.explanation_chart import by_value, explanation_chart
from clarysage.render.frame import source, templates
from clarysage.render.listing import Listing
from clarysage.render.monitoring_changes import marks_of, monitored_changes
from clarysage.render.readings import readings
from clarysage.render.series_chart import series_chart
from clarysage.results import Comparison, Explanation, Monitoring, comparison_text, monitoring_text, text

LEVEL = 0.95


def notebook(found: Any) -> str:
    """HTML for the output of a cell."""
    draw, table = next(row for kind, row in OUTPUTS.items() if isinstance(found, kind))
    contents = {"style": source("chart.css") + source("notebook.css"), "table": table(found, LEVEL), **draw(found)}
    return str(templates().get_template("notebook.html").render(level=f"{100 * LEVEL:g}", **contents))


def _bars(drawing: Drawing, features: Listing) -> dict[str, Any]:
    return {"bars_drawing": drawing, "drawn": len(features.shown), "features": len(features.names)}


def _of_explanation(explanation: Explanation) -> dict[str, Any]:
    features = by_value(explanation)
    shown = [one for one in readings(explanation, LEVEL) if one.about == explanation.shown]
    return _bars(explanation_chart(explanation, shown, features, features.shown), features)


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


# what is shown -> what makes its picture, and its table
OUTPUTS: dict[type, tuple[Callable[[Any], dict[str, Any]], Callable[[Any, float], str]]] = {
    Explanation: (_of_explanation, text.as_html),
    Comparison: (_of_comparison, comparison_text.as_html),
    Monitoring: (_of_monitoring, monitoring_text.as_html),
}
