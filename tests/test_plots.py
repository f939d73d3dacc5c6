"""Plots show the numbers of the explanation, say what they mean, and nothing overlaps or is cut."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import t as student

mpl.use("Agg")

from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import clarysage as cs
from clarysage.catalogue import ABOUT
from clarysage.errors import InputError, MissingLibraryError
from clarysage.plots import bars, pixels, signs
from clarysage.plots.axes import BLUE, VERMILION

VALUES = (0.1, -0.6, 0.5, 0.02)
NAMES = ("a", "b", "c", "d")


def explain(values: Any = VALUES, names: Any = None, **changes: Any) -> cs.Explanation:
    values = np.array(values, dtype=float)
    p = len(values)
    root = np.random.default_rng(0).normal(size=(p, p)) * 0.01
    covariance = root @ root.T + np.diag(np.full(p, 0.002))
    fields: dict[str, Any] = {
        "values": values,
        "std_error": np.sqrt(np.diag(covariance)),
        "covariance": covariance,
        "feature_names": tuple(names or (NAMES if p == 4 else [f"x{i}" for i in range(p)])),
        "total": values.sum(),
        "base": 1.0,
        "model_rows": 1000,
        "draws": 50,
        "stopped": cs.StopReason.CONVERGED,
        "measure": "sage",
        "loss": "cross entropy",
        "removal": "marginal",
        "method": "permutation",
    }
    return cs.Explanation(**{**fields, **changes})


def exact(values: Any = VALUES, **changes: Any) -> cs.Explanation:
    zeros = np.zeros(len(values))
    found = {"std_error": zeros, "covariance": np.diag(zeros), "draws": 0, "stopped": cs.StopReason.EXACT}
    return explain(values, **{**found, **changes})


def new_axis() -> Any:
    return Figure(layout="constrained").add_subplot()


def names_on(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def lengths(ax: Any, *, upright: bool = False) -> list[float]:
    drawn = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    return [patch.get_height() if upright else patch.get_width() for patch in drawn]


def ends_of_intervals(ax: Any, *, upright: bool = False) -> np.ndarray:
    """(k, 2) low and high ends of the error bars, in the order drawn."""
    segments = np.array(ax.collections[0].get_segments())  # (k, 2 points, 2 coordinates)
    return segments[:, :, 1 if upright else 0]


def note_of(ax: Any) -> str:
    (text,) = (text.get_text() for text in ax.texts if text.get_gid() == "note")
    return " ".join(text.split())


def box_of(artist: Any) -> Any:
    return artist.get_window_extent()


# bars: numbers


def test_bars_are_as_long_as_the_values_largest_first() -> None:
    ax = bars(explain(), ax=new_axis())
    assert lengths(ax) == [0.5, 0.1, 0.02, -0.6]
    assert names_on(ax.yaxis) == ["c", "a", "d", "b"]


def test_largest_bar_is_at_the_top_when_horizontal() -> None:
    ax = bars(explain(), ax=new_axis())
    heights = [ax.transData.transform((0, place))[1] for place in ax.get_yticks()]
    assert heights == sorted(heights, reverse=True)


def test_largest_bar_is_at_the_left_when_vertical() -> None:
    ax = bars(explain(), ax=new_axis(), orientation="vertical")
    assert lengths(ax, upright=True) == [0.5, 0.1, 0.02, -0.6]
    assert names_on(ax.xaxis) == ["c", "a", "d", "b"]
    across = [ax.transData.transform((place, 0))[0] for place in ax.get_xticks()]
    assert across == sorted(across)


def test_equal_values_keep_the_order_of_the_features() -> None:
    ax = bars(explain([0.2, -0.2, 0.2, 0.2]), ax=new_axis(), top=3)
    assert names_on(ax.yaxis) == ["a", "c", "b", "1 other"]


@pytest.mark.parametrize("orientation", ["horizontal", "vertical"])
@pytest.mark.parametrize(("level", "joint"), [(0.95, False), (0.8, False), (0.95, True)])
def test_error_bars_end_where_the_intervals_do(orientation: Any, level: float, joint: bool) -> None:
    explanation = explain()
    ax = bars(explanation, ax=new_axis(), orientation=orientation, level=level, joint=joint)
    low, high = explanation.interval(level, joint=joint)
    order = [2, 0, 3, 1]
    drawn = ends_of_intervals(ax, upright=orientation == "vertical")
    np.testing.assert_allclose(drawn, np.column_stack([low, high])[order], rtol=1e-12)


def test_exact_results_have_no_error_bars() -> None:
    ax = bars(exact(), ax=new_axis())
    assert len(ax.collections) == 0
    assert note_of(ax) == "The values have no sampling error."


def test_negative_bars_have_another_colour() -> None:
    ax = bars(explain(), ax=new_axis())
    assert [to_hex(patch.get_facecolor()).upper() for patch in ax.patches] == [BLUE, BLUE, BLUE, VERMILION]


def test_colours_can_be_given() -> None:
    ax = bars(explain(), ax=new_axis(), color="black", negative_color=(1, 0, 0))
    assert [to_hex(patch.get_facecolor()) for patch in ax.patches] == ["#000000"] * 3 + ["#ff0000"]


# bars: top


def test_top_shows_the_largest_by_size_and_sums_up_the_others() -> None:
    ax = bars(explain(), ax=new_axis(), top=2)
    assert names_on(ax.yaxis) == ["c", "b", "2 others"]
    np.testing.assert_allclose(lengths(ax), [0.5, -0.6, 0.1 + 0.02])
    assert ax.patches[-1].get_hatch()


@pytest.mark.parametrize("joint", [False, True])
def test_interval_of_the_others_comes_from_their_covariance(joint: bool) -> None:
    explanation = explain()
    ax = bars(explanation, ax=new_axis(), top=2, joint=joint)
    assert explanation.covariance is not None
    weights = np.array([1, 0, 0, 1])
    error = np.sqrt(weights @ explanation.covariance @ weights)
    reach = error * student.ppf(1 - 0.025 / (4 if joint else 1), 49)
    np.testing.assert_allclose(ends_of_intervals(ax)[-1], [0.12 - reach, 0.12 + reach])


def test_others_without_covariance_have_no_interval_and_the_plot_says_so() -> None:
    ax = bars(explain(covariance=None), ax=new_axis(), top=2)
    assert len(ends_of_intervals(ax)) == 2
    assert "no covariance was stored" in note_of(ax)


def test_variance_a_hair_below_zero_is_drawn_as_zero() -> None:
    covariance = np.diag(np.full(4, 1.0))
    covariance[0, 3] = covariance[3, 0] = -1.0 - 1e-16 * 4
    ax = bars(explain(covariance=covariance), ax=new_axis(), top=2)
    np.testing.assert_allclose(ends_of_intervals(ax)[-1], [0.12, 0.12])


@pytest.mark.parametrize("top", [4, 99, np.int64(4), None])
def test_top_of_all_or_more_leaves_no_others(top: Any) -> None:
    assert names_on(bars(explain(), ax=new_axis(), top=top).yaxis) == ["c", "a", "d", "b"]


# bars: words


def test_value_label_is_in_units_of_the_loss() -> None:
    assert bars(explain(), ax=new_axis()).get_xlabel() == "SAGE value (reduction of cross entropy)"
    assert (
        bars(explain(), ax=new_axis(), orientation="vertical").get_ylabel() == "SAGE value (reduction of cross entropy)"
    )


@pytest.mark.parametrize(
    ("measure", "values_are", "loss", "label"),
    [
        ("shapley effects", "variance", "squared error", "Shapley effect (variance of the output)"),
        ("permutation importance", "gain", "zero one", "Permutation importance (in units of zero one)"),
        ("gini importance", "heuristic", "", "Gini importance"),
    ],
)
def test_value_label_follows_the_measure(measure: str, values_are: str, loss: str, label: str) -> None:
    assert bars(explain(measure=measure, values_are=values_are, loss=loss), ax=new_axis()).get_xlabel() == label


@pytest.mark.parametrize("plot", [bars, signs])
def test_plot_says_what_the_intervals_are_about(plot: Any) -> None:
    ax = plot(explain(), ax=new_axis(), level=0.999, joint=True)
    assert f"Simultaneous 99.9% intervals about {ABOUT['data'].summary}." in note_of(ax)
    ax = plot(explain(), ax=new_axis(), joint=False)
    assert f"Pointwise 95% intervals about {ABOUT['data'].summary}." in note_of(ax)


@pytest.mark.parametrize("plot", [bars, signs, lambda e, ax: pixels(e, (2, 2), ax=ax)])
def test_plot_says_that_a_run_did_not_converge(plot: Any) -> None:
    stopped = plot(explain(stopped=cs.StopReason.BUDGET), ax=new_axis())
    assert note_of(stopped).startswith(f"NOT CONVERGED: {cs.StopReason.BUDGET.value}")
    assert "NOT CONVERGED" not in note_of(plot(explain(), ax=new_axis()))


@pytest.mark.parametrize("plot", [bars, signs, lambda e, **options: pixels(e, (2, 2), **options)])
def test_title_is_written_above_and_left_alone_by_default(plot: Any) -> None:
    assert plot(explain(), ax=new_axis(), title="Mine").get_title() == "Mine"
    ax = new_axis()
    ax.set_title("Earlier")
    assert plot(explain(), ax=ax).get_title() == "Earlier"


ODD = ("price_$ of $5", r"cost\$ <b>", "50%_off & more", "x^2_{i} $y$")


@pytest.mark.parametrize(
    ("plot", "axis"),
    [(bars, "yaxis"), (signs, "yaxis"), (lambda e, ax: bars(e, ax=ax, orientation="vertical"), "xaxis")],
)
def test_names_are_shown_letter_by_letter(plot: Any, axis: str) -> None:
    ax = plot(explain([4, 3, 2, 1], names=ODD), ax=new_axis())
    ax.figure.canvas.draw()
    shown = [label._preprocess_math(label.get_text()) for label in getattr(ax, axis).get_ticklabels()]
    assert shown == [(name, False) for name in ODD]


def test_loss_with_dollars_in_its_name_is_no_formula() -> None:
    label = bars(explain(loss="cost in $ or $"), ax=new_axis()).xaxis.label
    assert label._preprocess_math(label.get_text()) == ("SAGE value (reduction of cost in $ or $)", False)


# axes and layout


@pytest.mark.parametrize("plot", [bars, signs, lambda e, ax: pixels(e, (2, 2), ax=ax)])
def test_given_axis_is_used_and_returned_without_pyplot(plot: Any) -> None:
    ax = new_axis()
    assert plot(explain(), ax=ax) is ax
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("plot", [bars, signs, lambda e: pixels(e, (2, 2))])
def test_new_figure_is_known_to_pyplot_so_that_notebooks_show_it(plot: Any) -> None:
    ax = plot(explain())
    assert pyplot.gcf() is ax.figure
    assert pyplot.gcf().get_layout_engine() is not None


def test_plot_method_draws_bars() -> None:
    assert lengths(explain().plot(ax=new_axis(), top=1))[0] == -0.6


def test_figure_grows_with_the_number_of_features() -> None:
    few, many = (bars(explain(np.arange(p) + 1.0), top=None).figure.get_size_inches() for p in (5, 50))
    assert many[1] > few[1] + 10
    assert bars(explain(np.arange(50) + 1.0), orientation="vertical", top=None).figure.get_size_inches()[0] > 13


LONG = (
    "Average number of days between the first contact and the second visit of the customer in the last quarter",
    "another_extremely_long_snake_case_feature_name_without_any_blank_in_it_at_all",
    "W" * 60,
)


@pytest.mark.parametrize(
    "plot", [bars, signs, lambda e: bars(e, orientation="vertical"), lambda e: bars(e, top=30, title="A title")]
)
@pytest.mark.parametrize("names", [LONG, None], ids=["long", "many"])
def test_names_and_note_do_not_overlap_and_are_not_cut(plot: Any, names: Any) -> None:
    values = np.linspace(1, -1, 3 if names else 60)
    ax = plot(explain(values, names=names, stopped=cs.StopReason.DEADLINE))
    ax.figure.canvas.draw()
    axis = ax.yaxis if ax.get_xlabel() else ax.xaxis  # the values have a label, the features have none
    boxes = [box_of(label) for label in axis.get_ticklabels()]
    note = next(text for text in ax.texts if text.get_gid() == "note")
    for first, second in pairwise(boxes):
        assert not first.overlaps(second)
    assert not any(box_of(note).overlaps(box) for box in [*boxes, box_of(ax.xaxis.label)] if box.width > 0)
    for box in [*boxes, box_of(note)]:
        assert box.x0 >= 0
        assert box.x1 <= ax.figure.bbox.width
        assert box.y0 >= 0
        assert box.y1 <= ax.figure.bbox.height


def test_long_names_are_whole_when_wrapped() -> None:
    ax = bars(explain([3, 2, 1], names=LONG), ax=new_axis())
    assert ["".join(name.split()) for name in names_on(ax.yaxis)] == ["".join(name.split()) for name in LONG]


def test_a_name_without_end_breaks_off() -> None:
    ax = bars(explain([2, 1], names=["x" * 10_000, "age"]))
    long, short = names_on(ax.yaxis)
    assert len(long.split("\n")) == 5
    assert set(long) == {"x", "\n", "…"}
    assert short == "age"
    assert ax.figure.get_size_inches()[1] < 5


def test_names_shrink_on_a_small_axis() -> None:
    ax = bars(explain(np.arange(60) + 1.0), ax=new_axis(), top=None)
    ax.figure.canvas.draw()
    boxes = [box_of(label) for label in ax.get_yticklabels()]
    assert all(lower.y1 <= upper.y1 for upper, lower in pairwise(boxes))
    assert ax.get_yticklabels()[0].get_fontsize() < 6


def test_long_label_of_the_values_continues_on_the_next_line() -> None:
    explanation = explain(loss="cross entropy of class 'a class with a name that is rather long'")
    for ax in (bars(explanation, ax=new_axis()), bars(explanation)):
        ax.figure.canvas.draw()
        assert "\n" in ax.get_xlabel()
        assert box_of(ax.xaxis.label).width < box_of(ax).width
    assert "\n" not in bars(explain()).get_xlabel()


# signs


def by_sign(ax: Any) -> dict[str, list[str]]:
    """Names of the features under each entry of the legend."""
    names = names_on(ax.yaxis)
    marked = [line for line in ax.lines if not line.get_label().startswith("_")]
    return {line.get_label(): [names[int(place)] for place in line.get_ydata()] for line in marked}


def test_signs_tell_helpful_harmful_and_undecided_features_apart() -> None:
    ax = signs(explain([0.5, -0.5, 0.01, -0.01], std_error=np.full(4, 0.05)), ax=new_axis())
    assert by_sign(ax) == {"helps: 1": ["a"], "hurts: 1": ["b"], "undecided: 2": ["c", "d"]}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["helps: 1", "hurts: 1", "undecided: 2"]


def test_signs_differ_by_marker_and_not_by_colour_alone() -> None:
    ax = signs(explain(), ax=new_axis())
    marked = [line for line in ax.lines if not line.get_label().startswith("_")]
    assert len({line.get_marker() for line in marked}) == 3


def test_joint_signs_are_more_careful_than_single_ones() -> None:
    explanation = explain([0.22, 0.3, 0.4, 0.5], std_error=np.full(4, 0.1))
    low = [explanation.interval(joint=joint)[0][0] for joint in (False, True)]
    assert low[0] > 0 > low[1]
    assert by_sign(signs(explanation, ax=new_axis(), joint=False))["undecided: 0"] == []
    assert by_sign(signs(explanation, ax=new_axis()))["undecided: 1"] == ["a"]


def test_lines_of_signs_end_where_the_intervals_do() -> None:
    explanation = explain()
    ax = signs(explanation, ax=new_axis(), level=0.9)
    drawn = sorted(segment[:, 0].tolist() for lines in ax.collections for segment in lines.get_segments())
    np.testing.assert_allclose(drawn, sorted(np.column_stack(explanation.interval(0.9, joint=True)).tolist()))


def test_exact_signs_are_decided_up_to_rounding() -> None:
    ax = signs(exact([0.5, -0.5, 0.0, 1e-17]), ax=new_axis())
    assert by_sign(ax) == {"helps: 1": ["a"], "hurts: 1": ["b"], "no effect: 2": ["d", "c"]}


def test_top_signs_draw_the_largest_and_count_all() -> None:
    ax = signs(explain([0.5, -0.5, 0.01, -0.01], std_error=np.full(4, 0.05)), ax=new_axis(), top=2)
    assert by_sign(ax) == {"helps: 1": ["a"], "hurts: 1": ["b"], "undecided: 2": []}
    assert "2 of 4 features are drawn" in note_of(ax)


def test_legend_of_signs_covers_no_feature() -> None:
    ax = signs(explain([1.0, 1.0, 1.0, -1.0]))
    ax.figure.canvas.draw()
    top_of_legend = box_of(ax.get_legend()).y1
    assert top_of_legend < ax.transData.transform((0, 3))[1]


# pixels


def test_pixels_lie_row_by_row_from_the_top_left() -> None:
    ax = pixels(explain(np.arange(6) - 2.0), (2, 3), ax=new_axis())
    np.testing.assert_array_equal(ax.images[0].get_array(), [[-2, -1, 0], [1, 2, 3]])
    corner = ax.transData.transform((0, 0))
    assert corner[0] < ax.transData.transform((1, 0))[0]
    assert corner[1] > ax.transData.transform((0, 1))[1]


@pytest.mark.parametrize("values", [[0.1, 0.2, 0.3, 0.4], [-0.4, 0.0, 0.1, 0.2]])
def test_colours_reach_equally_far_on_both_sides_of_zero(values: list[float]) -> None:
    image = pixels(explain(values), (2, 2), ax=new_axis()).images[0]
    assert image.get_clim() == (-0.4, 0.4)
    np.testing.assert_allclose(image.cmap(image.norm(0.0))[:3], 1.0, atol=0.05)  # white


def test_blue_improves_and_red_hurts() -> None:
    image = pixels(explain(), (2, 2), ax=new_axis()).images[0]
    helpful, harmful = (image.cmap(image.norm(value)) for value in (0.5, -0.5))
    assert helpful[2] > helpful[0]
    assert harmful[0] > harmful[2]


def test_colour_bar_says_the_unit_and_the_meaning_of_colours() -> None:
    ax = pixels(explain(), (2, 2), ax=new_axis())
    label = ax.images[0].colorbar.ax.get_ylabel()
    assert label == "SAGE value (reduction of cross entropy)\nred hurts, blue improves"


def test_pixels_tell_the_largest_standard_error() -> None:
    ax = pixels(explain(std_error=np.array([0.01, 0.02, 0.034, 0.0])), (2, 2), ax=new_axis())
    assert "Largest standard error (sampling error of this run only): 0.034." in note_of(ax)
    assert note_of(pixels(exact(), (2, 2), ax=new_axis())) == "The values have no sampling error."


def test_map_of_nothing_is_white() -> None:
    image = pixels(exact(np.zeros(4)), (2, 2), ax=new_axis()).images[0]
    np.testing.assert_allclose(image.cmap(image.norm(image.get_array()))[..., :3], 1.0, atol=0.05)


@pytest.mark.parametrize("shape", [(1, 4), (4, 1)])
def test_colour_bar_label_of_flat_and_tall_maps_is_not_cut(shape: tuple[int, int]) -> None:
    ax = pixels(explain(), shape)
    ax.figure.canvas.draw()
    box = box_of(ax.images[0].colorbar.ax.yaxis.label)
    assert box.y0 >= 0
    assert box.y1 <= ax.figure.bbox.height
    assert box_of(ax.texts[0]).x0 >= 0


@pytest.mark.parametrize("shape", [(2, 3), (4,), (2, 2, 1), 4, "22", (2.0, 2.0), (-2, -2), (True, 4), None])
def test_shape_that_does_not_match_the_values_is_refused(shape: Any) -> None:
    with pytest.raises(InputError) as caught:
        pixels(explain(), shape)
    assert caught.value.argument == "shape"
    assert pyplot.get_fignums() == []


# bad arguments


@pytest.mark.parametrize("plot", [bars, signs])
@pytest.mark.parametrize(
    ("argument", "value"),
    [
        *(("top", value) for value in (0, -1, 2.0, "3", True)),
        *(("level", value) for value in (0, 1, 95, -0.1, "0.95", float("nan"))),
        *(("ax", value) for value in (1, "ax", Figure(), np.array([None]))),
    ],
)
def test_bad_argument_is_named_and_leaves_no_figure(plot: Any, argument: str, value: Any) -> None:
    pyplot.close("all")
    with pytest.raises(InputError) as caught:
        plot(explain(), **{argument: value})
    assert caught.value.argument == argument
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("level", None),
        ("orientation", "diagonal"),
        ("orientation", None),
        ("color", "no colour"),
        ("negative_color", 7),
    ],
)
def test_bad_argument_of_bars_is_named(argument: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        bars(explain(), **{argument: value})
    assert caught.value.argument == argument


@pytest.mark.parametrize("plot", [bars, signs, lambda e: pixels(e, (2, 2))])
@pytest.mark.parametrize("thing", [None, [explain()], {"a": 1.0}])
def test_what_is_no_explanation_is_refused(plot: Any, thing: Any) -> None:
    with pytest.raises(InputError) as caught:
        plot(thing)
    assert caught.value.argument == "explanation"


def test_array_of_axes_is_refused_with_a_hint() -> None:
    with pytest.raises(InputError, match=r"ax=axes\[0\]"):
        bars(explain(), ax=Figure().subplots(1, 2))


# matplotlib


@pytest.mark.parametrize("plot", [bars, signs, lambda e: pixels(e, (2, 2))])
def test_missing_matplotlib_is_told_when_a_plot_is_asked_for(plot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(MissingLibraryError, match="matplotlib"):
        plot(explain())


@pytest.mark.subprocess
def test_importing_clarysage_and_its_plots_does_not_import_matplotlib() -> None:
    code = "import sys, clarysage; clarysage.plots.bars; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
