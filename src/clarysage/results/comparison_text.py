"""A comparison to read: a table as text, and as HTML in notebooks."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np

from clarysage.names import shortened, visible
from clarysage.results.comparison import Comparison
from clarysage.results.explanation import ABOUT, Explanation
from clarysage.results.text import LONGEST, loss_words, number_format

METHODS = {"holm": "Holm", "benjamini hochberg": "Benjamini-Hochberg"}
Cells = tuple[str, ...]


def as_text(comparison: Comparison, level: float = 0.95) -> str:
    """Tables of the differences, the largest first, and what there is to say."""
    lines = []
    for place in range(len(comparison.differences)):
        rows = [headings(comparison, place, level), *cells(comparison, place, level)]
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines.append(headline(comparison, place))
        lines += ["  " + _line(row, wide) for row in rows]
    return "\n".join([*lines, *(f"  {visible(line)}" for line in sentences(comparison))])


def _line(row: Cells, wide: list[int]) -> str:
    """Names, intervals and words at the left of their columns, numbers at the right."""
    name, *numbers, ends, chance, word = row
    inside = [f"{one:>{width}}" for one, width in zip(numbers, wide[1:-3], strict=True)]
    parts = [f"{name:<{wide[0]}}", *inside, f"{ends:<{wide[-3]}}", f"{chance:<{wide[-2]}}", word]
    return "  ".join(parts).rstrip()


def as_html(comparison: Comparison, level: float = 0.95) -> str:
    """The same tables for notebooks; every name is escaped."""
    tables = []
    for place in range(len(comparison.differences)):
        heads = "".join(f"<th>{escape(word)}</th>" for word in headings(comparison, place, level)[:-1])
        body = "".join(
            f"<tr><th scope='row' style='text-align:left;overflow-wrap:anywhere'>{escape(row[0])}</th>"
            + "".join(f"<td style='text-align:right'>{escape(cell)}</td>" for cell in row[1:-1])
            + f"<td style='text-align:left;font-weight:bold'>{escape(row[-1])}</td></tr>"
            for row in cells(comparison, place, level)
        )
        tables.append(
            f"<table><caption style='text-align:left'>{escape(headline(comparison, place))}</caption>"
            f"<thead><tr>{heads}<td></td></tr></thead><tbody>{body}</tbody></table>"
        )
    footer = "".join(f"<li>{escape(line)}</li>" for line in sentences(comparison))
    return f"<div>{''.join(tables)}<ul>{footer}</ul></div>"


def headline(comparison: Comparison, place: int) -> str:
    """What is compared with what."""
    return f"{_plain(comparison.names[place + 1])} less {_plain(comparison.names[0])}: {measured(comparison)}"


def measured(comparison: Comparison) -> str:
    """What values are compared, and their unit."""
    reference = comparison.reference
    values = "SAGE values" if reference.measure == "sage" else f"values by the measure {reference.measure!r}"
    unit = f", in units of {loss_words(reference.loss)}" if reference.base is not None and reference.loss else ""
    return f"{values}{unit}"


def headings(comparison: Comparison, place: int, level: float) -> Cells:
    """The words above the columns."""
    p = f"p ({METHODS[comparison.adjust]})" if comparison.adjust else "p"
    names = (_plain(comparison.names[0]), _plain(comparison.names[place + 1]))
    return "feature", *names, "difference", f"{100 * level:g}% interval", p, ""


def cells(comparison: Comparison, place: int, level: float) -> list[Cells]:
    """The cells of the table, row by row, the largest difference first."""
    found, other = comparison.differences[place].target, comparison.explanations[place + 1]
    show = shared_format(comparison.reference, other)
    low, high = (np.atleast_2d(end)[place] for end in comparison.interval(level))
    chances, flags = (np.atleast_2d(one)[place] for one in (comparison.p_values(), comparison.flags))
    order = np.argsort(-np.abs(found.values), kind="stable")
    return [
        (
            _plain(comparison.feature_names[i]),
            show(comparison.reference.values[i]),
            show(other.values[i]),
            signed(show(found.values[i])),
            f"[{show(low[i])}, {show(high[i])}]",
            chance_words(chances[i]),
            ("rose" if found.values[i] > 0 else "fell") if flags[i] else "",
        )
        for i in order
    ]


def sentences(comparison: Comparison) -> list[str]:
    """What changed, what the tests and intervals mean, how the losses differ, and remarks."""
    return [
        *changes(comparison),
        *rows_words(comparison),
        f"p: how likely a difference so large would be if there were none, {adjustment_words(comparison)}.",
        *_losses(comparison),
        *(
            f"NOT CONVERGED: {_plain(name)}. {one.stopped.value}"
            for name, one in zip(comparison.names, comparison.explanations, strict=True)
            if not one.stopped.is_wanted
        ),
        *map(str, comparison.notes),
    ]


def changes(comparison: Comparison) -> list[str]:
    """Which features are flagged, and how to read that."""
    changed, whole = comparison.changed, len(comparison.feature_names)
    if not changed:
        return [f"No feature is known to contribute more or less than in {_plain(comparison.names[0])}."]
    return [
        f"Changed: {', '.join(map(_plain, changed))} ({len(changed):,} of {whole:,} features). What a feature "
        "contributes can change because of another column that changed."
    ]


def rows_words(comparison: Comparison) -> list[str]:
    """Whether rows are the same, and what intervals are about: a sentence for all explanations it is true of."""
    said: dict[str, list[str]] = {}
    for one, name in zip(comparison.differences, comparison.names[1:], strict=True):
        how = "the same rows, one by one" if one.is_paired else "rows taken as drawn apart"
        meaning = comparison.reference.meaning(one.about) if one.about == "rows" else ABOUT[one.about]
        words = f"{how}. Intervals, each on its own, are about {meaning}."
        said.setdefault(words, []).append(_plain(name))
    return [f"{', '.join(names)} and {_plain(comparison.names[0])}: {words}" for words, names in said.items()]


def adjustment_words(comparison: Comparison) -> str:
    """How p-values are adjusted, and how often a mark is false."""
    chance = f"{100 * (1 - comparison.level):.3g} %"
    if comparison.adjust == "holm":
        return f"so adjusted (Holm) that the chance of any false mark in the table is at most {chance}"
    if comparison.adjust is None:
        return f"each on its own: of features that did not change, about {chance} are marked"
    return f"so adjusted (Benjamini-Hochberg) that about {chance} of the marks are false"


def _losses(comparison: Comparison) -> list[str]:
    """The mean losses with all features, where they are known."""
    known = [
        (_plain(name), one.base - one.total)
        for name, one in zip(comparison.names, comparison.explanations, strict=True)
        if one.base is not None and one.total is not None
    ]
    if len(known) < len(comparison.names) or comparison.reference.values_are == "variance":
        return []
    show = shared_format(*comparison.explanations)
    said = ", ".join(f"{show(loss)} in {name}" for name, loss in known)
    return [f"The mean {loss_words(comparison.reference.loss)} with all features is {said}."]


def shared_format(*explanations: Explanation) -> Callable[[float], str]:
    """As of the explanation with the smaller values, so that no column is all zeros."""
    sizes = [float(np.abs(one.values).max()) for one in explanations]
    chosen = min(range(len(sizes)), key=lambda i: sizes[i] or np.inf)
    return number_format(explanations[chosen])


def chance_words(p: float) -> str:
    """A p-value as it is printed."""
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def signed(number: str) -> str:
    """A number as it is printed, with its sign."""
    is_zero = not any(digit in number for digit in "123456789")
    return number if is_zero or number.startswith("-") else f"+{number}"


def _plain(name: str) -> str:
    return shortened(name, LONGEST)
