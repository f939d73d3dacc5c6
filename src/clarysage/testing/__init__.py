"""Checks for user-defined measures: the contract that all measures of this library fulfil."""

from clarysage.testing.checks import check_measure, measure_checks
from clarysage.testing.problems import MeasureProblem, measure_problem

__all__ = ["MeasureProblem", "check_measure", "measure_checks", "measure_problem"]
