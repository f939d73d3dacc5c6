"""The page in a browser: it asks for nothing, complains of nothing, runs no name, and does what its buttons say."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clarysage as cs
from clarysage.errors import Note
from clarysage.results.text import number_format
from made_up import HOSTILE, compared, made_up, pairs, several, watched

pytestmark = [pytest.mark.needs("playwright"), pytest.mark.needs("browser")]
Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the page of a result, or another; at the end nothing may have gone wrong, and nothing been asked for."""
    wrong: list[str] = []
    pages = []

    def open_page(found: cs.Explanation | cs.Comparison | cs.Monitoring | str, **options: Any) -> Any:
        file = tmp_path / f"{len(pages)}.html"
        file.write_text(found if isinstance(found, str) else found.report(), encoding="utf-8")
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
    return page.locator("#features tbody tr:visible th bdi").all_inner_texts()


def bars(page: Any) -> list[str]:
    """Names in the chart from top to bottom."""
    rows = page.locator("#features svg[data-row] .row:visible").evaluate_all(
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
    assert page.locator("html").get_attribute("data-view") == "rows"


def test_the_switch_shows_intervals_about_one_thing_at_a_time(opened):
    explanation = made_up(5)
    page = opened(explanation)
    shown = {}
    for about, choice in [("data", "this data"), ("rows", "other rows"), ("population", "other rows and background")]:
        page.get_by_role("radio", name=choice, exact=True).check()
        visible = [one for one in page.locator("#features .whisker").all() if one.is_visible()]
        assert {one.get_attribute("data-of") for one in visible} == {about}
        shown[about] = sum(one.bounding_box()["width"] for one in visible)
        assert page.locator("#features tbody tr").first.locator("td span:visible").count() == 3
    assert shown["data"] < shown["rows"] < shown["population"]


def test_search_and_the_number_of_features_leave_the_largest_that_match(opened):
    explanation = made_up(200)
    page = opened(explanation)
    largest = {explanation.feature_names[i] for i in np.argsort(-np.abs(explanation.values))[:20]}
    assert set(names(page)) == set(bars(page)) == largest
    assert page.locator(".count").inner_text() == "20 of 200 features shown"
    page.locator("#features select").select_option("")
    assert len(names(page)) == 200
    page.locator("[type=search]").fill("FEATURE 19")
    assert set(names(page)) == {name for name in explanation.feature_names if "feature 19" in name}
    assert names(page) == bars(page)
    page.locator("[type=search]").fill("nothing of the kind")
    assert names(page) == []
    assert page.locator(".none").is_visible()


def test_hostile_names_run_nothing_and_are_found_by_what_they_are(opened):
    page = opened(made_up(HOSTILE))
    page.wait_for_timeout(200)  # time for an image that is not there to fail
    assert page.locator("img, [onerror], [onload]").count() == 0
    assert page.locator("#features tbody tr").count() == len(HOSTILE)
    page.locator("[type=search]").fill("<img src=x")
    assert names(page) == [HOSTILE[0]]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [360, 1000])
def test_the_page_is_never_wider_than_its_window(opened, width):
    named = [*HOSTILE, *map(str, range(60))]
    for found in (
        made_up(named),
        compared(named, 3, {0: 0.9}, called=HOSTILE[-3:]),
        compared(3, called=HOSTILE[-2:]),
        several(HOSTILE),
        pairs(HOSTILE),
        watched(named, 3, {0: 0.9}, {0, 5}, called=HOSTILE[-3:]),
        watched(named, 1, {0: 0.9}, {0, 5}, called=HOSTILE[-1:], hint=HOSTILE[-1]),
    ):
        page = opened(found, viewport={"width": width, "height": 800})
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


# comparisons


def by_change(found: cs.Comparison) -> list[str]:
    return [found.feature_names[i] for i in found.order]


def test_a_comparison_is_sorted_by_its_headings_differences_by_size(opened):
    found = compared(12, changes={0: -0.9, 6: 0.7, 11: 0.6}, called=("before", "after"))
    page = opened(found)
    assert names(page) == bars(page) == by_change(found)
    page.get_by_role("button", name="Difference").click()
    assert names(page) == bars(page)
    assert names(page)[-1] == "feature 0"
    page.get_by_role("button", name="before").click()
    assert names(page) == bars(page) == by_value(found.reference)
    page.get_by_role("button", name="p (Holm)").click()
    assert set(names(page)[:3]) == set(found.changed)
    page.get_by_role("button", name="Feature").click()
    assert names(page) == bars(page) == [f"feature {i}" for i in range(12)]


