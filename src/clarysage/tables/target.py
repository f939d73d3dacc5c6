"""The response y and sample weights: one entry for each row, by position, validated against the rows' index."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.errors import Argument, InputError, PythonOnly
from clarysage.tables.cells.common import is_missing
from clarysage.tables.other_frames import check_order, in_memory

WITHOUT_THEM = ("dropping those rows from ", Argument("X"), " and y")  # advice if responses are missing


def read_target(y: Any, X: Any, n_rows: int) -> np.ndarray:
    """Returns y as an array (n,) or (n, k), in the order of X's rows.

    Rows are matched by position. If both X and y have a pandas index, the two must agree: a shuffled Series is an
    error, rather than a wrong number without warning.
    """
    check_order(y, X, "y", "X")
    y = in_memory(y, "y")
    _check_index(y, X, "y", "X")
    target = _as_column(y, "y")
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim not in (1, 2):
        raise InputError("y", got=f"shape {target.shape}", wanted="one response for each row, shape (n,) or (n, k)")
    if len(target) != n_rows:
        raise InputError(
            "y",
            got=f"{len(target):,} responses",
            wanted=[f"{n_rows:,}, one for each row of ", Argument("X")],
            hint=[
                "the y that belongs to these rows (are ",
                Argument("X"),
                " and y swapped, or from different splits?)",
            ],
        )
    missing = _count_missing(target)
    if missing:
        raise InputError(
            "y",
            got=f"{missing:,} missing or infinite response{'s' * (missing != 1)}",
            wanted="a response for each row",
            hint=WITHOUT_THEM,
        )
    return target


def target_names(y: Any) -> tuple[str, ...] | None:
    """Returns the names of the columns of y, if it is a table with several; else None."""
    columns = getattr(y, "column_names", None) or getattr(y, "columns", None)  # of pyarrow; of other tables
    return None if columns is None or len(columns) < 2 else tuple(map(str, columns))


def read_weights(weights: Any, rows: Any, n_rows: int, argument: str = "sample_weight", of: str = "X") -> np.ndarray:
    """Returns weights of the rows of a table, adding up to one, float64 (n,); equal ones for None."""
    if weights is None:
        return np.full(n_rows, 1.0 / n_rows)
    array = given_weights(weights, rows, n_rows, argument, of)
    array = array / array.max()  # so that huge weights do not overflow their sum
    return np.asarray(array / array.sum())


def given_weights(weights: Any, rows: Any, n_rows: int, argument: str = "sample_weight", of: str = "X") -> np.ndarray:
    """Validates weights of the rows of a table; returns them as they are, float64 (n,)."""
    check_order(weights, rows, argument, of)
    weights = in_memory(weights, argument)
    _check_index(weights, rows, argument, of)
    column = _as_column(weights, argument)
    if column.ndim > 2 or (column.ndim == 2 and column.shape[1] != 1):
        raise InputError(argument, got=f"shape {column.shape}", wanted=f"one weight for each row, shape ({n_rows},)")
    try:
        array = column.astype(np.float64).reshape(-1)
    except (TypeError, ValueError) as error:
        raise InputError(argument, got=f"weights that are not numbers ({error})", wanted="numbers") from error
    if len(array) != n_rows:
        raise InputError(argument, got=f"{len(array):,} weights", wanted=f"{n_rows:,}, one for each row")
    if not np.isfinite(array).all() or (array < 0).any():
        raise InputError(argument, got="negative, missing or infinite weights", wanted="weights of zero or more")
    if array.max() == 0:
        raise InputError(argument, got="weights that are all zero", wanted="at least one positive weight")
    return np.asarray(array)


def _as_column(values: Any, argument: str) -> np.ndarray:
    try:
        array = _as_array(values)
    except (ValueError, TypeError) as error:
        raise InputError(
            argument, got=f"entries of unequal shape ({error})", wanted="one entry for each row"
        ) from error
    if array.ndim == 0:
        raise InputError(argument, got=f"{type(values).__name__}", wanted="one entry for each row")
    if array.dtype.kind in "cmM":
        raise InputError(argument, got=f"entries of dtype {array.dtype}", wanted="real numbers or labels")
    return _plain_numbers(array)


def _as_array(values: Any) -> np.ndarray:
    if isinstance(values, (dict, set)):
        return np.asarray(None)
    if isinstance(values, np.ma.MaskedArray):
        cells: np.ndarray = np.ma.getdata(values).astype(object)
        cells[np.ma.getmaskarray(values)] = None
        return cells
    if type(values).__name__ == "LazyFrame":
        values = values.collect()
    if type(values).__module__.startswith("torch"):
        values = values.detach().cpu()
    if type(values).__module__.startswith("pyarrow"):
        values = values.to_pandas()
    array = np.asarray(values)
    if array.dtype.kind in "US" and isinstance(values, (list, tuple)):
        cells = np.asarray(values, dtype=object)  # otherwise numpy converts numbers and NaN beside text to text
        return array if all(isinstance(cell, (str, bytes)) for cell in cells.ravel()) else cells
    return array


def _plain_numbers(array: np.ndarray) -> np.ndarray:
    """Returns an object array of numbers, as nullable columns give, as a numeric one."""
    if array.dtype != object or any(isinstance(cell, (str, bytes)) for cell in array.ravel()):
        return array
    if all(isinstance(cell, (bool, np.bool_)) for cell in array.ravel()):
        return array.astype(bool)
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return array


def _count_missing(target: np.ndarray) -> int:
    if target.dtype.kind == "f":
        return int((~np.isfinite(target)).sum())
    return sum(map(is_missing, target.ravel().tolist())) if target.dtype == object else 0


def _check_index(values: Any, rows: Any, argument: str, of: str) -> None:
    ours, theirs = _index(rows), _index(values)
    if ours is None or theirs is None or len(ours) != len(theirs) or ours.equals(theirs):
        return
    raise InputError(
        argument,
        got=f"an index that disagrees with the index of {of}",
        wanted="the same rows in the same order",
        hint=PythonOnly(f".loc[{of}.index] to match by index, or .to_numpy() to match by position"),
    )


def _index(values: Any) -> Any:
    return values.index if type(values).__module__.startswith("pandas") and hasattr(values, "index") else None
