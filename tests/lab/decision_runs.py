"""Runs that stop when a decision falls: how often it is wrong, and how many draws it took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.estimators import PairedWalks, estimate
from clarysage.execution.serial import Serial
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.sequential import HELPS, HURTS, UNDECIDED, TopKnown, least_lead, level_of, signs
from clarysage.inference.stopping import Budget
from clarysage.protocols import Executor, Game

ALONE = Serial()


@dataclass(frozen=True)
class DecisionRuns:
    """Of runs that stopped when a decision fell: whether it was wrong, whether all was decided, passes it took."""

    wrong: np.ndarray
    decided: np.ndarray
    passes: np.ndarray


@dataclass(frozen=True)
class Hasty:
    """The same decision as a rule makes, by whoever looks at every pause with the same 95 %; for comparison."""

    rule: Any

    def __call__(self, found: Estimate) -> StopReason | None:
        if isinstance(self.rule, TopKnown):
            least, _ = least_lead(found.values[0], found.covariance[0], found.dof[0], self.rule.k, 0.95)
            return StopReason.RULE if least > 0 else None
        said = _each_on_its_own(found)
        return None if UNDECIDED in said else StopReason.RULE


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
    """Runs with seeds of their own, until the rule has its decision, or the budget is spent.

    Examples
    --------
    >>> from clarysage.estimators import Exact, estimate
    >>> from clarysage.inference.sequential import SignsKnown
    >>> from tests.lab.problems import problem
    >>> game = problem("linear", examples=20).game("squared error")
    >>> found = decision_runs(game, estimate(game, Exact()).values[0], SignsKnown(), runs=2)
    >>> found.wrong.tolist()
    [False, False]
    """
    seeds = [1_000_003 * (seed + 1) + number for number in range(runs)]
    found = list((executor or ALONE).map(DecidingRun(game, rule, budget), seeds))
    judged = [_judged(one, truth, rule) for one in found]
    length = int((game.weights > 0).sum())
    return DecisionRuns(
        np.array([wrong for wrong, _ in judged]),
        np.array([decided for _, decided in judged]),
        np.array([one.draws / length for one in found]),
    )


@dataclass(frozen=True)
class DecidingRun:
    """Makes the run of a seed; what a worker needs to know."""

    game: Game
    rule: Any
    budget: float

    def __call__(self, seed: int) -> Estimate:
        rules = [self.rule, Budget(int(self.budget))]
        return estimate(self.game, PairedWalks(), stop=rules, seed=seed, executor=ALONE)


def _judged(found: Estimate, truth: np.ndarray, rule: Any) -> tuple[bool, bool]:
    """Whether anything claimed is wrong, and whether all was claimed."""
    is_hasty = isinstance(rule, Hasty)
    asked = rule.rule if is_hasty else rule
    level = 0.95 if is_hasty else level_of(0.95, found.interim.count)
    if isinstance(asked, TopKnown):
        least, _ = least_lead(found.values[0], found.covariance[0], found.dof[0], asked.k, level)
        chosen, right = (set(np.argsort(-values, kind="stable")[: asked.k]) for values in (found.values[0], truth))
        return least > 0 and chosen != right, least > 0
    said = _each_on_its_own(found) if is_hasty else signs(found.values[0], found.std_error[0], found.dof[0], level)
    wrong = any(
        (word == HELPS and value <= 0) or (word == HURTS and value >= 0)
        for word, value in zip(said, truth, strict=True)
    )
    return wrong, UNDECIDED not in said


def _each_on_its_own(found: Estimate) -> list[str]:
    """Signs at 95 % each."""
    values, errors, dof = (part[0][:, None] for part in (found.values, found.std_error, found.dof))
    return [signs(value, error, nu, 0.95)[0] for value, error, nu in zip(values, errors, dof, strict=True)]
