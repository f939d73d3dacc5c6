"""Importances to read: features by measures, and what the measures are, as text and as HTML in notebooks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from clarysage.names import shortened, visible
from clarysage.results.explanation import Explanation
from clarysage.results.importances import Importances
from clarysage.results.notes import parted
from clarysage.results.text import LONGEST, loss_words, number_format

WIDTH = 110
GAP = "   "  # between measures
STAR = "*"  # behind the names of heuristics
MARKS = {"yes": "+", "partly": "~", "no": "-"}
POWERS = ("v", "v_f")  # which are differences of the loss
LEGEND = "Value, share of the sum of absolute values, (rank). Scales differ from measure to measure."
HEADINGS = ("measure", "of", "close to it for", "phi_0", "cost")


@dataclass(frozen=True)
class Column:
    """A measure as a column of the table: its name in lines, and a value, share and rank for each feature."""

    title: tuple[str, ...]
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        return max(map(len, (*self.title, *self.cells)))


def as_text(found: Importances) -> str:
    """Values, shares and ranks of all measures, in blocks no wider than a page; then a table of the measures."""
    names = [shortened(name, LONGEST) for name in found.order]
    wide = max(map(len, [*names, "feature"]))
    lines = [headline(found), f"  {LEGEND}"]
    for block in _blocks(columns(found), WIDTH - 2 - wide):
        lines += ["", *_block(block, names, wide)]
    rows = [standing_heads(found), *standings(found)]
    said = [
        line
        for sentence in sentences(found)
        for line in textwrap.wrap(visible(sentence), WIDTH, initial_indent="  ", subsequent_indent="    ")
    ]
    return "\n".join([*lines, "", *(f"  {line}" for line in aligned(rows)), "", *said])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table, its cells at the left of columns as wide as the widest.

    Examples
    --------
    >>> aligned([("one", "two"), ("three", "four")])
    ['one    two', 'three  four']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True)).rstrip() for row in rows]


def as_html(found: Importances) -> str:
    """The same tables for notebooks; every name is escaped."""
    shown = columns(found)
    heads = "".join(f"<th>{escape(measure_title(found, name))}</th>" for name in found)
    body = "".join(
        f"<tr><th scope='row' style='text-align:left'>{escape(name)}</th>"
        + "".join(f"<td style='text-align:right;white-space:pre'>{escape(column.cells[i])}</td>" for column in shown)
        + "</tr>"
        for i, name in enumerate(found.order)
    )
    words = "".join(f"<th>{escape(word)}</th>" for word in standing_heads(found))
    kinds = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in standings(found)
    )
    footer = "".join(f"<li>{escape(line)}</li>" for line in sentences(found))
    return (
        f"<div><table><caption style='text-align:left'>{escape(headline(found))}. {escape(LEGEND)}</caption>"
        f"<thead><tr><th>feature</th>{heads}</tr></thead><tbody>{body}</tbody></table>"
        f"<table><thead><tr>{words}</tr></thead><tbody>{kinds}</tbody></table><ul>{footer}</ul></div>"
    )


def headline(found: Importances) -> str:
    """What was computed of what."""
    features, measures = len(found.feature_names), len(found)
    saving = [one for name, one in found.items() if found.traits[name].approximates in POWERS and one.base is not None]
    losses = sorted({loss_words(one.loss) for one in saving})
    under = f", loss: {', '.join(losses)}" if losses else ""
    return f"{features} feature{'s' * (features > 1)} by {measures} measure{'s' * (measures > 1)}{under}"


def columns(found: Importances) -> list[Column]:
    """The measures as columns, features in the order of importance."""
    order = found.order
    values, shares, ranks = (frame.loc[order] for frame in (found.to_frame(), found.shares(), found.ranks()))
    shown = []
    for name, explanation in found.items():
        show = _counts if _are_counts(explanation) else number_format(explanation)
        parts = [
            [show(value) for value in values[name]],
            [f"{share:.0%}".replace("-0%", "0%") for share in shares[name]],
            [f"({rank})" for rank in ranks[name]],
        ]
        wide = [max(map(len, part)) for part in parts]
        cells = tuple(
            "  ".join(f"{one:>{w}}" for one, w in zip(row, wide, strict=True)) for row in zip(*parts, strict=True)
        )
        title = textwrap.wrap(measure_title(found, name), max(len(cells[0]), 12)) or [""]
        shown.append(Column(tuple(title), cells))
    return shown


def standing_heads(found: Importances) -> tuple[str, ...]:
    """The words above the columns of what each measure is."""
    return (*HEADINGS[:4], _letters(found), HEADINGS[4])


def standings(found: Importances) -> list[tuple[str, ...]]:
    """What each measure is, its constant and its cost: a row each."""
    return [
        (
            measure_title(found, name),
            found.traits[name].approximates or "-",
            found.traits[name].subdomain or "-",
            "-" if one.constant is None else number_format(one)(one.constant) if one.constant else "0",
            " ".join(MARKS[found.traits[name].properties.get(word, "no")] for word in _properties(found)),
            cost(one),
        )
        for name, one in found.items()
    ]


def cost(explanation: Explanation) -> str:
    """What a measure has cost, and whether it had to stop before its end.

    Refits are counted in fits: rows that learners predicted matter little beside them.
    """
    if explanation.fits:
        spent = f"{explanation.fits:,} fit{'s' * (explanation.fits > 1)}"
    else:
        spent = f"{explanation.model_rows:,} model rows" if explanation.model_rows else "-"
    return spent if explanation.stopped.is_wanted else f"{spent}, not converged"


def sentences(found: Importances) -> list[str]:
    """What the signs mean, what did not converge, what measures warn of, and what was left out."""
    said = property_words(found)
    if any(traits.is_heuristic for traits in found.traits.values()):
        said.append("*: a heuristic outside the framework, whose values add up to nothing that a model gains or loses.")
    for name in found.unfinished:
        said.append(f"Not converged: {name}. {found[name].stopped.value}")
    warnings = _by_text((name, note) for name, one in found.items() for note in one.notes if parted(note)[1])
    said += [f"Mind, of {', '.join(names)}: {note}" for note, names in warnings.items()]
    left_out = _by_text(found.left_out.items())
    return [*said, *(f"Left out: {', '.join(names)}. {why}" for why, names in left_out.items())]


def property_words(found: Importances) -> list[str]:
    """What the letters and signs of the table of measures mean."""
    letters = ", ".join(f"{word[:1].upper()} {word}" for word in _properties(found))
    return [f"{letters}: + yes, ~ partly, - no (Table 1)."] if letters else []


def _by_text(told: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names by what is told of them, so that each text comes once."""
    names: dict[str, list[str]] = {}
    for name, text in told:
        names.setdefault(text, []).append(name)
    return names


