"""The run behind all measures: rules, workers, a checkpoint, an estimator on a game, and explanations."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from clarysage._measures.options import DataOptions, Run
from clarysage._measures.problem import Problem
from clarysage._measures.provenance import CheckpointFile
from clarysage.catalogue import METHODS
from clarysage.errors import InputError, Note, RunFailedError
from clarysage.estimators import as_estimator, choose, estimate, estimate_null_game
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.observers import ProgressBar, Silent
from clarysage.games import PredictivePower, SingleDraws
from clarysage.inference.estimate import Estimate
from clarysage.inference.stopping import LIMITS, Budget, Converged, Deadline, convergence_rule
from clarysage.protocols import Estimator, Executor, Game, Observer, Rule

Result = TypeVar("Result")
LEAST = 0.01  # seconds that a run has at least, whatever its preparations took


@dataclass(frozen=True)
class Runner:
    """What a run needs beside a problem: made first, so that options that make no sense end the call at once.

    Attributes
    ----------
    run : the options
    rules : that end the run; a deadline counts from the call of the measure, see :meth:`left`
    executor : the workers
    file : to keep the run in
    """

    run: Run
    rules: Sequence[Rule]
    executor: Executor
    file: CheckpointFile

    @classmethod
    def of(cls, run: Run, rules: Sequence[Rule] | None = None) -> Runner:
        """A runner by the rules of a run, or others."""
        rules = rules_of(run) if rules is None else rules
        return cls(run, rules, as_executor(run.n_jobs), CheckpointFile.at(run.checkpoint))

    def seeded(self, data: DataOptions) -> DataOptions:
        """Options of the data, with the seed of the run that the checkpoint holds where none is given."""
        return {**data, "rng": self.file.seed(data.get("rng"))}

    def left(self, rules: Sequence[Rule]) -> list[Rule]:
        """The rules, with what is left by now of a deadline, which counts from the call of the measure."""
        gone = time.monotonic() - self.run.called
        return [Deadline(max(LEAST, rule.seconds - gone)) if isinstance(rule, Deadline) else rule for rule in rules]

    def explained(
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
        """The explanation of what an estimator finds of a game; of a run that fails, in the error, of what it found.

        ``rules`` end the run in place of the runner's own. ``may_be_null``: a game that no player moves is looked for
        first, which takes few model rows.
        """
        rules = self.rules if rules is None else rules
        point = self.file.checkpoint(problem, game.power, measure=measure, estimator=estimator, rules=rules)

        def estimated() -> Estimate:
            null, played = None, game
            if may_be_null and estimator.limit(game) is None:
                null, rows = estimate_null_game(game, self.left(rules), executor=self.executor, seed=problem.seed)
                played = game.after(rows)
            return null or estimate(
                played,
                estimator,
                stop=self.left(rules),
                executor=self.executor,
                seed=problem.seed,
                observer=observer_of(self.run.progress, rules),
                checkpoint=point,
            )

        return explained_run(estimated, explain)


def explained_run(estimated: Callable[[], Estimate], explain: Callable[[Estimate], Result]) -> Result:
    """The explanation of an estimate; the error of a run that failed carries the explanation of the estimate so far."""
    try:
        result = estimated()
    except RunFailedError as error:
        raise RunFailedError(error.text, explain(error.partial)) from error.__cause__
    return explain(result)


def as_asked(explanations: list[Result], loss: object) -> Result | list[Result]:
    """All explanations where a list of losses was asked for, else the only one."""
    return explanations if isinstance(loss, (list, tuple)) else explanations[0]


def chosen_estimator(method: Any, game: Game, rules: Sequence[Rule]) -> tuple[Estimator[Any], list[Note]]:
    """The estimator that a method names, or that fits the game; and why, where it was chosen."""
    if not is_auto(method):
        return as_estimator(method, game, rules), []
    estimator, why = choose(game, rules)
    return estimator, [why]


def is_auto(method: Any) -> bool:
    """Whether a method is left to be chosen."""
    return METHODS.is_special(method)


def rules_of(run: Run, *, tolerance: bool = True, budget: bool = True) -> list[Rule]:
    """The rules that a run stops by, of which there must be one; the tolerance and the budget may have other uses."""
    rules: list[Rule] = []
    if tolerance and run.tolerance is not None:
        rules.append(Converged(run.tolerance))
    if budget and run.budget is not None:
        rules.append(Budget(cast(int, run.budget)))  # which is checked there
    if run.deadline is not None:
        rules.append(Deadline(run.deadline))
    for rule in run.further_rules:
        if isinstance(rule, type) or not (callable(rule) or isinstance(rule, LIMITS)):
            raise InputError("stop", got=f"{rule!r}", wanted="a rule called with the Estimate, such as Converged(0.01)")
        rules.append(rule)
    if not rules:
        raise InputError("tolerance", got="None, and no budget, deadline or stop", wanted="some reason to stop")
    return rules


def observer_of(progress: bool | None, rules: Sequence[Rule]) -> Observer:
    """A bar on stderr where one is wanted."""
    if not progress:
        return Silent()
    return ProgressBar(convergence_rule(rules).progress)
