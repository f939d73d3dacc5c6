"""The page of an explanation: what its template is given."""

from __future__ import annotations

from typing import Any

from clarysage.names import shortened
from clarysage.render.explanation_chart import by_value, explanation_chart
from clarysage.render.facts import facts, figures, sampling
from clarysage.render.findings import Words, findings, top_words, words_of
from clarysage.render.frame import LONGEST_TITLE, Page
from clarysage.render.listing import Listing, list_data, numbers
from clarysage.render.pixel_map import pixel_map
from clarysage.render.readings import Reading, readings
from clarysage.render.remarks import remarks
from clarysage.render.trace_chart import trace_chart
from clarysage.results import Explanation
from clarysage.results.text import number_format, whole_words


def explanation_page(explanation: Explanation, *, level: float, about: str | None, words: Words | None = None) -> Page:
    """The page of an explanation, with intervals about one thing when it is opened, in words that suit its values."""
    explanation.target(about)  # an error where nothing is known about it
    found = readings(explanation, level)
    shown = next(one for one in found if one.about == (about or explanation.shown))
    features = by_value(explanation)
    contents = {
        **_words(explanation, found, shown, features, words or words_of(explanation)),
        "readings": found,
        "features": features,
        "values": explanation.values,
        "number": number_format(explanation),
        "level": f"{100 * level:g}",
        "drawing": explanation_chart(explanation, found, features, features.order),
        "map": pixel_map(explanation.values, explanation.feature_names),
        "trace": trace_chart(explanation),
    }
    data = {"features": _data(explanation, found, features)}
    return Page("explanation.html", _title(explanation), contents, shown.about, data)


def _words(
    explanation: Explanation, found: list[Reading], shown: Reading, features: Listing, words: Words
) -> dict[str, Any]:
    """What the template says in sentences and figures."""
    return {
        "noun": words.noun,
        "known_words": words.known,
        "headline": explanation.headline or explanation.measure,
        "whole": whole_words(explanation),
        "figures": figures(explanation),
        "findings": {one.about: findings(explanation, one, features.told, words) for one in found},
        "top_words": top_words(explanation, noun=words.noun),
        "remarks": remarks(explanation, shown),
        "facts": facts(explanation),
        "sampling": sampling(explanation),
    }


def _data(explanation: Explanation, found: list[Reading], features: Listing) -> dict[str, Any]:
    """What the page sorts and searches by, in the order of its rows."""
    order = list(features.order)
    views = {
        one.about: {
            "low": numbers(one.low[order]),
            "std_error": numbers(one.std_error[order]),
            "known": [one.known[i] for i in order],
        }
        for one in found
    }
    columns = {"value": numbers(explanation.values[order])}
    return list_data(explanation.feature_names, features, columns=columns, views=views, places=order)


def _title(explanation: Explanation) -> str:
    told = explanation.provenance
    model = next((str(told[key]) for key in ("model", "learner") if told.get(key)), None)
    measure = (explanation.headline or explanation.measure).partition(":")[0]
    return shortened(measure if model is None else f"{measure} of {model}", LONGEST_TITLE)
