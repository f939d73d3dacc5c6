"""The site that ``make docs`` builds from the pages: what its check of links finds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

SITE = Path(__file__).parent.parent / "docs" / "site"


@pytest.fixture
def links(monkeypatch):
    monkeypatch.syspath_prepend(str(SITE))
    import links

    yield links
    del sys.modules["links"]


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ('<a href="b.html">', None),
        ('<a href="b.html#there">', None),
        ('<a href="#here" id="here">', None),
        ('<a href="https://example.org">', None),
        ('<img src="data:image/png;base64,AA==">', None),
        ('<a href="c.html">', "c.html"),
        ('<a href="b.html#gone">', "b.html#gone"),
        ('<a href="#gone">', "#gone"),
        ('<a href="">', None),
        ('<img src="b.png">', "b.png"),
        ('<script src="https://example.org/a.js"></script>', "https://example.org/a.js"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "//example.org/a.css"),
    ],
)
def test_links_that_lead_nowhere_and_files_of_other_hosts_are_found(links, tmp_path, body, wrong):
    (tmp_path / "b.html").write_text('<p id="there">')
    (tmp_path / "a.html").write_text(body)
    assert list(links.wrong_links(tmp_path)) == ([("a.html", wrong)] if wrong else [])
