"""One column between the user's dtype and float64 codes: numbers as themselves, the rest by a dictionary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from clarysage.errors import InputError

EXACT_INTEGERS = 2**53  # integers beyond this are not exact in float64 and go by dictionary


class Column(Protocol):
    """How the cells of one column become codes and back; ``is_number`` says whether codes are the values."""

    @property
    def is_number(self) -> bool: ...

    @property
    def backend(self) -> Backend: ...

    def encode(self, cells: Any) -> np.ndarray: ...
    def decode(self, codes: np.ndarray) -> Any: ...


class Backend(Protocol):
    """What differs between numpy, pandas and polars columns."""

    def is_number(self, cells: Any) -> bool: ...
    def to_float(self, cells: Any) -> np.ndarray: ...
    def number_dtype(self, parts: list[Any], missing: bool) -> Any: ...
    def from_float(self, values: np.ndarray, dtype: Any) -> Any: ...
    def distinct(self, parts: list[Any]) -> Any: ...
    def lookup(self, values: Any, cells: Any) -> np.ndarray: ...
    def take(self, values: Any, codes: np.ndarray) -> Any: ...


@dataclass(frozen=True)
class Numbers:
    """A numeric or boolean column: the codes are the values, handed back in the column's own dtype."""

    backend: Backend
    dtype: Any
    is_number: bool = True

    def encode(self, cells: Any) -> np.ndarray:
        return self.backend.to_float(cells)

    def decode(self, codes: np.ndarray) -> Any:
        return self.backend.from_float(codes, self.dtype)


@dataclass(frozen=True)
class Categories:
    """A column of strings, categories, dates or other things: code k stands for the k-th distinct value."""

    backend: Backend
    values: Any
    is_number: bool = False

    def encode(self, cells: Any) -> np.ndarray:
        return self.backend.lookup(self.values, cells)

    def decode(self, codes: np.ndarray) -> Any:
        places = np.where(np.isnan(codes), -1, codes).astype(np.int64)
        return self.backend.take(self.values, places)


def column_of(backend: Backend, parts: dict[str, Any], name: str) -> Column:
    """The column that holds the cells of all ``parts`` (argument name -> cells of this column)."""
    numeric = {argument: backend.is_number(cells) for argument, cells in parts.items()}
    if not any(numeric.values()):
        return Categories(backend, _distinct(backend, parts, name))
    floats = [_floats(backend, cells, argument, name, numeric) for argument, cells in parts.items()]
    dtype = backend.number_dtype(list(parts.values()), any(np.isnan(part).any() for part in floats))
    if _kind(dtype) in "iu" and any(np.abs(part).max(initial=0.0) > EXACT_INTEGERS for part in floats):
        return Categories(backend, _distinct(backend, parts, name))
    return Numbers(backend, dtype)


def widened(column: Column, codes: np.ndarray) -> Column:
    """The column, able to hold the codes: whole numbers give way to float64 where a fraction comes in."""
    if not isinstance(column, Numbers) or _kind(column.dtype) not in "iub":
        return column
    present = codes[~np.isnan(codes)]
    bounded = _kind(column.dtype) != "b" or bool(np.isin(present, (0.0, 1.0)).all())
    fits = bounded and bool((present == np.round(present)).all())
    return column if fits else Numbers(column.backend, column.backend.number_dtype([], True))


def _kind(dtype: Any) -> str:
    """numpy's letter for a dtype of any library: i, u, f, b, or O for what is none of these."""
    kind = getattr(dtype, "kind", None)
    if kind is None:  # polars
        name = str(dtype)
        kind = {"I": "i", "U": "u", "F": "f", "B": "b", "D": "f"}.get(name[:1], "O")
    return str(kind)


def _floats(backend: Backend, cells: Any, argument: str, name: str, numeric: dict[str, bool]) -> np.ndarray:
    try:
        return backend.to_float(cells)
    except (ValueError, TypeError) as error:
        other = next(part for part, is_number in numeric.items() if is_number)
        raise InputError(
            argument,
            got=f"text or categories in column {name!r}, which holds numbers in {other}",
            wanted="the same kind of column in both",
        ) from error


def _distinct(backend: Backend, parts: dict[str, Any], name: str) -> Any:
    try:
        return backend.distinct(list(parts.values()))
    except (TypeError, ValueError) as error:
        raise InputError(
            next(iter(parts)),
            got=f"cells in column {name!r} that cannot be compared or counted ({error})",
            wanted="numbers, booleans, strings, categories or dates",
        ) from error