def _are_counts(explanation: Explanation) -> bool:
    """Whether values are whole numbers, as those of splits."""
    return bool((explanation.values == np.round(explanation.values)).all())


def _counts(number: float) -> str:
    return f"{number:,.0f}"


def measure_title(found: Importances, name: str) -> str:
    """The name of a measure, with a star behind that of a heuristic."""
    return visible(name) + (STAR if found.traits[name].is_heuristic else "")


def _properties(found: Importances) -> list[str]:
    """The columns of Table 1, in their order."""
    return list(dict.fromkeys(word for traits in found.traits.values() for word in traits.properties))


def _letters(found: Importances) -> str:
    return " ".join(word[:1].upper() for word in _properties(found))


def _blocks(shown: Sequence[Column], room: int) -> list[Sequence[Column]]:
    """Columns that fit beside one another, in as few blocks as that takes, all about as wide; at least one a block."""
    for count in range(1, len(shown) + 1):
        each = -(-len(shown) // count)
        blocks = [shown[start : start + each] for start in range(0, len(shown), each)]
        if all(sum(column.width + len(GAP) for column in block) <= room for block in blocks):
            break
    return blocks


def _block(block: Sequence[Column], names: Sequence[str], wide: int) -> list[str]:
    """Lines of a block: titles that end above the cells, then the features."""
    height = max(len(column.title) for column in block)
    titles = [("",) * (height - len(column.title)) + column.title for column in block]
    lines = []
    for i in range(height):
        first = "feature" if i == height - 1 else ""
        cells = GAP.join(f"{title[i]:>{column.width}}" for title, column in zip(titles, block, strict=True))
        lines.append(f"  {first:<{wide}}{GAP}{cells}".rstrip())
    for i, name in enumerate(names):
        cells = GAP.join(f"{column.cells[i]:>{column.width}}" for column in block)
        lines.append(f"  {name:<{wide}}{GAP}{cells}".rstrip())
    return lines
