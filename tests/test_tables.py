"""Tables at the door: any container, any kind of column, there and back; names matched; nothing truncated."""

from __future__ import annotations

import datetime
import importlib
import importlib.util
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import clarysage as cs
import oracle
from clarysage.tables import Schema, read_target, read_weights, schema_of

DAY, LATER = datetime.date(2020, 2, 29), datetime.date(2021, 1, 1)
NOON, NIGHT = datetime.datetime(2020, 2, 29, 12), datetime.datetime(2021, 1, 1, 23, 59, 59, 999999)
HUGE = 2**60 + 1  # an integer that float64 cannot hold


def there_and_back(X: Any, background: Any = None) -> Any:
    schema = schema_of(X, background)
    return schema.decode(schema.encode(X, "X"))


def both(X: Any, background: Any) -> tuple[Any, Any]:
    """X and background as the model gets them."""
    schema = schema_of(X, background)
    return schema.decode(schema.encode(X, "X")), schema.decode(schema.encode(background, "background"))


def kinds(cells: Any) -> list[Any]:
    """Cells with their types, NaN made equal to itself."""
    return [(type(cell), "NaN" if cell is not None and cell is not pd.NA and cell != cell else cell) for cell in cells]


def same(one: Any, other: Any) -> bool:
    """Whether two tables are the same: container, names, dtypes, every cell and its kind of missing."""
    if isinstance(other, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other.reset_index(drop=True), check_exact=True)
        return all(kinds(one.iloc[:, j].tolist()) == kinds(other.iloc[:, j].tolist()) for j in range(other.shape[1]))
    if isinstance(other, np.ndarray):
        return one.dtype == other.dtype and kinds(one.ravel().tolist()) == kinds(other.ravel().tolist())
    if type(other).__module__.startswith("polars"):
        cells = [kinds(column.to_list()) for column in one.get_columns()]
        physical = one.null_count().equals(other.null_count())
        return one.schema == other.schema and physical and cells == [kinds(c.to_list()) for c in other.get_columns()]
    cells = [kinds(column.to_pylist()) for column in one.columns]
    return one.schema.equals(other.schema) and cells == [kinds(column.to_pylist()) for column in other.columns]


def tables(library: str, cases: Callable[[Any], dict[str, Any]]) -> list[Any]:
    """One test a case, named; skipped where the library is absent."""
    if importlib.util.find_spec(library) is None:
        return [pytest.param(None, id=library, marks=pytest.mark.needs(library))]
    found = cases(importlib.import_module(library))
    return [pytest.param(case, id=f"{library} {name}") for name, case in found.items()]


# ---------------------------------------------------------------------------------------------------------------------
# There and back


def pandas_columns(pd: Any) -> dict[str, Any]:
    columns = {
        "float64 with NaN": [1.5, np.nan, -0.0, np.inf],
        "float32": np.array([0.1, 0.2, 3, 4], dtype="f4"),
        "float16": np.array([0.1, 0.2, 3, 4], dtype="f2"),
        "int8": np.array([1, -128, 127, 0], dtype="i1"),
        "uint8": np.array([0, 255, 1, 2], dtype="u1"),
        "int64": [1, 2, 3, 2**53 - 1],
        "the first integer that floats skip": [2**53 + 1, 2**53, -(2**53) - 1, 0],
        "huge int64": [HUGE, HUGE + 1, -(2**63), 2**63 - 1],
        "huge uint64": np.array([2**64 - 1, 2**64 - 2, 0, 1], dtype="u8"),
        "bool": [True, False, True, True],
        "str": ["b", "a", "b", ""],
        "str with a hole": pd.Series(["b", None, "b", "a"]),
        "object strings with None": pd.Series(["b", None, "b", "a"], dtype=object),
        "object strings with NaN": pd.Series(["b", np.nan, "b", "a"], dtype=object),
        "objects of mixed kinds": pd.Series(["b", 1, 2.5, (1, 2)], dtype=object),
        "objects equal but not the same": pd.Series([1, 1.0, True, "1"], dtype=object),
        "objects missing in several ways": pd.Series([None, np.nan, pd.NA, pd.NaT], dtype=object),
        "objects of pairs": pd.Series([(1, 2), (3, 4), None, (1, 2)], dtype=object),
        "objects of bytes": pd.Series([b"a", b"b", None, b"a"], dtype=object),
        "objects of dates": pd.Series([DAY, LATER, None, DAY], dtype=object),
        "objects of decimals": pd.Series([Decimal("1.10"), Decimal("2"), None, Decimal("1.10")], dtype=object),
        "objects all None": pd.Series([None] * 4, dtype=object),
        "categories": pd.Categorical(["b", "a", None, "b"], ["z", "b", "a"]),
        "ordered categories": pd.Categorical(["low", "high", "mid", "low"], ["low", "mid", "high"], ordered=True),
        "categories of ints": pd.Categorical([7, 3, None, 7]),
        "categories of floats": pd.Categorical([0.5, 1.5, None, 0.5]),
        "categories of bools": pd.Categorical([True, False, True, None]),
        "categories of dates": pd.Categorical(pd.to_datetime(["2020", "2021", None, "2020"])),
        "categories of intervals": pd.cut(pd.Series([1.0, 2, 3, 4]), 3),
        "categories all missing": pd.Categorical([None] * 4, ["a"]),
        "Int64": pd.array([1, None, 3, 4], dtype="Int64"),
        "Int8": pd.array([1, None, -128, 4], dtype="Int8"),
        "huge Int64": pd.array([HUGE, None, HUGE + 1, 4], dtype="Int64"),
        "Float32": pd.array([0.1, None, 3, 4], dtype="Float32"),
        "boolean": pd.array([True, None, False, True], dtype="boolean"),
        "string": pd.array(["b", None, "a", "b"], dtype="string"),
        "Int64 all missing": pd.array([None] * 4, dtype="Int64"),
        "datetime64[ns]": np.array([1, 2, "NaT", 10**18 + 1], dtype="M8[ns]"),
        "datetime64[s]": np.array([1, 2, "NaT", 3], dtype="M8[s]"),
        "datetime with zone": pd.to_datetime(["2020", None, "2021", "2020"]).tz_localize("Europe/Paris"),
        "timedelta": np.array([1, 2, "NaT", 3], dtype="m8[ns]"),
        "period": pd.period_range("2020-01", periods=4, freq="M"),
        "interval": pd.arrays.IntervalArray.from_tuples([(0, 2), (1, 3), (0, 2), (5, 6)]),
        "sparse": pd.arrays.SparseArray([0.0, 0.0, 1.5, np.nan]),
    }
    frames = {name: pd.DataFrame({"a": cells, "b": [0.5, 1, 2, 3]}) for name, cells in columns.items()}
    frames |= {
        "numbers for labels": pd.DataFrame(np.ones((2, 3)), columns=[2, 0, 1]),
        "mixed labels": pd.DataFrame({1: [1, 2], "1.0": ["x", "y"], None: [True, False]}),
        "pairs for labels": pd.DataFrame(np.ones((2, 2)), columns=pd.MultiIndex.from_tuples([("u", 1), ("u", 2)])),
        "pairs for labels of text": pd.DataFrame({("u", 1): ["x", "y"], ("u", 2): [1, 2]}),
        "dates for labels": pd.DataFrame(np.ones((2, 2)), columns=pd.to_datetime(["2020", "2021"])),
        "named labels": pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).rename_axis(columns="feature"),
        "an index": pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}, index=["p", "q"]),
    }
    return frames


