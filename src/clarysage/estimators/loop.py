"""The only sampling loop: rounds of chunks, merged in order, until a rule, a budget or a deadline ends them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.estimate import Estimate, StopReason
from clarysage.execution.observers import Silent
from clarysage.execution.seeds import DRAWS, stream
from clarysage.execution.serial import Serial
from clarysage.inference.stopping import FEWEST_DRAWS, Budget, Converged, Deadline
from clarysage.protocols import Estimator, Executor, Game, Observer, StoppingRule

FEWEST_FOR_AN_ERROR = 2  # draws without which there is no standard error, and so no estimate to hand out


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
) -> Estimate:
    """Draws until the first of the rules says stop, and reads the estimate.

    Rounds depend on the game and on the draws made so far, never on the workers, and rules are asked at their ends
    alone: the same seed gives the same bits on any executor. A deadline or Ctrl-C ends the run between chunks, with
    the estimate so far; an error of the model carries the estimate so far as its ``estimate``.
    """
    estimator.check(game)
    observer, executor = observer or Silent(), executor or Serial()
    limits = Limits.of(game, estimator, stop)
    rules: list[StoppingRule] = [rule for rule in stop if not isinstance(rule, (Budget, Deadline))]
    work = Work(estimator, game, seed)
    state: Any = None
    made = 0
    begun = time.monotonic()
    reason: StopReason | None = None
    try:
        for chunks in limits.rounds(estimator.chunk(game)):
            for chunk, part in zip(chunks, executor.map(work, chunks), strict=True):
                state = part if state is None else estimator.merge(state, part)
                made += chunk.draws
                if time.monotonic() - begun > limits.seconds and made >= FEWEST_FOR_AN_ERROR:
                    raise _DeadlineError
            if limits.is_finite:
                observer.count(made / limits.draws, time.monotonic() - begun)
                continue
            current = estimator.read(game, state)
            reason = next((said for rule in rules if (said := _asked(rule, current)) is not None), None)
            observer(replace(current, stopped=reason), time.monotonic() - begun)
            if reason is not None:
                break
        reason = reason or (StopReason.EXACT if limits.is_finite else StopReason.BUDGET)
    except _DeadlineError:
        reason = StopReason.DEADLINE
    except KeyboardInterrupt:
        if made < FEWEST_FOR_AN_ERROR or limits.is_finite:
            raise
        reason = StopReason.INTERRUPTED
    except Exception as error:
        if made >= FEWEST_FOR_AN_ERROR and not limits.is_finite:
            error.estimate = replace(  # type: ignore[attr-defined]
                estimator.read(game, state), stopped=StopReason.FAILED
            )
        raise
    finally:
        observer.close()
    if limits.is_finite and reason is StopReason.DEADLINE:
        raise InputError(
            "deadline",
            got=f"{limits.seconds:g} s",
            wanted="more time for exact enumeration",
            hint='method="permutation"',
        )
    return _finished(replace(estimator.read(game, state), stopped=reason), game)


class _DeadlineError(Exception):
    """The deadline came between two chunks."""


@dataclass(frozen=True)
class Limits:
    """How many draws there may be, and how many seconds."""

    draws: float
    seconds: float
    is_finite: bool

    @classmethod
    def of(cls, game: Game, estimator: Estimator[Any], stop: Sequence[Any]) -> Limits:
        seconds = min((rule.seconds for rule in stop if isinstance(rule, Deadline)), default=float("inf"))
        rows = min((rule.rows for rule in stop if isinstance(rule, Budget)), default=float("inf"))
        whole = estimator.limit(game)
        if whole is not None:
            needed = game.rows_spent + estimator.rows(game, whole)
            if needed > rows:
                raise InputError("budget", got=f"{rows:,} model rows", wanted=f"{needed:,} for the method "
                                 f"{estimator.name!r}", hint='method="permutation"')  # fmt: skip
            return cls(whole, seconds, True)
        per_draw = max(1, estimator.rows(game, 1))
        draws = np.floor((rows - game.rows_spent) / per_draw)
        if draws < FEWEST_FOR_AN_ERROR:
            least = game.rows_spent + FEWEST_FOR_AN_ERROR * per_draw
            raise InputError(
                "budget",
                got=f"{rows:,} model rows",
                wanted=f"at least {least:,}: {game.rows_spent:,} for the ends of the game, {per_draw:,} a draw",
                hint="a larger budget, or fewer background rows",
            )
        return cls(draws, seconds, False)

    def rounds(self, size: int) -> Iterator[list[Chunk]]:
        """Rounds of chunks: the first holds the fewest draws to judge by, later ones a quarter of those made."""
        first = max(1, -(-FEWEST_DRAWS // size))
        made = number = 0
        while made < self.draws:
            chunks = []
            for _ in range(max(first, number // 4)):
                draws = int(min(size, self.draws - made))
                if draws == 0:
                    break
                chunks.append(Chunk(number, made, draws))
                made, number = made + draws, number + 1
            yield chunks


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


def _finished(result: Estimate, game: Game) -> Estimate:
    if result.stopped is StopReason.NO_EFFECT:
        return replace(result, values=np.zeros_like(result.values), covariance=np.zeros_like(result.covariance))
    if result.stopped is not None and result.stopped.is_converged and result.unvisited:
        share = (
            f"It rests on {result.visited:.1%} of the examples: seeing all {len(game.weights):,} would take too long."
        )
        return replace(result, remark=share)
    return result
