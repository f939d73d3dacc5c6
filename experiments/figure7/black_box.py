"""A task's model as a black box, and the number of model evaluations of Algorithm 1."""

from __future__ import annotations

from typing import Any

import numpy as np

import clarysage as cs
from experiments.tasks import Task


def black_box(task: Task) -> Any:
    """Returns the model as a plain function, so that its structure cannot be used."""
    predict = task.model.predict if task.loss == "squared error" else task.model.predict_proba
    return cs.as_predictor(lambda X: np.asarray(predict(X)))


def options(task: Task) -> dict[str, Any]:
    return {"background": task.background, "loss": task.loss, "feature_names": task.features}


def evaluations(task: Task, iterations: float, examples: int = 1) -> float:
    """Returns the model evaluations of Algorithm 1; an iteration withholds 1 to d - 1 features by the background."""
    m, d = len(task.background), len(task.features)
    return iterations * (d - 1) * m + examples + m  # with no features and with all