def arrow_backed(pa: Any) -> dict[str, Any]:
    columns = {
        "double[pyarrow]": pd.arrays.ArrowExtensionArray(pa.array([1.5, None, np.nan])),
        "int8[pyarrow]": pd.array([1, None, -128], dtype="int8[pyarrow]"),
        "huge int64[pyarrow]": pd.array([HUGE, None, HUGE + 1], dtype="int64[pyarrow]"),
        "bool[pyarrow]": pd.array([True, None, False], dtype="bool[pyarrow]"),
        "string[pyarrow]": pd.array(["b", None, "a"], dtype=pd.ArrowDtype(pa.string())),
        "date32[pyarrow]": pd.array([DAY, None, LATER], dtype=pd.ArrowDtype(pa.date32())),
        "decimal[pyarrow]": pd.array(
            [Decimal("1.50"), None, Decimal("2.25")], dtype=pd.ArrowDtype(pa.decimal128(5, 2))
        ),
    }
    return {name: pd.DataFrame({"a": cells, "b": [0.5, 1, 2]}) for name, cells in columns.items()}


def numpy_arrays(np: Any) -> dict[str, Any]:
    return {
        **{name: np.array([[0, 1], [100, 3]], dtype=name) for name in ("i1", "u1", "i2", "i4", "u4", "i8", "u8")},
        **{name: np.array([[0.1, -0.0], [np.nan, np.inf]], dtype=name) for name in ("f2", "f4", "f8", ">f8")},
        "bool": np.array([[True, False], [False, True]]),
        "the first integer that floats skip": np.array([[2**53 + 1, 1], [2**53, -(2**53) - 1]]),
        "huge int64": np.array([[HUGE, 1], [HUGE + 1, -(2**63)]]),
        "huge uint64": np.array([[2**64 - 1, 1], [2**64 - 2, 0]], dtype="u8"),
        "text": np.array([["a", "bb"], ["ccc", ""]]),
        "bytes": np.array([[b"a", b"bb"]]),
        "dates": np.array([["2020-01-01", "NaT"], ["2021-01-01", "2020-01-01"]], dtype="M8[D]"),
        "nanoseconds": np.array([[1, 10**18 + 1]], dtype="M8[ns]"),
        "durations": np.array([[1, 2], [3, "NaT"]], dtype="m8[s]"),
        "objects": np.array([["a", 1], [None, 2.5]], dtype=object),
        "objects equal but not the same": np.array([[1, 1.0, True, "1"], [True, 1, 1.0, 1]], dtype=object),
        "objects of numbers": np.array([[1, 2.5], [3, np.nan]], dtype=object),
        "one row": np.array([[1.5, 2.5]]),
        "one column": np.array([[1.5], [2.5]]),
    }


def polars_columns(pl: Any) -> dict[str, Any]:
    columns = {
        "Float64 with null and NaN": pl.Series([1.5, None, np.nan, -0.0]),
        "Float32 with null": pl.Series([0.1, None, 2, 3], dtype=pl.Float32),
        "Int8": pl.Series([1, None, -128, 127], dtype=pl.Int8),
        "UInt64": pl.Series([2**64 - 1, None, 2**64 - 2, 0], dtype=pl.UInt64),
        "huge Int64": pl.Series([HUGE, HUGE + 1, None, 0]),
        "Int64 all null": pl.Series([None] * 4, dtype=pl.Int64),
        "Boolean": pl.Series([True, None, False, True]),
        "String": pl.Series(["b", None, "a", "b"]),
        "Categorical": pl.Series(["b", None, "a", "b"], dtype=pl.Categorical),
        "Enum": pl.Series(["b", None, "a", "b"], dtype=pl.Enum(["z", "b", "a"])),
        "Date": pl.Series([DAY, None, LATER, DAY]),
        "Datetime": pl.Series([NOON, None, NIGHT, NOON]),
        "Datetime with zone": pl.Series([NOON, None, NIGHT, NOON]).dt.replace_time_zone("Europe/Paris"),
        "Duration": pl.Series([NIGHT - NOON, None, NOON - NIGHT, NIGHT - NOON]),
        "Time": pl.Series([NOON.time(), None, NIGHT.time(), NOON.time()]),
        "Decimal": pl.Series([Decimal("1.50"), None, Decimal("2.25"), Decimal("1.50")]),
        "Binary": pl.Series([b"b", None, b"a", b"b"]),
        "Null": pl.Series([None] * 4),
    }
    return {name: pl.DataFrame({"a": cells, "b": [0.5, 1.0, 2.0, 3.0]}) for name, cells in columns.items()}


