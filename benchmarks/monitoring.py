"""Does monitoring name what broke, and is it quiet otherwise? On fresh rows in every run, beside the usual practice.

    make bench-monitoring
    CLARYSAGE_DATA=... python benchmarks/monitoring.py --write

Two tables. Alarms where nothing broke: runs in which anything is flagged, at most 5 % by design, or any column is known
to have shifted, again 5 %. Then the three faults of the paper's Figure 3: how often the broken column is flagged, and
how often another one is, by the number of rows on each side; in fresh rows, and in the reference's own rows. Beside
them the usual practice: two bar charts of permutation importances (scikit-learn's, five repeats), a feature being
flagged where bars of two standard deviations over repeats do not overlap.

The simulated bank is that of tests/lab/bank.py. With CLARYSAGE_DATA set the bank table of the paper is split at random
as well. Runs have few background rows and few draws to be cheap, but for one line that has the default options. Seconds
are of one process, without waiting. ``--write`` keeps tables in docs/monitoring.md and numbers in docs/monitoring.json;
with ``--keep FILE`` a run that was ended goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from kept import ROOT, Cells, digest, line, made, put
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.inspection import permutation_importance
from threadpoolctl import threadpool_limits

import clarysage as cs
from clarysage.errors import MissingDataError
from clarysage.execution.observers import clock
from tests.lab.bank import CORRUPTIONS, bank, bank_model

PAGE, DATA = ROOT / "docs" / "monitoring.md", ROOT / "docs" / "monitoring.json"
ROWS = (200, 500, 1000, 2000)
CLEAN, REAL_CLEAN = ((200, 200), (1000, 1000), (2000, 200)), ((1000, 1000), (2000, 200))
REAL_ROWS = (500, 2000)
SLICES, OF_SLICE = 12, 100
CHEAP: dict[str, Any] = {"background_rows": 24, "tolerance": 0.1, "method": "paired walks"}
REPEATS, BARS, RIVALS = 5, 2.0, 40  # of the usual practice; how many runs it is tried in, where nothing broke
QUIET = ("table", "rows", "runs", "anything flagged", "any column shifted", "usual practice", "seconds")
NAMED = (
    "table",
    "fault",
    "rows",
    "runs",
    "flagged",
    "another too",
    "own rows: flagged",
    "another too",
    "usual practice: flagged",
    "another too",
)


@dataclass(frozen=True)
class Source:
    """A model, and where reference and current rows come from."""

    name: str
    model: Any
    target: str
    sizes: tuple[int, ...]
    draw: Callable[[int, np.random.Generator], pd.DataFrame]

    def monitor(self, reference: pd.DataFrame, current: pd.DataFrame, seed: int, **options: Any) -> cs.Monitoring:
        return cs.monitor(self.model, reference, current, rng=seed, **{"target": self.target, **options})

    def sides(self, reference: int, current: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
        rows = self.draw(reference + current, rng)
        return rows.iloc[:reference].reset_index(drop=True), rows.iloc[reference:].reset_index(drop=True)


def simulated(seed: int) -> Source:
    return Source("simulated", bank_model(np.random.default_rng([seed, 1])), "subscribed", ROWS, bank)


def real(seed: int) -> Source:
    """The paper's table, half of which the model is fitted to; rows are drawn from the other half."""
    X, y = cs.datasets.bank(download=False)
    table = X.rename(columns=str.lower).astype({"duration": float}).assign(y=y)
    table = table.sample(frac=1.0, random_state=seed, ignore_index=True)
    fitted, pool = table.iloc[: len(table) // 2], table.iloc[len(table) // 2 :]
    model = HistGradientBoostingClassifier(max_iter=60, categorical_features="from_dtype", random_state=0)
    model.fit(fitted.drop(columns="y"), fitted["y"])
    return Source("paper's", model, "y", REAL_ROWS, lambda n, rng: pool.iloc[rng.permutation(len(pool))[:n]])


@dataclass
class Tally:
    """How often things happened."""

    runs: int = 0
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, **happened: bool) -> None:
        self.runs += 1
        for name, it_did in happened.items():
            self.counts[name] = self.counts.get(name, 0) + bool(it_did)

    def timed(self, call: Callable[[], cs.Monitoring]) -> cs.Monitoring:
        begun = time.process_time()
        found = call()
        self.seconds += time.process_time() - begun
        return found

    def cell(self) -> dict[str, Any]:
        return {"runs": self.runs, "seconds": round(self.seconds / self.runs, 2), **self.counts}


def usual(source: Source, reference: pd.DataFrame, current: pd.DataFrame, seed: int) -> list[str]:
    """Features whose bars of permutation importances do not overlap."""
    found = [
        permutation_importance(
            source.model,
            side.drop(columns=source.target),
            side[source.target],
            scoring="neg_log_loss",
            n_repeats=REPEATS,
            random_state=seed,
        )
        for side in (reference, current)
    ]
    gap = np.abs(found[1].importances_mean - found[0].importances_mean)
    reach = BARS * (found[0].importances_std + found[1].importances_std)
    names = reference.drop(columns=source.target).columns
    return [name for name, is_apart in zip(names, gap > reach, strict=True) if is_apart]


def clean(
    source: Source, reference: int, current: int, runs: int, seed: int, options: dict[str, Any]
) -> dict[str, Any]:
    """Fresh rows on both sides, of the same law."""
    tally, rival = Tally(), Tally()
    for i in range(runs):
        sides = source.sides(reference, current, np.random.default_rng([seed, 2, reference, current, i]))
        found = tally.timed(partial(source.monitor, *sides, i, **options))
        tally.add(flagged=found.is_flagged, shifted=bool(found.shifted))
        if i < RIVALS:
            rival.add(usual=bool(usual(source, *sides, i)))
    return {**tally.cell(), "usual runs": rival.runs, **rival.counts}


