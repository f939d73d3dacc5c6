"""Checkpoints of a run: written at the end of every round and of the run; a resumed run has the same bits."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clarysage.errors import ClarysageWarning, InputError
from clarysage.estimators.limits import Chunk
from clarysage.estimators.loop import prepare
from clarysage.estimators.progress import Progress, Trace
from clarysage.estimators.rules import InterimSchedule
from clarysage.execution.checkpoint_file import SavedRun, damaged, write_checkpoint
from clarysage.inference.influence import BackgroundInfluence, InfluenceSums
from clarysage.inference.moments import Moments
from clarysage.inference.stratified import StratifiedMoments
from clarysage.protocols import Adaptive, Estimator, Game, HasStates, ability

log = logging.getLogger("clarysage")

CLASSES_OF_RUN = (Progress, Chunk, InterimSchedule, Trace)
CLASSES_OF_STATISTICS = (BackgroundInfluence, InfluenceSums, Moments, StratifiedMoments)


def state_classes_of(estimator: Estimator[Any]) -> dict[str, type]:
    """Returns the classes that the checkpoint of a run with an estimator may hold, by name."""
    with_states = ability(estimator, HasStates)
    of_estimator = () if with_states is None else with_states.state_classes
    return {cls.__name__: cls for cls in (*CLASSES_OF_RUN, *CLASSES_OF_STATISTICS, *of_estimator)}


class Checkpoint:
    """The file in which a run saves its progress, and the progress of an earlier call that it holds.

    The file is replaced as a whole at the end of each round, so that a process that is killed loses at most one round.
    What estimators prepare, such as pilot runs or surrogates, is not saved but computed again, from the same random
    streams and the same states. If two processes write to the same file, each replaces it as a whole: it always holds
    a complete run of one of them.

    Parameters
    ----------
    file : the path to write to
    identity : all that the bits of the run depend on; the caller checks that it agrees with the saved one
    saved : the content of the file, if it exists
    """

    def __init__(self, file: Path, identity: Mapping[str, Any], saved: SavedRun | None = None) -> None:
        self.file, self.identity, self.saved = file, identity, saved
        self._written: tuple[int, int] | None = None

    def resumed(
        self, fresh: Progress, game: Game, estimator: Estimator[Any], seed: int
    ) -> tuple[Progress, Estimator[Any]]:
        """Returns the progress and the estimator at the time the file was written; those given if there is no file."""
        if self.saved is None:
            return fresh, estimator
        run = self.saved.progress(state_classes_of(estimator))
        if not isinstance(run, Progress) or run.state is None:
            raise damaged(self.file, "it holds no run")
        estimator = _prepared_again(run, game, estimator, seed)
        if estimator.limit(game) is None and run.made > 1:
            try:
                estimator.read(game, run.state)
            except Exception as error:
                raise damaged(self.file, f"its draws do not fit the game ({error})") from error
        self.saved, self._written = None, (run.number, run.rounds)  # free the memory of the file
        log.info("%s: resumed after %d rounds, %d draws", self.file, run.rounds, run.made)
        return run, estimator

    def write(self, run: Progress, estimator: Estimator[Any]) -> None:
        """Saves the run as it is now, unless it is saved already or was interrupted during a merge.

        If it cannot be written, for instance to a full disk, there is a warning and the run goes on.
        """
        if not run.is_whole or not run.number or self._written == (run.number, run.rounds):
            return
        try:
            write_checkpoint(self.file, self.identity, run, state_classes_of(estimator))
        except TypeError as error:
            raise InputError(
                "checkpoint", got=f"a method whose state holds a {error}", wanted="a method of clarysage"
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


def _prepared_again(run: Progress, game: Game, estimator: Estimator[Any], seed: int) -> Estimator[Any]:
    """Repeats the preparations of the estimator, each from the state as it was then."""
    for number, rows in run.preparations:
        adaptive = ability(estimator, Adaptive)
        state = None if number == 0 or adaptive is None else adaptive.rewound(run.state)
        estimator = prepare(estimator, game, seed, number, rows, state)
    return estimator
