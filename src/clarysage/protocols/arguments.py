"""Types of the arguments that public functions take."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from clarysage.protocols.estimators import Estimator
from clarysage.protocols.models import Loss
from clarysage.protocols.removal import Removal


class HasShape(Protocol):
    """An array, a data frame, a sparse matrix, a tensor: whatever has rows and columns."""

    @property
    def shape(self) -> Any: ...


class HasSchema(Protocol):
    """A table of pyarrow, in memory or on disk, or a lazy frame of polars."""

    @property
    def schema(self) -> Any: ...


# what public functions take; models are of so many kinds that only asking them tells
ModelLike: TypeAlias = object
TableLike: TypeAlias = HasShape | HasSchema | Sequence[Any] | str | os.PathLike[str]
TargetLike: TypeAlias = Iterable[Any] | str
WeightsLike: TypeAlias = Iterable[Any] | str
LossLike: TypeAlias = str | Loss | Callable[..., Any]
LossList: TypeAlias = list[str] | list[LossLike] | tuple[LossLike, ...]
RemovalLike: TypeAlias = str | Removal
MethodLike: TypeAlias = str | Estimator[Any] | type
GroupsLike: TypeAlias = Mapping[str, Sequence[Any]]
Seed: TypeAlias = int | np.integer[Any] | np.random.Generator | np.random.SeedSequence | None
