"""Call traces: numbers of functions, files and changes of file in the usual calls.

    python benchmarks/call_trace.py
    python benchmarks/call_trace.py --base <commit>
    python benchmarks/call_trace.py --base <commit> --calls as_table encode

Each change of file is a cost for somebody who reads along a call. Each case runs once to warm up, so that
imports and compilation are not counted, and once under ``sys.setprofile``. Counted are Python functions of the package:
how many different ones are called, in how many files, how often a call goes into another file than the call before it,
and how deep calls are nested. Lambdas and comprehensions do not count as functions of their own.

With a base commit both trees are traced, each in a process of its own, and the ratios are printed beside the counts.
``--calls`` counts the calls of functions by name, such as those that check and encode a table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
from same_bits import ROOT, checked_out, commit_of

ROWS, COLUMNS = 60, 6
MEASURED = ("functions", "files", "changes of file", "depth")

Call = Callable[[], Any]


def curve(X: np.ndarray) -> np.ndarray:
    """A model that is a plain function."""
    return np.asarray(2 * X[:, 0] + X[:, 1] * X[:, 2])


def cases() -> dict[str, Call]:
    """The calls by name."""
    import pandas as pd

    import clarysage as cs

    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    frames = [pd.DataFrame(rng.normal(size=(ROWS, COLUMNS))).rename(columns="c{}".format) for _ in range(2)]
    tables = [frame.assign(y=curve(frame.to_numpy())) for frame in frames]

    def of_frame(frame: Any) -> np.ndarray:
        return curve(np.asarray(frame))

    explanation = cs.sage(curve, X, curve(X), method="paired walks", n_jobs=1, rng=0)
    return {
        "cs.sage(lambda, X, y)": lambda: cs.sage(curve, X, curve(X), method="paired walks", n_jobs=1, rng=0),
        "explanation.report()": explanation.report,
        "print(explanation)": explanation.__str__,
        "cs.monitor(f, before, after)": lambda: cs.monitor(of_frame, *tables, target="y", rng=0),
    }


class Tracer:
    """Counts the calls of functions whose files are in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.calls: Counter[CodeType] = Counter()
        self.changes, self.depth, self.deepest = 0, 0, 0
        self._last = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(self.folder):
            return
        if event == "return":
            self.depth -= 1
            return
        self.calls[code] += 1
        self.depth += 1
        self.deepest = max(self.deepest, self.depth)
        self.changes += code.co_filename != self._last
        self._last = code.co_filename

    def counts(self) -> dict[str, Any]:
        """Returns the measured numbers, and the number of calls of each function by name."""
        named = [code for code in self.calls if not code.co_name.startswith("<")]
        by_name: Counter[str] = Counter()
        for code in named:
            by_name[code.co_name] += self.calls[code]
        files = {code.co_filename for code in self.calls}
        measured = (len(named), len(files), self.changes, self.deepest)
        return {**dict(zip(MEASURED, measured, strict=True)), "calls": by_name}


def traced(call: Call, folder: Path) -> dict[str, Any]:
    """Returns the counts of a call, after a first call to warm up."""
    call()
    tracer = Tracer(folder)
    sys.setprofile(tracer)
    try:
        call()
    finally:
        sys.setprofile(None)
    return tracer.counts()


def traced_in(source: Path) -> dict[str, Any]:
    """Returns the counts of all cases in a tree, from a separate process."""
    path = os.pathsep.join([str(source / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, __file__, "--child", str(source)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def report(trees: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    """Prints the counts of the work tree and, if there is one, of the base."""
    for case in trees[-1]:
        print(case)
        for measured in MEASURED:
            print(f"  {measured:<16} {_with_ratio([tree[case][measured] for tree in trees])}")
        for name in names:
            print(f"  calls of {name:<12} {_with_ratio([tree[case]['calls'].get(name, 0) for tree in trees])}")


def _with_ratio(counts: Sequence[int]) -> str:
    if len(counts) == 1:
        return f"{counts[0]:,}"
    before, after = counts
    ratio = f"  ({after / before:.2f} of it)" if before else ""
    return f"{before:,} -> {after:,}{ratio}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", metavar="COMMIT", help="a commit to compare with")
    parser.add_argument("--calls", metavar="NAME", nargs="*", default=[], help="count the calls of these functions")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child is not None:
        folder = asked.child / "src" / "clarysage"
        print(json.dumps({name: traced(call, folder) for name, call in cases().items()}))
        return 0
    trees = []
    if asked.base is not None:
        with tempfile.TemporaryDirectory() as folder, checked_out(commit_of(asked.base), Path(folder)) as tree:
            trees.append(traced_in(tree))
    report([*trees, traced_in(ROOT)], asked.calls)
    return 0


if __name__ == "__main__":
    sys.exit(main())
