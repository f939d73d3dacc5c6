"""Which pairs of players are wanted: those that were named, or all among the players that matter most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from clarysage.errors import InputError, resembling
from clarysage.players import Players

ALL_PAIRS = 6  # players or fewer of whom all pairs are wanted, where nothing is said ...
TOP = 5  # ... and else those among so many


@dataclass(frozen=True)
class PairsWanted:
    """Named pairs (K, 2), or None for all among ``top`` players; ``order`` has the players as the user counts them."""

    named: np.ndarray | None
    top: int
    order: tuple[int, ...]

    @classmethod
    def of(cls, pairs: Any, top: Any, players: Players, order: tuple[int, ...]) -> PairsWanted:
        """What the user asked for, checked; numbers count players as the user does."""
        p = len(players)
        if p < 2:
            raise InputError("X", got="one player", wanted="two features or groups, of which a pair can be made")
        if pairs is not None and top is not None:
            raise InputError("top", got=f"{top!r} beside pairs", wanted="one of the two")
        if pairs is not None:
            named = np.array([_pair(pair, players, order) for pair in _listed(pairs)], dtype=np.intp)
            if len({frozenset(pair) for pair in named.tolist()}) < len(named):
                raise InputError("pairs", got="a pair more than once", wanted="each at most once")
            return cls(named, p, order)
        if top is not None and (isinstance(top, bool) or not isinstance(top, (int, np.integer)) or top < 2):
            raise InputError("top", got=f"{top!r}", wanted="a whole number of two or more", hint=f"top={TOP}")
        return cls(None, min(p, int(top) if top is not None else p if p <= ALL_PAIRS else TOP), order)

    @property
    def everyone(self) -> np.ndarray:
        """All that may be wanted, before it is known who matters most."""
        return self.among(self.order) if self.named is None else self.named

    def chosen(self, values: np.ndarray) -> np.ndarray:
        """The pairs, when the players' values (p,) are known."""
        if self.named is not None:
            return self.named
        by_user = values[list(self.order)]  # of equal values, the first that the user has
        places = np.sort(np.argsort(-by_user, kind="stable")[: self.top])
        return self.among([self.order[place] for place in places])

    @staticmethod
    def among(players: Sequence[int]) -> np.ndarray:
        return np.array(list(combinations(players, 2)), dtype=np.intp)

    @property
    def counts(self) -> tuple[int, int]:
        """How many players are in a pair, and how many pairs there are."""
        if self.named is not None:
            return len(np.unique(self.named)), len(self.named)
        return self.top, self.top * (self.top - 1) // 2


def _listed(pairs: Any) -> list[Any]:
    """The pairs, one by one; a single pair stands for a list of one."""
    if isinstance(pairs, (str, bytes)) or not hasattr(pairs, "__iter__"):
        raise InputError("pairs", got=f"{pairs!r}", wanted="a list of pairs", hint='pairs=[("age", "income")]')
    found = list(pairs)
    if len(found) == 2 and all(isinstance(one, (str, int, np.integer)) for one in found):
        found = [tuple(found)]
    if not found:
        raise InputError("pairs", got="an empty list", wanted="one pair or more")
    return found


def _pair(pair: Any, players: Players, order: Sequence[int]) -> tuple[int, int]:
    is_pair = hasattr(pair, "__iter__") and not isinstance(pair, (str, bytes, set, frozenset)) and len(list(pair)) == 2
    if not is_pair:
        raise InputError("pairs", got=f"{pair!r}", wanted="pairs of names or numbers", hint='pairs=[("age", "income")]')
    one, other = (_player(player, players, order) for player in pair)
    if one == other:
        raise InputError("pairs", got=f"{pair!r}", wanted="two different features")
    return one, other


def _player(player: Any, players: Players, order: Sequence[int]) -> int:
    names = [players.names[place] for place in order]
    if str(player) in names:
        return order[names.index(str(player))]
    if isinstance(player, (int, np.integer)) and not isinstance(player, bool) and 0 <= player < len(order):
        return order[int(player)]
    near = resembling(str(player), names)
    shown = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    raise InputError("pairs", got=f"{player!r}", wanted=f"one of {shown}, or its number", hint=near)
