"""Players in the order of a game's columns and in the order of the user; names of columns."""

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
    """The players of a game whose columns may be in another order than the user's.

    Attributes
    ----------
    players : the players, in the order of the game's columns
    order : the numbers of these players in the user's order
    members : the names of the columns of each player, if the user made groups

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
        """Makes the players of X for a game of ``arranged``, a table of the same columns in another order."""
        named = Players.of(names, groups)  # numbers in groups are columns of X as the user gave it
        is_same = arranged is None or arranged is X
        columns = names if is_same else tuple(names[number] for number in _column_numbers(X, arranged))
        players = named if columns == names else Players.of(columns, named.members(names))
        number = {name: player for player, name in enumerate(players.names)}
        order = tuple(number[name] for name in named.names)
        return cls(players, order, None if groups is None else named.members(names))

    def over_derived_columns(self, owner: np.ndarray) -> PlayerOrder:
        """Returns the players of a table whose columns (q,) are each derived from the column ``owner`` of this one."""
        return PlayerOrder(Players(self.players.names, self.players.owner[owner]), self.order, self.members)


def column_names(X: Any, given: Any, *others: Any) -> tuple[str, ...]:
    """Returns the given names of the columns of X, or its own, or the first of other known names, or x0, x1, ..."""
    width = int(X.shape[1])
    if given is not None:
        return _check_names(given, width)
    candidates = (labels_of(X), *others, [f"x{i}" for i in range(width)])
    return next(tuple(map(str, names)) for names in candidates if names is not None and len(names) == width)


def _check_names(given: Any, width: int) -> tuple[str, ...]:
    if isinstance(given, (str, bytes, set, frozenset)) or not hasattr(given, "__iter__"):
        raise InputError("feature_names", got=f"{given!r}", wanted="a list of names, one for each column")
    names = tuple(map(str, given))
    if len(names) != width:
        raise InputError(
            "feature_names", got=f"{len(names):,} names", wanted=f"one for each of the {width:,} columns of X"
        )
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError("feature_names", got=f"{repeated[0]!r} more than once", wanted="distinct names")
    return names


def _column_numbers(X: Any, arranged: Any) -> list[int]:
    """Returns the numbers in X of the columns of the arranged table."""
    labels = labels_of(X)
    return list(range(X.shape[1])) if labels is None else [labels.index(label) for label in labels_of(arranged) or ()]
