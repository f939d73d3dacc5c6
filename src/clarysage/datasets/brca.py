"""Breast cancer (TCGA): which subtype does a tumour have, given the expression of its genes?

Near copies of the paper's table, which is not published: the same study and the same source of labels, other genes.
"""

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
    floats,
    read_cells,
)
from clarysage.datasets.loading import load_row

SUBTYPES = ("Basal", "Her2", "LumA", "LumB")  # 0 to 3 in the published file
BESIDE = ("patient", "tissue")
TARGET = "subtype"

ROWS = 572
SOURCE = "TCGA breast cancer arrays, https://github.com/iancovert/removal-explanations (data/brca_small.csv)"
LICENCE = "TCGA open access: no restriction on use, cite TCGA"
CITATION = (
    "The Cancer Genome Atlas Network: Comprehensive molecular portraits of human breast tumours. Nature 490 (2012); "
    "labels: A. Berger et al.: A comprehensive pan-cancer molecular study of gynecologic and breast cancers. Cancer "
    "Cell 33 (2018)."
)
SPLIT_BY_PATIENT = "510 patients, 62 of them twice: split by beside['patient'], not by row."
NORMAL_TISSUE = "60 rows are of normal tissue and have the subtype of the patient's tumour."
WHERE_TISSUE = "beside['tissue'] says which those are; the published file does not, and gives no such column."


def brca(*, directory: str | os.PathLike[str] | None = None, download: bool = True) -> Dataset:
    """Breast cancer gene expression (TCGA): 572 samples, 100 genes, four subtypes; a near copy of the paper's table.

    The paper has 556 samples and 50 genes. None of its genes is among these, which the same authors published with a
    later paper; :func:`brca50` has nine of them. The target is "subtype"; ``beside`` has "patient", and, where the
    tidy file is read, "tissue".

    Parameters
    ----------
    directory : folder that holds brca_small.csv or brca.parquet; by default the one that the environment variable
        CLARYSAGE_DATA names. If it is not there, the user's cache is searched
    download : whether a missing file may be downloaded, into the cache

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    The number of rows and features is known without the file:
    >>> from clarysage.datasets import listed
    >>> listed().loc["brca", ["rows", "features"]].tolist()
    [572, 100]
    """
    return load_row(BRCA, directory=directory, download=download)


def brca50(*, directory: str | os.PathLike[str] | None = None) -> Dataset:
    """Samples of :func:`brca` with 50 genes, nine of them the paper's: the nearest available data to its table.

    The nine are IGF1R, CCND1, CDK6, BRCA1, BRCA2, EZH2, EIF5B, LFNG and RPS6KA5; the others replace genes that the
    paper drew at random. This table is not published: it is read from brca50.parquet in a data directory.

    Parameters
    ----------
    directory : folder that holds brca50.parquet; by default the one that the environment variable CLARYSAGE_DATA names

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    The number of rows and features is known without the file:
    >>> from clarysage.datasets import listed
    >>> listed().loc["brca50", ["rows", "features"]].tolist()
    [572, 50]
    """
    return load_row(BRCA50, directory=directory)


def read(contents: Sequence[bytes]) -> Any:
    table = read_cells(contents[0], ",").rename(columns={"Sample.ID": "patient", "BRCA_Subtype_PAM50": TARGET})
    check_columns(table, ["patient", TARGET])
    return table.assign(subtype=table[TARGET].replace({str(code): name for code, name in enumerate(SUBTYPES)}))


def arrange(table: Any) -> TableParts:
    check_columns(table, ["patient", TARGET])
    beside = [name for name in BESIDE if name in table.columns]
    genes = table.drop(columns=[*beside, TARGET]).apply(floats)
    tissues = {"tissue": category(table["tissue"], ["tumour", "normal"])} if "tissue" in beside else {}
    return TableParts(genes, category(table[TARGET], SUBTYPES), table[beside].assign(**tissues))


BRCA = DatasetRow(
    name="brca",
    about="breast cancer samples: which subtype? Not the paper's genes",
    task="classification",
    rows=ROWS,
    features=100,
    read=read,
    arrange=arrange,
    files=(
        PublicFile(
            # checksum of a file rebuilt from its values, which has the published one's size, beginning and end
            "brca_small.csv",
            643_696,
            "6b56f6729bafb640a72439f5d558ac03f4e07a5c9cca4aab689a0a8e3500609f",
            (
                Address(
                    "https://raw.githubusercontent.com/iancovert/removal-explanations/"
                    "6c342c0e88b159485a72eabdef8331810db297c1/data/brca_small.csv"
                ),
            ),
        ),
    ),
    tidy_sha256="c85cee0ddc5cb1c6b7bd87ab0e77557dd6b580616116e807a908fada1b1b211b",
    source=SOURCE,
    licence=LICENCE,
    citation=CITATION,
    notes=(
        "A near copy of the paper's table: 572 samples and 100 genes where it has 556 and 50, none of them the same.",
        SPLIT_BY_PATIENT,
        NORMAL_TISSUE,
        WHERE_TISSUE,
    ),
)

BRCA50 = DatasetRow(
    name="brca50",
    about="breast cancer samples: which subtype? Nine of the paper's 50 genes",
    task="classification",
    rows=ROWS,
    features=50,
    read=None,
    arrange=arrange,
    tidy_sha256="ded81f9d6452c60cc4f3dcb569a235e3b731216825cd3529eb306e5860927790",
    source=SOURCE + ", nine genes from https://github.com/MartinFXP/DawnRank",
    licence=LICENCE,
    citation=CITATION,
    notes=(
        "A near copy of the paper's table: nine of its 50 genes (IGF1R, CCND1, CDK6, BRCA1, BRCA2, EZH2, EIF5B, LFNG, "
        "RPS6KA5), 41 others, and 572 samples where it has 556.",
        SPLIT_BY_PATIENT,
        NORMAL_TISSUE,
    ),
)
