"""The page of an explanation: what the templates are given, and the text that they make."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.explanation import Explanation
from clarysage.explanation.text import number_format, whole_words
from clarysage.report.chart import HEAD, ROW, WIDTH, Chart, chart
from clarysage.report.facts import facts, figures, sampling
from clarysage.report.findings import findings, top_words
from clarysage.report.inline_json import inline_json
from clarysage.report.names import columns, shortened, visible
from clarysage.report.pixel_map import pixel_map
from clarysage.report.readings import GAIN_WORDS, SIGN_WORDS, Reading, is_gain, readings
from clarysage.report.remarks import remarks
from clarysage.report.trace_chart import trace_chart

FEW, CHOICES_OF_MANY = 30, (10, 20, 50, 100, 200)  # features shown at once, and how many of more may be
SHOWN = 20
LABEL_COLUMNS, TOLD_COLUMNS, NAME_COLUMNS = 29, 48, 100  # letters of a name in the chart, a sentence, and the table
LONGEST_TITLE = 200


def html(explanation: Explanation, *, title: str | None = None, about: str | None = None, level: float = 0.95) -> str:
    """A whole HTML page, which needs no other file and no network.

    It holds aggregates alone: values of features, never of single examples.

    Parameters
    ----------
    explanation : what to tell of
    title : above the page; default: the measure and the model
    about : what intervals are about when the page is opened, as in :meth:`clarysage.Explanation.interval`; a switch on
        the page shows the others that are known
    level : of the intervals

    Examples
    --------
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> page = html(cs.sage(lambda X: X[:, 0], X, X[:, 0], rng=0), title="Sales & more")
    >>> "<title>Sales &amp; more</title>" in page
    True
    """
    if not isinstance(explanation, Explanation):
        raise InputError("explanation", got=type(explanation).__name__, wanted="an Explanation")
    if title is not None and not isinstance(title, str):
        raise InputError("title", got=f"{title!r}", wanted="a text")
    explanation.target(about)  # an error where nothing is known about it
    found = readings(explanation, level)
    shown = next(one for one in found if one.about == (about or explanation.shown))
    return _rendered("explanation.html", _contents(explanation, found, shown, level), _title(explanation, title))


def _contents(explanation: Explanation, found: list[Reading], shown: Reading, level: float) -> dict[str, Any]:
    """Everything that the template of an explanation names."""
    order = np.argsort(-explanation.values, kind="stable").tolist()
    visible_rows = _first(explanation.values)
    names = explanation.feature_names
    labels = [shortened(name, LABEL_COLUMNS) for name in names]
    return {
        "headline": explanation.headline or explanation.measure,
        "whole": whole_words(explanation),
        "figures": figures(explanation),
        "findings": {one.about: findings(explanation, one) for one in found},
        "top_words": top_words(explanation),
        "readings": found,
        "shown": shown,
        "known_words": GAIN_WORDS if is_gain(explanation) else SIGN_WORDS,
        "order": order,
        "names": [visible(name) for name in names],
        "told": [shortened(name, TOLD_COLUMNS) for name in names],
        "folded": [shortened(name, NAME_COLUMNS) for name in names],
        "labels": labels,
        "values": explanation.values,
        "number": number_format(explanation),
        "level": f"{100 * level:g}",
        "chart": chart(explanation.values, found, order, max(map(columns, labels))),
        "size": {"width": WIDTH, "row": ROW, "head": HEAD, "height": Chart.height(len(visible_rows))},
        "visible_rows": visible_rows,
        "choices": [k for k in CHOICES_OF_MANY if k < len(names)] if len(names) > FEW else [],
        "first": SHOWN,
        "map": pixel_map(explanation.values, names),
        "remarks": remarks(explanation, shown),
        "facts": facts(explanation),
        "sampling": sampling(explanation),
        "trace": trace_chart(explanation),
        "data": inline_json(_data(explanation, found, order)),
    }


def _first(values: np.ndarray) -> set[int]:
    """Places of the features that the chart shows before anything is asked for."""
    if len(values) <= FEW:
        return set(range(len(values)))
    return {int(i) for i in np.argsort(-np.abs(values), kind="stable")[:SHOWN]}


def _data(explanation: Explanation, found: list[Reading], order: list[int]) -> dict[str, Any]:
    """What the page sorts and searches by, in the order of its rows."""
    return {
        "names": [explanation.feature_names[i] for i in order],
        "values": _numbers(explanation.values[order]),
        "about": {
            one.about: {
                "low": _numbers(one.low[order]),
                "high": _numbers(one.high[order]),
                "std_error": _numbers(one.std_error[order]),
                "known": [one.known[i] for i in order],
            }
            for one in found
        },
    }


def _numbers(values: np.ndarray) -> list[float | None]:
    return [float(f"{value:.7g}") if np.isfinite(value) else None for value in values]


def _title(explanation: Explanation, given: str | None) -> str:
    if given is not None:
        return shortened(given, LONGEST_TITLE)
    told = explanation.provenance
    model = next((str(told[key]) for key in ("model", "learner") if told.get(key)), None)
    measure = (explanation.headline or explanation.measure).partition(":")[0]
    return shortened(measure if model is None else f"{measure} of {model}", LONGEST_TITLE)


def _rendered(template: str, contents: dict[str, Any], title: str) -> str:
    """A template of this room, filled in; scripts and styles are let in by their hashes, and nothing else is."""
    from clarysage import __version__

    script, style = _source("script.js"), _source("style.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    shell = {"title": title, "script": script, "style": style, "policy": policy, "version": __version__}
    return str(_templates().get_template(template).render(**shell, **contents))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _source(name: str) -> str:
    templates = _templates()
    return str(templates.loader.get_source(templates, name)[0])


@cache
def _templates() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("clarysage", "report/templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
