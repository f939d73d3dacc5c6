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
    for name in {"api", "links", "terms"} & (set(sys.modules) - before):
        del sys.modules[name]


def test_every_page_is_in_a_list_of_the_site():
    listed = "\n".join(page.read_text() for page in SITE.glob("*.md"))
    named = re.findall(r"^(?:.*<)?\.\./(\w+(?:/\w+)?)>?$", listed, flags=re.MULTILINE)
    pages = [page for folder in ("", "guide", "theory", "appendix") for page in (DOCS / folder).glob("*.md")]
    written = {page.relative_to(DOCS).with_suffix("").as_posix() for page in pages}
    assert {name for name in named if not name.startswith(("examples/", "api/"))} == written
    assert len(named) == len(set(named))


def test_every_public_name_is_in_the_reference(part):
    api = part("api")
    names = api.public_names(Path(clarysage.__file__).with_suffix(".pyi"))
    assert sorted(names) == sorted(clarysage.__all__)
    lines = api.listing(names).splitlines()
    assert sorted(line.strip() for line in lines if re.fullmatch(r"   \w+", line)) == sorted(names)
    assert set(api.TASKS) <= set(lines)


def test_a_name_without_a_task_and_a_task_without_its_name_are_refused(part):
    api = part("api")
    names = api.public_names(Path(clarysage.__file__).with_suffix(".pyi"))
    with pytest.raises(ValueError, match="cellar"):
        api.listing({**names, "wine": "cellar"})
    with pytest.raises(ValueError, match="sage"):
        api.listing({name: room for name, room in names.items() if name != "sage"})


HEADING = re.compile(r"^#{1,4} (.+)$", re.MULTILINE)
LINK = re.compile(r"\]\(([\w./-]*\.md)?#([\w-]+)\)")


def anchors(part, page):
    """The anchors of a page: its headings, and the terms of the glossary, which the site adds."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    found = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}
    if page.name == "glossary.md":
        terms = part("terms")
        cells = re.findall(r"^\| ([^|]+) \|", text, flags=re.MULTILINE)
        found |= {terms.slug_of(term.replace("`", "")) for cell in cells for term in terms.terms(cell)}
    return found


def test_links_to_headings_and_terms_lead_somewhere(part):
    root = DOCS.parent
    pages = [root / "README.md", root / "CONTRIBUTING.md", *DOCS.glob("*.md"), *DOCS.glob("[!_]*/*.md")]
    links = [(page, *link) for page in pages for link in LINK.findall(page.read_text())]
    assert len(links) > 50
    targets = [(page, (page.parent / path).resolve() if path else page, anchor) for page, path, anchor in links]
    wrong = [f"{page.name}: {to.name}#{anchor}" for page, to, anchor in targets if anchor not in anchors(part, to)]
    assert wrong == []


def test_terms_of_a_cell_have_anchors(part):
    terms = part("terms")
    assert terms.terms("game (v), cooperative game") == ["game", "cooperative game"]
    assert [terms.slug_of(term) for term in ("Möbius coefficients", "Matheron's rule")] == [
        "mobius-coefficients",
        "matherons-rule",
    ]


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
