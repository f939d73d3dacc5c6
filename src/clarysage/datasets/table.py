"""The table of datasets by name, one row each: a new dataset is a file of this folder, and a row of this table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clarysage.datasets.bank import BANK
from clarysage.datasets.bike import BIKE
from clarysage.datasets.brca import BRCA, BRCA50
from clarysage.datasets.bundled import BREAST_CANCER, DIABETES, DIGITS, WINE
from clarysage.datasets.credit import CREDIT
from clarysage.datasets.dataset import Dataset, DatasetRow
from clarysage.datasets.loading import FileSearch, load_row
from clarysage.datasets.mnist import MNIST
from clarysage.registry import Registry

if TYPE_CHECKING:
    import pandas as pd

DATASETS: Registry[DatasetRow] = Registry(
    "name",
    (BANK, BIKE, CREDIT, BRCA, BRCA50, MNIST, DIABETES, BREAST_CANCER, WINE, DIGITS),
    entry_points="clarysage.datasets",
)


def load(name: str | DatasetRow, *, directory: str | os.PathLike[str] | None = None, download: bool = True) -> Dataset:
    """Loads a dataset by its name, or by a row of your own.

    Parameters
    ----------
    name : the name of a dataset, or a row of your own
    directory : folder that holds its files; by default the one that the environment variable CLARYSAGE_DATA names.
        Files that are not there are searched in the user's cache
    download : whether missing files may be downloaded, into the cache

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    >>> load("breast cancer").X.shape
    (569, 30)
    """
    row = name if isinstance(name, DatasetRow) else DATASETS.get_row(name)
    return load_row(row, directory=directory, download=download)


def listed(*, directory: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Lists the datasets in a pandas frame: topic, size, licence, and where each would be read from now.

    Parameters
    ----------
    directory : folder that is searched; by default the one that the environment variable CLARYSAGE_DATA names

    Returns
    -------
    data frame, with a row for each dataset

    Examples
    --------
    >>> listed().loc["wine"].to_dict()["rows"]
    178
    """
    import pandas as pd

    search = FileSearch.of(directory, may_download=False)
    rows = [
        {
            "name": row.name,
            "about": row.about,
            "task": row.task,
            "rows": row.rows,
            "features": row.features,
            "licence": row.licence,
            "from": search.origin(row),
        }
        for row in DATASETS.values()
    ]
    return pd.DataFrame(rows).set_index("name")
