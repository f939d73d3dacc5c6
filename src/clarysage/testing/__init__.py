"""Checks for measures of your own: everything that the measures of this library promise."""

from clarysage.testing.checks import check_measure, measure_checks
from clarysage.testing.problems import MeasureProblem, measure_problem

__all__ = ["MeasureProblem", "check_measure", "measure_checks", "measure_problem"]
