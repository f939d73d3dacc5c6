"""Coalitions learned ahead of the draws that ask for them: each once, shared out to workers, within a budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from clarysage._utils.lru_cache import Memo
from clarysage.estimators import ExhaustedError
from clarysage.games import UniversalPower
from clarysage.protocols import Executor, Observer, Result, Task, without_end


class Prefetching:
    """An executor for the chunks of a game of refits, which has the fits made before the chunks that need them.

    Why: here a payoff costs a fit, and chunks ask for the same coalitions again and again. Were chunks shared out to
    workers, as elsewhere, two of them would fit the same coalition, and nobody would know when a budget is spent.

    How, for each round of chunks:

    1. Rehearse. Each chunk is drawn with a game whose memory is a :class:`Script`: it answers every question with
       zeros, at no cost, and writes down which coalitions were asked for. Draws come from random streams and do not
       depend on payoffs, so that the chunk will ask for the same ones in earnest.
    2. Learn. Coalitions on the list that are not in the game's memory are fitted by the workers, each once.
    3. Play. Each chunk is drawn again, from the same stream, with the game itself: all it asks for is in memory now.

    The budget is looked at in the first step: a chunk that it does not suffice for is not begun.

    Parameters
    ----------
    executor : the workers, who learn
    game : whose memory takes up what was learned
    budget : coalitions to be learned at most, none for no limit
    observer : told how far an enumeration of all coalitions is, where ``of`` says how many it has
    """

    def __init__(
        self, executor: Executor, game: UniversalPower, *, budget: float = np.inf, observer: Observer, of: int = 0
    ) -> None:
        self.executor, self.game, self.budget, self.observer, self.of = executor, game, budget, observer, of
        self.learned = game.learned  # one object for all rounds, which is sent to workers once
        self.done, self.begun = 0, time.monotonic()

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        time_left: Callable[[], float] = without_end,
    ) -> Generator[Result, None, None]:
        wanted = self._rehearsed(function, tasks)
        keys = [key for new in wanted for key in new]
        with closing(self.executor.map(self.learned, keys, time_left)) as coming:
            for task, new in zip(tasks, wanted, strict=False):
                for key in new:
                    self.game.memo.put(key, next(coming))
                    self.done += 1
                    if self.of:
                        self.observer.count(self.done / self.of, time.monotonic() - self.begun)
                yield function(task)
        if len(wanted) < len(tasks):
            raise ExhaustedError

    def _rehearsed(self, function: Any, tasks: Sequence[Any]) -> list[list[bytes]]:
        """New coalitions of each task, up to the first that the budget is too small for."""
        wanted: list[list[bytes]] = []
        planned: set[bytes] = set()
        for task in tasks:
            script = Script(len(self.game.weights), len(self.game.losses))
            replace(function, game=replace(self.game, memo=script))(task)
            new = [key for key in script.asked if key not in planned and key not in self.game.memo]
            if self.done + len(planned) + len(new) > self.budget:
                break
            planned.update(new)
            wanted.append(new)
        return wanted


class Script(Memo[np.ndarray]):
    """A memory that knows nothing, answers zeros, and takes down what it was asked."""

    def __init__(self, states: int, losses: int) -> None:
        super().__init__()
        self.asked: dict[bytes, None] = {}
        self.zeros = np.zeros((states, losses))

    def get(self, key: bytes, compute: Callable[[], np.ndarray]) -> np.ndarray:
        self.asked[key] = None
        return self.zeros
