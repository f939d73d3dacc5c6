"""An agreement in sentences."""

from __future__ import annotations

from clarysage.results.agreement import Agreement
from clarysage.results.text import loss_words


def as_text(agreement: Agreement) -> str:
    """What was found, how surely, and at what cost."""
    lines = [_headline(agreement)]
    ends = agreement.interval()
    for name, value in (("correlation", agreement.correlation), ("r2", agreement.r2)):
        if value is not None:
            lines.append(f"  {name.replace('r2', 'R2'):<11}  {value:.4f}  {_interval(agreement, ends[name])}".rstrip())
    return "\n".join([*lines, *(f"  {line}" for line in _footer(agreement))])


def _headline(agreement: Agreement) -> str:
    scores = f"{agreement.measure!r} values" if agreement.measure else "these values"
    return f"How well the sum of {scores} stands in for the {loss_words(agreement.loss) or 'loss'} that subsets save"


def _interval(agreement: Agreement, ends: tuple[float, float] | None) -> str:
    if ends is None or (agreement.is_complete and not agreement.std_error.any()):
        return ""
    return f"95% interval [{ends[0]:.4f}, {ends[1]:.4f}]"


def _footer(agreement: Agreement) -> list[str]:
    n, p = agreement.subsets.shape
    features = f"{p} feature{'s' if p > 1 else ''}"
    if agreement.is_complete:
        found = [f"Over all {n:,} subsets of {features}, weighted as if sizes were drawn first: no draw of subsets."]
    else:
        found = [f"Over {n:,} random subsets of {features}: the size drawn uniformly, then the subset."]
    if agreement.correlation is None:
        found.append("No correlation: u(S) or v(S) is the same for all of them, as far as is known.")
    if not agreement.is_in_units:
        found.append("No R2: the scores are in units of their own, and are only summed.")
    if agreement.std_error.any():
        found.append(
            f"v(S) has standard errors of {agreement.std_error.max():.2g} at most, beside a spread of "
            f"{agreement.v.std():.2g}; both numbers are freed of this noise."
        )
    cost = f"{agreement.fits:,} fits, " if agreement.fits else ""
    return [*found, f"{cost}{agreement.model_rows:,} model rows."]