def pyarrow_columns(pa: Any) -> dict[str, Any]:
    ordered = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.int8()), ["low", "high"], ordered=True)
    columns = {
        "double with null and nan": pa.array([1.5, None, np.nan, -0.0]),
        "float": pa.array([0.1, None, 2, 3], pa.float32()),
        "halffloat": pa.array(np.array([0.1, 1, 2, 3], dtype="f2")),
        "int8": pa.array([1, None, -128, 127], pa.int8()),
        "uint64": pa.array([2**64 - 1, None, 2**64 - 2, 0], pa.uint64()),
        "huge int64": pa.array([HUGE, None, HUGE + 1, 0]),
        "bool": pa.array([True, None, False, True]),
        "string": pa.array(["b", None, "a", "b"]),
        "large_string": pa.array(["b", None, "a", "b"], pa.large_string()),
        "dictionary": pa.array(["b", None, "a", "b"]).dictionary_encode(),
        "dictionary of int8 indices, ordered": ordered,
        "dictionary of ints": pa.array([7, None, 3, 7]).dictionary_encode(),
        "dictionary in chunks": pa.chunked_array(
            [pa.array(["b", "a"]).dictionary_encode(), pa.array(["a", None]).dictionary_encode()]
        ),
        "date32": pa.array([DAY, None, LATER, DAY]),
        "timestamp[ns]": pa.array([1, None, 2, 10**18 + 1], pa.timestamp("ns")),
        "timestamp with zone": pa.array([NOON, None, NIGHT, NOON], pa.timestamp("us", "Europe/Paris")),
        "duration": pa.array([NIGHT - NOON, None, NOON - NIGHT, NIGHT - NOON]),
        "time64": pa.array([NOON.time(), None, NIGHT.time(), NOON.time()]),
        "decimal128": pa.array([Decimal("1.50"), None, Decimal("2.25"), Decimal("1.50")]),
        "binary": pa.array([b"b", None, b"a", b"b"]),
        "null": pa.nulls(4),
    }
    found = {name: pa.table({"a": cells, "b": [0.5, 1.0, 2.0, 3.0]}) for name, cells in columns.items()}
    fields = [pa.field("a", pa.int64(), nullable=False, metadata={"unit": "m"}), pa.field("b", pa.string())]
    found["fields that say more"] = pa.table(
        {"a": [1, 2], "b": ["x", None]}, schema=pa.schema(fields, metadata={"source": "here"})
    )
    return found


@pytest.mark.parametrize(
    "table",
    [
        *tables("pandas", pandas_columns),
        *tables("pyarrow", arrow_backed),
        *tables("numpy", numpy_arrays),
        *tables("polars", polars_columns),
        *tables("pyarrow", pyarrow_columns),
    ],
)
def test_a_table_comes_back_the_same(table):
    assert same(there_and_back(table), table)


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "int8", "uint16", "int64", "uint64", "bool"])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_an_array_of_any_numbers_comes_back_the_same(name, data):
    table = data.draw(arrays(name, array_shapes(min_dims=2, max_dims=2, max_side=5)))
    assert same(there_and_back(table), table)


OBJECTS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.dates(),
    st.tuples(st.integers(), st.text(max_size=2)),
    st.decimals(allow_nan=False),
)


@settings(max_examples=150, deadline=None)
@given(cells=st.lists(OBJECTS, min_size=1, max_size=12))
def test_objects_of_any_kind_come_back_the_same(cells):
    column = np.empty((len(cells), 1), dtype=object)
    column[:, 0] = cells
    assert same(there_and_back(column), column)
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    assert same(there_and_back(frame), frame)


@pytest.mark.needs("polars")
@settings(max_examples=80, deadline=None)
@given(
    numbers=st.lists(st.one_of(st.none(), st.floats()), min_size=3, max_size=3),
    whole=st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=3, max_size=3),
    text=st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=3, max_size=3),
)
def test_polars_and_pyarrow_columns_come_back_the_same(numbers, whole, text):
    pl = pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    types = {"n": (pl.Float64, pa.float64()), "w": (pl.Int64, pa.int64()), "t": (pl.String, pa.string())}
    cells = {"n": numbers, "w": whole, "t": text}
    frame = pl.DataFrame(cells, schema={name: kind[0] for name, kind in types.items()})
    table = pa.table({name: pa.array(cells[name], kind[1]) for name, kind in types.items()})
    assert same(there_and_back(frame), frame)
    assert same(there_and_back(table), table)


@settings(max_examples=100, deadline=None)
@given(
    categories=st.lists(st.text(max_size=2), min_size=1, max_size=5, unique=True),
    others=st.lists(st.text(max_size=2), min_size=1, max_size=5, unique=True),
    ordered=st.booleans(),
    data=st.data(),
)
def test_categories_keep_their_list_and_every_cell(categories, others, ordered, data):
    draw = lambda names: data.draw(st.lists(st.sampled_from([*names, None]), min_size=2, max_size=4))  # noqa: E731
    X = pd.DataFrame({"a": pd.Categorical(draw(categories), categories, ordered=ordered)})
    background = pd.DataFrame({"a": pd.Categorical(draw(others), others)})
    shown, behind = both(X, background)
    assert kinds(shown["a"].tolist()) == kinds(X["a"].tolist())
    assert kinds(behind["a"].tolist()) == kinds(background["a"].tolist())
    assert list(shown["a"].cat.categories) == list(dict.fromkeys([*categories, *others]))
    assert shown["a"].cat.ordered is behind["a"].cat.ordered is ordered


def test_a_table_is_read_only_once_and_never_written_to():
    X = np.arange(6.0).reshape(2, 3)
    X.setflags(write=False)
    decoded = there_and_back(X)
    decoded[:] = 0
    assert np.array_equal(X, np.arange(6.0).reshape(2, 3))
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    decoded = there_and_back(frame)
    decoded.loc[:, "a"] = 0.0
    assert frame["a"].tolist() == [1.0, 2.0]


# ---------------------------------------------------------------------------------------------------------------------
# X and background together: the model gets X's kind of table, in dtypes that hold the cells of both


def series(cells: Any, dtype: Any = None) -> pd.DataFrame:
    return pd.DataFrame({"a": pd.Series(cells, dtype=dtype)})


