"""The five tasks of the paper (its supplement D.1): a dataset split in three, a learner, and a loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

from experiments.data import MissingDataError, PaperTable, load
from experiments.learners import CatBoost, Learner, Network, SparseLogistic, XGBoost
from experiments.parts import Part, Parts, by_groups, by_rows

LEAST = float(np.finfo(np.float64).eps)  # smallest probability in a cross entropy
NOT_THE_PAPERS = (
    "BRCA is a near copy of the paper's table: the same study and kind of label, 572 samples for its 556, and nine of "
    "its 50 genes; the other 41 stand in for genes that the paper drew at random. A patient's samples are in one part; "
    "60 are of normal tissue and labelled by the tumour."
)


OTHER_GENES = (
    "BRCA is not the paper's table: the same study and kind of label, 572 samples for its 556, and 100 other genes; "
    "the table that has nine of the paper's 50 is not published. A patient's samples are in one part."
)


@dataclass(frozen=True, eq=False)
class Task:
    """A prediction task: data, learner and loss.

    Attributes
    ----------
    name, title : its key, and its name in the paper
    background : rows that replace withheld features, the first of the training part as in the paper
    loss : "cross entropy" or "squared error"
    caveat : its difference from the paper's task, if any
    """

    name: str
    title: str
    parts: Parts
    learner: Learner
    loss: str
    background: pd.DataFrame
    caveat: str = ""

    @property
    def features(self) -> list[str]:
        return list(self.parts.train.X)

    @property
    def test(self) -> Part:
        return self.parts.test

    @cached_property
    def model(self) -> Any:
        """The learner's model with all features."""
        return self.learner.fit(self.parts)

    @property
    def explained(self) -> Any:
        """The model in a form that clarysage can read: for a network its layers."""
        return getattr(self.model, "explained", self.model)

    def fit(self, columns: Sequence[str], *, seed: int | None = None) -> Any:
        """Fits a model with the same hyperparameters to these columns only; ``seed`` is that of a network."""
        is_seeded = seed is not None and isinstance(self.learner, Network)
        learner = replace(self.learner, seed=seed) if is_seeded else self.learner
        return learner.fit(self.parts.of(columns))

    def losses(self, model: Any, part: Part) -> np.ndarray:
        """Returns the losses of a model on a part with its columns."""
        if self.loss == "squared error":
            return (part.y - model.predict(part.X)) ** 2
        probabilities = np.asarray(model.predict_proba(part.X))[
            np.arange(len(part)), np.searchsorted(self.classes, part.y)
        ]
        return -np.log(np.maximum(probabilities, LEAST))

    def mean_loss(self, model: Any, part: Part) -> float:
        """Returns the mean loss of a model on a part with its columns."""
        return float(np.mean(self.losses(model, part)))

    def retrained(self, columns: Sequence[str]) -> float:
        """Returns the test loss of a model fitted to these columns; without columns, that of the base rate."""
        if not columns:
            return self.base_rate
        return self.mean_loss(self.fit(columns), self.test.of(columns))

    @cached_property
    def classes(self) -> np.ndarray:
        return np.unique(self.parts.train.y)

    @property
    def base_losses(self) -> np.ndarray:
        """Test losses of predicting the mean of the training part, or its class frequencies."""
        y, training = self.test.y, self.parts.train.y
        if self.loss == "squared error":
            return (y - training.mean()) ** 2
        return -np.log(
            np.array([np.mean(training == label) for label in self.classes])[np.searchsorted(self.classes, y)]
        )

    @property
    def base_rate(self) -> float:
        return float(np.mean(self.base_losses))


def bank(random_state: int = 123) -> Task:
    X, y, _ = load("bank")
    parts = by_rows(Part(X, (y == "yes").to_numpy(int)), share=0.1, random_state=random_state)
    return Task("bank", "Bank Marketing", parts, CatBoost(100, 10), "cross entropy", parts.train.X[:512])


def bike(random_state: int = 123) -> Task:
    X, y, _ = load("bike")
    parts = by_rows(Part(X, y.to_numpy(float)), share=0.1, random_state=random_state)
    return Task("bike", "Bike Demand", parts, XGBoost(), "squared error", parts.train.X[:512])


def credit(random_state: int = 0) -> Task:
    X, y, _ = load("credit")
    parts = by_rows(Part(X, y.to_numpy(int)), share=0.1, random_state=random_state)
    return Task("credit", "Credit Quality", parts, CatBoost(50, 3), "cross entropy", parts.train.X[:512])


def brca(random_state: int = 0) -> Task:
    """Standardised by the training part; C is chosen once, with all genes."""
    table, caveat = _brca_at_hand()
    patients = table.beside["patient"].to_numpy()
    parts = by_groups(Part(table.X, table.y.to_numpy(str)), patients, share=0.2, random_state=random_state)
    mean, std = parts.train.X.mean(), parts.train.X.std(ddof=0)
    train, validation, test = (
        replace(part, X=(part.X - mean) / std) for part in (parts.train, parts.validation, parts.test)
    )
    parts = Parts(train, validation, test)
    learner = SparseLogistic(SparseLogistic().strength(parts))
    return Task("brca", "BRCA", parts, learner, "cross entropy", parts.train.X, caveat)


def _brca_at_hand() -> tuple[PaperTable, str]:
    """Returns the table with nine of the paper's genes, which is not published, or else the published one without."""
    try:
        return load("brca50"), NOT_THE_PAPERS
    except MissingDataError:
        return load("brca"), OTHER_GENES


def mnist() -> Task:
    """Pixels from 0 to 1; the last tenth of the 60,000 rows that are not for test is the validation part."""
    images, labels, beside = load("mnist")
    pixels = (images.to_numpy(np.float32) / 255).astype(np.float32)
    X, y = pd.DataFrame(pixels, columns=list(images)), labels.to_numpy(int)
    training_rows = np.flatnonzero(beside["split"].to_numpy() == "train")
    last = np.flatnonzero(beside["split"].to_numpy() == "test")
    train, validation = training_rows[:54_000], training_rows[54_000:]
    table = Part(X, y)
    parts = Parts(table.rows(train), table.rows(validation), table.rows(last))
    return Task("mnist", "MNIST", parts, Network(), "cross entropy", parts.train.X[:128])


TASKS: dict[str, Callable[..., Task]] = {"bank": bank, "bike": bike, "credit": credit, "brca": brca, "mnist": mnist}


@cache
def task_of(name: str, random_state: int | None = None) -> Task:
    """Returns a task by name, read once per process, with the paper's split or another one."""
    return TASKS[name]() if random_state is None else TASKS[name](random_state)
