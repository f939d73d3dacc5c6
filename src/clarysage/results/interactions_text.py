"""Interactions to read: a table as text, and as HTML in notebooks."""

from __future__ import annotations

from html import escape

from clarysage.names import shortened, visible
from clarysage.results.interactions import Interactions
from clarysage.results.text import LONGEST, about_words, number_format

LITTLE = 0.05  # of the variance of v, which nobody need mind


def as_text(interactions: Interactions, level: float = 0.95) -> str:
    """A table of the pairs, the strongest first, and what there is to say."""
    rows = [_headings(level), *cells(interactions, level)]
    name, value, ends, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = [f"  {a:<{name}}  {b:>{value}}  {c:<{ends}}  {d}".rstrip() for a, b, c, d in rows]
    return "\n".join([interactions.found.headline, *lines, *(f"  {visible(line)}" for line in sentences(interactions))])


def as_html(interactions: Interactions, level: float = 0.95) -> str:
    """The same table for notebooks; every name is escaped."""
    heads = "".join(f"<th>{escape(word)}</th>" for word in _headings(level))
    rows = "".join(
        f"<tr><th scope='row' style='text-align:left'>{escape(name)}</th><td style='text-align:right'>{value}</td>"
        f"<td>{ends}</td><td style='text-align:left'>{meaning}</td></tr>"
        for name, value, ends, meaning in cells(interactions, level)
    )
    footer = "".join(f"<li>{escape(line)}</li>" for line in sentences(interactions))
    return (
        f"<div><table><caption style='text-align:left'>{escape(interactions.found.headline)}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table><ul>{footer}</ul></div>"
    )


def cells(interactions: Interactions, level: float) -> list[tuple[str, str, str, str]]:
    """The cells of the table, row by row, the strongest pair first."""
    show = number_format(interactions.found)
    names = [shortened(name, LONGEST) for name in interactions.found.feature_names]
    low, high = interactions.interval(level)
    meanings = interactions.meanings(level)
    return [(names[i], show(interactions.values[i]), f"[{show(low[i])}, {show(high[i])}]", meanings[i])
            for i in interactions.order]  # fmt: skip


def sentences(interactions: Interactions) -> list[str]:
    """What the SAGE values leave out, what intervals are about, what it cost, and remarks."""
    found = interactions.found
    cost = f"{found.stopped.value} {found.model_rows:,} model rows, method {found.method!r}."
    return [left_out(interactions), about_words(found, found.shown), cost, *found.notes]


def left_out(interactions: Interactions) -> str:
    """How well SAGE values alone tell what subsets of features are worth."""
    share, error = interactions.unexplained, interactions.unexplained_error
    if share is None or error is None:
        return "How much of v the SAGE values leave unexplained is not known."
    much = f"{100 * max(share, 0.0):.1f} %" + (f" (± {100 * error:.1f} %)" if error > 0 else "")
    said = f"SAGE values leave {much} of the variance of v over subsets unexplained"
    if share - 2 * error > LITTLE:
        return f"{said}: what a subset is worth hangs on which features are in it together."
    return f"{said}{': they tell what subsets are worth.' if share + 2 * error <= LITTLE else '.'}"


def _headings(level: float) -> tuple[str, str, str, str]:
    return "features", "value", f"{100 * level:g}% interval", ""
