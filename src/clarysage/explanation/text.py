"""An explanation to read: a table as text, and as HTML in notebooks."""

from __future__ import annotations

from html import escape

import numpy as np

from clarysage.explanation.explanation import ABOUT, Explanation

BAR = 24


def as_text(explanation: Explanation, level: float = 0.95) -> str:
    """A table of the values, largest first, with intervals, small bars and what the run has to say."""
    names = explanation.feature_names
    low, high = explanation.interval(level)
    width = max(7, *(len(name) for name in names))
    digits = _digits(explanation)
    largest = float(np.abs(explanation.values).max()) or 1.0
    lines = [_headline(explanation), f"  {'feature':<{width}}  {'value':>{digits + 7}}  {100 * level:g}% interval"]
    ends = [f"[{low[i]:.{digits}f}, {high[i]:.{digits}f}]" for i in range(len(names))]
    reach = max(map(len, ends))
    for i in np.argsort(-explanation.values, kind="stable"):
        length = round(BAR * abs(float(explanation.values[i])) / largest)
        bar = ("▇" if explanation.values[i] >= 0 else "▒") * length
        value = f"{explanation.values[i] + 0.0:.{digits}f}"
        lines.append(f"  {names[i]:<{width}}  {value:>{digits + 7}}  {ends[i]:<{reach}}  {bar}".rstrip())
    return "\n".join([*lines, *(f"  {line}" for line in _footer(explanation))])


def as_html(explanation: Explanation, level: float = 0.95) -> str:
    """The same table for notebooks; every name is escaped."""
    low, high = explanation.interval(level)
    digits = _digits(explanation)
    largest = float(np.abs(explanation.values).max()) or 1.0
    rows = []
    for i in np.argsort(-explanation.values, kind="stable"):
        value = float(explanation.values[i])
        colour = "#3b6fb6" if value >= 0 else "#b5483c"
        bar = f'<div style="background:{colour};height:0.8em;width:{100 * abs(value) / largest:.1f}%"></div>'
        rows.append(
            f"<tr><th scope='row' style='text-align:left'>{escape(explanation.feature_names[i])}</th>"
            f"<td>{value:.{digits}f}</td><td>[{low[i]:.{digits}f}, {high[i]:.{digits}f}]</td>"
            f"<td style='min-width:12em'>{bar}</td></tr>"
        )
    footer = "".join(f"<li>{escape(line)}</li>" for line in _footer(explanation))
    return (
        f"<div><table><caption style='text-align:left'>{escape(_headline(explanation))}</caption>"
        f"<thead><tr><th>feature</th><th>value</th><th>{100 * level:g}% interval</th><th></th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table><ul>{footer}</ul></div>"
    )


def _headline(explanation: Explanation) -> str:
    if explanation.measure == "shapley effects":
        return "Shapley effects: the variance of the model's output that each feature explains"
    return f"SAGE values: the {explanation.loss} that each feature saves the model"


def _footer(explanation: Explanation) -> list[str]:
    digits = _digits(explanation)
    if explanation.measure == "shapley effects":
        loss = f"All features together: {explanation.total:.{digits}f}, the variance of the output."
    else:
        alone, model = explanation.base, explanation.base - explanation.total
        loss = (
            f"All features together save {explanation.total:.{digits}f}: the mean {explanation.loss} is "
            f"{alone:.{digits}f} without features and {model:.{digits}f} with them."
        )
    sampled = "No sampling error." if explanation.draws == 0 else f"Intervals are about {ABOUT['data']}."
    cost = f"{explanation.stopped.value} {explanation.model_rows:,} model rows, method {explanation.method!r}."
    return [loss, sampled, cost, *explanation.notes]


def _digits(explanation: Explanation) -> int:
    """Decimals that show three digits of the largest value."""
    largest = float(np.abs(explanation.values).max())
    return 4 if largest == 0 else int(np.clip(3 - np.floor(np.log10(largest)), 0, 12))
