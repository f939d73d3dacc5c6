"""Tables of the paper's experiments, read from parquet files in the directory that CLARYSAGE_DATA names.

``bike.parquet``, ``credit.parquet`` and ``bank.parquet`` hold one table each, with the target as a column: the Kaggle
bike demand table (Count; its datetime split into Year, Month, Day, Hour), South German Credit (Good Customer), UCI
bank marketing (y). ``mnist.parquet`` has the pixels of digits, their labels (label) and which part they are of (split).
They are not part of the repository.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

VARIABLE = "CLARYSAGE_DATA"
TARGETS = {"bike": "Count", "credit": "Good Customer", "bank": "y", "mnist": "label"}
NO_FEATURES = {"bike": ["Casual", "Registered"], "mnist": ["split"]}  # the former add up to the target
CATEGORICAL = {
    "bank": ["job", "marital", "education", "default", "housing", "loan", "contact", "month", "poutcome"],
    "credit": ["Checking Status", "Credit History", "Purpose", "Credit Amount", "Savings Account/Bonds",
               "Employment Since", "Personal Status", "Debtors/Guarantors", "Property Type", "Other Installment Plans",
               "Housing Ownership", "Job", "Telephone", "Foreign Worker"],
}  # fmt: skip


class MissingTableError(Exception):
    """A table that is not there, and what to do about it."""


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Features, and the target as numbers."""
    directory = os.environ.get(VARIABLE)
    if not directory:
        raise MissingTableError(f"set {VARIABLE} to a directory that holds {name}.parquet")
    path = Path(directory) / f"{name}.parquet"
    if not path.exists():
        raise MissingTableError(f"{VARIABLE} has no {name}.parquet")
    table = pd.read_parquet(path)
    target = table[TARGETS[name]]
    y = (target == "yes").to_numpy(int) if name == "bank" else target.to_numpy()
    return table.drop(columns=[TARGETS[name], *NO_FEATURES.get(name, [])]), y


def split(X: np.ndarray, y: np.ndarray, *, random_state: int) -> list[np.ndarray]:
    """The paper's train, validation and test parts: X, y of each; a tenth of all rows for each of the last two."""
    tenth = int(0.1 * len(X))
    X, X_test, y, y_test = train_test_split(X, y, test_size=tenth, random_state=random_state)
    X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=tenth, random_state=random_state)
    return [X_train, y_train, X_val, y_val, X_test, y_test]
