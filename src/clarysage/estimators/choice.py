"""The estimator for a game: given by the user, or chosen (``method="auto"``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clarysage.catalogue import METHODS
from clarysage.errors import InputError, Note, PythonOnly
from clarysage.estimators.closed_form import ClosedFormValues
from clarysage.estimators.exact import Exact
from clarysage.estimators.forecast import enumeration_cost, expected_cost, expected_rows, hybrid_rows
from clarysage.estimators.paired_walks.alternative import Alternative
from clarysage.estimators.paired_walks.estimator import PairedWalks
from clarysage.inference.stopping import row_limit, time_limit
from clarysage.protocols import ClosedForm, Estimator, Game, Rule, ability
from clarysage.registry import loaded

SHORTEST_DEADLINE = 60.0  # seconds; a closed form needs that many, since its kernels may have to be compiled first
SHARE_OF_DEADLINE = 0.1  # a closed form must be expected to take less
MOST_PLAYERS = 20  # with more players exact enumeration is not considered


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


def choose(game: Game, stop: Sequence[Rule] = ()) -> tuple[Estimator[Any], Note]:
    """Returns exact enumeration if it costs no more than paired walks are expected to, else paired walks; and a note.

    An enumeration that is cut short has no result, so it is not chosen if it may not fit a budget or a deadline among
    the rules of ``stop``. Paired walks change to exact values if they turn out to take longer.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> print(choose(TabularGame([0, 1, 2, 4]))[1])
    Method 'exact' was chosen: all coalitions take 2 model rows, no more than walks would.
    """
    if game.n_players == 1:
        return Exact(), chosen_note("exact", "one player is paid everything")
    closed_form = None if time_limit(stop) < SHORTEST_DEADLINE else ability(game, ClosedForm)
    if closed_form is not None and _is_fast_enough(closed_form, game, stop):
        return ClosedFormValues(), chosen_note("exact", closed_form.how)
    alternative = Alternative(Exact() if closed_form is None else ClosedFormValues(), tuple(stop))
    if game.n_players > MOST_PLAYERS:
        if closed_form is None:
            return PairedWalks(), chosen_note("paired walks", f"there are 2^{game.n_players} coalitions")
        return PairedWalks(alternative=alternative), chosen_note("paired walks", _times(closed_form, game, stop))
    walks = PairedWalks(alternative=alternative)
    exact, expected = Exact().rows(game, 2**game.n_players), expected_rows(game, stop)
    of_all = "" if exact == hybrid_rows(game) else f" for {_short(hybrid_rows(game))} hybrid rows"
    would = f"all coalitions would take {_short(exact)} model rows{of_all}"
    if time_limit(stop) < float("inf"):
        return walks, chosen_note("paired walks", f"{would}, which cannot be cut short at a deadline")
    if game.rows_spent + exact > row_limit(stop):
        return walks, chosen_note("paired walks", f"{would}, more than the budget")
    if enumeration_cost(game, exact) > expected:
        comparison = f"{would}, walks about {_short(expected)}"
        return walks, chosen_note(
            "paired walks", comparison if closed_form is None else _times(closed_form, game, stop)
        )
    return Exact(), chosen_note(
        "exact", f"all coalitions take {_short(exact)} model rows{of_all}, no more than walks would"
    )


def chosen_note(method: str, why: str) -> Note:
    """Returns a note on the method that was chosen.

    Examples
    --------
    >>> print(chosen_note("exact", "one player is paid everything"))
    Method 'exact' was chosen: one player is paid everything.
    """
    return Note(f"Method {method!r} was chosen: {why}.", topic="method")


def _is_fast_enough(closed_form: ClosedForm, game: Game, stop: Sequence[Rule]) -> bool:
    """Returns whether a closed form takes a short time, or no longer than walks, and fits a budget and a deadline."""
    examples = int((game.weights > 0).sum())
    rows = game.rows_spent + ClosedFormValues().rows(game, examples)
    seconds = closed_form.seconds + ClosedFormValues().pairs(game, examples) * closed_form.seconds_per_pair
    deadline = time_limit(stop)
    if rows > row_limit(stop) or seconds > SHARE_OF_DEADLINE * deadline:
        return False
    return closed_form.seconds <= max(closed_form.short_time, expected_cost(game, stop) * closed_form.seconds_per_pair)


def _times(closed_form: ClosedForm, game: Game, stop: Sequence[Rule]) -> str:
    """Returns the reason why a closed form was not taken: the seconds that it and walks are forecast to take."""
    walks = expected_cost(game, stop) * closed_form.seconds_per_pair
    return f"exact values are forecast to take {closed_form.seconds:.2g} s, and walks {walks:.2g} s"


def _short(rows: float) -> str:
    """Returns a number of rows as short text.

    Examples
    --------
    >>> _short(48_000), _short(2.3e9)
    ('48,000', '2.3e+09')
    """
    return f"{rows:,.0f}" if rows < 1e7 else f"{rows:.2g}"
