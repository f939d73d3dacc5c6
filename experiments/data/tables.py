"""The paper's tables, each with its public files and its reader.

A table is read from a tidy file, ``bike.parquet``, or from its files as they are published; both give the same frames.
Columns have the names of the paper's figures, categories are of dtype category, and all other columns are numbers.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import NamedTuple

import numpy as np
import pandas as pd

from clarysage.errors import ClarysageError, FormatError
from experiments.data.files import PublishedFile, in_data_directory, missing_file, path_of

AUTHORS = "https://raw.githubusercontent.com/iancovert/"
SAGE = AUTHORS + "sage/0e34e6c7e2a6b1666e39043e83b9929e68ee68f3/data/"
REMOVAL_EXPLANATIONS = AUTHORS + "removal-explanations/6c342c0e88b159485a72eabdef8331810db297c1/data/"
MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist/"


class PaperTable(NamedTuple):
    """Features, target, and a frame of columns that are neither, such as the patient of each row."""

    X: pd.DataFrame
    y: pd.Series
    beside: pd.DataFrame


@dataclass(frozen=True)
class TableSource:
    """Where a table is, and how it is read.

    Attributes
    ----------
    tidy_sha256 : of NAME.parquet, which holds the tidy table
    arrange : function from the tidy table to features, target, and other columns
    files : the published files; none where the table is not published
    read : function from the contents of these files to the tidy table
    """

    tidy_sha256: str
    arrange: Callable[[pd.DataFrame], PaperTable]
    files: tuple[PublishedFile, ...] = ()
    read: Callable[[Sequence[bytes]], pd.DataFrame] | None = None


def load(name: str) -> PaperTable:
    """Loads a table: "bank", "bike", "credit", "brca", "brca50" or "mnist"."""
    source = SOURCES[name]
    tidy = in_data_directory(f"{name}.parquet", source.tidy_sha256)
    if tidy is not None:
        with _as_format_error(name, str(tidy)):
            return source.arrange(pd.read_parquet(tidy))
    if source.read is None:
        raise missing_file(f"{name}.parquet", "is not published", "If you have it")
    paths = [path_of(file, name) for file in source.files]
    with _as_format_error(name, ", ".join(map(str, paths))):
        return source.arrange(source.read([path.read_bytes() for path in paths]))


@contextmanager
def _as_format_error(name: str, origin: str) -> Iterator[None]:
    """Turns any error while files are read into an error about these files."""
    try:
        yield
    except (ClarysageError, ImportError, Warning):
        raise
    except Exception as error:
        raise FormatError(
            name, got=f"{origin}, which cannot be read ({error})", wanted="the table as it is published"
        ) from error


# ------------------------------------------------------------------------------------------------------- Bank Marketing

BANK_NAMES = {  # columns as published -> the paper's names of them
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
BANK_CATEGORIES = {
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


def read_bank(contents: Sequence[bytes]) -> pd.DataFrame:
    return read_cells(contents[0], ";")


def arrange_bank(table: pd.DataFrame) -> PaperTable:
    check_columns(table, [*BANK_NAMES, "y"])
    columns = {
        name: category(table[column], BANK_CATEGORIES[column])
        if column in BANK_CATEGORIES
        else table[column].astype("int64")
        for column, name in BANK_NAMES.items()
    }
    return PaperTable(pd.DataFrame(columns), category(table["y"], ["no", "yes"]).rename("Success"), table[[]])


# ---------------------------------------------------------------------------------------------------------- Bike Demand

CLOCK = ("Year", "Month", "Day", "Hour")
BIKE_INTEGERS = ("Season", "Holiday", "Workingday", "Weather", "Humidity", "Casual", "Registered", "Count")
BIKE_FLOATS = ("Temp", "Atemp", "Windspeed")
BIKE_FEATURES = (*CLOCK, "Season", "Holiday", "Workingday", "Weather", "Temp", "Atemp", "Humidity", "Windspeed")


def read_bike(contents: Sequence[bytes]) -> pd.DataFrame:
    """Reads the table and splits its time stamps, such as "2011-01-01 05:00:00", into columns."""
    table = read_cells(contents[0], ",").rename(columns=str.title)
    check_columns(table, ["Datetime"])
    clock = table["Datetime"].str.extract(r"^(\d{4})-(\d\d)-(\d\d) (\d\d):")
    return table.drop(columns="Datetime").assign(**{name: clock[i] for i, name in enumerate(CLOCK)})


def arrange_bike(table: pd.DataFrame) -> PaperTable:
    """Sets the two parts of Count, which is the target, beside the features."""
    check_columns(table, [*BIKE_FEATURES, "Casual", "Registered", "Count"])
    table = table.astype({**dict.fromkeys((*CLOCK, *BIKE_INTEGERS), "int64"), **dict.fromkeys(BIKE_FLOATS, "float64")})
    return PaperTable(table[list(BIKE_FEATURES)], table["Count"], table[["Casual", "Registered"]])


# ------------------------------------------------------------------------------------------------- South German Credit

CREDIT_NAMES = {  # columns as published -> the paper's names of them
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
CREDIT_CODES = {
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


def read_credit(contents: Sequence[bytes]) -> pd.DataFrame:
    return read_cells(contents[0], " ").rename(columns=CREDIT_NAMES)


def arrange_credit(table: pd.DataFrame) -> PaperTable:
    """Makes categories of the codes, and of the credit amount, which is one with 923 values in the paper's model."""
    check_columns(table, CREDIT_NAMES.values())
    table = table[list(CREDIT_NAMES.values())].astype("int64")
    categories = {name: category(table[name], codes) for name, codes in CREDIT_CODES.items()}
    X = table.drop(columns="Good Customer").assign(**categories).astype({"Credit Amount": "category"})
    return PaperTable(X, table["Good Customer"], table[[]])


