"""The columns of X at the door of a measure: their names, their order in the model, and who plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clarysage.errors import InputError
from clarysage.models import Predictor
from clarysage.players import Players
from clarysage.tables import labels_of


@dataclass(frozen=True)
class Columns:
    """X in the order of the model's own columns, so that the order in which the user has them changes no bit.

    Attributes
    ----------
    X : the table, its columns in the model's order
    players : features, or groups of them, numbered in that order
    order : leads from these to the players in the user's order
    members : columns of each player by name; None where there are no groups
    """

    X: Any
    players: Players
    order: tuple[int, ...]
    members: dict[str, list[str]] | None

    @classmethod
    def of(
        cls,
        f: Predictor,
        X: Any,
        *,
        groups: Mapping[str, Sequence[Any]] | None,
        feature_names: Sequence[str] | None,
        background: Any = None,
    ) -> Columns:
        names = _names(f, X, background, feature_names)
        arranged = f.arrange(X)
        columns = tuple(names[place] for place in _places(X, arranged))
        named = Players.of(names, groups)  # numbers in groups are places in X as it was handed in
        players = named if columns == names else Players.of(columns, named.members(names))
        place = {name: player for player, name in enumerate(players.names)}
        order = tuple(place[name] for name in named.names)
        return cls(arranged, players, order, None if groups is None else named.members(names))


def given_names(given: Any, width: int) -> tuple[str, ...]:
    """Names that the user gave to the columns, checked."""
    if isinstance(given, (str, bytes, set, frozenset)) or not hasattr(given, "__iter__"):
        raise InputError("feature_names", got=f"{given!r}", wanted="a list of names, one a column")
    names = tuple(map(str, given))
    if len(names) != width:
        raise InputError("feature_names", got=f"{len(names)} names", wanted=f"one for each of the {width} columns of X")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError("feature_names", got=f"{repeated[0]!r} more than once", wanted="distinct names")
    return names


def _names(f: Predictor, X: Any, background: Any, given: Any) -> tuple[str, ...]:
    """Names of the columns of X: those given, its own, the model's, the background's, or x0, x1, ..."""
    width = int(X.shape[1])
    if given is not None:
        return given_names(given, width)
    candidates = (labels_of(X), f.feature_names, labels_of(background), [f"x{i}" for i in range(width)])
    return next(tuple(map(str, names)) for names in candidates if names is not None and len(names) == width)


def _places(X: Any, arranged: Any) -> list[int]:
    """Where the columns of the arranged table are in X."""
    labels = labels_of(X)
    return list(range(X.shape[1])) if labels is None else [labels.index(label) for label in labels_of(arranged) or ()]
