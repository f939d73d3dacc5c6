"""A table as columns of numbers for linear models: categories as indicators, missing cells as means and marks."""

from __future__ import annotations

import numpy as np

from clarysage.errors import InputError
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
