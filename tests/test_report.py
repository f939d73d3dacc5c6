"""The page of an explanation: whole, safe, small, the same bytes each time, and what it says is so."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

import clarysage as cs
from clarysage._utils.display import visible
from clarysage.errors import Note, Set
from clarysage.inference.estimate import Target
from clarysage.render import html
from clarysage.render.chart import WIDE, _bar, _Scale, chart, ticks
from clarysage.render.figures import pixel_map
from clarysage.results.explanation import value_bars
from clarysage.results.summary import Ends, Image, Series
from clarysage.results.text import number_format
from clarysage.results.verdicts import GAINS, Verdicts, all_verdicts
from made_up import HOSTILE, made_up
from parsed_page import Page
from tests import cli_harness


def series(explanation: cs.Explanation, found: list[Verdicts]) -> Series:
    """The bars of an explanation."""
    return value_bars(explanation, found, GAINS).series[0]


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(html(made_up(12)))


def test_every_tag_is_closed_and_every_number_has_one_meaning(page):
    assert page.open == []
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))


def test_every_name_value_and_interval_is_in_the_table():
    explanation = made_up(12)
    text = html(explanation)
    show = number_format(explanation)
    cells = Page(text).texts["td"]
    for about in ("data", "rows", "population"):
        for low, high in zip(*explanation.interval(0.95, about=about), strict=True):
            assert sum(f"[{show(low)}, {show(high)}]" in cell for cell in cells) >= 1
    for name, value in zip(explanation.feature_names, explanation.values, strict=True):
        assert f'<th scope="row"><bdi>{name}</bdi></th><td class="number">{show(value)}</td>' in text


def test_the_data_of_the_page_are_those_of_the_explanation_in_the_order_of_the_rows():
    explanation = made_up(40)
    data = Page(html(explanation)).data["features"]
    order = np.argsort(-explanation.values)
    assert data["names"] == [explanation.feature_names[i] for i in order]
    np.testing.assert_allclose(data["columns"]["value"], explanation.values[order], rtol=1e-6)
    for about in ("data", "rows", "population"):
        low, _ = explanation.interval(about=about)
        np.testing.assert_allclose(data["views"][about]["low"], low[order], rtol=1e-6)
        errors = explanation.target(about).std_error
        np.testing.assert_allclose(data["views"][about]["std_error"], errors[order], rtol=1e-6)
    largest = np.argsort(-np.abs(explanation.values))
    assert [data["names"][data["rank"].index(k)] for k in range(40)] == [explanation.feature_names[i] for i in largest]


def test_nothing_is_asked_of_the_network_and_the_policy_lets_in_what_is_there_alone(page):
    text = html(made_up(12))
    assert not re.search(r"https?:|\burl\((?!#)|@import|[\"'(]//\w", text)
    assert not {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "embed", "base", "form"}
    assert not [found for _, found in page.elements if "style" in found or any(name.startswith("on") for name in found)]
    policy = page.having("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert {part.split()[0] for part in policy.split("; ")} == {
        "default-src",
        "script-src",
        "style-src",
        "base-uri",
        "form-action",
    }
    assert "\r" not in page.texts["script"][1]
    for kind, source in [("script-src", page.texts["script"][1]), ("style-src", page.texts["style"][0])]:
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy


def test_hostile_names_stay_names():
    named = Page(html(made_up(HOSTILE), title=HOSTILE[0]))
    plain = Page(html(made_up(len(HOSTILE)), title="plain"))
    assert named.open == []
    assert sorted(named.data["features"]["names"]) == sorted(HOSTILE)
    added = [tag for tag, _ in named.elements]
    for tag in [tag for tag, _ in plain.elements]:
        added.remove(tag)
    assert set(added) <= {"details", "summary", "bdi"}  # of names that are folded
    assert named.texts["title"][0] == HOSTILE[0]


def test_data_in_the_page_have_no_character_that_ends_or_breaks_a_script():
    raw = re.search(r'<script type="application/json" id="data">(.*?)</script>', html(made_up(HOSTILE)), re.DOTALL)[1]
    assert raw.isascii()
    assert not set("<>&") & set(raw)
    assert sorted(json.loads(raw)["features"]["names"]) == sorted(HOSTILE)


def test_what_turns_text_around_or_cannot_be_seen_is_spelled_out():
    text = html(made_up(HOSTILE))
    assert not set(text) & {*map(chr, range(0x202A, 0x202F)), "\u2067", "\x00", "\x07"}
    assert r"\u202etxet lamron\u2067" in text
    assert "שלום\u200f עולם" in text  # the mark belongs to the name
    assert html(made_up(["\ud800", "b"])).encode()  # a lone surrogate has no bytes


def test_a_long_name_is_whole_once_in_the_table_and_once_in_the_data():
    assert html(made_up(HOSTILE)).count("x" * 10_000) == 2


def test_fifty_features_take_less_than_300_kilobytes_and_784_less_than_two_million():
    assert len(html(made_up(50)).encode()) < 300_000
    assert len(html(made_up([f"{'long name ' * 8}{i}" for i in range(50)])).encode()) < 300_000
    assert len(html(made_up(784)).encode()) < 2_000_000


def test_the_same_explanation_gives_the_same_bytes_and_so_does_its_file(tmp_path):
    explanation = made_up(12)
    explanation.save(tmp_path / "a.json")
    assert html(explanation) == html(made_up(12)) == html(cs.load(tmp_path / "a.json"))


def test_no_row_of_the_data_is_on_the_page():
    per_example = np.full((99, 5), 0.123456789)
    explanation = made_up(5, per_example=per_example, per_example_error=per_example)
    assert html(explanation) == html(made_up(5))


def test_the_loss_with_and_without_features_is_told(page):
    explanation = made_up(12)
    show = number_format(explanation)
    assert page.texts["dd"][:3] == [
        show(12.5),
        show(12.5 - explanation.total),
        f"{show(abs(explanation.total))} ({100 * explanation.total / 12.5:.0f} %)",
    ]
    assert any("with them." in text for text in page.texts["p"])


def test_findings_are_those_of_intervals_about_each_thing():
    values, wide = np.array([1.0, 0.25, -0.5, 0.0]), np.array([0.05, 0.1, 0.1, 0.0])
    target = Target(values, wide, np.full(4, 1e6), np.zeros(4))
    narrow = np.array([0.001, 0.001, 0.001, 0.0])
    explanation = made_up("abcd", values=values, std_error=narrow, targets={"rows": target})
    data, rows = all_verdicts(explanation, 0.95)
    assert data.labels == ("helps", "helps", "hurts", "no effect")
    assert rows.labels == ("helps", "helps", "hurts", "no effect")
    unsure = replace(explanation, targets={"rows": replace(target, std_error=np.array([0.05, 0.115, 0.6, 0.0]))})
    assert all_verdicts(unsure, 0.95)[1].labels == ("helps", "likely helps", "undecided", "no effect")
    said = [" ".join(text.split()) for text in Page(html(unsure)).texts["li"]]
    assert "2 of 4 features help the model on this data. The most important: a (1.000), b (0.250)." in said
    assert any(text.startswith("1 of 4 features likely helps the model on other rows") for text in said)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (0.01, "It is known which 3 features have the largest values on this data: a (9.000), b (8.000), d (7.000)."),
        (9.0, "It is undecided which 3 features have the largest values on this data."),
    ],
)
def test_the_largest_values_are_named_where_they_are_known(error, expected):
    explanation = made_up("abcd", values=np.array([9.0, 8.0, 1.0, 7.0]), std_error=np.full(4, error), targets={})
    assert expected in [" ".join(text.split()) for text in Page(html(explanation)).texts["li"]]


def test_the_switch_has_what_is_known_and_starts_where_it_is_told_to():
    explanation = made_up(4)
    for about in ("data", "rows", "population", None):
        found = Page(html(explanation, about=about))
        shown = about or "population"
        assert found.having("html")[0]["data-view"] == shown
        checked = [one["value"] for one in found.having("input", type="radio") if "checked" in one]
        assert checked == [shown]
    alone = Page(html(replace(explanation, targets={})))
    assert alone.having("input", type="radio") == []
    assert alone.having("html")[0]["data-view"] == "data"
    with pytest.raises(cs.InputError, match="about: got 'world'"):
        html(explanation, about="world")
    with pytest.raises(cs.InputError, match="about: got 'rows'"):
        html(replace(explanation, targets={}), about="rows")


def test_the_table_and_the_chart_can_be_read_aloud(page):
    assert page.having("html", lang="en")
    assert len(page.having("th", scope="row")) == 12
    assert [one.get("aria-sort") for one in page.having("th", scope="col")] == [None, "descending", None, None, None]
    ids = {found.get("id") for _, found in page.elements}
    assert {found["aria-labelledby"] for _, found in page.elements if "aria-labelledby" in found} <= ids
    kinds = [tag for tag, _ in page.elements]
    assert [kinds[i + 1 : i + 3] for i, tag in enumerate(kinds) if tag == "svg" and i and kinds[i - 1] == "div"] == [
        ["title", "desc"]
    ]
    assert all(one.get("aria-label") for one in page.having("div", role="region"))
    assert len(page.texts["main"]) == len(page.texts["h1"]) == 1


def test_many_features_are_shown_in_part_and_few_are_not():
    many, few = Page(html(made_up(200))), Page(html(made_up(30)))
    assert sum("display" not in one for one in many.having("g") if "row" in (one.get("class") or "")) == 20
    assert many.having("select")
    assert not few.having("select")
    assert sum("display" not in one for one in few.having("g") if "row" in (one.get("class") or "")) == 30


def test_a_square_number_of_features_makes_an_image_with_a_square_each():
    values = np.zeros(64)
    values[[0, 9, 63]] = 1.0, -1.0, 0.5
    text = html(made_up([f"pixel_{i}" for i in range(64)], values=values))
    paths = dict(re.findall(r'<path class="(above|below)" fill-opacity="1.0" d="([^"]+)"/>', text))
    assert paths == {"above": "M0 0h1v1h-1z", "below": "M1 1h1v1h-1z"}
    assert '<path class="above" fill-opacity="0.5" d="M7 7h1v1h-1z"/>' in text
    assert "<details open><summary>8 × 8" in text
    assert "<details><summary>8 × 8" in html(made_up([f"{'ab'[i % 2]}{chr(97 + i)}" for i in range(64)], values=values))
    for p in (49, 65):
        assert 'class="pixels"' not in html(made_up(p))


def test_bars_and_intervals_are_where_the_axis_says(seed):
    explanation = made_up(9, seed)
    found = all_verdicts(explanation, 0.95)
    drawn = chart([series(explanation, found)], range(9), explanation.feature_names, range(9))
    (x1, t1), (x2, t2) = drawn.ticks[0], drawn.ticks[-1]

    def number(x: float) -> float:
        return t1 + (x - x1) * (t2 - t1) / (x2 - x1)

    step = number(0.11) - number(0.0)  # places are rounded to a tenth, at both ends of a bar and of the axis
    span = (drawn.ticks[-1][0] - drawn.ticks[0][0]) / (WIDE - drawn.names)
    for row in drawn.rows:
        (bar,), value = row.bars, explanation.values[row.index]
        end = bar.x + bar.width if "above" in bar.style else bar.x
        assert number(end) == pytest.approx(value, abs=4 * step / span)
        for one in bar.whiskers:
            reading = next(reading for reading in found if reading.about == one.view)
            if not one.is_cut_low:
                assert number(one.x1) == pytest.approx(reading.low[row.index], abs=4 * step / span)
            if not one.is_cut_high:
                assert number(one.x2) == pytest.approx(reading.high[row.index], abs=4 * step / span)


def test_an_endless_interval_leaves_the_bars_their_size():
    explanation = made_up(3, values=np.array([1.0, 0.5, -0.2]), std_error=np.array([0.1, 1e9, 0.1]), targets={})
    bars = series(explanation, all_verdicts(explanation, 0.95))
    first, second, _ = (row.bars[0] for row in chart([bars], range(3), explanation.feature_names, range(3)).rows)
    assert first.width > 80
    assert second.whiskers[0].is_cut_low
    assert second.whiskers[0].is_cut_high
    assert not first.whiskers[0].is_cut_high


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e300, 1e12])
def test_values_of_any_size_make_a_page(size):
    values = np.array([1.0, -0.5, 0.0]) * size
    explanation = made_up(3, values=values, std_error=np.abs(values) / 9, targets={}, base=None, total=None)
    assert Page(html(explanation)).open == []
    low, high = min(values), max(values)
    if size:
        found = ticks(float(low), float(high))
        assert 3 <= len(found) <= 10
        assert 0.0 in found


@pytest.fixture(scope="module")
def importances() -> cs.Importances:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] - X[:, 1] + rng.normal(size=40) / 4
    model = RandomForestRegressor(n_estimators=5, max_depth=3, random_state=0).fit(X, y)
    return cs.importances(model, X, y, refits=True, tolerance=0.2, rng=0, groups={"both": ["x0", "x1"]})


def test_every_measure_has_a_page(importances):
    assert len(importances) >= 10
    for name, explanation in importances.items():
        text = explanation.report()
        assert Page(text).open == [], name
        assert explanation.measure in text
        assert text.count("Use SAGE values") == (explanation.constant is None)
        assert ("helps" in Page(text).texts["table"][0]) <= (explanation.base is not None)
        assert "both: x0, x1" in text


def test_a_run_that_did_not_converge_warns_with_what_to_do():
    found = Page(html(made_up(3, stopped=cs.StopReason.BUDGET)))
    assert any(text.startswith("Warning. Not converged. Stopped at the budget") for text in found.texts["li"])
    assert any("larger budget" in text for text in found.texts["li"])
    for stopped in cs.StopReason:
        assert ("Not converged" in html(made_up(3, stopped=stopped))) != stopped.is_wanted


def test_advice_of_a_note_is_set_apart_and_comes_first():
    notes = (
        "Plain.",
        Note("Rows look unlike real ones.", advice=["Try ", Set("removal", "auto conditional"), "."]),
        Note("One row is heavy.", advice="Explain more rows."),
    )
    texts = [text for text in Page(html(made_up(3, notes=notes))).texts["li"] if "rows of" not in text]
    assert texts[-3:] == [
        'Warning. Rows look unlike real ones. Try removal="auto conditional".',
        "Warning. One row is heavy. Explain more rows.",
        "Plain.",
    ]


def test_the_trace_is_a_line_that_falls_as_the_errors_do():
    n = np.arange(1, 9)
    trace = np.column_stack([n * 64, n * 4096, 1 / np.sqrt(n), np.full(8, 5.0)])
    text = html(made_up(3, trace=trace))
    points = np.array([point.split(",") for point in re.search(r'points="([^"]+)"', text)[1].split()], dtype=float)
    steps = np.diff(points, axis=0)
    assert len(points) == 8
    slope = steps[:, 1] / steps[:, 0]  # a power law is straight on axes of powers
    np.testing.assert_allclose(slope, slope[0], rtol=0.05)
    assert (steps > 0).all()  # to the right, and down
    assert "from 0.2 of the range of the values after 64 draws to 0.071 of" in text
    assert "Trace of the run" not in html(made_up(3, trace=trace[:2]))
    assert "Trace of the run" not in html(made_up(3))


def test_whatever_a_file_says_of_its_origin_is_shown_as_text():
    told = {"model": "<b>Forest</b>", "seed": 2**70, "own_key": [1, {"a": None}], "fits": 12, "long": "y" * 9999}
    text = html(made_up(3, provenance=told))
    assert "<b>Forest" not in text
    assert "&lt;b&gt;Forest&lt;/b&gt;" in text
    assert str(2**70) in text
    assert "<dt>Own key</dt><dd>1, a None</dd>" in text
    assert "12 fits" in text
    assert "y" * 1000 not in text


def test_what_has_no_page_is_refused():
    for wrong in ("sage.json", None, [made_up(2)]):
        with pytest.raises(cs.InputError, match="result: got"):
            html(wrong)
    with pytest.raises(cs.InputError, match="title: got 3"):
        html(made_up(2), title=3)


def test_report_is_returned_or_written_whole(tmp_path):
    explanation = made_up(4)
    assert explanation.report(tmp_path / "a.html", "My title") is None
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == explanation.report(title="My title")
    assert "<title>My title</title>" in explanation.report(title="My title")
    with pytest.raises(cs.InputError, match="path: got"):
        explanation.report(tmp_path / "nowhere" / "a.html")
    assert [file.name for file in tmp_path.iterdir()] == ["a.html"]


def test_visible_names_keep_what_can_be_seen():
    assert visible("naïve 名前 🙂\u200d\u00ad") == "naïve 名前 🙂\u200d\u00ad"


# the command line


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made_up(4).save(tmp_path / "sage.json")
    (tmp_path / "plain.py").write_text("def f(rows):\n    return 2 * rows['a']\n")
    (tmp_path / "data.csv").write_text(
        "a,b,y\n" + "".join(f"{i % 7},{i % 3},{2 * (i % 7) + i % 2}\n" for i in range(30))
    )
    cli_harness.enter(tmp_path, monkeypatch)
    return tmp_path


def run(*arguments: str, code: int = 0) -> Any:
    result = cli_harness.run(*arguments)
    assert result.exit_code == code, result.output
    return result


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_report_writes_the_page_beside_the_file_or_where_it_is_told_to(folder):
    before = files(folder)
    assert run("report", "sage.json").stdout == ""
    assert files(folder) == before | {"sage.html"}
    assert (folder / "sage.html").read_text() == made_up(4).report()
    run("report", "sage.json", "-o", "other.html", "--title", "A & B", "--about", "rows", "--quiet")
    assert (folder / "other.html").read_text() == made_up(4).report(title="A & B", about="rows")
    assert run("report", "sage.json", "--html", "-", "-q").stdout == f"{made_up(4).report()}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nothing.json"], 1, "FILE: got nothing.json, which does not exist"),
        (["data.csv"], 1, "FILE: got data.csv, which is not JSON"),
        (["sage.json", "-o", "nowhere/a.html"], 1, "--html: got nowhere/a.html, in a folder that does not exist"),
        (["sage.json", "-o", "sage.json"], 1, "--html: got sage.json, which is an input of the run"),
        (["sage.json", "--about", "world"], 2, "--about: got 'world'"),
        ([], 2, "Missing argument 'FILE'"),
    ],
)
def test_a_report_that_cannot_be_written_is_one_line(folder, arguments, code, said):
    before = files(folder)
    result = run("report", *arguments, code=code)
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert files(folder) == before


def test_a_file_of_several_measures_has_its_page(folder, importances):
    importances.save(folder / "several.json")
    run("report", "several.json")
    assert (folder / "several.html").read_text() == importances.report()
    said = run("report", "several.json", "--about", "rows", code=1).stderr
    assert "--about: got rows; wanted no value for a result of type Importances" in said


def test_explain_writes_the_page_it_is_asked_for(folder):
    before = files(folder)
    result = run("explain", "plain:f", "data.csv", "--target", "y", "--json", "found.json", "--html", "found.html")
    assert files(folder) == before | {"found.json", "found.html"}
    assert "note: wrote found.html" in result.stderr
    assert (folder / "found.html").read_text() == cs.load("found.json").report()


@pytest.mark.parametrize(
    ("html_file", "said"),
    [
        ("nowhere/a.html", "--html: got nowhere/a.html"),
        ("-", "--html: got -"),
        ("a.json", "--html: got a.json, as for"),
    ],
)
def test_a_page_that_cannot_be_written_stops_explain_before_the_work(folder, html_file, said):
    before = files(folder)
    result = run("explain", "plain:f", "data.csv", "--target", "y", "--json", "a.json", "--html", html_file, code=1)
    assert said in result.stderr
    assert files(folder) == before


def test_the_demo_writes_its_report(folder):
    run("demo", "--folder", "shown")
    assert files(folder / "shown") == {"sage.json", "sage.png", "report.html"}
    assert (folder / "shown" / "report.html").read_text() == cs.load("shown/sage.json").report()


def test_thousands_are_set_apart_in_cards_tables_and_charts():
    explanation = made_up(3)
    large = replace(explanation, values=np.array([41234.0, 9100.0, -1500.0]), targets={}, base=90000.0, total=48834.0)
    page = Page(html(large))
    assert {"90,000", "41,166", "48,834 (54 %)"} <= set(page.texts["dd"])
    assert "41,234" in page.texts["td"]
    assert "40,000" in page.texts["text"]


def test_pixels_are_drawn_in_the_rows_and_columns_they_have() -> None:
    values = np.zeros((8, 8))
    values[1, 5] = 1.0  # the second row from the top, the sixth column
    image = pixel_map(Image(values.ravel(), "1", "0"))
    assert [shade.path for shade in image.shades] == ["M5 1h1v1h-1z"]


@pytest.mark.parametrize(("low", "high", "cut"), [(-5.0, 0.5, (True, False)), (-0.5, 5.0, (False, True))])
def test_an_interval_that_leaves_the_picture_has_its_arrow_where_it_leaves(
    low: float, high: float, cut: tuple[bool, bool]
) -> None:
    ends = Ends(np.array([low]), np.array([high]), np.array([True]))
    (whisker,) = _bar(Series(np.array([0.2]), (ends,)), 0, 0.0, _Scale(-1.0, 1.0, 0.0, WIDE)).whiskers
    assert (whisker.is_cut_low, whisker.is_cut_high) == cut
    assert whisker.x1 < whisker.x2