def test_the_switch_of_a_comparison_shows_values_or_differences(opened):
    page = opened(compared(12, changes={0: -0.9, 6: 0.7}, called=("before", "after")))
    assert page.locator(".row:visible .bar:visible").count() == 24
    page.get_by_role("radio", name="contributions").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("html").get_attribute("data-view") == "differences"
    assert page.locator(".row:visible .bar:visible").count() == 12
    assert page.locator(".row:visible .star:visible").count() == 2
    assert bars(page) == names(page)


def test_features_and_explanations_of_a_comparison_are_searched(opened):
    found = compared(60, 4, {30: 0.9}, called=("Jan", "Feb", "Mar", "Apr"))
    page = opened(found)
    assert len(names(page)) == 60
    assert set(names(page)) == set(bars(page)) == set(by_change(found)[:20])
    assert page.locator(".count").inner_text() == "20 of 60 features shown"
    page.locator("[type=search]").fill("feature 5")
    assert set(names(page)) == {name for name in found.feature_names if "feature 5" in name}
    assert len(names(page)) == 3 * len(bars(page)) == 33
    page.locator("[type=search]").fill("mar")
    assert page.locator("#features tbody tr:visible td:nth-child(2)").all_inner_texts() == ["Mar"] * 20


def test_hostile_names_of_explanations_run_nothing(opened):
    page = opened(compared(HOSTILE, 4, {0: 0.9}, called=(HOSTILE[0], HOSTILE[1], HOSTILE[4], HOSTILE[7])))
    page.wait_for_timeout(200)
    assert page.locator("img, [onerror], [onload]").count() == 0
    assert page.locator("#features tbody tr").count() == 3 * len(HOSTILE)


def test_a_comparison_without_scripts_and_on_paper_is_whole(browser, tmp_path):
    found = compared(40, changes={3: 0.9})
    found.report(tmp_path / "page.html")
    context = browser.new_context(java_script_enabled=False, color_scheme="dark")
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    assert names(page) == by_change(found)
    assert len(bars(page)) == 20
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("h2:visible").count() == 4
    context.close()


# models that are watched


def cells(page: Any, section: str, column: int) -> list[str]:
    return page.locator(f"#{section} tbody tr:visible > :nth-child({column})").all_inner_texts()


def test_features_and_inputs_of_a_monitoring_are_sorted_each_for_itself(opened):
    found = watched(12, 1, {0: -0.9, 6: 0.7}, {0, 3})
    page = opened(found)
    assert names(page) == bars(page) == by_change(found.comparison)
    features = page.locator("#features")
    features.get_by_role("button", name="Verdict").click()
    assert names(page) == bars(page)
    assert names(page)[:3] == ["feature 0", "feature 6", "feature 3"]  # flagged, along with it, inputs alone
    features.get_by_role("button", name="p of inputs").click()
    assert set(names(page)[:2]) == {"feature 0", "feature 3"}
    inputs = cells(page, "inputs", 1)
    assert set(inputs[:2]) == {"feature 0", "feature 3"}
    page.locator("#inputs").get_by_role("button", name="Column").click()
    assert cells(page, "inputs", 1) == [f"feature {i}" for i in range(12)]
    assert set(names(page)[:2]) == {"feature 0", "feature 3"}  # left as they were


def test_the_switch_of_a_monitoring_shows_values_or_differences_with_their_stars(opened):
    page = opened(watched(12, 1, {0: -0.9, 6: 0.7}, {0}))
    assert page.locator(".row:visible .bar:visible").count() == 24
    page.get_by_role("radio", name="contributions").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".row:visible .bar:visible").count() == 12
    assert page.locator(".row:visible .star:visible").count() == 2
    assert page.locator(".row:visible .star.along:visible").count() == 1


def test_tables_of_slices_are_searched_by_slice_and_by_feature(opened):
    found = watched(40, 4, {30: -0.9}, {(3, 30)}, called=("Jan", "Feb", "Mar", "Apr"))
    page = opened(found)
    assert cells(page, "slices", 1) == ["reference", "Jan", "Feb", "Mar", "Apr"]
    page.locator("#slices [type=search]").fill("mar")
    assert cells(page, "slices", 1) == ["Mar"]
    for section, counts in (("features", (20, 40)), ("inputs", (1, 1))):  # a column that shifted
        page.locator(f"#{section} [type=search]").fill("apr")
        assert cells(page, section, 2) == ["Apr"] * counts[0]
        page.locator(f"#{section} select").select_option("")
        assert cells(page, section, 2) == ["Apr"] * counts[1]
        page.locator(f"#{section} [type=search]").fill("feature 30")
        assert sorted(cells(page, section, 2)) == (sorted(found.names) if section == "features" else ["Apr"])
    assert page.locator("#inputs .count").inner_text() == "1 of 40 columns shown"
    page.locator("#slices [type=search]").fill("no such")
    assert page.locator("#slices .none").inner_text() == "No slice has this text in its name."


