"""What there is to deliver of a result: its data, its table, its pictures, and what did not converge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from clarysage.cli.console import Say
from clarysage.cli.words import note_in_shell


@dataclass(frozen=True)
class Result:
    """A result by its parts.

    Attributes
    ----------
    data : makes the plain objects that are written as JSON
    table : makes the text to print
    pictures : by the option that asks for each, what draws it
    unfinished : what to say of runs that ended before they converged
    page : makes the HTML report, where there is one
    flagged : what was found that somebody should look at
    """

    data: Callable[[], dict[str, Any]]
    table: Callable[[], str]
    pictures: Mapping[str, Callable[[], Any]]
    unfinished: tuple[str, ...] = ()
    page: Callable[[], str] | None = None
    flagged: tuple[str, ...] = ()


def of_explanation(
    explanation: Any, say: Say, *, about: str | None = None, tests: bool = False, rows: bool = False,
    title: str | None = None,
) -> Result:  # fmt: skip
    """The parts of an explanation, with intervals about what is asked for, or what they can be about.

    ``rows`` asks for what single rows contribute, which goes into the data.
    """
    from clarysage.results.files import as_plain

    if rows and explanation.parts is None:
        say("--rows: what single rows contribute is not known for this method or measure, and is not written.")
    data = partial(as_plain, explanation, rows=rows and explanation.parts is not None)
    shown = about_known(explanation, about, say)
    unfinished = () if explanation.stopped.is_wanted else (f"not converged. {explanation.stopped.value}",)
    table = partial(explanation.table, about=shown, tests=tests)
    pictures = {"--plot": partial(explanation.plot, about=shown)}
    page = partial(explanation.report, about=shown, title=title)
    return Result(data, table, pictures, unfinished, page)


def of_comparison(comparison: Any) -> Result:
    """The parts of a comparison; its notes, in the table, as advice for the command line."""
    from clarysage.render import html

    printed = replace(comparison, notes=tuple(map(note_in_shell, comparison.notes)))
    pictures = {"--plot": comparison.plot}
    return Result(comparison.to_dict, printed.table, pictures, _unfinished(comparison), partial(html, comparison))


def of_monitoring(monitoring: Any) -> Result:
    """The parts of a monitoring, and what it flags."""
    from clarysage.render import html

    comparison = replace(monitoring.comparison, notes=tuple(map(note_in_shell, monitoring.comparison.notes)))
    printed = replace(monitoring, comparison=comparison)
    pictures = {"--plot": monitoring.plot}
    left_out = [f"left out: {', '.join(monitoring.left_out)}."] if monitoring.left_out else []
    return Result(
        monitoring.to_dict, printed.table, pictures, (*_unfinished(comparison), *left_out), partial(html, monitoring),
        tuple(monitoring.flagged),
    )  # fmt: skip


def _unfinished(comparison: Any) -> tuple[str, ...]:
    pairs = zip(comparison.names, comparison.explanations, strict=True)
    return tuple(f"not converged: {name}. {one.stopped.value}" for name, one in pairs if not one.stopped.is_wanted)


def of_importances(importances: Any) -> Result:
    """The parts of measures side by side."""
    from clarysage._measures.importances import INTERRUPTED
    from clarysage.plots import ranks
    from clarysage.render import html

    unfinished = [f"not converged: {name}. {importances[name].stopped.value}" for name in importances.unfinished]
    cut = [name for name, why in importances.left_out.items() if why == INTERRUPTED]
    unfinished += [f"interrupted; left out: {', '.join(cut)}."] if cut else []
    pictures = {"--plot": importances.plot, "--ranks": partial(ranks, importances)}
    return Result(importances.to_dict, importances.table, pictures, tuple(unfinished), partial(html, importances))


def about_known(explanation: Any, about: str | None, say: Say) -> str:
    """What intervals are to be about, or what they can be."""
    known = ("data", *explanation.targets)
    return explanation.shown if about is None else about_among(known, about, explanation.shown, say)


def about_among(choices: Sequence[str], about: str, default: str, say: Say) -> str:
    """What intervals are to be about, if they can be; else the default, which is said."""
    if about in choices:
        return about
    say(f"--about {about}: not known for this method or removal; intervals are about the {default}.")
    return default
