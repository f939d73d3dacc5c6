"""The structure of a model over sparse tables, some of whose columns combine several of the model's own columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from clarysage.structure.base import Structure
from clarysage.structure.columnwise import Transformed
from clarysage.structure.linear import Linear
from clarysage.structure.trees import Trees

View = Callable[[Any], np.ndarray]


@dataclass(frozen=True)
class Contributions:
    """A view of tables: what each of d columns adds to the K margins of a linear model, (n, d K).

    ``weights`` (D, d K) is sparse: the model's weights, each in the place of the column that its own column is in.
    """

    weights: Any
    view: View | None = None

    def __call__(self, table: Any) -> np.ndarray:
        added = (table if self.view is None else self.view(table)) @ self.weights
        return np.asarray(added.toarray() if scipy.sparse.issparse(added) else added, dtype=np.float64)


@dataclass(frozen=True)
class FilledIn:
    """A view of tables: some columns of the model as an array, with ``absent`` for cells that are not stored."""

    columns: np.ndarray
    absent: float
    view: View | None = None

    def __call__(self, table: Any) -> np.ndarray:
        rows: Any = table if self.view is None else self.view(table)
        if not scipy.sparse.issparse(rows):
            return np.asarray(rows[:, self.columns], dtype=np.float64)
        part = rows[:, self.columns].tocoo()
        cells = np.full(part.shape, self.absent)
        cells[part.row, part.col] = part.data
        return cells


def over_combined(structure: Structure, owner: np.ndarray) -> Structure:
    """Returns the structure of a model whose column j is in the column ``owner`` (D,) of tables.

    Only the contributions of columns are kept of a linear model, and only the columns that trees look at.
    """
    representation, view = structure.representation, structure.view
    if isinstance(view, Transformed) and view.view is None:
        view = view.transformer.transform  # sparse rows stay sparse
    if structure.owner is not None:
        owner = owner[structure.owner]
    if isinstance(representation, Linear):
        (inner, margin), k = np.nonzero(representation.weights), representation.n_margins
        position, d = owner[inner] * k + margin, int(owner.max()) + 1
        added = scipy.sparse.csr_array(
            (representation.weights[inner, margin], (inner, position)), shape=(len(owner), d * k)
        )
        weights = np.tile(np.eye(k), (d, 1)) * np.isin(np.arange(d * k), position)[:, None]
        linear, column_of_weight = Linear(weights, representation.intercept), np.repeat(np.arange(d), k)
        return replace(structure, representation=linear, view=Contributions(added, view), owner=column_of_weight)
    columns = np.arange(len(owner))
    if isinstance(representation, Trees):
        columns = np.flatnonzero(representation.is_used)
        representation = representation.of_columns(columns)
    filled_in = FilledIn(columns, structure.absent, view)
    return replace(structure, representation=representation, view=filled_in, owner=owner[columns])
