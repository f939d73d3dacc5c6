"""Encoding of tables (arrays, pandas, polars, Arrow) as rows of float64 codes, and decoding.

Every column becomes one float64 column of a *code matrix*: numbers are their own codes; all other values (strings,
categories, dates, integers too large for a float) are encoded by their position in a dictionary that all tables of the
run share; NaN is a missing cell. Hybrid rows are then made by array operations for any kind of data, and
:meth:`Schema.decode` gives the model the same kind of table, with the same dtypes, as the user's.
"""

from clarysage.tables.columns import Categories
from clarysage.tables.containers import as_table, container_of, labels_of, rows_of, select_columns
from clarysage.tables.on_disk import OnDiskTable, is_on_disk, open_on_disk
from clarysage.tables.other_frames import about_conversion, check_order, in_memory
from clarysage.tables.schema import EncodedTable, Schema, encode_together, schema_of
from clarysage.tables.target import read_target, read_weights, target_names

__all__ = [
    "Categories",
    "EncodedTable",
    "OnDiskTable",
    "Schema",
    "about_conversion",
    "as_table",
    "check_order",
    "container_of",
    "encode_together",
    "in_memory",
    "is_on_disk",
    "labels_of",
    "open_on_disk",
    "read_target",
    "read_weights",
    "rows_of",
    "schema_of",
    "select_columns",
    "target_names",
]
