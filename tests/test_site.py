"""The site that ``make docs`` builds from the pages: it has them all, and its check of links finds what is wrong."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

import clarysage

DOCS = Path(__file__).parent.parent / "docs"
SITE, BUILT = DOCS / "site", DOCS / "_build" / "html"


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


@pytest.mark.parametrize("example", sorted((DOCS / "gallery").rglob("*.py")), ids=lambda path: path.stem)
def test_example_of_the_gallery_fits_on_a_screen_and_has_a_picture(example):
    text = example.read_text()
    assert len(text.splitlines()) <= 60
    assert re.search(r"plot|pixels", text)
    assert ("**Rule: " in text) == (example.parent.name == "pitfalls")


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


def test_links_to_scripts_of_the_gallery_lead_to_the_pages_of_their_pictures(part):
    set_links = part("links").to_pages_of_examples
    assert set_links("[one](gallery/01_a.py), [two](../gallery/pitfalls/b.py)") == (
        "[one](examples/01_a.rst), [two](../examples/pitfalls/b.rst)"
    )
    assert set_links("`docs/gallery/01_a.py`, [code](../src/a.py)") == "`docs/gallery/01_a.py`, [code](../src/a.py)"


# in a browser, opened from disk

in_browser = [
    pytest.mark.needs("playwright"),
    pytest.mark.needs("browser"),
    pytest.mark.skipif(not (BUILT / "index.html").exists(), reason="the site is not built: make docs"),
]
PAGES = {
    "start": "index.html",
    "five minutes": "docs/start.html",
    "questions": "docs/questions.html",
    "guide": "docs/guide/certainty.html",
    "gallery": "docs/examples/index.html",
    "example": "docs/examples/01_first_explanation.html",
    "reference": "docs/api/index.html",
    "function": "docs/api/clarysage.sage.html",
    "theory": "docs/theory/paired_walks.html",
    "tables": "docs/appendix/populations.html",
    "glossary": "docs/glossary.html",
}


@pytest.fixture
def opened(browser):
    """Opens pages of the site; at the end nothing may have gone wrong, and no other host been asked for anything."""
    wrong, pages = [], []

    def open_page(address, width=1200, scheme="light"):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        pages.append(page)
        page.on("console", lambda message: message.type in ("error", "warning") and wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("request", lambda request: request.url.startswith("file:") or wrong.append(f"asked for {request.url}"))
        page.on("requestfailed", lambda request: wrong.append(f"nothing at {request.url}"))
        page.goto(f"{BUILT.as_uri()}/{address}")
        page.wait_for_selector("h1")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert wrong == []


def marked(test):
    """A test of the built site."""
    for mark in in_browser:
        test = mark(test)
    return test


@marked
def test_the_first_page_leads_to_all_parts_of_the_site(opened):
    page = opened(PAGES["start"])
    assert page.url.endswith("docs/site/index.html")
    parts = page.locator(".bd-header .navbar-nav .nav-link").all_inner_texts()
    assert [part.strip() for part in parts] == [
        "Start",
        "User guide",
        "Gallery",
        "API reference",
        "Theory",
        "Evidence",
        "Project",
    ]


@marked
@pytest.mark.parametrize("name", PAGES)
def test_pages_of_the_site_fit_a_telephone_and_complain_of_nothing(opened, name):
    page = opened(PAGES[name], width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.wait_for_load_state("networkidle")
    broken = "all => all.filter((image) => image.complete && !image.naturalWidth).map((image) => image.src)"
    assert page.locator("img").evaluate_all(broken) == []


@marked
def test_an_example_of_the_gallery_has_its_output_its_picture_and_a_notebook(opened):
    page = opened(PAGES["example"])
    assert page.locator(".sphx-glr-script-out").count() > 0
    assert page.locator("img.sphx-glr-single-img").first.evaluate("image => image.naturalWidth") > 200
    assert page.locator("a[download][href$='.ipynb']").count() == 1


@marked
def test_the_page_of_a_function_has_its_parameters_what_it_returns_and_examples(opened):
    text = opened(PAGES["function"]).locator("article").inner_text()
    assert all(title in text for title in ("Parameters", "background", "Returns", "Examples", ">>>"))


@marked
def test_formulas_are_drawn_by_the_browser(opened):
    page = opened(PAGES["theory"])
    heights = page.locator(".math math").evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
    assert len(heights) > 5
    assert min(heights) > 10
    assert "$" not in page.locator("article").inner_text()


@marked
def test_the_search_finds_a_word_without_a_server(opened):
    page = opened("search.html?q=background")
    page.wait_for_function("document.querySelector('#search-results')?.innerText.includes('Search finished')")
    found = page.locator("#search-results li a").evaluate_all("links => links.map((link) => link.getAttribute('href'))")
    assert any("docs/glossary" in address for address in found)
    assert any("docs/guide/data" in address for address in found)


@marked
def test_dark_colours_can_be_chosen_and_are_remembered(opened):
    page = opened(PAGES["guide"], scheme="light")

    def paper():
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    white = paper()
    page.locator("button.theme-switch-button:visible").click()
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    black = paper()
    assert black != white
    page.reload()
    assert paper() == black
