"""Who plays: names of the user's columns, and the players by the columns as a game has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.players import Players
from clarysage.tables import labels_of


@dataclass(frozen=True)
class PlayerOrder:
    """Players of a game whose columns need not be in the user's order.

    Attributes
    ----------
    players : numbered by the columns of the game
    order : leads from these to the players in the user's order
    members : names of the columns of each player, where the user made groups

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"b": [1], "a": [2]})
    >>> player_order = PlayerOrder.of(("b", "a"), X, X[["a", "b"]])
    >>> player_order.players.names, [player_order.players.names[i] for i in player_order.order]
    (('a', 'b'), ['b', 'a'])
    """

    players: Players
    order: tuple[int, ...]
    members: dict[str, list[str]] | None

    @classmethod
    def of(
        cls, names: tuple[str, ...], X: Any, arranged: Any = None, groups: Mapping[str, Sequence[Any]] | None = None
    ) -> PlayerOrder:
        """Players of X, whose columns have the given names, for a game of ``arranged``, the same in another order."""
        named = Players.of(names, groups)  # numbers in groups are places in X as it was handed in
        is_same = arranged is None or arranged is X
        columns = names if is_same else tuple(names[place] for place in _places(X, arranged))
        players = named if columns == names else Players.of(columns, named.members(names))
        place = {name: player for player, name in enumerate(players.names)}
        order = tuple(place[name] for name in named.names)
        return cls(players, order, None if groups is None else named.members(names))

    def spread(self, owner: np.ndarray) -> PlayerOrder:
        """The same players over columns (q,), each made of one of the columns before."""
        return PlayerOrder(Players(self.players.names, self.players.owner[owner]), self.order, self.members)


def column_names(X: Any, given: Any, *others: Any) -> tuple[str, ...]:
    """Names of the columns of X: those given, its own, the first of others that are known, or x0, x1, ..."""
    width = int(X.shape[1])
    if given is not None:
        return _checked(given, width)
    candidates = (labels_of(X), *others, [f"x{i}" for i in range(width)])
    return next(tuple(map(str, names)) for names in candidates if names is not None and len(names) == width)


def _checked(given: Any, width: int) -> tuple[str, ...]:
    if isinstance(given, (str, bytes, set, frozenset)) or not hasattr(given, "__iter__"):
        raise InputError("feature_names", got=f"{given!r}", wanted="a list of names, one a column")
    names = tuple(map(str, given))
    if len(names) != width:
        raise InputError(
            "feature_names", got=f"{len(names):,} names", wanted=f"one for each of the {width:,} columns of X"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError("feature_names", got=f"{repeated[0]!r} more than once", wanted="distinct names")
    return names


def _places(X: Any, arranged: Any) -> list[int]:
    """Where the columns of the arranged table are in X."""
    labels = labels_of(X)
    return list(range(X.shape[1])) if labels is None else [labels.index(label) for label in labels_of(arranged) or ()]
