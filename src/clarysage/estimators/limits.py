"""Limits of a run, and the rounds and chunks that its draws are made in, whoever the workers are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from clarysage.errors import InputError, Set
from clarysage.inference.stopping import Budget, Deadline, row_limit, time_limit
from clarysage.protocols import Divisible, Estimator, Game, StoppingRule, ability

FEWEST_FOR_AN_ERROR = 2  # draws without which there is no standard error, and so no estimate to hand out
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
class Limits:
    """How many draws there may be, how many model rows, and how many seconds."""

    draws: float
    rows: float
    seconds: float

    @classmethod
    def of(cls, game: Game, estimator: Estimator[Any], stop: Sequence[StoppingRule | Budget | Deadline]) -> Limits:
        """The limits among rules for stopping; an error where a finite number of draws does not fit the budget."""
        seconds, rows = time_limit(stop), row_limit(stop)
        draws = estimator.limit(game)
        if draws is None:
            return cls(float("inf"), rows, seconds)
        needed = game.rows_spent + estimator.rows(game, draws)
        if needed > rows:
            wanted = f"{needed:,} for the method {estimator.name!r}"
            raise InputError("budget", got=f"{rows:,} model rows", wanted=wanted, hint=Set("method", "paired walks"))
        return cls(draws, float("inf"), seconds)

    @property
    def is_finite(self) -> bool:
        """Whether there is an end to the draws, after which nothing is left to be uncertain of."""
        return self.draws < float("inf")

    @property
    def rows_to_plan(self) -> float:
        """Budget of model rows for pilot runs; at most 2^18 under a deadline, since they do not watch the clock."""
        return min(self.rows, ROWS_BY_THE_CLOCK) if self.seconds < float("inf") else self.rows

    def round(self, game: Game, estimator: Estimator[Any], made: int, number: int, spent: int) -> list[Chunk]:
        """Chunks up to the next look at the estimate, as far as the limits allow; none where they are reached.

        So many draws were ``made`` in so many chunks (``number``), for so many model rows (``spent``).
        """
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
    most, divisible = estimator.chunk(game), ability(estimator, Divisible)
    least = most if divisible is None else divisible.finest(game)
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
