"""Contracts for running an estimator: stopping rules, executors (parallel maps) and observers (progress)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Protocol, TypeAlias, TypeVar

from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import Budget, Deadline

Result = TypeVar("Result")
Task = TypeVar("Task")


class StoppingRule(Protocol):
    """A stopping rule returns the reason to stop at an estimate, or None to continue."""

    def __call__(self, estimate: Estimate) -> StopReason | None: ...


Rule: TypeAlias = StoppingRule | Budget | Deadline


class SequentialRule(StoppingRule, Protocol):
    """A stopping rule that makes statistical decisions at interim analyses, with alpha-spending over these."""

    @property
    def confidence(self) -> float:
        """The probability that all its decisions are right, over all interim analyses."""
        ...


def unlimited_time() -> float:
    """Returns the remaining time of a run without a deadline."""
    return float("inf")


class Executor(Protocol):
    """An ordered parallel map: results come in the order of the tasks, whichever worker computed them."""

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        time_left: Callable[[], float] = unlimited_time,
    ) -> Generator[Result, None, None]:
        """Yields the results; raises :class:`LateError` when no time is left. Closing it cancels pending tasks."""
        ...


class Observer(Protocol):
    """An observer is informed of the progress of a run."""

    def __call__(self, estimate: Estimate, elapsed: float) -> None:
        """Receives the estimate at the end of a round, and the elapsed seconds."""
        ...

    def count(self, share: float, elapsed: float) -> None:
        """Receives the completed share of an enumeration, and the elapsed seconds."""
        ...

    def close(self) -> None:
        """Ends the display of progress."""
        ...
