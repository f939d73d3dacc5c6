"""html: the page of a result, by its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarysage.errors import InputError
from clarysage.render.comparison_page import comparison_page
from clarysage.render.explanation_page import explanation_page
from clarysage.render.frame import Page, framed
from clarysage.render.importances_page import importances_page
from clarysage.render.interactions_page import interactions_page
from clarysage.render.monitoring_page import monitoring_page
from clarysage.results import Comparison, Explanation, Importances, Interactions, Monitoring

# what is told of -> what makes its page of (found, level=, about=)
PAGES: dict[type, Callable[..., Page]] = {
    Explanation: explanation_page,
    Comparison: comparison_page,
    Monitoring: monitoring_page,
    Importances: importances_page,
    Interactions: interactions_page,
}


def html(found: Any, *, title: str | None = None, about: str | None = None, level: float = 0.95) -> str:
    """A whole HTML page, which needs no other file and no network.

    It holds aggregates alone: values of features, never of single examples.

    Parameters
    ----------
    found : what to tell of: an Explanation, a Comparison, a Monitoring, Importances or Interactions
    title : above the page; default: what was found, and of which model
    about : what intervals of an Explanation or Interactions are about when the page is opened, as in
        :meth:`clarysage.Explanation.interval`; a switch on the page shows the others that are known
    level : of the intervals

    Examples
    --------
    >>> import clarysage as cs
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> page = html(cs.sage(lambda X: X[:, 0], X, X[:, 0], rng=0), title="Sales & more")
    >>> "<title>Sales &amp; more</title>" in page
    True
    """
    build = next((build for kind, build in PAGES.items() if isinstance(found, kind)), None)
    if build is None:
        kinds = ", ".join(kind.__name__ for kind in PAGES)
        raise InputError("found", got=type(found).__name__, wanted=f"one of {kinds}")
    if title is not None and not isinstance(title, str):
        raise InputError("title", got=f"{title!r}", wanted="a text")
    return framed(build(found, level=level, about=about), title)
