"""An HTML parser for tests of pages."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "input", "link", "br", "hr", "img", "base", "source", "embed"}


class Page(HTMLParser):
    """A parsed page: elements with their attributes, and texts by tag; it checks that every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data

    @property
    def data(self) -> Any:
        return json.loads(self.texts["script"][0])

    def having(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.elements if name == tag and attributes.items() <= attrs.items()]
