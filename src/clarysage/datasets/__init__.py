"""Datasets of the paper's experiments, and some that come with scikit-learn; ``listed`` shows all of them.

None is part of clarysage: files are found in a data directory or in the user's cache, or downloaded from where they are
published.
"""

from clarysage.datasets.bank import bank
from clarysage.datasets.bike import bike
from clarysage.datasets.brca import brca, brca50
from clarysage.datasets.bundled import breast_cancer, diabetes, digits, wine
from clarysage.datasets.credit import credit
from clarysage.datasets.dataset import Address, Dataset, DatasetRow, PublicFile, TableParts
from clarysage.datasets.mnist import mnist
from clarysage.datasets.table import listed, load

__all__ = [
    "Address",
    "Dataset",
    "DatasetRow",
    "PublicFile",
    "TableParts",
    "bank",
    "bike",
    "brca",
    "brca50",
    "breast_cancer",
    "credit",
    "diabetes",
    "digits",
    "listed",
    "load",
    "mnist",
    "wine",
]
