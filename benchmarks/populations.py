"""Intervals, tests and decisions about populations: coverage and error rates, with fresh rows in every run.

    make calibrate
    python benchmarks/populations.py --runs 100 --populations linear,offset --sizes 100x64

The first table has intervals and tests about populations whose values are known, with fresh examples and background
rows in each run. The second has runs that stop when the signs, or the three largest values, are decided. A line that
violates a limit names it, and the exit code is then 1. ``--write`` stores tables and numbers in docs/appendix
(populations.md, populations.json). With ``--keep FILE`` an interrupted run can be continued.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from doc_tables import ROOT, CellCache, digest, provenance, replace_block, table, table_row

import clarysage as cs
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.observers import clock
from tests.lab.decision_runs import UnadjustedRule, decision_runs
from tests.lab.population_runs import PopulationRuns, population_runs
from tests.lab.populations import POPULATIONS
from tests.lab.problems import exact_values, problem, tabulated

PAGE, DATA = ROOT / "docs" / "appendix" / "populations.md", ROOT / "docs" / "appendix" / "populations.json"
SIZES = [(n, m) for n in (100, 400, 2000) for m in (64, 256)]
DECIDED = {
    "linear": "squared error",
    "logistic": "cross entropy",
    "redundant": "squared error",
    "rare": "squared error",
}
JOINT = ("linear", "offset", "boosting", "logistic")  # populations with a limit on the coverage of joint intervals
NO_LIMITS = ("rare rows",)  # intervals are known to fail here; the table shows how much
TOP = 3
COVERAGE = (
    "population",
    "rows",
    "background",
    "drawn from the rows",
    "data alone",
    "rows alone",
    "population (worst feature)",
    "joint coverage",
    "reported / observed std",
    "bias, % of range, uncorrected",
    "corrected",
    "false positives",
    "any, Holm",
)
DECISIONS = ("decision", "problem", "wrong", "all decided", "passes", "wrong, unadjusted", "passes, unadjusted")


def main() -> int:
    options = read_options()
    begun = time.monotonic()
    executor = as_executor(options.jobs)
    cache, run = CellCache.load(options.keep), (options.runs, options.seed)
    cells, decisions = [], []
    print(table_row(COVERAGE))
    for name in options.populations:
        for examples, background in options.sizes:
            for overlap in (False, True) if background < examples else (False,):
                where = (name, examples, background, overlap)
                cells.append(cache.get((*where, *run), partial(measure_coverage, *where, options, executor)))
                print(row(cells[-1]), flush=True)
    print(table_row(DECISIONS))
    for rule in (cs.SignsKnown(), cs.TopKnown(TOP)):
        for name, loss in DECIDED.items():
            key = (type(rule).__name__, name, *run)
            decisions.append(cache.get(key, partial(measure_decisions, rule, name, loss, options, executor)))
            print(decision_row(decisions[-1]), flush=True)
    failed = [cell for cell in (*cells, *decisions) if cell["missed"]]
    print(f"{len(failed)} of {len(cells) + len(decisions)} lines violate a limit; {clock(time.monotonic() - begun)}")
    if options.write:
        write(cells, decisions, provenance("populations.py", options.seed, cache.commits))
    return 1 if failed else 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--populations", type=lambda text: text.split(","), default=list(POPULATIONS))
    parser.add_argument("--sizes", type=sizes, default=SIZES, help="examples x background rows, as in 100x64,400x256")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1, help="processes")
    parser.add_argument("--keep", type=Path, help="file of finished cells, which are not computed again")
    parser.add_argument("--write", action="store_true", help="store tables and numbers in docs/")
    options = parser.parse_args()
    if unknown := set(options.populations) - set(POPULATIONS):
        parser.error(f"{', '.join(unknown)}; choose from {', '.join(POPULATIONS)}")
    if options.write and (options.populations != list(POPULATIONS) or options.sizes != SIZES):
        parser.error("--write stores all lines of the table: leave out --populations and --sizes")
    return options


def sizes(text: str) -> list[tuple[int, int]]:
    return [(int(n), int(m)) for n, m in (part.split("x") for part in text.split(","))]


def measure_coverage(
    name: str, examples: int, background: int, overlap: bool, options: argparse.Namespace, executor: Any
) -> dict[str, Any]:
    """Returns a cell of the first table."""
    runs = population_runs(
        name, examples, background, runs=options.runs, overlap=overlap, seed=options.seed, executor=executor
    )
    return coverage_cell(name, examples, background, overlap, runs)


def coverage_cell(name: str, examples: int, background: int, overlap: bool, runs: PopulationRuns) -> dict[str, Any]:
    """Returns the numbers of a cell and the limits that it violates; only tests have room for simulation error."""
    bias = [100 * side[np.abs(side).argmax()] for side in runs.bias]
    cell = {
        "population": name,
        "rows": examples,
        "background": background,
        "drawn from the rows": overlap,
        "runs": len(runs.values),
        "data alone": round(runs.coverage_by_feature(runs.covers_by_data).mean(), 4),
        "rows alone": round(runs.coverage_by_feature(runs.covers_by_rows).mean(), 4),
        "coverage": round(runs.coverage, 4),
        "coverage of features": runs.coverage_by_feature(runs.covers).round(4).tolist(),
        "joint coverage": round(float(runs.covers_jointly.mean()), 4),
        "reported / observed std": round(runs.ratio, 3),
        "bias before, %": round(bias[0], 2),
        "bias after, %": round(bias[1], 2),
        "false helps": round(runs.false_positives, 4),
        "any by Holm": round(runs.any_false_positive_by_holm, 4),
    }
    room = 2 * np.sqrt(0.05 * 0.95 / cell["runs"])
    checks = {
        "coverage": 0.93 <= cell["coverage"] <= 0.975,
        "worst feature": min(cell["coverage of features"]) >= 0.91,
        "joint coverage": cell["joint coverage"] >= 0.90 or name not in JOINT,
        "false positives": cell["false helps"] <= 0.06 + room,
        "any, Holm": cell["any by Holm"] <= 0.05 + room,
    }
    return {**cell, "missed": [words for words, holds in checks.items() if not holds and name not in NO_LIMITS]}


def measure_decisions(rule: Any, name: str, loss: str, options: argparse.Namespace, executor: Any) -> dict[str, Any]:
    game = problem(name).game(loss)
    truth = exact_values(tabulated(game))
    shared = {"runs": options.runs, "seed": options.seed, "executor": executor}
    sequential, unadjusted = (decision_runs(game, truth, each, **shared) for each in (rule, UnadjustedRule(rule)))
    cell = {
        "decision": "signs" if isinstance(rule, cs.SignsKnown) else f"largest {TOP}",
        "problem": name,
        "runs": options.runs,
        "wrong": round(float(sequential.wrong.mean()), 4),
        "decided": round(float(sequential.decided.mean()), 4),
        "passes": round(float(sequential.passes.mean()), 2),
        "wrong in haste": round(float(unadjusted.wrong.mean()), 4),
        "passes in haste": round(float(unadjusted.passes.mean()), 2),
    }
    return {**cell, "missed": ["wrong"] if cell["wrong"] > 0.05 else []}


def row(cell: dict[str, Any]) -> str:
    return table_row(
        [
            cell["population"],
            cell["rows"],
            cell["background"],
            "yes" if cell["drawn from the rows"] else "",
            f"{cell['data alone']:.1%}",
            f"{cell['rows alone']:.1%}",
            f"{cell['coverage']:.1%} ({min(cell['coverage of features']):.1%})",
            f"{cell['joint coverage']:.1%}",
            f"{cell['reported / observed std']:.2f}",
            f"{cell['bias before, %']:+.2f}",
            f"{cell['bias after, %']:+.2f}",
            f"{cell['false helps']:.1%}",
            f"{cell['any by Holm']:.1%}",
        ]
    ) + violated(cell)


def decision_row(cell: dict[str, Any]) -> str:
    return table_row(
        [
            cell["decision"],
            cell["problem"],
            f"{cell['wrong']:.1%}",
            f"{cell['decided']:.1%}",
            cell["passes"],
            f"{cell['wrong in haste']:.1%}",
            cell["passes in haste"],
        ]
    ) + violated(cell)


def violated(cell: dict[str, Any]) -> str:
    return "".join(f" **{words}**" for words in cell["missed"])


def write(cells: list[dict[str, Any]], decisions: list[dict[str, Any]], how: dict[str, Any]) -> None:
    sha256 = digest([cells, decisions])
    DATA.write_text(
        json.dumps({"made": how, "sha256": sha256, "populations": cells, "decisions": decisions}, indent=1) + "\n"
    )
    tables = [table(COVERAGE, map(row, cells)), table(DECISIONS, map(decision_row, decisions))]
    made = f"Made by `{how['command']}` at commit {how['commit']}; sha256 of the numbers: {sha256[:16]}."
    replace_block(PAGE, "\n\n".join([made, *tables]))


if __name__ == "__main__":
    sys.exit(main())
