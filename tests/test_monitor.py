"""monitor: tables as people have them, slices, verdicts, sentences and files; contributions against closed forms."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import clarysage as cs
from clarysage.errors import FormatError, InputError, ModelError
from clarysage.inference.estimate import StopReason
from clarysage.inference.intervals import adjusted
from clarysage.monitoring.slices import slice_rows
from clarysage.results.finding import (
    ALONE,
    BOTH,
    CERTAIN,
    FAR,
    FOLLOWS,
    INPUTS,
    SURE_SHIFT,
    UNCHANGED,
    Finding,
    Shift,
    finding_sentence,
    format_pair,
    verdicts_of,
)

NAMES = ["a", "b", "c", "d"]
BETA = np.array([2.0, 1.0, 0.5, 0.0])  # of the response
MODEL = np.array([1.8, 1.0, 0.6, 0.2])  # of the model
QUICK = {"loss": "squared error", "method": "exact", "rng": 0}
ROWS = 120


def values(X, y, weights=None):
    """SAGE values of the linear model by squared error, background means of zero (Eq. 6): of r_i (2 y - sum of r)."""
    r = np.asarray(X) * MODEL
    return np.average(r * (2 * np.asarray(y)[:, None] - r.sum(axis=1, keepdims=True)), axis=0, weights=weights)


def around_zero(rng, m=16):
    """Background rows whose means are zero."""
    half = rng.normal(size=(m // 2, 4))
    return pd.DataFrame(np.concatenate([half, -half]), columns=NAMES)


def table(rng, n=ROWS, scale=1.0):
    """Rows of which the model sees columns times a scale."""
    X = rng.normal(size=(n, 4))
    y = X @ BETA + rng.normal(size=n)
    return pd.DataFrame(X * scale, columns=NAMES).assign(y=y)


def linear(X):
    return np.asarray(X, dtype=float) @ MODEL


def knowing(X):
    return linear(X[NAMES])


@pytest.fixture
def tables(seed):
    rng = np.random.default_rng(seed)
    return table(rng), table(rng, scale=[1, 30, 1, 1])


@pytest.fixture
def rows(seed):
    return around_zero(np.random.default_rng([seed, 1]))


@pytest.fixture
def fixed():
    """A column in another unit; the same for any seed of the tests."""
    rng = np.random.default_rng(0)
    return cs.monitor(
        linear, table(rng), table(rng, scale=[1, 30, 1, 1]), target="y", background=around_zero(rng), **QUICK
    )


# the numbers


def test_contributions_are_the_closed_form(tables, rows):
    reference, current = tables
    result = cs.monitor(linear, reference, current, target="y", background=rows, **QUICK)
    for explanation, side in zip(result.comparison.explanations, tables, strict=True):
        np.testing.assert_allclose(explanation.values, values(side[NAMES], side["y"]), rtol=1e-9)
    losses = [np.mean((side["y"] - linear(side[NAMES])) ** 2) for side in tables]
    np.testing.assert_allclose(result.losses, losses)
    assert result.rows == (ROWS, ROWS)
    assert result.names == ("current",)
    assert result.flagged[0] == "b"
    assert result.is_flagged


def test_shares_and_that_of_the_loss_without_features_add_up_to_one(tables, rows):
    result = cs.monitor(linear, *tables, target="y", background=rows, **QUICK)
    bases = [explanation.base for explanation in result.comparison.explanations]
    gained = result.losses[1] - result.losses[0]
    shares = [finding.share for finding in result.findings()]
    assert sum(shares) + (bases[1] - bases[0]) / gained == pytest.approx(1)
    difference = values(tables[1][NAMES], tables[1]["y"]) - values(tables[0][NAMES], tables[0]["y"])
    np.testing.assert_allclose(shares, -difference / gained, rtol=1e-9)


def test_findings_are_the_numbers_of_the_comparison_and_of_the_shifts(tables, rows):
    result = cs.monitor(linear, *tables, target="y", background=rows, level=0.9, **QUICK)
    low, high = result.comparison.interval(0.9)
    chances, inputs = (
        result.comparison.p_values(),
        adjusted(np.array([shift.p_value for shift in result.shifts[0]]), "holm"),
    )
    np.testing.assert_allclose(result.shift_p_values[0], inputs)
    for i, feature_finding in enumerate(result.findings("current")):
        assert (feature_finding.feature, feature_finding.where, feature_finding.shift.column) == (
            NAMES[i],
            "current",
            NAMES[i],
        )
        np.testing.assert_allclose(
            (feature_finding.low, feature_finding.high, feature_finding.p_value), (low[i], high[i], chances[i])
        )
        assert feature_finding.difference == pytest.approx(feature_finding.after - feature_finding.before)
        assert feature_finding.inputs_p_value == pytest.approx(inputs[i])


def test_identical_tables_differ_by_nothing(tables, rows):
    result = cs.monitor(linear, tables[0], tables[0].copy(), target="y", background=rows, **QUICK)
    assert result.comparison.is_paired
    assert (result.comparison.p_values() == 1).all()
    assert (result.shift_p_values == 1).all()
    assert result.flagged == result.shifted == []
    assert not result.is_flagged
    assert {finding.verdict for finding in result.findings()} == {UNCHANGED}
    assert {finding.share for finding in result.findings()} == {None}  # of nothing
    assert result.sentences() == [
        "Nothing is flagged: no contribution is known to have changed. No column is known to have shifted either."
    ]


def test_the_same_rows_with_a_fault_are_paired_on_request(tables, rows):
    reference = tables[0]
    faulty = reference.assign(b=1.5 * reference["b"])
    apart, together = (
        cs.monitor(linear, reference, faulty, target="y", background=rows, paired=paired, **QUICK)
        for paired in (None, True)
    )
    assert not apart.comparison.is_paired
    assert together.comparison.is_paired
    assert (together.comparison.std_error < apart.comparison.std_error).all()
    np.testing.assert_allclose(together.comparison.values, apart.comparison.values, atol=1e-12)


@pytest.mark.parametrize("adjust", ["holm", "benjamini hochberg", None])
def test_p_values_are_adjusted_over_slices_for_contributions_and_inputs_apart(tables, rows, adjust):
    result = cs.monitor(linear, *tables, target="y", background=rows, every=40, adjust=adjust, **QUICK)
    assert len(result.names) == 3
    alone = np.array([[shift.p_value for shift in columns] for columns in result.shifts])
    np.testing.assert_allclose(result.shift_p_values, adjusted(alone.ravel(), adjust).reshape(3, 4))
    raw = result.comparison.p_values(None)
    np.testing.assert_allclose(result.comparison.p_values(), adjusted(raw.ravel(), adjust).reshape(3, 4))
    assert ("not adjusted" in str(result)) == (adjust is None)


def test_the_same_seed_gives_the_same_bits_for_any_number_of_jobs():
    rng = np.random.default_rng(5)
    sides = [table(rng, 60).sample(60, random_state=0) for _ in range(2)]
    options = {
        "target": "y",
        "loss": "squared error",
        "method": "paired walks",
        "budget": 40_000,
        "background_rows": 30,
    }
    serial = cs.monitor(linear, *sides, rng=3, every=30, **options)
    parallel = cs.monitor(linear, *sides, rng=3, every=30, n_jobs=2, **options)
    np.testing.assert_array_equal(serial.comparison.values, parallel.comparison.values)
    np.testing.assert_array_equal(serial.comparison.p_values(), parallel.comparison.p_values())
    assert serial.sentences() == parallel.sentences()


def test_another_seed_draws_another_background():
    rng = np.random.default_rng(5)
    sides = [table(rng, 60) for _ in range(2)]
    options = {"target": "y", "loss": "squared error", "method": "exact", "background_rows": 20}
    backgrounds = {
        cs.monitor(linear, *sides, rng=seed, **options).comparison.reference.provenance["fingerprints"]["background"]
        for seed in (3, 3, 4)
    }
    assert len(backgrounds) == 2


# tables as people have them


def as_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def as_arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


def apart(frame):
    return frame[NAMES].to_numpy(), frame["y"].to_numpy()


@pytest.mark.parametrize(
    "kind",
    [
        as_polars,
        as_arrow,
        apart,
        lambda frame: (frame[NAMES], frame["y"]),
        lambda frame: (frame[NAMES], list(frame["y"])),
    ],
    ids=["polars", "pyarrow", "arrays", "frame and series", "frame and list"],
)
def test_any_kind_of_table_gives_the_same_numbers(tables, rows, kind):
    plain = cs.monitor(linear, *tables, target="y", background=rows, **QUICK)
    given = [kind(side) for side in tables]
    target = None if isinstance(given[0], tuple) else "y"
    background = rows.to_numpy() if kind is apart else rows
    result = cs.monitor(linear, *given, target=target, background=background, every=60, **QUICK)
    assert len(result.names) == 2
    unsliced = cs.monitor(linear, *given, target=target, background=background, **QUICK)
    np.testing.assert_allclose(unsliced.comparison.values, plain.comparison.values, rtol=1e-9)
    np.testing.assert_allclose(unsliced.shift_p_values, plain.shift_p_values)
    assert [finding.verdict for finding in unsliced.findings()] == [finding.verdict for finding in plain.findings()]


def test_columns_beside_those_of_a_model_that_knows_them_are_left_out(tables, rows):
    reference, current = (
        side.assign(id=np.arange(ROWS), day=pd.date_range("2024-01-01", periods=ROWS)) for side in tables
    )
    plain = cs.monitor(linear, *tables, target="y", background=rows, **QUICK)
    model, background = cs.as_predictor(linear, feature_names=NAMES), rows.assign(y=0.0, id=3)
    turned = current[["day", "d", "y", "b", "c", "id", "a"]]
    result = cs.monitor(model, reference, turned, target="y", background=background, **QUICK)
    assert result.feature_names == tuple(NAMES)
    np.testing.assert_allclose(result.comparison.values, plain.comparison.values, rtol=1e-9)


def test_columns_of_current_in_another_order_are_found_by_their_names(tables, rows):
    reference, current = tables
    turned = current[["y", "d", "c", "b", "a"]]
    plain, result = (
        cs.monitor(knowing, reference, side, target="y", background=rows, **QUICK) for side in (current, turned)
    )
    np.testing.assert_allclose(result.comparison.values, plain.comparison.values, rtol=1e-12)
    np.testing.assert_array_equal(result.shift_p_values, plain.shift_p_values)
    assert result.comparison.notes == ()
    assert [shift.column for shift in result.shifts[0]] == NAMES


def test_labels_that_are_numbers_can_be_the_target(rows):
    rng = np.random.default_rng(0)
    sides = [pd.DataFrame(table(rng).to_numpy()) for _ in range(2)]
    result = cs.monitor(linear, *sides, target=4, background=rows.to_numpy(), **QUICK)
    assert result.feature_names == ("0", "1", "2", "3")


@pytest.mark.parametrize("is_pair", [False, True])
def test_weights_count_in_contributions(tables, rows, seed, is_pair):
    weights = [np.random.default_rng([seed, k]).uniform(0.5, 2, size=ROWS) for k in range(2)]
    if is_pair:
        sides = [(side[NAMES], side["y"], weight) for side, weight in zip(tables, weights, strict=True)]
        result = cs.monitor(linear, *sides, background=rows, every=60, **QUICK)
    else:
        sides = [side.assign(w=weight) for side, weight in zip(tables, weights, strict=True)]
        result = cs.monitor(linear, *sides, target="y", sample_weight="w", background=rows, every=60, **QUICK)
    assert result.feature_names == tuple(NAMES)
    first, second, third = result.comparison.explanations
    np.testing.assert_allclose(first.values, values(tables[0][NAMES], tables[0]["y"], weights[0]), rtol=1e-9)
    for part, explanation in ((slice(0, 60), second), (slice(60, None), third)):
        side = tables[1].iloc[part]
        np.testing.assert_allclose(explanation.values, values(side[NAMES], side["y"], weights[1][part]), rtol=1e-9)


def test_a_group_shifts_as_its_strongest_column(tables, rows):
    result = cs.monitor(linear, *tables, target="y", background=rows, groups={"last": ["b", "c", "d"]}, **QUICK)
    assert result.feature_names == ("a", "last")
    last = result.findings()[1]
    assert last.shift.column == "b"
    assert last.inputs_p_value == result.shift_p_values[0, 1]
    assert result.columns_of("last") == ("b", "c", "d")
    assert result.flagged[0] == "last"
    assert f"; in b {last.shift.hints[0]}." in result.sentences()[1]


def test_without_responses_effects_on_the_output_are_compared(tables, rows):
    features = [side[NAMES] for side in tables]
    result = cs.monitor(linear, *features, background=rows, method="exact", rng=0)
    for explanation, side in zip(result.comparison.explanations, features, strict=True):
        r = np.asarray(side) * MODEL
        np.testing.assert_allclose(explanation.values, (r * r.sum(axis=1, keepdims=True)).mean(axis=0), rtol=1e-9)
    assert result.losses is None
    assert {finding.share for finding in result.findings()} == {None}
    assert result.flagged[0] == "b"
    assert result.sentences()[1].startswith("b moves the output more: its effect rose from ")
    assert "Both its effect and its inputs changed." in result.sentences()[1]
    assert "loss" not in str(result)
    pair = cs.monitor(linear, *((side, None) for side in features), background=rows, method="exact", rng=0)
    np.testing.assert_array_equal(pair.comparison.values, result.comparison.values)


def test_backgrounds_are_the_same_for_all_and_as_large_as_asked(tables, rows):
    options = {"loss": "squared error", "method": "exact", "rng": 0, "target": "y"}

    def background_rows(result):
        prints = {
            explanation.provenance["fingerprints"]["background"] for explanation in result.comparison.explanations
        }
        assert len(prints) == 1
        assert {each.about for each in result.comparison.differences} == {"rows"}
        return {explanation.provenance["background_rows"] for explanation in result.comparison.explanations}

    assert background_rows(cs.monitor(linear, *tables, every=40, **options)) == {ROWS}
    assert background_rows(cs.monitor(linear, *tables, background_rows=25, every=40, **options)) == {25}
    assert background_rows(cs.monitor(linear, *tables, background=rows, **options)) == {16}
    assert background_rows(cs.monitor(linear, *tables, background=rows, background_rows=4, **options)) == {4}


@pytest.mark.parametrize("removal", ["baseline", "gaussian", "auto conditional", "object"])
def test_removals_are_the_same_for_all(tables, rows, removal):
    given = cs.Baseline(np.zeros(4)) if removal == "object" else removal
    result = cs.monitor(linear, *tables, target="y", removal=given, loss="squared error", every=60, budget=2e5, rng=0)
    used = {explanation.removal for explanation in result.comparison.explanations}
    assert len(used) == 1
    assert used != {"auto conditional"}
    assert not any("Removals differ" in note for note in result.comparison.notes)


def test_the_reference_decides_on_the_loss_and_on_the_classes(seed):
    rng = np.random.default_rng(seed)

    def chances(X):
        p = 1 / (1 + np.exp(-2 * np.asarray(X)[:, 0]))
        return np.column_stack([1 - p, p])

    X, Z = rng.normal(size=(200, 2)), rng.normal(size=(60, 2))
    labels = 1 + (rng.random(200) < chances(X)[:, 1])  # 1 and 2
    result = cs.monitor(chances, (X, labels), (Z, np.full(60, 1)), rng=0)
    assert {explanation.loss for explanation in result.comparison.explanations} == {"cross entropy"}
    np.testing.assert_allclose(result.losses[1], -np.log(chances(Z)[:, 0]).mean())  # the first class, not the second
    text = cs.monitor(chances, (X, np.array(["no", "yes"])[labels - 1]), (Z, np.full(60, "no")), rng=0)
    np.testing.assert_allclose(text.losses, result.losses)


# slices


def by_date(dates, **options):
    """Names and sizes of slices by dates."""
    slices = slice_rows(dates, options.get("every"), len(dates))
    return dict(zip(slices.names, map(len, slices.indices), strict=True))


DAYS = pd.date_range("2023-12-28", periods=200, freq="12h")  # to 6 April 2024


@pytest.mark.parametrize(
    "dates",
    [
        DAYS,
        DAYS.tz_localize("America/New_York"),
        DAYS.strftime("%Y-%m-%d"),
        DAYS.strftime("%Y-%m-%dT%H:%M:%S"),
        [f"{day:%Y-%m-%dT%H:%M}+0{1 + (day.month > 2)}:00" for day in DAYS + pd.Timedelta("6h")],
        DAYS.to_period("D"),
        DAYS.date,
        DAYS.to_numpy(),
        pd.Series(DAYS.strftime("%Y-%m-%d"), dtype="category"),
        pd.Series(DAYS, dtype="category"),
        list(DAYS),
    ],
    ids=[
        "times",
        "zone",
        "text",
        "times as text",
        "offsets",
        "periods",
        "dates",
        "numpy",
        "categories of text",
        "categories of times",
        "list",
    ],
)
def test_dates_of_any_kind_are_cut_into_months(dates):
    expected = pd.Series(DAYS.strftime("%Y-%m")).value_counts().sort_index()
    few = expected[expected < 20].index  # December and April
    slices = by_date(dates, every="month")
    assert slices == expected.drop(few).to_dict()


@pytest.mark.parametrize(
    ("every", "names"),
    [
        ("hour", ["2024-01-01 00:00", "2024-01-01 01:00"]),
        ("day", ["2024-01-01", "2024-01-02"]),
        ("week", ["2024-01-01", "2024-01-08"]),
        ("month", ["2024-01", "2024-02"]),
        ("quarter", ["2024Q1", "2024Q2"]),
        ("year", ["2024", "2025"]),
    ],
)
def test_slices_of_every_period_are_called_by_their_beginning(every, names):
    start = pd.Timestamp("2024-01-01")
    length = {"hour": "1h", "day": "1D", "week": "7D", "month": "31D", "quarter": "91D", "year": "366D"}[every]
    dates = pd.Series([start, start + pd.Timedelta(length)]).repeat(30).sample(60, random_state=0)
    assert by_date(dates, every=every) == dict.fromkeys(names, 30)


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (pd.date_range("2024-01-01", periods=300, freq="8h").repeat(5), "2024-01-01"),  # 100 days: 15 weeks
        (pd.date_range("2024-01-01", periods=10).repeat(150), "2024-01-01"),  # days, not their midnights
        (pd.date_range("2024-01-01", periods=12, freq="MS").repeat(100), "2024-01"),
        (pd.date_range("2024-01-01", periods=5, freq="h").repeat(100), "2024-01-01 00:00"),
        (pd.date_range("2024-01-01", periods=30).repeat(1), "2024"),  # too few rows for anything shorter
        (["2021"] * 100 + ["2022"] * 100, "2021"),
    ],
    ids=["weeks", "days", "months", "hours", "a year", "years"],
)
def test_without_a_word_periods_are_the_finest_that_make_few_slices_with_enough_rows(dates, expected):
    assert next(iter(by_date(dates))) == expected


@pytest.mark.parametrize(
    ("entries", "is_in_order"),
    [
        (["north", "south", "east"], False),
        (pd.Categorical(["north", "south", "east"]), False),
        (pd.Categorical(["low", "high", "mid"], ["low", "mid", "high"], ordered=True), True),
        ([3, 1, 2], True),
        (["run 2", "run 10", "run 3"], True),
        (["2024-01-01", "2024-02-01", "2024-03-01"], True),
        ([True, False, True], False),
    ],
)
def test_slices_without_an_order_are_known(entries, is_in_order):
    column = pd.Series(entries).repeat(30)
    assert slice_rows(column, None, 90).is_in_order == is_in_order
    assert slice_rows(None, 30, 90).is_in_order


def test_no_beginning_is_named_for_slices_without_an_order(rows, tmp_path):
    rng = np.random.default_rng(0)
    reference, current = table(rng, 300), table(rng, 300)
    region = np.repeat(["east", "north", "south"], 100)
    current["b"] = current["b"].where(region == "east", 30 * current["b"])
    result = cs.monitor(linear, reference, current, target="y", by=region, background=rows, **QUICK)
    assert " Seen in 2 of 3 slices (north, south); the numbers are from " in result.sentences()[1]
    result.save(tmp_path / "it.json")
    assert cs.load(tmp_path / "it.json").sentences() == result.sentences()
    numbered = cs.monitor(
        linear, reference, current, target="y", by=np.repeat([1, 2, 3], 100), background=rows, **QUICK
    )
    assert " Seen from 2 on, in 2 of 3 slices; the numbers are from " in numbered.sentences()[1]


def test_shares_are_left_out_where_the_loss_hardly_moved(tables, rows):
    result = cs.monitor(linear, *tables, target="y", background=rows, **QUICK)
    first, other = result.comparison.explanations
    loss = first.base - first.total
    for moved, is_known in ((1.005, False), (0.995, False), (1.02, True)):
        still = replace(other, base=other.total + moved * loss)
        again = replace(result, comparison=replace(result.comparison, explanations=(first, still)))
        np.testing.assert_allclose(again.losses, (loss, moved * loss))
        assert {finding.share is not None for finding in again.findings()} == {is_known}
        assert (" The mean loss hardly changed, from " in again.sentences()[1]) == (not is_known)


def test_batches_are_in_the_order_of_their_categories_of_numbers_or_of_text():
    kinds = pd.Categorical(["late", "early", "late", "mid"] * 30, categories=["early", "never", "mid", "late"])
    assert by_date(kinds) == {"early": 30, "mid": 30, "late": 60}
    assert list(by_date([10, 2, 1] * 20)) == ["1", "2", "10"]
    assert list(by_date([10, 2, None] * 20)) == ["2", "10"]
    assert list(by_date(["run 10", "run 2", "a"] * 20)) == ["a", "run 2", "run 10"]
    assert list(by_date([True, False] * 20)) == ["False", "True"]
    assert list(by_date(["a", 1, 10, 2] * 20)) == ["1", "2", "10", "a"]


def test_slices_hold_the_rows_of_their_entries():
    entries = np.random.default_rng(0).choice(["x", "y", "z"], size=150)
    slices = slice_rows(entries, None, 150)
    for name, places in zip(slices.names, slices.indices, strict=True):
        np.testing.assert_array_equal(places, np.flatnonzero(entries == name))


def test_counts_cut_rows_in_the_order_of_by_and_the_rest_goes_to_the_last():
    slices = slice_rows(None, 40, 130)
    assert slices.names == ("rows 1 to 40", "rows 41 to 80", "rows 81 to 130")
    np.testing.assert_array_equal(np.concatenate(slices.indices), np.arange(130))
    order = np.random.default_rng(0).permutation(90)
    dates = pd.Series(pd.date_range("2024-01-01", periods=90)).iloc[order]
    slices = slice_rows(dates, 45, 90)
    assert slices.names == ("2024-01-01 to 2024-02-14", "2024-02-15 to 2024-03-30")
    np.testing.assert_array_equal(order[slices.indices[0]], np.arange(45))
    kinds = pd.Categorical(["late", "early"] * 30, categories=["early", "late"])
    np.testing.assert_array_equal(slice_rows(kinds, 30, 60).indices[0], np.arange(1, 60, 2))


def test_rows_without_a_slice_and_slices_of_few_rows_are_left_out_with_a_word():
    entries = ["north"] * 50 + [None] * 7 + ["south"] * 30 + ["east"] * 3
    slices = slice_rows(entries, None, 90)
    assert slices.names == ("north", "south")
    assert slices.notes == (
        "7 rows of current have no slice and are left out.",
        "Slices of fewer than 20 rows are left out: 'east'.",
    )
    dates = pd.Series(DAYS).where(np.arange(200) % 50 > 0)
    assert str(slice_rows(dates, "month", 200).notes[0]).startswith("4 rows")


def test_a_slice_may_be_called_reference_or_nothing():
    slices = slice_rows(["reference", "  ", "reference (slice)"] * 30, None, 90)
    assert len(set(slices.names)) == 3
    assert "reference" not in slices.names
    assert "(blank)" in slices.names


def test_slices_by_a_column_are_explained_one_by_one(tables, rows):
    reference, current = tables
    current = current.assign(batch=np.repeat(["one", "two", "three"], 40))
    result = cs.monitor(linear, reference, current, target="y", by="batch", background=rows, **QUICK)
    assert result.names == ("one", "three", "two")
    assert result.feature_names == tuple(NAMES)
    for name, explanation in zip(result.names, result.comparison.explanations[1:], strict=True):
        side = current[current["batch"] == name]
        np.testing.assert_allclose(explanation.values, values(side[NAMES], side["y"]), rtol=1e-9)
    entries = cs.monitor(
        linear, reference, current[[*NAMES, "y"]], target="y", by=current["batch"].to_numpy(), background=rows, **QUICK
    )
    np.testing.assert_array_equal(entries.comparison.values, result.comparison.values)
    both = cs.monitor(linear, reference.assign(batch="old"), current, target="y", by="batch", background=rows, **QUICK)
    np.testing.assert_array_equal(both.comparison.values, result.comparison.values)


def test_a_feature_that_slices_are_cut_by_is_never_shifted(rows, seed):
    rng = np.random.default_rng(seed)
    reference, current = (
        table(rng, 300).round({"d": 0}).assign(d=lambda side: side["d"].clip(-1, 1)) for _ in range(2)
    )
    model, options = cs.as_predictor(linear, feature_names=NAMES), {"target": "y", "background": rows, **QUICK}
    result = cs.monitor(model, reference, current, by="d", **options)
    assert result.names == ("-1", "0", "1")
    assert "d" not in result.shifted
    assert {
        finding.is_shifted for name in result.names for finding in result.findings(name) if finding.feature == "d"
    } == {False}
    assert tuple(map(str, result.notes)) == (
        "Slices are cut by 'd', a feature: whether its inputs shifted is not tested.",
    )
    assert cs.monitor(model, reference, current, by=current["d"], **options).to_dict() == result.to_dict()
    apart = cs.monitor(model, reference, current, by=current["d"].to_numpy(), **options)
    assert "d" in apart.shifted  # of entries without a name it is not known whose they are
    np.testing.assert_array_equal(apart.comparison.values, result.comparison.values)


def test_a_fault_that_begins_is_seen_from_there_on(rows):
    rng = np.random.default_rng(0)
    reference, current = table(rng, 300), table(rng, 360)
    days = pd.date_range("2024-01-01", periods=360, freq="8h")
    current["b"] = current["b"].where(days < "2024-03-01", 30 * current["b"])
    result = cs.monitor(
        linear, reference, current.assign(day=days), target="y", by="day", every="month", background=rows, **QUICK
    )
    assert result.names == ("2024-01", "2024-02", "2024-03", "2024-04")
    assert [[finding.feature for finding in result.findings(name) if finding.is_flagged] for name in result.names] == [
        [],
        [],
        ["b"],
        ["b"],
    ]
    assert result.flagged == ["b"]
    assert "Seen from 2024-03 on, in 2 of 4 slices; the numbers are from 2024-0" in result.sentences()[1]
    lines = str(result).splitlines()
    heads = next(i for i, line in enumerate(lines) if line.split()[:2] == ["slice", "rows"])
    assert [line.split()[:2] for line in lines[heads + 1 : heads + 6]] == [
        ["reference", "300"],
        ["2024-01", "93"],
        ["2024-02", "87"],
        ["2024-03", "93"],
        ["2024-04", "87"],
    ]
    assert [line.split()[3:4] for line in lines[heads + 4 : heads + 6]] == [["b"], ["b"]]


# what goes wrong


def test_wrong_tables_say_what_is_wanted(tables):
    reference, current = tables

    def message_of(*arguments, **options):
        with pytest.raises(InputError) as caught:
            cs.monitor(linear, *arguments, **options)
        return str(caught.value)

    plain = {"target": "y"}
    assert message_of(reference, current, target="Y").startswith("target: got 'Y', which is no column of reference")
    assert message_of(reference, current.drop(columns="y"), **plain).startswith(
        "target: got 'y', which is no column of current"
    )
    assert message_of(reference, current, sample_weight="w", **plain).startswith("sample_weight: got 'w'")
    assert message_of(reference, current, by="day", **plain).startswith("by: got 'day', which is no column of current")
    assert message_of(reference, current.drop(columns="c"), **plain).startswith(
        "current: got no 'c', which reference has"
    )
    assert message_of(reference, current.assign(e=1), **plain).startswith("reference: got no 'e', which current has")
    assert message_of(reference.to_numpy(), current, **plain).startswith("target: got 'y', while reference is an array")
    assert message_of((reference[NAMES], reference["y"]), current, **plain).startswith(
        "target: got 'y' together with reference=(X, y)"
    )
    assert message_of((reference[NAMES],), current).startswith("reference: got a tuple of 1")
    pair = (reference[NAMES], reference["y"])
    assert message_of(pair, (current[NAMES], None)).startswith("current: got no responses, which reference has")
    assert message_of(pair, (current[NAMES], current["y"][:50])).startswith("current: got 120 rows and 50 responses")
    assert message_of(pair, (*pair, [1.0])).startswith("current: got 120 rows and 1 weights")
    assert message_of(pair, (current[NAMES], 3.0)).startswith("current: got 120 rows and float")
    assert message_of(pair, pair, by="day").startswith("by: got 'day' together with current=(X, y)")
    arrays = [side.to_numpy() for side in pair]
    assert message_of(arrays and tuple(arrays), (arrays[0][:, :3], arrays[1])).startswith(
        "current: got 3 columns; wanted 4"
    )
    assert message_of(reference, current[:5], **plain).startswith("current: got 5 rows; wanted 20")
    assert message_of(reference[["y"]], current, **plain).startswith(
        "reference: got a table with no column that is a feature"
    )
    assert message_of(reference, current, loss=["squared error", "brier"], **plain).startswith("loss: got a list of 2")
    assert message_of(reference, current, adjust="bonferroni", **plain).startswith("adjust")
    assert message_of(reference, current, level=95, **plain).startswith("level")
    assert message_of(reference, current, paired="yes", **plain).startswith("paired")
    fewer = message_of(reference, current[:-1], paired=True, **plain)
    assert fewer.startswith(f"paired: got True, with {len(reference)} rows of reference and {len(current) - 1} of")
    assert "'rows 1 to 30'" in message_of(reference, current, paired=True, every=30, **plain)
    for rows in (0, True, 10.5, np.nan, np.inf):
        assert message_of(reference, current, background_rows=rows, **plain).startswith(
            f"background_rows: got {rows!r}"
        )
    marginal = cs.Marginal(reference[["a", "b", "c", "d"]])
    message = message_of(reference, current, background_rows=5, removal=marginal, **plain)
    assert message.startswith("background_rows: got 5 together with a removal object")


@pytest.mark.parametrize(
    ("column", "every", "message"),
    [
        (None, "month", 'by: got None, with every="month"'),
        (["a"] * 50, "month", "every: got 'month' for a column that holds no dates"),
        (["a"] * 50, "decade", "every: got 'decade'"),
        (["a"] * 50, [3], r"every: got \[3\]"),
        (["a"] * 50, True, "every: got True"),
        (["a"] * 50, 5, "every: got 5 rows; wanted 20"),
        ([None] * 50, None, "by: got only missing cells"),
        (["a"] * 49, None, "by: got 49 entries; wanted 50"),
        (range(50), None, "by: got slices of fewer than 20 rows"),
        (3, None, "by: got 1 entries"),
    ],
)
def test_wrong_slices_say_what_is_wanted(column, every, message):
    with pytest.raises(InputError, match=f"^{message}"):
        slice_rows(column, every, 50)


def test_too_many_slices_are_refused():
    with pytest.raises(InputError, match=r"^by: got 61 distinct entries; wanted at most 60 slices"):
        slice_rows(np.arange(61).repeat(20), None, 61 * 20)
    with pytest.raises(InputError, match=r"^every: got 61 slices of a day"):
        slice_rows(pd.date_range("2024-01-01", periods=61).repeat(20), "day", 61 * 20)
    with pytest.raises(InputError, match=r"^every: got 20 rows, which makes 61 slices"):
        slice_rows(None, 20, 61 * 20)


def test_a_model_that_fails_on_current_rows_is_an_error_that_names_the_column(seed):
    rng = np.random.default_rng(seed)
    reference = pd.DataFrame({"size": rng.normal(size=80), "colour": rng.choice(["red", "blue"], size=80)})
    current = reference.assign(colour=rng.choice(["red", "green"], size=80))
    code = {"red": 1.0, "blue": 2.0}

    def model(X):
        return X["size"].to_numpy() + np.array([code[colour] for colour in X["colour"]])

    message = (
        r"KeyError from .*green.*\(in current rows; 'colour' has values that the reference does not have, such as "
        r"'green'"
    )
    with pytest.raises(ModelError, match=message) as caught:
        cs.monitor(model, (reference, reference["size"]), (current, reference["size"]), rng=0)
    assert isinstance(caught.value.__cause__, ModelError)
    batches = np.repeat(["first", "second"], 40)
    mixed = pd.concat([reference[:40], current[40:]])
    with pytest.warns(cs.ClarysageWarning, match=r"\(in second rows; 'colour' has values"):
        result = cs.monitor(model, (reference, reference["size"]), (mixed, reference["size"]), by=batches, rng=0)
    assert result.names == ("first",)
    with pytest.warns(cs.ClarysageWarning, match=r"\(in rows 41 to 80; 'colour' has values"):
        result = cs.monitor(model, (reference, reference["size"]), (mixed, reference["size"]), every=40, rng=0)
    assert result.names == ("rows 1 to 40",)


@pytest.mark.parametrize("learner", [LinearRegression(), DecisionTreeRegressor(max_depth=3)])
def test_a_category_that_an_encoder_refuses_is_an_error_that_names_the_column(seed, learner):
    rng = np.random.default_rng(seed)
    reference = pd.DataFrame({"size": rng.normal(size=80), "colour": rng.choice(["red", "blue"], size=80)})
    reference["y"] = reference["size"] + (reference["colour"] == "red")
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="error"), ["colour"]), remainder="passthrough")
    model = make_pipeline(encoder, learner).fit(reference[["size", "colour"]], reference["y"])
    current = reference.assign(colour=["green", *reference["colour"][1:]])
    message = (
        r"^model: got ValueError from Pipeline: .*'green'.* \(in current rows; 'colour' has values that the reference "
        r"does not have, such as 'green'\)"
    )
    with pytest.raises(ModelError, match=message):
        cs.monitor(model, reference, current, target="y", rng=0)


def test_cells_that_became_text_are_an_error_that_names_the_column(tables):
    reference, current = tables
    with pytest.raises(InputError, match=r"in current rows; in 'b' .*text"):
        cs.monitor(linear, reference, current.assign(b=current["b"].map("{:.2f} s".format)), target="y", rng=0)


def test_missing_responses_say_of_which_rows(tables):
    reference, current = tables
    for sides, where in (
        ((reference, current.assign(y=np.nan)), "current"),
        ((reference.assign(y=np.nan), current), "reference"),
    ):
        with pytest.raises(InputError, match=rf"^target: got 120 missing .*\(in {where} rows, column 'y'\)"):
            cs.monitor(linear, *sides, target="y", **QUICK)
        parts = [(side[NAMES], side["y"]) for side in sides]
        with pytest.raises(InputError, match=rf"^y: got 120 missing .*\(in {where} rows\)"):
            cs.monitor(linear, *parts, **QUICK)


def test_a_table_without_the_target_says_what_to_do_where_it_is_not_known_yet(tables):
    reference, current = tables
    for sides, labelled, unlabelled in (
        ((reference, current.drop(columns="y")), "reference", "current"),
        ((reference.drop(columns="y"), current), "current", "reference"),
    ):
        with pytest.raises(InputError) as caught:
            cs.monitor(linear, *sides, target="y", **QUICK)
        assert str(caught.value) == (
            f"target: got 'y', which is no column of {unlabelled}; wanted responses in both tables. Try target=None "
            f"where they are not known yet, and {labelled} without 'y': what features do to the output is "
            "compared then."
        )
    result = cs.monitor(linear, reference.drop(columns="y"), current.drop(columns="y"), method="exact", rng=0)
    assert result.losses is None


def test_a_note_says_which_columns_are_features_where_the_model_does_not_know(tables, rows):
    reference, current = tables
    options = {"target": "y", "background": rows, **QUICK}
    expected = "linear does not say which columns it was fitted on; used as features: 'a', 'b', 'c', 'd'."
    assert [str(note) for note in cs.monitor(linear, reference, current, **options).notes] == [expected]
    assert cs.monitor(cs.as_predictor(linear, feature_names=NAMES), reference, current, **options).notes == ()
    arrays = [apart(side) for side in tables]
    assert cs.monitor(linear, *arrays, background=rows.to_numpy(), **QUICK).notes == ()


class Interrupting:
    """The linear model, which is interrupted at its n-th call."""

    def __init__(self, after):
        self.left = after

    def __call__(self, X):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return linear(X)


def test_an_interrupt_keeps_the_slices_that_are_done(tables, rows):
    reference, current = tables
    options = {"target": "y", "background": rows, "every": 30, **QUICK}
    complete, counting = cs.monitor(linear, reference, current, **options), Interrupting(10**9)
    cs.monitor(counting, reference, current, **options)
    calls = 10**9 - counting.left
    seen = set()
    for after in np.unique(np.linspace(1, calls - 1, 24).astype(int)):
        try:
            result = cs.monitor(Interrupting(int(after)), reference, current, **options)
        except KeyboardInterrupt:  # nothing was there to compare
            seen.add(0)
            continue
        done = len(result.names)
        seen.add(done)
        if result.comparison.explanations[-1].stopped is not StopReason.INTERRUPTED:
            np.testing.assert_array_equal(result.comparison.values, np.squeeze(complete.comparison.values[:done]))
        assert str(result.notes[-1]).startswith("Interrupted: ") == (done < 4)
        assert len(result.shifts) == done
        assert set(result.left_out) == set(complete.names[done:])
    assert {0, 1, 2, 3} <= seen


def test_a_slice_that_fails_is_left_out_with_the_reason_and_the_others_are_kept(tables, rows, tmp_path):
    reference, current = tables
    options = {"target": "y", "background": rows, "every": 30, **QUICK}
    complete, broken = cs.monitor(linear, reference, current, **options), current.copy()
    broken.loc[broken.index[35], "y"] = np.nan  # of the second of four slices
    with pytest.warns(cs.errors.ClarysageWarning, match="'rows 31 to 60' is left out"):
        result = cs.monitor(linear, reference, broken, **options)
    assert result.names == (complete.names[0], *complete.names[2:])
    np.testing.assert_array_equal(result.comparison.values, complete.comparison.values[[0, 2, 3]])
    assert result.shifts == (complete.shifts[0], *complete.shifts[2:])
    assert list(result.left_out) == ["rows 31 to 60"]
    assert "1 missing or infinite response" in result.left_out["rows 31 to 60"]
    assert result.sentences()[0].endswith(" Not explained: rows 31 to 60.")
    assert str(result.notes[-1]).startswith(
        "Left out: 'rows 31 to 60', which cannot be explained. target: got 1 missing"
    )
    result.save(tmp_path / "found.json")
    assert cs.load(tmp_path / "found.json").left_out == result.left_out


def test_where_every_slice_fails_that_is_an_error(tables, rows):
    reference, current = tables
    with pytest.raises(InputError, match="in rows 1 to 30, column 'y'"):
        cs.monitor(linear, reference, current.assign(y=np.nan), target="y", background=rows, every=30, **QUICK)


# verdicts and sentences


@pytest.mark.parametrize(
    ("changed", "shifted", "far", "expected"),
    [
        ([1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [BOTH, FOLLOWS, INPUTS, UNCHANGED]),
        ([0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0], [INPUTS, ALONE, INPUTS, UNCHANGED]),
        ([1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [BOTH, BOTH, UNCHANGED, UNCHANGED]),
        ([0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [UNCHANGED] * 4),
        ([0, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [CERTAIN, INPUTS, UNCHANGED, UNCHANGED]),
        ([1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 0, 0], [BOTH, CERTAIN, FOLLOWS, UNCHANGED]),
    ],
)
def test_verdicts_count_both_tests(changed, shifted, far, expected):
    changed, shifted, far = (np.array(each, dtype=bool) for each in (changed, shifted, far))
    verdicts = verdicts_of(changed, shifted, shifted & far, far)
    assert verdicts == expected


def finding(
    verdict, before=0.09, after=-0.31, share=0.5, hints=("values are about 60 times the reference's",), **changes
):
    fields = {
        "feature": "duration",
        "where": "current",
        "verdict": verdict,
        "before": before,
        "after": after,
        "difference": after - before,
        "low": -1.0,
        "high": 1.0,
        "after_low": after - 0.01,
        "after_high": after + 0.01,
        "p_value": 0.01,
        "inputs_p_value": 0.01,
        "share": share,
        "shift": Shift("duration", "numbers", 0.9, 1e-9, hints, {}),
    }
    return Finding(**{**fields, **changes})


@pytest.mark.parametrize(
    ("feature_finding", "causes", "expected"),
    [
        (
            finding(BOTH),
            [],
            "duration now hurts: its contribution fell from 0.0900 to -0.310; values are about 60 times the "
            "reference's. This change accounts for 50 % of the rise of the mean loss from 0.200 to 1.00. "
            "Both its contribution and its inputs changed.",
        ),
        (
            finding(ALONE),
            ["month"],
            "duration now hurts: its contribution fell from 0.0900 to -0.310. This change accounts for 50 "
            "% of the rise of the "
            "mean loss from 0.200 to 1.00. The only evidence is its contribution: its inputs are not known to have "
            "shifted. Those of month did, and may be the cause.",
        ),
        (
            finding(ALONE, share=None),
            [],
            "duration now hurts: its contribution fell from 0.0900 to -0.310. The only evidence is "
            "its contribution: no "
            "inputs are known to have shifted; the response, or how it depends on the features, may have changed.",
        ),
        (
            finding(FOLLOWS),
            ["month", "age"],
            "duration changed along with month and age, and is therefore not flagged: its "
            "contribution fell from 0.0900 "
            "to -0.310, while its inputs are not known to have shifted.",
        ),
        (
            finding(INPUTS),
            [],
            "duration has different inputs: values are about 60 times the reference's. The only "
            "evidence is its inputs: its "
            "contribution is not known to have changed.",
        ),
        (
            finding(CERTAIN),
            [],
            "duration has different inputs: values are about 60 times the reference's. That is certain, and an alarm "
            "of its own: whether its contribution changed, these rows do not show.",
        ),
    ],
    ids=["both", "alone with a cause", "alone", "follows", "inputs", "certain"],
)
def test_sentences_of_the_verdicts(feature_finding, causes, expected):
    assert finding_sentence(feature_finding, causes, (0.2, 1.0)) == expected


@pytest.mark.parametrize(
    ("share", "losses", "expected"),
    [
        (1.4, (0.2, 0.5), " The mean loss rose from 0.200 to 0.500; this change accounts for more than all of it."),
        (1.4, (0.5, 0.2), " The mean loss fell from 0.500 to 0.200; this change accounts for more than all of it."),
        (
            0.004,
            (0.2, 0.5),
            " This change accounts for less than 1 % of the rise of the mean loss from 0.200 to 0.500.",
        ),
        (0.25, (0.5, 0.2), " This change accounts for 25 % of the fall of the mean loss from 0.500 to 0.200."),
        (-0.5, (0.5, 0.2), " The mean loss fell nevertheless, from 0.500 to 0.200."),
        (-0.5, (0.24179, 0.34185), " The mean loss rose nevertheless, from 0.242 to 0.342."),
        (None, (0.24179, 0.24185), " The mean loss hardly changed, from 0.24179 to 0.24185."),
    ],
)
def test_sentences_say_the_share_in_the_loss(share, losses, expected):
    assert expected in finding_sentence(finding(BOTH, share=share), [], losses)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (0.1, -0.1, "now hurts"),
        (-0.1, -0.3, "hurts more"),
        (-0.3, -0.1, "hurts less"),
        (-0.1, 0.1, "now helps"),
        (0.0, 0.1, "now helps"),
        (0.1, 0.3, "helps more"),
        (0.3, 0.1, "helps less"),
        (0.3, 0.0, "no longer helps"),
        (-0.3, 0.0, "no longer hurts"),
    ],
)
def test_sentences_say_the_direction(before, after, words):
    sentence = finding_sentence(finding(BOTH, before, after), [], (0.2, 0.3))
    assert sentence.startswith(f"duration {words}: its contribution {'rose' if after > before else 'fell'} from ")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (0.3, -0.1, "no longer helps"),
        (-0.3, 0.1, "no longer hurts"),
        (-0.05, -0.3, "contributes less"),
        (0.0, -0.3, "contributes less"),
        (0.05, 0.3, "contributes more"),
        (0.3, 0.1, "helps less"),
        (-0.3, -0.1, "hurts less"),
    ],
)
def test_nothing_hurts_or_helps_now_where_its_interval_includes_zero(before, after, words):
    feature_finding = finding(BOTH, before, after, after_low=after - 1, after_high=after + 1)
    assert finding_sentence(feature_finding, [], (0.2, 0.3)).startswith(f"duration {words}: its contribution ")


def test_a_column_that_went_missing_no_longer_helps_and_one_in_another_unit_hurts(rows):
    rng = np.random.default_rng(3)
    reference, current = table(rng, 400), table(rng, 400)

    def filling(X):
        return linear(np.nan_to_num(np.asarray(X, dtype=float), nan=-0.05))

    lost, scaled = (
        cs.monitor(filling, reference, current.assign(a=a), target="y", background=rows, **QUICK)
        for a in (np.nan, 30 * current["a"])
    )
    for result, words, is_below in ((lost, "no longer helps", False), (scaled, "now hurts", True)):
        feature_finding = result.findings()[0]
        low, high = result.comparison.explanations[1].interval(0.95, about="rows")
        assert (feature_finding.after_low, feature_finding.after_high) == (low[0], high[0])
        assert feature_finding.after < 0 < feature_finding.before
        assert (high[0] < 0) == is_below
        assert result.sentences()[1].startswith(f"a {words}: its contribution fell from ")


def test_beside_a_sure_cause_a_shift_that_may_be_chance_makes_no_other():
    shifted, surely = np.array([True, True, True, False]), np.array([False, True, True, False])
    verdicts = verdicts_of(np.array([True, True, False, True]), shifted, surely, far=np.zeros(4, dtype=bool))
    assert verdicts == [FOLLOWS, BOTH, INPUTS, FOLLOWS]
    sentence = finding_sentence(replace(finding(FOLLOWS), is_shifted=True), ["month"], (0.2, 0.3))
    assert sentence.endswith("while its inputs shifted with much less certainty.")


def test_effects_on_the_output_are_not_called_help():
    for verdict in (BOTH, ALONE, CERTAIN, FOLLOWS, INPUTS):
        sentence = finding_sentence(finding(verdict, share=None), ["month"], None)
        assert "its effect" in sentence
        assert not re.search("hurt|help|loss|contribution", sentence)


def test_numbers_in_sentences_differ_visibly():
    assert format_pair(0.0352441, -0.2220512) == ("0.0352", "-0.222")
    assert format_pair(-1e-9, 0.5) == ("0", "0.500")
    assert format_pair(0.012, 0.5) == ("0.0120", "0.500")
    assert format_pair(0.0, 0.0) == ("0", "0")
    assert format_pair(123456.7, 123.4) == ("123,457", "123")
    assert format_pair(1.5e12, 2e12) == ("1.5e+12", "2e+12")
    assert format_pair(1.2341e9, 1.2349e9) == ("1.2341e+09", "1.2349e+09")
    assert format_pair(1.2341e-9, 1.2349e-9) == ("1.2341e-09", "1.2349e-09")
    assert format_pair(0.0, 1e-9) == ("0", "1e-09")
    assert format_pair(3e9, 3e9) == ("3e+09", "3e+09")


def test_a_column_in_another_unit_is_described_in_one_sentence(fixed):
    alarm, first, *_ = fixed.sentences()
    assert alarm == "FLAGGED: b."
    hint = re.escape(fixed.shifts[0][1].hints[0])
    assert re.match(r"values are about (2|3)\d times", fixed.shifts[0][1].hints[0])
    numbers = r"\d+\.\d+ to -\d+"
    share = r"This change accounts for \d+ % of the rise of the mean loss"
    expected = rf"b now hurts: its contribution fell from {numbers}; {hint}\. {share}"
    assert re.match(expected, first)
    assert first.endswith("Both its contribution and its inputs changed.")


def test_inputs_that_shift_without_effect_are_named_and_not_flagged(rows):
    rng = np.random.default_rng(0)
    reference, current = table(rng, 200), table(rng, 200)

    def deaf(X):
        return np.asarray(X)[:, :3] @ BETA[:3]

    result = cs.monitor(deaf, reference, current.assign(d=60 * current["d"]), target="y", background=rows, **QUICK)
    assert result.flagged == []
    assert result.shifted == ["d"]
    assert result.findings()[3].verdict == INPUTS
    assert result.sentences()[0] == "Nothing is flagged: no contribution is known to have changed. Inputs shifted: d."
    assert re.match(r"d has different inputs: values are about 6\d times the reference's", result.sentences()[1])


def test_inputs_that_surely_shifted_are_an_alarm_of_their_own_though_few_rows_do_not_show_it_in_the_loss(rows):
    """Ten slices of thirty rows, in the last of which a column is 1/100 of what it was."""
    rng = np.random.default_rng(0)
    reference, current = table(rng, 400), table(rng, 300)
    current = current.assign(d=current["d"].where(np.arange(300) < 270, current["d"] / 100))
    result = cs.monitor(linear, reference, current, target="y", background=rows, every=30, **QUICK)
    assert not result.comparison.flags.any()  # no contribution is known to have changed
    assert result.flagged == ["d"]
    assert result.is_flagged
    verdicts = {finding.verdict for where in result.names[:-1] for finding in result.findings(where)}
    assert verdicts == {UNCHANGED}
    *others, last = [finding for finding in result.findings(result.names[-1]) if finding.verdict != UNCHANGED]
    assert (others, last.feature, last.verdict) == ([], "d", CERTAIN)
    assert last.inputs_p_value < SURE_SHIFT * 0.05
    assert last.shift.distance > FAR
    alarm, sentence = result.sentences()
    assert alarm == "FLAGGED: d."
    assert re.match(
        r"d has different inputs: values are about 1/\d+ of the reference's. That is certain, and", sentence
    )
    assert sentence.endswith(f"Seen only in {result.names[-1]}, one of 10 slices.")
    assert "inputs for certain" in result.report()
    (row,) = [line.split() for line in str(result).splitlines() if line.startswith(f"  {result.names[-1]} ")]
    assert row[-1] == "d"


def test_a_small_shift_of_many_rows_is_no_alarm_of_its_own(rows):
    """With many rows, a shift by a seventh of the spread is certain, and need not matter."""
    rng = np.random.default_rng(0)
    reference, current = table(rng, 8000), table(rng, 8000)
    shifted = current.assign(c=current["c"] + 0.15)
    result = cs.monitor(linear, reference, shifted, target="y", background=rows, **QUICK)
    finding = result.findings()[2]
    assert finding.inputs_p_value < SURE_SHIFT * 0.05
    assert finding.shift.distance < FAR
    assert finding.verdict in (INPUTS, BOTH, FOLLOWS)
    assert finding.verdict != CERTAIN


def test_responses_that_changed_are_flagged_by_contributions_alone(rows):
    rng = np.random.default_rng(0)
    reference, current = table(rng, 300), table(rng, 300)
    turned = current.assign(y=current["y"] - 2 * BETA[0] * current["a"])  # what a is worth is turned around
    result = cs.monitor(linear, reference, turned, target="y", background=rows, **QUICK)
    assert "a" in result.flagged
    assert result.findings()[0].verdict == ALONE
    assert "the response, or how it depends on the features, may have changed" in result.sentences()[1]


def test_findings_of_a_slice_need_its_name(fixed, tables, rows):
    assert fixed.findings() == fixed.findings("current")
    with pytest.raises(InputError, match="where: got 'may'; wanted one of 'current'"):
        fixed.findings("may")
    several = cs.monitor(linear, *tables, target="y", background=rows, every=60, **QUICK)
    with pytest.raises(InputError, match="where: got None"):
        several.findings()


# to read and to keep


def test_table_has_a_line_for_each_feature_and_says_what_it_means(fixed):
    text = str(fixed)
    assert text == fixed.table() == repr(fixed)
    assert text.splitlines()[0].endswith("current (120 rows) against reference (120 rows), in units of squared error")
    line = next(line for line in text.splitlines() if line.startswith("  b ") and "[" in line)
    assert line.endswith("inputs and contribution")
    for words in ("(Holm)", "treated as independent samples of rows", "A column can break without"):
        assert words in text
    assert "90% interval" in fixed.table(0.9)


def test_runs_that_did_not_converge_are_named(fixed):
    explanations = fixed.comparison.explanations
    cut = replace(explanations[1], stopped=StopReason.BUDGET)
    result = replace(fixed, comparison=replace(fixed.comparison, explanations=(explanations[0], cut)))
    assert "NOT CONVERGED: current." in str(result)


def test_frame_has_a_row_for_each_feature_of_each_slice(fixed, tables, rows):
    frame = fixed.to_frame(0.8)
    assert frame["feature"].tolist() == NAMES
    np.testing.assert_allclose(frame["difference"], frame["current"] - frame["reference"], atol=1e-12)
    low, high = fixed.comparison.interval(0.8)
    np.testing.assert_allclose(frame[["low", "high"]], np.column_stack([low, high]))
    assert frame.set_index("feature")["flagged"].to_dict() == {name: name == "b" for name in NAMES}
    assert frame["inputs"][1] == fixed.shifts[0][1].hints[0]
    several = cs.monitor(linear, *tables, target="y", background=rows, every=60, **QUICK)
    long = several.to_frame()
    assert long["where"].tolist() == [name for name in several.names for _ in NAMES]
    np.testing.assert_allclose(long["difference"], several.comparison.values.ravel())


@pytest.mark.parametrize("slices", [None, 40])
@pytest.mark.parametrize("target", ["y", None])
def test_monitoring_reads_back_from_its_file(tables, rows, tmp_path, slices, target):
    sides = tables if target else [side[NAMES] for side in tables]
    options = {
        "method": "exact",
        "rng": 0,
        "background": rows,
        "every": slices,
        **({"loss": "squared error"} if target else {}),
    }
    result = cs.monitor(linear, *sides, target=target, groups={"some": ["b", "c"]}, **options)
    result.save(tmp_path / "it.json")
    again = cs.load(tmp_path / "it.json")
    assert isinstance(again, cs.Monitoring)
    assert str(again) == str(result)
    assert again.to_dict() == result.to_dict()
    assert again.sentences() == result.sentences()
    assert json.loads((tmp_path / "it.json").read_text())["sentences"] == result.sentences()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 7),
        ("comparison", None),
        ("comparison", {}),
        ("shifts", None),
        ("shifts", []),
        ("shifts", [[]]),
        ("shifts", [3]),
        ("flagged", ["a"]),
        ("flagged", None),
        ("notes", [1]),
        ("notes", None),
        ("in_order", 1),
    ],
)
def test_a_damaged_file_is_refused(fixed, tmp_path, field, value):
    (tmp_path / "it.json").write_text(json.dumps({**fixed.to_dict(), field: value}))
    with pytest.raises(FormatError):
        cs.load(tmp_path / "it.json")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("column", "other"),
        ("column", 3),
        ("kind", "colours"),
        ("distance", 1.5),
        ("distance", None),
        ("distance", True),
        ("p_value", -0.1),
        ("p_value", "0.5"),
        ("hints", [3]),
        ("hints", "all"),
        ("facts", {"median": [1.0]}),
        ("facts", {"median": [1.0, "2"]}),
        ("facts", []),
    ],
)
def test_a_damaged_shift_is_refused(fixed, tmp_path, field, value):
    data = fixed.to_dict()
    data["shifts"][0][0][field] = value
    (tmp_path / "it.json").write_text(json.dumps(data))
    with pytest.raises(FormatError, match="shifts"):
        cs.load(tmp_path / "it.json")


NASTY = "<script>alert('x')</script>"


def test_html_escapes_names_of_columns_slices_and_cells():
    rng = np.random.default_rng(0)
    sides = [
        pd.DataFrame({NASTY: rng.choice(labels, 60), "n": rng.normal(size=60)}) for labels in (["a"], ["a", NASTY])
    ]
    result = cs.monitor(
        lambda X: X["n"].to_numpy(),
        *((side, side["n"]) for side in sides),
        rng=0,
        by=np.repeat(["<b>old</b>", "<i>new</i>"], 30),
    )
    shown = result._repr_html_()
    assert "<script>" not in shown
    assert "<b>old" not in shown
    assert "<i>" not in shown
    assert "&lt;script&gt;" in shown
    assert "&lt;b&gt;old" in shown


def test_names_without_end_are_cut_in_sentences_and_tables():
    long = "x" * 10_000
    rng = np.random.default_rng(0)
    sides = [table(rng).rename(columns={"b": long}) for _ in range(2)]
    result = cs.monitor(linear, sides[0], sides[1].assign(**{long: 30 * sides[1][long]}), target="y", **QUICK)
    assert result.flagged == [long]
    assert max(map(len, result.sentences())) < 500
    assert max(map(len, str(result).splitlines())) < 500
