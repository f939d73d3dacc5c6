"""Rows with their targets, and the paper's splits of a dataset into three such parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import GroupShuffleSplit, train_test_split


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of a table and their targets."""

    X: pd.DataFrame
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.X)

    def of(self, columns: Sequence[str]) -> Part:
        """The same rows with some of the columns."""
        return Part(self.X[list(columns)], self.y)

    def rows(self, chosen: Any) -> Part:
        return Part(self.X.iloc[chosen].reset_index(drop=True), self.y[chosen])

    def first(self, number: int) -> Part:
        """The first rows: so many, or all where there are fewer."""
        return self.rows(slice(number))

    def beside(self, other: Part) -> Part:
        """These rows, then those of another part."""
        return Part(pd.concat([self.X, other.X], ignore_index=True), np.concatenate([self.y, other.y]))


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows to fit to, to choose by, and to judge by."""

    train: Part
    validation: Part
    test: Part

    def of(self, columns: Sequence[str]) -> Parts:
        return Parts(self.train.of(columns), self.validation.of(columns), self.test.of(columns))


def by_rows(whole: Part, *, share: float, random_state: int) -> Parts:
    """The paper's split: a share of all rows for test, then as many of the rest for validation."""
    size = int(share * len(whole))
    rest, test = train_test_split(np.arange(len(whole)), test_size=size, random_state=random_state)
    train, validation = train_test_split(rest, test_size=size, random_state=random_state)
    return Parts(whole.rows(train), whole.rows(validation), whole.rows(test))


def by_groups(whole: Part, groups: np.ndarray, *, share: float, random_state: int) -> Parts:
    """The same by whole groups, such as patients that have several rows: none is in two parts."""

    def halves(rows: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
        splitter = GroupShuffleSplit(1, test_size=share, random_state=random_state)
        stay, go = next(splitter.split(rows, groups=groups[rows]))
        return rows[stay], rows[go]

    rest, test = halves(np.arange(len(whole)), share)
    train, validation = halves(rest, share / (1 - share))
    return Parts(whole.rows(train), whole.rows(validation), whole.rows(test))
