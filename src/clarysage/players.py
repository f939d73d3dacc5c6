"""Players of the game: features or named groups of features, with the columns of each."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError, PythonOnly, resembling


@dataclass(frozen=True)
class Players:
    """The players: features, or groups of features that become known together.

    Parameters
    ----------
    names : names of the p players
    owner : (d,) number of the player that each column belongs to

    Examples
    --------
    >>> players = Players.of(["temp", "humidity", "hour"], groups={"weather": ["temp", "humidity"]})
    >>> players.names
    ('weather', 'hour')
    >>> players.columns(np.array([[True, False]]))
    array([[ True,  True, False]])
    """

    names: tuple[str, ...]
    owner: np.ndarray

    @classmethod
    def of(cls, features: Sequence[str], groups: Mapping[str, Sequence[Any]] | None = None) -> Players:
        """Returns the players of features and groups; a column without a group is a player itself."""
        features = tuple(features)
        if groups is None:
            return cls(features, np.arange(len(features)))
        member_of = _members(features, groups)
        owners = [member_of.get(column, feature) for column, feature in enumerate(features)]
        clash = {feature for column, feature in enumerate(features) if column not in member_of} & {*member_of.values()}
        if clash:
            raise InputError(
                "groups", got=f"a group named {min(clash)!r}, as a feature outside it", wanted="other names"
            )
        player_of = {name: player for player, name in enumerate(dict.fromkeys(owners))}
        return cls(tuple(player_of), np.array([player_of[name] for name in owners], dtype=np.intp))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sets_of_columns(self) -> list[np.ndarray]:
        """The columns of each player."""
        order, counts = np.argsort(self.owner, kind="stable"), np.bincount(self.owner, minlength=len(self))
        return np.split(order, np.cumsum(counts)[:-1])

    @property
    def as_columns(self) -> Players:
        """These players in a table where each of them has a single column."""
        return Players(self.names, np.arange(len(self)))

    def columns(self, coalitions: np.ndarray) -> np.ndarray:
        """Returns the masks of the columns of coalitions: (n, p) -> (n, d)."""
        return np.asarray(coalitions[:, self.owner])

    def owners_of(self, columns: np.ndarray) -> np.ndarray:
        """Returns a mask of the players (p,) that own at least one column in a mask of columns (d,)."""
        return np.asarray(np.bincount(self.owner, weights=columns, minlength=len(self)) > 0)

    def entry_positions(self, orders: np.ndarray) -> np.ndarray:
        """Returns the step, 1 to p, at which each column enters if players enter in these orders: (n, p) -> (n, d)."""
        steps = np.empty_like(orders)
        np.put_along_axis(steps, orders, np.arange(1, orders.shape[1] + 1)[None, :], axis=1)
        return np.asarray(steps[:, self.owner])

    def members(self, features: Sequence[str]) -> dict[str, list[str]]:
        """Returns the names of the features of each player."""
        members: dict[str, list[str]] = {name: [] for name in self.names}
        for feature, player in zip(features, self.owner.tolist(), strict=True):
            members[self.names[player]].append(feature)
        return members


def _members(features: tuple[str, ...], groups: Mapping[str, Sequence[Any]]) -> dict[int, str]:
    if not isinstance(groups, Mapping):
        raise InputError(
            "groups",
            got=type(groups).__name__,
            wanted="a mapping of names to columns",
            hint=PythonOnly('{"weather": ["temp"]}'),
        )
    names = [str(name) for name in groups]
    if len(set(names)) < len(names):
        raise InputError("groups", got=f"the names {names}", wanted="distinct names")
    member_of: dict[int, str] = {}
    grouped = {str(member) for members in groups.values() if hasattr(members, "__iter__") for member in members}
    column_of = {feature: column for column, feature in enumerate(features)}
    for name, members in zip(names, groups.values(), strict=True):
        if isinstance(members, (str, bytes)) or not hasattr(members, "__iter__") or not list(members):
            raise InputError("groups", got=f"{members!r} for group {name!r}", wanted="a list of one or more columns")
        for member in members:
            column = _column(member, column_of, name, grouped)
            if column in member_of:
                where = "one group twice" if member_of[column] == name else f"both {member_of[column]!r} and {name!r}"
                raise InputError("groups", got=f"{features[column]!r} in {where}", wanted="each column in one group")
            member_of[column] = name
    return member_of


def _column(member: Any, column_of: Mapping[str, int], group: str, grouped: Container[str]) -> int:
    """Returns the number of a column by its name or number; the error suggests a column that is in no group."""
    if str(member) in column_of:
        return column_of[str(member)]
    d = len(column_of)
    if isinstance(member, (int, np.integer)) and not isinstance(member, bool):
        if 0 <= member < d:
            return int(member)
        raise InputError("groups", got=f"column {member} in {group!r}", wanted=f"columns 0 to {d - 1}")
    shown = ", ".join(map(repr, list(column_of)[:8])) + (", ..." if d > 8 else "")
    near = resembling(str(member), [name for name in column_of if name not in grouped])
    raise InputError(
        "groups", got=f"{member!r} in {group!r}, which is not a column", wanted=f"one of {shown}", hint=near
    )
