"""Rows to fit on and rows to judge by, as measures of refits are handed them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.games import UniversalPower
from clarysage.tables import as_table, container_of, labels_of, read_target, read_weights

PLACES = {"X": "train", "y": "train", "sample_weight": "train", "test": "X"}  # names of ours for those of the game


@dataclass(frozen=True)
class Judged:
    """X and y, by which learners are judged, and rows to fit on, where they are others.

    Attributes
    ----------
    X, y, weights : to judge by
    train : rows, responses and weights to fit on; None for cross-fitting on X
    """

    X: Any
    y: np.ndarray
    weights: Any = None
    train: tuple[Any, np.ndarray, Any] | None = None

    @classmethod
    def of(cls, X: Any, y: Any, *, train: Any, sample_weight: Any) -> Judged:
        """Both tables, checked, with the columns of X in the order of those to fit on."""
        X = as_table(X, "X")
        if y is None:
            raise InputError("y", got="None", wanted="a response for each row of X")
        target = read_target(y, X, len(X))
        read_weights(sample_weight, X, len(X))
        if train is None:
            return cls(X, target, sample_weight)
        if not isinstance(train, (tuple, list)) or len(train) not in (2, 3):
            raise InputError("train", got=type(train).__name__, wanted="(X_train, y_train), or with weights as a third",
                             hint="train=(X_train, y_train)")  # fmt: skip
        rows, responses = as_table(train[0], "train"), train[1]
        try:
            responses = read_target(responses, rows, len(rows))
        except InputError as error:
            raise InputError("train", **error.parts) from error
        kinds = [(one.shape[1:], one.dtype.kind in "OUS") for one in (target, responses)]
        if kinds[0] != kinds[1]:
            raise InputError("train", got=f"responses of shape {responses.shape} and dtype {responses.dtype}",
                             wanted=f"such as y, of shape {target.shape} and dtype {target.dtype}")  # fmt: skip
        weights = train[2] if len(train) == 3 else None
        read_weights(weights, rows, len(rows), "train", "train")
        return cls(as_in(rows, X, "X", "train"), target, sample_weight, (rows, responses, weights))

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say of where learners come from."""
        if self.train is not None:
            return ()
        return ("Learners are fitted on parts of X, since no rows to fit on were given: train=(X_train, y_train).",)

    def rows_to_fit_on(self, folds: Any) -> int:
        """Rows that a learner is fitted on, at least; all of X for a number of folds that the game will refuse."""
        if self.train is not None:
            return len(self.train[0])
        n = len(self.X)
        return n - -(-n // int(folds)) if isinstance(folds, (int, np.integer)) and folds > 0 else n

    def arranged(self, arrange: Callable[[Any], Any]) -> Judged:
        """The same with the columns of both tables put in order by their names; as it is where one has none."""
        if labels_of(self.X) is None or (self.train is not None and labels_of(self.train[0]) is None):
            return self  # columns that go by their places in both
        train = None if self.train is None else (arrange(self.train[0]), *self.train[1:])
        return Judged(arrange(self.X), self.y, self.weights, train)

    def game(self, learner: Any, **options: Any) -> UniversalPower:
        """Of a learner fitted on the one and judged by the other; options are those of :class:`UniversalPower`."""
        if self.train is None:
            return UniversalPower.of(learner, self.X, self.y, sample_weight=self.weights, **options)
        rows, responses, weights = self.train
        there = (self.X, self.y) if self.weights is None else (self.X, self.y, self.weights)
        try:
            return UniversalPower.of(learner, rows, responses, sample_weight=weights, test=there, **options)
        except InputError as error:
            if type(error) is InputError and error.argument in PLACES:
                raise InputError(PLACES[error.argument], **error.parts) from error
            raise


def as_in(rows: Any, table: Any, argument: str, of: str) -> Any:
    """A table with its columns in the order of others', where both have names."""
    own, labels = labels_of(table), labels_of(rows)
    if rows.shape[1] != table.shape[1]:
        raise InputError(argument, got=f"{table.shape[1]} columns", wanted=f"{rows.shape[1]}, as in {of}")
    if own is None or labels is None or own == labels:
        return table
    place = {str(label): label for label in own}
    missing = [str(label) for label in labels if str(label) not in place]
    if missing:
        raise InputError(argument, got=f"no column {missing[0]!r}", wanted=f"the columns of {of}, in any order")
    return select(table, [place[str(label)] for label in labels])


def select(table: Any, labels: Sequence[Any]) -> Any:
    """The columns of a frame that have the given labels, in their order."""
    return table[list(labels)] if container_of(table) == "pandas" else table.select(list(labels))
