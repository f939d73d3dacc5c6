"""Design matrices and response columns of linear models."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.errors import ClarysageError, InputError
from clarysage.losses import as_loss
from clarysage.losses.choice import is_auto, looks_like_two_classes
from clarysage.models import as_predictor
from clarysage.removal.normal_scores import ColumnFeatures
from clarysage.tables import Categories, Schema

CELLS = 200_000_000  # of a design at most (1.6 GB)
ROUNDING = 16 * np.finfo(np.float64).eps  # spread of a column, as a share of its size, that is rounding alone


def numbers_of(schema: Schema, codes: np.ndarray, argument: str = "X") -> tuple[np.ndarray, np.ndarray]:
    """Codes (n, d) of a table, with numbers that were kept as objects as such, and which columns are numbers (d,)."""
    found, is_number = codes.copy(), schema.is_number.copy()
    for j, column in enumerate(schema.columns):
        if isinstance(column, Categories) and column.holds_numbers:
            known = column.backend.to_float(column.decode(np.arange(float(len(column.values)))))
            there = ~np.isnan(codes[:, j])
            found[there, j], is_number[j] = known[codes[there, j].astype(np.intp)], True
    strange = np.isinf(found).any(axis=0) & is_number
    if strange.any():
        name = schema.names[int(strange.argmax())]
        raise InputError(argument, got=f"infinite cells in column {name!r}", wanted="finite numbers, or missing ones")
    return found, is_number


def linear_design(codes: np.ndarray, is_number: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of numbers (n, q) for a linear model, and the column (q,) of the table that each is of.

    Numbers are centred and brought to unit variance, so that a learner that shrinks coefficients shrinks them alike,
    with the mean, zero, in place of missing cells; constant ones are zero. Each category has an indicator, and so have
    missing cells, which is 0 or 1. Means and variances are those of rows by their ``mass``, such as rows to fit on.

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
        cells[:, j] = scaled(codes[:, j], mass)  # of mean zero, which is then what a missing cell counts as
    features = ColumnFeatures.of(cells, mass, is_number, most=len(cells))
    if len(features.owner) * len(cells) > CELLS:
        got = f"{len(cells):,} rows of {len(features.owner):,} columns, once each category has one"
        raise InputError("X", got=got, wanted=f"at most {CELLS:,} cells", hint="fewer categories, or fewer rows")
    return features(cells), features.owner


def scaled(column: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """A column (n,) of mean 0 and variance 1 by mass over the cells that are there; zeros where it is constant."""
    there = ~np.isnan(column)
    known = np.flatnonzero(there & (mass > 0))
    if not len(known):
        return np.where(there, 0.0, np.nan)
    largest = float(np.abs(column[known]).max()) or 1.0
    small, weights = column[known] / largest, mass[known] / mass[known].sum()
    mean = float(weights @ small)
    spread = float(np.sqrt(weights @ (small - mean) ** 2))
    if spread <= ROUNDING:
        return np.where(there, 0.0, np.nan)
    return np.asarray((column / largest - mean) / spread)


def is_of_classes(y: np.ndarray, model: Any = None, loss: Any = "auto") -> bool:
    """Whether responses are classes.

    Text and booleans are. Numbers are if a loss of classes is asked for, or else a model is a classifier; where neither
    says, if they are two whole numbers such as 0 and 1.

    Examples
    --------
    >>> is_of_classes(np.array([0, 1, 1])), is_of_classes(np.array([0, 1, 2])), is_of_classes(np.array(["a", "b"]))
    (True, False, True)
    """
    if y.dtype.kind in "bUSO":
        return True
    if y.ndim > 1:
        return False
    asked = [as_loss(one) for one in (loss if isinstance(loss, (list, tuple)) else [loss]) if not is_auto(one)]
    if any(one.task == "classification" for one in asked):
        return True
    if asked and all(one.task == "regression" for one in asked):
        return False
    task = None if model is None else _task(model)
    return looks_like_two_classes(y) if task is None else task == "classification"


def as_columns(y: np.ndarray, model: Any = None) -> np.ndarray:
    """Responses as columns of numbers (n, k), those of classes as one indicator a class.

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
        raise InputError("y", got=f"labels of shape {y.shape}", wanted="one label a row, or numbers")
    try:
        classes, numbers = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise InputError("y", got=f"labels of different kinds ({error})", wanted="labels of one kind") from error
    return np.eye(len(classes))[numbers.ravel()]


def _task(model: Any) -> str | None:
    try:
        return as_predictor(model).task
    except ClarysageError:  # a model that cannot be asked has nothing to say here
        return None
