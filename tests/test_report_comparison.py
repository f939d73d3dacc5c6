"""The page of a comparison, and results in notebooks: whole, safe, small, and what they say is so."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import clarysage as cs
from clarysage.errors import Note
from clarysage.inference.estimate import Target
from clarysage.plots.comparison import COLOURS
from clarysage.render import html, notebook
from clarysage.render.chart import HEAD, bars
from clarysage.render.pages import source
from clarysage.results.comparison_view import (
    DIFFERENCES,
    VALUES,
    change_bars,
    changes_of,
    display_names,
    indices_with_bars,
    items_by_change,
    shared_format,
    signed,
)
from made_up import HOSTILE, compared, made_up
from parsed_page import Page
from tests.cli_harness import run

BEFORE_AFTER = ("before", "after")


@pytest.fixture(scope="module")
def two() -> cs.Comparison:
    return compared(12, changes={0: -0.9, 6: 0.7, 11: 0.6}, called=BEFORE_AFTER)


@pytest.fixture(scope="module")
def page(two) -> Page:
    return Page(html(two))


def table_rows(text: str) -> list[list[str]]:
    """Texts of the cells of the first table, row by row."""
    body = re.search(r"<tbody>(.*?)</tbody>", text, re.DOTALL)[1]
    return [re.sub(r"<[^>]+>", "\t", row).split("\t") for row in body.split("</tr>")[:-1]]


def cells(text: str) -> list[list[str]]:
    return [[cell for cell in row if cell.strip()] for row in table_rows(text)]


def test_every_tag_is_closed_and_ids_are_one_each(page):
    assert page.open == []
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))


def test_every_number_of_the_frame_is_in_the_table_largest_difference_first(two):
    show, frame = shared_format(*two.explanations), two.to_frame()
    rows = cells(html(two))
    assert [row[0] for row in rows] == frame["feature"].tolist()
    for row, found in zip(rows, frame.itertuples(), strict=True):
        assert row[1:5] == [
            show(found.reference),
            show(found.other),
            signed(show(found.difference)),
            f"[{show(found.low)}, {show(found.high)}]",
        ]
        word = ("rose" if found.difference > 0 else "fell") if found.changed else "no known change"
        assert row[6] == word


def test_what_changed_is_said_in_words_and_how_it_was_tested(two):
    text = html(two)
    said = [" ".join(one.split()) for one in Page(text).texts["li"]]
    show, values = shared_format(*two.explanations), [one.values for one in two.explanations]
    assert "3 of 12 features contribute more or less in after than in before." in text
    (fell,) = (one for one in said if "less in after" in one)
    assert fell == (
        "1 of 12 features contributes less in after than in before: feature 0 "
        f"(from {show(values[0][0])} to {show(values[1][0])})."
    )
    (rose,) = (one for one in said if "more in after" in one)
    assert rose.startswith("2 of 12 features contribute more in after than in before: feature 6 (from")
    assert "the chance of any false mark in the table is at most 5 %" in text
    assert "treated as independent samples of rows" in text


def test_where_nothing_changed_the_page_says_so_and_what_that_means():
    text = html(compared(5, called=BEFORE_AFTER))
    assert "Nothing is known to have changed between before and after." in text
    assert "how large a change may have been missed" in text
    assert 'class="star"' not in re.sub(r'<ul class="clarysage-legend">.*?</ul>', "", text, flags=re.DOTALL)
    assert {row[-1] for row in cells(text)} == {"no known change"}
    exact = compared(2)
    nothing = Target(np.zeros(2), np.zeros(2), np.full(2, 50.0), np.zeros(2))
    exact = replace(
        exact, explanations=(exact.reference,) * 2, differences=(replace(exact.differences[0], target=nothing),)
    )
    assert {row[-1] for row in cells(html(exact))} == {"no change"}


def test_losses_of_all_are_told_with_how_far_they_moved(two, page):
    show = shared_format(*two.explanations)
    first, other = (one.base - one.total for one in two.explanations)
    assert page.texts["dd"][:2] == [show(first), f"{show(other)} ({signed(show(other - first))})"]


def test_bars_and_stars_are_where_the_axis_says(two):
    found = changes_of(two, 0.95)
    for view in (VALUES, DIFFERENCES):
        shown = bars(change_bars(two, found, view, 0.95)).chart
        (x1, t1), (x2, t2) = shown.ticks[0], shown.ticks[-1]
        scale = (t2 - t1) / (x2 - x1)
        several = [one.values for one in two.explanations] if view == VALUES else [found[0].values]
        for row in shown.rows:
            for bar, values in zip(row.bars, several, strict=True):
                value = values[row.index]
                end = bar.x + bar.width if value >= 0 else bar.x
                assert t1 + (end - x1) * scale == pytest.approx(value, abs=0.4 * scale)  # a tenth, at four ends
            stars = [bar.star is not None for bar in row.bars]
            assert stars == [False] * (len(stars) - 1) + [bool(found[0].is_changed[row.index])]
        assert [row.y for row in shown.rows] == [HEAD + shown.row * k for k in range(12)]


def test_faint_bars_are_those_that_are_not_flagged(two):
    found = changes_of(two, 0.95)
    rows = bars(change_bars(two, found, DIFFERENCES, 0.95)).chart.rows
    assert [("faint" in row.bars[0].style.split()) for row in rows] == [False] * 3 + [True] * 9


def test_colours_of_bars_are_those_of_the_plot():
    for style in ("style.css", "notebook.css"):
        found = re.findall(r"--series-(\d): (#[0-9a-f]{6})", source(style))[: len(COLOURS)]
        assert [(int(k), colour) for k, colour in found] == [(k, one.lower()) for k, one in enumerate(COLOURS)]


def test_several_are_compared_in_one_table_and_of_many_those_that_moved_most_have_bars():
    several = compared(6, 5, {2: 0.8}, called=["Jan", "Feb", "Mar", "Apr", "May"])
    rows = cells(html(several))
    assert sorted((row[0], row[1]) for row in rows) == sorted(
        (name, other) for name in several.feature_names for other in several.names[1:]
    )
    assert [row[:2] for row in rows[:4]] == [["feature 2", month] for month in ("May", "Apr", "Mar", "Feb")]
    many = compared(3, 10, {1: 0.8})
    assert indices_with_bars(changes_of(many, 0.95)) == [3, 4, 5, 6, 7, 8]
    text = html(many)
    assert "Of 9 explanations the 6 with the largest differences have bars" in text
    assert len(cells(text)) == 27
    assert "in at least one of 9 others" in text


def test_many_features_are_shown_in_part_those_that_changed_among_them():
    found = compared(200, changes=dict.fromkeys(range(60, 200, 10), 0.6))
    features = items_by_change(found)
    assert len(features.shown) == 20
    assert {found.feature_names[i] for i in features.shown} >= set(found.changed)
    assert len(found.changed) == 14


def test_the_same_comparison_gives_the_same_bytes_and_so_does_its_file(two, tmp_path):
    two.save(tmp_path / "two.json")
    assert html(two) == html(cs.load(tmp_path / "two.json"))
    assert two.report(tmp_path / "a.html", "My <title>") is None
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == two.report(title="My <title>")
    assert "<title>My &lt;title&gt;</title>" in two.report(title="My <title>")


def test_fifty_features_take_less_than_300_kilobytes():
    assert len(html(compared(50, changes={3: 0.5})).encode()) < 300_000
    assert len(html(compared(50, 7, {3: 0.5})).encode()) < 300_000
    assert len(html(compared([f"{'long name ' * 8}{i}" for i in range(50)])).encode()) < 300_000


def test_hostile_names_stay_names():
    plain = Page(html(compared(len(HOSTILE), 3, {0: 0.9}), title="plain"))
    named = Page(html(compared(HOSTILE, 3, {0: 0.9}, called=[HOSTILE[0], HOSTILE[7], HOSTILE[4]]), title="plain"))
    assert named.open == []
    assert sorted(named.data["features"]["names"]) == sorted(HOSTILE)
    assert named.data["features"]["others"] == [HOSTILE[7], HOSTILE[4]]
    added = [tag for tag, _ in named.elements]
    for tag in [tag for tag, _ in plain.elements]:
        added.remove(tag)
    assert set(added) <= {"details", "summary", "bdi", "line", "text"}  # of folded names, and of another axis
    turned = html(compared(2, called=["\u202ea", "שלום"]))
    assert not set(turned) & {*map(chr, range(0x202A, 0x202F))}
    assert "<title>\\u202ea and \u2068שלום\u2069 compared</title>" in turned


def test_names_that_begin_alike_are_told_apart():
    found = compared(2, 3, called=["y" * 50 + "1", "y" * 50 + "2", "z"])
    assert [name[-3:] for name in display_names(found)[:2]] == ["(1)", "(2)"]
    assert display_names(found)[2] == "z"


def test_what_all_runs_share_is_told_once_and_the_rest_by_run(two):
    unlike = replace(two, explanations=(two.explanations[0], replace(two.explanations[1], model_rows=99)))
    text = html(unlike)
    assert text.count("<dt>Model</dt><dd>Forest</dd>") == 1
    assert "<dt>Cost</dt>" not in text
    assert "<td>99 model rows, 120 draws</td>" in text
    assert text.count("Loss &#39;squared error&#39; was chosen for this model.") == 1


def test_warnings_say_whose_they_are_and_what_to_do(two):
    ended = replace(two.explanations[1], stopped=cs.StopReason.BUDGET, notes=(Note("Odd.", advice="Try another."),))
    found = Page(html(replace(two, explanations=(two.explanations[0], ended), notes=("Both are odd.",))))
    texts = found.texts["li"]
    assert any(text.startswith("Warning. after: Not converged.") and "larger budget" in text for text in texts)
    assert "Warning. after: Odd. Try another." in texts
    assert "Both are odd." in texts


def test_what_is_about_something_else_is_refused(two):
    with pytest.raises(cs.InputError, match="about: got 'rows'; wanted None for a Comparison"):
        html(two, about="rows")
    with pytest.raises(cs.InputError, match=r"result: got list; wanted one of Explanation, .*Comparison"):
        html([two])


def test_every_measure_can_be_compared_on_a_page():
    heuristic = made_up(3, base=None, total=None, constant=None, measure="gini importance", loss="none")
    text = html(cs.compare(heuristic, heuristic, paired=False))
    assert Page(text).open == []
    assert "values by the measure &#39;gini importance&#39;." in text
    assert 'class="figures"' not in text
    assert text.count("Use SAGE values") == 1


# the command line


def test_the_command_writes_the_page_of_a_comparison(two, tmp_path: Path):
    two.save(tmp_path / "two.json")
    made = run("report", str(tmp_path / "two.json"), "--title", "A & B")
    assert made.exit_code == 0, made.output
    assert (tmp_path / "two.html").read_text() == two.report(title="A & B")
    refused = run("report", str(tmp_path / "two.json"), "--about", "rows")
    assert refused.exit_code != 0
    assert "--about: got rows; wanted no value for a result of type Comparison" in refused.stderr


# notebooks


def test_notebooks_have_the_chart_of_the_page_and_the_table(two):
    for found, view in ((made_up(12, targets={}), ""), (two, VALUES)):
        shown, whole = found._repr_html_(), html(found)
        charts = re.findall(r'<svg class="clarysage-chart" role="img".*?</g>\n</svg>', whole, re.DOTALL)
        assert charts, view
        assert charts[0] in shown
        assert shown.count("<table>") == 1
        assert Page(shown).open == []


def test_outputs_of_notebooks_have_no_ids_no_scripts_and_a_style_that_stays_with_them(two):
    for found in (made_up(HOSTILE), compared(HOSTILE, 3, {0: 0.9}, called=HOSTILE[:3]), two):
        page = Page(notebook(found))
        assert page.open == []
        assert not [one for _, one in page.elements if "id" in one or any(name.startswith("on") for name in one)]
        assert not {tag for tag, _ in page.elements} & {"script", "img", "iframe", "link", "object"}
        style = page.texts["style"][0]
        for rule in re.findall(r"([^{}]+)\{", style):
            assert all(".clarysage-" in one or "data-view" in one for one in rule.split(",")), rule
        assert "url(" not in style


def test_the_table_of_a_notebook_is_there_without_its_picture_and_style(two):
    for found in (made_up(20), two):
        shown = notebook(found)
        bare = re.sub(r"<style>.*?</style>|<svg.*?</svg>(?!</g>)", "", shown, flags=re.DOTALL)
        assert bare.index("<table>") < shown.index("<svg")
        for name in found.feature_names:
            assert f">{name}</th>" in bare


def test_notebooks_draw_the_largest_of_many_features_alone():
    shown = notebook(made_up(200))
    assert shown.count('<g class="row"') == 20
    assert "20 of 200 features are drawn." in shown
    assert "display=" not in re.sub(r"<style>.*?</style>", "", shown, flags=re.DOTALL)
