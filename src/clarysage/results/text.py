"""An explanation to read: a table as text, and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import numpy as np

from clarysage.catalogue import LOSSES
from clarysage.names import shortened, visible
from clarysage.results.explanation import Explanation

BAR = 24
LONGEST = 60  # columns of a name in a table; frames and files have it whole


def as_text(explanation: Explanation, level: float = 0.95, *, about: str | None = None, tests: bool = False) -> str:
    """A table of the values, largest first, with intervals, small bars and what the run has to say."""
    about = explanation.shown if about is None else about
    show = number_format(explanation)
    names = [shortened(name, LONGEST) for name in explanation.feature_names]
    values = [show(value) for value in explanation.values]
    is_sure = explanation.draws == 0 and about == "data"  # an interval of no width would tell nothing
    ends = [
        "" if is_sure else f"[{show(low)}, {show(high)}]"
        for low, high in zip(*explanation.interval(level, about=about), strict=True)
    ]
    header = "" if is_sure else f"{100 * level:g}% interval"
    wide, right, far = (max(map(len, cells)) for cells in ([*names, "feature"], [*values, "value"], [*ends, header]))
    chances = _chances(explanation, about) if tests else {}
    between = "".join(f"  {word:<8}" for word in chances)
    lines = [
        visible(_headline(explanation)),
        f"  {'feature':<{wide}}  {'value':>{right}}  {header:<{far}}{between}".rstrip(),
    ]
    for i in np.argsort(-explanation.values, kind="stable"):
        bar = ("▇" if explanation.values[i] >= 0 else "▒") * round(BAR * _share(explanation, i))
        between = "".join(f"  {cells[i]:<8}" for cells in chances.values())
        lines.append(f"  {names[i]:<{wide}}  {values[i]:>{right}}  {ends[i]:<{far}}{between}  {bar}".rstrip())
    said = (
        [f"p: how likely a value so far from zero would be if it were zero, about {explanation.meaning(about)} (Holm)."]
        if tests
        else []
    )
    return "\n".join([*lines, *(f"  {visible(line)}" for line in [*_footer(explanation, about), *said])])


def as_html(explanation: Explanation, level: float = 0.95) -> str:
    """The same table for notebooks; every name is escaped."""
    show = number_format(explanation)
    about = explanation.shown
    low, high = explanation.interval(level, about=about)
    names, values = explanation.feature_names, explanation.values
    rows = "".join(
        f"<tr><th scope='row' style='text-align:left;overflow-wrap:anywhere'>{escape(names[i])}</th>"
        f"<td style='text-align:right'>{show(values[i])}</td><td>[{show(low[i])}, {show(high[i])}]</td></tr>"
        for i in np.argsort(-values, kind="stable")
    )
    footer = "".join(f"<li>{escape(line)}</li>" for line in _footer(explanation, about))
    return (
        f"<div><table><caption style='text-align:left'>{escape(_headline(explanation))}</caption>"
        f"<thead><tr><th>feature</th><th>value</th><th>{100 * level:g}% interval, {about}</th></tr></thead>"
        f"<tbody>{rows}</tbody></table><ul>{footer}</ul></div>"
    )


def loss_words(loss: str) -> str:
    """A loss as it reads in a sentence.

    Examples
    --------
    >>> loss_words("zero one"), loss_words("cross entropy")
    ('zero-one loss', 'cross entropy')
    """
    return (LOSSES[loss].label or loss) if loss in LOSSES else loss


def _headline(explanation: Explanation) -> str:
    if explanation.headline:
        return explanation.headline
    return f"{explanation.measure[:1].upper()}{explanation.measure[1:]}"  # of a file that an earlier release wrote


def _chances(explanation: Explanation, about: str) -> dict[str, list[str]]:
    """p-values as they are printed, by their headings."""
    found = {word: explanation.p_values(word, about=about, adjust="holm") for word in ("helps", "hurts")}
    return {f"p {word}": [f"{p:.3f}" if p >= 0.001 else "<0.001" for p in values] for word, values in found.items()}


def _footer(explanation: Explanation, about: str) -> list[str]:
    cost = f"{explanation.stopped.value} {explanation.model_rows:,} model rows, method {explanation.method!r}."
    return [*whole_words(explanation), about_words(explanation, about), cost, *explanation.notes]


def whole_words(explanation: Explanation) -> list[str]:
    """What all features bring together, and the constant of the proxy where it is not zero."""
    show, total, alone = number_format(explanation), explanation.total, explanation.base
    if total is None or alone is None:
        return []
    if explanation.values_are == "variance":
        return [
            f"All features together: {show(total)}, the mean squared distance of outputs from their background mean."
        ]
    said = [
        f"All features together save {show(total)}: the mean {loss_words(explanation.loss)} is {show(alone)} "
        f"without features and {show(alone - total)} with them."
    ]
    if explanation.constant:
        said.append(f"Values add up to u(S) from phi_0 = {show(explanation.constant)}, the constant of this measure.")
    return said


def about_words(explanation: Explanation, about: str) -> str:
    """What intervals are about, and how far the run itself may be off."""
    if explanation.draws == 0:
        own = "No sampling error."
        return own if about == "data" else f"Intervals are about {explanation.meaning(about)}. {own}"
    if about == "data":
        return f"Intervals are about {explanation.meaning(about)}."
    error = number_format(explanation)(float(explanation.std_error.max()))
    meaning = explanation.meaning(about)
    said = f"Intervals are about {meaning}; the largest standard error of the run's own sampling is {error}."
    return f"{said} {outside}" if (outside := _outside(explanation, about)) else said


def _outside(explanation: Explanation, about: str) -> str:
    """A word on values that their own intervals do not hold, since those are around others."""
    low, high = explanation.interval(about=about)
    strays = int(((explanation.values < low) | (explanation.values > high)).sum())
    if not strays:
        return ""
    which = "One value lies" if strays == 1 else f"{strays} values lie"
    return f"{which} outside: a finite background moves them, and more background rows would bring them closer."


def _share(explanation: Explanation, place: int) -> float:
    largest = float(np.abs(explanation.values).max())
    return abs(float(explanation.values[place])) / largest if largest > 0 else 0.0


def number_format(explanation: Explanation) -> Callable[[float], str]:
    """Numbers with four digits of the largest value; in powers of ten where it is very small or large."""
    largest = float(np.abs(explanation.values).max())
    if largest and not 1e-6 <= largest < 1e9:
        return lambda number: f"{number:.3e}"
    digits = 4 if largest == 0 else int(np.clip(3 - np.floor(np.log10(largest)), 0, 12))
    return lambda number: f"{0.0 if abs(number) < 0.5 * 10.0**-digits else number:,.{digits}f}"
