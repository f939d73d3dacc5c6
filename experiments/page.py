"""The page of an outcome, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.outcome import Finding, Number, Outcome
from experiments.scale import SCALES


def as_page(outcome: Outcome) -> str:
    """Returns the page: figures, numbers, findings and provenance."""
    blocks = [
        f"# {outcome.title}",
        *(f"![{outcome.title}]({name})" for name in outcome.figures),
        *outcome.words,
        numbers(outcome.numbers),
        findings(outcome.findings),
        f"Made by `python -m experiments {outcome.item} --scale {outcome.scale}` ({SCALES[outcome.scale]}; "
        f"{outcome.seconds:,.0f} s beyond what was kept from earlier runs), with {listed(outcome.versions)}.",
        "Settings: " + ", ".join(f"{name} = {value}" for name, value in outcome.settings.items()) + ".",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def listed(named: dict[str, str] | object) -> str:
    return ", ".join(f"{name} {value}" for name, value in dict(named).items())  # type: ignore[call-overload]


def numbers(rows: Iterable[Number]) -> str:
    """Returns a table of the paper's numbers and ours."""
    lines = [
        f"| {row.what} | {_shown(row.paper)} | {_shown(row.ours)} | {_interval(row)} | {row.said} |" for row in rows
    ]
    head = ["| | paper | ours | 95 % interval | |", "|---|---|---|---|---|"]
    return "\n".join([*head, *lines]) if lines else ""


def findings(conclusions: Iterable[Finding]) -> str:
    """Returns a list of the paper's conclusions with our verdicts."""
    return "\n".join(
        f"- **{finding.verdict.capitalize()}**: {finding.claim} {finding.said}".rstrip() for finding in conclusions
    )


def _interval(number: Number) -> str:
    return "" if number.low is None or number.high is None else f"{_shown(number.low)} to {_shown(number.high)}"


def _shown(value: float | str | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}" if abs(value) >= 1 else f"{value:.4f}"
