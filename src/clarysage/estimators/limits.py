"""Limits of a run, and the rounds and chunks in which draws are made within them, whichever workers make them.

Limits are known before draws are made: a number of draws after which values are exact, a budget of model rows, and a
deadline. Stopping rules, which read estimates, are in :mod:`clarysage.estimators.rules`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from clarysage._utils.pace import Pace
from clarysage.errors import InputError, Set
from clarysage.inference.stopping import FEWEST_DRAWS, row_limit, time_limit
from clarysage.protocols import Batched, Divisible, Estimator, Game, Rule, ability

FEWEST_DRAWS_TO_READ = 2  # fewer draws have no standard error, so there is no estimate to return
ROWS_PER_CHUNK, FEWEST_ROWS_PER_CHUNK = 32_768, 2_048  # model rows: the maximum, and the fewest worth a chunk
CHUNKS_PER_ROUND = 16  # about as many, if there are enough draws, so that several workers share a round
MOST_WORKERS_WITH_EVEN_SHARES = 8
PILOT_ROWS_UNDER_DEADLINE = 2**18  # model rows that a pilot run plans with at most, so that it is short ...
SECONDS_TO_PLAN = 2.0  # ... and, if fewer, those that the model can predict in the time left, or in these seconds


@dataclass(frozen=True)
class Chunk:
    """Draws ``first`` to ``first + draws``, made from random stream ``number``."""

    number: int
    first: int
    draws: int


@dataclass(frozen=True)
class Limits:
    """The largest numbers of draws, of model rows, and of seconds that a run may take."""

    draws: float
    rows: float
    seconds: float

    @classmethod
    def of(cls, game: Game, estimator: Estimator[Any], stop: Sequence[Rule]) -> Limits:
        """Returns the limits among the rules ``stop``; an error where exact values do not fit the budget."""
        seconds, rows = time_limit(stop), row_limit(stop)
        draws = estimator.limit(game)
        if draws is None:
            return cls(float("inf"), rows, seconds)
        needed = game.rows_spent + estimator.rows(game, draws)
        if needed > rows:
            raise InputError(
                "budget",
                got=f"{rows:,} model rows",
                wanted=f"{needed:,} for the method {estimator.name!r}",
                hint=Set("method", "paired walks"),
            )
        return cls(draws, float("inf"), seconds)

    @cached_property
    def is_finite(self) -> bool:
        """True if the number of draws is finite; values are then exact, and there is nothing to stop by."""
        return self.draws < float("inf")

    def rows_to_plan(self, pace: Pace, spent: int) -> float:
        """Returns the model rows for a pilot run to plan with; under a deadline no more than there is time for."""
        if self.seconds == float("inf"):
            return self.rows - spent
        rows = min(self.rows, PILOT_ROWS_UNDER_DEADLINE) - spent
        return min(rows, pace.rows_within(max(pace.left, SECONDS_TO_PLAN)))

    def next_round(self, game: Game, estimator: Estimator[Any], made: int, number: int, spent: int) -> list[Chunk]:
        """Returns the chunks of the next round, as far as the limits allow; none once they are reached.

        ``made`` draws have been made so far, in ``number`` chunks, for ``spent`` model rows.
        """
        most = min(self.draws, self.rows)  # so that even draws without cost come to an end
        draws = max(0, int(min(estimator.pause(game, made), most)) - made)
        if spent + estimator.rows(game, draws, made) > self.rows:
            draws = bisect_right(range(draws), self.rows - spent, key=lambda n: estimator.rows(game, n, made)) - 1
            if made + draws < FEWEST_DRAWS_TO_READ:
                least = spent + estimator.rows(game, FEWEST_DRAWS_TO_READ - made, made)
                raise InputError(
                    "budget",
                    got=f"{self.rows:,} model rows",
                    wanted=f"at least {least:,}, of which {game.rows_spent:,} are for the ends of the game",
                    hint="a larger budget, or fewer background rows",
                )
        ends = [made + end for end in chunk_ends(estimator, game, draws)]
        return [Chunk(number + i, start, end - start) for i, (start, end) in enumerate(pairwise([made, *ends]))]


def by_quarters(size: int, made: int) -> int:
    """Returns the draws at the end of the next round: a quarter more, and first the fewest that rules can judge by."""
    first = max(1, -(-FEWEST_DRAWS // size))
    return made + size * max(first, made // size // 4)


def rows_per_chunk(game: Game) -> int:
    """Returns the most model rows of a chunk: the batch size if the user set one, fewer for a slow model in a hurry."""
    batched, pace = ability(game, Batched), pace_of(game)
    return int(min(ROWS_PER_CHUNK, (batched and batched.batch_size) or ROWS_PER_CHUNK, pace.rows_of_chunk))


def pace_of(game: Game) -> Pace:
    """Returns the measured speed of a game's model; one that knows nothing where payoffs do not call a model."""
    return ability(game, Pace) or Pace()


def chunk_ends(estimator: Estimator[Any], game: Game, draws: int) -> list[int]:
    """Returns where the chunks of a round of ``draws`` draws end; this does not depend on the workers."""
    if not draws:
        return []
    most, divisible = estimator.chunk(game), ability(estimator, Divisible)
    least = most if divisible is None else divisible.finest(game)
    if least == most:
        return [*range(most, draws, most), draws]
    chunks = -(-draws // min(most, max(least, -(-draws // CHUNKS_PER_ROUND))))
    chunks = min(draws, _evenly_shared(chunks, fewest=-(-draws // most)))
    return [draws * (i + 1) // chunks for i in range(chunks)]


def _evenly_shared(chunks: int, *, fewest: int) -> int:
    """Returns a number of chunks near the given one that two, four or eight workers can share evenly.

    With uneven shares some workers would wait for the others.

    Examples
    --------
    >>> [_evenly_shared(chunks, fewest=1) for chunks in (1, 2, 3, 5, 15, 16, 17, 77)]
    [1, 2, 2, 4, 8, 16, 24, 80]
    """
    if chunks > CHUNKS_PER_ROUND:
        return -(-chunks // MOST_WORKERS_WITH_EVEN_SHARES) * MOST_WORKERS_WITH_EVEN_SHARES
    power_of_two = 1 << chunks.bit_length() >> 1
    return power_of_two if power_of_two >= fewest else 2 * power_of_two
