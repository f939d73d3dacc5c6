"""Checks for measures of your own: everything that the measures of this library promise."""

from clarysage.testing.measure_checks import check_measure, measure_checks
from clarysage.testing.measure_problems import MeasureProblem, measure_problem

__all__ = ["MeasureProblem", "check_measure", "measure_checks", "measure_problem"]