def test_slices_are_in_their_order_until_a_heading_is_pressed(opened):
    found = watched(3, 12, {0: -0.9}, {0})
    page = opened(found)
    assert cells(page, "slices", 1) == ["reference", *found.names]
    page.locator("#slices").get_by_role("button", name="Mean loss").focus()
    page.keyboard.press("Enter")
    losses = dict(zip(found.comparison.names, found.losses, strict=True))
    assert cells(page, "slices", 1) == sorted(losses, key=lambda name: -losses[name])


@pytest.mark.parametrize("slices", [1, 3])
def test_hostile_names_of_what_is_watched_run_nothing(opened, slices):
    called = HOSTILE[:1] if slices == 1 else (HOSTILE[0], HOSTILE[5], HOSTILE[7])
    hint = f"new are {', '.join(HOSTILE)}"
    page = opened(watched(HOSTILE, slices, {0: 0.9, 7: -0.9}, {0, 5, 7}, called=called, hint=hint))
    page.wait_for_timeout(200)
    assert page.locator("img, [onerror], [onload]").count() == 0
    assert page.locator("#features tbody tr").count() == slices * len(HOSTILE)
    assert page.locator("#inputs tbody tr").count() == (slices - 1) * 3 + len(HOSTILE)  # of three that shifted, all


def test_a_monitoring_without_scripts_and_on_paper_is_whole(browser, tmp_path):
    found = watched(40, 3, {3: 0.9}, {3})
    found.report(tmp_path / "page.html")
    context = browser.new_context(
        java_script_enabled=False, color_scheme="dark", viewport={"width": 680, "height": 900}
    )
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    assert (len(names(page)), len(cells(page, "inputs", 1))) == (120, 42)
    assert len(bars(page)) == 20
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("h2:visible").count() == 7
    table = page.locator("#features .tall")
    assert table.evaluate("one => one.scrollHeight <= one.clientHeight")  # nothing to be scrolled to
    context.close()