def pandas_pairs(pd: Any) -> dict[str, Any]:
    category = pd.CategoricalDtype
    return {
        "ints beside fractions": (series([1, 2]), series([0.5]), "float64"),
        "ints beside whole floats": (series([1, 2]), series([3.0]), "int64"),
        "ints beside NaN": (series([1, 2]), series([np.nan, 3]), "float64"),
        "int8 beside larger ints": (series([1, 2], "int8"), series([300]), "int64"),
        "int8 beside small ints": (series([1, 2], "int8"), series([3]), "int8"),
        "bools beside fractions": (series([True, False]), series([0.5]), "float64"),
        "bools beside 0 and 1": (series([True, False]), series([0, 1]), "bool"),
        "float32 beside float64": (series([0.5], "f4"), series([0.1]), "float64"),
        "float32 beside what it can hold": (series([0.1], "f4"), series([0.5]), "float32"),
        "floats beside ints": (series([0.5]), series([1, 2]), "float64"),
        "Int64 beside ints": (series([1, None], "Int64"), series([3]), "Int64"),
        "ints beside Int64 with a hole": (series([1, 2]), series([None, 3], "Int64"), "Int64"),
        "Int64 beside fractions": (series([1, None], "Int64"), series([0.5]), "float64"),
        "boolean beside bool": (series([True, None], "boolean"), series([False]), "boolean"),
        "huge ints beside small ones": (series([HUGE]), series([3], "int8"), "int64"),
        "small ints beside huge ones": (series([3]), series([HUGE]), "int64"),
        "huge ints beside whole floats": (series([HUGE]), series([3.0]), "int64"),
        "huge ints beside Int64 with a hole": (series([HUGE]), series([None, 3], "Int64"), "Int64"),
        "sparse beside dense": (series(pd.arrays.SparseArray([0.0, 1.0])), series([0.5]), "Sparse[float64, nan]"),
        "categories beside more": (
            series(["a", "b"], category(["b", "a"])),
            series(["c", "a"], category(["c", "a"])),
            category(["b", "a", "c"]),
        ),
        "ordered categories beside unordered": (
            series(["a"], category(["b", "a"], ordered=True)),
            series(["a"], category(["a", "b"])),
            category(["b", "a"], ordered=True),
        ),
        "categories beside strings": (series(["a"], category(["b", "a"])), series(["c"]), category(["b", "a", "c"])),
        "categories of ints beside ints": (series([1, 2], "category"), series([3]), category([1, 2, 3])),
        "ints beside categories of ints": (series([1, 2]), series([3], "category"), "int64"),
        "strings beside categories": (series(["a"], "string"), series(["c"], "category"), "string"),
        "strings beside string objects": (series(["a"], "string"), series(["c", None], object), "string"),
        "objects beside numbers": (series(["a", 1], object), series([2]), "object"),
        "number objects beside floats": (series([1, 2.5], object), series([0.5]), "object"),
        "floats beside number objects": (series([0.5]), series([1, None], object), "float64"),
        "nothing beside categories": (series([np.nan]), series(["c"], "category"), category(["c"])),
        "nothing beside strings": (series([np.nan]), series(["c"], object), "object"),
        "nothing beside floats": (series([None], object), series([0.5]), "float64"),
        "nanoseconds beside seconds": (series(np.array([1], "M8[ns]")), series(np.array([1], "M8[s]")), "M8[ns]"),
        "seconds beside nanoseconds": (series(np.array([1], "M8[s]")), series(np.array([1], "M8[ns]")), "M8[ns]"),
    }


def numpy_pairs(np: Any) -> dict[str, Any]:
    one = np.array([[1]])
    return {
        "ints beside fractions": (one, np.array([[0.5]]), "f8"),
        "ints beside whole floats": (one, np.array([[2.0]]), "i8"),
        "ints beside NaN": (one, np.array([[np.nan]]), "f8"),
        "int8 beside uint8": (np.array([[-1]], "i1"), np.array([[200]], "u1"), "i2"),
        "float32 beside float64": (np.array([[0.5]], "f4"), np.array([[0.1]]), "f8"),
        "float16 beside float16": (np.array([[0.1]], "f2"), np.array([[0.2]], "f2"), "f2"),
        "float32 beside ints": (np.array([[0.1]], "f4"), one, "f4"),
        "float32 beside ints it cannot hold": (np.array([[0.1]], "f4"), np.array([[2**24 + 1]]), "f8"),
        "bools beside ints": (one > 0, np.array([[2]]), "i8"),
        "huge ints beside small": (np.array([[HUGE]]), np.array([[3]], "i1"), "i8"),
        "short text beside long": (np.array([["a"]]), np.array([["abc"]]), "U3"),
        "text beside objects": (np.array([["a"]]), np.array([["abc"]], dtype=object), object),
        "floats beside number objects": (np.array([[0.5]]), np.array([[1]], dtype=object), "f8"),
        "days beside hours": (np.array([["2020"]], "M8[D]"), np.array([["2020-01-01T01"]], "M8[h]"), "M8[h]"),
    }


def polars_pairs(pl: Any) -> dict[str, Any]:
    def frame(cells: Any, dtype: Any = None) -> Any:
        return pl.DataFrame({"a": pl.Series(cells, dtype=dtype)})

    return {
        "ints beside fractions": (frame([1, None]), frame([0.5]), pl.Float64),
        "Int8 beside larger ints": (frame([1], pl.Int8), frame([300]), pl.Int64),
        "null beside NaN": (frame([None, 0.5], pl.Float32), frame([np.nan]), pl.Float32),
        "Boolean beside fractions": (frame([True]), frame([0.5]), pl.Float64),
        "Enum beside more": (frame(["a"], pl.Enum(["b", "a"])), frame(["c"], pl.Enum(["c"])), pl.Enum(["b", "a", "c"])),
        "Enum beside strings": (frame(["a"], pl.Enum(["b", "a"])), frame(["c"]), pl.Enum(["b", "a", "c"])),
        "Categorical beside strings": (frame(["a"], pl.Categorical), frame(["c"]), pl.Categorical),
        "strings beside Categorical": (frame(["a"]), frame(["c"], pl.Categorical), pl.String),
        "Null beside strings": (frame([None]), frame(["a"]), pl.String),
        "Null beside ints": (frame([None]), frame([1]), pl.Int64),
        "Date beside Datetime": (frame([DAY]), frame([NOON]), pl.Datetime("us")),
        "huge ints beside null": (frame([HUGE]), frame([None, 1]), pl.Int64),
    }