# ----------------------------------------------------------------------------------------------------------------- BRCA

SUBTYPES = ("Basal", "Her2", "LumA", "LumB")  # 0 to 3 in the published file


def read_brca(contents: Sequence[bytes]) -> pd.DataFrame:
    table = read_cells(contents[0], ",").rename(columns={"Sample.ID": "patient", "BRCA_Subtype_PAM50": "subtype"})
    check_columns(table, ["patient", "subtype"])
    return table.assign(subtype=table["subtype"].replace({str(code): name for code, name in enumerate(SUBTYPES)}))


def arrange_brca(table: pd.DataFrame) -> PaperTable:
    """Sets patients beside the features, and tissues, which only the tidy files have."""
    check_columns(table, ["patient", "subtype"])
    beside = table[[name for name in ("patient", "tissue") if name in table.columns]]
    genes = table.drop(columns=[*beside, "subtype"]).astype("float64")
    if "tissue" in beside:
        beside = beside.assign(tissue=category(beside["tissue"], ["tumour", "normal"]))
    return PaperTable(genes, category(table["subtype"], SUBTYPES), beside)


# ---------------------------------------------------------------------------------------------------------------- MNIST

PIXELS = [f"p{pixel}" for pixel in range(28 * 28)]
SPLITS = ("train", "test")
UNSIGNED_BYTES = 8  # the code of the format for cells of one byte


def read_mnist(contents: Sequence[bytes]) -> pd.DataFrame:
    train, train_labels, test, test_labels = (read_idx(gzip.decompress(content)) for content in contents)
    for images, labels in ((train, train_labels), (test, test_labels)):
        if images.shape != (len(labels), 28, 28) or labels.ndim != 1:
            raise ValueError(f"images of shape {images.shape} and labels of shape {labels.shape}")
    table = pd.DataFrame(np.concatenate([train, test]).reshape(-1, len(PIXELS)), columns=PIXELS)
    label = pd.Series(np.concatenate([train_labels, test_labels]), name="label")
    split = pd.Series(np.repeat(SPLITS, [len(train), len(test)]), name="split")
    return pd.concat([table, label, split], axis=1)


