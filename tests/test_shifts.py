"""Shifts of columns: tests of distances against oracles and by simulation, hints by corruptions that are known."""

from __future__ import annotations

import datetime
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chi2_contingency, hypergeom, ks_2samp

from clarysage.drift import shifts, shifts_of_each
from clarysage.drift.column_samples import read_column
from clarysage.drift.numeric import number_hints
from clarysage.drift.two_sample_tests import (
    TwoSampleECDF,
    _normal_p,
    chi_square_p,
    hypergeometric_p,
    kolmogorov_smirnov_p,
    new_categories_p,
    smallest_attainable_p,
    tarone_p,
    total_variation,
)
from clarysage.drift.wording import percent
from clarysage.errors import InputError
from clarysage.results.finding import Shift

RARE = 1e-4  # the chance at which a simulation may fail where all is right
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
OF_MONTHS = np.array([3, 4, 1, 7, 30, 12, 16, 14, 2, 3, 5, 3]) / 100


def shift(reference, current):
    """Compares one column."""
    (compared,) = shifts(pd.DataFrame({"x": reference}), pd.DataFrame({"x": current}))
    return compared


def hints(reference, current):
    return "; ".join(shift(reference, current).hints)


# --- tests of shares, distances and newcomers, against oracles


@pytest.mark.parametrize(("count", "drawn", "rows"), [(3, 10, 40), (30, 10, 40), (40, 13, 45), (700, 300, 2000)])
def test_share_agrees_with_the_hypergeometric_law(count, drawn, rows):
    law = hypergeom(rows, count, drawn)
    for observed in range(max(0, count - (rows - drawn)), min(count, drawn) + 1):
        expected = min(1.0, 2 * min(law.cdf(observed), law.sf(observed - 1)))
        assert hypergeometric_p(observed, count, drawn, rows) == pytest.approx(expected, rel=1e-6)


def test_large_counts_go_by_a_normal_law_that_agrees_with_the_exact_one():
    rows, drawn, count = 20_000, 9_000, 3_500
    for observed in range(1_400, 1_760, 40):
        approximate, exact = np.log(
            [_normal_p(observed, count, drawn, rows), hypergeometric_p(observed, count, drawn, rows)]
        )
        assert approximate == pytest.approx(exact, rel=0.01, abs=0.01)


def test_smallest_attainable_p_is_the_smallest_of_all():
    for count in range(1, 20):
        p_values = [
            hypergeometric_p(observed, count, 7, 25) for observed in range(max(0, count - 18), min(count, 7) + 1)
        ]
        assert smallest_attainable_p(np.array([count]), 7, 25)[0] == pytest.approx(min(p_values))


@pytest.mark.parametrize("test", [tarone_p, new_categories_p, lambda *counts, rows: chi_square_p(*counts)])
def test_p_values_of_counts_hold_their_level_when_all_draws_are_enumerated(test):
    sizes, drawn = np.array([6, 3, 2, 2, 1, 1]), 6
    rows, p_and_ways = (int(sizes.sum()) - drawn, drawn), []
    for current in product(*(range(size + 1) for size in sizes)):
        if sum(current) == drawn:
            ways = np.prod([_choose(size, now) for size, now in zip(sizes, current, strict=True)])
            p_and_ways.append((test(sizes - np.array(current), np.array(current), rows=rows), ways))
    p, ways = np.array(p_and_ways).T
    for level in (0.01, 0.05, 0.2, 0.5):
        assert ways[p <= level].sum() <= level * ways.sum() * (1 + 1e-9)


