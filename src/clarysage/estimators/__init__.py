"""Estimators of Shapley values and other summaries of a game, by name in :mod:`clarysage.catalogue`."""

from __future__ import annotations

from clarysage.catalogue import METHODS
from clarysage.estimators.choice import as_estimator, choose, chosen_note
from clarysage.estimators.closed_form import ClosedFormValues
from clarysage.estimators.exact import Exact
from clarysage.estimators.kernel import Kernel
from clarysage.estimators.leave_one_out import LEAVE_ONE_IN, LEAVE_ONE_OUT
from clarysage.estimators.loop import ExhaustedError, estimate
from clarysage.estimators.null_game import estimate_null_game
from clarysage.estimators.paired_walks.estimator import PairedWalks
from clarysage.estimators.permutation import Permutation
from clarysage.estimators.permutation_importance import Repeats
from clarysage.estimators.surrogate_walks import SurrogateWalks

__all__ = [
    "LEAVE_ONE_IN",
    "LEAVE_ONE_OUT",
    "METHODS",
    "ClosedFormValues",
    "Exact",
    "ExhaustedError",
    "Kernel",
    "PairedWalks",
    "Permutation",
    "Repeats",
    "SurrogateWalks",
    "as_estimator",
    "choose",
    "chosen_note",
    "estimate",
    "estimate_null_game",
]
