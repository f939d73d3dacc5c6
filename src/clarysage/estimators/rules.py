"""Stopping rules of a run, which are asked at the end of each round, and the schedule of their interim analyses.

A rule reads the estimate of a round. The limits of a run are something else (:mod:`clarysage.estimators.limits`): a
budget and a deadline bound the draws before they are made, and never read an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.inference.estimate import Estimate, InterimAnalyses, StopReason
from clarysage.inference.stopping import LIMITS, must_see_more
from clarysage.protocols import Rule, SequentialRule, StoppingRule, ability


@dataclass(frozen=True)
class StoppingRules:
    """The rules that are asked at the end of a round.

    Attributes
    ----------
    confidence : the lowest confidence of the sequential rules; None where there is no sequential rule
    """

    rules: tuple[StoppingRule, ...]
    confidence: float | None

    @classmethod
    def of(cls, stop: Sequence[Rule]) -> StoppingRules:
        """Returns the rules of ``stop`` that are not limits."""
        rules = tuple(rule for rule in stop if not isinstance(rule, LIMITS))
        sequential = [rule for rule in (ability(rule, SequentialRule) for rule in rules) if rule is not None]
        return cls(rules, min((rule.confidence for rule in sequential), default=None))

    def reason(self, estimate: Estimate) -> StopReason | None:
        """Returns the reason of the first rule that has one to stop, or None."""
        return next((reason for rule in self.rules if (reason := _ask(rule, estimate)) is not None), None)


def _ask(rule: Callable[[Estimate], Any], estimate: Estimate) -> StopReason | None:
    """Asks a rule for a reason to stop; rules may also answer True or False."""
    try:
        answer = rule(estimate)
    except Exception as error:
        got = f"{type(error).__name__} from a rule: {error}"
        raise InputError("stop", got=got, wanted="a rule that works") from error
    if isinstance(answer, (bool, np.bool_)):
        return StopReason.RULE if answer else None
    if answer is None or isinstance(answer, StopReason):
        return answer
    raise InputError("stop", got=f"{answer!r} from a rule", wanted="a StopReason, True, False or None")


@dataclass(frozen=True)
class InterimSchedule:
    """Schedules the interim analyses of sequential rules: once errors are settled, then whenever draws have doubled.

    The schedule depends on the number of draws alone, never on their values.

    Attributes
    ----------
    count : analyses so far
    draws : draws at the last of them
    """

    count: int = 0
    draws: int = 0

    def after(self, estimate: Estimate) -> InterimSchedule:
        """Returns the schedule after a round, with one more analysis if it is due."""
        coverage = estimate.coverage
        is_due = estimate.draws >= 2 * self.draws and not must_see_more(estimate)
        if not is_due or not (coverage.is_settled or coverage.unvisited):
            return self
        return InterimSchedule(self.count + 1, estimate.draws)

    def marked(self, estimate: Estimate) -> Estimate:
        """Returns the estimate, marked as an interim analysis if the last one was at its draws."""
        is_now = self.count > 0 and estimate.draws == self.draws
        return replace(estimate, interim=InterimAnalyses(self.count, is_now=True)) if is_now else estimate

    def final(self, estimate: Estimate, confidence: float) -> Estimate:
        """Returns the final estimate, which counts as an analysis of its own unless the last was at its draws."""
        count = max(1, self.count + (estimate.draws != self.draws))
        return replace(estimate, interim=InterimAnalyses(count, estimate.interim.is_now, confidence))
