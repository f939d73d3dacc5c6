"""Do intervals about the population hold it, are tests right, are decisions? On fresh rows in every run.

    make calibrate
    python benchmarks/populations.py --runs 100 --populations linear,offset --sizes 100x64

Three tables: intervals and tests about populations whose values are known, with fresh examples and background rows in
each run; then runs that stop when signs, or the three largest values, are known. A line that misses a bar says which;
the exit code is then 1. ``--write`` keeps tables in docs/populations.md and numbers in docs/populations.json; with
``--keep FILE`` a run that was ended goes on where it was.
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
from kept import ROOT, Cells, digest, line, made, put

import clarysage as cs
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.observers import clock
from tests.lab.decision_runs import Hasty, decision_runs
from tests.lab.population_runs import population_runs
from tests.lab.populations import POPULATIONS
from tests.lab.problems import problem
from tests.lab.tabulated import exact_values, tabulated

PAGE, DATA = ROOT / "docs" / "populations.md", ROOT / "docs" / "populations.json"
SIZES = [(n, m) for n in (100, 400, 2000) for m in (64, 256)]
DECIDED = {
    "linear": "squared error",
    "logistic": "cross entropy",
    "redundant": "squared error",
    "rare": "squared error",
}
JOINTLY = ("linear", "offset", "boosting", "logistic")  # whose joint intervals are judged
BEYOND = ("rare rows",)  # where intervals are known to fail, and are shown to
TOP = 3
COVERED = (
    "population",
    "rows",
    "background",
    "drawn from the rows",
    "data alone",
    "rows alone",
    "population (worst feature)",
    "all at once",
    "reported / observed std",
    "bias, % of range, before",
    "after",
    "false helps",
    "any, Holm",
)
DECISIONS = ("decision", "problem", "wrong", "all decided", "passes", "wrong, in haste", "passes, in haste")


def main() -> int:
    options = read_options()
    begun = time.monotonic()
    executor = as_executor(options.jobs)
    kept, run = Cells.of(options.keep), (options.runs, options.seed)
    cells, decisions = [], []
    print(line(COVERED))
    for name in options.populations:
        for examples, background in options.sizes:
            for overlap in (False, True) if background < examples else (False,):
                where = (name, examples, background, overlap)
                cells.append(kept.get((*where, *run), partial(covered, *where, options, executor)))
                print(row(cells[-1]), flush=True)
    print(line(DECISIONS))
    for rule in (cs.SignsKnown(), cs.TopKnown(TOP)):
        for name, loss in DECIDED.items():
            key = (type(rule).__name__, name, *run)
            decisions.append(kept.get(key, partial(decided, rule, name, loss, options, executor)))
            print(decision_row(decisions[-1]), flush=True)
    missed = [cell for cell in (*cells, *decisions) if cell["missed"]]
    print(f"{len(missed)} of {len(cells) + len(decisions)} lines miss a bar; {clock(time.monotonic() - begun)}")
    if options.write:
        write(cells, decisions, made("populations.py", options.seed, kept.commits))
    return 1 if missed else 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--populations", type=lambda text: text.split(","), default=list(POPULATIONS))
    parser.add_argument("--sizes", type=sizes, default=SIZES, help="such as 100x64,400x256: examples x background rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1, help="processes")
    parser.add_argument("--keep", type=Path, help="a file for cells as they are made, which are not made again")
    parser.add_argument("--write", action="store_true", help="keep tables and numbers in docs/")
    options = parser.parse_args()
    if unknown := set(options.populations) - set(POPULATIONS):
        parser.error(f"{', '.join(unknown)}; there are {', '.join(POPULATIONS)}")
    if options.write and (options.populations != list(POPULATIONS) or options.sizes != SIZES):
        parser.error("--write keeps the whole table: leave out --populations and --sizes")
    return options


def sizes(text: str) -> list[tuple[int, int]]:
    return [(int(n), int(m)) for n, m in (part.split("x") for part in text.split(","))]


def covered(
    name: str, examples: int, background: int, overlap: bool, options: argparse.Namespace, executor: Any
) -> dict[str, Any]:
    """A cell of the first table."""
    found = population_runs(
        name, examples, background, runs=options.runs, overlap=overlap, seed=options.seed, executor=executor
    )
    return judged(name, examples, background, overlap, found)


def judged(name: str, examples: int, background: int, overlap: bool, found: Any) -> dict[str, Any]:
    """The numbers of a cell, and the bars that it misses; simulation error counts for tests alone."""
    bias = [100 * side[np.abs(side).argmax()] for side in found.bias]
    cell = {
        "population": name,
        "rows": examples,
        "background": background,
        "drawn from the rows": overlap,
        "runs": len(found.values),
        "data alone": round(found.covered(found.held_by_data).mean(), 4),
        "rows alone": round(found.covered(found.held_by_rows).mean(), 4),
        "coverage": round(found.coverage, 4),
        "coverage of features": found.covered(found.held).round(4).tolist(),
        "joint coverage": round(float(found.held_together.mean()), 4),
        "reported / observed std": round(found.ratio, 3),
        "bias before, %": round(bias[0], 2),
        "bias after, %": round(bias[1], 2),
        "false helps": round(found.false_helps, 4),
        "any by Holm": round(found.any_false_by_holm, 4),
    }
    room = 2 * np.sqrt(0.05 * 0.95 / cell["runs"])
    checks = {
        "coverage": 0.93 <= cell["coverage"] <= 0.975,
        "worst feature": min(cell["coverage of features"]) >= 0.91,
        "all at once": cell["joint coverage"] >= 0.90 or name not in JOINTLY,
        "false helps": cell["false helps"] <= 0.06 + room,
        "any, Holm": cell["any by Holm"] <= 0.05 + room,
    }
    return {**cell, "missed": [words for words, holds in checks.items() if not holds and name not in BEYOND]}


def decided(rule: Any, name: str, loss: str, options: argparse.Namespace, executor: Any) -> dict[str, Any]:
    game = problem(name).game(loss)
    truth = exact_values(tabulated(game))
    shared = {"runs": options.runs, "seed": options.seed, "executor": executor}
    found, hasty = (decision_runs(game, truth, one, **shared) for one in (rule, Hasty(rule)))
    cell = {
        "decision": "signs" if isinstance(rule, cs.SignsKnown) else f"largest {TOP}",
        "problem": name,
        "runs": options.runs,
        "wrong": round(float(found.wrong.mean()), 4),
        "decided": round(float(found.decided.mean()), 4),
        "passes": round(float(found.passes.mean()), 2),
        "wrong in haste": round(float(hasty.wrong.mean()), 4),
        "passes in haste": round(float(hasty.passes.mean()), 2),
    }
    return {**cell, "missed": ["wrong"] if cell["wrong"] > 0.05 else []}


def row(cell: dict[str, Any]) -> str:
    return line(
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
    ) + missing(cell)


def decision_row(cell: dict[str, Any]) -> str:
    return line(
        [
            cell["decision"],
            cell["problem"],
            f"{cell['wrong']:.1%}",
            f"{cell['decided']:.1%}",
            cell["passes"],
            f"{cell['wrong in haste']:.1%}",
            cell["passes in haste"],
        ]
    ) + missing(cell)


def missing(cell: dict[str, Any]) -> str:
    return "".join(f" **{words}**" for words in cell["missed"])


def write(cells: list[dict[str, Any]], decisions: list[dict[str, Any]], how: dict[str, Any]) -> None:
    sha256 = digest([cells, decisions])
    DATA.write_text(
        json.dumps({"made": how, "sha256": sha256, "populations": cells, "decisions": decisions}, indent=1) + "\n"
    )
    tables = [
        "\n".join([line(names), line(["---"] * len(names)), *map(show, found)])
        for names, show, found in ((COVERED, row, cells), (DECISIONS, decision_row, decisions))
    ]
    said = f"Made by `{how['command']}` at commit {how['commit']}; sha256 of the numbers: {sha256[:16]}."
    put(PAGE, "\n\n".join([said, *tables]))


if __name__ == "__main__":
    sys.exit(main())
