"""Types of the arguments of public functions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from clarysage.protocols.estimators import Estimator
from clarysage.protocols.models import Loss
from clarysage.protocols.removal import Removal


class HasShape(Protocol):
    """Anything with rows and columns: an array, a data frame, a sparse matrix or a tensor."""

    @property
    def shape(self) -> Any: ...


class HasSchema(Protocol):
    """A table of pyarrow, in memory or on disk, or a lazy frame of polars."""

    @property
    def schema(self) -> Any: ...


class LossOfParts(Protocol):
    """A loss of each class or of each target by itself, which stands for a list of losses."""

    @property
    def part(self) -> str: ...

    @property
    def loss(self) -> Any: ...


# models have no common type: the adapters find out at run time
ModelLike: TypeAlias = object
TableLike: TypeAlias = HasShape | HasSchema | Sequence[Any] | str | os.PathLike[str]
TargetLike: TypeAlias = Iterable[Any] | str
WeightsLike: TypeAlias = Iterable[Any] | str
LossLike: TypeAlias = str | Loss | Callable[..., Any]
LossList: TypeAlias = list[str] | list[LossLike] | tuple[LossLike, ...] | LossOfParts
RemovalLike: TypeAlias = str | Removal
MethodLike: TypeAlias = str | Estimator[Any] | type
GroupsLike: TypeAlias = Mapping[str, Sequence[Any]]
Seed: TypeAlias = int | np.integer[Any] | np.random.Generator | np.random.RandomState | np.random.SeedSequence | None
