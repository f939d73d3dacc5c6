"""Estimators of Shapley values and other summaries of a game, by name in :mod:`clarysage.catalogue`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clarysage.catalogue import METHODS
from clarysage.errors import InputError, PythonOnly
from clarysage.estimators.choice import choose, chosen_note
from clarysage.estimators.closed_form import ClosedFormValues
from clarysage.estimators.exact import Exact
from clarysage.estimators.kernel import Kernel
from clarysage.estimators.leave_one_out import LEAVE_ONE_IN, LEAVE_ONE_OUT
from clarysage.estimators.loop import ExhaustedError, estimate
from clarysage.estimators.null_game import estimate_null_game
from clarysage.estimators.paired_walks.estimator import PairedWalks
from clarysage.estimators.permutation import Permutation
from clarysage.estimators.permutation_importance import Repeats
from clarysage.estimators.surrogate_walks import SurrogateWalks
from clarysage.protocols import ClosedForm, Estimator, Game, Rule, ability
from clarysage.registry import loaded


def as_estimator(method: Any, game: Game, stop: Sequence[Rule] = ()) -> Estimator[Any]:
    """Returns an estimator given by name, by class or as an object, or chosen for the game.

    For a single player it is always exact, since that player is paid everything.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> as_estimator("auto", TabularGame([0, 1, 2, 4])).name
    'exact'
    """
    if game.n_players == 1:
        return Exact()
    if METHODS.is_special(method):
        return choose(game, stop)[0]
    if isinstance(method, str):
        row = METHODS.get_row(method)
        has_closed_form = row.closed_form is not None and ability(game, ClosedForm) is not None
        named: Estimator[Any] = loaded(row.closed_form)() if has_closed_form else row()
        return named
    if isinstance(method, type) and METHODS.row_of(method) is not None:
        return as_estimator(method(), game, stop)
    ready = None if isinstance(method, type) else ability(method, Estimator)
    if ready is not None:
        return ready
    raise InputError(
        "method", got=f"{type(method).__name__}", wanted=["a name", PythonOnly(", or an object such as Permutation()")]
    )


__all__ = [
    "LEAVE_ONE_IN",
    "LEAVE_ONE_OUT",
    "METHODS",
    "ClosedFormValues",
    "Exact",
    "ExhaustedError",
    "Kernel",
    "PairedWalks",
    "Permutation",
    "Repeats",
    "SurrogateWalks",
    "as_estimator",
    "choose",
    "chosen_note",
    "estimate",
    "estimate_null_game",
]
