"""Tables to try things on, which come with scikit-learn; ``load`` loads one by its name and ``listed`` lists them.

A table of another package is a :class:`DatasetRow`, registered by the entry point ``clarysage.datasets``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clarysage.registry import Registry

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset", "DatasetRow", "breast_cancer", "diabetes", "digits", "listed", "load", "wine"]

# scikit-learn's names of the columns of diabetes -> the measurement
MEASURED = {
    "age": "age",
    "sex": "sex",
    "bmi": "body mass index",
    "bp": "blood pressure",
    "s1": "total cholesterol",
    "s2": "LDL cholesterol",
    "s3": "HDL cholesterol",
    "s4": "cholesterol ratio",
    "s5": "log triglycerides",
    "s6": "blood sugar",
}
LICENCE_OF_UCI = "CC BY 4.0"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features and target, row by row, and their source; ``X, y = dataset`` unpacks the two.

    Attributes
    ----------
    name : the name by which it is loaded
    X : pandas frame of the features
    y : pandas Series of the target
    source : who published it and where, in words and an address
    licence : what its publisher states
    citation : what to cite
    notes : what to know before using it

    Examples
    --------
    >>> import clarysage as cs
    >>> wine = cs.datasets.wine()
    >>> wine
    wine: 178 rows, 13 features, target 'cultivar'; UCI Wine, as it comes with scikit-learn
    >>> X, y = wine
    """

    name: str
    X: Any
    y: Any
    source: str
    licence: str
    citation: str
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return f"{self.name}: {rows:,} rows, {columns} features, target {self.y.name!r}; {self.source}"


@dataclass(frozen=True)
class DatasetRow:
    """A row of the table of datasets.

    Attributes
    ----------
    name : the name by which it is loaded
    about : what a row is, and the question that the target answers
    task : "regression" or "classification"
    loader : function without arguments that returns the dataset
    aliases : other names by which it is loaded
    """

    name: str
    about: str
    task: str
    loader: Callable[[], Dataset]
    aliases: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """One line of help."""
        return self.about


def load(name: str) -> Dataset:
    """Loads a dataset by its name.

    Parameters
    ----------
    name : the name of a dataset

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    >>> load("breast cancer").X.shape
    (569, 30)
    """
    return DATASETS.get_row(name).loader()


def listed() -> pd.DataFrame:
    """Lists the datasets in a pandas frame, with the question of each and its task.

    Returns
    -------
    data frame, with a row for each dataset

    Examples
    --------
    >>> listed().loc["wine"].to_dict()
    {'about': 'wines by their chemistry: which cultivar?', 'task': 'classification'}
    """
    import pandas as pd

    rows = [{"name": row.name, "about": row.about, "task": row.task} for row in DATASETS.values()]
    return pd.DataFrame(rows).set_index("name")


def diabetes() -> Dataset:
    """Diabetes (Efron et al. 2004): progression of the disease of 442 patients in a year; ten measurements.

    Measurements are in their units, not scaled, and columns are named after them. ``clarysage demo`` uses this dataset.

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    >>> X, y = diabetes()
    >>> X.iloc[0].to_dict()["body mass index"]
    32.1
    """
    from sklearn.datasets import load_diabetes

    table = load_diabetes(as_frame=True, scaled=False)
    return Dataset(
        "diabetes",
        table.data.rename(columns=MEASURED),
        table.target.rename("progression"),
        source="Least Angle Regression's example, as it comes with scikit-learn",
        licence="none stated",
        citation="B. Efron, T. Hastie, I. Johnstone, R. Tibshirani: Least angle regression. Annals of Statistics 32 "
        "(2004).",
        notes=("Sex is 1 or 2; the source does not say which is which.",),
    )


def breast_cancer() -> Dataset:
    """Breast Cancer Wisconsin (Wolberg, Street and Mangasarian 1993): 569 tumours, 30 shapes of cells; 1 is benign.

    These are not the gene expressions that the paper calls BRCA.

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    >>> breast_cancer().X.shape
    (569, 30)
    """
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer(as_frame=True)
    return Dataset(
        "breast_cancer",
        table.data,
        table.target.rename("benign"),
        source="UCI Breast Cancer Wisconsin (Diagnostic), as it comes with scikit-learn",
        licence=LICENCE_OF_UCI,
        citation="W. Street, W. Wolberg, O. Mangasarian: Nuclear feature extraction for breast tumor diagnosis. SPIE "
        "1905 (1993).",
        notes=("1 is benign, 0 is malignant.",),
    )


def wine() -> Dataset:
    """Wine (Aeberhard and Forina 1991): 178 wines, 13 chemical measurements, three cultivars.

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    >>> wine().X.shape
    (178, 13)
    """
    from sklearn.datasets import load_wine

    table = load_wine(as_frame=True)
    return Dataset(
        "wine",
        table.data,
        table.target.rename("cultivar"),
        source="UCI Wine, as it comes with scikit-learn",
        licence=LICENCE_OF_UCI,
        citation="S. Aeberhard, M. Forina: Wine. UCI Machine Learning Repository (1991).",
    )


def digits() -> Dataset:
    """Handwritten digits (Alpaydin and Kaynak 1998): 1,797 images of 8 x 8 pixels from 0 to 16; MNIST in small.

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    >>> digits().X.shape
    (1797, 64)
    """
    from sklearn.datasets import load_digits

    table = load_digits(as_frame=True)
    return Dataset(
        "digits",
        table.data,
        table.target.rename("digit"),
        source="UCI Optical Recognition of Handwritten Digits, as it comes with scikit-learn",
        licence=LICENCE_OF_UCI,
        citation="E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits. UCI Machine Learning Repository "
        "(1998).",
        notes=("Pixels are whole numbers from 0 to 16.",),
    )


DATASETS: Registry[DatasetRow] = Registry(
    "name",
    (
        DatasetRow("diabetes", "diabetes patients: how far does the disease progress?", "regression", diabetes),
        DatasetRow("breast_cancer", "tumours under the microscope: benign?", "classification", breast_cancer),
        DatasetRow("wine", "wines by their chemistry: which cultivar?", "classification", wine),
        DatasetRow("digits", "handwritten digits, small: which one?", "classification", digits),
    ),
    entry_points="clarysage.datasets",
)
