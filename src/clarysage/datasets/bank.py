"""Bank marketing: does a client who is called take out a term deposit?"""

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
    category,
    check_columns,
    integers,
    no_columns,
    read_cells,
)
from clarysage.datasets.loading import load_row

# columns as published -> the paper's names of them
NAMES = {
    "age": "Age",
    "job": "Job",
    "marital": "Marital",
    "education": "Education",
    "default": "Default",
    "balance": "Balance",
    "housing": "Housing",
    "loan": "Loan",
    "contact": "Contact",
    "day": "Day",
    "month": "Month",
    "duration": "Duration",
    "campaign": "Campaign",
    "pdays": "Prev Days",
    "previous": "Prev Contacts",
    "poutcome": "Prev Outcome",
}
CATEGORIES = {
    "job": [
        "admin.",
        "blue-collar",
        "entrepreneur",
        "housemaid",
        "management",
        "retired",
        "self-employed",
        "services",
        "student",
        "technician",
        "unemployed",
        "unknown",
    ],
    "marital": ["single", "married", "divorced"],
    "education": ["primary", "secondary", "tertiary", "unknown"],
    "default": ["no", "yes"],
    "housing": ["no", "yes"],
    "loan": ["no", "yes"],
    "contact": ["cellular", "telephone", "unknown"],
    "month": ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    "poutcome": ["failure", "other", "success", "unknown"],
}


def bank(*, directory: str | os.PathLike[str] | None = None, download: bool = True) -> Dataset:
    """Bank marketing (Moro, Cortez and Rita 2014): 45,211 calls, 16 features, nine of them categories.

    The target is "Success", "yes" or "no". Columns have the paper's names: "Prev Days", "Prev Contacts" and "Prev
    Outcome" are published as pdays, previous and poutcome, the others differ only in a capital letter. Months are in
    calendar order.

    Parameters
    ----------
    directory : folder that holds bank-full.csv, a zip archive of it from its public address, or bank.parquet; by
        default the one that the environment variable CLARYSAGE_DATA names. If it is not there, the user's cache is
        searched
    download : whether a missing file may be downloaded, into the cache

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    The number of rows and features is known without the file:
    >>> from clarysage.datasets import listed
    >>> listed().loc["bank", ["rows", "features"]].tolist()
    [45211, 16]
    """
    return load_row(BANK, directory=directory, download=download)


def read(contents: Sequence[bytes]) -> Any:
    return read_cells(contents[0], ";")


def arrange(table: Any) -> TableParts:
    import pandas as pd

    check_columns(table, [*NAMES, "y"])
    columns = {
        name: category(table[column], CATEGORIES[column]) if column in CATEGORIES else integers(table[column])
        for column, name in NAMES.items()
    }
    return TableParts(pd.DataFrame(columns), category(table["y"], ["no", "yes"]).rename("Success"), no_columns(table))


BANK = DatasetRow(
    name="bank",
    about="calls of a bank: is a term deposit taken out?",
    task="classification",
    rows=45_211,
    features=16,
    read=read,
    arrange=arrange,
    files=(
        PublicFile(
            "bank-full.csv",
            4_610_348,
            "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d",
            (
                Address(
                    "https://archive.ics.uci.edu/static/public/222/bank+marketing.zip", ("bank.zip", "bank-full.csv")
                ),
                Address(
                    "https://raw.githubusercontent.com/iancovert/sage/0e34e6c7e2a6b1666e39043e83b9929e68ee68f3"
                    "/data/bank-full.csv"
                ),
            ),
        ),
    ),
    tidy_sha256="536a643b78ef98f2c7c95286a0d85c45fce6a2b223d6fde9996b054eb1c57827",
    source="UCI Bank Marketing, https://archive.ics.uci.edu/dataset/222/bank+marketing",
    licence="CC BY 4.0",
    citation="S. Moro, P. Cortez, P. Rita: A data-driven approach to predict the success of bank telemarketing. "
    "Decision Support Systems 62 (2014).",
    notes=(
        "Duration, the length of the call in seconds, is known only once the call is over.",
        "Prev Days is -1 where there was no earlier call.",
        "Rows are in the order of time, from May 2008 on.",
    ),
)
