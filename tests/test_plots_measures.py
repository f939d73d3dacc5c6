"""Plots of several measures: the numbers of the explanations, one order of features, and nothing overlaps or is cut."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import clarysage as cs
from clarysage._measures.table import MEASURES
from clarysage.errors import InputError
from clarysage.inference.estimate import Target
from clarysage.plots import ranks, side_by_side
from clarysage.plots.axes import BLUE, VERMILION
from clarysage.plots.importances import _is_dark
from clarysage.results import Explanation, Importances, Traits

NAMES = ("a", "b", "c", "d")
ORDER = ["c", "a", "d", "b"]  # by the first row
VALUES = {
    "sage": (0.1, -0.6, 0.5, 0.02),
    "permutation importance": (0.3, 0.0, 0.2, -0.1),
    "gini importance": (5.0, 1.0, 9.0, 0.0),
}


def explain(values: Any, names: Any = NAMES, **changes: Any) -> Explanation:
    values = np.array(values, dtype=float)
    fields: dict[str, Any] = {
        "values": values,
        "std_error": np.linspace(0.01, 0.03, len(values)),
        "covariance": None,
        "feature_names": tuple(names),
        "total": 1.0,
        "base": 2.0,
        "model_rows": 10,
        "draws": 50,
        "stopped": cs.StopReason.CONVERGED,
        "measure": "sage",
        "loss": "brier",
        "removal": "marginal",
        "method": "w",
    }
    return Explanation(**{**fields, **changes})


def exact(values: Any, **changes: Any) -> Explanation:
    fields = {"std_error": np.zeros(len(values)), "draws": 0, "stopped": cs.StopReason.EXACT}
    return explain(values, **{**fields, **changes})


def traits(measure: str) -> Traits:
    row = MEASURES[measure]
    return Traits(row.approximates, row.subdomain, row.constant, row.properties)


def three(**changes: Any) -> Importances:
    found = {name: (exact if name == "gini importance" else explain)(values) for name, values in VALUES.items()}
    return Importances({**found, **changes}, {name: traits(name) for name in {**found, **changes}})


def many(features: int, names: Any = None) -> Importances:
    """All measures of the table, with made-up values."""
    rng = np.random.default_rng(0)
    names = names or [f"feature {i}" for i in range(features)]
    found = {name: explain(rng.normal(size=features), names) for name in MEASURES}
    return Importances(found, {name: traits(name) for name in MEASURES})


def widths(ax: Any) -> list[float]:
    return [patch.get_width() for patch in ax.patches]


def texts(ax: Any, gid: str) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_gid() == gid]


def names_on(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels() if label.get_text()]


def note_of(figure: Any) -> str:
    return " ".join(figure.get_supxlabel().split())


# side by side


def test_every_panel_has_the_bars_of_its_measure_in_the_order_of_the_first() -> None:
    axes = side_by_side(three())
    assert [ax.get_title() for ax in axes] == ["sage", "permutation\nimportance", "gini importance\n(heuristic)"]
    for ax, values in zip(axes, VALUES.values(), strict=True):
        by_name = dict(zip(NAMES, values, strict=True))
        assert widths(ax) == [by_name[name] for name in ORDER]
    heights = [axes[0].transData.transform((0, place))[1] for place in axes[0].get_yticks()]
    assert heights == sorted(heights, reverse=True)


def test_names_stand_at_the_left_of_each_row_alone() -> None:
    axes = side_by_side(three(), columns=2)
    assert [names_on(ax.yaxis) for ax in axes] == [ORDER, [], ORDER]


def test_ranks_stand_at_the_right_and_clear_of_bars() -> None:
    axes = side_by_side(three())
    axes[0].figure.draw_without_rendering()
    assert [texts(ax, "rank") for ax in axes] == [["1", "2", "3", "4"], ["2", "1", "4", "3"], ["1", "2", "4", "3"]]
    for ax in axes:
        drawn = [text.get_window_extent() for text in ax.texts if text.get_gid() == "rank"]
        bars = [patch.get_window_extent() for patch in ax.patches]
        assert all(bar.x1 < text.x0 for bar, text in zip(bars, drawn, strict=True))
        assert all(text.x1 <= ax.get_window_extent().x1 for text in drawn)


def test_intervals_are_drawn_where_they_are_known() -> None:
    found = three()
    axes = side_by_side(found, level=0.8)
    low, high = found["permutation importance"].interval(0.8)
    segments = np.array(axes[1].collections[0].get_segments())[:, :, 0]  # (4, 2)
    order = [NAMES.index(name) for name in ORDER]
    np.testing.assert_allclose(segments, np.column_stack([low, high])[order], rtol=1e-12)
    assert len(axes[2].collections) == 0
    assert "Pointwise 80% intervals about this data" in note_of(axes[0].figure)


def test_intervals_are_about_the_widest_that_is_known() -> None:
    about = Target(np.array(VALUES["sage"]), np.full(4, 0.2), np.full(4, 9.0), np.zeros(4))
    found = three(sage=exact(VALUES["sage"], targets={"rows": about}))
    axes = side_by_side(found)
    segments = np.array(axes[0].collections[0].get_segments())[:, :, 0]
    low, high = found["sage"].interval(about="rows")
    order = [NAMES.index(name) for name in ORDER]
    np.testing.assert_allclose(segments, np.column_stack([low, high])[order], rtol=1e-12)
    assert "about this data or the population of rows," in note_of(axes[0].figure)


def test_heuristics_are_hatched_and_others_are_not() -> None:
    axes = side_by_side(three())
    assert [to_hex(patch.get_facecolor()).upper() for patch in axes[0].patches] == [BLUE, BLUE, BLUE, VERMILION]
    assert {patch.get_hatch() for ax in axes[:2] for patch in ax.patches} == {None}
    assert {patch.get_hatch() for patch in axes[2].patches} == {"////"}
    assert "Hatched: heuristics" in note_of(axes[0].figure)
    alone = Importances({"sage": explain(VALUES["sage"])}, {"sage": traits("sage")})
    assert "Hatched" not in note_of(side_by_side(alone)[0].figure)


def test_top_features_are_those_of_the_largest_shares_harmful_ones_included() -> None:
    axes = side_by_side(three(), top=3)  # mean shares: a .29, b .19, c .48, d .06
    assert names_on(axes[0].yaxis) == ["c", "a", "b"]
    assert texts(axes[0], "rank") == ["1", "2", "4"]
    assert "3 of 4 features are drawn; ranks are among all features." in note_of(axes[0].figure)


def test_runs_that_did_not_converge_are_named() -> None:
    found = three(sage=explain(VALUES["sage"], stopped=cs.StopReason.BUDGET))
    assert "NOT CONVERGED: sage." in note_of(side_by_side(found)[0].figure)
    assert "NOT CONVERGED: sage." in " ".join(texts(ranks(found), "note")[0].split())


def test_dollar_signs_and_long_names_are_shown_as_they_are() -> None:
    name = "price_$ of a $ and much more than one line of forty letters would hold"
    found = three()
    odd = Importances(
        {key: replace(one, feature_names=(name, "b", "c", "d")) for key, one in found.items()}, found.traits
    )
    axes = side_by_side(odd, title="Which?")
    axes[0].figure.draw_without_rendering()
    assert axes[0].figure.get_suptitle() == "Which?"
    assert r"price_\$ of a \$" in names_on(axes[0].yaxis)[1]
    assert r"price_\$" in names_on(ranks(odd).yaxis)[1]


def test_measures_that_are_all_zero_can_be_drawn() -> None:
    zero = Importances({"gini importance": exact([0.0, 0.0, 0.0, 0.0])}, {"gini importance": traits("gini importance")})
    ax = side_by_side(zero)[0]
    assert ax.get_xlim()[1] > ax.get_xlim()[0]


@pytest.mark.parametrize("features", [3, 20])
def test_panels_of_all_measures_do_not_overlap(features: int) -> None:
    figure = side_by_side(many(features))[0].figure
    figure.draw_without_rendering()
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    assert len(boxes) == len(MEASURES)
    for i, one in enumerate(boxes):
        for other in boxes[i + 1 :]:
            apart = one.x1 <= other.x0 or other.x1 <= one.x0 or one.y1 <= other.y0 or other.y1 <= one.y0
            assert apart
    width, height = figure.get_size_inches()
    assert 0.6 < width / height < 2.5


# ranks


def test_map_shows_the_ranks_features_by_measures() -> None:
    found = three()
    ax = ranks(found)
    expected = found.ranks().loc[ORDER].to_numpy()
    np.testing.assert_array_equal(ax.images[0].get_array(), expected)
    assert names_on(ax.yaxis) == ORDER
    assert names_on(ax.xaxis) == ["sage", "permutation importance", "gini importance*"]
    shown = np.array([int(text.rstrip("−")) for text in texts(ax, "rank")]).reshape(4, 3)
    np.testing.assert_array_equal(shown, expected)


def test_ranks_of_harmful_features_have_a_minus_sign() -> None:
    ax = ranks(three())
    marked = np.array([text.endswith("−") for text in texts(ax, "rank")]).reshape(4, 3)
    values = three().to_frame().loc[ORDER].to_numpy()
    np.testing.assert_array_equal(marked, values < 0)
    assert '"−": the value is below zero.' in " ".join(texts(ax, "note")[0].split())


def test_top_keeps_the_ranks_among_all() -> None:
    ax = ranks(three(), top=1)
    np.testing.assert_array_equal(ax.images[0].get_array(), [[1, 2, 1]])
    assert "1 of 4 features are drawn" in " ".join(texts(ax, "note")[0].split())


def test_darker_is_better_and_numbers_stand_out_from_their_cells() -> None:
    ax = ranks(many(20))
    image = ax.images[0]
    light = [float(np.dot(image.cmap(image.norm(rank))[:3], [0.299, 0.587, 0.114])) for rank in range(1, 21)]
    assert all(one < other for one, other in pairwise(light))
    for text, rank in zip(
        (text for text in ax.texts if text.get_gid() == "rank"), image.get_array().ravel(), strict=True
    ):
        assert (text.get_color() == "white") == _is_dark(image.cmap(image.norm(rank)))


def test_twenty_features_by_all_measures_can_be_read() -> None:
    names = [f"mean_daily_load_of_section_{i}" for i in range(20)]
    ax = ranks(many(20, names), title="Ranks")
    figure = ax.figure
    figure.draw_without_rendering()
    numbers = [text for text in ax.texts if text.get_gid() == "rank"]
    assert len(numbers) == 20 * len(MEASURES)
    assert min(text.get_fontsize() for text in numbers) >= 7
    boxes = np.array([text.get_window_extent().extents for text in numbers]).reshape(20, len(MEASURES), 4)
    assert (boxes[:, :-1, 2] < boxes[:, 1:, 0]).all()  # neighbours in a row
    assert (boxes[:-1, :, 1] > boxes[1:, :, 3]).all()  # and in a column
    whole = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert whole.x0 > -0.05
    assert whole.y0 > -0.05
    assert whole.x1 < width + 0.05
    assert whole.y1 < height + 0.05


def test_map_can_be_drawn_on_a_given_axis() -> None:
    ax = Figure(layout="constrained").add_subplot()
    assert ranks(three(), ax=ax) is ax


# wrong arguments


def test_wrong_arguments_say_what_is_wanted() -> None:
    for plot in (side_by_side, ranks):
        with pytest.raises(
            InputError, match=r"importances: got Explanation; wanted Importances. Try .*cs\.importances"
        ):
            plot(explain(VALUES["sage"]))  # type: ignore[arg-type]
        with pytest.raises(InputError, match="top: got 0"):
            plot(three(), top=0)
    with pytest.raises(InputError, match="columns: got 0"):
        side_by_side(three(), columns=0)
    with pytest.raises(InputError, match="ax: got list"):
        ranks(three(), ax=[1])  # type: ignore[arg-type]


def test_plot_of_importances_is_side_by_side() -> None:
    axes = three().plot(columns=1)
    assert len(axes) == 3
    assert len({ax.get_position().x0 for ax in axes}) == 1
