"""What users hand in (arrays, pandas, polars, Arrow) as rows of float64 codes, and back.

Every column becomes one float64 column of a *code matrix*: numbers stand for themselves, everything else (strings,
categories, dates, integers too large for a float) for its place in a dictionary shared by all tables of the run;
NaN is a missing cell. Hybrid rows are then plain array work for any kind of data, and :meth:`Schema.decode` hands
the model the very kind of table, and the very dtypes, that the user handed in.
"""

from clarysage.tables.columns import Categories
from clarysage.tables.containers import as_table, container_of, labels_of, rows_of, select
from clarysage.tables.on_disk import Stored, is_stored, stored
from clarysage.tables.schema import EncodedTable, Schema, encode_together, schema_of
from clarysage.tables.target import read_target, read_weights

__all__ = [
    "Categories",
    "EncodedTable",
    "Schema",
    "Stored",
    "as_table",
    "container_of",
    "encode_together",
    "is_stored",
    "labels_of",
    "read_target",
    "read_weights",
    "rows_of",
    "schema_of",
    "select",
    "stored",
]
