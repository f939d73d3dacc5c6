"""The page in a browser: it asks for nothing, complains of nothing, runs no name, and does what its buttons say."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarysage as cs
from conftest import BROWSERS
from made_up import HOSTILE, made_up

pytestmark = [pytest.mark.needs("playwright"), pytest.mark.needs("browser")]
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=found, args=QUIET)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the page of an explanation; at the end nothing may have gone wrong, and nothing been asked for."""
    wrong: list[str] = []
    pages = []

    def open_page(explanation: cs.Explanation, **options: Any) -> Any:
        file = tmp_path / f"{len(pages)}.html"
        explanation.report(file)
        page = browser.new_page(**options)
        pages.append(page)
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url == file.as_uri() or wrong.append(f"request: {request.url}"))
        page.goto(file.as_uri())
        return page

    yield open_page
    for page in pages:
        page.close()
    assert wrong == []


def names(page: Any) -> list[str]:
    return page.locator("#table tbody tr:visible th bdi").all_inner_texts()


def bars(page: Any) -> list[str]:
    """Names in the chart from top to bottom."""
    rows = page.locator("#chart .row:visible").evaluate_all(
        "rows => rows.map((row) => [row.getBoundingClientRect().y, row.querySelector('text').textContent])"
    )
    return [text for _, text in sorted(rows)]


def by_value(explanation: cs.Explanation) -> list[str]:
    return [explanation.feature_names[i] for i in np.argsort(-explanation.values, kind="stable")]


def test_headings_sort_the_table_and_the_chart_both_ways(opened):
    explanation = made_up(12)
    page = opened(explanation)
    assert names(page) == bars(page) == by_value(explanation)
    page.get_by_role("button", name="Value").click()
    assert names(page) == bars(page) == by_value(explanation)[::-1]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="Feature").click()
    assert names(page) == bars(page) == [f"feature {i}" for i in range(12)]  # 2 before 10
    assert page.locator("th[aria-sort]").all_inner_texts() == ["Feature"]


def test_headings_and_switches_work_by_keyboard(opened):
    page = opened(made_up(12))
    page.get_by_role("button", name="Feature").focus()
    page.keyboard.press("Enter")
    assert names(page)[0] == "feature 0"
    page.get_by_role("radio", name="other rows and background").focus()
    page.keyboard.press("ArrowUp")
    assert page.locator("html").get_attribute("data-about") == "rows"


def test_the_switch_shows_intervals_about_one_thing_at_a_time(opened):
    explanation = made_up(5)
    page = opened(explanation)
    shown = {}
    for about, choice in [("data", "this data"), ("rows", "other rows"), ("population", "other rows and background")]:
        page.get_by_role("radio", name=choice, exact=True).check()
        visible = [one for one in page.locator("#chart .whisker").all() if one.is_visible()]
        assert {one.get_attribute("data-of") for one in visible} == {about}
        shown[about] = sum(one.bounding_box()["width"] for one in visible)
        assert page.locator("tbody tr").first.locator("td span:visible").count() == 3
    assert shown["data"] < shown["rows"] < shown["population"]


def test_search_and_the_number_of_features_leave_the_largest_that_match(opened):
    explanation = made_up(200)
    page = opened(explanation)
    largest = {explanation.feature_names[i] for i in np.argsort(-np.abs(explanation.values))[:20]}
    assert set(names(page)) == set(bars(page)) == largest
    assert page.locator("#count").inner_text() == "20 of 200 features shown"
    page.locator("#many").select_option("")
    assert len(names(page)) == 200
    page.locator("#search").fill("FEATURE 19")
    assert set(names(page)) == {name for name in explanation.feature_names if "feature 19" in name}
    assert names(page) == bars(page)
    page.locator("#search").fill("nothing of the kind")
    assert names(page) == []
    assert page.locator("#none").is_visible()


def test_hostile_names_run_nothing_and_are_found_by_what_they_are(opened):
    page = opened(made_up(HOSTILE))
    page.wait_for_timeout(200)  # time for an image that is not there to fail
    assert page.locator("img, [onerror], [onload]").count() == 0
    assert page.locator("#table tbody tr").count() == len(HOSTILE)
    page.locator("#search").fill("<img src=x")
    assert names(page) == [HOSTILE[0]]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [360, 1000])
def test_the_page_is_never_wider_than_its_window(opened, width):
    page = opened(made_up([*HOSTILE, *map(str, range(60))]), viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_colours_follow_the_system_and_the_button_turns_them_around(opened):
    def paper(page: Any) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light, dark = opened(made_up(3), color_scheme="light"), opened(made_up(3), color_scheme="dark")
    white, black = paper(light), paper(dark)
    assert white != black
    light.get_by_role("button", name="Dark colours").click()
    dark.get_by_role("button", name="Light colours").click()
    assert (paper(light), paper(dark)) == (black, white)


def test_print_is_on_white_without_controls_and_with_every_section(opened):
    page = opened(made_up(3), color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator(".controls").is_visible()
    assert page.locator("h2:visible").count() == 4


def test_without_scripts_everything_can_be_read(browser, tmp_path):
    explanation = made_up(40)
    explanation.report(tmp_path / "page.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    assert names(page) == by_value(explanation)
    assert len(bars(page)) == 20
    assert not page.locator(".controls").is_visible()
    context.close()


@pytest.mark.needs("axe_playwright_python")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_to_complain_of(opened, scheme):
    from axe_playwright_python.sync_playwright import Axe

    trace = np.column_stack([np.arange(1, 9) * 64, np.arange(1, 9) * 4096, 1 / np.arange(1, 9), np.ones(8)])
    for explanation in (
        made_up(12, notes=("It is so. Try this.", "Plain."), trace=trace),
        made_up([*HOSTILE, *(f"pixel {i}" for i in range(784 - len(HOSTILE)))], stopped=cs.StopReason.BUDGET),
    ):
        found = Axe().run(opened(explanation, color_scheme=scheme)).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_text_has_contrast_of_four_and_a_half_in_both_colours(opened):
    for scheme in ("light", "dark"):
        page = opened(made_up(12, notes=("It is so. Try this.", "Plain.")), color_scheme=scheme)
        assert page.evaluate(FAINTEST) >= 4.5


# the least contrast, by WCAG 2, of any visible text of the page outside of pictures with what is behind it
FAINTEST = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => numbers(colour).slice(0, 3).map((one) => one / 255)
    .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    const colour = getComputedStyle(element).backgroundColor;
    return (numbers(colour)[3] ?? 1) > 0 ? colour : behind(element.parentElement);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let least = 21;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("svg, script") || !element.checkVisibility()) continue;
    const [one, other] = [light(getComputedStyle(element).color), light(behind(element))];
    least = Math.min(least, (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05));
  }
  return least;
}"""
