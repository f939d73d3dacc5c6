"""Forecasts of the cost of a run, by counts of what it does: pairs of walks, model rows, and the seconds at the least.

Nothing is measured, so that a forecast is the same on any machine and a choice that depends on it keeps its bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.paired_walks.bias_correction import BiasCorrection
from clarysage.estimators.paired_walks.pilot import DEFAULT_SHARE, FIRST_CORRECTIONS
from clarysage.inference.stopping import Converged, convergence_rule
from clarysage.protocols import Game, Rule, SubsampledWalks, ability

TYPICAL_PAIRS = 2_000  # pairs of walks that are typically needed at the default tolerance


def expected_pairs(game: Game, stop: Sequence[Rule]) -> float:
    """Returns the pairs of walks expected to be needed: by the tolerance, but at least two passes over the examples."""
    tolerance = convergence_rule(stop).tolerance
    return max(TYPICAL_PAIRS * (Converged().tolerance / tolerance) ** 2, 2 * int((game.weights > 0).sum()))


def expected_rows(game: Game, stop: Sequence[Rule]) -> float:
    """Returns the model rows that paired walks are expected to take, with those of their bias correction."""
    walks, subsampled = expected_pairs(game, stop) * rows_of_pair(game), ability(game, SubsampledWalks)
    if subsampled is None or subsampled.is_unbiased:
        return walks
    return (1 + DEFAULT_SHARE) * walks + FIRST_CORRECTIONS * BiasCorrection.cost(game)
