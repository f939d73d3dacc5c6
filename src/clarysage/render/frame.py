"""Frame: what all pages share, around the contents of one; with everything in it, and nothing let in from outside."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from clarysage.names import shortened
from clarysage.render.inline_json import inline_json

LONGEST_TITLE = 200


@dataclass(frozen=True)
class Page:
    """What a page is made of.

    Attributes
    ----------
    template : a file of this room, which extends ``frame.html``
    title : above the page, where no other is given; as it may be seen
    contents : what the template names
    view : which of the things that a switch shows is shown at first; empty where there is no switch
    lists : by the id of a section with a table, what its rows are sorted and searched by
    """

    template: str
    title: str
    contents: dict[str, Any]
    view: str = ""
    lists: dict[str, Any] = field(default_factory=dict)


def framed(page: Page, title: str | None) -> str:
    """The text of a page; scripts and styles are let in by their hashes, and nothing else is."""
    from clarysage import __version__

    script, style = source("script.js"), source("chart.css") + source("style.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    shell = {
        "title": page.title if title is None else shortened(title, LONGEST_TITLE), "script": script, "style": style,
        "policy": policy, "version": __version__, "view": page.view, "data": inline_json(page.lists),
    }  # fmt: skip
    return str(templates().get_template(page.template).render(**shell, **page.contents))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def source(name: str) -> str:
    """A file of the templates, with line ends by which browsers take hashes, whatever a checkout makes of them."""
    loader = templates().loader
    return str(loader.get_source(templates(), name)[0]).replace("\r\n", "\n")


@cache
def templates() -> Any:
    """The templates of this room, in which every text is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("clarysage", "render/templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
