"""The only sampling loop: rounds of chunks, merged in order, until a rule, a budget or a deadline ends them."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import InputError, Note, RunFailedError
from clarysage.estimators.draws import is_null
from clarysage.estimators.progress import Progress
from clarysage.execution.observers import Silent
from clarysage.execution.seeds import DRAWS, PILOT, stream
from clarysage.execution.serial import Serial
from clarysage.inference.degrees_of_freedom import Estimated
from clarysage.inference.estimate import Estimate, InterimAnalyses, StopReason, VarianceComponents
from clarysage.inference.population import Sampled, leverage, targets
from clarysage.inference.stopping import Budget, Converged, Deadline, must_see_more
from clarysage.protocols import (
    Decomposed,
    Estimator,
    Executor,
    Game,
    LateError,
    Observer,
    SelfMatched,
    SequentialRule,
    StoppingRule,
    SubsampledWalks,
    ability,
)

if TYPE_CHECKING:
    from clarysage.estimators.checkpoint import Checkpoint

FEWEST_FOR_AN_ERROR = 2  # draws without which there is no standard error, and so no estimate to hand out
ROUNDING = 1e-10  # of the loss without features, that examples may move by where no feature has an effect
CHUNKS_TO_SHARE = 16  # in a round, where draws suffice, so that several workers have their part in it
MOST_TO_SHARE_EVENLY = 8  # workers
ROWS_BY_THE_CLOCK = 2**18  # model rows that preparations count on where there is a deadline, which they do not see


@dataclass(frozen=True)
class Chunk:
    """Draws ``first`` to ``first + draws``, made from random stream ``number``."""

    number: int
    first: int
    draws: int


@dataclass(frozen=True)
class Work:
    """Makes the draws of a chunk; what a worker needs to know."""

    estimator: Estimator[Any]
    game: Game
    entropy: int

    def __call__(self, chunk: Chunk) -> Any:
        rng = stream(self.entropy, DRAWS, chunk.number)
        return self.estimator.draw(self.game, chunk.first, chunk.draws, rng)


def estimate(
    game: Game,
    estimator: Estimator[Any],
    *,
    stop: Sequence[StoppingRule | Budget | Deadline] = (Converged(),),
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
    observer, executor = observer or Silent(), executor or Serial()
    limits = Limits.of(game, estimator, stop)
    rules: list[StoppingRule] = [rule for rule in stop if not isinstance(rule, (Budget, Deadline))]
    deciding = [decision for rule in rules if (decision := ability(rule, SequentialRule)) is not None]
    confidences = [rule.confidence for rule in deciding]
    run = Progress(Looks(confidences), game.rows_spent)
    if checkpoint is not None:
        run, estimator = checkpoint.resumed(run, game, estimator, seed)
    begun = time.monotonic()
    watch = Watch(rules, observer, begun - run.seconds)
    work: Work | None = None
    reason: StopReason | None = None

    def time_left() -> float:
        return begun + limits.seconds - time.monotonic() if run.made >= FEWEST_FOR_AN_ERROR else float("inf")

    try:
        if run.rounds:  # rules may be others than those that were asked by an earlier call
            reason = watch.again(run, estimator, game, limits)
        while reason is None:
            if run.is_looked:
                rows = limits.rows_to_plan - run.spent
                ready = estimator.prepared(game, rows, stream(seed, PILOT, run.number), run.state)
                if ready is not estimator:
                    run.preparations.append((run.number, float(rows)))
                    estimator, work = ready, None
                run.left = limits.round(game, estimator, run.made, run.number, run.spent)[::-1]
                run.is_looked = not run.left
            if run.is_looked:
                break
            work = work or Work(estimator, game, seed)  # a new function would be sent to the workers anew
            chunks = run.left[::-1]
            with closing(executor.map(work, chunks, time_left)) as parts:
                for chunk, part in zip(chunks, parts, strict=True):
                    run.take(estimator, chunk, part)
                    if time_left() < 0 and run.made < limits.draws:
                        raise LateError
            reason = watch.ended(run, estimator, game, limits)
            if checkpoint is not None:
                run.seconds = watch.elapsed
                checkpoint.write(run)
        reason = reason or (StopReason.EXACT if limits.is_finite else StopReason.BUDGET)
    except LateError:
        reason = StopReason.DEADLINE
    except ExhaustedError:
        if run.made < FEWEST_FOR_AN_ERROR:
            raise
        reason = StopReason.BUDGET
    except KeyboardInterrupt:
        if run.made < FEWEST_FOR_AN_ERROR or limits.is_finite:
            raise
        reason = StopReason.INTERRUPTED
    except Exception as error:
        if run.made < FEWEST_FOR_AN_ERROR or limits.is_finite:
            raise
        partial = run.looks.last(_reaching(estimator, game, run.state))
        raise RunFailedError.after(error, replace(partial, stopped=StopReason.FAILED)) from error
    finally:
        observer.close()
        if checkpoint is not None:
            run.seconds = watch.elapsed
            checkpoint.write(run)
    if limits.is_finite and reason is StopReason.DEADLINE:
        raise InputError(
            "deadline",
            got=f"{limits.seconds:g} s",
            wanted="more time for exact enumeration",
            hint='method="paired walks"',
        )
    result = run.looks.last(replace(_reaching(estimator, game, run.state), stopped=reason))
    return _finished(replace(result, trace=run.trace.ended(result)), game)


@dataclass(frozen=True)
class Watch:
    """Who is shown a run at the end of each round: the rules, and an observer; and when it began."""

    rules: Sequence[StoppingRule]
    observer: Observer
    begun: float

    @property
    def elapsed(self) -> float:
        """Seconds of the run, those of earlier calls included."""
        return time.monotonic() - self.begun

    def ended(self, run: Progress, estimator: Estimator[Any], game: Game, limits: Limits) -> StopReason | None:
        """Why to stop at the end of a round, if at all."""
        if limits.is_finite:
            run.end_round()
            return self.again(run, estimator, game, limits)
        return self._said(run.look(estimator.read(game, run.state)))

    def again(self, run: Progress, estimator: Estimator[Any], game: Game, limits: Limits) -> StopReason | None:
        """The same of a round that has been looked at; amid a round there is no reason, but something to see."""
        if limits.is_finite:
            self.observer.count(run.made / limits.draws, self.elapsed)
            return None
        current = run.looks.again(estimator.read(game, run.state))
        if run.is_looked:
            return self._said(current)
        self.observer(current, self.elapsed)
        return None

    def _said(self, current: Estimate) -> StopReason | None:
        reason = next((said for rule in self.rules if (said := _asked(rule, current)) is not None), None)
        self.observer(replace(current, stopped=reason), self.elapsed)
        return reason


@dataclass
class Looks:
    """Counts the looks that decisions have at a run: the first once errors are settled, others when draws have doubled.

    When they come depends on how many draws there are, never on what these found.
    """

    confidences: list[float]
    number: int = 0
    at: int = 0

    def taken(self, current: Estimate) -> Estimate:
        """The estimate, and whether it is a look."""
        is_ready = current.draws >= 2 * self.at and not must_see_more(current)
        coverage = current.coverage
        if not self.confidences or not is_ready or not (coverage.is_settled or coverage.unvisited):
            return current
        self.number, self.at = self.number + 1, current.draws
        return replace(current, interim=InterimAnalyses(self.number, is_now=True))

    def again(self, current: Estimate) -> Estimate:
        """The estimate of a round that was looked at, as it was then."""
        is_now = self.number > 0 and current.draws == self.at
        return replace(current, interim=InterimAnalyses(self.number, is_now=True)) if is_now else current

    def last(self, result: Estimate) -> Estimate:
        """The estimate that is handed out, a further look unless it was one."""
        if not self.confidences:
            return result
        looks = max(1, self.number + (result.draws != self.at))
        interim = replace(result.interim, count=looks, confidence=min(self.confidences))
        return replace(result, interim=interim)


class ExhaustedError(Exception):
    """Raised by an executor that has spent a budget of its own: the run ends with the estimate so far."""


@dataclass(frozen=True)
class Limits:
    """How many draws there may be, how many model rows, and how many seconds."""

    draws: float
    rows: float
    seconds: float

    @classmethod
    def of(cls, game: Game, estimator: Estimator[Any], stop: Sequence[Any]) -> Limits:
        seconds = min((rule.seconds for rule in stop if isinstance(rule, Deadline)), default=float("inf"))
        rows = min((rule.rows for rule in stop if isinstance(rule, Budget)), default=float("inf"))
        whole = estimator.limit(game)
        if whole is None:
            return cls(float("inf"), rows, seconds)
        needed = game.rows_spent + estimator.rows(game, whole)
        if needed > rows:
            raise InputError("budget", got=f"{rows:,} model rows", wanted=f"{needed:,} for the method "
                             f"{estimator.name!r}", hint='method="paired walks"')  # fmt: skip
        return cls(whole, float("inf"), seconds)

    @property
    def is_finite(self) -> bool:
        """Whether there is an end to the draws, after which nothing is left to be uncertain of."""
        return self.draws < float("inf")

    @property
    def rows_to_plan(self) -> float:
        """Model rows that preparations may reckon with."""
        return min(self.rows, ROWS_BY_THE_CLOCK) if self.seconds < float("inf") else self.rows

    def round(self, game: Game, estimator: Estimator[Any], made: int, number: int, spent: int) -> list[Chunk]:
        """Chunks up to the next look at the estimate, as far as the limits allow; none where they are reached."""
        most = min(self.draws, self.rows)  # draws that cost nothing count as if they did, or there would be no end
        draws = max(0, int(min(estimator.pause(game, made), most)) - made)
        if spent + estimator.rows(game, draws, made) > self.rows:
            draws = bisect_right(range(draws), self.rows - spent, key=lambda n: estimator.rows(game, n, made)) - 1
            if made + draws < FEWEST_FOR_AN_ERROR:
                self._refuse(game, spent + estimator.rows(game, FEWEST_FOR_AN_ERROR - made, made))
        ends = [made + end for end in chunk_ends(estimator, game, draws)]
        return [Chunk(number + i, start, end - start) for i, (start, end) in enumerate(pairwise([made, *ends]))]

    def _refuse(self, game: Game, least: int) -> None:
        raise InputError(
            "budget",
            got=f"{self.rows:,} model rows",
            wanted=f"at least {least:,}, of which {game.rows_spent:,} are for the ends of the game",
            hint="a larger budget, or fewer background rows",
        )


def chunk_ends(estimator: Estimator[Any], game: Game, draws: int) -> list[int]:
    """Where the chunks of a round of so many draws end, whoever the workers are."""
    if not draws:
        return []
    most = estimator.chunk(game)
    least = int(estimator.finest(game)) if hasattr(estimator, "finest") else most
    if least == most:
        return [*range(most, draws, most), draws]
    chunks = -(-draws // min(most, max(least, -(-draws // CHUNKS_TO_SHARE))))
    chunks = min(draws, _shared_evenly(chunks, fewest=-(-draws // most)))
    return [draws * (i + 1) // chunks for i in range(chunks)]


def _shared_evenly(chunks: int, *, fewest: int) -> int:
    """About so many chunks, but as many for one of two, four or eight workers as for another, who would else wait.

    Examples
    --------
    >>> [_shared_evenly(chunks, fewest=1) for chunks in (1, 2, 3, 5, 15, 16, 17, 77)]
    [1, 2, 2, 4, 8, 16, 24, 80]
    """
    if chunks > CHUNKS_TO_SHARE:
        return -(-chunks // MOST_TO_SHARE_EVENLY) * MOST_TO_SHARE_EVENLY
    even = 1 << chunks.bit_length() >> 1
    return even if even >= fewest else 2 * even


def _asked(rule: StoppingRule, current: Estimate) -> StopReason | None:
    """What a rule says of the estimate; a plain True or False is understood."""
    try:
        said: Any = rule(current)
    except Exception as error:
        raise InputError(
            "stop", got=f"{type(error).__name__} from a rule: {error}", wanted="a rule that works"
        ) from error
    if isinstance(said, (bool, np.bool_)):
        return StopReason.RULE if said else None
    if said is None or isinstance(said, StopReason):
        return said
    raise InputError("stop", got=f"{said!r} from a rule", wanted="a StopReason, True, False or None")


def _reaching(estimator: Estimator[Any], game: Game, state: Any) -> Estimate:
    """The estimate, and what it says of the populations that examples and background were drawn from."""
    result = estimator.read(game, state)
    decomposed, matched = ability(estimator, Decomposed), ability(game, SelfMatched)
    components = None if decomposed is None else decomposed.components(game, state)
    if components is None:
        return result
    is_positive = game.weights > 0
    weights, self_match = game.weights[is_positive], None if matched is None else matched.self_match
    sampled = Sampled(
        weights, _background_weights(game, components), None if self_match is None else self_match[is_positive]
    )
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
    if result.stopped is StopReason.NO_EFFECT and not _is_still(result, game):
        return replace(result, stopped=StopReason.EQUAL)
    if result.stopped is StopReason.NO_EFFECT:
        zeros, none = np.zeros_like(result.values), np.zeros_like(result.covariance)
        return replace(result, values=zeros, covariance=none, targets={}, tails=None, components=None, trace=None)
    if result.stopped is not None and result.stopped.is_converged and result.coverage.unvisited:
        visited, count = 100 * result.coverage.visited, len(game.weights)
        note = Note(f"It rests on {visited:.1f} % of the examples: seeing all {count:,} would take too long.")
        return replace(result, notes=(*result.notes, note))
    return result


def _is_still(result: Estimate, game: Game) -> bool:
    """Whether values are zero since no example moves, not since what examples lose and gain adds up to nothing."""
    if result.components is None or result.components.contributions is None:
        return is_null(game)
    return bool((np.abs(result.components.contributions).sum(axis=0) <= ROUNDING * result.scale[:, None]).all())
