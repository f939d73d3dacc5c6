"""Bike demand: how many bikes are rented in an hour?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from clarysage.datasets.dataset import (
    Address,
    Dataset,
    DatasetRow,
    PublicFile,
    TableParts,
    check_columns,
    floats,
    integers,
    read_cells,
)
from clarysage.datasets.loading import load_row

CLOCK = ("Year", "Month", "Day", "Hour")
INTEGERS = ("Season", "Holiday", "Workingday", "Weather", "Humidity", "Casual", "Registered", "Count")
FLOATS = ("Temp", "Atemp", "Windspeed")
FEATURES = (*CLOCK, "Season", "Holiday", "Workingday", "Weather", "Temp", "Atemp", "Humidity", "Windspeed")


def bike(*, directory: str | os.PathLike[str] | None = None, download: bool = True) -> Dataset:
    """Bike sharing demand in Washington (Fanaee-T and Gama 2013): 10,886 hours, 12 features, all numbers.

    The target is "Count". Its two parts, rentals by casual and by registered users, are no features: they are in
    ``beside``. The time stamp is split into Year, Month, Day and Hour, as in the paper; Season (1 spring to 4 winter)
    and Weather (1 clear to 4 storm) are numbers there too.

    Parameters
    ----------
    directory : folder that holds bike.csv or bike.parquet; by default the one that the environment variable
        CLARYSAGE_DATA names. If it is not there, the user's cache is searched
    download : whether a missing file may be downloaded, into the cache

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    The number of rows and features is known without the file:
    >>> from clarysage.datasets import listed
    >>> listed().loc["bike", ["rows", "features"]].tolist()
    [10886, 12]
    """
    return load_row(BIKE, directory=directory, download=download)


def read(contents: Sequence[bytes]) -> Any:
    """Reads the table and splits its time stamps, such as "2011-01-01 05:00:00", into columns."""
    table = read_cells(contents[0], ",").rename(columns=str.title)
    check_columns(table, ["Datetime"])
    clock = table["Datetime"].str.extract(r"^(\d{4})-(\d\d)-(\d\d) (\d\d):")
    return table.drop(columns="Datetime").assign(**{name: clock[i] for i, name in enumerate(CLOCK)})


def arrange(table: Any) -> TableParts:
    check_columns(table, [*FEATURES, "Casual", "Registered", "Count"])
    table = table.assign(
        **{name: integers(table[name]) for name in (*CLOCK, *INTEGERS)},
        **{name: floats(table[name]) for name in FLOATS},
    )
    return TableParts(table[list(FEATURES)], table["Count"], table[["Casual", "Registered"]])


BIKE = DatasetRow(
    name="bike",
    about="hours of a bike rental: how many bikes are rented?",
    task="regression",
    rows=10_886,
    features=12,
    read=read,
    arrange=arrange,
    files=(
        PublicFile(
            "bike.csv",
            648_353,
            "0cf70c35eeb6405a40cc9e124854e2da901fa88fe7374a75d141e7401bf4c857",
            (
                Address(
                    "https://raw.githubusercontent.com/iancovert/sage/0e34e6c7e2a6b1666e39043e83b9929e68ee68f3"
                    "/data/bike.csv"
                ),
            ),
        ),
    ),
    tidy_sha256="10cf8bc820e1e8de1ab261cc62a8597430e56a0aa4ec7047c2c7fd399eb10371",
    source="Kaggle Bike Sharing Demand, as kept by the paper's authors, https://github.com/iancovert/sage",
    licence="CC BY 4.0 (UCI Bike Sharing, from which it is made); Kaggle has terms of its own",
    citation="H. Fanaee-T, J. Gama: Event labeling combining ensemble detectors and background knowledge. Progress in "
    "Artificial Intelligence 2 (2013).",
    notes=("Only the first 19 days of each month are in it: the competition kept the others for its test.",),
)
