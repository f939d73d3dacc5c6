"""Frames of libraries that clarysage does not know itself: the same values as pandas, and no row matched by chance."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import clarysage as cs
from clarysage.errors import MissingLibraryError
from clarysage.tables import as_table, read_target, read_weights
from test_imports import modules_after

RNG = np.random.default_rng(4)
DATA = pd.DataFrame(
    {
        "size": RNG.normal(size=120),
        "word": RNG.choice(["low", "mid", "high"], size=120),
        "count": RNG.integers(0, 9, size=120),
        "y": RNG.normal(size=120),
        "weight": RNG.random(120) + 0.5,
    }
)
FEATURES = ["size", "word", "count"]
ENCODER = make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough")
MODEL = make_pipeline(ENCODER, LinearRegression()).fit(DATA[FEATURES], DATA["y"] + DATA["size"] * DATA["count"])
LINEAR = LinearRegression().fit(DATA[["size", "count"]], DATA["y"] + DATA["size"] * DATA["count"])


class Streamed:
    """A frame that offers nothing but the Arrow PyCapsule interface."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        return pa.Table.from_pandas(self.frame).__arrow_c_stream__(requested_schema)


class Adapted:
    """A frame that narwhals understands by its own protocol."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame, self.asked = frame, 0

    def __narwhals_dataframe__(self) -> Any:
        import narwhals.stable.v2 as nw

        self.asked += 1
        return nw.from_native(self.frame)._compliant_frame


def of_dask(frame: pd.DataFrame) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(frame, npartitions=3)


def of_duckdb(frame: pd.DataFrame) -> Any:
    import duckdb

    return duckdb.from_df(frame)


class DuckDBPyRelation:
    """What a query of DuckDB looks like to code that must not evaluate it."""

    __module__ = "duckdb"


MAKERS = [
    pytest.param(Adapted, "pandas", id="adapted", marks=pytest.mark.needs("narwhals")),
    pytest.param(of_dask, "pandas", id="dask", marks=[pytest.mark.needs("narwhals"), pytest.mark.needs("dask")]),
    pytest.param(of_duckdb, "pandas", id="duckdb", marks=[pytest.mark.needs("narwhals"), pytest.mark.needs("duckdb")]),
    pytest.param(Streamed, "pyarrow", id="stream", marks=pytest.mark.needs("pyarrow")),
]


def explained(X: Any, y: Any, model: Any = MODEL, **options: Any) -> cs.Explanation:
    explanation = cs.sage(model, X, y, loss="squared error", budget=20_000, rng=0, **options)
    assert isinstance(explanation, cs.Explanation)
    return explanation


@pytest.mark.parametrize(("make", "kind"), MAKERS)
def test_values_have_the_bits_of_the_same_numbers_in_pandas(make: Any, kind: str) -> None:
    options = {"sample_weight": "weight", "background": DATA[FEATURES][:40]}
    expected = explained(DATA, "y", **options)
    explanation = explained(make(DATA), "y", **options | {"background": make(DATA[:40])})
    assert explanation.feature_names == tuple(FEATURES)
    assert np.array_equal(explanation.values, expected.values)
    assert np.array_equal(explanation.std_error, expected.std_error)


@pytest.mark.parametrize(("make", "kind"), MAKERS)
def test_the_model_gets_the_kind_of_frame_that_a_note_names(make: Any, kind: str) -> None:
    kinds = set()

    def model(Z: Any) -> np.ndarray:
        kinds.add(type(Z).__module__.partition(".")[0])
        return np.asarray(Z["size"])

    (note, *_) = explained(make(DATA), "y", model).notes
    assert kinds == {kind}
    assert f"of {kind}; the model gets its rows as if you had passed that" in str(note)


@pytest.mark.parametrize(("make", "kind"), MAKERS)
def test_columns_are_matched_by_name(make: Any, kind: str) -> None:
    explanation = explained(make(DATA[["weight", "y", *FEATURES[::-1]]]), "y", sample_weight="weight")
    expected = explained(DATA[["weight", "y", *FEATURES[::-1]]], "y", sample_weight="weight")
    assert explanation.feature_names == expected.feature_names == ("count", "word", "size")
    assert np.array_equal(explanation.values, expected.values)


@pytest.mark.parametrize(("make", "kind"), MAKERS)
def test_refits_monitoring_and_other_measures_take_them(make: Any, kind: str) -> None:
    table = DATA.drop(columns="word")
    common = {"sample_weight": "weight", "rng": 0}

    def monitored(made: Any) -> np.ndarray:
        before, after = made(table[:60]), made(table[60:])
        monitoring = cs.monitor(LINEAR, before, after, target="y", loss="squared error", **common)
        return np.array([explanation.values for explanation in monitoring.comparison.explanations])

    for values in (
        lambda made: cs.universal_power(LinearRegression(), made(table), "y", **common).values,
        lambda made: cs.squared_correlation(None, made(table), "y").values,
        lambda made: cs.removal_quality(["gaussian"], LINEAR, made(table[["size", "count"]]), rng=0).scores,
        lambda made: cs.importances(LINEAR, made(table), "y", **common)["sage"].values,
        monitored,
    ):
        assert np.array_equal(values(make), values(lambda frame: frame))


@pytest.mark.needs("narwhals")
def test_a_frame_is_read_once() -> None:
    adapted = Adapted(DATA)
    explained(adapted, "y", sample_weight="weight")
    assert adapted.asked == 1


@pytest.mark.needs("narwhals")
@pytest.mark.needs("dask")
def test_responses_and_weights_may_be_columns_of_dask() -> None:
    frame = of_dask(DATA)
    explanation = explained(frame[FEATURES], frame["y"], sample_weight=frame["weight"])
    assert np.array_equal(explanation.values, explained(DATA, "y", sample_weight="weight").values)


@pytest.mark.needs("narwhals")
def test_responses_in_another_order_than_the_rows_are_an_error() -> None:
    with pytest.raises(cs.InputError, match="an index that disagrees"):
        read_target(Adapted(DATA[["y"]][::-1]), as_table(Adapted(DATA[FEATURES]), "X"), len(DATA))


def test_values_are_not_matched_by_position_with_the_rows_of_a_query() -> None:
    query, message = DuckDBPyRelation(), "a DuckDBPyRelation of duckdb, whose rows may come in another order each time"
    rows, numbers = DATA[FEATURES], DATA["y"].to_numpy()
    train = (query, numbers)
    for refused in (
        lambda: cs.sage(MODEL, query, numbers),
        lambda: cs.sage(MODEL, rows, query),
        lambda: cs.sage(MODEL, rows, numbers, sample_weight=query),
        lambda: cs.squared_correlation(None, query, numbers),
        lambda: cs.universal_power(LinearRegression(), query, numbers),
        lambda: cs.universal_power(LinearRegression(), rows, numbers, test=train),
        lambda: cs.shapley_net_effects(None, rows, numbers, train=train),
        lambda: cs.importances(MODEL, query, numbers),
        lambda: cs.monitor(MODEL, train, (rows, numbers)),
        lambda: read_weights(query, rows, len(rows)),
        lambda: read_weights(numbers, query, len(rows), "background weights", "background"),
    ):
        with pytest.raises(cs.InputError, match=message):
            refused()


@pytest.mark.parametrize("module", ["narwhals", "pyarrow"])
def test_an_absent_library_is_named_with_what_to_install(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "narwhals", None)
    monkeypatch.setitem(sys.modules, module, None)
    frame, extra = {"narwhals": (Adapted(DATA), "frames"), "pyarrow": (Streamed(DATA), "arrow")}[module]
    message = rf"X: a {type(frame).__name__} of \S+ needs {module}, .* pip install 'clarysage\[{extra}\]'"
    with pytest.raises(MissingLibraryError, match=message):
        as_table(frame, "X")


@pytest.mark.needs("pyarrow")
def test_a_stream_needs_no_narwhals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "narwhals", None)
    assert as_table(Streamed(DATA), "X").column_names == list(DATA.columns)


@pytest.mark.subprocess
@pytest.mark.needs("polars")
@pytest.mark.needs("pyarrow")
def test_known_frames_do_not_load_narwhals() -> None:
    code = (
        "import pandas, polars, pyarrow, numpy\n"
        "from clarysage.tables import schema_of, read_target\n"
        "cells = {'a': [1.0, 2.0]}\n"
        "tables = [pandas.DataFrame(cells), polars.DataFrame(cells), polars.LazyFrame(cells), pyarrow.table(cells)]\n"
        "for X in [*tables, [[1.0], [2.0]], numpy.eye(2)]:\n"
        "    schema_of(X, X)\n"
        "for y in (tables[0]['a'], tables[1]['a'], tables[3]['a'], [1, 2]):\n"
        "    read_target(y, None, 2)"
    )
    assert "narwhals" not in modules_after(code)


@pytest.mark.needs("narwhals")
@pytest.mark.needs("duckdb")
def test_a_query_inside_a_frame_of_narwhals_is_a_query() -> None:
    import narwhals.stable.v2 as nw

    query = nw.from_native(of_duckdb(DATA))
    expected = explained(DATA, "y", sample_weight="weight")
    assert np.array_equal(explained(query, "y", sample_weight="weight").values, expected.values)
    with pytest.raises(cs.InputError, match="in another order each time"):
        cs.sage(MODEL, query, DATA["y"])
