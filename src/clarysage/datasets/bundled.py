"""Datasets that come with scikit-learn, and so need neither files nor a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clarysage.datasets.dataset import Dataset, DatasetRow, TableParts, no_columns
from clarysage.datasets.loading import load_row

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
LICENCE = "CC BY 4.0"


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
    return load_row(DIABETES)


def breast_cancer() -> Dataset:
    """Breast Cancer Wisconsin (Wolberg, Street and Mangasarian 1993): 569 tumours, 30 shapes of cells; 1 is benign.

    Not the genes of :func:`brca`.

    Returns
    -------
    Dataset, with features ``X``, target ``y``, and what is known about them

    Examples
    --------
    >>> breast_cancer().X.shape
    (569, 30)
    """
    return load_row(BREAST_CANCER)


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
    return load_row(WINE)


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
    return load_row(DIGITS)


def _loader(name: str, **options: Any) -> Callable[[Sequence[bytes]], Any]:
    """Returns a function that calls scikit-learn's for a frame of features and target."""

    def read(contents: Sequence[bytes]) -> Any:
        from sklearn import datasets

        return getattr(datasets, name)(as_frame=True, **options).frame

    return read


def _arranger(target: str, names: dict[str, str]) -> Callable[[Any], TableParts]:
    def arrange(table: Any) -> TableParts:
        X = table.drop(columns="target").rename(columns=names)
        return TableParts(X, table["target"].rename(target), no_columns(table))

    return arrange


DIABETES = DatasetRow(
    name="diabetes",
    about="diabetes patients: how far does the disease progress?",
    task="regression",
    rows=442,
    features=10,
    read=_loader("load_diabetes", scaled=False),
    arrange=_arranger("progression", MEASURED),
    source="Least Angle Regression's example, as it comes with scikit-learn",
    licence="none stated",
    citation="B. Efron, T. Hastie, I. Johnstone, R. Tibshirani: Least angle regression. Annals of Statistics 32 "
    "(2004).",
    notes=("Sex is 1 or 2; the source does not say which is which.",),
)

BREAST_CANCER = DatasetRow(
    name="breast_cancer",
    about="tumours under the microscope: benign?",
    task="classification",
    rows=569,
    features=30,
    read=_loader("load_breast_cancer"),
    arrange=_arranger("benign", {}),
    source="UCI Breast Cancer Wisconsin (Diagnostic), as it comes with scikit-learn",
    licence=LICENCE,
    citation="W. Street, W. Wolberg, O. Mangasarian: Nuclear feature extraction for breast tumor diagnosis. SPIE 1905 "
    "(1993).",
    notes=("1 is benign, 0 is malignant.",),
)

WINE = DatasetRow(
    name="wine",
    about="wines by their chemistry: which cultivar?",
    task="classification",
    rows=178,
    features=13,
    read=_loader("load_wine"),
    arrange=_arranger("cultivar", {}),
    source="UCI Wine, as it comes with scikit-learn",
    licence=LICENCE,
    citation="S. Aeberhard, M. Forina: Wine. UCI Machine Learning Repository (1991).",
)

DIGITS = DatasetRow(
    name="digits",
    about="handwritten digits, small: which one?",
    task="classification",
    rows=1_797,
    features=64,
    read=_loader("load_digits"),
    arrange=_arranger("digit", {}),
    source="UCI Optical Recognition of Handwritten Digits, as it comes with scikit-learn",
    licence=LICENCE,
    citation="E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits. UCI Machine Learning Repository "
    "(1998).",
    notes=("Pixels are whole numbers from 0 to 16.",),
)
