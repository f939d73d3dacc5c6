"""Result: what all results have in common, and the one place where results reach up: to plots, pages, and measures.

Imports are inside functions, since matplotlib and templates take long to load and not every result is looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from clarysage._utils.atomic import write_whole
from clarysage.errors import InputError
from clarysage.results.files import as_plain, save
from clarysage.results.summary import Block, Facts, Notes, Page, Paragraph, Section, Summary

if TYPE_CHECKING:
    from clarysage.protocols import Game, Seed
    from clarysage.results.agreement import Agreement
    from clarysage.results.explanation import Explanation


class Result(ABC):
    """A result that can be read as text, in a notebook and on a page, and kept in a file.

    A kind of result says what there is to say in :meth:`summary`; what it says on a page besides is in :meth:`details`.
    """

    @abstractmethod
    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """The result in brief, with intervals of this level, about what is asked for where there is a choice."""

    def details(self, level: float = 0.95, *, about: str | None = None) -> Page:
        """All there is to say, as a page has it; where a kind has nothing to add, its summary."""
        brief = self.summary(level, about=about)
        findings: tuple[Block, ...] = (
            Paragraph(brief.headline, "lead"),
            *map(Paragraph, brief.findings),
            *brief.tables,
        )
        sections = [Section("found", "What was found", findings)]
        if brief.notes:
            sections.append(Section("mind", "What to mind", (Notes(brief.notes),)))
        if brief.record is not None:
            words = {name.replace("_", " ").capitalize(): text for name, text in brief.record.words.items() if text}
            sections.append(Section("how", "What was computed, and how", (Facts(tuple(words.items())),)))
        return Page(brief.title, tuple(sections))

    def report(
        self, path: str | Path | None = None, title: str | None = None, *, about: str | None = None
    ) -> str | None:
        """A page to send to a colleague: one HTML file with charts, tables, warnings and how it was computed.

        It needs no other file and no network, and holds aggregates alone: values of features, never of single examples.

        Parameters
        ----------
        path : file to write; default: the page is returned as text
        title : above the page; default: what was found, and of which model
        about : what intervals are about when the page is opened, as in :meth:`clarysage.Explanation.interval`, where
            the result leaves a choice; a switch shows the others
        """
        from clarysage.render import html

        page = html(self, title=title, about=about)
        if path is None:
            return page
        write_whole(page, path)
        return None

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python objects, as in the JSON file; not what single examples contribute."""
        return as_plain(self)

    def save(self, path: str | Path) -> None:
        """Write everything as JSON, but what single examples contribute; :func:`clarysage.load` reads it back."""
        save(self, path)

    def __str__(self) -> str:
        from clarysage.render import text

        return text(self.summary())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from clarysage.render import notebook

        return notebook(self)


def plots() -> ModuleType:
    """The room of plots, for the ``plot`` methods of results."""
    from clarysage import plots

    return plots


def text_of(summary: Summary) -> str:
    """A summary as text, for the ``table`` methods of results."""
    from clarysage.render import text

    return text(summary)


def agreement_with(
    explanation: Explanation, game: Game, n: int, *, n_jobs: object, progress: bool | None, rng: Seed
) -> Agreement:
    """How good a proxy the values are for a game, for the ``agreement`` method of explanations."""
    from clarysage._measures.agreement import agreement

    return agreement(explanation, game, n, n_jobs=n_jobs, progress=progress, rng=rng)


def refuse_about(result: Result, about: str | None) -> None:
    """Raises where intervals are asked to be about something in a result that leaves no choice."""
    if about is not None:
        kind = type(result).__name__
        raise InputError("about", got=f"{about!r}", wanted=f"None for a {kind}, which knows what it is about")
