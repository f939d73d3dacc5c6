"""Design matrices and response columns of linear models: indicators of categories, mean imputation, scaling."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.errors import ClarysageError, InputError
from clarysage.losses import as_loss
from clarysage.losses.choice import is_auto, looks_like_two_classes
from clarysage.models import as_predictor
from clarysage.removal.normal_scores import ColumnFeatures
from clarysage.tables import Categories, Schema

MAX_CELLS = 200_000_000  # of a design matrix (1.6 GB)
ROUNDING = 16 * np.finfo(np.float64).eps  # relative standard deviation below which a column counts as constant


def numeric_codes(schema: Schema, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the codes (n, d) with columns of numeric objects as numbers, and which columns are numbers (d,)."""
    numbers, is_number = codes.copy(), schema.is_number.copy()
    for j, column in enumerate(schema.columns):
        if isinstance(column, Categories) and column.holds_numbers:
            category_values = column.backend.to_float(column.decode(np.arange(float(len(column.values)))))
            is_present = ~np.isnan(codes[:, j])
            numbers[is_present, j], is_number[j] = category_values[codes[is_present, j].astype(np.intp)], True
    is_infinite = np.isinf(numbers).any(axis=0) & is_number
    if is_infinite.any():
        name = schema.names[int(is_infinite.argmax())]
        raise InputError("X", got=f"infinite cells in column {name!r}", wanted="finite numbers, or missing ones")
    return numbers, is_number


def linear_design(codes: np.ndarray, is_number: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the design matrix (n, q) of a linear model, and the column (q,) of the table behind each of its columns.

    Numbers are standardised, so that a penalty treats them alike. Missing numbers are replaced by the mean, which is
    zero, and constant columns are zero. Each category has an indicator, and so have missing cells. Means and variances
    are weighted; rows of weight zero, such as test rows, do not change them.

    Examples
    --------
    >>> codes = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 1.0], [2.0, 0.0]])
    >>> matrix, owner = linear_design(codes, np.array([True, False]), np.full(4, 0.25))
    >>> owner
    array([0, 0, 1, 1])
    >>> matrix.round(2)
    array([[-1.22,  0.  ,  1.  ,  0.  ],
           [ 1.22,  0.  ,  0.  ,  1.  ],
           [ 0.  ,  1.  ,  0.  ,  1.  ],
           [ 0.  ,  0.  ,  1.  ,  0.  ]])
    """
    cells = codes.copy()
    for j in np.flatnonzero(is_number):
        cells[:, j] = standardise(codes[:, j], weights)  # missing cells remain, and count as the mean, zero
    features = ColumnFeatures.of(cells, weights, is_number, most=len(cells))
    if len(features.owner) * len(cells) > MAX_CELLS:
        got = f"{len(cells):,} rows of {len(features.owner):,} columns, once each category has one"
        raise InputError("X", got=got, wanted=f"at most {MAX_CELLS:,} cells", hint="fewer categories, or fewer rows")
    return features(cells), features.owner


def standardise(column: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Standardises the present cells of a column (n,) to weighted mean 0 and variance 1; zeros if it is constant."""
    is_present = ~np.isnan(column)
    rows = np.flatnonzero(is_present & (weights > 0))
    if not len(rows):
        return np.where(is_present, 0.0, np.nan)
    largest = float(np.abs(column[rows]).max()) or 1.0
    cells, shares = column[rows] / largest, weights[rows] / weights[rows].sum()
    mean = float(shares @ cells)
    deviation = float(np.sqrt(shares @ (cells - mean) ** 2))
    if deviation <= ROUNDING:
        return np.where(is_present, 0.0, np.nan)
    return np.asarray((column / largest - mean) / deviation)


def is_of_classes(y: np.ndarray, model: Any = None, loss: Any = "auto") -> bool:
    """Returns whether responses are classes.

    Text and booleans are classes. Numbers are classes if the loss is one of classification, or else if the model is a
    classifier; without either, if they are two whole numbers such as 0 and 1.

    Examples
    --------
    >>> is_of_classes(np.array([0, 1, 1])), is_of_classes(np.array([0, 1, 2])), is_of_classes(np.array(["a", "b"]))
    (True, False, True)
    """
    if y.dtype.kind in "bUSO":
        return True
    if y.ndim > 1:
        return False
    losses = [as_loss(name) for name in (loss if isinstance(loss, (list, tuple)) else [loss]) if not is_auto(name)]
    if any(chosen.task == "classification" for chosen in losses):
        return True
    if losses and all(chosen.task == "regression" for chosen in losses):
        return False
    task = None if model is None else _task(model)
    return looks_like_two_classes(y) if task is None else task == "classification"


def as_columns(y: np.ndarray, model: Any = None) -> np.ndarray:
    """Returns responses as columns of numbers (n, k), with one indicator for each class.

    Examples
    --------
    >>> as_columns(np.array(["b", "a", "c"]))
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 1.]])
    """
    if not is_of_classes(y, model):
        return y.astype(np.float64).reshape(len(y), -1)
    if y.ndim > 1:
        raise InputError("y", got=f"labels of shape {y.shape}", wanted="one label for each row, or numbers")
    try:
        classes, numbers = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise InputError("y", got=f"labels of different kinds ({error})", wanted="labels of one kind") from error
    return np.eye(len(classes))[numbers.ravel()]


def _task(model: Any) -> str | None:
    try:
        return as_predictor(model).task
    except ClarysageError:  # not a fitted model: its task is unknown
        return None
