"""What measures share: when to stop, and who watches."""

from __future__ import annotations

from typing import Any

from clarysage.errors import InputError
from clarysage.execution.observers import ProgressBar, Silent
from clarysage.inference.stopping import Budget, Converged, Deadline
from clarysage.protocols import Observer


def rules_of(tolerance: Any, budget: Any, deadline: Any, stop: Any) -> list[Any]:
    """The rules that a run stops by; a reason to stop there must be."""
    rules: list[Any] = [] if tolerance is None else [Converged(tolerance)]
    rules += [] if budget is None else [Budget(budget)]
    rules += [] if deadline is None else [Deadline(deadline)]
    given = stop if isinstance(stop, (list, tuple)) else [] if stop is None else [stop]
    for rule in given:
        if isinstance(rule, type) or not (callable(rule) or isinstance(rule, Deadline)):
            raise InputError("stop", got=f"{rule!r}", wanted="a rule called with the Estimate, such as Converged(0.01)")
    rules += given
    if not rules:
        raise InputError("tolerance", got="None, and no budget, deadline or stop", wanted="some reason to stop")
    return rules


def observer_of(progress: bool | None, rules: list[Any]) -> Observer:
    """A bar on stderr where one is wanted."""
    if not progress:
        return Silent()
    criterion = next((rule for rule in rules if isinstance(rule, Converged)), Converged())
    return ProgressBar(criterion.progress)
