"""Monitoring to read: findings in words, a table as text, as a frame, and as HTML in notebooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from clarysage.names import visible
from clarysage.results.comparison_text import (
    METHODS,
    adjustment_words,
    chance_words,
    rows_words,
    shared_format,
    signed,
)
from clarysage.results.finding_words import called, hint, listed, said_of
from clarysage.results.monitoring import BOTH, FLAGGED, FOLLOWS, INPUTS, UNCHANGED, Finding, Monitoring
from clarysage.results.text import loss_words

SLICES_NAMED = 3
REMARKS = 3  # of the comparison that are shown
DIGITS = tuple("0123456789+-<")


def as_text(monitoring: Monitoring, level: float = 0.95) -> str:
    """Findings first, then the numbers, then what they mean."""
    rows = cells(monitoring, level)
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    is_number = [all(cell[:1] in DIGITS for cell in column[1:]) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            f"{cell:>{width}}" if right else f"{cell:<{width}}"
            for cell, width, right in zip(row, wide, is_number, strict=True)
        ).rstrip()
        for row in rows
    ]
    said = ["", *lines, ""]
    body = [*map(visible, sentences(monitoring)), *said, *map(visible, remarks(monitoring))]
    return "\n".join([visible(headline(monitoring)), *(f"  {line}".rstrip() for line in body)])


def as_html(monitoring: Monitoring, level: float = 0.95) -> str:
    """The same for notebooks; every name is escaped."""
    heads, *rows = cells(monitoring, level)
    head = "".join(f"<th>{escape(word)}</th>" if word else "<td></td>" for word in heads)
    body = "".join(
        f"<tr><th scope='row' style='text-align:left'>{escape(first)}</th>"
        + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    found, notes = (
        "".join(f"<li>{escape(line)}</li>" for line in lines) for lines in (sentences(monitoring), remarks(monitoring))
    )
    return (
        f"<div><p><b>{escape(headline(monitoring))}</b></p><ul>{found}</ul><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table><ul>{notes}</ul></div>"
    )


def as_frame(monitoring: Monitoring, level: float = 0.95) -> Any:
    """Findings as a pandas DataFrame."""
    import pandas as pd

    low, high = (np.atleast_2d(end).ravel() for end in monitoring.comparison.interval(level))
    rows = [
        {
            "where": one.where, "feature": one.feature, "reference": one.before, "current": one.after,
            "difference": one.difference, "low": low[i], "high": high[i], "p_adjusted": one.p_value,
            "share_of_loss_change": np.nan if one.share is None else one.share, "inputs_distance": one.shift.distance,
            "inputs_p_adjusted": one.inputs_p_value, "inputs": hint(one) if one.shift.hints else "",
            "verdict": one.verdict, "flagged": one.is_flagged,
        }
        for i, one in enumerate(every(monitoring))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def every(monitoring: Monitoring) -> list[Finding]:
    """Findings of all explanations, one after the other."""
    return [one for name in monitoring.names for one in monitoring.findings(name)]


def headline(monitoring: Monitoring) -> str:
    """What is compared with what."""
    comparison, (first, *rest) = monitoring.comparison, monitoring.rows
    model = comparison.reference.provenance.get("model", "the model")
    where = monitoring.names[0] if len(rest) == 1 else f"{len(rest)} slices"
    unit = "" if monitoring.losses is None else f", in units of {loss_words(comparison.reference.loss)}"
    return f"{model}: {where} ({sum(rest):,} rows) against {comparison.names[0]} ({first:,} rows){unit}"


def sentences(monitoring: Monitoring) -> list[str]:
    """What was found: the flagged features, what goes along with them, and inputs that shifted alone."""
    return [alarm(monitoring), *(said for _, said in told(monitoring))]


def told(monitoring: Monitoring) -> list[tuple[Finding, str]]:
    """A sentence on each feature of which something is known, with the finding that its numbers are of."""
    groups = [at for verdicts in (FLAGGED, (FOLLOWS,), (INPUTS,)) for at in _by_feature(monitoring, verdicts)]
    return [(at[0], _sentence(monitoring, at)) for at in groups]


def alarm(monitoring: Monitoring) -> str:
    """Which features are flagged, or that none is."""
    flagged, shifted, left_out = monitoring.flagged, monitoring.shifted, list(monitoring.left_out)
    unknown = f" Not explained: {listed(left_out)}." if left_out else ""
    if flagged:
        return f"FLAGGED: {listed(flagged)}.{unknown}"
    noun = "effect" if monitoring.losses is None else "contribution"
    others = f"Inputs shifted: {listed(shifted)}." if shifted else "Nor is any column known to have shifted."
    return f"Nothing is flagged: no {noun} is known to have changed. {others}{unknown}"


def _by_feature(monitoring: Monitoring, verdicts: tuple[str, ...]) -> list[list[Finding]]:
    """Findings with such verdicts, feature by feature, the largest change first."""
    groups: dict[str, list[Finding]] = {}
    for one in every(monitoring):
        if one.verdict in verdicts:
            groups.setdefault(one.feature, []).append(one)
    size: Callable[[Finding], float] = (
        (lambda one: one.shift.distance) if INPUTS in verdicts else (lambda one: abs(one.difference))
    )
    chosen = [sorted(found, key=size, reverse=True) for found in groups.values()]
    return sorted(chosen, key=lambda found: -size(found[0]))


def _sentence(monitoring: Monitoring, found: list[Finding]) -> str:
    """Of a feature: the slice where the change is largest, and which others there are."""
    worst, names = found[0], monitoring.names
    beside = [one for one in monitoring.findings(worst.where) if one.feature != worst.feature]
    causes = [one.feature for one in beside if one.verdict == (BOTH if worst.verdict == FOLLOWS else INPUTS)]
    losses = monitoring.losses
    pair = None if losses is None else (float(losses[0]), float(losses[1 + names.index(worst.where)]))
    said = said_of(worst, causes, pair)
    return said if len(names) == 1 else f"{said} {_seen(names, [one.where for one in found], monitoring.is_in_order)}"


def _seen(names: Sequence[str], where: list[str], is_in_order: bool) -> str:
    """In which of the slices; the first of ``where`` is the one that numbers are of.

    Examples
    --------
    >>> _seen(["may", "june", "july"], ["july", "june"], is_in_order=True)
    'Seen from june on, in 2 of 3 slices; the numbers are of july, where it is largest.'
    >>> _seen(["east", "north", "south"], ["south", "north"], is_in_order=False)
    'Seen in 2 of 3 slices (north, south); the numbers are of south, where it is largest.'
    """
    worst, places = called(where[0]), sorted(names.index(one) for one in where)
    if len(places) == 1:
        return f"Seen in {worst} alone, of {len(names)} slices."
    if len(places) == len(names):
        which = f"in all {len(names)} slices"
    elif is_in_order and places == list(range(places[0], len(names))):
        which = f"from {called(names[places[0]])} on, in {len(places)} of {len(names)} slices"
    else:
        which = ", ".join(called(names[i]) for i in places[:SLICES_NAMED])
        more = f" and {len(places) - SLICES_NAMED} more" if len(places) > SLICES_NAMED else ""
        which = f"in {len(places)} of {len(names)} slices ({which}{more})"
    return f"Seen {which}; the numbers are of {worst}, where it is largest."


def cells(monitoring: Monitoring, level: float = 0.95) -> list[tuple[str, ...]]:
    """The table with its headings: features of one explanation, or slices where there are several."""
    return _features(monitoring, level) if len(monitoring.names) == 1 else _slices(monitoring)


def _features(monitoring: Monitoring, level: float) -> list[tuple[str, ...]]:
    comparison = monitoring.comparison
    show, p = shared_format(*comparison.explanations), f" ({METHODS[comparison.adjust]})" if comparison.adjust else ""
    rows: list[tuple[str, ...]] = [(
        "feature", *map(called, comparison.names), "difference", f"{100 * level:g}% interval", f"p{p}",
        "inputs", "p of inputs", "",
    )]  # fmt: skip
    low, high = comparison.interval(level)
    found = monitoring.findings()
    for i in comparison.order:
        one = found[i]
        rows.append((
            called(one.feature), show(one.before), show(one.after), signed(show(one.difference)),
            f"[{show(low[i])}, {show(high[i])}]", chance_words(one.p_value), f"{one.shift.distance:.2f}",
            chance_words(one.inputs_p_value), "" if one.verdict == UNCHANGED else one.verdict,
        ))  # fmt: skip
    return rows


def _slices(monitoring: Monitoring) -> list[tuple[str, ...]]:
    show, losses = shared_format(*monitoring.comparison.explanations), monitoring.losses
    has_losses = losses is not None
    rows = [("slice", "rows", *["mean loss"] * has_losses, "flagged", "inputs shifted alone")]
    for i, (name, count) in enumerate(zip(monitoring.comparison.names, monitoring.rows, strict=True)):
        found = [] if i == 0 else monitoring.findings(name)
        flagged, shifted = (
            [one.feature for one in found if one.verdict in verdicts] for verdicts in (FLAGGED, (INPUTS,))
        )
        words = [listed(names) if names else "" for names in (flagged, shifted)]
        rows.append((called(name), f"{count:,}", *([] if losses is None else [show(float(losses[i]))]), *words))
    return rows


def remarks(monitoring: Monitoring) -> list[str]:
    """What tests mean, what they cannot tell, and remarks."""
    comparison = monitoring.comparison
    rate = f"{100 * (1 - comparison.level):.3g} %"
    tested = (
        f"p: of contributions, and apart from them of inputs, {adjustment_words(comparison)}."
        if comparison.adjust
        else f"p: not adjusted; of each test that has nothing to find, about {rate} find something."
    )
    unfinished = [
        f"NOT CONVERGED: {called(name)}. {one.stopped.value}"
        for name, one in zip(comparison.names, comparison.explanations, strict=True)
        if not one.stopped.is_wanted
    ]
    limits = "A column can break without a change of its contribution where the model draws little from it."
    about = [
        *rows_words(comparison),
        f"inputs: distance of the columns' distributions, 0 to 1. {limits}",
    ]
    notes, more = list(map(str, comparison.notes[:REMARKS])), len(comparison.notes) - REMARKS
    if more > 0:
        notes.append(
            f"{more:,} more remark{'s' * (more > 1)} of this kind: found.comparison.notes in Python, --json in a shell."
        )
    return [
        tested,
        *(about if len(monitoring.names) == 1 else [limits]),
        *unfinished,
        *notes,
        *map(str, monitoring.notes),
    ]
