"""Runs of measures that have an explanation of each example: estimators that keep examples apart, and rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clarysage._measures.options import Rule, Run
from clarysage._measures.run import rules_of
from clarysage.errors import InputError
from clarysage.estimators import ClosedFormValues, Exact, as_estimator, choose
from clarysage.estimators.antithetic import rows_of_pair
from clarysage.estimators.per_example import FEWEST_PASSES, SETTLED_PASSES, PerExample, needs_all_rows
from clarysage.estimators.permutation_importance import AfterRepeats
from clarysage.games import PredictivePower
from clarysage.inference.estimate import Estimate
from clarysage.inference.local import LocalValues
from clarysage.inference.stopping import Budget, Converged, Deadline
from clarysage.protocols import Estimator
from clarysage.registry import normalised

PAIRS_WORTH_EXACT = 32  # of walks an example: what exact values may cost, since errors of single examples fall slowly
MOST_PLAYERS = 20


def estimator_for(
    v: PredictivePower, method: Any, rules: Sequence[Any], walks: int | None
) -> tuple[Estimator[Any], list[str]]:
    """An estimator that keeps examples apart, and why, where it was chosen."""
    sampled = PerExample() if walks is None else PerExample(first_look=walks)
    if isinstance(method, (PerExample, Exact, ClosedFormValues)):
        return method, []
    name = normalised(method) if isinstance(method, str) else None
    if name not in ("auto", "exact", "paired walks"):
        raise InputError("method", got=f"{method!r}", wanted="'auto', 'exact' or 'paired walks', which keep examples "
                         "apart")  # fmt: skip
    if v.n_players == 1 or name == "exact":
        return as_estimator("exact", v, rules), []
    if name == "paired walks":
        return sampled, []
    chosen, why = choose(v, rules)
    if isinstance(chosen, (Exact, ClosedFormValues)):
        return chosen, [why]
    if any(isinstance(rule, Deadline) for rule in rules) or v.n_players > MOST_PLAYERS:
        return sampled, [why]
    rows, most = Exact().rows(v, 2**v.n_players), min((r.rows for r in rules if isinstance(r, Budget)), default=np.inf)
    pair = rows_of_pair(v, all_rows=needs_all_rows(v))
    if rows <= PAIRS_WORTH_EXACT * pair * int((v.weights > 0).sum()) and v.rows_spent + rows <= most:
        return Exact(), [f"Method 'exact' was chosen: all coalitions take {rows:,} model rows, no more than "
                         f"{PAIRS_WORTH_EXACT} pairs of walks an example."]  # fmt: skip
    return sampled, [why]


def fewest_rows(v: PredictivePower) -> int:
    """Model rows of a run with the method that is chosen, up to its first look."""
    estimator = estimator_for(v, "auto", [Converged()], None)[0]
    if isinstance(estimator, PerExample):
        return SETTLED_PASSES * int((v.weights > 0).sum()) * rows_of_pair(v, all_rows=needs_all_rows(v))
    return 0  # exact values are chosen where they are no dearer, and solved ones ask for none


def examples_of(result: Estimate, weights: np.ndarray) -> LocalValues:
    """Values of all examples (N, L, p), NaN for those that are not known."""
    there = weights > 0
    found = None if result.components is None else result.components.local_values(weights[there])
    if found is None:  # no example's loss changes: see _finished of the loop
        nothing = np.zeros((int(there.sum()), *result.values.shape))
        found = LocalValues(nothing, nothing)
    return found.over_all(there)


def about_visits(result: Estimate) -> list[str]:
    """What to say of examples that were looked at less often than others."""
    local = None if result.components is None else result.components.local
    visits = None if local is None else local.visits
    if visits is None:
        return []
    never, once = int((visits == 0).sum()), int((visits == 1).sum())
    if never or once:
        return [f"Of {len(visits):,} examples {never:,} were not looked at, and have no values of their own; {once:,} "
                "were looked at once, and have no errors."]  # fmt: skip
    fewest, most = int(visits.min()), int(visits.max())
    return [f"Every example had {fewest if fewest == most else f'{fewest} or {most}'} pairs of walks."]


def rules_by_example(run: Run, walks: int | None) -> list[Rule]:
    """The rules that a run stops by; a number of walks takes the place of a tolerance."""
    if walks is None:
        return rules_of(run)
    is_whole_number = isinstance(walks, (int, np.integer)) and not isinstance(walks, bool)
    if not is_whole_number or walks < FEWEST_PASSES:
        raise InputError("walks", got=f"{walks!r}", wanted="a whole number of pairs of walks an example, 2 or more")
    rules = rules_of(replace(run, tolerance=run.tolerance or Converged().tolerance))
    return [rule for rule in rules if not isinstance(rule, Converged)]


def rules_for(v: PredictivePower, rules: Sequence[Any], walks: int | None) -> list[Any]:
    """Rules for a game, with the number of walks that was asked for."""
    return [*rules, *([] if walks is None else [AfterRepeats(walks, int((v.weights > 0).sum()))])]
