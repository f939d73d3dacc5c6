"""Estimators: summaries of a game made of draws. ``METHODS`` is the table of names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clarysage.errors import InputError, resembling
from clarysage.estimators.choice import choose
from clarysage.estimators.closed_form import SolvedGame
from clarysage.estimators.exact import Exact
from clarysage.estimators.kernel import Kernel
from clarysage.estimators.leave_one_out import LEAVE_ONE_IN, LEAVE_ONE_OUT
from clarysage.estimators.loop import ExhaustedError, estimate
from clarysage.estimators.null_game import nothing_moves
from clarysage.estimators.paired_walks import PairedWalks
from clarysage.estimators.permutation import Permutation
from clarysage.estimators.permutation_importance import Repeats
from clarysage.estimators.surrogate_walks import SurrogateWalks
from clarysage.protocols import ClosedForm, Estimator, Game, ability

METHODS: dict[str, Callable[[], Estimator[Any]]] = {
    "exact": Exact,
    "paired walks": PairedWalks,
    "surrogate walks": SurrogateWalks,
    "permutation": Permutation,
    "kernel": Kernel,
}

PARTS = ("check", "prepared", "chunk", "pause", "rows", "limit", "draw", "merge", "read")


def as_estimator(method: Any, game: Game, stop: Sequence[Any] = ()) -> Estimator[Any]:
    """An estimator by name, as an object, or chosen; one player is paid everything, whatever the method.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> as_estimator("auto", TabularGame([0, 1, 2, 4])).name
    'exact'
    """
    if game.n_players == 1:
        return Exact()
    if isinstance(method, str):
        name = method.lower().replace("_", " ").replace("-", " ").strip()
        if name == "auto":
            return choose(game, stop)[0]
        if name not in METHODS:
            known = ", ".join(map(repr, ("auto", *METHODS)))
            raise InputError("method", got=f"{method!r}", wanted=f"one of {known}, or an object such as Kernel()",
                             hint=resembling(name, ("auto", *METHODS)))  # fmt: skip
        if name == "exact" and ability(game, ClosedForm) is not None:
            return SolvedGame()
        return METHODS[name]()
    if isinstance(method, type) and method in METHODS.values():
        return method()  # type: ignore[no-any-return]
    if all(callable(getattr(method, part, None)) for part in PARTS):
        return method  # type: ignore[no-any-return]
    raise InputError("method", got=f"{type(method).__name__}", wanted="a name, or an object such as Permutation()")


__all__ = [
    "LEAVE_ONE_IN",
    "LEAVE_ONE_OUT",
    "METHODS",
    "Exact",
    "ExhaustedError",
    "Kernel",
    "PairedWalks",
    "Permutation",
    "Repeats",
    "SolvedGame",
    "SurrogateWalks",
    "as_estimator",
    "choose",
    "estimate",
    "nothing_moves",
]
