"""Texts, plots and notebooks show twenty features unless asked for more, and say how many they leave out."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import clarysage as cs
from tests.cli_harness import enter, run
from tests.made_up import compared, made_up, pairs, several, watched

mpl.use("Agg")

MANY = 60
RESULTS = {
    "explanation": lambda: made_up(MANY),
    "comparison": lambda: compared(MANY, 2, {50: 0.5}),
    "monitoring": lambda: watched(MANY, 1, {50: -0.9}, {50}),
    "importances": lambda: several(MANY),
    "interactions": lambda: pairs(12),  # 66 pairs
}


@pytest.fixture(params=RESULTS)
def result(request: pytest.FixtureRequest) -> Any:
    return RESULTS[request.param]()


def rows_of(text: str) -> list[str]:
    """Names of the features, or pairs, in the rows of a printed table, each once."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("  feature ")]
    names = (" ".join(line.split()[: 5 if "×" in line else 2]) for line in lines)
    return [name for name in dict.fromkeys(names) if name.split()[-1].isdigit()]


def note_of(figure: Any) -> str:
    texts = [text.get_text() for ax in figure.axes for text in ax.texts if text.get_gid() == "note"]
    below = figure._supxlabel
    return " ".join(" ".join([*texts, "" if below is None else below.get_text()]).split())


def test_twenty_of_many_are_printed_and_the_text_says_how_many_there_are(result: Any) -> None:
    text = str(result)
    items, count = ("pairs", 66) if isinstance(result, cs.Interactions) else ("features", MANY)
    assert len(rows_of(text)) == 20
    assert f"20 of {count} {items} are shown, those with the largest " in text
    assert "table(top=None) shows all." in text
    assert len(rows_of(result.table(top=None))) == count
    assert "are shown, those" not in result.table(top=None)
    assert len(rows_of(result.table(top=3))) == 3


def test_few_are_all_printed_without_a_word() -> None:
    text = str(made_up(20))
    assert len(rows_of(text)) == 20
    assert "are shown" not in text


def test_harmful_features_are_among_the_largest() -> None:
    explanation = made_up(MANY)
    names = rows_of(str(explanation))
    expected = np.array(explanation.feature_names)[np.argsort(-np.abs(explanation.values))[:20]]
    assert set(names) == set(expected)
    assert names == [name for name in rows_of(explanation.table(top=None)) if name in set(expected)]
    assert explanation.values[explanation.feature_names.index(names[-1])] < 0


def test_what_changed_is_always_printed() -> None:
    for found in (compared(MANY, 2, {50: 0.5}), watched(MANY, 1, {50: -0.9}, {50})):
        assert "feature 50" in rows_of(found.table(top=1))


def test_notebooks_show_as_many_as_texts(result: Any) -> None:
    html = result._repr_html_()
    items, count = ("pairs", 66) if isinstance(result, cs.Interactions) else ("features", MANY)
    assert f"20 of {count} {items} are shown" in html


@pytest.mark.parametrize("kind", ["explanation", "comparison", "monitoring", "importances"])
def test_twenty_of_many_are_drawn_and_the_note_says_how_many_there_are(kind: str) -> None:
    result = RESULTS[kind]()
    drawn = np.ravel(result.plot())
    widest = max(drawn, key=lambda ax: len(ax.get_yticklabels()))
    names = [label.get_text() for label in widest.get_yticklabels()]
    assert len([name for name in names if name.startswith("feature")]) in (20, 21)  # and what changed
    assert f"of {MANY} features are drawn" in note_of(drawn[0].figure)
    everything = np.ravel(result.plot(top=None if kind != "monitoring" else MANY))
    assert "are drawn" not in note_of(everything[0].figure)


@pytest.mark.parametrize("draw", [cs.plots.signs, cs.plots.bars])
def test_plots_of_values_count_what_they_leave_out(draw: Any) -> None:
    note = note_of(draw(made_up(MANY)).figure)
    assert "20 of 60 features are drawn" in note
    if draw is cs.plots.bars:
        assert "the hatched bar is the sum of the others" in note


def test_matrices_of_interactions_show_the_features_with_the_largest_values() -> None:
    ax = cs.plots.interactions(pairs(25))
    assert len(ax.get_yticklabels()) == 19  # below the diagonal
    assert "20 of 25 features are drawn, those with the largest SAGE values." in note_of(ax.figure)
    assert len(cs.plots.interactions(pairs(25), top=None).get_yticklabels()) == 24
    bars = cs.plots.interactions(pairs(12), kind="bars", top=5)
    assert [label.get_text() for label in bars.get_yticklabels()][-1] == "61 others"


@pytest.mark.parametrize("top", [0, -1, 2.0, "3", True])
def test_numbers_that_make_no_sense_are_refused(result: Any, top: Any) -> None:
    with pytest.raises(cs.InputError) as caught:
        result.table(top=top)
    assert caught.value.argument == "top"


def test_the_command_shows_as_many_and_says_how_to_see_more(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(tmp_path, monkeypatch)
    compared_with = made_up(MANY, 1)
    for name, explanation in (("a", made_up(MANY)), ("b", compared_with)):
        explanation.save(tmp_path / f"{name}.json")
    result = run("compare", "a.json", "b.json")
    assert result.exit_code == 0, result.output
    assert "--top 60 shows all." in result.stdout
    assert len(rows_of(result.stdout)) >= 20
    assert len(rows_of(run("compare", "a.json", "b.json", "--top", "60").stdout)) == MANY
    assert run("compare", "a.json", "b.json", "--top", "0").exit_code == 2


LONG = [f"average monthly balance of the current account {i} in euros, last {i} months" for i in range(25)]


@pytest.mark.parametrize("count", [4, 8, 20, 25])
@pytest.mark.parametrize("names", [None, LONG], ids=["short", "long"])
def test_labels_of_the_plot_of_interactions_are_not_cut(count: int, names: Any) -> None:
    ax = cs.plots.interactions(pairs(count if names is None else names[:count]))
    figure = ax.figure
    figure.canvas.draw()
    whole = figure.bbox
    for label in (*ax.get_xticklabels(), *ax.get_yticklabels(), figure._supxlabel):
        box = label.get_window_extent()
        assert box.x0 >= whole.x0 - 1
        assert box.y0 >= whole.y0 - 1
        assert box.x1 <= whole.x1 + 1
        assert box.y1 <= whole.y1 + 1
        assert "…" not in label.get_text()
    numbers = [text.get_text() for text in ax.texts if text.get_gid() == "value"]
    assert bool(numbers) == (count <= 12)
    assert ("In brackets" in note_of(figure)) == any(number.startswith("(") for number in numbers)
