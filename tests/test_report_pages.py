"""Pages of measures side by side and of interactions: whole, safe, and with the numbers of what they tell of."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest

import clarysage as cs
from clarysage.errors import Note, Set
from clarysage.render import html
from clarysage.render.figures import STRONGEST, squares
from clarysage.results.importances import by_share, share_grid
from clarysage.results.interactions import MOST, pair_grid, unexplained_words
from clarysage.results.result import Result
from clarysage.results.summary import Column, Squares, Summary, Table
from clarysage.results.text import number_format
from made_up import HOSTILE, MEASURES, pairs, several
from parsed_page import Page


def rows(text: str, table: int = 0) -> list[list[str]]:
    body = re.findall(r"<tbody>(.*?)</tbody>", text, re.DOTALL)[table]
    cells = (re.sub(r"<[^>]+>", "\t", row).split("\t") for row in body.split("</tr>")[:-1])
    return [[cell.strip() for cell in row if cell.strip()] for row in cells]


def test_values_and_ranks_of_all_measures_are_in_the_table():
    found = several(7)
    values, ranks, shown = found.to_frame(), found.ranks(), rows(html(found))
    assert [row[0] for row in shown] == found.order
    for row in shown:
        cells = [f"{value} {rank}" for value, rank in zip(row[1::2], row[2::2], strict=True)]
        for cell, measure in zip(cells, MEASURES, strict=True):
            show = number_format(found[measure])
            assert cell == f"{show(values.loc[row[0], measure])} ({ranks.loc[row[0], measure]})"


def test_the_grid_has_shares_the_strongest_for_the_largest():
    found = several(6)
    features = by_share(found)
    shown = squares(share_grid(found, features, list(MEASURES)))
    shares = found.shares().loc[found.order].to_numpy()
    assert [one.text for one in shown.squares] == [f"{share:.0%}".replace("-0%", "0%") for share in shares.ravel()]
    np.testing.assert_allclose(
        [one.strength for one in shown.squares], STRONGEST * np.abs(shares).ravel() / np.abs(shares).max(), atol=6e-4
    )
    assert [one.is_above for one in shown.squares] == (shares.ravel() >= 0).tolist()


def test_squares_stay_within_the_picture():
    for count, letters in ((3, 4), (13, 28), (20, 14)):
        names = ("m" * letters,) * count
        cells = [[""] * count] * 2
        found = squares(Squares(np.ones((2, count)), cells, cells, ("r" * 29,) * 2, names, title="", summary=""))
        assert all(one.x + found.square <= found.width for one in found.squares)
        assert all(one.y + found.tall <= found.height for one in found.squares)
        assert found.square > 10


def test_agreement_with_sage_is_that_of_ranks():
    found = several(9)
    said = [" ".join(text.split()) for text in Page(html(found)).texts["li"]]
    closest = found.correlation()["sage"].drop("sage").sort_values(ascending=False)
    (told,) = (one for one in said if one.startswith("Measures whose order of features is most like that of SAGE"))
    assert f"{closest.index[0]} ({closest.iloc[0]:.2f})" in told
    first = found.ranks().eq(1).sum(axis=1)
    assert any(one.startswith("Ranked first by the most measures:") and f"({first.max()} of 4)" in one for one in said)


def test_what_was_left_out_and_what_are_heuristics_is_said():
    text = html(several(3))
    assert "Left out: network weights. It is &lt;no&gt; network." in text
    assert "gini importance*" in text
    assert "agnostic: works with any model." in text


def test_interactions_are_told_as_pairs_with_what_sage_values_leave():
    found = pairs(5)
    text = html(found)
    assert unexplained_words(found) in text
    assert [row[0] for row in rows(text)] == [found.explanation.feature_names[i] for i in found.order]  # by their size
    assert "worth more together" in text
    assert "share information" in text
    assert "helps" not in Page(text).texts["table"][0]
    assert 'data-noun="pair"' in text
    assert html(found, about="data") == found.report(about="data") != text


def test_the_grid_of_pairs_is_the_matrix_of_interactions():
    found = pairs(4)
    shown, show = squares(pair_grid(found, 0.95, None)), number_format(found.explanation)
    matrix = found.matrix
    assert [one.text for one in shown.squares] == [show(value) for value in matrix[~np.isnan(matrix)]]
    assert len(pair_grid(pairs(MOST + 2), 0.95, None).rows) == MOST
    assert pair_grid(pairs(2), 0.95, None) is None


def test_pages_are_whole_small_and_hold_hostile_names_as_names():
    for make in (several, pairs):
        plain, named = Page(html(make(len(HOSTILE)))), Page(html(make(HOSTILE)))
        assert plain.open == named.open == []
        ids = [found["id"] for _, found in named.elements if "id" in found]
        assert len(ids) == len(set(ids))
        added = [tag for tag, _ in named.elements]
        for tag in [tag for tag, _ in plain.elements]:
            added.remove(tag)
        assert set(added) <= {"details", "summary", "bdi", "line", "text"}  # of folded names, and of another axis
    assert len(html(several(50)).encode()) < 300_000
    assert len(html(pairs(11)).encode()) < 300_000


def test_files_give_the_same_pages(tmp_path):
    for found in (several(4), pairs(4)):
        found.save(tmp_path / "found.json")
        assert html(cs.load(tmp_path / "found.json")) == found.report()
        assert found.report(tmp_path / "page.html", "T & U") is None
        assert "<title>T &amp; U</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_importances_are_about_nothing_else():
    with pytest.raises(cs.InputError, match="about: got 'rows'; wanted None for Importances"):
        html(several(2), about="rows")


@dataclass(frozen=True, eq=False, repr=False)
class Tally(Result):
    """A kind of result that no renderer has heard of."""

    counts: dict[str, int]

    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        table = Table(
            (Column("what", list(self.counts), "name"), Column("count", list(map(str, self.counts.values()))))
        )
        notes = (Note("Counted once.", advice=["Try ", Set("budget", 1_000_000), "."]),)
        return Summary("tally", "A <tally>", "What was counted", (table,), notes=notes)


def test_a_kind_of_result_that_is_new_has_a_text_an_output_and_a_page():
    tally = Tally({"apples": 3, HOSTILE[0]: 14})
    assert str(tally).splitlines() == [
        "What was counted",
        "  what                                   count",
        "  apples                                     3",
        f"  {HOSTILE[0]}     14",
        "  Counted once. Try budget=1_000_000.",
    ]
    page = Page(tally.report())
    assert page.open == []
    assert page.texts["title"] == ["A <tally>"]
    assert ["apples", HOSTILE[0]] == page.texts["th"][2:]
    assert "Warning. Counted once. Try budget=1_000_000." in page.texts["li"]
    assert Page(tally._repr_html_()).texts["td"] == ["3", "14"]
