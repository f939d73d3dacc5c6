"""Estimators: summaries of a game made of draws. ``METHODS`` is the table of names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarysage.errors import InputError
from clarysage.estimators.exact import Exact
from clarysage.estimators.kernel import Kernel
from clarysage.estimators.loop import estimate, probe
from clarysage.estimators.permutation import Permutation
from clarysage.protocols import Estimator, Game

METHODS: dict[str, Callable[[], Estimator[Any]]] = {"exact": Exact, "permutation": Permutation, "kernel": Kernel}

TYPICAL_DRAWS = 10_000  # walks that sampling commonly needs at the default tolerance


def as_estimator(method: Any, game: Game, budget: float | None = None) -> Estimator[Any]:
    """An estimator by name, as an object, or chosen: exact where it is cheaper than sampling would be.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> as_estimator("auto", TabularGame([0, 1, 2, 4])).name
    'exact'
    """
    if isinstance(method, str):
        name = method.lower().strip()
        if name == "auto":
            return Exact() if _exact_is_cheaper(game, budget) else Permutation()
        if name not in METHODS:
            known = ", ".join(map(repr, ("auto", *METHODS)))
            raise InputError("method", got=f"{method!r}", wanted=f"one of {known}, or an object such as Kernel()")
        return METHODS[name]()
    if isinstance(method, type) and method in METHODS.values():
        return method()  # type: ignore[no-any-return]
    if hasattr(method, "draw") and hasattr(method, "merge"):
        return method  # type: ignore[no-any-return]
    raise InputError("method", got=f"{type(method).__name__}", wanted="a name, or an object such as Permutation()")


def _exact_is_cheaper(game: Game, budget: float | None) -> bool:
    p = game.n_players
    if p > 20:
        return False
    rows = (2**p - 2) * len(game.weights) * game.rows_per_payoff
    if budget is not None and rows + game.rows_spent > budget:
        return False
    return bool(rows <= TYPICAL_DRAWS * (p - 1) * game.rows_per_payoff)


__all__ = ["METHODS", "Exact", "Kernel", "Permutation", "as_estimator", "estimate", "probe"]
