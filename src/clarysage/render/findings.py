"""Findings of kinds of results that have templates of their own."""

from __future__ import annotations

from dataclasses import dataclass

from clarysage.results.readings import NAMED, filled

__all__ = ["NAMED", "Finding", "filled"]


@dataclass(frozen=True)
class Finding:
    """A sentence: how it begins, features that it names with a word on each, and how many more there are."""

    known: str
    lead: str
    named: tuple[tuple[str, str], ...] = ()
    more: int = 0
