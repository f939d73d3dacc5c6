"""Calibration of every method: coverage, reported against observed error and bias, over thousands of runs.

    make calibrate
    python benchmarks/calibrate.py --runs 200 100 --methods kernel --problems null,rare

The problems are small enough that the true values are known. Each line is a method on a problem with a loss, with a
fixed number of draws and with the method's own stopping rule. A line that violates a limit names it, and the exit code
is then 1. ``--write`` stores table and numbers in docs/appendix (calibration.md, calibration.json); with
``--methods``, the lines of other methods stay as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
from doc_tables import ROOT, digest, provenance, replace_block, table, table_row

from clarysage.estimators import METHODS
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.observers import clock
from clarysage.losses import as_loss
from tests.lab.calibration import AT_OWN_STOP, Calibration, CalibrationLimits, violations
from tests.lab.calibration_runs import calibrate, losses_of, settings_of, tolerance_for_twice
from tests.lab.problems import PROBLEMS

PAGE, DATA = ROOT / "docs" / "appendix" / "calibration.md", ROOT / "docs" / "appendix" / "calibration.json"
ENOUGH_RUNS = 1000
SAMPLING = [name for name in METHODS if name != "exact"]
COLUMNS = (
    "method",
    "problem",
    "loss",
    "coverage (worst feature)",
    "joint coverage",
    "reported / observed std (features)",
    "bias, % of range",
    "largest z",
    "at its own stop: coverage (worst feature)",
    "converged",
    "false claims",
)


def main() -> int:
    options = read_options()
    cells = [
        (method, name, loss)
        for method in options.methods
        for name in options.problems
        for loss in losses_of(method, name)
    ]
    begun, results = time.monotonic(), []
    print(table_row(COLUMNS))
    for done, cell in enumerate(cells, start=1):
        results.append(measure(cell, options, tests=len(cells) * 8))
        left = (time.monotonic() - begun) * (len(cells) - done) / done
        print(row(results[-1]), f"  [{done}/{len(cells)}, about {clock(left)} left]", flush=True)
    failed = [cell for cell in results if cell["missed"]]
    print(f"{len(results)} lines, {len(failed)} of them violate a limit; {clock(time.monotonic() - begun)}")
    if options.write:
        write(results, options)
    return 1 if failed else 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs=2, default=[1000, 500], help="fixed draws, own stopping rule")
    parser.add_argument("--methods", type=names_of(SAMPLING), default=SAMPLING)
    parser.add_argument("--problems", type=names_of(list(PROBLEMS)), default=list(PROBLEMS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1, help="processes")
    parser.add_argument("--write", action="store_true", help="store table and numbers in docs/")
    options = parser.parse_args()
    if options.write and options.problems != list(PROBLEMS):
        parser.error("--write stores all problems of a method: leave out --problems")
    return options


def names_of(choices: list[str]) -> Any:
    def read(text: str) -> list[str]:
        chosen = [name.strip() for name in text.split(",")]
        if unknown := set(chosen) - set(choices):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}; choose from {', '.join(choices)}")
        return chosen

    return read


def measure(cell: tuple[str, str, Any], options: argparse.Namespace, tests: int) -> dict[str, Any]:
    """Returns the numbers of a cell, with fixed draws and its own stopping rule, and the limits that it violates."""
    method, name, loss = cell
    runs, stop_runs = (round(share * n) for share, n in zip(settings_of(method).shares, options.runs, strict=True))
    shared = {"seed": options.seed, "executor": as_executor(options.jobs)}
    fixed = calibrate(method, name, loss, runs=runs, **shared)
    tolerance = tolerance_for_twice(fixed)
    stopped = calibrate(method, name, loss, runs=stop_runs, tolerance=tolerance, **shared)
    at_stop = [f"at its own stop: {words}" for words in violations(stopped, limits_for(stop_runs, AT_OWN_STOP))]
    return {
        "method": method,
        "problem": name,
        "loss": as_loss(loss).name,
        "fixed work": numbers(fixed),
        "own stop": {"tolerance": round(tolerance, 4), **numbers(stopped)},
        "missed": violations(fixed, limits_for(runs, CalibrationLimits()), tests=tests) + at_stop,
    }


def limits_for(runs: int, limits: CalibrationLimits) -> CalibrationLimits:
    """Returns the limits; for fewer than a thousand runs they are widened by four standard errors."""
    return limits if runs >= ENOUGH_RUNS else replace(limits, allowance=4.0)


def numbers(calibration: Calibration) -> dict[str, Any]:
    varies = calibration.varies
    z = np.abs(calibration.bias[varies]) / calibration.bias_errors[varies]
    return {
        "runs": calibration.runs,
        "coverage": round(calibration.coverage, 4),
        "coverage of features": calibration.coverage_by_player.round(4).tolist(),
        "joint coverage": round(calibration.joint_coverage, 4),
        "reported / observed std": round(calibration.ratio, 4),
        "that of features": calibration.ratios.round(4).tolist(),
        "bias / range": calibration.bias.round(6).tolist(),
        "its standard error": calibration.bias_errors.round(6).tolist(),
        "largest z": round(float(z.max(initial=0.0)), 2),
        "std / range": round(calibration.spread, 4),
        "exact features": int((~calibration.varies).sum()),
        "claims": calibration.claims,
        "misses": calibration.false_claims,
        "model rows": round(calibration.model_rows),
    }


def row(cell: dict[str, Any]) -> str:
    fixed, stopped = cell["fixed work"], cell["own stop"]
    ratios, bias = fixed["that of features"], np.abs(fixed["bias / range"])
    return table_row(
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


def write(results: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Stores the numbers and the table; the lines of methods that were not run stay as they are."""
    stored = json.loads(DATA.read_text()) if DATA.exists() else {"made": {}, "cells": []}
    current = provenance("calibrate.py", options.seed)
    by_method = {method: current if method in options.methods else stored["made"].get(method) for method in SAMPLING}
    by_method = {method: how for method, how in by_method.items() if how}
    cells = [
        cell
        for method in SAMPLING
        for cell in (results if method in options.methods else stored["cells"])
        if cell["method"] == method
    ]
    sha256 = digest(cells)
    numbers = {"made": by_method, "sha256 of cells": sha256, "bars": vars(CalibrationLimits()), "cells": cells}
    DATA.write_text(json.dumps(numbers, indent=1) + "\n")
    made = [f"{method}: made by `{how['command']}` at commit {how['commit']}." for method, how in by_method.items()]
    numbers_line = f"sha256 of the numbers: {sha256[:16]}."
    replace_block(PAGE, "\n\n".join(["  \n".join(made), numbers_line, table(COLUMNS, map(row, cells))]))


if __name__ == "__main__":
    sys.exit(main())
