"""Cooperative games: the payoffs of coalitions of features, example by example."""

from clarysage.games.predictive_power import PredictivePower, pointwise, sensitivity
from clarysage.games.single_draws import SingleDraws
from clarysage.games.tabular import TabularGame
from clarysage.games.universal_power import UniversalPower

__all__ = ["PredictivePower", "SingleDraws", "TabularGame", "UniversalPower", "pointwise", "sensitivity"]
