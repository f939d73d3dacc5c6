"""Checkpoints of a run: written at the end of every round and of the run, and resumed with the same bits."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clarysage.errors import ClarysageWarning, InputError
from clarysage.estimators.limits import Chunk
from clarysage.estimators.loop import learned
from clarysage.estimators.progress import InterimSchedule, Progress, Trace
from clarysage.execution.checkpoint_file import SavedRun, damaged, write_checkpoint
from clarysage.inference.influence import BackgroundInfluence, InfluenceSums
from clarysage.inference.moments import Moments
from clarysage.inference.stratified import StratifiedMoments
from clarysage.protocols import Adaptive, Estimator, Game, HasStates, ability

log = logging.getLogger("clarysage")

OF_RUNS = (Progress, Chunk, InterimSchedule, Trace)
OF_STATISTICS = (BackgroundInfluence, InfluenceSums, Moments, StratifiedMoments)


def classes_of(estimator: Estimator[Any]) -> dict[str, type]:
    """The classes that the file of a run with an estimator may hold, by name."""
    kept = ability(estimator, HasStates)
    of_estimator = () if kept is None else kept.state_classes
    return {kind.__name__: kind for kind in (*OF_RUNS, *OF_STATISTICS, *of_estimator)}


class Checkpoint:
    """Where a run keeps its work, and what it finds there of an earlier call.

    The file is replaced as a whole at the end of each round, so that a process that is killed loses one round at most.
    What estimators prepare, such as a plan or surrogates, is not kept but made again, from the same random streams and
    the same states. Two processes that write to the same file take turns to replace it: each time it is whole, and of
    one of them.

    Parameters
    ----------
    file : that is written
    identity : what makes the run the one it is; it is for the caller to see that it agrees with what was saved
    saved : what the file held, if anything
    """

    def __init__(self, file: Path, identity: Mapping[str, Any], saved: SavedRun | None = None) -> None:
        self.file, self.identity, self.saved = file, identity, saved
        self._written: tuple[int, int] | None = None

    def resumed(
        self, fresh: Progress, game: Game, estimator: Estimator[Any], seed: int
    ) -> tuple[Progress, Estimator[Any]]:
        """The run as it was when the file was written, and its estimator; those given where there is no file."""
        if self.saved is None:
            return fresh, estimator
        run = self.saved.progress(classes_of(estimator))
        self._check(isinstance(run, Progress) and run.state is not None, "it holds no run")
        estimator = _learned_again(run, game, estimator, seed)
        if estimator.limit(game) is None and run.made > 1:
            try:
                estimator.read(game, run.state)
            except Exception as error:
                raise damaged(self.file, f"its draws do not fit the game ({error})") from error
        self.saved, self._written = None, (run.number, run.rounds)  # memory that the run may need
        log.info("%s: resumed after %d rounds, %d draws", self.file, run.rounds, run.made)
        return run, estimator

    def write(self, run: Progress, estimator: Estimator[Any]) -> None:
        """Keeps the run as it is now, unless it is kept already, or was broken off amid a step.

        A disk that is full, say, is no reason to lose the run itself: there is a warning, and the run goes on.
        """
        if not run.is_whole or not run.number or self._written == (run.number, run.rounds):
            return
        try:
            write_checkpoint(self.file, self.identity, run, classes_of(estimator))
        except TypeError as error:
            raise InputError(
                "checkpoint", got=f"a method whose draws are kept as {error}", wanted="one of clarysage's own methods"
            ) from error
        except OSError as error:
            warnings.warn(
                f"The checkpoint {self.file} could not be written ({error.strerror or error}); the run goes on, and "
                "will try again after the next round.",
                ClarysageWarning,
                stacklevel=2,
            )
            return
        self._written = (run.number, run.rounds)

    def _check(self, is_right: bool, how: str) -> None:
        if not is_right:
            raise damaged(self.file, how)


def _learned_again(run: Progress, game: Game, estimator: Estimator[Any], seed: int) -> Estimator[Any]:
    """The estimator after all that it has learned on the way, each time from the state as it was then."""
    for number, rows in run.preparations:
        adaptive = ability(estimator, Adaptive)
        state = None if number == 0 or adaptive is None else adaptive.rewound(run.state)
        estimator = learned(estimator, game, seed, number, rows, state)
    return estimator