def pyarrow_pairs(pa: Any) -> dict[str, Any]:
    def table(cells: Any, kind: Any = None) -> Any:
        return pa.table({"a": pa.array(cells, kind)})

    small = pa.dictionary(pa.int8(), pa.string())
    return {
        "ints beside fractions": (table([1, None]), table([0.5]), pa.float64()),
        "ints beside bools": (table([1, None]), table([True]), pa.int64()),
        "dictionary beside more": (table(["a"], small), table(["c"], pa.dictionary(pa.int32(), pa.string())), small),
        "dictionary beside strings": (table(["a"], small), table(["c", None]), small),
        "dictionary beside too many": (
            table(["a"], small),
            table([f"{i}" for i in range(200)]),
            pa.dictionary(pa.int32(), pa.string()),
        ),
        "strings beside dictionary": (table(["a"]), table(["c"], small), pa.string()),
        "strings beside large strings": (table(["a"]), table(["c"], pa.large_string()), pa.string()),
        "microseconds beside nanoseconds": (table([NOON]), table([10**18 + 1], pa.timestamp("ns")), pa.timestamp("ns")),
        "null beside strings": (table([None]), table(["a"]), pa.string()),
    }


def cells_and_dtype(table: Any) -> tuple[list[Any], Any]:
    """The first column of a table, as Python objects that compare equal whatever their dtype was."""
    if isinstance(table, np.ndarray):
        return table[:, 0].tolist(), table.dtype
    if isinstance(table, pd.DataFrame):
        return [None if pd.isna(cell) else cell for cell in table.iloc[:, 0]], table.dtypes.iloc[0]
    column = table.columns[0] if hasattr(table, "column_names") else table.to_series(0)
    return (column.to_pylist(), column.type) if hasattr(column, "to_pylist") else (column.to_list(), column.dtype)


def as_dates(cells: list[Any]) -> list[Any]:
    """Dates as the first instant of the day, and NaN as None, so that widened cells compare equal."""
    midnight = datetime.time()
    plain = [datetime.datetime.combine(cell, midnight) if type(cell) is datetime.date else cell for cell in cells]
    return [None if cell is None or cell != cell else cell for cell in plain]


@pytest.mark.parametrize(
    "pair",
    [
        *tables("pandas", pandas_pairs),
        *tables("numpy", numpy_pairs),
        *tables("polars", polars_pairs),
        *tables("pyarrow", pyarrow_pairs),
    ],
)
def test_two_tables_share_a_dtype_that_holds_every_cell(pair):
    X, background, dtype = pair
    for table, shown in zip((X, background), both(X, background), strict=True):
        cells, found = cells_and_dtype(shown)
        assert found == dtype
        assert as_dates(cells) == as_dates(cells_and_dtype(table)[0])
        assert type(shown) is type(X)


def pandas_clashes(pd: Any) -> dict[str, Any]:
    naive, zoned = pd.to_datetime(["2020"]), pd.to_datetime(["2020"]).tz_localize("UTC")
    return {
        "strings and ints": (series(["a"]), series([1])),
        "ints and digits": (series([1]), series(["1"])),
        "string objects and ints": (series(["a"], object), series([1])),
        "dates and text": (series(naive), series(["2020"])),
        "dates with and without a zone": (series(naive), series(zoned)),
        "categories of ints and of digits": (series([1], "category"), series(["1"], "category")),
        "objects of dates and of timestamps": (series([DAY], object), series(naive)),
        "huge ints and fractions": (series([HUGE]), series([0.5])),
        "huge unsigned and negative": (series([2**64 - 1], "u8"), series([-1])),
        "lists": (series([[1]]), series([[2]])),
    }


def numpy_clashes(np: Any) -> dict[str, Any]:
    return {
        "text and ints": (np.array([["1"]]), np.array([[1]])),
        "ints and text": (np.array([[1]]), np.array([["1"]])),
        "dates and ints": (np.array([["2020"]], "M8[D]"), np.array([[1]])),
        "huge ints and fractions": (np.array([[HUGE]]), np.array([[0.5]])),
        "huge unsigned and negative": (np.array([[2**64 - 1]], "u8"), np.array([[-1]])),
        "text objects and ints": (np.array([["a"]], dtype=object), np.array([[1]])),
    }


def polars_clashes(pl: Any) -> dict[str, Any]:
    return {
        "strings and ints": (pl.DataFrame({"a": ["a"]}), pl.DataFrame({"a": [1]})),
        "ints and digits": (pl.DataFrame({"a": [1]}), pl.DataFrame({"a": ["1"]})),
        "strings and dates": (pl.DataFrame({"a": ["2020"]}), pl.DataFrame({"a": [DAY]})),
        "dates with and without a zone": (
            pl.DataFrame({"a": pl.Series([NOON]).dt.replace_time_zone("UTC")}),
            pl.DataFrame({"a": [NOON]}),
        ),
        "huge ints and fractions": (pl.DataFrame({"a": [HUGE]}), pl.DataFrame({"a": [0.5]})),
        "lists": (pl.DataFrame({"a": [[1]]}), pl.DataFrame({"a": [[2]]})),
    }


def pyarrow_clashes(pa: Any) -> dict[str, Any]:
    return {
        "strings and ints": (pa.table({"a": ["a"]}), pa.table({"a": [1]})),
        "ints and digits": (pa.table({"a": [1]}), pa.table({"a": ["1"]})),
        "dates with and without a zone": (
            pa.table({"a": pa.array([NOON], pa.timestamp("us", "UTC"))}),
            pa.table({"a": [NOON]}),
        ),
        "dictionary of text and of ints": (
            pa.table({"a": pa.array(["1"]).dictionary_encode()}),
            pa.table({"a": pa.array([1]).dictionary_encode()}),
        ),
        "lists": (pa.table({"a": [[1]]}), pa.table({"a": [[2]]})),
    }


@pytest.mark.parametrize(
    "pair",
    [
        *tables("pandas", pandas_clashes),
        *tables("numpy", numpy_clashes),
        *tables("polars", polars_clashes),
        *tables("pyarrow", pyarrow_clashes),
    ],
)
def test_columns_of_two_kinds_are_refused_by_name(pair):
    with pytest.raises(cs.InputError, match=r"background: got .*; wanted .*(same kind|one dtype)") as caught:
        schema_of(*pair)
    assert "'a'" in str(caught.value) or "'x0'" in str(caught.value) or "together with fractions" in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(
    X=arrays(st.sampled_from(["i1", "u1", "i8", "u8", "f2", "f4", "f8", "?"]), (2, 2)),
    background=arrays(st.sampled_from(["i1", "u1", "i8", "u8", "f2", "f4", "f8", "?"]), (2, 2)),
)
def test_no_number_changes_beside_another_dtype(X, background):
    found = both_or_refused(X, background)
    if found is None:
        assert any(abs(cell) >= 2**53 for cell in [*X.ravel().tolist(), *background.ravel().tolist()])
        return
    assert as_dates(found[0].ravel().tolist()) == as_dates(X.ravel().tolist())
    assert as_dates(found[1].ravel().tolist()) == as_dates(background.ravel().tolist())


