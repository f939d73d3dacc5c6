"""The site that ``make docs`` builds from the pages: it has them all, and its check of links finds what is wrong."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

import clarysage

DOCS = Path(__file__).parent.parent / "docs"
SITE = DOCS / "site"


@pytest.fixture
def part(monkeypatch):
    """Imports a part of the site's build, which needs none of its libraries."""
    monkeypatch.syspath_prepend(str(SITE))
    before = set(sys.modules)
    yield importlib.import_module
    for name in {"api", "links"} & (set(sys.modules) - before):
        del sys.modules[name]


def test_every_page_is_in_a_list_of_the_site():
    listed = "\n".join(page.read_text() for page in SITE.glob("*.md"))
    named = set(re.findall(r"^(?:.*<)?\.\./(\w+)>?$", listed, flags=re.MULTILINE))
    assert named == {page.stem for page in DOCS.glob("*.md")}


def test_every_public_name_is_in_the_reference(part):
    api = part("api")
    names = api.public_names(Path(clarysage.__file__).with_suffix(".pyi"))
    assert sorted(name for room in names.values() for name in room) == sorted(clarysage.__all__)
    page = api.listing(names).splitlines()
    assert all(f"   {name}" in page for name in clarysage.__all__)


def test_a_name_of_a_room_without_a_heading_is_refused(part):
    with pytest.raises(ValueError, match="cellar"):
        part("api").listing({"cellar": ["wine"]})


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
def test_links_that_lead_nowhere_and_files_of_other_hosts_are_found(part, tmp_path, body, wrong):
    (tmp_path / "b.html").write_text('<p id="there">')
    (tmp_path / "a.html").write_text(body)
    assert list(part("links").wrong_links(tmp_path)) == ([("a.html", wrong)] if wrong else [])


def test_links_to_scripts_of_the_gallery_lead_to_the_pages_of_their_pictures(part):
    set_links = part("links").to_pages_of_examples
    assert set_links("[one](gallery/01_a.py), [two](../gallery/pitfalls/b.py)") == (
        "[one](examples/01_a.rst), [two](../examples/pitfalls/b.rst)"
    )
    assert set_links("`docs/gallery/01_a.py`, [code](../src/a.py)") == "`docs/gallery/01_a.py`, [code](../src/a.py)"
