"""Runs that stop at a decision by a sequential test: how often it is wrong, and how many draws it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.estimators import PairedWalks, estimate
from clarysage.execution.serial import Serial
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.sequential import HELPS, HURTS, UNDECIDED, TopKnown, least_lead, level_of, sign_names
from clarysage.inference.stopping import Budget
from clarysage.protocols import Executor, Game

SERIAL = Serial()


@dataclass(frozen=True)
class DecisionRuns:
    """Results of runs that stop at a decision.

    Attributes
    ----------
    wrong : (runs,) true if any decision was wrong
    decided : (runs,) true if everything was decided
    passes : (runs,) draws per example
    """

    wrong: np.ndarray
    decided: np.ndarray
    passes: np.ndarray


@dataclass(frozen=True)
class UnadjustedRule:
    """The decision of a rule without adjustment for interim analyses: each of them uses the full 5 %."""

    rule: Any

    def __call__(self, current: Estimate) -> StopReason | None:
        if isinstance(self.rule, TopKnown):
            least, _ = least_lead(current.values[0], current.covariance[0], current.dof[0], self.rule.k, 0.95)
            return StopReason.RULE if least > 0 else None
        return None if UNDECIDED in _unadjusted_signs(current) else StopReason.RULE


def decision_runs(
    game: Game,
    truth: np.ndarray,
    rule: Any,
    *,
    runs: int,
    budget: float = 5e5,
    seed: int = 0,
    executor: Executor | None = None,
) -> DecisionRuns:
    """Makes runs with different seeds until the rule decides or the budget is spent.

    Examples
    --------
    >>> from clarysage.estimators import Exact, estimate
    >>> from clarysage.inference.sequential import SignsKnown
    >>> from tests.lab.problems import problem
    >>> game = problem("linear", examples=20).game("squared error")
    >>> decision_runs(game, estimate(game, Exact()).values[0], SignsKnown(), runs=2).wrong.tolist()
    [False, False]
    """
    seeds = [1_000_003 * (seed + 1) + number for number in range(runs)]
    estimates = list((executor or SERIAL).map(DecidingRun(game, rule, budget), seeds))
    outcomes = [_wrong_and_decided(result, truth, rule) for result in estimates]
    length = int((game.weights > 0).sum())
    return DecisionRuns(
        np.array([wrong for wrong, _ in outcomes]),
        np.array([decided for _, decided in outcomes]),
        np.array([result.draws / length for result in estimates]),
    )


@dataclass(frozen=True)
class DecidingRun:
    """A run as a function of its seed, which can be sent to workers."""

    game: Game
    rule: Any
    budget: float

    def __call__(self, seed: int) -> Estimate:
        rules = [self.rule, Budget(int(self.budget))]
        return estimate(self.game, PairedWalks(), stop=rules, seed=seed, executor=SERIAL)


def _wrong_and_decided(result: Estimate, truth: np.ndarray, rule: Any) -> tuple[bool, bool]:
    """Tells whether any decision is wrong, and whether everything is decided."""
    is_unadjusted = isinstance(rule, UnadjustedRule)
    sequential = rule.rule if is_unadjusted else rule
    level = 0.95 if is_unadjusted else level_of(0.95, result.interim.count)
    if isinstance(sequential, TopKnown):
        k = sequential.k
        least, _ = least_lead(result.values[0], result.covariance[0], result.dof[0], k, level)
        top, true_top = (set(np.argsort(-values, kind="stable")[:k]) for values in (result.values[0], truth))
        return least > 0 and top != true_top, least > 0
    decisions = (
        _unadjusted_signs(result)
        if is_unadjusted
        else sign_names(result.values[0], result.std_error[0], result.dof[0], level)
    )
    wrong = any(
        (decision == HELPS and value <= 0) or (decision == HURTS and value >= 0)
        for decision, value in zip(decisions, truth, strict=True)
    )
    return wrong, UNDECIDED not in decisions


def _unadjusted_signs(result: Estimate) -> list[str]:
    """Decides the sign of each value at 95 %, without adjustment for their number."""
    values, errors, dof = (part[0][:, None] for part in (result.values, result.std_error, result.dof))
    return [sign_names(value, error, nu, 0.95)[0] for value, error, nu in zip(values, errors, dof, strict=True)]