LONG = [f"average monthly balance of the current account {i} in euros, last {i} months" for i in range(60)]
UNDERSCORED = [f"customer_relationship_duration_in_months_{i}" for i in range(60)]
KINDS = {
    "values": made_up,
    "two": lambda names: compared(names, 2, {0: 0.9, 3: -0.7}),
    "three": lambda names: compared(names, 3, {0: 0.9, 3: -0.7}),
    "current": lambda names: watched(names, 1, {0: -0.9}, {0, 3}),
    "slices": lambda names: watched(names, 12, {0: -0.9}, {(2, 0), (3, 0), (1, 5)}),
    "measures": several,
    "pairs": lambda names: pairs(names if isinstance(names, int) else names[:12]),
}
CUT = """() => [document.documentElement, ...document.querySelectorAll('body *')].filter((one) => {
    const style = getComputedStyle(one);
    const scrolls = one === document.documentElement || ['auto', 'scroll'].includes(style.overflowX);
    return scrolls && one.checkVisibility() && one.scrollWidth > one.clientWidth + 1;
}).map((one) => `${one.tagName} ${one.getAttribute('aria-label')}: ${one.scrollWidth} > ${one.clientWidth}`)"""
OUTSIDE = """() => [...document.querySelectorAll('svg text, svg rect, svg .star')].filter((one) => {
    if (!one.checkVisibility() || one.closest('.clarysage-key')) return false;
    const box = one.getBoundingClientRect();
    return box.width > 0 && (box.left < -1 || box.right > innerWidth + 1);
}).map((one) => one.textContent || one.getAttribute('class'))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("names_of", [6, 60, LONG, UNDERSCORED], ids=["6", "60", "long", "underscored"])
@pytest.mark.parametrize("kind", KINDS)
def test_pages_are_whole_on_phones_without_scrolling_sideways(opened, kind, names_of, scheme):
    if kind == "pairs" and names_of == 60:
        names_of = 20  # whose pairs are 190
    page = opened(KINDS[kind](names_of), viewport={"width": 390, "height": 844}, color_scheme=scheme)
    assert page.evaluate(CUT) == []
    assert page.evaluate(OUTSIDE) == []


@pytest.mark.parametrize("kind", KINDS)
def test_pages_are_whole_on_a_screen_of_1200_pixels(opened, kind):
    for names_of in (6, LONG):
        page = opened(KINDS[kind](names_of), viewport={"width": 1200, "height": 900})
        assert page.evaluate(CUT) == []
        assert page.evaluate(OUTSIDE) == []


def test_all_measures_side_by_side_are_whole_on_a_screen_of_1200_pixels(opened):
    found = {row: made_up(LONG[:12], seed, measure=row) for seed, row in enumerate(cs.measures().index)}
    traits = {name: next(iter(several(3).traits.values())) for name in found}
    page = opened(cs.Importances(found, traits, {}), viewport={"width": 1200, "height": 900})
    assert len(found) == 16
    assert page.evaluate(CUT) == []
    headings = page.locator("#features thead th").all_inner_texts()
    assert [text.strip() for text in headings[1:]] == list(found)  # none of them cut


def test_cards_on_phones_have_the_heading_of_each_cell_and_stay_tables_for_screen_readers(opened):
    page = opened(made_up(6), viewport={"width": 390, "height": 844})
    labels = (
        page.locator("#features tbody tr")
        .first.locator("td")
        .evaluate_all("cells => cells.map((cell) => cell.dataset.label)")
    )
    assert labels == ["Value", "95% interval", "Standard error", "Verdict"]
    assert page.get_by_role("row").count() >= 7
    page.get_by_role("button", name="Feature").click()
    assert names(page) == bars(page) == [f"feature {i}" for i in range(6)]


def test_bars_move_when_a_phone_is_turned(opened):
    page = opened(made_up(6), viewport={"width": 390, "height": 844})
    row = page.locator("#features svg[data-row] .row").first
    name, bar = row.locator("text"), row.locator(".bar")
    assert name.bounding_box()["y"] + name.bounding_box()["height"] <= bar.bounding_box()["y"] + 1
    page.set_viewport_size({"width": 1200, "height": 900})
    assert name.bounding_box()["x"] + name.bounding_box()["width"] <= bar.bounding_box()["x"] + 1
    assert abs(name.bounding_box()["y"] - bar.bounding_box()["y"]) < 12


@pytest.mark.parametrize(("width", "is_whole"), [(1440, True), (1000, False), (390, False)])
def test_tables_grow_with_the_window_and_else_keep_their_names_in_sight(opened, width, is_whole):
    found = watched(
        ["distance_km", "constructor", "temperature_outside"], 2, {0: -0.9}, {0}, called=("2025-10-20", "2025-10-27")
    )
    page = opened(found, viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    table = page.locator("#features .wide:has(table)")
    if is_whole:
        assert table.evaluate("one => one.scrollWidth <= one.clientWidth")
    table.evaluate("one => { one.scrollLeft = 1000; }")
    name = page.locator("#features tbody tr").first.locator("th")
    assert name.bounding_box()["x"] == pytest.approx(table.bounding_box()["x"], abs=1)
    for words in page.locator("#features tbody bdi").all():
        assert words.bounding_box()["height"] < 30  # on one line
    assert max(one.bounding_box()["width"] for one in page.locator("p.quiet:visible").all()) < 900


def test_the_button_for_colours_is_never_above_the_title(opened):
    for width in (390, 1000):
        page = opened(made_up(3), viewport={"width": width, "height": 700})
        title, button = (page.locator(one).bounding_box() for one in ("h1", "#theme"))
        assert button["y"] >= title["y"] - 1


# measures side by side


def test_several_measures_are_sorted_by_each(opened):
    found = several(HOSTILE[:1] + tuple(map(str, range(9))))
    page = opened(found)
    assert names(page) == found.order
    page.get_by_role("button", name="gini importance*").click()
    assert names(page) == by_value(found["gini importance"])
    page.locator("[type=search]").fill("<img")
    assert names(page) == [HOSTILE[0]]
    assert page.locator(".count").inner_text() == "1 of 10 features shown"


# the image, and notebooks


def test_pixels_tell_their_values_to_pointers_and_keys(opened):
    explanation = made_up([f"pixel_{i}" for i in range(64)], targets={})
    page, shown = opened(explanation), page_numbers(explanation)
    image, told = page.locator("svg.pixels"), page.locator(".pointed-at")
    box = image.bounding_box()
    image.hover(position={"x": box["width"] * 2.5 / 8, "y": box["height"] * 1.5 / 8})
    assert (
        told.inner_text()
        .replace("\u2068", "")
        .replace("\u2069", "")
        .startswith(f"Row 2, column 3: pixel_10 {shown[10]}, [")
    )
    image.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert f"pixel_19\u2069 {shown[19]}, [" in told.inner_text()
    for _ in range(9):
        page.keyboard.press("ArrowUp")
    assert told.inner_text().startswith("Row 1, column 4:")
    page.get_by_role("button", name="Feature").click()  # another order of the table changes nothing
    image.focus()
    page.keyboard.press("ArrowLeft")
    assert f"pixel_2\u2069 {shown[2]}, [" in told.inner_text()


def page_numbers(explanation: cs.Explanation) -> list[str]:
    return list(map(number_format(explanation), explanation.values))


@pytest.mark.parametrize(("paper", "ink"), [("#ffffff", "#222222"), ("#111111", "#dddddd")])
def test_outputs_of_a_notebook_stand_together_in_its_colours(opened, paper, ink):
    outputs = [
        made_up(HOSTILE),
        compared(5, 3, {0: 0.9}, called=HOSTILE[:3]),
        compared(5, 3, {0: 0.9}),
        watched(HOSTILE, 3, {0: 0.9}, {0}, called=HOSTILE[:3]),
        watched(5, 1, {0: 0.9, 1: 0.8}, {0}),
    ]
    shown = "".join(found._repr_html_() for found in outputs * 2)
    page = opened(f"<!DOCTYPE html><meta charset=utf-8><body style='background:{paper};color:{ink}'>{shown}")
    page.wait_for_timeout(200)
    assert page.locator("img, [onerror], [onload], script").count() == 0
    assert page.locator(".clarysage-picture svg[data-row]").count() == 8
    assert page.locator(".clarysage-picture .slice").count() == 6
    assert page.locator("table:visible").count() == 14
    text = page.locator("svg[data-row] .row text").first
    assert text.evaluate("one => getComputedStyle(one).fill") == page.evaluate("getComputedStyle(document.body).color")
    picture, table = (page.locator(one).first.bounding_box() for one in (".clarysage-picture", "table"))
    assert picture["y"] + picture["height"] <= table["y"]  # though it comes after the table in the text
    if importlib.util.find_spec("axe_playwright_python"):
        violations = axe(page)
        assert [one for one in violations if one[0] not in WHOLE_PAGE] == []


@pytest.mark.needs("axe_playwright_python")
def test_axe_finds_nothing_to_complain_of(opened):
    trace = np.column_stack([np.arange(1, 9) * 64, np.arange(1, 9) * 4096, 1 / np.arange(1, 9), np.ones(8)])
    for found, scheme in (
        (made_up(12, notes=(Note("It is so.", advice="Try this."), "Plain."), trace=trace), "light"),
        (made_up([*HOSTILE, *map(str, range(64 - len(HOSTILE)))], stopped=cs.StopReason.BUDGET), "dark"),
        (
            compared(
                [*HOSTILE[:4], *map(str, range(8))],
                3,
                {0: 0.9, 9: -0.8},
                notes=(Note("It is so.", advice="Try this."),),
            ),
            "light",
        ),
        (compared(5, called=(HOSTILE[0], HOSTILE[7])), "dark"),
        (several(5), "light"),
        (pairs(HOSTILE[:4]), "dark"),
        (watched([*HOSTILE[:4], *map(str, range(4))], 1, {0: 0.9, 5: -0.8}, {0, 3}, notes=("It is so.",)), "light"),
        (watched(4, 5, {0: 0.9, 1: -0.8}, {(2, 0), (4, 3)}), "dark"),
    ):
        assert axe(opened(found, color_scheme=scheme)) == []


def test_text_has_contrast_of_four_and_a_half_in_both_colours(opened):
    for scheme in ("light", "dark"):
        notes = (Note("It is so.", advice="Try this."), "Plain.")
        for found in (
            made_up(12, notes=notes),
            compared(6, 3, {0: 0.9, 1: -0.8}, notes=notes),
            several(3),
            pairs(4),
            watched(4, 2, {0: 0.9, 1: -0.8}, {0, 2}, notes=notes),
            watched(3),
        ):
            assert opened(found, color_scheme=scheme).evaluate(FAINTEST) >= 4.5


def axe(page: Any) -> list[tuple[str, str]]:
    """What axe complains of, with the first element of each."""
    from axe_playwright_python.sync_playwright import Axe

    return [(one["id"], one["nodes"][0]["html"]) for one in Axe().run(page).response["violations"]]


WHOLE_PAGE = (
    "document-title",
    "html-has-lang",
    "landmark-one-main",
    "page-has-heading-one",
    "region",
)  # the notebook's


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
