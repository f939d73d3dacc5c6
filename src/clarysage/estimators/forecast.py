"""Forecasts of the cost of a run, by counts of what it does: pairs of walks, model rows, and the seconds at the least.

Nothing is measured, so that a forecast is the same on any machine and a choice that depends on it keeps its bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.paired_walks.bias_correction import BiasCorrection
from clarysage.estimators.paired_walks.pilot import DEFAULT_SHARE, FIRST_CORRECTIONS
from clarysage.inference.stopping import Converged, convergence_rule, row_limit, time_limit
from clarysage.protocols import ClosedForm, Estimator, Game, Rule, SubsampledWalks, ability

TYPICAL_PAIRS = 2_000  # pairs of walks that are typically needed at the default tolerance
BIAS_OF_STEPS = 2.0  # typical variance of a draw of the bias correction, per variance of a pair of walks
SECONDS_OF_PAIR, SECONDS_OF_ROW = 2.5e-5, 3e-7  # of walks of the quickest models
SECONDS_OF_HYBRID_ROW = 2e-7  # of an enumeration
SECONDS_OF_CALL = 0.02  # of what every run does besides
SHARE_OF_REPEATED = 0.1  # of a model row: the payoffs of a hybrid row whose prediction is known


def expected_pairs(game: Game, stop: Sequence[Rule]) -> float:
    """Returns the pairs of walks expected to be needed: by the tolerance, but at least two passes over the examples."""
    tolerance = convergence_rule(stop).tolerance
    return max(TYPICAL_PAIRS * (Converged().tolerance / tolerance) ** 2, 2 * int((game.weights > 0).sum()))


def expected_rows(game: Game, stop: Sequence[Rule]) -> float:
    r"""Returns the model rows that paired walks are expected to take, with those of their bias correction.

    With losses that are step functions it takes most of the rows: with V and c the variance and the cost of a draw,

    .. math:: \Big( \sqrt{V_0 c_0} + \sqrt{V_1 c_1} \Big)^2

    for an error of one, where both levels are allocated as in :mod:`clarysage.estimators.paired_walks.pilot`.
    """
    walks, subsampled = expected_pairs(game, stop) * rows_of_pair(game), ability(game, SubsampledWalks)
    if subsampled is None or subsampled.is_unbiased:
        return walks
    if subsampled.jumps is True:
        pair, correction = rows_of_pair(game), BIAS_OF_STEPS * BiasCorrection.cost(game)
        return expected_pairs(game, stop) * float(np.sqrt(pair) + np.sqrt(correction)) ** 2
    return (1 + DEFAULT_SHARE) * walks + FIRST_CORRECTIONS * BiasCorrection.cost(game)


def expected_cost(game: Game, stop: Sequence[Rule]) -> float:
    """Returns the cost of paired walks as a number of pairs, with the bias correction of losses that are steps."""
    subsampled = ability(game, SubsampledWalks)
    if subsampled is None or subsampled.jumps is not True or subsampled.is_unbiased:
        return expected_pairs(game, stop)
    return expected_rows(game, stop) / max(1, rows_of_pair(game))


def hybrid_rows(game: Game) -> int:
    """Returns the hybrid rows of all coalitions, of which equal ones are counted each time."""
    return int((2**game.n_players - 2) * int((game.weights > 0).sum()) * game.rows_per_payoff)


def enumeration_cost(game: Game, rows: int) -> float:
    """Returns the cost of all coalitions, as a number of model rows, where so many rows are passed to the model."""
    return rows + SHARE_OF_REPEATED * max(0, hybrid_rows(game) - rows)


def least_seconds(game: Game, estimator: Estimator[Any], stop: Sequence[Rule]) -> float:
    """Returns about how many seconds a run takes with the quickest of models, by the work that is expected."""
    draws, pair = estimator.limit(game), max(1, rows_of_pair(game))
    if draws is None:
        pairs = min(expected_pairs(game, stop), row_limit(stop) / pair)
        seconds = pairs * (SECONDS_OF_PAIR + SECONDS_OF_ROW * pair)
    elif (closed_form := ability(game, ClosedForm)) is None:
        seconds = SECONDS_OF_HYBRID_ROW * hybrid_rows(game)
    else:
        seconds = closed_form.seconds + estimator.rows(game, draws) / pair * closed_form.seconds_per_pair
    return SECONDS_OF_CALL + min(seconds, time_limit(stop))
