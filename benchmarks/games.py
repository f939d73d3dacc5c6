"""Games on which methods are compared: a fitted model, examples, a fixed background and a loss each.

Each function without arguments always makes the same game, on one thread. Background rows are the first of the
training rows, as in the paper. The tables of the paper come from the directory in the environment variable
CLARYSAGE_DATA, or are downloaded (:mod:`experiments.data`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

sys.path.insert(0, str(Path(__file__).parent.parent))  # where experiments is imported from

from experiments.data import load


@dataclass(frozen=True)
class BenchmarkGame:
    """A fitted model and the examples that it is evaluated on, all as numbers."""

    name: str
    model: Any
    loss: str
    X: np.ndarray
    y: np.ndarray
    background: np.ndarray

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of examples, features and background rows: (N, d, m)."""
        return *self.X.shape, len(self.background)


def bike_xgboost() -> BenchmarkGame:
    """The paper's model of bike demand."""
    from xgboost import XGBRegressor

    return bike("bike, XGBoost depth 10 x 50", XGBRegressor(max_depth=10, n_estimators=50, n_jobs=1))


def bike(name: str, model: Any) -> BenchmarkGame:
    """Fits a regression model to the paper's training part of the bike table."""
    table, y = read_table("bike")
    X_train, y_train, _, _, X, y = split_rows(table.to_numpy(float), y.astype(float), random_state=123)
    return BenchmarkGame(name, model.fit(X_train, y_train), "squared error", X, y, X_train[:512])


def credit_forest() -> BenchmarkGame:
    """South German Credit, with categories as numbers."""
    from sklearn.ensemble import RandomForestClassifier

    table, y = read_table("credit")
    X_train, X, y_train, y = train_test_split(table.to_numpy(float), y, test_size=300, random_state=0)
    model = RandomForestClassifier(100, n_jobs=1, random_state=0).fit(X_train, y_train)
    return BenchmarkGame("credit, random forest x 100", model, "cross entropy", X, y, X_train[:512])


def cancer_network() -> BenchmarkGame:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return network("breast cancer, network of 32", X, y, units=32, examples=200)


def digits_network() -> BenchmarkGame:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return network("digits, network of 64", X, y, units=64, examples=400)


def network(name: str, X: np.ndarray, y: np.ndarray, *, units: int, examples: int) -> BenchmarkGame:
    """Fits a network of one hidden layer to columns of mean 0 and variance 1."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    X_train, X, y_train, y = train_test_split(X, y, test_size=examples, random_state=0)
    scaler = StandardScaler().fit(X_train)
    X_train, X = scaler.transform(X_train), scaler.transform(X)
    model = MLPClassifier((units,), max_iter=1000, random_state=0).fit(X_train, y_train)
    return BenchmarkGame(name, model, "cross entropy", X, y, X_train[:128])


def bank_catboost() -> BenchmarkGame:
    """The paper's bank marketing model."""
    return catboost("bank", random_state=123, iterations=100, learning_rate=0.3, depth=10)


def credit_catboost() -> BenchmarkGame:
    """The paper's credit quality model."""
    return catboost("credit", random_state=0, iterations=50, learning_rate=0.3, depth=3)


def catboost(table: str, *, random_state: int, **options: Any) -> BenchmarkGame:
    """Fits a CatBoost classifier with categorical columns; its input are ordinal codes (:class:`OrdinalCodes`)."""
    from catboost import CatBoostClassifier

    frame, y = read_table(table)
    codes = OrdinalCodes.of(frame, categorical_columns(table))
    X_train, y_train, X_val, y_val, X, y = split_rows(codes.encode(frame), y, random_state=random_state)
    model = CatBoostClassifier(**options, random_seed=0, thread_count=1, verbose=False, allow_writing_files=False)
    model.fit(
        codes.decode(X_train), y_train, cat_features=list(codes.categories), eval_set=(codes.decode(X_val), y_val)
    )
    f = codes.decoding(lambda rows: model.predict_proba(rows, thread_count=1))
    return BenchmarkGame(f"{table}, CatBoost", f, "cross entropy", X, y, X_train[:512])


@dataclass(frozen=True)
class OrdinalCodes:
    """Encodes the categories of a table as ordinal numbers, and decodes rows of numbers into the table.

    sage-importance mixes rows as arrays. Both libraries get the same function of such arrays, so that both pay
    the same to make a table of them.
    """

    columns: tuple[str, ...]
    categories: dict[str, pd.Index]

    @classmethod
    def of(cls, frame: pd.DataFrame, categorical: list[str]) -> OrdinalCodes:
        texts = {name: pd.Index(sorted(frame[name].astype(str).unique())) for name in categorical}
        return cls(tuple(frame.columns), texts)

    def encode(self, frame: pd.DataFrame) -> np.ndarray:
        texts = self.categories
        codes = [
            texts[name].get_indexer(frame[name].astype(str)) if name in texts else frame[name] for name in self.columns
        ]
        return np.column_stack(codes).astype(float)

    def decode(self, rows: np.ndarray) -> pd.DataFrame:
        texts = self.categories
        columns = {
            name: pd.Categorical.from_codes(rows[:, j].astype(int), texts[name]) if name in texts else rows[:, j]
            for j, name in enumerate(self.columns)
        }
        return pd.DataFrame(columns)

    def decoding(self, predict: Callable[[pd.DataFrame], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
        """Returns the prediction function of tables as one of encoded rows."""
        return lambda rows: predict(self.decode(rows))


def read_table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Reads a table of the paper: features, with plain values instead of pandas categories, and a numeric target."""
    X, y, _ = load(name)
    plain = {column: X[column].cat.categories.dtype for column in X.select_dtypes("category")}
    target = (y == "yes").to_numpy(int) if name == "bank" else y.to_numpy()
    return X.astype(plain), target


def categorical_columns(name: str) -> list[str]:
    """Returns the columns that the paper's model treats as categories; the credit amount is one of them."""
    return list(load(name).X.select_dtypes("category"))


def split_rows(X: np.ndarray, y: np.ndarray, *, random_state: int) -> list[np.ndarray]:
    """Splits as the paper does into training, validation and test part, a tenth of all rows for each of the last two.

    Returns X and y of the three parts, in this order.
    """
    tenth = int(0.1 * len(X))
    X, X_test, y, y_test = train_test_split(X, y, test_size=tenth, random_state=random_state)
    X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=tenth, random_state=random_state)
    return [X_train, y_train, X_val, y_val, X_test, y_test]
