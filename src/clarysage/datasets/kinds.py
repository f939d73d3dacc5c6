"""Columns of a tidy table as what they are: numbers and categories; cells may come as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any


def cells(content: bytes, separator: str) -> Any:
    """A file of separated cells as a frame of text, so that each number is read as exactly as Python does."""
    import pandas as pd

    return pd.read_csv(BytesIO(content), sep=separator, dtype=str, keep_default_na=False)


def check_columns(table: Any, names: Iterable[str]) -> None:
    """Raise unless the table has the columns."""
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(f"it has no column {missing[0]!r}")


def whole(column: Any) -> Any:
    """Whole numbers, int64."""
    return column.astype("int64")


def real(column: Any) -> Any:
    """Real numbers, float64."""
    return column.astype("float64")


def category(column: Any, categories: Sequence[Any]) -> Any:
    """Categories, in the order given, whether each occurs or not.

    Examples
    --------
    >>> import pandas as pd
    >>> list(category(pd.Series(["feb", "jan"], name="month"), ["jan", "feb", "mar"]).cat.codes)
    [1, 0]
    """
    import pandas as pd

    unknown = [cell for cell in column.unique().tolist() if cell not in categories]
    if unknown:
        raise ValueError(f"column {column.name!r} has a cell {unknown[0]!r}")
    return column.astype(pd.CategoricalDtype(list(categories)))


def nothing_beside(table: Any) -> Any:
    """A frame without columns."""
    import pandas as pd

    return pd.DataFrame(index=table.index)
