"""The pace of a model, measured by its calls, and the time by which they must end.

A call cannot be interrupted, so under a deadline the number of rows in a call follows the measured speed. The seconds
of a call of n rows are taken to be a + b n, by least squares on the last calls: a is the overhead of a call.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from clarysage.errors import Argument, InputError, Or, Set, Words

CALLS = 8  # calls that the speed is measured by
FIRST_ROWS, SECOND_ROWS = 1, 4  # rows of the first call, and at least so many of the second, to tell a and b apart
GROWTH = 16  # a call has at most so many times the rows of the largest call so far, unless it is short in any case
SHARE_OF_DEADLINE, SHORTEST_CALL = 0.02, 0.05  # a call may take this share of the deadline, or so many seconds ...
SHARE_OF_REST = 0.25  # ... or this share of the time that is left
UNKNOWN = 5.0  # seconds that a first estimate may be late where nothing is measured, as kernels may be compiled first
OVERRUN = 0.05  # share of the deadline that a first estimate may be late ...
AS_SOON_AS_POSSIBLE, LONGEST_WAIT = 1.0, 10.0  # ... or seconds, where the deadline is shorter than a second
FEWEST_CALLS, EVIDENCE = 2, 0.1  # calls, and their seconds, without which a run is not refused for lack of time
ADVICE = ("a later one", Or(), Set("max_rows"), " and a smaller ", Argument("background"))
INFINITY = float("inf")


class LateError(Exception):
    """Raised where the time runs out before the next result is ready."""


class Pace:
    """The speed of a model and the time until a deadline; without a deadline, it only measures.

    Attributes
    ----------
    seconds, final_at : the deadline, as seconds and as a time of the monotonic clock
    ends_at : the time at which the current part of the run ends
    late_at : the time after which no call begins
    asked : rows that were predicted so far
    awaited : rows that are still to be predicted before the first draw
    certain : the share of the rows of draws that are asked for certain: others may be known, or equal
    advice : what to try where a deadline is too short
    """

    def __init__(self, seconds: float = INFINITY, ends_at: float = INFINITY) -> None:
        self.calls = deque[tuple[int, float]](maxlen=CALLS)
        self.seconds, self.final_at, self.ends_at, self.late_at = seconds, ends_at, ends_at, INFINITY
        self.asked, self.awaited, self.certain = 0, 0, 0.0
        self.advice: Words = ADVICE

    def __reduce__(self) -> tuple[Any, ...]:
        """Leaves the deadline behind: other processes are stopped by this one."""
        return _with_calls, (list(self.calls),)

    def unmeasured(self) -> Pace:
        """Returns a pace with the same deadline, for what is evaluated in place of the model."""
        return Pace(self.seconds, self.final_at)

    @contextmanager
    def until(self, seconds: float, ends_at: float) -> Iterator[None]:
        """Sets a deadline within the context, or the end of a part of the run that has one; infinity sets none."""
        before = self.seconds, self.final_at, self.ends_at, self.late_at
        self.awaited = 0
        if seconds < INFINITY:
            if self.seconds == INFINITY:
                self.seconds, self.final_at = seconds, ends_at
            self.ends_at, self.late_at = ends_at, INFINITY
        try:
            yield
        finally:
            self.seconds, self.final_at, self.ends_at, self.late_at = before

    @property
    def left(self) -> float:
        """The seconds until the current part of the run ends."""
        return self.ends_at - time.monotonic()

    @property
    def patience(self) -> float:
        """The seconds that a first estimate may be late."""
        return OVERRUN * self.seconds if self.seconds >= AS_SOON_AS_POSSIBLE else LONGEST_WAIT

    @property
    def rest(self) -> float:
        """The seconds that are left for a first estimate."""
        return max(self.final_at - time.monotonic(), 0.0) + self.patience

    @property
    def seconds_of_call(self) -> float:
        """The seconds that a call may take at any time."""
        return max(SHARE_OF_DEADLINE * self.seconds, SHORTEST_CALL)

    def record(self, rows: int, seconds: float) -> None:
        """Takes note of a call."""
        self.calls.append((rows, seconds))
        self.asked += rows
        self.awaited = max(0, self.awaited - rows)

    def allow_first_estimate(self, rows: float) -> None:
        """Sets the time after which no call begins as long as there is no estimate, which takes up to so many rows.

        It is awaited where it is expected in time.
        """
        if not self.calls:
            self.late_at = self.final_at + max(self.patience, UNKNOWN)
        else:
            self.late_at = self.final_at + self.patience if self.at_least(rows) > self.rest else INFINITY

    def check(self) -> None:
        """Raises LateError if no call may begin any more."""
        if time.monotonic() > self.late_at:
            raise LateError

    def rows_of_call(self, most: int) -> int:
        """Returns the number of rows of the next call, ``most`` or fewer.

        LateError is raised where it would begin too late, InputError where the rows that are awaited before the first
        draw cannot be predicted in time.
        """
        if self.seconds == INFINITY:
            return most
        self.check()
        now = time.monotonic()
        if not self.calls:
            return min(most, FIRST_ROWS)
        (rows, taken), rest = self.calls[-1], self.rest
        if self.awaited and max(self.at_least(self.awaited), taken if len(self.calls) == 1 else 0.0) > rest:
            raise self.too_short(self.awaited)
        seconds = min(max(self.seconds_of_call, SHARE_OF_REST * (self.ends_at - now)), self.late_at - now)
        proven, largest = seconds * rows / max(taken, 1e-9), max(rows for rows, _ in self.calls)
        possible = max(proven, min(self.rows_within(seconds), GROWTH * largest))
        is_second = len(self.calls) == 1 and SECOND_ROWS * taken <= rest
        return int(min(most, max(possible, SECOND_ROWS if is_second else 1)))

    @property
    def rows_of_chunk(self) -> float:
        """The rows of a chunk of draws; infinity without a deadline, or if nothing is known."""
        return self.rows_within(self.seconds_of_call) if self.seconds < INFINITY else INFINITY

    def at_least(self, rows: float) -> float:
        """Returns the seconds that so many rows take at least, by the quickest calls; zero as long as too few are."""
        if not rows or len(self.calls) < FEWEST_CALLS or sum(seconds for _, seconds in self.calls) < EVIDENCE:
            return 0.0
        quickest = {size: min(seconds for rows, seconds in self.calls if rows == size) for size, _ in self.calls}
        overhead, per_row = _line(list(quickest.items()))
        return overhead + per_row * rows

    def rows_within(self, seconds: float) -> float:
        """Returns the rows that a call can have in so many seconds, but at least those that take as long as itself."""
        if not self.calls:
            return INFINITY
        overhead, per_row = _line(list(self.calls))
        return max(seconds - overhead, overhead) / per_row if per_row > 0 else INFINITY

    def too_short(self, rows: float, hint: Words = "") -> InputError:
        """Returns the error that the time left is too short for the model rows that a first estimate takes."""
        needed, is_known = self.at_least(rows), len({size for size, _ in self.calls}) > 1
        text = "more time before the first estimate"
        if self.calls and self.calls[-1][0] == 1:
            text += f", since a row took {self.calls[-1][1]:.2g} s"
        if needed and is_known:
            needed += self.seconds - (self.final_at - time.monotonic())
            text = f"at least about {_rounded(needed)} s, for {rows:,.0f} more model rows before the first estimate"
        return InputError("deadline", got=f"{self.seconds:g} s", wanted=text, hint=hint or self.advice)


def _rounded(seconds: float) -> str:
    """Returns seconds with at most three digits before they are whole.

    Examples
    --------
    >>> _rounded(1.234), _rounded(5120.0)
    ('1.23', '5,120')
    """
    return f"{seconds:.3g}" if seconds < 1000 else f"{seconds:,.0f}"


def _line(calls: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Returns the overhead of a call and the seconds a row, by least squares; neither is negative.

    Examples
    --------
    >>> overhead, per_row = _line([(1, 0.3), (4, 0.6)])
    >>> round(overhead, 9), round(per_row, 9)
    (0.2, 0.1)
    >>> _line([(4, 2.0)])
    (0.0, 0.5)
    """
    mean_rows, mean_seconds = (sum(part) / len(calls) for part in zip(*calls, strict=True))
    variance = sum((rows - mean_rows) ** 2 for rows, _ in calls)
    covariance = sum((rows - mean_rows) * (seconds - mean_seconds) for rows, seconds in calls)
    per_row = max(0.0, covariance / variance) if variance else mean_seconds / mean_rows
    overhead = mean_seconds - per_row * mean_rows
    if overhead >= 0:
        return overhead, per_row
    return 0.0, sum(rows * seconds for rows, seconds in calls) / sum(rows**2 for rows, _ in calls)


def _with_calls(calls: list[tuple[int, float]]) -> Pace:
    pace = Pace()
    pace.calls.extend(calls)
    return pace