def both_or_refused(X: Any, background: Any) -> tuple[Any, Any] | None:
    try:
        return both(X, background)
    except cs.InputError:
        return None


# ---------------------------------------------------------------------------------------------------------------------
# X of one library, background of another

RNG = np.random.default_rng(3)
SIZES = {"X": 8, "background": 5}


def columns(size: int) -> dict[str, list[Any]]:
    """Columns of every kind as plain lists."""
    return {
        "size": RNG.normal(size=size).tolist(),
        "count": RNG.integers(0, 9, size=size).tolist(),
        "flag": (RNG.random(size) < 0.5).tolist(),
        "word": RNG.choice(["low", "mid", "high"], size=size).tolist(),
    }


CELLS = {name: columns(size) for name, size in SIZES.items()}
MAKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "pandas with categories": lambda cells: pd.DataFrame(cells).astype({"word": "category"}),
    "pandas nullable": lambda cells: pd.DataFrame(cells).convert_dtypes(),
    "polars": lambda cells: importlib.import_module("polars").DataFrame(cells),
    "polars with categories": lambda cells: importlib.import_module("polars").DataFrame(
        cells, schema_overrides={"word": importlib.import_module("polars").Categorical}
    ),
    "lazy polars": lambda cells: importlib.import_module("polars").LazyFrame(cells),
    "pyarrow": lambda cells: importlib.import_module("pyarrow").table(cells),
    "pyarrow with a dictionary": lambda cells: importlib.import_module("pyarrow").table(
        {
            name: importlib.import_module("pyarrow").array(list(values))
            for name, values in cells.items()
            if name != "word"
        }
        | {"word": importlib.import_module("pyarrow").array(cells["word"]).dictionary_encode()}
    ),
    "array of objects": lambda cells: np.array(list(zip(*cells.values(), strict=True)), dtype=object),
    "list of rows": lambda cells: [list(row) for row in zip(*cells.values(), strict=True)],
}


def numbers(cells: dict[str, list[Any]]) -> np.ndarray:
    words = {"low": 0.0, "mid": 1.0, "high": 2.0}
    return np.column_stack([cells["size"], cells["count"], cells["flag"], [words[word] for word in cells["word"]]])


def cost(Z: np.ndarray) -> np.ndarray:
    """The model on numbers."""
    return Z[:, 0] * (1 + Z[:, 3]) + np.where(Z[:, 2] > 0, Z[:, 1], 0.5 * Z[:, 3] ** 2)


def cost_of_table(table: Any) -> np.ndarray:
    """The same model on whatever table it is given."""
    if isinstance(table, np.ndarray):
        return cost(numbers(dict(zip(CELLS["X"], table.T.tolist(), strict=True))))
    return cost(
        numbers(
            {
                name: list(table[name].to_pylist() if hasattr(table, "column_names") else table[name])
                for name in CELLS["X"]
            }
        )
    )


RESPONSE = RNG.normal(size=SIZES["X"])
TRUTH = oracle.sage(cost, oracle.squared_error, numbers(CELLS["X"]), RESPONSE, numbers(CELLS["background"]))
LIBRARIES = [
    pytest.param(
        name,
        marks=pytest.mark.needs(name.replace("lazy ", "").split()[0]) if name.replace("lazy ", "")[0] == "p" else (),
    )
    for name in MAKERS
]


@pytest.mark.parametrize("of_background", LIBRARIES)
@pytest.mark.parametrize("of_X", LIBRARIES)
def test_values_are_the_same_for_any_two_kinds_of_table(of_X, of_background):
    X, background = MAKERS[of_X](CELLS["X"]), MAKERS[of_background](CELLS["background"])
    explanation = cs.sage(cost_of_table, X, RESPONSE, background=background, method="exact")
    assert explanation.values == pytest.approx(TRUTH, abs=1e-12)
    has_names = "rows" not in of_X or "rows" not in of_background
    if has_names and not {of_X, of_background} <= {"array of objects", "list of rows"}:
        assert explanation.feature_names == tuple(CELLS["X"])


@pytest.mark.parametrize("kind", LIBRARIES)
def test_a_model_fitted_on_frames_gets_frames_from_any_table(kind):
    fitted_on = pd.DataFrame(CELLS["background"])
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LinearRegression()).fit(fitted_on, np.arange(5.0))
    explanation = cs.sage(model, MAKERS[kind](CELLS["X"]), RESPONSE, background=fitted_on, method="exact")
    plain = cs.sage(model, pd.DataFrame(CELLS["X"]), RESPONSE, background=fitted_on, method="exact")
    assert explanation.values == pytest.approx(plain.values, abs=1e-12)


@pytest.mark.parametrize("kind", [*LIBRARIES])
@pytest.mark.parametrize("container", ["numpy", "pandas"])
def test_a_table_is_handed_over_in_another_kind_with_every_cell(kind, container):
    table = MAKERS[kind](CELLS["X"])
    schema = schema_of(table).for_container(container)
    handed = schema.decode(schema.encode(table, "X"))
    assert type(handed) is {"numpy": np.ndarray, "pandas": pd.DataFrame}[container]
    names = list(handed.columns) if container == "pandas" else range(4)
    for name, cells in zip(names, CELLS["X"].values(), strict=True):
        assert list(handed[name] if container == "pandas" else handed[:, name]) == cells


def test_codes_are_the_same_for_any_kind_of_numeric_table():
    values = RNG.normal(size=(6, 3))
    frame = pd.DataFrame(values, columns=list("abc"))
    for table in (values, values.tolist(), frame, np.asfortranarray(values), frame.convert_dtypes()):
        assert np.array_equal(schema_of(table).encode(table, "X"), values)


# ---------------------------------------------------------------------------------------------------------------------
# Names

