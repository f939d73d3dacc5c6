"""Problems whose answer is known, and how often intervals hold it: does the library keep its word?"""

from clarysage.testing.bars import AT_A_STOP, Bars, failures
from clarysage.testing.calibration import Calibration
from clarysage.testing.cells import calibrate, losses_of, tolerance_for_twice, trial_of
from clarysage.testing.faults import FAULTS, planted
from clarysage.testing.problems import PROBLEMS, Problem, problem
from clarysage.testing.runs import Runs, make_runs

__all__ = [
    "AT_A_STOP",
    "FAULTS",
    "PROBLEMS",
    "Bars",
    "Calibration",
    "Problem",
    "Runs",
    "calibrate",
    "failures",
    "losses_of",
    "make_runs",
    "planted",
    "problem",
    "tolerance_for_twice",
    "trial_of",
]
