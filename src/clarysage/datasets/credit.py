"""South German Credit: is a loan paid back as agreed?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
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
    "laufkont": "Checking Status",
    "laufzeit": "Duration",
    "moral": "Credit History",
    "verw": "Purpose",
    "hoehe": "Credit Amount",
    "sparkont": "Savings Account/Bonds",
    "beszeit": "Employment Since",
    "rate": "Installment Rate",
    "famges": "Personal Status",
    "buerge": "Debtors/Guarantors",
    "wohnzeit": "Residence Duration",
    "verm": "Property Type",
    "alter": "Age",
    "weitkred": "Other Installment Plans",
    "wohn": "Housing Ownership",
    "bishkred": "Number Existing Credits",
    "beruf": "Job",
    "pers": "Number Liable",
    "telef": "Telephone",
    "gastarb": "Foreign Worker",
    "kredit": "Good Customer",
}
TARGET = "Good Customer"
AMOUNT = "Credit Amount"
CODES = {
    "Checking Status": range(1, 5),
    "Credit History": range(5),
    "Purpose": range(11),
    "Savings Account/Bonds": range(1, 6),
    "Employment Since": range(1, 6),
    "Personal Status": range(1, 5),
    "Debtors/Guarantors": range(1, 4),
    "Property Type": range(1, 5),
    "Other Installment Plans": range(1, 4),
    "Housing Ownership": range(1, 4),
    "Job": range(1, 5),
    "Telephone": range(1, 3),
    "Foreign Worker": range(1, 3),
}


def credit(
    *, amount_as_category: bool = False, directory: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """South German Credit (Groemping 2019): 1,000 loans, 20 features, thirteen of them coded categories.

    The target is "Good Customer", 1 (paid back as agreed) or 0. This is the Statlog German credit data with corrected
    codes; categories are the codes of the published code table.

    Parameters
    ----------
    amount_as_category : whether the credit amount is a category with 923 values, as in the paper's model, instead of a
        number
    directory : folder that holds SouthGermanCredit.asc, a zip archive of it from its public address, or
        credit.parquet; by default the one that the environment variable CLARYSAGE_DATA names. If it is not there, the
        user's cache is searched
    download : whether a missing file may be downloaded, into the cache

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    The number of rows and features is known without the file:
    >>> from clarysage.datasets import listed
    >>> listed().loc["credit", ["rows", "features"]].tolist()
    [1000, 20]
    """
    dataset = load_row(CREDIT, directory=directory, download=download)
    return replace(dataset, X=dataset.X.astype({AMOUNT: "category"})) if amount_as_category else dataset


def read(contents: Sequence[bytes]) -> Any:
    return read_cells(contents[0], " ").rename(columns=NAMES)


def arrange(table: Any) -> TableParts:
    check_columns(table, NAMES.values())
    table = table[list(NAMES.values())].apply(integers)
    X = table.drop(columns=TARGET).assign(**{name: category(table[name], codes) for name, codes in CODES.items()})
    return TableParts(X, table[TARGET], no_columns(table))


CREDIT = DatasetRow(
    name="credit",
    about="loans of a bank: is it paid back as agreed?",
    task="classification",
    rows=1_000,
    features=20,
    read=read,
    arrange=arrange,
    files=(
        PublicFile(
            "SouthGermanCredit.asc",
            47_940,
            "5f363343f356ca38a0236baab849e472846399b2176ccc5bd686483dd8a7562f",
            (
                Address(
                    "https://archive.ics.uci.edu/static/public/573/south+german+credit+update.zip",
                    ("SouthGermanCredit.asc",),
                ),
                Address(
                    "https://raw.githubusercontent.com/iancovert/sage/0e34e6c7e2a6b1666e39043e83b9929e68ee68f3"
                    "/data/SouthGermanCredit.asc"
                ),
            ),
        ),
    ),
    tidy_sha256="06d0f185aee2ad0ce78c9407212792f99aa18c300be579a77929ee6fc79e05e5",
    source="UCI South German Credit, https://archive.ics.uci.edu/dataset/573/south+german+credit+update",
    licence="CC BY 4.0",
    citation="U. Groemping: South German Credit Data: Correcting a Widely Used Data Set. Report 4/2019, Beuth "
    "University of Applied Sciences Berlin.",
    notes=(
        "Bad loans are oversampled: 300 of 1,000.",
        "No loan has the code 7 of Purpose.",
        "The paper's model took Credit Amount as a category: amount_as_category=True.",
    ),
)
