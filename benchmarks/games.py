"""The games that methods are compared on: a fitted model each, examples, a fixed background, a loss.

Each is made by a function without arguments, always the same, on one thread. Background rows are the first of the
training rows, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import paper_tables
from sklearn.model_selection import train_test_split


@dataclass(frozen=True)
class Case:
    """A fitted model and the rows it is judged on, all as numbers."""

    name: str
    model: Any
    loss: str
    X: np.ndarray
    y: np.ndarray
    background: np.ndarray

    @property
    def shape(self) -> tuple[int, int, int]:
        """N, d, m."""
        return *self.X.shape, len(self.background)


def bike_xgboost() -> Case:
    """The paper's bike demand model."""
    from xgboost import XGBRegressor

    table, y = paper_tables.read("bike")
    X_train, y_train, _, _, X, y = paper_tables.split(table.to_numpy(float), y.astype(float), random_state=123)
    model = XGBRegressor(max_depth=10, n_estimators=50, n_jobs=1).fit(X_train, y_train)
    return Case("bike, XGBoost depth 10 x 50", model, "squared error", X, y, X_train[:512])


def credit_forest() -> Case:
    """South German Credit with numbers for categories."""
    from sklearn.ensemble import RandomForestClassifier

    table, y = paper_tables.read("credit")
    X_train, X, y_train, y = train_test_split(table.to_numpy(float), y, test_size=300, random_state=0)
    model = RandomForestClassifier(100, n_jobs=1, random_state=0).fit(X_train, y_train)
    return Case("credit, random forest x 100", model, "cross entropy", X, y, X_train[:512])


def cancer_network() -> Case:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return network("breast cancer, network of 32", X, y, units=32, examples=200)


def digits_network() -> Case:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return network("digits, network of 64", X, y, units=64, examples=400)


def network(name: str, X: np.ndarray, y: np.ndarray, *, units: int, examples: int) -> Case:
    """A network of one hidden layer on columns of mean 0 and variance 1."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    X_train, X, y_train, y = train_test_split(X, y, test_size=examples, random_state=0)
    scaler = StandardScaler().fit(X_train)
    X_train, X = scaler.transform(X_train), scaler.transform(X)
    model = MLPClassifier((units,), max_iter=1000, random_state=0).fit(X_train, y_train)
    return Case(name, model, "cross entropy", X, y, X_train[:128])


def bank_catboost() -> Case:
    """The paper's bank marketing model."""
    return catboost("bank", random_state=123, iterations=100, learning_rate=0.3, depth=10)


def credit_catboost() -> Case:
    """The paper's credit quality model."""
    return catboost("credit", random_state=0, iterations=50, learning_rate=0.3, depth=3)


def catboost(table: str, *, random_state: int, **options: Any) -> Case:
    """A CatBoost classifier with categorical columns, behind a function of numbers: see :class:`OfCodes`."""
    from catboost import CatBoostClassifier

    frame, y = paper_tables.read(table)
    coded = OfCodes.of(frame, paper_tables.categorical(table))
    X_train, y_train, X_val, y_val, X, y = paper_tables.split(coded.encode(frame), y, random_state=random_state)
    model = CatBoostClassifier(**options, random_seed=0, thread_count=1, verbose=False, allow_writing_files=False)
    model.fit(
        coded.decode(X_train), y_train, cat_features=list(coded.categories), eval_set=(coded.decode(X_val), y_val)
    )
    f = coded.of_model(lambda rows: model.predict_proba(rows, thread_count=1))
    return Case(f"{table}, CatBoost", f, "cross entropy", X, y, X_train[:512])


@dataclass(frozen=True)
class OfCodes:
    """Rows of numbers in which a category stands as its place in a list, and back to the table they stand for.

    sage-importance mixes rows as arrays; both libraries are given the same function of such rows, so that both pay
    the same to make a table of them.
    """

    columns: tuple[str, ...]
    categories: dict[str, pd.Index]

    @classmethod
    def of(cls, frame: pd.DataFrame, categorical: list[str]) -> OfCodes:
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

    def of_model(self, predict: Callable[[pd.DataFrame], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
        return lambda rows: predict(self.decode(rows))


GAMES = (bike_xgboost, credit_forest, cancer_network, digits_network, bank_catboost, credit_catboost)