FRAME, BACKGROUND = pd.DataFrame(CELLS["X"]), pd.DataFrame(CELLS["background"])


@pytest.mark.parametrize("seed_of_order", range(6))
@pytest.mark.parametrize("kind", LIBRARIES[:2] + LIBRARIES[3:4] + LIBRARIES[6:7])
def test_columns_are_matched_by_name(kind, seed_of_order):
    order = np.random.default_rng(seed_of_order).permutation(list(CELLS["background"]))
    background = MAKERS[kind]({name: CELLS["background"][name] for name in order})
    explanation = cs.sage(cost_of_table, FRAME, RESPONSE, background=background, method="exact")
    assert explanation.values == pytest.approx(TRUTH, abs=1e-12)
    assert explanation.feature_names == tuple(FRAME.columns)


@pytest.mark.parametrize(
    "names",
    [
        ["size", "count", "flag"],
        ["size", "count", "flag", "Word"],
        ["size", "count", "flag", "word", "extra"],
        ["word", "flag", "count"],
    ],
)
def test_missing_and_extra_columns_are_an_error(names):
    background = BACKGROUND.reindex(columns=names, fill_value=0)
    odd = sorted(set(names) ^ set(FRAME.columns))
    with pytest.raises(cs.InputError, match=rf"background: got columns that differ from X's: .*'{odd[0]}'"):
        cs.sage(cost_of_table, FRAME, RESPONSE, background=background)


def test_labels_that_are_not_strings_are_matched_as_they_read():
    X = pd.DataFrame(RNG.normal(size=(5, 3)), columns=[10, 20, 30])
    background = pd.DataFrame(RNG.normal(size=(4, 3)), columns=["30", "10", "20"])
    shown, behind = both(X, background)
    assert list(shown.columns) == list(behind.columns) == [10, 20, 30]
    assert np.array_equal(behind.to_numpy(), background[["10", "20", "30"]].to_numpy())


def test_a_table_without_names_goes_by_position():
    shown, behind = both(FRAME, MAKERS["list of rows"](CELLS["background"]))
    assert same(shown, FRAME)
    assert same(behind, BACKGROUND)


def test_a_background_with_names_is_put_in_the_order_of_the_model_where_the_rows_have_none():
    values, response = RNG.normal(size=(30, 3)), RNG.normal(size=30)
    model = LinearRegression().fit(pd.DataFrame(values, columns=list("abc")), response)
    background = pd.DataFrame(values[:6], columns=list("abc"))
    plain = cs.sage(model, values, response, background=values[:6], method="exact")
    for order in (list("abc"), list("cab"), list("bca")):
        found = cs.sage(model, values, response, background=background[order], method="exact")
        assert found.values == pytest.approx(plain.values, abs=1e-12)
        assert found.feature_names == ("a", "b", "c")


# ---------------------------------------------------------------------------------------------------------------------
# Memory layouts, missing cells

LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Fortran order": np.asfortranarray,
    "read-only": lambda values: np.broadcast_to(values, values.shape),
    "every other row and column": lambda values: np.kron(values, np.ones((2, 2)))[::2, ::2],
    "backwards": lambda values: values[::-1, ::-1].copy()[::-1, ::-1],
    "transposed": lambda values: values.T.copy().T,
    "big-endian": lambda values: values.astype(">f8"),
    "not aligned": lambda values: np.frombuffer(b"x" + values.tobytes(), dtype="f8", offset=1).reshape(values.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_in_memory_does_not_change_a_bit(layout):
    X, background, y = RNG.normal(size=(9, 3)), RNG.normal(size=(4, 3)), RNG.normal(size=9)
    weights = np.array([1.0, -2.0, 0.5])
    plain = cs.sage(lambda Z: np.tanh(Z) @ weights, X, y, background=background, method="exact")
    change = LAYOUTS[layout]
    found = cs.sage(lambda Z: np.tanh(Z) @ weights, change(X), y, background=change(background), method="exact")
    assert np.array_equal(change(X), X)
    assert np.array_equal(found.values, plain.values)


HOLED = np.where(RNG.random((40, 3)) < 0.3, np.nan, RNG.normal(size=(40, 3)))


@pytest.mark.parametrize("change", [np.array, pd.DataFrame, lambda v: pd.DataFrame(v).convert_dtypes()])
def test_missing_cells_pass_where_the_model_takes_them(change):
    model = HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=2).fit(HOLED, np.nansum(HOLED, axis=1))
    y = RNG.normal(size=10)
    truth = oracle.sage(model.predict, oracle.squared_error, HOLED[:10], y, HOLED[10:16])
    found = cs.sage(model, change(HOLED[:10]), y, background=change(HOLED[10:16]), method="exact")
    assert found.values == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("hole", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", ["X", "background"])
@pytest.mark.parametrize("change", [np.array, lambda v: pd.DataFrame(v, columns=["x0", "x1", "x2"])])
def test_missing_cells_stop_where_the_model_does_not_take_them(change, place, hole):
    values = RNG.normal(size=(10, 3))
    model = LinearRegression().fit(values, values[:, 0])
    holed = values.copy()
    holed[3, 1] = hole
    X, background = (holed, values) if place == "X" else (values, holed)
    with pytest.raises(cs.ModelError, match="X or background: got missing or infinite cells in 'x1'"):
        cs.sage(model, change(X), values[:, 0], background=change(background))


@pytest.mark.needs("polars")
def test_a_polars_null_reaches_the_model_as_null_and_nan_as_nan():
    pl = pytest.importorskip("polars")
    seen: list[tuple[int, int]] = []

    def model(frame: Any) -> Any:
        seen.append((frame["a"].null_count(), int(frame["a"].is_nan().sum() or 0)))
        return frame["a"].fill_null(5.0).fill_nan(7.0).to_numpy() * frame["b"].to_numpy()

    X = pl.DataFrame({"a": [1.0, None, float("nan"), 2.0], "b": [1.0, 2.0, 3.0, 4.0]})
    background = pl.DataFrame({"a": [None, 3.0], "b": [1.0, -1.0]})
    y = np.arange(4.0)
    filled = np.array([[1.0, 1], [5, 2], [7, 3], [2, 4]])
    truth = oracle.sage(lambda Z: Z[:, 0] * Z[:, 1], oracle.squared_error, filled, y, np.array([[5.0, 1], [3, -1]]))
    assert cs.sage(model, X, y, background=background, method="exact").values == pytest.approx(truth, abs=1e-12)
    assert seen[0] == (1, 1)


# ---------------------------------------------------------------------------------------------------------------------
# y and weights

GIVEN = [3.0, 1.0, 2.0, 0.0]
VECTORS: dict[str, Callable[[], Any]] = {
    "list": lambda: list(GIVEN),
    "array": lambda: np.array(GIVEN),
    "float32": lambda: np.array(GIVEN, dtype="f4"),
    "ints": lambda: np.array(GIVEN, dtype="i1"),
    "column": lambda: np.array(GIVEN)[:, None],
    "objects": lambda: np.array(GIVEN, dtype=object),
    "Series": lambda: pd.Series(GIVEN, index=[4, 3, 2, 1]),
    "nullable": lambda: pd.Series([3, 1, 2, 0], dtype="Int64"),
    "frame": lambda: pd.DataFrame({"y": GIVEN}),
    "polars": lambda: importlib.import_module("polars").Series(GIVEN),
    "polars frame": lambda: importlib.import_module("polars").DataFrame({"y": GIVEN}),
    "pyarrow": lambda: importlib.import_module("pyarrow").array(GIVEN),
    "pyarrow table": lambda: importlib.import_module("pyarrow").table({"y": GIVEN}),
}
VECTOR = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(name, marks=pytest.mark.needs(name.split()[0]) if name[:2] in ("po", "py") else ())
        for name in VECTORS
    ],
)


