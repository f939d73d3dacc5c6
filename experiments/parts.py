"""Training, validation and test parts of a dataset, by the paper's random splits."""

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
        """Returns the part with only these columns."""
        return Part(self.X[list(columns)], self.y)

    def rows(self, chosen: Any) -> Part:
        return Part(self.X.iloc[chosen].reset_index(drop=True), self.y[chosen])

    def first(self, number: int) -> Part:
        """Returns the first rows; all of them if there are fewer."""
        return self.rows(slice(number))

    def followed_by(self, other: Part) -> Part:
        """Returns these rows followed by those of another part."""
        return Part(pd.concat([self.X, other.X], ignore_index=True), np.concatenate([self.y, other.y]))


@dataclass(frozen=True, eq=False)
class Parts:
    """The training, validation and test part of a dataset."""

    train: Part
    validation: Part
    test: Part

    def of(self, columns: Sequence[str]) -> Parts:
        return Parts(self.train.of(columns), self.validation.of(columns), self.test.of(columns))


def by_rows(table: Part, *, share: float, random_state: int) -> Parts:
    """Splits by rows as the paper does: a share of all rows for test, and as many rows for validation."""
    size = int(share * len(table))
    rest, test = train_test_split(np.arange(len(table)), test_size=size, random_state=random_state)
    train, validation = train_test_split(rest, test_size=size, random_state=random_state)
    return Parts(table.rows(train), table.rows(validation), table.rows(test))


def by_groups(table: Part, groups: np.ndarray, *, share: float, random_state: int) -> Parts:
    """Splits by groups, such as patients with several rows: no group is in two parts."""

    def halves(rows: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
        splitter = GroupShuffleSplit(1, test_size=share, random_state=random_state)
        stay, go = next(splitter.split(rows, groups=groups[rows]))
        return rows[stay], rows[go]

    rest, test = halves(np.arange(len(table)), share)
    train, validation = halves(rest, share / (1 - share))
    return Parts(table.rows(train), table.rows(validation), table.rows(test))
