"""The quality of removals to read: a table as text, and as HTML in notebooks."""

from __future__ import annotations

from html import escape

import numpy as np

from clarysage.results.removal_quality import RemovalQuality

HEADLINE = "Removals by the mean squared distance of f_S from f: the smaller, the nearer to E[f | x_S]"
HEADINGS = ("removal", "error", "± s.e.", "from the best", "± s.e.", "unexplained", "seconds", "model rows")


def as_text(quality: RemovalQuality) -> str:
    """A table of the removals, the best first, and what there is to say."""
    rows = [HEADINGS, *cells(quality)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for name, *numbers in rows:
        right = "  ".join(f"{cell:>{width}}" for cell, width in zip(numbers, widths[1:], strict=True))
        lines.append(f"  {name:<{widths[0]}}  {right}".rstrip())
    return "\n".join([HEADLINE, *lines, *(f"  {line}" for line in sentences(quality))])


def as_html(quality: RemovalQuality) -> str:
    """The same table for notebooks; every name is escaped."""
    heads = "".join(f"<th>{escape(word)}</th>" for word in HEADINGS)
    rows = "".join(
        f"<tr><th scope='row' style='text-align:left'>{escape(name)}</th>"
        + "".join(f"<td style='text-align:right'>{escape(cell)}</td>" for cell in numbers)
        + "</tr>"
        for name, *numbers in cells(quality)
    )
    footer = "".join(f"<li>{escape(line)}</li>" for line in sentences(quality))
    return (
        f"<div><table><caption style='text-align:left'>{escape(HEADLINE)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table><ul>{footer}</ul></div>"
    )


def cells(quality: RemovalQuality) -> list[tuple[str, ...]]:
    """The cells of the table, row by row, the best first."""
    found: list[tuple[str, ...]] = []
    for i in np.argsort(quality.scores, kind="stable"):
        name = quality.names[i]
        apart, error = quality.difference(name)
        is_best = name == quality.best
        share = quality.unexplained[i]
        found.append((
            " ".join(name.split()), f"{quality.scores[i]:.4g}", f"{quality.std_error[i]:.2g}",
            "" if is_best else f"{apart:.3g}", "" if is_best else f"{error:.2g}",
            f"{share:.1%}" if np.isfinite(share) else "", f"{quality.seconds[i]:.2f}",
            f"{int(quality.model_rows[i]):,}",
        ))  # fmt: skip
    return found


def sentences(quality: RemovalQuality) -> list[str]:
    """What was judged on what, what could not be, and remarks."""
    about = (
        f"{quality.rows:,} rows with {quality.coalitions} coalition{'s' * (quality.coalitions > 1)} each, the same for "
        f"all removals; unexplained: share of the variance of f, {quality.variance:.4g}."
    )
    return [about, *(f"Left out: {name!r}, {why}" for name, why in quality.left_out.items()), *quality.notes]
