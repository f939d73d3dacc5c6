"""A process that lives long: many calls, serial, with two processes, with two threads, each with a checkpoint.

    python benchmarks/soak.py [--calls 2000] [--every 200]

prints what the process holds at intervals: memory, open files, threads, child processes, files in shared memory and in
the folder for temporary files, and functions to be called at its end. All of them must stay the same. It runs on Linux.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import clarysage as cs
from clarysage.execution.joblib import Joblib

WORKERS: dict[str, Any] = {"serial": 1, "two processes": 2, "two threads": Joblib(2, backend="threading")}
SHARED_MEMORY = Path("/dev/shm")
MEGABYTE = 2**20
HEADINGS = {
    "calls": "calls",
    "seconds": "seconds",
    "memory": "MB",
    "memory of children": "MB of children",
    "open files": "open files",
    "threads": "threads",
    "children": "children",
    "shared memory": "shared memory",
    "temporary files": "temporary files",
    "exit handlers": "exit handlers",
}


def soak(calls: int, every: int) -> Iterator[dict[str, float]]:
    """Explains a model again and again, and yields what the process holds after every so many calls."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = _model(X) + rng.normal(size=len(X))
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        for call in range(calls):
            workers = list(WORKERS.values())[call % len(WORKERS)]
            file = Path(folder) / f"{call}.checkpoint"
            cs.sage(_model, X, y, n_jobs=workers, checkpoint=file, tolerance=0.1, rng=call)
            file.unlink()
            if (call + 1) % every == 0:
                yield {"calls": call + 1, "seconds": time.perf_counter() - started, **holdings()}


def holdings() -> dict[str, float]:
    """Returns what this process holds: memory in megabytes, and counts."""
    gc.collect()
    children = _children()
    mark = str(os.getpid())  # part of the names of our files
    return {
        "memory": _memory("self"),
        "memory of children": sum(map(_memory, children)),
        "open files": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "children": len(children),
        "shared memory": sum(mark in name for name in os.listdir(SHARED_MEMORY)),
        "temporary files": sum(mark in name for name in os.listdir(tempfile.gettempdir())),
        "exit handlers": atexit._ncallbacks(),
    }


def _model(X: np.ndarray) -> np.ndarray:
    return np.asarray(X[:, 0] * X[:, 1] + X[:, 2])


def _children() -> list[str]:
    """Returns the ids of the child processes of this process."""
    return Path(f"/proc/self/task/{threading.main_thread().native_id}/children").read_text().split()


def _memory(process: str) -> float:
    """Returns the resident memory of a process in megabytes."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000, help="number of calls")
    parser.add_argument("--every", type=int, default=200, help="calls between two lines of the table")
    arguments = parser.parse_args()
    print(f"| {' | '.join(HEADINGS.values())} |\n|{'--:|' * len(HEADINGS)}")
    for line in soak(arguments.calls, arguments.every):
        print(f"| {' | '.join(f'{line[name]:,.0f}' for name in HEADINGS)} |", flush=True)


if __name__ == "__main__":
    main()
