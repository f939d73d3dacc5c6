"""Learners: the paper's models with their hyperparameters (its supplement D.1).

A learner fits a model to parts of a table, which may have only some of the columns.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from experiments.parts import Part, Parts

STRENGTHS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 10))  # values of C


@dataclass(frozen=True)
class CatBoost:
    """Boosted oblivious trees; their number is chosen by the validation part."""

    iterations: int
    depth: int
    learning_rate: float = 0.3

    def fit(self, parts: Parts) -> Any:
        from catboost import CatBoostClassifier

        model = CatBoostClassifier(
            iterations=self.iterations,
            depth=self.depth,
            learning_rate=self.learning_rate,
            random_seed=0,
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
            cat_features=list(parts.train.X.select_dtypes("category")),
        )
        validation = (parts.validation.X, parts.validation.y)
        return model.fit(parts.train.X, parts.train.y, eval_set=validation)


@dataclass(frozen=True)
class XGBoost:
    """Boosted trees, grown by the exact method, which was the library's choice for tables of this size in 2020."""

    rounds: int = 50
    depth: int = 10

    def fit(self, parts: Parts) -> Any:
        from xgboost import XGBRegressor

        model = XGBRegressor(
            n_estimators=self.rounds, max_depth=self.depth, objective="reg:squarederror", tree_method="exact", n_jobs=1
        )
        return model.fit(parts.train.X, parts.train.y)


@dataclass(frozen=True)
class SparseLogistic:
    """Multinomial logistic regression with an l1 penalty, fitted to train and validation parts.

    Attributes
    ----------
    C : inverse strength of the penalty; None to choose it by the validation part
    tolerance : of the solver; with scikit-learn's 1e-4 it oscillates for thousands of steps on some subsets, while
        losses stay the same to three digits
    """

    C: float | None = None
    tolerance: float = 1e-3

    def fit(self, parts: Parts) -> Any:
        both = parts.train.followed_by(parts.validation)
        return self._fitted(both, self.strength(parts))

    def strength(self, parts: Parts) -> float:
        """Returns the value of C, from 0.1 to 0.9, with the lowest cross entropy on the validation part."""
        if self.C is not None:
            return self.C
        losses = [self._validation_loss(parts, C) for C in STRENGTHS]
        return STRENGTHS[int(np.argmin(losses))]

    def _validation_loss(self, parts: Parts, C: float) -> float:
        model = self._fitted(parts.train, C)
        return float(log_loss(parts.validation.y, model.predict_proba(parts.validation.X), labels=model.classes_))

    def _fitted(self, part: Part, C: float) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # no convergence, no result
            model = LogisticRegression(
                l1_ratio=1.0, solver="saga", C=C, tol=self.tolerance, max_iter=20_000, random_state=0
            )
            return model.fit(part.X, part.y)


@dataclass(frozen=True)
class Network:
    """A perceptron with two hidden layers and early stopping on the validation part (:mod:`experiments.network`).

    Attributes
    ----------
    rows : number of training rows; None for all of them
    """

    width: int = 256
    rows: int | None = None
    epochs: int = 100
    seed: int = 0

    def fit(self, parts: Parts) -> Any:
        from experiments.network import trained

        return trained(parts, width=self.width, rows=self.rows, epochs=self.epochs, seed=self.seed)


Learner = CatBoost | XGBoost | SparseLogistic | Network