def sliced(source: Source, runs: int, seed: int) -> dict[str, Any]:
    """Twelve slices at once."""
    tally = Tally()
    for i in range(runs):
        rng = np.random.default_rng([seed, 3, i])
        sides = source.sides(1000, SLICES * OF_SLICE, rng)
        found = tally.timed(partial(source.monitor, *sides, i, every=OF_SLICE, **CHEAP))
        tally.add(flagged=found.is_flagged, shifted=bool(found.shifted))
    return tally.cell()


def unlabelled(source: Source, runs: int, seed: int) -> dict[str, Any]:
    """Without responses: Shapley effects."""
    tally = Tally()
    for i in range(runs):
        sides = source.sides(1000, 1000, np.random.default_rng([seed, 4, i]))
        told = [side.drop(columns=source.target) for side in sides]
        found = tally.timed(partial(source.monitor, *told, i, target=None, **CHEAP))
        tally.add(flagged=found.is_flagged, shifted=bool(found.shifted))
    return tally.cell()


def broken(source: Source, name: str, rows: int, runs: int, seed: int) -> dict[str, Any]:
    """One fault, in fresh rows and in the reference's own."""
    fault, tally = CORRUPTIONS[name], Tally()
    for i in range(runs):
        reference, current = source.sides(rows, rows, np.random.default_rng([seed, 5, rows, i]))
        fresh, own = fault(current), fault(reference)
        found = {
            "flagged": tally.timed(partial(source.monitor, reference, fresh, i, **CHEAP)).flagged,
            "own rows": tally.timed(partial(source.monitor, reference, own, i, paired=True, **CHEAP)).flagged,
            "usual": usual(source, reference, fresh, i),
        }
        happened = {what: fault.column in flagged for what, flagged in found.items()}
        others = {f"{what}, another": bool(set(flagged) - {fault.column}) for what, flagged in found.items()}
        tally.add(**happened, **others)
    return {"fault": name, **tally.cell()}


def main() -> int:
    options = read_options()
    begun, kept = time.monotonic(), Cells.of(options.keep)
    quiet, named = [], []
    for source in sources(options.seed):
        print(line(QUIET))
        for where, make in quiet_cells(source, options.runs[0], options.seed).items():
            key = (source.name, where, options.runs[0], options.seed)
            quiet.append({"table": source.name, "rows": where, **kept.get(key, make)})
            print(quiet_row(quiet[-1]), flush=True)
        print(line(NAMED))
        for name, rows in product(CORRUPTIONS, source.sizes):
            key = (source.name, name, rows, options.runs[1], options.seed)
            make = partial(broken, source, name, rows, options.runs[1], options.seed)
            named.append({"table": source.name, "rows": rows, **kept.get(key, make)})
            print(named_row(named[-1]), flush=True)
    print(clock(time.monotonic() - begun))
    if options.write:
        write(quiet, named, made("monitoring.py", options.seed, kept.commits))
    return 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs=2, default=[200, 20], help="where nothing broke, and of each fault")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a file for cells as they are made, which are not made again")
    parser.add_argument("--write", action="store_true", help="keep tables and numbers in docs/")
    return parser.parse_args()


def sources(seed: int) -> list[Source]:
    """The simulated table, and the paper's where it is there."""
    try:
        return [simulated(seed), real(seed)]
    except MissingDataError as error:
        print(f"The paper's table is left out: {error}.")
    return [simulated(seed)]


def quiet_cells(source: Source, runs: int, seed: int) -> dict[str, Callable[[], dict[str, Any]]]:
    """What is tried where nothing broke, by what it is called; what is dear, in fewer runs."""
    if source.name != "simulated":
        return {f"{n} and {m}": partial(clean, source, n, m, runs // 2, seed, CHEAP) for n, m in REAL_CLEAN}
    return {
        **{f"{n} and {m}": partial(clean, source, n, m, runs, seed, CHEAP) for n, m in CLEAN},
        "1000 and 1000, without labels": partial(unlabelled, source, runs, seed),
        f"1000 and {SLICES} slices of {OF_SLICE}": partial(sliced, source, runs // 4, seed),
        "1000 and 1000, default options": partial(clean, source, 1000, 1000, runs // 4, seed, {}),
    }


def percent(cell: dict[str, Any], what: str) -> str:
    """A share of the runs; of 40 of them, where the usual practice was tried in these alone."""
    runs = cell.get(f"{what} runs", cell["runs"])
    return f"{cell[what] / runs:.1%}" if what in cell else ""


def quiet_row(cell: dict[str, Any]) -> str:
    rates = [percent(cell, what) for what in ("flagged", "shifted", "usual")]
    return line([cell["table"], cell["rows"], cell["runs"], *rates, f"{cell['seconds']:.1f}"])


def named_row(cell: dict[str, Any]) -> str:
    rates = [percent(cell, what) for word in ("flagged", "own rows", "usual") for what in (word, f"{word}, another")]
    return line([cell["table"], cell["fault"], cell["rows"], cell["runs"], *rates])


def write(quiet: list[dict[str, Any]], named: list[dict[str, Any]], how: dict[str, Any]) -> None:
    sha256 = digest([quiet, named])
    DATA.write_text(json.dumps({"made": how, "sha256": sha256, "quiet": quiet, "named": named}, indent=1) + "\n")
    tables = [
        "\n".join([line(names), line(["---"] * len(names)), *map(show, found)])
        for names, show, found in ((QUIET, quiet_row, quiet), (NAMED, named_row, named))
    ]
    said = f"Made by `{how['command']}` at commit {how['commit']}; sha256 of the numbers: {sha256[:16]}."
    put(PAGE, "\n\n".join([said, *tables]))


if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