class NumpyCells:
    """Columns of a numpy array."""

    def is_number(self, cells: np.ndarray) -> bool:
        return cells.dtype.kind in "biuf"

    def to_float(self, cells: np.ndarray) -> np.ndarray:
        return cells.astype(np.float64)

    def number_dtype(self, parts: list[np.ndarray], missing: bool) -> np.dtype[Any]:
        kinds = [part.dtype for part in parts if part.dtype.kind in "biuf"]
        dtype = np.result_type(*kinds) if kinds and len(kinds) == len(parts) else np.dtype(np.float64)
        return np.dtype(np.float64) if missing and dtype.kind in "biu" else dtype

    def from_float(self, values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
        return values.astype(dtype)

    def distinct(self, parts: list[np.ndarray]) -> np.ndarray:
        seen: dict[Any, None] = {}
        for part in parts:
            for cell in part.tolist():
                if not _is_missing(cell):
                    seen.setdefault(cell, None)
        values = np.empty(len(seen) + 1, dtype=object)
        values[: len(seen)] = list(seen)
        values[-1] = next((cell for part in parts for cell in part.tolist() if _is_missing(cell)), None)
        return values

    def lookup(self, values: np.ndarray, cells: np.ndarray) -> np.ndarray:
        place = {value: code for code, value in enumerate(values[:-1].tolist())}
        return np.array([np.nan if _is_missing(cell) else place[cell] for cell in cells.tolist()], dtype=np.float64)

    def take(self, values: np.ndarray, codes: np.ndarray) -> np.ndarray:
        return np.asarray(values[codes])


class PandasCells:
    """Columns of a pandas DataFrame, extension dtypes included."""

    def is_number(self, cells: Any) -> bool:
        from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

        if is_complex_dtype(cells.dtype):
            raise InputError(f"column {cells.name!r}", got="complex numbers", wanted="real numbers")
        if str(cells.dtype) == "category":
            return False
        return bool(is_numeric_dtype(cells.dtype) or is_bool_dtype(cells.dtype))

    def to_float(self, cells: Any) -> np.ndarray:
        return np.asarray(cells.to_numpy(dtype=np.float64, na_value=np.nan))

    def number_dtype(self, parts: list[Any], missing: bool) -> Any:
        dtypes = [part.dtype for part in parts]
        if dtypes and all(dtype == dtypes[0] for dtype in dtypes):
            return dtypes[0]
        plain = [np.dtype(getattr(dtype, "numpy_dtype", dtype)) for dtype in dtypes if _kind(dtype) in "biuf"]
        dtype = np.result_type(*plain) if plain and len(plain) == len(parts) else np.dtype(np.float64)
        return np.dtype(np.float64) if missing and dtype.kind in "biu" else dtype

    def from_float(self, values: np.ndarray, dtype: Any) -> Any:
        import pandas as pd

        if isinstance(dtype, np.dtype):
            return values.astype(dtype)
        if _kind(dtype) == "b":
            missing = np.isnan(values)
            cells = np.where(missing, 0.0, values).astype(bool).astype(object)
            cells[missing] = pd.NA
            return pd.array(cells, dtype=dtype)
        return pd.array(values, dtype=dtype)

    def distinct(self, parts: list[Any]) -> Any:
        import pandas as pd

        dtypes = [part.dtype for part in parts]
        if all(isinstance(dtype, pd.CategoricalDtype) for dtype in dtypes):
            categories = dtypes[0].categories
            for dtype in dtypes[1:]:
                categories = categories.append(dtype.categories.difference(categories, sort=False))
            kind = pd.CategoricalDtype(categories, ordered=dtypes[0].ordered)
            return pd.Categorical.from_codes(np.arange(len(categories)), dtype=kind)
        plain = [part.astype(object) if isinstance(part.dtype, pd.CategoricalDtype) else part for part in parts]
        together = plain[0] if len(plain) == 1 else pd.concat(plain, ignore_index=True)
        return pd.unique(together.dropna())

    def lookup(self, values: Any, cells: Any) -> np.ndarray:
        import pandas as pd

        codes = pd.Index(values).get_indexer(pd.Index(cells)).astype(np.float64)
        codes[cells.isna().to_numpy()] = np.nan
        if (codes < 0).any():
            raise KeyError(cells[codes < 0].iloc[0])
        return np.asarray(codes)

    def take(self, values: Any, codes: np.ndarray) -> Any:
        from pandas.api.extensions import take

        return take(values, codes, allow_fill=True)


class PolarsCells:
    """Columns of a polars DataFrame."""

    def is_number(self, cells: Any) -> bool:
        return bool(cells.dtype.is_numeric()) or str(cells.dtype) == "Boolean"

    def to_float(self, cells: Any) -> np.ndarray:
        import polars as pl

        if not self.is_number(cells):
            raise TypeError(f"{cells.dtype} is not numeric")
        return np.asarray(cells.cast(pl.Float64).to_numpy(), dtype=np.float64)

    def number_dtype(self, parts: list[Any], missing: bool) -> Any:
        import polars as pl

        dtypes = {part.dtype for part in parts}
        return dtypes.pop() if len(dtypes) == 1 else pl.Float64()

    def from_float(self, values: np.ndarray, dtype: Any) -> Any:
        import polars as pl

        column = pl.Series(values)
        return column.cast(dtype) if _kind(dtype) == "f" else column.fill_nan(None).cast(dtype)

    def distinct(self, parts: list[Any]) -> Any:
        import polars as pl

        seen = list(dict.fromkeys(cell for part in parts for cell in part.drop_nulls().to_list()))
        dtypes = {part.dtype for part in parts}
        return pl.Series(seen, dtype=parts[0].dtype if len(dtypes) == 1 else None)

    def lookup(self, values: Any, cells: Any) -> np.ndarray:
        place = {value: code for code, value in enumerate(values.to_list())}
        return np.array([np.nan if cell is None else place[cell] for cell in cells.to_list()], dtype=np.float64)

    def take(self, values: Any, codes: np.ndarray) -> Any:
        import polars as pl

        places = pl.Series(codes)
        return values.gather(places.set(places < 0, None))


def _is_missing(cell: Any) -> bool:
    return cell is None or cell != cell or type(cell).__name__ in ("NAType", "NaTType")


BACKENDS: dict[str, Backend] = {"numpy": NumpyCells(), "pandas": PandasCells(), "polars": PolarsCells()}
