"""Runs of measures that have an explanation of each example: estimators that keep examples apart, and rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clarysage._measures.options import Run
from clarysage._measures.run import is_auto, rules_of
from clarysage.catalogue import METHODS
from clarysage.errors import InputError, Note
from clarysage.estimators import Exact, as_estimator, choose, chosen_note
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.per_example import FEWEST_PASSES, SETTLED_PASSES, PerExample, needs_all_rows
from clarysage.estimators.permutation_importance import AfterRepeats
from clarysage.games import PredictivePower
from clarysage.inference.estimate import Estimate, LocalValues
from clarysage.inference.stopping import Budget, Converged, Deadline
from clarysage.protocols import Estimator, InPasses, KeepsExamplesApart, Rule, ability
from clarysage.registry import loaded

PAIRS_WORTH_EXACT = 32  # of walks an example: what exact values may cost, since errors of single examples fall slowly
MOST_PLAYERS = 20


def estimator_for(
    v: PredictivePower, method: Any, rules: Sequence[Rule], walks: int | None
) -> tuple[Estimator[Any], list[Note]]:
    """An estimator that keeps examples apart, and why, where it was chosen."""
    if not is_auto(method):
        return _named(v, method, rules, walks), []
    if v.n_players == 1:
        return as_estimator(method, v, rules), []
    sampled = _with_passes(PerExample(), walks)
    chosen, why = choose(v, rules)
    if ability(chosen, KeepsExamplesApart) is not None:
        return chosen, [why]
    if any(isinstance(rule, Deadline) for rule in rules) or v.n_players > MOST_PLAYERS:
        return sampled, [why]
    rows, most = Exact().rows(v, 2**v.n_players), min((r.rows for r in rules if isinstance(r, Budget)), default=np.inf)
    pair = rows_of_pair(v, all_rows=needs_all_rows(v))
    if rows <= PAIRS_WORTH_EXACT * pair * int((v.weights > 0).sum()) and v.rows_spent + rows <= most:
        words = f"all coalitions take {rows:,} model rows, no more than {PAIRS_WORTH_EXACT} pairs of walks an example"
        return Exact(), [chosen_note("exact", words)]
    return sampled, [why]


def _named(v: PredictivePower, method: Any, rules: Sequence[Rule], walks: int | None) -> Estimator[Any]:
    """The estimator that is asked for, or the one by its name that keeps examples apart; an error where none does."""
    if isinstance(method, str) and method not in METHODS:
        raise _not_by_example(method)
    estimator = as_estimator(method, v, rules)
    if ability(estimator, KeepsExamplesApart) is not None:
        return estimator
    row = METHODS[method] if isinstance(method, str) else None
    if row is None or row.by_example is None:
        raise _not_by_example(method)
    return _with_passes(loaded(row.by_example)(), walks)


def _with_passes(estimator: Estimator[Any], walks: int | None) -> Estimator[Any]:
    """An estimator whose rules are first asked after a number of passes, where that is wanted."""
    in_passes = ability(estimator, InPasses)
    return estimator if walks is None or in_passes is None else in_passes.looking_after(walks)


def _not_by_example(method: Any) -> InputError:
    names = [row.name for row in METHODS.values() if row.by_example or ability(row(), KeepsExamplesApart) is not None]
    wanted = f"'auto', {' or '.join(map(repr, names))}, which keep examples apart"
    return InputError("method", got=f"{method!r}", wanted=wanted)


def fewest_rows(v: PredictivePower) -> int:
    """Model rows of a run with the method that is chosen, up to its first look."""
    estimator = estimator_for(v, "auto", [Converged()], None)[0]
    if estimator.limit(v) is None:
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


def about_visits(result: Estimate) -> list[Note]:
    """What to say of examples that were looked at less often than others."""
    local = None if result.components is None else result.components.local
    visits = None if local is None else local.visits
    if visits is None:
        return []
    never, once = int((visits == 0).sum()), int((visits == 1).sum())
    if never or once:
        text = (
            f"Of {len(visits):,} examples {never:,} were not looked at, and have no values of their own; {once:,} were "
            "looked at once, and have no errors."
        )
        return [Note(text, topic="visits")]
    fewest, most = int(visits.min()), int(visits.max())
    pairs = fewest if fewest == most else f"{fewest} or {most}"
    return [Note(f"Every example had {pairs} pairs of walks.", topic="visits")]


def rules_by_example(run: Run, walks: int | None) -> list[Rule]:
    """The rules that a run stops by; a number of walks takes the place of a tolerance."""
    if walks is None:
        return rules_of(run)
    is_whole_number = isinstance(walks, (int, np.integer)) and not isinstance(walks, bool)
    if not is_whole_number or walks < FEWEST_PASSES:
        raise InputError("walks", got=f"{walks!r}", wanted="a whole number of pairs of walks an example, 2 or more")
    rules = rules_of(replace(run, tolerance=run.tolerance or Converged().tolerance))
    return [rule for rule in rules if not isinstance(rule, Converged)]


def rules_for(v: PredictivePower, rules: Sequence[Rule], walks: int | None) -> list[Any]:
    """Rules for a game, with the number of walks that was asked for."""
    return [*rules, *([] if walks is None else [AfterRepeats(walks, int((v.weights > 0).sum()))])]
