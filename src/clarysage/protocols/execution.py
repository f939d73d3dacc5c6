"""Contracts of what runs an estimator: stopping rules, executors, observers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Protocol, TypeAlias, TypeVar

from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import Budget, Deadline

Result = TypeVar("Result")
Task = TypeVar("Task")


class StoppingRule(Protocol):
    """Says, of an estimate, why to stop, or None to go on."""

    def __call__(self, estimate: Estimate) -> StopReason | None: ...


Rule: TypeAlias = StoppingRule | Budget | Deadline


class SequentialRule(StoppingRule, Protocol):
    """A rule that decides something at interim analyses, over which it spends its level."""

    @property
    def confidence(self) -> float:
        """The probability that what it decides is right, however often it is asked."""
        ...


class LateError(Exception):
    """Raised by an executor when the time is up before the next result has come."""


def without_end() -> float:
    """The time that is left where nobody set an end."""
    return float("inf")


class Executor(Protocol):
    """An ordered map; the results of tasks come back in the order of the tasks, whoever did them."""

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        time_left: Callable[[], float] = without_end,
    ) -> Generator[Result, None, None]:
        """Raises :class:`LateError` when no time is left; what is pending when it is closed is cancelled."""
        ...


class Observer(Protocol):
    """Watches a run; silent by default."""

    def __call__(self, estimate: Estimate, elapsed: float) -> None:
        """The estimate at the end of a round."""
        ...

    def count(self, share: float, elapsed: float) -> None:
        """The share of an enumeration that is done."""
        ...

    def close(self) -> None: ...
