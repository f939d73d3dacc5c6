"""A task's model as a function of rows, of which nothing else is known, and what walks of it cost."""

from __future__ import annotations

from typing import Any

import numpy as np

import clarysage as cs
from experiments.tasks import Task


def black_box(task: Task) -> Any:
    """The model without its structure: every evaluation is one of the model."""
    predict = task.model.predict if task.loss == "squared error" else task.model.predict_proba
    return cs.as_predictor(lambda X: np.asarray(predict(X)))


def options(task: Task) -> dict[str, Any]:
    return {"background": task.background, "loss": task.loss, "feature_names": task.features}


def evaluations(task: Task, iterations: float, examples: int = 1) -> float:
    """Model evaluations of so many iterations of Algorithm 1: each withholds 1 to d - 1 features by the background."""
    m, d = len(task.background), len(task.features)
    return iterations * (d - 1) * m + examples + m  # with no features and with all
