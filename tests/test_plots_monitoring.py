"""Plots of a model that is watched: the numbers of the findings, marks where they belong, and nothing cut."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot
from matplotlib.figure import Figure

import clarysage as cs
from clarysage.errors import InputError
from clarysage.inference.estimate import StopReason, Target
from clarysage.plots.axes import slice_positions
from clarysage.results import Explanation, Monitoring, Shift, compare

NAMES = ("a", "b", "c", "d")
BEFORE = (0.02, 0.5, 0.1, 0.05)
ERROR = 0.01
HOSTILE = ("</script><img src=x>", r"$\frac{a}{b}$", "two\nlines", "x" * 10_000)


def explain(values: Any, names: Any = NAMES, error: float = ERROR, **changes: Any) -> Explanation:
    values = np.array(values, dtype=float)
    p = len(values)
    fields: dict[str, Any] = {
        "values": values,
        "std_error": np.full(p, error / 9),
        "covariance": None,
        "feature_names": tuple(names),
        "total": float(values.sum()),
        "base": 2.0,
        "model_rows": 10,
        "draws": 50,
        "stopped": StopReason.CONVERGED,
        "measure": "sage",
        "loss": "brier",
        "removal": "marginal",
        "method": "w",
        "dof": np.full(p, 99.0),
        "targets": {"rows": Target(values, np.full(p, error), np.full(p, 999.0), np.zeros(p))},
        "provenance": {"examples": 1000, "fingerprints": {"background": "b"}},
    }
    return Explanation(**{**fields, **changes})


def watched(*others: Any, moved: Any = (), where: Any = None, names: Any = NAMES, **changes: Any) -> Monitoring:
    """The reference against values of others; ``moved`` are pairs (slice, column) of inputs that shifted."""
    where = where or (["current"] if len(others) == 1 else [f"batch {k}" for k in range(len(others))])
    found = [explain(values, names, **changes) for values in (np.resize(BEFORE, len(names)), *others)]
    shifts = tuple(
        tuple(
            Shift(name, "numbers", *((0.8, 1e-9) if (k, j) in moved else (0.04, 0.6)), (), {})
            for j, name in enumerate(names)
        )
        for k in range(len(others))
    )
    return Monitoring(compare(found, names=("reference", *where)), shifts)


def broken(by: dict[int, float], p: int = 4) -> np.ndarray:
    values = np.resize(BEFORE, p)
    for place, value in by.items():
        values[place] = value
    return values


def drawn(ax: Any, gid: str) -> list[Any]:
    """Lines, bars and bands that go by a name."""
    return [one for one in (*ax.lines, *ax.patches, *ax.collections) if one.get_gid() == gid]


def names_on(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels() if label.get_text()]


def note_of(figure: Any) -> str:
    return " ".join(figure.get_supxlabel().split())


def is_whole(figure: Any) -> bool:
    """Whether all that is drawn lies within the figure."""
    figure.draw_without_rendering()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    return bool(box.x0 > -0.05 and box.y0 > -0.05 and box.x1 < width + 0.05 and box.y1 < height + 0.05)


def are_apart(figure: Any) -> bool:
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    return all(
        one.x1 <= other.x0 or other.x1 <= one.x0 or one.y1 <= other.y0 or other.y1 <= one.y0
        for i, one in enumerate(boxes)
        for other in boxes[i + 1 :]
    )


# one table


def test_panels_have_the_losses_the_contributions_and_the_distances() -> None:
    found = watched(broken({1: -0.3}), moved=[(0, 1)])
    losses, contributions, inputs = found.plot()
    np.testing.assert_allclose([bar.get_height() for bar in drawn(losses, "losses")], found.losses)
    assert names_on(losses.xaxis) == ["reference", "current"]
    order = ["b", "c", "d", "a"]  # by their values in the reference
    assert names_on(contributions.yaxis) == order
    places = [NAMES.index(name) for name in order]
    for k, one in enumerate(found.comparison.explanations):
        np.testing.assert_allclose([bar.get_width() for bar in drawn(contributions, f"bars {k}")], one.values[places])
    shown = sorted(
        (float(line.get_ydata()[0]), float(line.get_xdata()[0]))
        for gid in ("inputs", "shifted")
        for line in drawn(inputs, gid)
    )
    np.testing.assert_allclose([distance for _, distance in shown], [0.8, 0.04, 0.04, 0.04])
    assert inputs.get_ylim() == contributions.get_ylim()


def test_intervals_are_those_of_the_values() -> None:
    found = watched(broken({1: -0.3}))
    contributions = found.plot(level=0.8)[1]
    segments = np.array([one.get_segments() for one in contributions.collections])[:, :, :, 0]  # (2, 4, 2)
    places = [NAMES.index(name) for name in names_on(contributions.yaxis)]
    for one, ends in zip(found.comparison.explanations, segments, strict=True):
        low, high = one.interval(0.8, about="rows")
        np.testing.assert_allclose(ends, np.column_stack([low, high])[places], rtol=1e-12)
    assert "Pointwise 80% intervals about the population of rows" in note_of(contributions.figure)


def test_stars_are_on_the_current_bars_that_are_flagged_and_hollow_on_those_that_follow() -> None:
    contributions, inputs = watched(broken({1: -0.3, 2: 0.0}), moved=[(0, 1), (0, 3)]).plot()[1:]
    names = names_on(contributions.yaxis)
    (flagged,), (along,) = (drawn(contributions, gid) for gid in ("flagged", "along"))
    assert [round(place) for place in flagged.get_ydata()] == [names.index("b")]
    assert flagged.get_xdata()[0] < -0.3  # beyond the end of the bar
    assert [round(place) for place in along.get_ydata()] == [names.index("c")]
    assert along.get_markerfacecolor() == "none"
    shifted = [int(line.get_ydata()[0]) for line in drawn(inputs, "shifted")]
    assert sorted(shifted) == sorted([names.index("b"), names.index("d")])
    words = [text.get_text() for text in contributions.get_legend().get_texts()]
    assert words == ["reference", "current", "flagged", "changed with others"]


def test_note_says_what_was_found_and_what_marks_mean() -> None:
    found = watched(broken({1: -0.3, 2: 0.0}), moved=[(0, 1)])
    said = note_of(found.plot()[0].figure)
    assert said.startswith("FLAGGED: b. b now hurts: its contribution fell from 0.500 to -0.300")
    for word in ("Stars:", "Hollow stars:", "Filled diamonds:"):
        assert word in said
    nothing = note_of(watched(BEFORE).plot()[0].figure)
    assert nothing.startswith("Nothing is flagged")
    for word in ("Stars:", "Hollow stars:", "Filled diamonds:"):
        assert word not in nothing


def test_runs_that_did_not_converge_are_named() -> None:
    assert "NOT CONVERGED: current." in note_of(watched(BEFORE, stopped=StopReason.BUDGET).plot()[0].figure)


def test_shapley_effects_have_no_losses() -> None:
    axes = watched(broken({1: 0.1}), measure="shapley effects", values_are="variance", loss="").plot()
    assert [ax.get_xlabel() for ax in axes] == ["Shapley effect (variance of the output)", "shift of inputs"]


def test_of_many_features_the_known_and_the_largest_are_drawn() -> None:
    names = [f"feature {i}" for i in range(60)]
    others = np.resize(BEFORE, 60)
    found = watched(broken({7: -0.3}, 60), moved=[(0, 42)], names=names)
    shown = names_on(found.plot()[1].yaxis)
    assert len(shown) == 20
    assert {"feature 7", "feature 42"} <= set(shown)
    assert others[[names.index(name) for name in shown if name not in ("feature 7", "feature 42")]].min() == 0.1
    assert "20 of 60 features are drawn." in note_of(found.plot()[1].figure)
    assert set(names_on(found.plot(top=2)[1].yaxis)) == {"feature 7", "feature 42"}
    assert names_on(found.plot(top=1)[1].yaxis) == ["feature 7"]
    assert names_on(found.plot(features=["feature 3", "feature 1"])[1].yaxis) == ["feature 3", "feature 1"]


@pytest.mark.parametrize("p", [1, 3, 60])
def test_tables_of_any_width_can_be_read(p: int) -> None:
    names = [f"mean_daily_load_of_section_{i}" for i in range(p)]
    figure = watched(broken({0: -0.3}, p), names=names).plot(title="Watched")[0].figure
    assert is_whole(figure)
    assert are_apart(figure)
    assert figure.get_suptitle() == "Watched"
    labels = [label for label in figure.axes[1].get_yticklabels() if label.get_text()]
    assert min(label.get_fontsize() for label in labels) >= 7
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: -box.y0)
    assert all(upper.y0 >= lower.y1 - 1 for upper, lower in pairwise(boxes))


def test_losses_are_not_as_high_as_many_features() -> None:
    losses, contributions, _ = watched(BEFORE * 15, names=[f"f{i}" for i in range(60)]).plot()
    losses.figure.draw_without_rendering()
    assert losses.get_window_extent().height < 0.5 * contributions.get_window_extent().height
    assert losses.get_window_extent().y1 == pytest.approx(contributions.get_window_extent().y1, abs=2)


@pytest.mark.parametrize("slices", [1, 4])
def test_hostile_names_are_shown_as_they_are_and_cut(slices: int) -> None:
    where = [HOSTILE[1]] if slices == 1 else list(HOSTILE)
    found = watched(*[broken({1: -0.3, 3: -0.4})] * slices, names=HOSTILE, where=where)
    axes = found.plot()
    assert is_whole(axes[0].figure)
    assert max(axes[0].figure.get_size_inches()) < 15
    texts = [text.get_text() for text in axes[-2].get_legend().get_texts()] + names_on(axes[-2].yaxis)
    assert r"\$\frac{a}{b}\$" in texts
    assert not any("\n" in text and "two" in text for text in texts)


# slices


def test_lines_are_the_losses_the_values_and_the_distances() -> None:
    values = [broken({1: 0.5 - 0.2 * k}) for k in range(4)]
    found = watched(*values, moved=[(2, 1), (3, 1)])
    losses, contributions, inputs = found.plot(features=["b"])
    (line,) = drawn(losses, "losses")
    np.testing.assert_allclose(line.get_ydata(), found.losses[1:])
    (reference,) = drawn(losses, "reference")
    np.testing.assert_allclose(reference.get_ydata(), found.losses[0])
    (line,) = drawn(contributions, "values")
    np.testing.assert_allclose(line.get_ydata(), [one[1] for one in values])
    np.testing.assert_array_equal(line.get_xdata(), [0, 1, 2, 3])
    (reference,) = drawn(contributions, "reference")
    np.testing.assert_allclose(reference.get_ydata(), 0.5)
    assert reference.get_color() == line.get_color()
    assert reference.get_linestyle() == "--"
    (line,) = drawn(inputs, "inputs")
    np.testing.assert_allclose(line.get_ydata(), [0.04, 0.04, 0.8, 0.8])
    (shifted,) = drawn(inputs, "shifted")
    np.testing.assert_array_equal(shifted.get_xdata(), [2, 3])


def test_bands_around_lines_are_the_intervals() -> None:
    found = watched(BEFORE, broken({1: 0.1}))
    (band,) = drawn(found.plot(features=["b"], level=0.9)[1], "intervals")
    corners = band.get_paths()[0].vertices
    for k, one in enumerate(found.comparison.explanations[1:]):
        low, high = (end[1] for end in one.interval(0.9, about="rows"))
        at = corners[corners[:, 0] == k, 1]
        np.testing.assert_allclose([at.min(), at.max()], [low, high])


def test_flagged_slices_have_stars_and_pale_bands() -> None:
    axes = watched(BEFORE, broken({1: -0.3}), BEFORE, broken({1: -0.3})).plot(features=["b"])
    (stars,) = drawn(axes[1], "star")
    np.testing.assert_array_equal(stars.get_xdata(), [1, 3])
    for ax in axes:
        middles = [band.get_x() + band.get_width() / 2 for band in drawn(ax, "flagged")]
        np.testing.assert_allclose(middles, [1, 3])


def test_lines_are_of_the_flagged_first_then_of_those_that_shifted_then_of_the_largest() -> None:
    found = watched(BEFORE, broken({3: -0.3}), moved=[(1, 0), (1, 3)])
    words = [text.get_text() for text in found.plot()[1].get_legend().get_texts()]
    assert words == ["d", "a", "b"]
    still = watched(BEFORE, BEFORE)
    words = [text.get_text() for text in still.plot()[1].get_legend().get_texts()]
    assert words == ["b", "c", "d"]
    assert len(still.plot(top=4)[1].get_legend().get_texts()) == 4
    names = [f"feature {i}" for i in range(12)]
    many = watched(BEFORE * 3, broken({i: -0.3 - i / 100 for i in range(8)}, 12), names=names).plot()[1]
    assert len(many.get_legend().get_texts()) == 5
    assert len({line.get_color() for line in drawn(many, "values")}) == 5


def test_dates_are_in_proportion_to_time_and_all_else_at_equal_distances() -> None:
    assert slice_positions(["2024-01-01", "2024-01-08", "2024-01-22"]).tolist() == [0, 1, 3]
    assert slice_positions(["2023Q4", "2024Q1", "2024Q3"]).tolist() == [0, 1, 3]
    assert slice_positions(["2023", "2024"]).tolist() == [0, 1]
    assert slice_positions(["2024-01-01 22:00", "2024-01-01 23:00", "2024-01-02 01:00"]).tolist() == [0, 1, 3]
    for names in (
        ["b", "a"],
        ["2024-02", "2024-01"],
        ["2024-01", "2024-13"],
        ["2024", "2024-01"],
        ["1000", "2024", "2025"],
    ):
        assert slice_positions(names).tolist() == list(range(len(names)))


@pytest.mark.parametrize(
    "where",
    [
        [str(np.datetime64("2024-02-20") + k) for k in range(40)],
        [f"{2000 + k // 12}-{k % 12 + 1:02d}" for k in range(60)],
        [f"rows {1000 * k + 1:,} to {1000 * k + 1000:,}" for k in range(60)],
        ["east", "west"],
        [f"{name} with a name that goes on and on" for name in "abcdefghijkl"],
    ],
    ids=["days", "months", "rows", "two", "long"],
)
def test_names_of_slices_can_be_read(where: list[str]) -> None:
    count = len(where)
    figure = (
        watched(*[BEFORE] * (count // 2), *[broken({1: -0.3})] * (count - count // 2), where=where).plot()[0].figure
    )
    assert is_whole(figure)
    assert are_apart(figure)
    ax = figure.axes[-1]
    labels = [label for label in ax.get_xticklabels() if label.get_text()]
    assert labels[0].get_text().startswith(where[0][:20])
    assert len(labels) >= min(count, 8)
    boxes = [label.get_window_extent() for label in labels]
    assert all(one.x1 <= other.x0 + 1 for one, other in pairwise(boxes))
    assert not any(label.get_visible() for each in figure.axes[:-1] for label in each.get_xticklabels())


def test_series_of_shapley_effects_have_no_losses() -> None:
    axes = watched(BEFORE, BEFORE, measure="shapley effects", values_are="variance", loss="").plot()
    assert [ax.get_ylabel() for ax in axes] == ["Shapley effect\n(variance of the output)", "shift of\ninputs"]


# given axes and wrong arguments


@pytest.mark.parametrize("slices", [1, 3])
def test_plots_can_be_drawn_on_given_axes(slices: int) -> None:
    axes = Figure(figsize=(12, 8), layout="constrained").subplots(1, 3)
    found = watched(*[broken({1: -0.3})] * slices)
    drawn_on = found.plot(axes=axes)
    assert list(drawn_on) == list(axes)
    notes = [text for ax in axes for text in ax.texts if text.get_gid() == "note"]
    assert len(notes) == 1
    assert notes[0].get_text().startswith("FLAGGED: b.")


def test_wrong_arguments_say_what_is_wanted() -> None:
    found = watched(BEFORE)
    with pytest.raises(InputError, match=r"monitoring: got Explanation; wanted a Monitoring. Try .*cs\.monitor"):
        cs.plots.monitoring(explain(BEFORE))
    for options, message in [
        ({"top": 0}, "top: got 0"),
        ({"features": "a"}, "features: got 'a'"),
        ({"features": []}, "features: got \\[\\]"),
        ({"features": ["A"]}, "features: got 'A'.*Try 'a'"),
        ({"axes": pyplot.figure().subplots()}, "axes: got 1; wanted 3"),
        ({"axes": [1, 2, 3]}, "ax: got int"),
    ]:
        with pytest.raises(InputError, match=message):
            found.plot(**options)
