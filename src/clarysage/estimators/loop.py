"""The only sampling loop: rounds of chunks, merged in order, until a rule, a budget or a deadline ends them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import InputError, Note, RunFailedError, Set
from clarysage.estimators.draws import is_null_game
from clarysage.estimators.limits import FEWEST_DRAWS_TO_READ, Chunk, Limits, pace_of
from clarysage.estimators.progress import Progress
from clarysage.estimators.rules import StoppingRules
from clarysage.execution.observers import Silent
from clarysage.execution.seeds import DRAWS, PILOT, stream
from clarysage.execution.serial import Serial
from clarysage.inference.degrees_of_freedom import Estimated
from clarysage.inference.estimate import Estimate, StopReason, VarianceComponents
from clarysage.inference.population import Sampled, leverage, targets
from clarysage.inference.stopping import Converged
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
    SubsampledWalks,
    WeighsByLoss,
    ability,
)

if TYPE_CHECKING:
    from clarysage.estimators.checkpoint import Checkpoint

COVERAGE = "coverage"  # topic of notes about the share of examples that were visited
ROUNDING = 1e-10  # relative to the loss without features: smaller changes of an example's loss count as none


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
    """Draws until the first of the rules has a reason to stop, and returns the estimate.

    Rounds depend on the game and on the draws made so far, never on the workers, and rules are asked only at the end of
    a round: without a deadline, the same seed gives the same bits on any executor. A deadline or Ctrl-C ends the run
    between chunks, with the estimate so far; where anything fails, such as the model or a rule, a
    :class:`~clarysage.errors.RunFailedError` carries that estimate. With a checkpoint the run continues an earlier one,
    even from the middle of a round, and has the bits of a run that was never interrupted.

    Parameters
    ----------
    game : the game, such as that of :func:`clarysage.game`
    estimator : how Shapley values are estimated, such as :class:`clarysage.PairedWalks`
    stop : rules that end the run; the first one with a reason decides
    executor : who computes the chunks of a round; default this process
    seed : seed of all draws
    observer : is told about each round, for a progress bar
    checkpoint : the state of an earlier run, and where that of this one is stored

    Returns
    -------
    Estimate, of p players for each of L losses

    Examples
    --------
    >>> import clarysage as cs
    >>> cs.estimate(cs.TabularGame([0, 1, 2, 4]), cs.Permutation(), stop=[cs.Converged(0.1)], seed=0).values.round(1)
    array([[1.5, 2.5]])
    """
    estimator.check(game)
    executor, limits, rules = executor or Serial(), Limits.of(game, estimator, stop), StoppingRules.of(stop)
    run = RunState(game, estimator, seed, limits, rules, observer or Silent(), checkpoint)
    try:
        with run.pace.until(limits.seconds, run.started + limits.seconds):
            reason = run.resume()
            while reason is None and run.begin_round():
                with closing(executor.map(run.sampler, run.chunks, run.time_left)) as states:
                    for _, state in zip(run.chunks, states, strict=True):
                        run.progress.merge_chunk(run.estimator, state)
                        run.check_time()
                reason = run.end_round()
                run.save()
        if reason is None:  # the limits allow no more draws
            reason = StopReason.EXACT if limits.is_finite else StopReason.BUDGET
    except LateError:
        reason = StopReason.DEADLINE
    except ExhaustedError:
        if run.progress.made < FEWEST_DRAWS_TO_READ:
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
    if reason is StopReason.DEADLINE and limits.is_finite:
        raise run.too_late
    if not run.has_estimate and not limits.is_finite:
        raise run.pace.too_short(run.pace.certain * run.rows_needed)
    return _finished(run.estimate(reason), game)


@dataclass(frozen=True)
class ChunkSampler:
    """Makes the draws of a chunk; all that a worker needs for it."""

    estimator: Estimator[Any]
    game: Game
    entropy: int

    def __call__(self, chunk: Chunk) -> Any:
        rng = stream(self.entropy, DRAWS, chunk.number)
        return self.estimator.draw(self.game, chunk.first, chunk.draws, rng)


class RunState:
    """A run of an estimator on a game: what was asked for, and its progress.

    Attributes
    ----------
    estimator : the estimator of the current round
    progress : the draws so far, which a checkpoint saves
    chunks : the chunks of the current round that remained when it began or was resumed
    sampler : makes the draws of a chunk; replaced only with the estimator, since it is sent to workers once
    pace : the measured speed of the model
    rows_needed : the most model rows until there is an estimate, once the estimator is prepared
    """

    def __init__(
        self,
        game: Game,
        estimator: Estimator[Any],
        seed: int,
        limits: Limits,
        rules: StoppingRules,
        observer: Observer,
        checkpoint: Checkpoint | None,
    ) -> None:
        self.game, self.estimator, self.seed = game, estimator, seed
        self.limits, self.rules, self.observer, self.checkpoint = limits, rules, observer, checkpoint
        self.progress = Progress(spent=game.rows_spent)
        if checkpoint is not None:
            self.progress, self.estimator = checkpoint.resumed(self.progress, game, estimator, seed)
        self.started, self.seconds_before = time.monotonic(), self.progress.seconds
        self.pace, self.rows_needed = pace_of(game), 0
        self.chunks: list[Chunk] = []
        self.sampler = ChunkSampler(self.estimator, game, seed)

    @property
    def too_late(self) -> InputError:
        """The error that the deadline came before all exact values, with the time that they take at this speed."""
        asked = self.limits.seconds if self.pace.seconds == float("inf") else self.pace.seconds  # of the whole call
        need, share = "more time for exact values", self.progress.made / self.limits.draws
        if share:
            seconds = self.elapsed / share + asked - self.limits.seconds
            need = f"about {seconds:,.3g} s for exact values, of which there were {share:.0%}"
        return InputError("deadline", got=f"{asked:g} s", wanted=need, hint=Set("method", "paired walks"))

    def resume(self) -> StopReason | None:
        """Shows the progress of an earlier call, and asks the rules, which may differ from those of that call."""
        if not self.progress.rounds:
            return None
        if self.limits.is_finite:
            self._show_share()
            return None
        current = self.progress.interim.marked(self.estimator.read(self.game, self.progress.state))
        if self.progress.is_between_rounds:
            return self._ask_rules(current)
        self.observer(current, self.elapsed)
        return None

    def begin_round(self) -> bool:
        """Plans the chunks of the next round, or the rest of one that was interrupted; False if there is no round.

        All chunks of an interrupted round may have been merged: then only its estimate is still to be read.
        """
        progress = self.progress
        if progress.is_between_rounds:
            self.set_latest_call()
            self._prepare_estimator()
            self.rows_needed = self._rows_to_first_estimate()
            self.set_latest_call()
            made, number, spent = progress.made, progress.number, progress.spent
            progress.begin_round(self.limits.next_round(self.game, self.estimator, made, number, spent))
        self.chunks = progress.left[::-1]
        return not progress.is_between_rounds

    def _prepare_estimator(self) -> None:
        progress, rows = self.progress, self.limits.rows_to_plan(self.pace, self.progress.spent)
        prepared = prepare(self.estimator, self.game, self.seed, progress.number, rows, progress.state)
        if prepared is not self.estimator:
            progress.preparations.append((progress.number, float(rows)))
            self.estimator, self.sampler = prepared, ChunkSampler(prepared, self.game, self.seed)

    def _rows_to_first_estimate(self) -> int:
        """Returns the most model rows until there is an estimate to return."""
        made, draws = self.progress.made, self.limits.draws if self.limits.is_finite else FEWEST_DRAWS_TO_READ
        rows, prepared = (self.estimator.rows(self.game, n, made) for n in (max(0, int(draws) - made), 0))
        return rows - prepared

    def set_latest_call(self) -> None:
        """Tells the model when no further call may begin: at the deadline, or a little later without an estimate.

        A first estimate that is expected in time is awaited; there is an error if it certainly comes too late.
        """
        if self.limits.seconds == float("inf"):
            return
        if self.has_estimate:
            self.pace.late_at = self.started + self.limits.seconds
            return
        rows, pace = self.rows_needed, self.pace
        if pace.at_least(pace.certain * rows) > pace.rest:
            raise pace.too_short(pace.certain * rows, Set("method", "paired walks") if self.limits.is_finite else "")
        if pace.calls or not self.limits.is_finite:
            pace.allow_first_estimate(rows)

    def check_time(self) -> None:
        """Raises :class:`LateError` if no time is left, unless the last draw has been made."""
        self.set_latest_call()
        if self.time_left() < 0 and self.progress.made < self.limits.draws:
            raise LateError

    def end_round(self) -> StopReason | None:
        """Shows the estimate to the observer, and returns a reason to stop if a rule has one."""
        if self.limits.is_finite:
            self.progress.end_round()
            self._show_share()
            return None
        current = self.estimator.read(self.game, self.progress.state)
        return self._ask_rules(self.progress.record_round(current, are_sequential=self.rules.confidence is not None))

    def _ask_rules(self, current: Estimate) -> StopReason | None:
        last = self.estimator.limit(self.game)
        if last is None:
            reason = self.rules.reason(current)
            self.observer(replace(current, stopped=reason), self.elapsed)
            return reason
        made, before = self.progress.made, current.draws if self.progress.made < last else 0
        self.observer.count((made - before) / (last - before), self.elapsed)
        return StopReason.EXACT if made == last else None

    def _show_share(self) -> None:
        self.observer.count(self.progress.made / self.limits.draws, self.elapsed)

    def save(self) -> None:
        """Writes the checkpoint, if there is one."""
        if self.checkpoint is not None:
            self.progress.seconds = self.elapsed
            self.checkpoint.write(self.progress, self.estimator)

    @property
    def elapsed(self) -> float:
        """Seconds of the run, including those of earlier calls."""
        return time.monotonic() - self.started + self.seconds_before

    def time_left(self) -> float:
        """Returns the seconds until the deadline; until a first estimate, those that it may be late, if any."""
        if self.progress.made >= FEWEST_DRAWS_TO_READ:
            return self.started + self.limits.seconds - time.monotonic()
        return self.pace.late_at - time.monotonic() if self.pace.calls else float("inf")

    @property
    def has_estimate(self) -> bool:
        """True if the draws so far make an estimate; a part of an enumeration does not."""
        return self.progress.made >= FEWEST_DRAWS_TO_READ and not self.limits.is_finite

    def estimate(self, reason: StopReason) -> Estimate:
        """Returns the estimate so far, with its intervals about populations."""
        result = replace(_with_targets(self.estimator, self.game, self.progress.state), stopped=reason)
        if self.rules.confidence is not None:
            result = self.progress.interim.final(result, self.rules.confidence)
        return replace(result, trace=self.progress.trace.ended(result))


def prepare(estimator: Estimator[Any], game: Game, seed: int, number: int, rows: float, state: Any) -> Estimator[Any]:
    """Returns the estimator for the round that begins with chunk ``number``: after its pilot run, or adapted to draws.

    It depends only on the seed, the model ``rows`` that are left and the state of the draws, so that a resumed run
    prepares the same estimator.
    """
    if state is None:
        piloted = ability(estimator, Piloted)
        return estimator if piloted is None else piloted.prepared(game, rows, stream(seed, PILOT, number))
    adaptive = ability(estimator, Adaptive)
    return estimator if adaptive is None else adaptive.adapted(game, state, stream(seed, PILOT, number))


def _with_targets(estimator: Estimator[Any], game: Game, state: Any) -> Estimate:
    """Reads the estimate, and adds intervals about the populations that examples and background were drawn from."""
    result = estimator.read(game, state)
    decomposed, matched = ability(estimator, Decomposed), ability(game, SelfMatched)
    components = None if decomposed is None else decomposed.components(game, state)
    if components is None:
        return result
    is_positive, by_loss = game.weights > 0, ability(game, WeighsByLoss)
    weights = (game.weights if by_loss is None else by_loss.loss_weights)[is_positive]
    self_match = None if matched is None else matched.self_match
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
    """Returns the final estimate: zeros for a null game, and a note if examples were left out."""
    if result.stopped is StopReason.NO_EFFECT and not _is_null(result, game):
        return replace(result, stopped=StopReason.EQUAL)
    if result.stopped is StopReason.NO_EFFECT:
        values, covariance = np.zeros_like(result.values), np.zeros_like(result.covariance)
        return replace(
            result, values=values, covariance=covariance, targets={}, tails=None, components=None, trace=None
        )
    if result.stopped is not None and result.stopped.is_converged and result.coverage.unvisited:
        visited, count = 100 * result.coverage.visited, len(game.weights)
        note = Note(
            f"The result is based on {visited:.1f} % of the {count:,} examples: using all would take too long.",
            topic=COVERAGE,
        )
        return replace(result, notes=(*result.notes, note))
    return result


def _is_null(result: Estimate, game: Game) -> bool:
    """Returns whether values are zero for every example, not only in the sum of gains and losses of examples."""
    if result.components is None or result.components.contributions is None:
        return is_null_game(game)
    return bool((np.abs(result.components.contributions).sum(axis=0) <= ROUNDING * result.scale[:, None]).all())
