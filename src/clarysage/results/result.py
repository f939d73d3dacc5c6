"""Result: the base class of all results, and the only file of this room that imports plots, pages and measures.

These imports are inside functions, since matplotlib and templates load slowly and not every result is displayed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from clarysage._utils.atomic import write_atomically
from clarysage.errors import InputError
from clarysage.results.files import as_plain, save
from clarysage.results.summary import Block, Facts, Notes, Page, Paragraph, Section, Summary
from clarysage.synonyms import IN_PLACE_OF_METHODS, missing_attribute

if TYPE_CHECKING:
    from clarysage.protocols import Game, Seed
    from clarysage.results.agreement import Agreement
    from clarysage.results.explanation import Explanation


class Result(ABC):
    """A result that can be shown as text, in a notebook and as an HTML page, and saved in a file.

    Each kind of result describes itself in :meth:`summary`; :meth:`details` adds what only its page shows.
    """

    @abstractmethod
    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """Returns the result in brief, with intervals of this level; ``about`` says what intervals are about."""

    def details(self, level: float = 0.95, *, about: str | None = None) -> Page:
        """Returns the contents of the page of the result; by default those of its summary."""
        brief = self.summary(level, about=about)
        findings: tuple[Block, ...] = (
            Paragraph(brief.headline, "lead"),
            *map(Paragraph, brief.findings),
            *brief.tables,
        )
        sections = [Section("found", "Findings", findings)]
        if brief.notes:
            sections.append(Section("mind", "Notes and warnings", (Notes(brief.notes),)))
        if brief.record is not None:
            words = {name.replace("_", " ").capitalize(): text for name, text in brief.record.words.items() if text}
            sections.append(Section("how", "What was computed, and how", (Facts(tuple(words.items())),)))
        return Page(brief.title, tuple(sections))

    def report(
        self, path: str | Path | None = None, title: str | None = None, *, about: str | None = None
    ) -> str | None:
        """Make a page to send to a colleague: one HTML file with charts, tables, warnings and how it was computed.

        It needs no other file and no network, and holds only aggregates: values of features, never of single examples.

        Parameters
        ----------
        path : file to write; default: return the page as text
        title : title of the page; default: what was computed, such as the measure and the model
        about : what intervals are about when the page is opened, as in :meth:`clarysage.Explanation.interval`, for
            results with a choice; a switch on the page shows the others
        """
        from clarysage.render import html

        page = html(self, title=title, about=about)
        if path is None:
            return page
        write_atomically(page, path)
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, as in the JSON file, except contributions of single examples."""
        return as_plain(self)

    def save(self, path: str | Path) -> None:
        """Write everything as JSON, except the contributions of single examples; :func:`clarysage.load` reads it."""
        save(self, path)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in IN_PLACE_OF_METHODS:
                raise missing_attribute(type(self).__name__, name, IN_PLACE_OF_METHODS)
            return object.__getattribute__(self, name)  # raises the usual error

    def __str__(self) -> str:
        from clarysage.render import text

        return text(self.summary())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from clarysage.render import notebook

        return notebook(self)


def plots() -> ModuleType:
    """Returns the package of plots, for the ``plot`` methods of results."""
    from clarysage import plots

    return plots


def text_of(summary: Summary, top: int | None) -> str:
    """Returns a summary as text with the ``top`` largest items, for the ``table`` methods of results."""
    from clarysage.render import text

    return text(summary, top=top)


def agreement_with(
    explanation: Explanation, game: Game, n: int, *, n_jobs: object, progress: bool | None, rng: Seed
) -> Agreement:
    """Computes the agreement of the values with a game, for the ``agreement`` method of explanations."""
    from clarysage._measures.agreement import agreement

    return agreement(explanation, game, n, n_jobs=n_jobs, progress=progress, rng=rng)


def refuse_about(result: Result, about: str | None) -> None:
    """Raises for an ``about`` where a result leaves no choice of what its intervals are about."""
    if about is not None:
        kind = type(result).__name__
        raise InputError("about", got=f"{about!r}", wanted=f"None for a {kind}, which knows what it is about")
