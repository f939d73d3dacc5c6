"""What there is to deliver of a result: its data, its table, its pictures, and what did not converge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from clarysage.cli.speech import Say


@dataclass(frozen=True)
class Result:
    """A result by its parts.

    Attributes
    ----------
    found : what can be saved, and turned into plain objects
    table : makes the text to print
    pictures : by the option that asks for each, what draws it
    unfinished : what to say of runs that ended before they converged
    page : makes the HTML report, where there is one
    """

    found: Any
    table: Callable[[], str]
    pictures: Mapping[str, Callable[[], Any]]
    unfinished: tuple[str, ...] = ()
    page: Callable[[], str] | None = None


def of_explanation(
    explanation: Any, say: Say, *, about: str | None = None, tests: bool = False, title: str | None = None
) -> Result:
    """The parts of an explanation, with intervals about what is asked for, or what they can be about."""
    shown = _about(explanation, about, say)
    unfinished = () if explanation.stopped.is_wanted else (f"not converged. {explanation.stopped.value}",)
    table = partial(explanation.table, about=shown, tests=tests)
    pictures = {"--plot": partial(explanation.plot, about=shown)}
    page = partial(explanation.report, about=shown, title=title)
    return Result(explanation, table, pictures, unfinished, page)


def of_importances(importances: Any) -> Result:
    """The parts of measures side by side."""
    from clarysage.measures.importances import INTERRUPTED
    from clarysage.plots import ranks

    unfinished = [f"not converged: {name}. {importances[name].stopped.value}" for name in importances.unfinished]
    cut = [name for name, why in importances.left_out.items() if why == INTERRUPTED]
    unfinished += [f"interrupted; left out: {', '.join(cut)}."] if cut else []
    pictures = {"--plot": importances.plot, "--ranks": partial(ranks, importances)}
    return Result(importances, importances.table, pictures, tuple(unfinished))


def _about(explanation: Any, about: str | None, say: Say) -> str:
    """What intervals are to be about, or what they can be."""
    if about is None or about == "data" or about in explanation.targets:
        return about or str(explanation.shown)
    say(f"--about {about}: not known for this method or removal; intervals are about the {explanation.shown}.")
    return str(explanation.shown)
