"""Runs in separate processes that are killed at random times and resumed from checkpoints.

    python killed_runs.py KILLS SEED FOLDER

prints as JSON the number of kills, whether each completed run is bitwise equal to an uninterrupted one, the model rows
lost by each kill, and those of the largest round.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import clarysage as cs
from clarysage.estimators.checkpoint import state_classes_of
from clarysage.execution.checkpoint_file import read_checkpoint

X = np.random.default_rng(1).normal(size=(60, 6))
SECONDS_A_ROW = 3e-6


class Counted:
    """A slow model that writes the number of rows of each call to a file."""

    name = "counted"

    def __init__(self, file: Path) -> None:
        self.file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        os.write(self.file, b"%d\n" % len(Z))  # before the prediction, so that interrupted calls count
        time.sleep(SECONDS_A_ROW * len(Z))
        return np.asarray(Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + 0.3 * Z[:, 3])


def explained(asked: Path, checkpoint: Path | None) -> cs.Explanation:
    y = X[:, 0] + X[:, 2]
    options: dict[str, Any] = {"method": "paired walks", "tolerance": 0.03, "rng": 7, "checkpoint": checkpoint}
    explanation: cs.Explanation = cs.sage(Counted(asked), X, y, background=X[:32], loss="squared error", **options)
    return explanation


def forked(asked: Path, checkpoint: Path, result: Path, seconds: float) -> bool:
    """Runs in a forked process; returns whether the process was killed at the time limit."""
    child = os.fork()
    if child == 0:
        try:
            explained(asked, checkpoint).save(result)
            os._exit(0)
        except BaseException as error:
            sys.stderr.write(f"{error}\n")
            sys.stderr.flush()
            os._exit(1)
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0, "the run failed"
            return False
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def rows_in(asked: Path) -> int:
    """Returns the number of rows that were passed to the model."""
    return sum(map(int, asked.read_text().split())) if asked.exists() else 0


def rows_in_checkpoint(checkpoint: Path) -> int:
    """Returns the model rows of the draws in a checkpoint."""
    return (
        int(read_checkpoint(checkpoint).progress(state_classes_of(cs.PairedWalks())).state.rows)
        if checkpoint.exists()
        else 0
    )


def main(kills: int, seed: int, folder: Path) -> dict[str, Any]:
    rng, asked = np.random.default_rng(seed), folder / "asked"
    uninterrupted = explained(asked, None)
    uninterrupted.save(folder / "whole.json")
    begun = time.monotonic()
    explained(asked, folder / "ended")
    seconds = time.monotonic() - begun
    asked.unlink()
    explained(asked, folder / "ended")
    start = rows_in(asked)  # of a completed run: null and full payoffs, and the pilot run
    rounds = np.diff(uninterrupted.trace[:, 1], prepend=start)
    results: dict[str, Any] = {"kills": 0, "is_same": [], "lost": [], "largest_round": int(rounds.max())}
    trial = 0
    while results["kills"] < kills:
        checkpoint, result, is_over = folder / f"run{trial}", folder / f"result{trial}.json", False
        while not is_over:
            asked.unlink(missing_ok=True)
            before = rows_in_checkpoint(checkpoint)
            is_last = results["kills"] == kills
            if forked(asked, checkpoint, result, 1e9 if is_last else rng.uniform(0, seconds)):
                results["kills"] += 1
                results["lost"].append(max(0, rows_in(asked) - start) - (rows_in_checkpoint(checkpoint) - before))
            else:
                is_over = True
        results["is_same"].append(result.read_bytes() == (folder / "whole.json").read_bytes())
        trial += 1
    return results


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))))
