"""The page of a model that is watched: whole, safe, small, and what it says is so."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import clarysage as cs
from clarysage.errors import Note
from clarysage.inference.intervals import two_sided
from clarysage.render import html, notebook
from clarysage.render.lines import lines
from clarysage.results import Shift
from clarysage.results.comparison_view import ALONG, FLAGGED, shared_format, signed
from clarysage.results.finding import ALONE, BOTH, CERTAIN, FOLLOWS, INPUTS, UNCHANGED
from clarysage.results.monitoring_view import (
    MEANINGS,
    changes_with_verdicts,
    input_rows,
    most_telling_rows,
    slice_lines,
    slices_with_bars,
)
from clarysage.results.text import p_value_words
from made_up import HOSTILE, watched
from parsed_page import Page
from tests.cli_harness import run

CHANGES = {0: -0.9, 6: 0.7, 11: 0.6}


@pytest.fixture(scope="module")
def one() -> cs.Monitoring:
    """A feature that broke, two that follow, and one whose inputs shifted alone."""
    return watched(12, 1, CHANGES, {0, 3}, notes=(Note("It is so.", advice="Try this."),))


@pytest.fixture(scope="module")
def several() -> cs.Monitoring:
    """The feature broke in the last two of four slices."""
    return watched(12, 4, {0: -0.9}, {(2, 0), (3, 0), (1, 5)}, called=("Jan", "Feb", "Mar", "Apr"))


def without_losses(found: cs.Monitoring) -> cs.Monitoring:
    effects = [replace(one, measure="shapley effects", values_are="variance") for one in found.comparison.explanations]
    return replace(found, comparison=replace(found.comparison, explanations=tuple(effects)))


def rows_of(text: str, section: str) -> list[list[str]]:
    """Texts of the cells of the table in a section, row by row."""
    table = re.search(rf'<section id="{section}".*?<tbody>(.*?)</tbody>', text, re.DOTALL)[1]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("</tr>")[:-1]]
    return [[re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", cell))).strip() for cell in row] for row in rows]


@pytest.mark.parametrize("slices", [1, 4])
def test_every_tag_is_closed_ids_are_one_each_and_every_list_has_its_section(slices):
    page = Page(html(watched(5, slices, {0: 0.9}, {0})))
    assert page.open == []
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    assert set(page.data) <= set(ids)
    assert ("slices" in page.data) == (slices > 1)


def test_the_alarm_comes_first_and_every_sentence_has_its_verdict(one):
    text = html(one)
    alarm, *said = one.sentences()
    assert f'<p class="lead alarm raised">{alarm}</p>' in text
    found = re.search(r'<ul class="findings">(.*?)</ul>', text, re.DOTALL)[1]
    items = [" ".join(item.split()) for item in Page(found).texts["li"]]
    tags = ["flagged", "along with others", "along with others", "inputs alone"]
    assert items == [f"{tag} {sentence}" for tag, sentence in zip(tags, said, strict=True)]
    assert re.findall(r'<li class="([^"]+)">', found) == [
        "inputs-and-contribution",
        "along-with-others",
        "along-with-others",
        "inputs-alone",
    ]


@pytest.mark.parametrize("slices", [1, 4])
def test_inputs_that_shifted_for_certain_are_flagged_without_a_star_at_their_contribution(slices):
    found = watched(5, slices, {}, {3}, distance=0.9)
    text = html(found)
    assert '<p class="lead alarm raised">FLAGGED: feature 3.</p>' in text
    assert '<li class="inputs-for-certain">' in text
    assert 'class="star' not in text
    assert CERTAIN in {row[2 if slices > 1 else 1].split(" values")[0] for row in rows_of(text, "features")}


def test_where_nothing_is_flagged_the_page_says_so_and_what_that_means():
    text = html(watched(5))
    assert '<p class="lead alarm quieted">Nothing is flagged: no contribution is known to have changed.' in text
    assert "how large a change may have been missed" in text
    assert 'class="findings"' not in text
    assert 'class="star' not in text
    assert {row[1] for row in rows_of(text, "features")} == {UNCHANGED}


def test_every_number_of_the_frame_is_in_the_table_of_features_largest_difference_first(one):
    show, frame = shared_format(*one.comparison.explanations), one.to_frame()
    frame = frame.iloc[np.argsort(-frame["difference"].abs(), kind="stable")]
    rows = rows_of(html(one), "features")
    assert len(rows) == len(frame)
    for row, found in zip(rows, frame.itertuples(), strict=True):
        assert row == [
            found.feature,
            f"{found.verdict} {found.inputs}".strip(),
            show(found.reference),
            show(found.current),
            signed(show(found.difference)),
            f"[{show(found.low)}, {show(found.high)}]",
            p_value_words(found.p_adjusted),
            f"{found.inputs_distance:.2f}",
            p_value_words(found.inputs_p_adjusted),
        ]
    assert {row[1].split(" values")[0] for row in rows} == {BOTH, FOLLOWS, INPUTS, UNCHANGED}


def test_inputs_have_their_kind_distance_p_hints_and_facts(one):
    rows = rows_of(html(one), "inputs")
    assert [row[0] for row in rows[:2]] == ["feature 0", "feature 3"]
    assert rows[0][1:] == [
        "numbers",
        "0.900",
        "<0.001",
        "shifted : values are about 60 times the reference's median 181, now 10,860; missing 0 %, now 1 %",
    ]
    assert rows[2][1:] == ["numbers", "0.030", "1.000", "no known shift median 181, now 182; missing 0 %, now 1 %"]
    assert len(rows) == 12


def test_hints_of_inputs_that_may_be_chance_are_not_told():
    found = watched(2)
    doubtful = Shift("feature 0", "numbers", 0.05, 0.03, ("values are about 1.1 times the reference's",), {})
    found = replace(found, shifts=((doubtful, found.shifts[0][1]),))
    assert "1.1 times" not in html(found)  # 0.06 when adjusted


def test_losses_and_rows_are_told_with_how_far_they_moved(one, several):
    show = shared_format(*one.comparison.explanations)
    first, last = one.losses
    assert Page(html(one)).texts["dd"][:4] == [show(first), f"{show(last)} ({signed(show(last - first))})", "99", "99"]
    show, losses = shared_format(*several.comparison.explanations), several.losses
    page = Page(html(several))
    assert page.texts["dt"][:5] == [
        "Mean squared error in reference",
        "Mean squared error in Apr, the highest and last",
        "Flagged slices",
        "Rows in reference",
        "Rows in 4 slices",
    ]
    assert page.texts["dd"][1] == f"{show(losses[4])} ({signed(show(losses[4] - losses[0]))})"
    assert page.texts["dd"][2:5] == ["4 of 4", "99", "396"]


def test_effects_have_no_losses_and_are_not_called_contributions(one, several):
    for found in (one, several):
        text = html(without_losses(found))
        assert Page(text).open == []
        assert "Mean squared error" not in text
        assert "mean loss" not in text.lower()
        assert "its effect changed, and so did its own inputs" in text


def test_every_verdict_is_explained_with_its_error_rate(one):
    assert set(MEANINGS) == {BOTH, ALONE, CERTAIN, FOLLOWS, INPUTS, UNCHANGED}
    text = html(one)
    for verdict in MEANINGS:
        assert f'<dt><span class="known {verdict.replace(" ", "-")}">{verdict}</span></dt>' in text
    assert "the probability that anything is flagged by its contribution is at most 5 %" in text
    assert "The probability that anything is flagged by its inputs for certain is at most 0.005 %." in text
    assert "treated as independent samples of rows" in text
    for adjust, words in (
        ("benjamini hochberg", "About 5 % of the contributions that are reported as changed have not changed"),
        (
            None,
            "each test reports a change with a probability of about 5 %, and there are 12 tests of contributions and "
            "12 of inputs",
        ),
    ):
        assert words in html(replace(one, comparison=replace(one.comparison, adjust=adjust)))
    stricter = replace(one, comparison=replace(one.comparison, level=0.99))
    assert "is flagged by its contribution is at most 1 %" in html(stricter)


def test_stars_are_full_where_features_are_flagged_and_hollow_where_they_follow(one):
    (change,) = changes_with_verdicts(one, 0.95)
    assert dict(zip(*np.unique(change.marks, return_counts=True), strict=True)) == {"": 9, FLAGGED: 1, ALONG: 2}
    text = html(one)
    charts = re.findall(r'<svg class="clarysage-chart" role="img".*?</g>\n</svg>', text, re.DOTALL)
    assert [(chart.count('class="star"'), chart.count('class="star along"')) for chart in charts] == [(1, 2)] * 2
    assert "changed along with others</li>" in text


# slices


def places(points: str) -> np.ndarray:
    return np.array([[float(part) for part in point.split(",")] for point in points.split()])


def test_lines_bands_and_references_are_where_the_axes_say(several):
    chart = lines(slice_lines(several, 0.95))
    losses, contributions, inputs = chart.panels
    explanations = several.comparison.explanations
    shown = [name for name, _ in chart.legend]
    assert shown[:2] == ["feature 0", "feature 5"]  # flagged, then known to have shifted
    for panel, k, values in [
        (losses, 0, several.losses),
        *((contributions, k, [one.values[int(name[8:])] for one in explanations]) for k, name in enumerate(shown)),
        *(
            (inputs, k, [None, *(several.findings(where)[int(name[8:])].shift.distance for where in several.names)])
            for k, name in enumerate(shown)
        ),
    ]:
        (y1, t1), (y2, t2) = panel.ticks[0], panel.ticks[-1]
        scale = (t2 - t1) / (y2 - y1)
        line = panel.lines[k]
        np.testing.assert_allclose(
            t1 + (places(line.points)[:, 1] - y1) * scale, values[1:], atol=0.2 * abs(scale)
        )  # places are rounded to a tenth
        if values[0] is not None:
            assert t1 + (line.reference - y1) * scale == pytest.approx(values[0], abs=0.2 * abs(scale))
    (y1, t1), (y2, t2) = contributions.ticks[0], contributions.ticks[-1]
    around = t1 + (places(contributions.lines[0].band)[:, 1] - y1) * (t2 - t1) / (y2 - y1)
    ends = np.array([one.interval(0.95, about=several.comparison.differences[0].about) for one in explanations[1:]])
    expected = [*ends[:, 0, 0], *ends[::-1, 1, 0]]
    np.testing.assert_allclose(around, expected, atol=0.2 * abs((t2 - t1) / (y2 - y1)))


def test_stars_diamonds_and_pale_columns_are_where_something_is_known():
    found = watched(4, 4, {0: -0.9}, {(2, 0), (3, 0), (0, 3)})
    chart = lines(slice_lines(found, 0.95))
    contributions, inputs = chart.panels[-2:]
    x = places(contributions.lines[0].points)[:, 0]
    flagged = [[one.is_flagged for one in found.findings(where)] for where in found.names]
    assert [one.is_flagged for one in chart.slices] == [any(row) for row in flagged]
    assert [star[0] for star in contributions.lines[0].stars] == [
        a for a, row in zip(x, flagged, strict=True) if row[0]
    ]
    shapes = dict(zip([name for name, _ in chart.legend], inputs.lines, strict=True))
    assert [shapes[name].marks.count("M") for name in ("feature 0", "feature 3")] == [2, 1]


def test_the_table_of_slices_has_rows_losses_and_what_is_known(several):
    text, show = html(several), shared_format(*several.comparison.explanations)
    rows = rows_of(text, "slices")
    assert [row[0] for row in rows] == ["reference", "Jan", "Feb", "Mar", "Apr"]
    assert [row[2] for row in rows] == [show(loss) for loss in several.losses]
    for row, where in zip(rows[1:], several.names, strict=True):
        found = several.findings(where)
        assert row[3] == ", ".join(one.feature for one in found if one.is_flagged)
        assert row[4] == ", ".join(one.feature for one in found if one.verdict == INPUTS)
    data = Page(text).data["slices"]
    assert data["names"] == ["reference", "Jan", "Feb", "Mar", "Apr"]
    assert data["columns"]["place"] == [0, 1, 2, 3, 4]


def test_features_and_inputs_of_slices_are_told_by_slice(several):
    text = html(several)
    told = {section: sorted((row[0], row[1]) for row in rows_of(text, section)) for section in ("features", "inputs")}
    assert told["features"] == sorted((name, where) for name in several.feature_names for where in several.names)
    elsewhere = [(name, "Jan") for name in several.feature_names if name not in ("feature 0", "feature 5")]
    assert told["inputs"] == sorted(
        [("feature 0", "Mar"), ("feature 0", "Apr"), ("feature 5", "Feb"), *elsewhere]
    )  # where they shifted, and of others the furthest
    assert "The table has 13 of 48 rows" in text
    for section in told:
        assert Page(text).data[section]["others"] == list(several.names)


def test_bars_are_of_the_slices_in_which_most_is_flagged():
    found = changes_with_verdicts(watched(12, 6, {0: -0.9}), 0.95)
    assert slices_with_bars(found) == [4, 5]  # the largest differences, where as many are flagged in all
    quiet = [replace(one, marks=np.full(12, "")) if k > 2 else one for k, one in enumerate(found)]
    assert slices_with_bars(quiet) == [1, 2]
    text = html(watched(12, 6, {0: -0.9}))
    assert "Of 6 slices the 2 with the most flags" in text
    assert text.count('<rect class="bar ') == 12 * (3 + 2)  # values with the reference's, and differences


def test_of_very_many_findings_the_table_keeps_what_is_known_and_each_feature():
    found = watched(50, 20, {3: -0.9}, {(k, 3) for k in range(10)} | {(k, 7) for k in range(4)})
    changed = changes_with_verdicts(found, 0.95)
    rows = most_telling_rows(changed)
    assert len(rows) == 240
    assert {i for _, i in rows} == set(range(50))
    known = {(k, i) for k, one in enumerate(changed) for i in np.flatnonzero(one.verdicts != UNCHANGED)}
    assert known <= set(rows)
    sizes = [abs(changed[k].values[i]) for k, i in rows]
    assert sizes == sorted(sizes, reverse=True)
    _, inputs = input_rows(found)
    assert len(inputs) == 14 + 48  # where they shifted, and once each of the others
    assert {one.position[1] for one in inputs} == set(range(50))
    assert sum(one.is_shifted for one in inputs) == 14
    text = html(found)
    assert "The table has 240 of 1,000 findings" in text
    assert len(rows_of(text, "features")) == 240


def test_columns_of_a_file_may_come_in_another_order_in_each_slice(several):
    turned = replace(several, shifts=(several.shifts[0], *(row[::-1] for row in several.shifts[1:])))
    assert sorted(rows_of(html(turned), "inputs")) == sorted(rows_of(html(several), "inputs"))


def test_groups_are_told_by_their_columns():
    found = watched(["weather", "age"], 1, {0: -0.9})
    told = [replace(one, groups={"weather": ["rain", "wind"]}) for one in found.comparison.explanations]
    broken, (whole, age) = Shift("wind", "numbers", 0.8, 1e-30, ("all values are zero",), {}), found.shifts[0]
    shifts = ((replace(whole, column="rain"), broken, age),)
    text = html(cs.Monitoring(replace(found.comparison, explanations=tuple(told)), shifts))
    assert rows_of(text, "inputs")[0][0] == "wind"
    (weather,) = (row for row in rows_of(text, "features") if row[0] == "weather")
    assert weather[1] == f"{BOTH} in wind all values are zero"


# safe, and small


def test_fifty_features_take_less_than_300_kilobytes_in_twelve_slices_too_and_in_sixty_less_than_600():
    assert len(html(watched(50, 1, {3: 0.5}, {3, 8})).encode()) < 300_000
    assert len(html(watched(50, 12, {3: 0.5, 4: 0.7}, {(k, 3) for k in range(6, 12)} | {8})).encode()) < 300_000
    shifted = {(k, 3) for k in range(30, 60)} | {(k, 8) for k in range(9)}
    assert len(html(watched(50, 60, {3: 0.5, 4: 0.7}, shifted)).encode()) < 400_000
    worst = watched(50, 60, dict.fromkeys(range(50), 0.5), range(50))
    assert len(html(worst).encode()) < 600_000


@pytest.mark.parametrize("slices", [1, 3])
def test_hostile_names_and_categories_stay_what_they_are(slices):
    hint = f"new are {', '.join(HOSTILE)}"
    called = HOSTILE[:1] if slices == 1 else (HOSTILE[0], HOSTILE[7], HOSTILE[4])
    plain = Page(html(watched(len(HOSTILE), slices, {0: 0.9}, {0, 5}), title="plain"))
    found = watched(HOSTILE, slices, {0: 0.9}, {0, 5}, called=called, hint=hint)
    text = html(found, title="plain")
    named = Page(text)
    assert named.open == []
    for section in ("features", "inputs"):
        assert sorted(named.data[section]["names"]) == sorted(HOSTILE)
    added = [tag for tag, _ in named.elements]
    for tag in [tag for tag, _ in plain.elements]:
        if tag in added:
            added.remove(tag)
    assert set(added) <= {"details", "summary", "bdi", "text", "line"}  # of names that are folded; of ticks
    assert not set(text) & {*map(chr, range(0x202A, 0x202F)), "\x00", "\x07"}
    assert len(text.encode()) < 260_000
    assert Page(found._repr_html_()).open == []


def test_the_same_monitoring_gives_the_same_bytes_and_so_does_its_file(one, several, tmp_path):
    for found in (one, several):
        found.save(tmp_path / "found.json")
        assert html(found) == html(cs.load(tmp_path / "found.json"))
    assert one.report(tmp_path / "a.html", "My <title>") is None
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == one.report(title="My <title>")
    assert "<title>Forest on current against reference</title>" in html(one)
    assert "<title>Forest on 4 slices against reference</title>" in html(several)


def test_warnings_say_whose_they_are_and_what_to_do(one):
    ended = replace(one.comparison.explanations[1], stopped=cs.StopReason.BUDGET)
    comparison = replace(one.comparison, explanations=(one.comparison.reference, ended), notes=("Tails. More rows.",))
    texts = Page(html(replace(one, comparison=comparison))).texts["li"]
    assert "Warning. It is so. Try this." in texts
    assert any(text.startswith("Warning. current: Not converged.") for text in texts)
    assert any("Tails." in text for text in texts)


def test_what_is_about_something_else_is_refused(one):
    with pytest.raises(cs.InputError, match="about: got 'rows'; wanted None for a Monitoring"):
        html(one, about="rows")


# the command line, and notebooks


def test_the_command_writes_the_page_of_a_monitoring(one, tmp_path: Path):
    one.save(tmp_path / "one.json")
    made = run("report", str(tmp_path / "one.json"), "--title", "A & B")
    assert made.exit_code == 0, made.output
    assert (tmp_path / "one.html").read_text() == one.report(title="A & B")


def test_notebooks_have_the_first_chart_of_the_page_and_the_table(one, several):
    for found in (one, several):
        shown, whole = found._repr_html_(), html(found)
        chart = re.search(r'<svg class="clarysage-chart" role="img".*?</g>\n</svg>', whole, re.DOTALL)[0]
        assert chart in shown
        assert shown.count("<table>") == 1
        page = Page(shown)
        assert page.open == []
        assert not [element for _, element in page.elements if "id" in element]
        assert found.sentences()[0] in shown
    assert "3 of 12 features are drawn." in notebook(several)


def test_notebooks_draw_the_largest_of_many_features_alone():
    shown = notebook(watched(200, 1, {150: 0.9}, {150}))
    assert shown.count('<g class="row"') == 20
    assert "20 of 200 features are drawn." in shown


def test_a_page_tests_its_differences_once(monkeypatch):
    calls = []

    def counted(*arguments: object, **options: object) -> np.ndarray:
        calls.append(arguments)
        return two_sided(*arguments, **options)

    monkeypatch.setattr("clarysage.results.comparison.two_sided", counted)
    html(watched(5, 3, {0: 0.9}, {0}))
    assert len(calls) == 1
