"""The run that all measures share: stopping rules, workers and a checkpoint, and an estimator applied to a game."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from clarysage._measures.checkpoint_identity import CheckpointFile
from clarysage._measures.options import DataOptions, Run
from clarysage._measures.problem import Problem
from clarysage.catalogue import METHODS
from clarysage.errors import InputError, Note, RunFailedError
from clarysage.estimators import as_estimator, choose, estimate, estimate_null_game
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.observers import observer_of
from clarysage.games import PredictivePower, SingleDraws
from clarysage.inference.estimate import Estimate
from clarysage.inference.stopping import LIMITS, Budget, Converged, Deadline, convergence_rule
from clarysage.losses.choice import is_several
from clarysage.protocols import Estimator, Executor, Game, Rule

Result = TypeVar("Result")
SHORTEST_RUN = 0.01  # seconds that remain for the estimator, however long the preparations took
NOTED_OVERRUN, LEAST_NOTED = 0.15, 0.5  # share of the deadline, and seconds, that a run may take longer without a note


@dataclass(frozen=True)
class Runner:
    """Runs an estimator on a game, with the stopping rules, workers and checkpoint file of a call.

    It is made before anything is computed, so that invalid options raise an error at once.

    Attributes
    ----------
    run : the options of the run
    rules : the stopping rules; a deadline counts from the call of the measure, see :meth:`remaining`
    executor : the workers
    file : the checkpoint file, if there is one
    """

    run: Run
    rules: Sequence[Rule]
    executor: Executor
    file: CheckpointFile

    @classmethod
    def of(cls, run: Run, rules: Sequence[Rule] | None = None) -> Runner:
        """Makes a runner with the stopping rules of a run, or with others."""
        rules = rules_of(run) if rules is None else rules
        return cls(run, rules, as_executor(run.n_jobs), CheckpointFile.at(run.checkpoint))

    def with_seed(self, data: DataOptions) -> DataOptions:
        """Adds the seed of the run in the checkpoint to the data options, if no seed is given."""
        return {**data, "rng": self.file.seed(data.get("rng"))}

    def remaining(self, rules: Sequence[Rule]) -> list[Rule]:
        """Returns the rules with the remaining time of a deadline, which counts from the call of the measure."""
        return remaining(self.run, rules)

    def explain(
        self,
        problem: Problem,
        game: PredictivePower | SingleDraws,
        estimator: Estimator[Any],
        explain: Callable[[Estimate], Result],
        *,
        measure: str,
        rules: Sequence[Rule] | None = None,
        may_be_null: bool = False,
    ) -> Result:
        """Runs an estimator on a game and returns the explanation that ``explain`` makes of its estimate.

        ``rules`` replace the stopping rules of the runner. ``may_be_null``: a game in which no player changes any
        payoff is recognised first, which takes few model rows. If the run fails, its error carries the explanation of
        the estimate so far.
        """
        rules = self.rules if rules is None else rules
        _ = problem.fingerprints  # computed here, since a deadline covers it
        point = self.file.checkpoint(problem, game.power, measure=measure, estimator=estimator, rules=rules)

        def estimated() -> Estimate:
            null, played = None, game
            if may_be_null and estimator.limit(game) is None:
                null, rows = estimate_null_game(game, self.remaining(rules), executor=self.executor, seed=problem.seed)
                played = game.after(rows)
            return null or estimate(
                played,
                estimator,
                stop=self.remaining(rules),
                executor=self.executor,
                seed=problem.seed,
                observer=observer_of(convergence_rule(rules).progress),
                checkpoint=point,
            )

        return explain_run(self.run, estimated, explain)


def remaining(run: Run, rules: Sequence[Rule]) -> list[Rule]:
    """Returns the rules with the remaining time of a deadline, which counts from the call of the measure."""
    elapsed = time.monotonic() - run.called
    return [
        Deadline(max(SHORTEST_RUN, rule.seconds - elapsed)) if isinstance(rule, Deadline) else rule for rule in rules
    ]


def explain_run(run: Run, estimated: Callable[[], Estimate], explain: Callable[[Estimate], Result]) -> Result:
    """Returns the explanation of an estimate; the error of a failed run gets the explanation of the estimate so far."""
    try:
        result = estimated()
    except RunFailedError as error:
        raise RunFailedError(error.text, explain(error.partial)) from error.__cause__
    return explain(replace(result, notes=(*result.notes, *about_deadline(run))))


def about_deadline(run: Run) -> list[Note]:
    """Returns a note if a run took longer than its deadline, by more than a little."""
    seconds, taken = run.seconds, time.monotonic() - run.called
    if taken <= seconds + max(NOTED_OVERRUN * seconds, LEAST_NOTED):
        return []
    text = f"The run took {taken:.2g} s, and the deadline was {seconds:g} s: there was no estimate before."
    return [Note(text, topic="deadline")]


def single_or_list(explanations: list[Result], loss: object) -> Result | list[Result]:
    """Returns the list of explanations if the user gave a list of losses, and the only explanation if not."""
    return explanations if is_several(loss) else explanations[0]


def chosen_estimator(method: Any, game: Game, rules: Sequence[Rule]) -> tuple[Estimator[Any], list[Note]]:
    """Returns the estimator that a method names, or for "auto" one that fits the game, with a note that says why."""
    if not METHODS.is_special(method):
        return as_estimator(method, game, rules), []
    estimator, why = choose(game, rules)
    return estimator, [why]


def rules_of(run: Run, *, tolerance: bool = True, budget: bool = True) -> list[Rule]:
    """Returns the stopping rules of a run, at least one; some measures use the tolerance or the budget differently."""
    rules: list[Rule] = []
    if tolerance and run.tolerance is not None:
        rules.append(Converged(run.tolerance))
    if budget and run.budget is not None:
        rules.append(Budget(cast(int, run.budget)))  # checked by Budget
    if run.deadline is not None:
        rules.append(Deadline(run.deadline))
    for rule in run.further_rules:
        if isinstance(rule, type) or not (callable(rule) or isinstance(rule, LIMITS)):
            raise InputError("stop", got=f"{rule!r}", wanted="a rule called with the Estimate, such as Converged(0.01)")
        rules.append(rule)
    if not rules:
        raise InputError(
            "tolerance",
            got="None, and no budget, deadline or stop",
            wanted="at least one of them, so that the run ends",
        )
    return rules