@pytest.mark.parametrize("size", [4, 6, 8, 10])
@pytest.mark.parametrize("others", [20, 60, 100, 140, 180])
def test_values_as_large_as_one_that_is_all_in_one_sample_are_counted_with_it(size, others):
    reference, current = np.array([0, *[size // 2] * 9, others + size]), np.array([size, *[size // 2] * 9, others])
    rows = int(reference.sum()), int(current.sum())
    alone = hypergeometric_p(size, size, rows[1], sum(rows))
    assert tarone_p(reference, current, rows) >= min(1.0, 10 * alone * (1 - 1e-9))


def _choose(n, k):
    return float(np.prod([(n - i) / (i + 1) for i in range(k)]))


def test_distances_agree_with_other_implementations(seed):
    rng = np.random.default_rng(seed)
    for rows in ((40, 30), (2500, 300), (3000, 3100)):
        reference, current = (np.sort(np.round(rng.normal(size=n), 1)) for n in rows)
        ecdf, expected = TwoSampleECDF.of(reference, current), ks_2samp(reference, current, method="exact")
        assert ecdf.distance == pytest.approx(expected.statistic)
        assert ecdf.counts.sum(axis=1).tolist() == list(rows)
        assert kolmogorov_smirnov_p(reference, current, ecdf.distance) == pytest.approx(expected.pvalue, rel=0.1)
    table = rng.integers(20, 60, size=(2, 5))
    assert chi_square_p(*table) == pytest.approx(chi2_contingency(table).pvalue)
    assert total_variation(np.array([1, 1, 0]), np.array([1, 0, 1])) == 0.5


def test_rare_categories_are_taken_together():
    table = np.array([[50, 40, 3, 2, 1, 2], [40, 60, 2, 3, 2, 0]])
    together = np.array([[50, 40, 8], [40, 60, 7]])
    assert chi_square_p(*table) == pytest.approx(chi2_contingency(together).pvalue)


# --- p-values of columns, by simulation


def columns(rng, n):
    zipf = 1 / np.arange(1, 301)
    return pd.DataFrame(
        {
            "normal": rng.normal(size=n),
            "skewed": rng.lognormal(0, 2, n),
            "whole": rng.integers(18, 90, n),
            "tied": rng.normal(size=n).round(1),
            "zeros": np.where(rng.random(n) < 0.7, 0, rng.exponential(5, n)),
            "few": rng.integers(0, 7, n),
            "flag": rng.random(n) < 0.1,
            "rare": pd.Categorical.from_codes(rng.choice(300, n, p=zipf / zipf.sum()), [f"c{i}" for i in range(300)]),
            "text": rng.choice(list("abcdef"), n, p=[0.4, 0.3, 0.15, 0.1, 0.04, 0.01]),
            "holes": np.where(rng.random(n) < 0.03, np.nan, rng.normal(size=n)),
            "text with holes": pd.Series(rng.choice(["x", "y", "z"], n)).where(rng.random(n) < 0.9),
        }
    )


def assert_level(rng, n, m, times):
    """P-values of each column, and of all, which are independent, are small no more often than they may be."""
    p = np.array(
        [
            [shift_of_column.p_value for shift_of_column in shifts(columns(rng, n), columns(rng, m))]
            for _ in range(times)
        ]
    )
    for level in (0.01, 0.05, 0.2):
        assert ((p <= level).sum(axis=0) <= binom.isf(RARE, times, level)).all(), level
        assert (p <= level).sum() <= binom.isf(RARE, p.size, level), level


@pytest.mark.parametrize(("n", "m"), [(2000, 100), (100, 500), (30, 12)])
def test_p_values_hold_their_level(seed, n, m):
    assert_level(np.random.default_rng([seed, n, m]), n, m, 40)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(2000, 100), (100, 2000), (500, 500), (30, 12), (3000, 1000)])
def test_p_values_hold_their_level_over_many_draws(seed, n, m):
    assert_level(np.random.default_rng([seed, n, m]), n, m, 1000)


def test_p_values_of_numbers_are_not_needlessly_large(seed):
    rng, times = np.random.default_rng(seed), 300
    p = np.array([shift(rng.normal(size=200), rng.normal(size=150)).p_value for _ in range(times)])
    assert (p <= 0.3).sum() >= binom.ppf(RARE, times, 0.25)


def test_plain_shifts_are_found(seed):
    rng = np.random.default_rng(seed)
    assert shift(rng.normal(size=1000), rng.normal(0.5, 1, 500)).p_value < 1e-3
    assert shift(rng.exponential(size=1000), rng.exponential(1.5, 1000)).p_value < 1e-3
    of_categories = shift(
        rng.choice(list("abc"), 1000, p=[0.5, 0.3, 0.2]), rng.choice(list("abc"), 500, p=[0.3, 0.3, 0.4])
    )
    assert of_categories.p_value < 1e-3
    assert of_categories.distance == pytest.approx(0.2, abs=0.1)


def test_a_few_rows_of_a_stand_in_are_found_where_the_distance_is_small(seed):
    rng = np.random.default_rng(seed)
    current = rng.normal(size=500)
    current[:8] = -999
    compared = shift(rng.normal(size=2000), current)
    assert compared.p_value < 1e-3
    assert compared.hints[0].startswith("-999 fills 1.6 % of rows, none of the reference's")


@pytest.mark.parametrize("labels", [2, 4, 8])
def test_one_new_label_in_a_tenth_of_few_rows_is_named(seed, labels):
    rng = np.random.default_rng(seed)
    old_labels = np.array([f"label {i}" for i in range(labels)], dtype=object)
    reference, current = (rng.permutation(np.resize(old_labels, 80)) for _ in range(2))
    current[:8] = "unheard"
    assert "'unheard' is new, 10 % of rows" in shift(reference, current).hints


def test_many_rare_labels_that_are_all_new_are_found(seed):
    rng = np.random.default_rng(seed)
    towns = np.array([f"Town {i}" for i in range(500)])
    compared = shift(rng.choice(towns, 3000), np.char.upper(rng.choice(towns, 200)))
    assert compared.p_value < 1e-6
    assert compared.hints[0].startswith("labels differ from the reference's by case alone: 'Town ")
    assert shift(rng.choice(towns, 3000), rng.choice(towns, 200)).p_value > 1e-6


def test_the_same_rows_have_distance_zero_and_p_value_one(seed):
    frame = columns(np.random.default_rng(seed), 200)
    for compared in shifts(frame, frame.iloc[::-1]):
        assert (compared.distance, compared.p_value, compared.hints) == (0.0, 1.0, ())


# --- hints, by corruptions of the reference's own rows


def exponential(rng, n):
    return rng.exponential(4, n)


def integers(rng, n):
    return np.round(rng.exponential(250, n))


def temperature(rng, n):
    return rng.normal(15, 8, n)


def around_zero(rng, n):
    return rng.normal(size=n)


def months(rng, n):
    return rng.choice(MONTHS, n, p=OF_MONTHS)


def codes(rng, n):
    return rng.choice(12, n, p=OF_MONTHS) + 1


def letters(rng, n):
    return rng.choice(list("abcd"), n, p=[0.5, 0.28, 0.15, 0.07])


def some(x, value, share=0.05):
    """With a value in a share of the rows."""
    x = np.array(x, dtype=np.result_type(x, np.asarray(value)))
    x[: int(share * len(x))] = value
    return x


CORRUPTED = {
    "minutes as seconds": (exponential, lambda x: x * 60, "values are about 60 times the reference's"),
    "seconds as minutes": (exponential, lambda x: x / 60, "values are about 1/60 of the reference's"),
    "another factor": (exponential, lambda x: x * 37, "values are about 37 times the reference's"),
    "a factor around zero": (around_zero, lambda x: x * 1000, "values are about 1,000 times the reference's"),
    "whole times 60": (integers, lambda x: x * 60, "values are about 60 times the reference's"),
    "in whole minutes": (
        integers,
        lambda x: np.round(x / 60),
        "values are about 1/60 of the reference's, in whole numbers",
    ),
    "an offset": (temperature, lambda x: x + 30, "values are about 30 higher"),
    "an offset down": (temperature, lambda x: x - 12.5, "values are about 12.5 lower"),
    "fahrenheit": (
        temperature,
        lambda x: x * 1.8 + 32,
        "values are about 1.8 times the reference's plus 32, as from Celsius to Fahrenheit",
    ),
    "kelvin": (temperature, lambda x: x + 273.15, "values are about 273 higher, as from Celsius to Kelvin"),
    "factor and offset": (exponential, lambda x: 5 * x + 100, "values are about 5 times the reference's plus 100"),
    "flipped": (exponential, lambda x: -x, "values look as if their sign were flipped"),
    "constant": (temperature, lambda x: 0 * x + 3, "all values are 3 now"),
    "rounded": (exponential, np.round, "values are rounded to whole numbers"),
    "cut": (exponential, np.trunc, "values are cut to whole numbers"),
    "one decimal": (around_zero, lambda x: np.round(x, 1), "values are rounded to numbers of 1 decimal"),
    "clipped above": (
        exponential,
        lambda x: np.minimum(x, 8),
        lambda x: f"values stop at 8, {percent((x > 8).mean())} of the reference's are above",
    ),
    "clipped below": (
        around_zero,
        lambda x: np.maximum(x, -1),
        lambda x: f"values stop at -1, {percent((x < -1).mean())} of the reference's are below",
    ),
    "stand-in": (
        temperature,
        lambda x: some(x, -999),
        "-999 fills 5 % of rows, none of the reference's, perhaps for missing cells",
    ),
    "zero": (
        temperature,
        lambda x: some(x, 0.0),
        "0 fills 5 % of rows, none of the reference's, perhaps for missing cells",
    ),
    "filled": (exponential, lambda x: some(x, 3.7), "3.7 fills 5 % of rows, none of the reference's"),
    "stand-in and unit": (
        exponential,
        lambda x: some(60 * x, -1.0),
        "-1 fills 5 % of rows, none of the reference's, perhaps for missing cells; "
        "values are about 60 times the reference's",
    ),
    "missing": (temperature, lambda x: some(x, np.nan, 0.12), "missing cells went from 0 % to 12 %"),
    "missing and unit": (
        exponential,
        lambda x: some(60 * x, np.nan, 0.12),
        "values are about 60 times the reference's; missing cells went from 0 % to 12 %",
    ),
    "infinite": (temperature, lambda x: some(x, np.inf), "infinite values went from 0 % to 5 %"),
    "month by one": (
        months,
        lambda x: np.roll(MONTHS, -1)[[MONTHS.index(month) for month in x]],
        "categories look moved by one place: what was 'may' is now 'jun'",
    ),
    "month by three back": (
        months,
        lambda x: np.roll(MONTHS, 3)[[MONTHS.index(month) for month in x]],
        "categories look moved by 3 places: what was 'may' is now 'feb'",
    ),
    "code by one": (codes, lambda x: x % 12 + 1, "categories look moved by one place: what was 5 is now 6"),
    "code without an end": (codes, lambda x: x - 1, "values are about 1 lower"),
    "code times 60": (codes, lambda x: x * 60, "values are about 60 times the reference's"),
    "codes reversed": (codes, lambda x: 13 - x, "categories look reversed: what was 5 is now 8"),
    "swapped": (letters, lambda x: np.where(x == "a", "b", np.where(x == "b", "a", x)), "'a' and 'b' look swapped"),
    "flag turned": (lambda rng, n: rng.random(n) < 0.2, np.invert, "False and True look swapped"),
    "upper case": (letters, np.char.upper, "labels differ from the reference's by case alone: 'a' is now 'A'"),
    "blanks": (
        letters,
        lambda x: np.char.add(x, " "),
        "labels differ from the reference's by blanks alone: 'a' is now 'a '",
    ),
    "zeros before": (
        lambda rng, n: letters_as_digits(letters(rng, n)),
        lambda x: np.char.add("0", x),
        "labels differ from the reference's by the way numbers are written alone: '1' is now '01'",
    ),
    "renamed": (
        letters,
        lambda x: np.where(x == "b", "q", x),
        lambda x: f"'b' looks renamed to 'q', {percent((x == 'b').mean())} of rows",
    ),
    "new": (letters, lambda x: some(x, "xx", 0.08), "'xx' is new, 8 % of rows"),
    "all alike": (letters, lambda x: np.full(len(x), "c"), "all cells are 'c' now"),
    "as text": (
        temperature,
        lambda x: x.astype(str),
        lambda x: f"cells are numbers written as text (such as '{x[0]}') now, and numbers in the reference",
    ),
    "as numbers": (
        lambda rng, n: letters_as_digits(letters(rng, n)),
        lambda x: x.astype(float),
        "cells are numbers now, and numbers written as text (such as '1') in the reference",
    ),
}


def letters_as_digits(x):
    return np.array(["1", "2", "3", "4"])[np.searchsorted(list("abcd"), x)]


@pytest.mark.parametrize("corruption", CORRUPTED)
def test_corruptions_of_the_same_rows_are_named(seed, corruption):
    draw, corrupt, expected = CORRUPTED[corruption]
    reference = draw(np.random.default_rng([seed, 5]), 20_000)
    compared = shift(reference, corrupt(reference))
    assert compared.p_value < 1e-6
    assert "; ".join(compared.hints) == (expected if isinstance(expected, str) else expected(reference))


def test_corruptions_of_other_rows_are_named(seed):
    rng, times = np.random.default_rng([seed, 6]), 10
    hints_on = {
        "a unit": lambda: hints(rng.exponential(4, 3000), 60 * rng.exponential(4, 1500)),
        "a month": lambda: hints(months(rng, 3000), CORRUPTED["month by one"][1](months(rng, 1500))),
        "a scale": lambda: hints(temperature(rng, 3000), 1.8 * temperature(rng, 1500) + 32),
        "a bound": lambda: hints(exponential(rng, 3000), np.minimum(8, exponential(rng, 1500))),
    }
    words = {
        "a unit": "values are about 60 times",
        "a month": "what was 'may' is now 'jun'",
        "a scale": "Fahrenheit",
        "a bound": "values stop at 8",
    }
    for name, say in hints_on.items():
        right = sum(words[name] in say() for _ in range(times))
        assert right >= binom.ppf(RARE, times, 0.85), name


# --- hints that must not be there


SPECIFIC = (
    "times",
    "1/",
    "about",
    "flipped",
    "rounded",
    "cut",
    "stop",
    "fills",
    "moved by",
    "reversed",
    "swapped",
    "new",
    "gone",
    "renamed",
    "labels",
    "missing",
    "infinite",
)
OTHERWISE = {
    "another shape": (lambda rng, n: rng.normal(10, 3, n), lambda rng, n: rng.uniform(0, 14, n), "values"),
    "half of the rows in another unit": (
        exponential,
        lambda rng, n: exponential(rng, n) * rng.choice([1, 60], n),
        "of values are above the reference's highest",
    ),
    "two groups": (around_zero, lambda rng, n: around_zero(rng, n) + rng.choice([-3, 3], n), "values"),
    "more of one category": (letters, lambda rng, n: rng.choice(list("abcd"), n, p=[0.2, 0.28, 0.45, 0.07]), "went"),
    "all shares": (months, lambda rng, n: rng.choice(MONTHS, n), "went from"),
    "more zeros": (
        lambda rng, n: np.where(rng.random(n) < 0.2, 0, rng.exponential(5, n)),
        lambda rng, n: np.where(rng.random(n) < 0.4, 0, rng.exponential(5, n)),
        "values",
    ),
}


@pytest.mark.parametrize("change", OTHERWISE)
def test_other_changes_get_plain_words_alone(seed, change):
    before, after, expected = OTHERWISE[change]
    rng = np.random.default_rng([seed, 7])
    text = hints(before(rng, 4000), after(rng, 3000))
    assert expected in text
    assert not [word for word in SPECIFIC if word in text], text


def test_rows_that_did_not_change_get_no_hint_but_by_chance(seed):
    rng, times = np.random.default_rng([seed, 8]), 20
    compared = [column for _ in range(times) for column in shifts(columns(rng, 500), columns(rng, 300))]
    assert all(bool(column.hints) <= (column.p_value <= 0.05) for column in compared)
    assert sum(bool(column.hints) for column in compared) <= binom.isf(RARE, len(compared), 0.05)


def test_small_differences_between_similar_numbers_are_described_by_medians(seed):
    rng = np.random.default_rng([seed, 9])
    text = hints(rng.normal(10, 1, 4000), rng.normal(11, 1, 3000))
    assert text.startswith(("values are higher: the median went from", "values are about"))
    assert "times" not in text


# --- tables as people have them


def frames(rng, n):
    """Makes rows that pandas, polars and Arrow can hold."""
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "whole": pd.array(rng.integers(0, 100, n), dtype="Int64"),
            "flag": pd.array(rng.random(n) < 0.3, dtype="boolean"),
            "text": pd.Series(rng.choice(["a", "b", "c"], n), dtype="str"),
            "label": pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"]),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        }
    )
    frame.loc[: n // 10, ["whole", "flag", "text", "label", "day"]] = None
    return frame


@pytest.mark.needs("polars", "pyarrow")
def test_every_library_gives_the_same_shifts(seed):
    import polars as pl
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    before, after = frames(rng, 300), frames(rng, 200)
    after["number"] *= 60
    after["day"] += pd.Timedelta("400D")
    expected = shifts(before, after)
    assert [column.kind for column in expected] == [
        "numbers",
        "numbers",
        "categories",
        "categories",
        "categories",
        "numbers",
    ]
    for read in (pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)):
        assert shifts(read(before), read(after)) == expected
        assert shifts(before, read(after)) == expected
    assert shifts(pl.from_pandas(before).lazy(), after[after.columns[::-1]]) == expected


