"""Frame: pages of the kinds of results that have templates of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Page:
    """What a page is made of: a template with what it names, a title, the view that is shown first, and its lists."""

    template: str
    title: str
    contents: dict[str, Any]
    view: str = ""
    lists: dict[str, Any] = field(default_factory=dict)
