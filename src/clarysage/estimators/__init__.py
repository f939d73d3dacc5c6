"""Estimators: summaries of a game made of draws. ``METHODS`` is the table of names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clarysage.errors import InputError
from clarysage.estimators.exact import Exact
from clarysage.estimators.kernel import Kernel
from clarysage.estimators.loop import estimate
from clarysage.estimators.permutation import Permutation
from clarysage.estimators.stillness import nothing_moves
from clarysage.inference.stopping import Budget, Deadline
from clarysage.protocols import Estimator, Game

METHODS: dict[str, Callable[[], Estimator[Any]]] = {"exact": Exact, "permutation": Permutation, "kernel": Kernel}

TYPICAL_DRAWS = 10_000  # walks that sampling commonly needs at the default tolerance


def as_estimator(method: Any, game: Game, stop: Sequence[Any] = ()) -> Estimator[Any]:
    """An estimator by name, as an object, or chosen: exact where it is cheaper than sampling would be.

    Exact values are all or nothing, so they are not chosen where they may not fit a budget or a deadline among the
    rules of ``stop``. One player is paid everything, whatever the method.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> as_estimator("auto", TabularGame([0, 1, 2, 4])).name
    'exact'
    """
    if game.n_players == 1:
        return Exact()
    if isinstance(method, str):
        name = method.lower().strip()
        if name == "auto":
            return Exact() if _exact_is_cheaper(game, stop) else Permutation()
        if name not in METHODS:
            known = ", ".join(map(repr, ("auto", *METHODS)))
            raise InputError("method", got=f"{method!r}", wanted=f"one of {known}, or an object such as Kernel()")
        return METHODS[name]()
    if isinstance(method, type) and method in METHODS.values():
        return method()  # type: ignore[no-any-return]
    if all(
        callable(getattr(method, part, None)) for part in ("check", "chunk", "rows", "limit", "draw", "merge", "read")
    ):
        return method  # type: ignore[no-any-return]
    raise InputError("method", got=f"{type(method).__name__}", wanted="a name, or an object such as Permutation()")


def _exact_is_cheaper(game: Game, stop: Sequence[Any]) -> bool:
    if game.n_players > 20 or any(isinstance(rule, Deadline) for rule in stop):
        return False
    rows = Exact().rows(game, 2**game.n_players)
    if any(isinstance(rule, Budget) and game.rows_spent + rows > rule.rows for rule in stop):
        return False
    return rows <= Permutation().rows(game, TYPICAL_DRAWS)


__all__ = ["METHODS", "Exact", "Kernel", "Permutation", "as_estimator", "estimate", "nothing_moves"]
