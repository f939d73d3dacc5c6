"""Tables of the paper's experiments (:mod:`clarysage.datasets`), with categories as plain cells, and their split."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

import clarysage as cs


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features, with cells in place of categories, and the target as numbers."""
    X, y = cs.datasets.load(name)
    plain = {column: X[column].cat.categories.dtype for column in X.select_dtypes("category")}
    target = (y == "yes").to_numpy(int) if name == "bank" else y.to_numpy()
    return X.astype(plain), target


def categorical(name: str) -> list[str]:
    """Columns that the paper's model takes as categories: among them the credit amount."""
    X = cs.datasets.credit(amount_as_category=True).X if name == "credit" else cs.datasets.load(name).X
    return list(X.select_dtypes("category"))


def split(X: np.ndarray, y: np.ndarray, *, random_state: int) -> list[np.ndarray]:
    """The paper's train, validation and test parts: X, y of each; a tenth of all rows for each of the last two."""
    tenth = int(0.1 * len(X))
    X, X_test, y, y_test = train_test_split(X, y, test_size=tenth, random_state=random_state)
    X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=tenth, random_state=random_state)
    return [X_train, y_train, X_val, y_val, X_test, y_test]