def read_idx(content: bytes) -> np.ndarray:
    """Reads an array of bytes in LeCun's idx format: two zeros, the type of cells, the number of axes, their lengths.

    Examples
    --------
    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
    array([7, 8, 9], dtype=uint8)
    """
    if len(content) < 4 or content[:3] != bytes([0, 0, UNSIGNED_BYTES]):
        raise ValueError("it does not begin like an idx file of bytes")
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise ValueError("it ends before its first cell")
    shape = tuple(int(length) for length in np.frombuffer(content, ">u4", offset=4, count=content[3]))
    if len(content) - start != math.prod(shape):
        raise ValueError(f"{len(content) - start:,} cells where it announces {math.prod(shape):,}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def arrange_mnist(table: pd.DataFrame) -> PaperTable:
    """Sets beside the pixels, which are from 0 to 255, whether a row is "train" or "test"."""
    check_columns(table, [*PIXELS, "label", "split"])
    beside = table[["split"]].assign(split=category(table["split"], SPLITS))
    return PaperTable(table[PIXELS].astype("uint8"), table["label"].astype("int64"), beside)


# ----------------------------------------------------------------------------------------- columns, and all the sources


def read_cells(content: bytes, separator: str) -> pd.DataFrame:
    """Reads a file of separated cells as a frame of text, so that numbers are parsed as exactly as Python does."""
    return pd.read_csv(BytesIO(content), sep=separator, dtype=str, keep_default_na=False)


def check_columns(table: pd.DataFrame, names: Iterable[str]) -> None:
    """Raises an error unless the table has the columns."""
    absent = [name for name in names if name not in table.columns]
    if absent:
        raise ValueError(f"it has no column {absent[0]!r}")


def category(column: pd.Series, categories: Iterable[object]) -> pd.Series:
    """Converts a column to categories in the order given, also those that do not occur.

    Examples
    --------
    >>> list(category(pd.Series(["feb", "jan"], name="month"), ["jan", "feb", "mar"]).cat.codes)
    [1, 0]
    """
    kind = pd.CategoricalDtype(list(categories))
    unknown = [cell for cell in column.unique().tolist() if cell not in kind.categories]
    if unknown:
        raise ValueError(f"column {column.name!r} has a cell {unknown[0]!r}")
    return column.astype(kind)


SOURCES = {
    "bank": TableSource(
        "536a643b78ef98f2c7c95286a0d85c45fce6a2b223d6fde9996b054eb1c57827",
        arrange_bank,
        (PublishedFile(SAGE + "bank-full.csv", "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d"),),
        read_bank,
    ),
    "bike": TableSource(
        "10cf8bc820e1e8de1ab261cc62a8597430e56a0aa4ec7047c2c7fd399eb10371",
        arrange_bike,
        (PublishedFile(SAGE + "bike.csv", "0cf70c35eeb6405a40cc9e124854e2da901fa88fe7374a75d141e7401bf4c857"),),
        read_bike,
    ),
    "credit": TableSource(
        "06d0f185aee2ad0ce78c9407212792f99aa18c300be579a77929ee6fc79e05e5",
        arrange_credit,
        (
            PublishedFile(
                SAGE + "SouthGermanCredit.asc", "5f363343f356ca38a0236baab849e472846399b2176ccc5bd686483dd8a7562f"
            ),
        ),
        read_credit,
    ),
    "brca": TableSource(
        "c85cee0ddc5cb1c6b7bd87ab0e77557dd6b580616116e807a908fada1b1b211b",
        arrange_brca,
        (
            PublishedFile(  # the sum is of a file rebuilt from its values, with this one's size, beginning and end
                REMOVAL_EXPLANATIONS + "brca_small.csv",
                "6b56f6729bafb640a72439f5d558ac03f4e07a5c9cca4aab689a0a8e3500609f",
            ),
        ),
        read_brca,
    ),
    "brca50": TableSource("ded81f9d6452c60cc4f3dcb569a235e3b731216825cd3529eb306e5860927790", arrange_brca),
    "mnist": TableSource(
        "61cb187b139319c3a4a9dcd7a6d9ae6ba78fd03ccbed2b15314b1602e8ced67e",
        arrange_mnist,
        (
            PublishedFile(
                MNIST + "train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
            ),
            PublishedFile(
                MNIST + "train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"
            ),
            PublishedFile(
                MNIST + "t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"
            ),
            PublishedFile(
                MNIST + "t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"
            ),
        ),
        read_mnist,
    ),
}
