"""Links of the site: those to examples, and a check that all lead to a page and a heading, and load from this host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from sphinx.application import Sphinx

REMOTE = ("http", "https")


def setup(app: Sphinx) -> dict[str, bool]:
    """Has links set where a page is read, and checked at the end of the build; what is wrong is a warning."""
    app.connect("source-read", lambda app, page, source: source.__setitem__(0, to_pages_of_examples(source[0])))
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def to_pages_of_examples(text: str) -> str:
    """Sets links to scripts of the gallery, as the repository has them, to the pages that are made of them."""
    return re.sub(r"\]\(((?:\.\./)*)gallery/([\w/]+)\.py\)", r"](\1examples/\2.rst)", text)


def check(app: Sphinx, error: Exception | None) -> None:
    """Warns of every link that leads nowhere."""
    from sphinx.util import logging

    if error is None and app.builder.format == "html":
        for page, address in wrong_links(Path(app.outdir)):
            logging.getLogger(__name__).warning("%s: leads nowhere, or to another host: %s", page, address)


class Page(HTMLParser):
    """The targets within a page, and the addresses that it links to or loads."""

    def __init__(self, path: Path):
        super().__init__()
        self.targets: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what a tag is, links to or loads."""
        values = {name: value for name, value in attrs if value is not None}
        self.targets |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        else:
            self.loaded += [values[name] for name in ("href", "src") if name in values]


def wrong_links(site: Path) -> Iterator[tuple[str, str]]:
    """Each page's addresses with nothing behind them, and those of other hosts that it loads something from."""
    read = cache(Page)
    for path in sorted(set(site.rglob("*.html")) - set(site.glob("_static/**/*.html"))):
        page = read(path)
        for address in page.links + page.loaded:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                wrong = address in page.loaded and (parts.scheme in REMOTE or not parts.scheme)
            else:
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                fragment = unquote(parts.fragment)
                anchored = not fragment or target.suffix != ".html"
                wrong = not target.is_file() or not (anchored or fragment in read(target).targets)
            if wrong:
                yield str(path.relative_to(site)), address
