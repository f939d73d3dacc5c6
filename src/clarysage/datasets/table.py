"""The datasets by name, one row each. A new one is a file of this room, and its row in this table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clarysage.datasets import loading
from clarysage.datasets.bank import BANK
from clarysage.datasets.bike import BIKE
from clarysage.datasets.brca import BRCA, BRCA50
from clarysage.datasets.bundled import BREAST_CANCER, DIABETES, DIGITS, WINE
from clarysage.datasets.credit import CREDIT
from clarysage.datasets.dataset import Dataset
from clarysage.datasets.mnist import MNIST
from clarysage.datasets.places import Places
from clarysage.datasets.row import DatasetRow
from clarysage.registry import Registry

if TYPE_CHECKING:
    import pandas as pd

DATASETS: Registry[DatasetRow] = Registry(
    "name",
    (BANK, BIKE, CREDIT, BRCA, BRCA50, MNIST, DIABETES, BREAST_CANCER, WINE, DIGITS),
    entry_points="clarysage.datasets",
)


def load(name: str | DatasetRow, *, directory: str | os.PathLike[str] | None = None, download: bool = True) -> Dataset:
    """A dataset by its name, or by a row of one's own.

    Parameters
    ----------
    directory : folder that holds its files; by default the one that the environment variable CLARYSAGE_DATA names.
        Files that are not there are looked for in the user's cache
    download : whether files that are found nowhere may be fetched, into the cache

    Examples
    --------
    >>> load("breast cancer").X.shape
    (569, 30)
    """
    row = name if isinstance(name, DatasetRow) else DATASETS.get_row(name)
    return loading.load(row, directory=directory, download=download)


def listed(*, directory: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """The datasets as a pandas frame: what they are about, how large, under which licence, and where they would come
    from now.

    Examples
    --------
    >>> listed().loc["wine"].to_dict()["rows"]
    178
    """
    import pandas as pd

    places = Places.of(directory, download=False)
    facts = [
        {
            "name": row.name,
            "about": row.about,
            "task": row.task,
            "rows": row.rows,
            "features": row.features,
            "licence": row.licence,
            "from": places.where(row),
        }
        for row in DATASETS.values()
    ]
    return pd.DataFrame(facts).set_index("name")