@VECTOR
def test_responses_and_weights_of_any_kind_go_by_position(kind):
    rows = np.zeros((4, 2))
    assert read_target(VECTORS[kind](), rows, 4).tolist() == GIVEN
    assert read_weights(VECTORS[kind](), rows, 4) == pytest.approx(np.array(GIVEN) / 6, abs=1e-15)


@pytest.mark.parametrize("read", [read_target, read_weights])
def test_an_index_that_disagrees_is_an_error_and_one_that_agrees_is_not(read):
    rows = pd.DataFrame({"a": [1, 2, 3]}, index=["p", "q", "r"])
    agreeing = pd.Series([1.0, 2.0, 3.0], index=["p", "q", "r"])
    assert len(read(agreeing, rows, 3)) == 3
    for index in (["q", "p", "r"], [0, 1, 2], ["p", "q", "z"]):
        with pytest.raises(cs.InputError, match="index that disagrees with the index of X"):
            read(pd.Series([1.0, 2.0, 3.0], index=index), rows, 3)
    assert len(read(agreeing.to_numpy(), rows, 3)) == 3


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [(["a", "b"], "U1"), ([True, False], bool), ([1, 2], int), ([b"a", b"b"], "S1"), (["a", 1], object)],
)
def test_labels_keep_their_kind(labels, dtype):
    target = read_target(labels, np.zeros((2, 1)), 2)
    assert target.dtype == dtype
    assert target.tolist() == labels


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(0, 1e308), min_size=1, max_size=6).filter(any))
def test_weights_add_up_to_one_and_keep_their_proportions(weights):
    found = read_weights(weights, np.zeros((len(weights), 1)), len(weights))
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert np.allclose(found / found.max(), np.array(weights) / max(weights), atol=1e-12)


@pytest.fixture
def encoded(monkeypatch):
    """How many rows were encoded at a time, since the test began."""
    rows: list[int] = []
    inner = Schema._encode

    def counted(self, part):
        rows.append(len(part.table))
        return inner(self, part)

    monkeypatch.setattr(Schema, "_encode", counted)
    return rows


def mixed_frame(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.choice(["x", "y", "z"], rows), "c": rng.normal(size=rows)})
    return X, X["a"].to_numpy() + (X["b"] == "x").to_numpy()


@pytest.mark.parametrize(
    "removal", ["marginal", "product of marginals", "baseline", "copula", "neighbours", "trees", "surrogate"]
)
def test_a_run_encodes_each_table_once(removal, encoded):
    X, y = mixed_frame(80)
    cs.sage(
        lambda rows: rows["a"] + (rows["b"] == "x"),
        X[:50],
        y[:50],
        background=X[50:],
        removal=removal,
        budget=20_000,
        check_manifold=False,
        rng=0,
    )
    assert sorted(encoded) == [30, 50]


def test_a_table_that_is_its_own_background_is_encoded_once(encoded):
    X, y = mixed_frame(50)
    for measure in (cs.sage, cs.mean_importance, cs.permutation_importance):
        encoded.clear()
        measure(lambda rows: rows["a"] + (rows["b"] == "x"), X, y, rng=0)
        assert encoded[:1] == [50]
        assert encoded.count(50) == 1


def test_codes_are_those_of_the_examples_though_a_removal_was_made_for_other_rows():
    class Elsewhere:
        """A removal of another library, which hands on the model of one of ours for a table of its own."""

        def __init__(self, background):
            self.background = background

        def restrict(self, predictor, X):
            return cs.Marginal(self.background).restrict(predictor, X[::-1])

    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
    y = X[:, 0] * X[:, 1]
    ours, theirs = (
        cs.sage(lambda rows: rows[:, 0] * rows[:, 1], X, y, removal=removal, rng=0)
        for removal in (cs.Marginal(background), Elsewhere(background))
    )
    assert np.array_equal(ours.values, theirs.values)


def test_a_game_made_by_hand_looks_at_the_examples_as_they_are_now():
    X = np.arange(6.0).reshape(3, 2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    f_S = cs.Marginal(frame).restrict(lambda rows: rows["a"], frame)
    frame["a"] += 10
    v = cs.PredictivePower.of(f_S, "squared error", frame, frame["a"])
    assert np.array_equal(v.X, X + np.array([10.0, 0.0]))


@pytest.mark.parametrize("columns", [["a", "b"], ["b", "a"]])
def test_models_with_names_get_their_columns_in_order_from_a_background_that_has_them(columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    model = LinearRegression().fit(frame, frame["a"] * 2)
    f_S = cs.Marginal(frame[columns]).restrict(model, frame[["a", "b"]].to_numpy())
    assert np.allclose(f_S.full(f_S.schema.encode(frame, "X")), frame[["a"]] * 2)
