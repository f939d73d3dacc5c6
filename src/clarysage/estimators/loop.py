"""The only sampling loop: rounds of chunks, merged in order, until a rule, a budget or a deadline ends them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import InputError, Note, RunFailedError, Set
from clarysage.estimators.draws import is_null
from clarysage.estimators.limits import FEWEST_FOR_AN_ERROR, Chunk, Limits
from clarysage.estimators.progress import Progress
from clarysage.execution.observers import Silent
from clarysage.execution.seeds import DRAWS, PILOT, stream
from clarysage.execution.serial import Serial
from clarysage.inference.degrees_of_freedom import Estimated
from clarysage.inference.estimate import Estimate, StopReason, VarianceComponents
from clarysage.inference.population import Sampled, leverage, targets
from clarysage.inference.stopping import LIMITS, Converged
from clarysage.protocols import (
    Adaptive,
    Decomposed,
    Estimator,
    Executor,
    Game,
    LateError,
    Observer,
    Piloted,
    Rule,
    SelfMatched,
    SequentialRule,
    StoppingRule,
    SubsampledWalks,
    ability,
)

if TYPE_CHECKING:
    from clarysage.estimators.checkpoint import Checkpoint

COVERAGE = "coverage"  # the topic of notes on the share of examples that was seen
ROUNDING = 1e-10  # of the loss without features, that examples may move by where no feature has an effect


class ExhaustedError(Exception):
    """Raised by an executor that has spent a budget of its own: the run ends with the estimate so far."""


def estimate(
    game: Game,
    estimator: Estimator[Any],
    *,
    stop: Sequence[Rule] = (Converged(),),
    executor: Executor | None = None,
    seed: int = 0,
    observer: Observer | None = None,
    checkpoint: Checkpoint | None = None,
) -> Estimate:
    """Draws until the first of the rules says stop, and reads the estimate.

    Rounds depend on the game and on the draws made so far, never on the workers, and rules are asked at their ends
    alone: the same seed gives the same bits on any executor. A deadline or Ctrl-C ends the run between chunks, with
    the estimate so far; where anything fails, the model or a rule, a :class:`~clarysage.errors.RunFailedError` carries
    it. With a checkpoint the run goes on where an earlier one was broken off, be it amid a round, and has the bits of
    one that was not.
    """
    estimator.check(game)
    executor = executor or Serial()
    run = RunState(
        game, estimator, seed, Limits.of(game, estimator, stop), Rules.of(stop), observer or Silent(), checkpoint
    )
    try:
        reason = run.resumed()
        while reason is None and run.prepare_round():
            with closing(executor.map(run.work, run.chunks, run.time_left)) as parts:
                for _, part in zip(run.chunks, parts, strict=True):
                    run.merge(part)
                    run.check_time()
            reason = run.end_round()
            run.save()
        if reason is None:  # no draws are left
            reason = StopReason.EXACT if run.limits.is_finite else StopReason.BUDGET
    except LateError:
        reason = StopReason.DEADLINE
    except ExhaustedError:
        if run.progress.made < FEWEST_FOR_AN_ERROR:
            raise
        reason = StopReason.BUDGET
    except KeyboardInterrupt:
        if not run.has_estimate:
            raise
        reason = StopReason.INTERRUPTED
    except Exception as error:
        if not run.has_estimate:
            raise
        raise RunFailedError.after(error, run.estimate(StopReason.FAILED)) from error
    finally:
        run.observer.close()
        run.save()
    if reason is StopReason.DEADLINE and run.limits.is_finite:
        got, wanted = f"{run.limits.seconds:g} s", "more time for exact enumeration"
        raise InputError("deadline", got=got, wanted=wanted, hint=Set("method", "paired walks"))
    return _finished(run.estimate(reason), game)


class RunState:
    """A run of an estimator on a game: what was asked for, and its progress.

    Attributes
    ----------
    estimator : that of the current round
    progress : the draws so far; what there is to keep in a file
    chunks : of the current round, as they were left when it began or was resumed
    work : makes the draws of a chunk; replaced with the estimator alone, since workers are sent it once
    """

    def __init__(
        self,
        game: Game,
        estimator: Estimator[Any],
        seed: int,
        limits: Limits,
        rules: Rules,
        observer: Observer,
        checkpoint: Checkpoint | None,
    ) -> None:
        self.game, self.estimator, self.seed = game, estimator, seed
        self.limits, self.rules, self.observer, self.checkpoint = limits, rules, observer, checkpoint
        self.progress = Progress(spent=game.rows_spent)
        if checkpoint is not None:
            self.progress, self.estimator = checkpoint.resumed(self.progress, game, estimator, seed)
        self.begun, self.seconds_before = time.monotonic(), self.progress.seconds
        self.chunks: list[Chunk] = []
        self.work = Work(self.estimator, game, seed)

    def resumed(self) -> StopReason | None:
        """Shows what an earlier call left, and asks the rules, which may be others than those of that call."""
        if not self.progress.rounds:
            return None
        if self.limits.is_finite:
            self._count()
            return None
        current = self.progress.interim.marked(self.estimator.read(self.game, self.progress.state))
        if self.progress.is_between_rounds:
            return self._ask(current)
        self.observer(current, self.elapsed)
        return None

    def prepare_round(self) -> bool:
        """Plans the chunks of the next round, or the rest of one that was broken off; whether there is such a round.

        A round that was broken off may have all its chunks, and only its estimate was not looked at.
        """
        progress = self.progress
        if progress.is_between_rounds:
            self._prepare_estimator()
            made, number, spent = progress.made, progress.number, progress.spent
            progress.begin_round(self.limits.round(self.game, self.estimator, made, number, spent))
        self.chunks = progress.left[::-1]
        return not progress.is_between_rounds

    def _prepare_estimator(self) -> None:
        """Lets the estimator learn before the round, where it has something to learn."""
        progress, rows = self.progress, self.limits.rows_to_plan - self.progress.spent
        ready = learned(self.estimator, self.game, self.seed, progress.number, rows, progress.state)
        if ready is not self.estimator:
            progress.preparations.append((progress.number, float(rows)))
            self.estimator, self.work = ready, Work(ready, self.game, self.seed)

    def merge(self, part: Any) -> None:
        """Merges the draws of the next chunk."""
        self.progress.take(self.estimator, part)

    def check_time(self) -> None:
        """Raises :class:`LateError` where the time is up before the last draw."""
        if self.time_left() < 0 and self.progress.made < self.limits.draws:
            raise LateError

    def end_round(self) -> StopReason | None:
        """Shows the estimate to the observer, and asks the rules why to stop, if at all."""
        if self.limits.is_finite:
            self.progress.end_round()
            self._count()
            return None
        current = self.estimator.read(self.game, self.progress.state)
        return self._ask(self.progress.record_round(current, decides=self.rules.confidence is not None))

    def _ask(self, current: Estimate) -> StopReason | None:
        reason = self.rules.reason(current)
        self.observer(replace(current, stopped=reason), self.elapsed)
        return reason

    def _count(self) -> None:
        self.observer.count(self.progress.made / self.limits.draws, self.elapsed)

    def save(self) -> None:
        """Keeps the run in the file of its checkpoint."""
        if self.checkpoint is not None:
            self.progress.seconds = self.elapsed
            self.checkpoint.write(self.progress, self.estimator)

    @property
    def elapsed(self) -> float:
        """Seconds of the run, those of earlier calls included."""
        return time.monotonic() - self.begun + self.seconds_before

    def time_left(self) -> float:
        """Seconds until the deadline, which waits until there is an estimate to hand out."""
        if self.progress.made < FEWEST_FOR_AN_ERROR:
            return float("inf")
        return self.begun + self.limits.seconds - time.monotonic()

    @property
    def has_estimate(self) -> bool:
        """Whether what was drawn so far makes an estimate; a part of an enumeration does not."""
        return self.progress.made >= FEWEST_FOR_AN_ERROR and not self.limits.is_finite

    def estimate(self, reason: StopReason) -> Estimate:
        """The estimate so far, with what it says of populations."""
        result = replace(_with_targets(self.estimator, self.game, self.progress.state), stopped=reason)
        if self.rules.confidence is not None:
            result = self.progress.interim.final(result, self.rules.confidence)
        return replace(result, trace=self.progress.trace.ended(result))


@dataclass(frozen=True)
class Work:
    """Makes the draws of a chunk; what a worker needs to know."""

    estimator: Estimator[Any]
    game: Game
    entropy: int

    def __call__(self, chunk: Chunk) -> Any:
        rng = stream(self.entropy, DRAWS, chunk.number)
        return self.estimator.draw(self.game, chunk.first, chunk.draws, rng)


@dataclass(frozen=True)
class Rules:
    """The rules that are asked at the end of a round.

    Attributes
    ----------
    confidence : the least that a rule which decides is asked for; None where there is no such rule
    """

    rules: tuple[StoppingRule, ...]
    confidence: float | None

    @classmethod
    def of(cls, stop: Sequence[Rule]) -> Rules:
        """The rules among these that are no limits."""
        rules = tuple(rule for rule in stop if not isinstance(rule, LIMITS))
        deciding = [decides for rule in rules if (decides := ability(rule, SequentialRule)) is not None]
        return cls(rules, min((rule.confidence for rule in deciding), default=None))

    def reason(self, current: Estimate) -> StopReason | None:
        """What the first rule says that has a reason to stop."""
        return next((reason for rule in self.rules if (reason := _asked(rule, current)) is not None), None)


def _asked(rule: Callable[[Estimate], Any], current: Estimate) -> StopReason | None:
    """What a rule says of the estimate; a plain True or False is understood."""
    try:
        answer = rule(current)
    except Exception as error:
        got = f"{type(error).__name__} from a rule: {error}"
        raise InputError("stop", got=got, wanted="a rule that works") from error
    if isinstance(answer, (bool, np.bool_)):
        return StopReason.RULE if answer else None
    if answer is None or isinstance(answer, StopReason):
        return answer
    raise InputError("stop", got=f"{answer!r} from a rule", wanted="a StopReason, True, False or None")


def learned(estimator: Estimator[Any], game: Game, seed: int, number: int, rows: float, state: Any) -> Estimator[Any]:
    """The estimator for the round that begins with chunk ``number``: after its pilot run, or with what it has learned.

    It depends on the seed, the model ``rows`` that are left and the state of the draws alone, so that a run that is
    resumed learns the same again.
    """
    rng = stream(seed, PILOT, number)
    if state is None:
        piloted = ability(estimator, Piloted)
        return estimator if piloted is None else piloted.prepared(game, rows, rng)
    adaptive = ability(estimator, Adaptive)
    return estimator if adaptive is None else adaptive.adapted(game, state, rng)


def _with_targets(estimator: Estimator[Any], game: Game, state: Any) -> Estimate:
    """The estimate, and what it says of the populations that examples and background were drawn from."""
    result = estimator.read(game, state)
    decomposed, matched = ability(estimator, Decomposed), ability(game, SelfMatched)
    components = None if decomposed is None else decomposed.components(game, state)
    if components is None:
        return result
    is_positive = game.weights > 0
    weights, self_match = game.weights[is_positive], None if matched is None else matched.self_match
    self_match = None if self_match is None else self_match[is_positive]
    sampled = Sampled(weights, _background_weights(game, components), self_match)
    return replace(
        result,
        targets=targets(Estimated(result.values, result.covariance, result.dof), components, sampled),
        tails=leverage(components.contributions, weights),
        components=components,
    )


def _background_weights(game: Game, components: VarianceComponents) -> np.ndarray:
    if components.background_weights is not None:
        return components.background_weights
    subsampled = ability(game, SubsampledWalks)
    return np.ones(1) if subsampled is None else subsampled.background_weights


def _finished(result: Estimate, game: Game) -> Estimate:
    """The estimate that is handed out: zeros of a null game, and a note where examples were left out."""
    if result.stopped is StopReason.NO_EFFECT and not _is_null(result, game):
        return replace(result, stopped=StopReason.EQUAL)
    if result.stopped is StopReason.NO_EFFECT:
        zeros, none = np.zeros_like(result.values), np.zeros_like(result.covariance)
        return replace(result, values=zeros, covariance=none, targets={}, tails=None, components=None, trace=None)
    if result.stopped is not None and result.stopped.is_converged and result.coverage.unvisited:
        visited, count = 100 * result.coverage.visited, len(game.weights)
        note = Note(
            f"It rests on {visited:.1f} % of the examples: seeing all {count:,} would take too long.", topic=COVERAGE
        )
        return replace(result, notes=(*result.notes, note))
    return result


def _is_null(result: Estimate, game: Game) -> bool:
    """Whether values are zero since no example moves, not since what examples lose and gain adds up to nothing."""
    if result.components is None or result.components.contributions is None:
        return is_null(game)
    return bool((np.abs(result.components.contributions).sum(axis=0) <= ROUNDING * result.scale[:, None]).all())
