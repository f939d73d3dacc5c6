"""Do intervals hold as often as they say? Every method on problems whose answer is known, over thousands of runs.

    make calibrate
    python benchmarks/calibrate.py --runs 200 100 --methods kernel --problems null,rare

Each line is a method on a problem with a loss: at fixed work, and where the method stops by itself. A line that misses
a bar says which; the exit code is then 1. ``--write`` keeps the table in docs/calibration.md, the numbers in
docs/calibration.json; with ``--methods``, lines of other methods stay as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
from kept import ROOT, digest, line, made, put

from clarysage.estimators import METHODS
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.observers import clock
from clarysage.losses import as_loss
from tests.lab.bars import AT_A_STOP, Bars, failures
from tests.lab.calibration import Calibration
from tests.lab.cells import calibrate, losses_of, tolerance_for_twice, trial_of
from tests.lab.problems import PROBLEMS

PAGE, DATA = ROOT / "docs" / "calibration.md", ROOT / "docs" / "calibration.json"
ENOUGH = 1000
SAMPLING = [name for name in METHODS if name != "exact"]
COLUMNS = (
    "method",
    "problem",
    "loss",
    "coverage (worst feature)",
    "all at once",
    "reported / observed std (features)",
    "bias, % of range",
    "largest z",
    "at its own stop: coverage (worst feature)",
    "claims",
    "misses",
)


def main() -> int:
    options = read_options()
    cells = [
        (method, name, loss)
        for method in options.methods
        for name in options.problems
        for loss in losses_of(method, name)
    ]
    begun, found = time.monotonic(), []
    print(line(COLUMNS))
    for done, cell in enumerate(cells, start=1):
        found.append(judged(cell, options, tests=len(cells) * 8))
        left = (time.monotonic() - begun) * (len(cells) - done) / done
        print(row(found[-1]), f"  [{done}/{len(cells)}, about {clock(left)} left]", flush=True)
    missed = [cell for cell in found if cell["missed"]]
    print(f"{len(found)} lines, {len(missed)} of them miss a bar; {clock(time.monotonic() - begun)}")
    if options.write:
        write(found, options)
    return 1 if missed else 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs=2, default=[1000, 500], help="at fixed work, at its own stop")
    parser.add_argument("--methods", type=names_of(SAMPLING), default=SAMPLING)
    parser.add_argument("--problems", type=names_of(list(PROBLEMS)), default=list(PROBLEMS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1, help="processes")
    parser.add_argument("--write", action="store_true", help="keep table and numbers in docs/")
    options = parser.parse_args()
    if options.write and options.problems != list(PROBLEMS):
        parser.error("--write keeps whole methods: leave out --problems")
    return options


def names_of(known: list[str]) -> Any:
    def read(given: str) -> list[str]:
        chosen = [name.strip() for name in given.split(",")]
        if unknown := set(chosen) - set(known):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}; there are {', '.join(known)}")
        return chosen

    return read


def judged(cell: tuple[str, str, Any], options: argparse.Namespace, tests: int) -> dict[str, Any]:
    """The numbers of a cell, at fixed work and at its own stop, and the bars that it misses."""
    method, name, loss = cell
    runs, stop_runs = (round(share * n) for share, n in zip(trial_of(method).shares, options.runs, strict=True))
    shared = {"seed": options.seed, "executor": as_executor(options.jobs)}
    fixed = calibrate(method, name, loss, runs=runs, **shared)
    tolerance = tolerance_for_twice(fixed)
    stopped = calibrate(method, name, loss, runs=stop_runs, tolerance=tolerance, **shared)
    at_stop = [f"at its own stop: {words}" for words in failures(stopped, bars_for(stop_runs, AT_A_STOP))]
    return {
        "method": method,
        "problem": name,
        "loss": as_loss(loss).name,
        "fixed work": numbers(fixed),
        "own stop": {"tolerance": round(tolerance, 4), **numbers(stopped)},
        "missed": failures(fixed, bars_for(runs, Bars()), tests=tests) + at_stop,
    }


def bars_for(runs: int, bars: Bars) -> Bars:
    """Bars as they are for a thousand runs or more; widened by four standard errors for fewer."""
    return bars if runs >= ENOUGH else replace(bars, allowance=4.0)


def numbers(found: Calibration) -> dict[str, Any]:
    moving = np.flatnonzero(found.moves)
    z = np.abs(found.bias[moving]) / found.bias_errors[moving]
    return {
        "runs": found.runs,
        "coverage": round(found.coverage, 4),
        "coverage of features": found.by_player.round(4).tolist(),
        "joint coverage": round(found.joint, 4),
        "reported / observed std": round(found.ratio, 4),
        "that of features": found.ratios.round(4).tolist(),
        "bias / range": found.bias.round(6).tolist(),
        "its standard error": found.bias_errors.round(6).tolist(),
        "largest z": round(float(z.max(initial=0.0)), 2),
        "std / range": round(found.spread, 4),
        "exact features": int((~found.moves).sum()),
        "claims": found.claims,
        "misses": found.misses,
        "model rows": round(found.model_rows),
    }


def row(cell: dict[str, Any]) -> str:
    fixed, stopped = cell["fixed work"], cell["own stop"]
    ratios, bias = fixed["that of features"], np.abs(fixed["bias / range"])
    return line(
        [
            cell["method"],
            cell["problem"],
            cell["loss"],
            covered(fixed),
            f"{fixed['joint coverage']:.1%}",
            f"{fixed['reported / observed std']:.3f} ({min(ratios):.2f}-{max(ratios):.2f})",
            f"{100 * bias.max():.2f} ± {100 * fixed['its standard error'][int(bias.argmax())]:.2f}",
            f"{fixed['largest z']:.1f}",
            covered(stopped),
            f"{stopped['claims']} of {stopped['runs']}",
            stopped["misses"],
        ]
    ) + "".join(f" **{words}**" for words in cell["missed"])


def covered(part: dict[str, Any]) -> str:
    return f"{part['coverage']:.1%} ({min(part['coverage of features']):.1%})"


def write(found: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Keeps the numbers, and the table between the marks of the page; those of methods not tried stay as they are."""
    kept = json.loads(DATA.read_text()) if DATA.exists() else {"made": {}, "cells": []}
    how = made("calibrate.py", options.seed)
    by_method = {method: how if method in options.methods else kept["made"].get(method) for method in SAMPLING}
    by_method = {method: said for method, said in by_method.items() if said}
    cells = [
        cell
        for method in SAMPLING
        for cell in (found if method in options.methods else kept["cells"])
        if cell["method"] == method
    ]
    sha256 = digest(cells)
    numbers = {"made": by_method, "sha256 of cells": sha256, "bars": vars(Bars()), "cells": cells}
    DATA.write_text(json.dumps(numbers, indent=1) + "\n")
    said = [f"{method}: made by `{how['command']}` at commit {how['commit']}." for method, how in by_method.items()]
    table = "\n".join([line(COLUMNS), line(["---"] * len(COLUMNS)), *map(row, cells)])
    put(PAGE, "\n\n".join(["  \n".join(said), f"sha256 of the numbers: {sha256[:16]}.", table]))


if __name__ == "__main__":
    sys.exit(main())
