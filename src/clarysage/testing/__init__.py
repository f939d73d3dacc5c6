"""Problems whose answer is known, and how often intervals hold it: does the library keep its word?"""

from clarysage.testing.bank import CORRUPTIONS, Corruption, bank, bank_model
from clarysage.testing.bars import AT_A_STOP, Bars, failures
from clarysage.testing.calibration import Calibration
from clarysage.testing.cells import calibrate, losses_of, tolerance_for_twice, trial_of
from clarysage.testing.decision_runs import DecisionRuns, Hasty, decision_runs
from clarysage.testing.faults import FAULTS, planted
from clarysage.testing.measure_checks import check_measure, measure_checks
from clarysage.testing.measure_problems import MeasureProblem, measure_problem
from clarysage.testing.population_runs import PopulationRuns, population_runs
from clarysage.testing.populations import POPULATIONS, Population
from clarysage.testing.problems import PROBLEMS, Problem, problem
from clarysage.testing.runs import Runs, make_runs
from clarysage.testing.tabulated import exact_values, tabulated

__all__ = [
    "AT_A_STOP",
    "CORRUPTIONS",
    "FAULTS",
    "POPULATIONS",
    "PROBLEMS",
    "Bars",
    "Calibration",
    "Corruption",
    "DecisionRuns",
    "Hasty",
    "MeasureProblem",
    "Population",
    "PopulationRuns",
    "Problem",
    "Runs",
    "bank",
    "bank_model",
    "calibrate",
    "check_measure",
    "decision_runs",
    "exact_values",
    "failures",
    "losses_of",
    "make_runs",
    "measure_checks",
    "measure_problem",
    "planted",
    "population_runs",
    "problem",
    "tabulated",
    "tolerance_for_twice",
    "trial_of",
]