def test_several_tables_are_compared_as_each_alone_and_the_reference_is_read_once(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    tables = [pd.DataFrame({"x": rng.normal(size=n), "c": letters(rng, n)}) for n in (200, 50, 80, 60)]
    alone, read = tuple(shifts(tables[0], table) for table in tables[1:]), []

    def counted(cells, library, argument, name):
        read.append((argument, name))
        return read_column(cells, library, argument, name)

    monkeypatch.setattr("clarysage.drift.detection.read_column", counted)
    assert shifts_of_each(tables[0], tables[1:]) == alone
    assert [table for table in read if table[0] == "reference"] == [("reference", "x"), ("reference", "c")]


def test_arrays_go_by_place_and_take_names(seed):
    rng = np.random.default_rng(seed)
    before, after = rng.normal(size=(300, 2)), rng.normal(size=(200, 2))
    named = shifts(before, after, ["a", "b"])
    assert [column.column for column in named] == ["a", "b"]
    assert [column.column for column in shifts(before, after)] == ["x0", "x1"]
    assert named == shifts(pd.DataFrame(before, columns=["a", "b"]), after)
    assert shifts(pd.DataFrame(before, columns=["a", "b"]), pd.DataFrame(after, columns=["a", "b"]), ["b"]) == named[1:]


def test_tables_that_cannot_be_compared_are_errors():
    frame = pd.DataFrame({"apple": [1.0, 2.0], "pear": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"current: got a table without the column 'apple'.*'aple'"):
        shifts(frame, frame.rename(columns={"apple": "aple"}))
    with pytest.raises(InputError, match="current: got an array of 3 columns; wanted 2"):
        shifts(frame, np.zeros((2, 3)))
    with pytest.raises(InputError, match="columns"):
        shifts(frame, frame, "apple")
    with pytest.raises(InputError, match="columns"):
        shifts(frame, frame, ["apple", "apple"])
    with pytest.raises(InputError, match="reference: got column 'x'"):
        shifts(pd.DataFrame({"x": [[1], [2]]}), pd.DataFrame({"x": [[1], [2]]}))
    with pytest.raises(InputError, match="no rows"):
        shifts(frame.head(0), frame)


def test_dates_are_read_from_objects_zones_and_durations():
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(4000) // 10, "D")
    assert hints(days, days + pd.Timedelta("31D")) == "dates are about 31 days later"
    assert hints([day.date() for day in days], [day.date() for day in days - pd.Timedelta("60D")]) == (
        "dates are about 60 days earlier"
    )
    late = hints(days.tz_localize("Europe/Paris"), days.tz_localize("Europe/Paris") + pd.Timedelta("1500D"))
    assert late == "dates are about 4.1 years later"
    assert hints(days[:2000], days[2000:2500]).startswith(
        "100 % of dates are after the reference's last, 2024-07-18; dates are later: the median went from 2024-04-09 "
    )
    assert hints(days - days[0], 60 * (days - days[0])) == "values are about 60 times the reference's"
    assert "median (days since 1970)" in shift(days, days).facts
    assert hints([datetime.date(2024, 1, 1)] * 30, ["yesterday"] * 30) == (
        "cells are text (such as 'yesterday') now, and dates in the reference"
    )


def test_objects_that_are_numbers_are_numbers():
    values = [Decimal(k) for k in range(100)]
    assert shift(pd.Series(np.arange(100), dtype=object), np.arange(100.0)).p_value == 1.0
    table = pd.DataFrame({"x": pd.Categorical(np.arange(100) % 7)})
    assert shifts(table, pd.DataFrame({"x": np.arange(100) % 7}))[0].p_value == 1.0
    assert shift(values, values).p_value == 1.0


@pytest.mark.parametrize("code", [2, -1, 60, 0.5])
def test_another_code_for_yes_is_named(code):
    flags = np.repeat([0.0, 1.0], [70, 50])
    assert hints(flags, np.where(flags == 1, code, flags)) == f"what was 1 is now {code}"
    assert hints(np.where(flags == 1, code, flags), flags) == f"what was {code} is now 1"


def test_two_numbers_that_are_both_others_are_no_code():
    flags = np.repeat([0.0, 1.0], [70, 50])
    assert "what was" not in hints(flags, flags + 1)
    assert hints(flags + 1, 60 * (flags + 1)).startswith("values are about 60 times")


@pytest.mark.parametrize("kind", ["int64", "float64", "object", "boolean", "category"])
def test_true_and_false_are_one_and_zero(kind):
    flags = pd.Series([True, False, False] * 40)
    for reference, current in ((flags, flags.astype(kind)), (flags.astype(kind), flags)):
        assert (shift(reference, current).distance, shift(reference, current).p_value) == (0.0, 1.0)
    gaps = flags.astype(object).where(flags.index > 0)  # True, False and None: objects, no longer booleans
    assert shift(flags, gaps).distance < 0.02
    written = hints(flags, flags.astype(str))
    assert written == "cells are text (such as 'False') now, and true or false in the reference"


def test_text_among_numbers_is_no_change_of_type():
    reference, current = pd.Series([1, 2, 3, 4] * 50 + ["unknown"], dtype=object), pd.Series([1, 2, 3, 4] * 5)
    assert shift(reference, current).p_value > 0.5
    renamed = shift(pd.concat([current] * 10), pd.Series(["unknown", 1, 2, 3] * 50))
    assert renamed.hints == ("'4' looks renamed to 'unknown', 25 % of rows",)


# --- columns at the edge


def test_missing_infinite_and_constant_cells():
    gone = np.full(50, np.nan)
    assert shift(gone, gone) == Shift(
        "x", "categories", 0.0, 1.0, (), {"missing share": (1.0, 1.0), "distinct": (0.0, 0.0), "rows": (50.0, 50.0)}
    )
    lost = shift(np.arange(50.0), gone)
    assert (lost.kind, lost.distance, lost.hints) == (
        "numbers",
        1.0,
        ("all cells are missing now, 0 % in the reference",),
    )
    assert lost.p_value < 1e-20
    assert shift(["a", "b"] * 20, [None] * 40).hints == ("all cells are missing now, 0 % in the reference",)
    assert shift(gone, np.arange(50.0)).hints == ("missing cells went from 100 % to 0 %",)
    assert hints(np.ones(50), np.full(50, 2.5)) == "all values are 2.5 now, 1 in the reference"
    assert hints(np.full(50, 2.5), np.arange(50) / 7) == "values vary now, all of the reference's are 2.5"
    assert shift(np.ones(50), np.ones(30)).p_value == 1.0
    endless = np.append(np.arange(60.0), [np.inf, -np.inf])
    assert shift(endless, endless[::-1]).p_value == 1.0
    assert np.isfinite(list(shift(endless, -endless).facts.values())).all()
    assert shift(np.full(30, np.inf), np.full(30, -np.inf)).p_value < 1e-6


def test_categories_that_no_row_has_do_not_count():
    listed = pd.Categorical(["a", "b"] * 30, ["a", "b", "never"])
    assert shift(listed, pd.Categorical(["b", "a"] * 30, ["b", "a"])).p_value == 1.0
    assert shift(listed, pd.Categorical(["b", "a"] * 30, ["b", "a"])).facts["distinct"] == (2.0, 2.0)


def test_single_rows_tell_nothing():
    assert shift([1.0], [2.0]).p_value == 1.0
    assert shift(["a"], ["b"]).p_value == 1.0
    assert shift([1.0], ["b"]).p_value == 1.0


def test_no_hint_shows_a_long_label_whole():
    long = "x" * 10_000
    for compared in (
        shift(["a", "b"] * 50, [long, "b"] * 50),
        shift([long, "b"] * 50, [long.upper(), "b"] * 50),
        shift(np.arange(100.0), [long] * 100),
    ):
        assert compared.hints
        assert max(map(len, compared.hints)) < 200
    (named,) = shifts(pd.DataFrame({long: np.arange(100.0)}), pd.DataFrame({long: 60 * np.arange(100.0)}))
    assert named.column == long
    assert long[:100] not in named.hints[0]


def test_new_and_lost_categories_are_counted(seed):
    reference = letters(np.random.default_rng(seed), 1000)
    current = np.concatenate([reference[reference != "c"], np.repeat(["xx", "yy", "zz"], [60, 30, 10])])
    share = percent(100 / len(current))
    assert shift(reference, current).hints == (
        f"'xx' and 2 more categories are new, {share} of rows",
        f"'c' is gone, {percent((reference == 'c').mean())} of the reference's rows",
    )


def test_facts_are_pairs_of_both_samples():
    facts = shift(np.arange(101.0), np.append(2 * np.arange(101.0), np.nan)).facts
    assert facts == {
        "median": (50.0, 100.0),
        "spread": (50.0, 100.0),
        "lowest": (0.0, 0.0),
        "highest": (100.0, 200.0),
        "missing share": (0.0, 1 / 102),
        "distinct": (101.0, 101.0),
        "rows": (101.0, 102.0),
    }


def test_order_of_rows_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    before, after = columns(rng, 300), columns(rng, 200).assign(skewed=lambda rows: rows.skewed * 60)
    assert shifts(before.sample(frac=1, random_state=1), after.sample(frac=1, random_state=2)) == shifts(before, after)


def test_numbers_next_to_the_largest_are_no_trouble(seed):
    with np.errstate(all="raise", under="ignore"):
        compared = shift(np.repeat([1e308, -1e308], 30), np.random.default_rng(seed).normal(size=60))
    assert compared.p_value < 1e-3
    assert compared.facts["highest"][0] == 1e308
    assert "spread" not in compared.facts


def test_a_number_that_all_rows_have_is_shown_in_few_digits():
    varied = np.linspace(0, 10, 200)
    assert number_hints(varied, np.full(200, 3.3756943570150857), "numbers") == ["all values are 3.3757 now"]
    assert number_hints(varied, np.full(200, -999.0), "numbers") == ["all values are -999 now"]
    near = number_hints(np.full(200, 3.37569431), np.full(200, 3.37569432), "numbers")
    assert near == ["all values are 3.37569432 now, 3.37569431 in the reference"]  # digits that tell
