"""A game as the table of all its payoffs: the same numbers, looked up instead of computed."""

from __future__ import annotations

import numpy as np

from clarysage.coalitions import masks
from clarysage.estimators import Exact, estimate
from clarysage.games import PredictivePower, TabularGame

ROWS_PER_PAYOFF = 16  # what a look is said to cost: a few hundred walks a chunk, as with models of ordinary size


def tabulated(game: PredictivePower, rows_per_payoff: int = ROWS_PER_PAYOFF) -> TabularGame:
    """The table of a game of one loss, for estimators that ask for payoffs of coalitions and nothing else.

    Examples
    --------
    >>> from tests.lab.problems import problem
    >>> tabulated(problem("linear", examples=5).game("squared error")).payoffs.shape
    (5, 256)
    """
    rng = np.random.default_rng(0)  # of no effect: withheld features are averaged over the whole background
    examples = np.arange(len(game.weights))
    coalitions = masks(np.arange(2**game.n_players), game.n_players)
    payoffs = [game.payoff(examples, np.tile(kept, (len(examples), 1)), rng)[:, 0] for kept in coalitions]
    return TabularGame(np.column_stack(payoffs), game.weights, rows_per_payoff)


def exact_values(table: TabularGame) -> np.ndarray:
    """The values (p,) by enumeration of all coalitions (Eq. 6)."""
    return np.asarray(estimate(table, Exact()).values[0])
