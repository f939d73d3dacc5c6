"""Error rates and power of monitoring, with fresh rows in every run, and of the usual practice for comparison.

    make bench-monitoring
    CLARYSAGE_DATA=... python benchmarks/monitoring.py --write

The first table has false alarms without a fault: the share of runs in which anything is flagged, at most 5 % by design,
and the share in which any column has a significant shift, again at most 5 %. The second has the three faults of the
paper's Figure 3: how often the corrupted column is flagged, and how often another one is, by the number of rows on each
side; in fresh rows, and in the reference rows themselves. The usual practice compares two bar charts of permutation
importances (scikit-learn's, five repeats): it flags a feature if the error bars of two standard deviations over repeats
do not overlap.

The simulated bank table is that of tests/lab/bank.py. The bank table of the paper is split at random as well if
CLARYSAGE_DATA names its folder or it can be downloaded (experiments/data). To be fast, runs have few background rows
and few draws, except for one line with the default options. Seconds are processor seconds. ``--write`` stores the
tables in docs/monitoring.md and the numbers in docs/monitoring.json. With ``--keep FILE`` an interrupted run can be
continued.
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
from doc_tables import ROOT, CellCache, digest, provenance, replace_block, table, table_row
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.inspection import permutation_importance
from threadpoolctl import threadpool_limits

import clarysage as cs
from clarysage.execution.observers import clock
from experiments.data import MissingDataError, load
from tests.lab.bank import CORRUPTIONS, bank, bank_model

PAGE, DATA = ROOT / "docs" / "monitoring.md", ROOT / "docs" / "monitoring.json"
ROWS = (200, 500, 1000, 2000)
FAULTLESS, REAL_FAULTLESS = ((200, 200), (1000, 1000), (2000, 200)), ((1000, 1000), (2000, 200))
REAL_ROWS = (500, 2000)
SLICES, ROWS_OF_SLICE = 12, 100
FAST: dict[str, Any] = {"background_rows": 24, "tolerance": 0.1, "method": "paired walks"}
REPEATS, ERROR_BAR, USUAL_RUNS = 5, 2.0, 40  # of the usual practice; its runs in each line without a fault
FALSE_ALARMS = ("table", "rows", "runs", "anything flagged", "any column shifted", "usual practice", "seconds")
POWER = (
    "table",
    "fault",
    "rows",
    "runs",
    "flagged",
    "another flagged",
    "same rows: flagged",
    "another flagged",
    "usual practice: flagged",
    "another flagged",
)


@dataclass(frozen=True)
class Source:
    """A model, and the distribution or table from which reference and current rows are drawn."""

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
    """Fits a model to one half of the paper's table; rows are drawn from the other half."""
    X, y, _ = load("bank")
    table = X.rename(columns=str.lower).astype({"duration": float}).assign(y=y)
    table = table.sample(frac=1.0, random_state=seed, ignore_index=True)
    fitted, pool = table.iloc[: len(table) // 2], table.iloc[len(table) // 2 :]
    model = HistGradientBoostingClassifier(max_iter=60, categorical_features="from_dtype", random_state=0)
    model.fit(fitted.drop(columns="y"), fitted["y"])
    return Source("paper's", model, "y", REAL_ROWS, lambda n, rng: pool.iloc[rng.permutation(len(pool))[:n]])


@dataclass
class Tally:
    """Counts of events over runs, and the seconds of the runs."""

    runs: int = 0
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, **events: bool) -> None:
        self.runs += 1
        for name, happened in events.items():
            self.counts[name] = self.counts.get(name, 0) + bool(happened)

    def timed(self, call: Callable[[], cs.Monitoring]) -> cs.Monitoring:
        begun = time.process_time()
        monitoring = call()
        self.seconds += time.process_time() - begun
        return monitoring

    def cell(self) -> dict[str, Any]:
        return {"runs": self.runs, "seconds": round(self.seconds / self.runs, 2), **self.counts}


def usual_practice(source: Source, reference: pd.DataFrame, current: pd.DataFrame, seed: int) -> list[str]:
    """Returns the features whose error bars of permutation importance do not overlap."""
    importances = [
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
    difference = np.abs(importances[1].importances_mean - importances[0].importances_mean)
    bars = ERROR_BAR * (importances[0].importances_std + importances[1].importances_std)
    names = reference.drop(columns=source.target).columns
    return [name for name, is_flagged in zip(names, difference > bars, strict=True) if is_flagged]


def without_fault(
    source: Source, reference: int, current: int, runs: int, seed: int, options: dict[str, Any]
) -> dict[str, Any]:
    """Counts false alarms with fresh rows from the same distribution on both sides."""
    tally, usual = Tally(), Tally()
    for i in range(runs):
        sides = source.sides(reference, current, np.random.default_rng([seed, 2, reference, current, i]))
        monitoring = tally.timed(partial(source.monitor, *sides, i, **options))
        tally.add(flagged=monitoring.is_flagged, shifted=bool(monitoring.shifted))
        if i < USUAL_RUNS:
            usual.add(usual=bool(usual_practice(source, *sides, i)))
    return {**tally.cell(), "usual runs": usual.runs, **usual.counts}


def sliced(source: Source, runs: int, seed: int) -> dict[str, Any]:
    """Counts false alarms in any of twelve slices of the current rows."""
    tally = Tally()
    for i in range(runs):
        rng = np.random.default_rng([seed, 3, i])
        sides = source.sides(1000, SLICES * ROWS_OF_SLICE, rng)
        monitoring = tally.timed(partial(source.monitor, *sides, i, every=ROWS_OF_SLICE, **FAST))
        tally.add(flagged=monitoring.is_flagged, shifted=bool(monitoring.shifted))
    return tally.cell()


def unlabelled(source: Source, runs: int, seed: int) -> dict[str, Any]:
    """Counts false alarms without responses: the values are Shapley effects."""
    tally = Tally()
    for i in range(runs):
        sides = source.sides(1000, 1000, np.random.default_rng([seed, 4, i]))
        unlabelled_sides = [side.drop(columns=source.target) for side in sides]
        monitoring = tally.timed(partial(source.monitor, *unlabelled_sides, i, target=None, **FAST))
        tally.add(flagged=monitoring.is_flagged, shifted=bool(monitoring.shifted))
    return tally.cell()


def with_fault(source: Source, name: str, rows: int, runs: int, seed: int) -> dict[str, Any]:
    """Counts how often the corrupted column and others are flagged, in fresh rows and in the reference rows."""
    fault, tally = CORRUPTIONS[name], Tally()
    for i in range(runs):
        reference, current = source.sides(rows, rows, np.random.default_rng([seed, 5, rows, i]))
        fresh, same = fault(current), fault(reference)
        flags = {
            "flagged": tally.timed(partial(source.monitor, reference, fresh, i, **FAST)).flagged,
            "own rows": tally.timed(partial(source.monitor, reference, same, i, paired=True, **FAST)).flagged,
            "usual": usual_practice(source, reference, fresh, i),
        }
        hits = {kind: fault.column in columns for kind, columns in flags.items()}
        others = {f"{kind}, another": bool(set(columns) - {fault.column}) for kind, columns in flags.items()}
        tally.add(**hits, **others)
    return {"fault": name, **tally.cell()}


def main() -> int:
    options = read_options()
    begun, cache = time.monotonic(), CellCache.load(options.keep)
    false_alarms, power = [], []
    for source in sources(options.seed):
        print(table_row(FALSE_ALARMS))
        for setting, count in false_alarm_cells(source, options.runs[0], options.seed).items():
            key = (source.name, setting, options.runs[0], options.seed)
            false_alarms.append({"table": source.name, "rows": setting, **cache.get(key, count)})
            print(false_alarm_row(false_alarms[-1]), flush=True)
        print(table_row(POWER))
        for name, rows in product(CORRUPTIONS, source.sizes):
            key = (source.name, name, rows, options.runs[1], options.seed)
            count = partial(with_fault, source, name, rows, options.runs[1], options.seed)
            power.append({"table": source.name, "rows": rows, **cache.get(key, count)})
            print(power_row(power[-1]), flush=True)
    print(clock(time.monotonic() - begun))
    if options.write:
        write(false_alarms, power, provenance("monitoring.py", options.seed, cache.commits))
    return 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs=2, default=[200, 20], help="without a fault, and of each fault")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="file of finished cells, which are not computed again")
    parser.add_argument("--write", action="store_true", help="store tables and numbers in docs/")
    return parser.parse_args()


def sources(seed: int) -> list[Source]:
    """Returns the simulated table and, if it is available, the paper's."""
    try:
        return [simulated(seed), real(seed)]
    except MissingDataError as error:
        print(f"The paper's table is skipped: {error}.")
    return [simulated(seed)]


def false_alarm_cells(source: Source, runs: int, seed: int) -> dict[str, Callable[[], dict[str, Any]]]:
    """Returns the settings without a fault by name; expensive ones have fewer runs."""
    if source.name != "simulated":
        return {f"{n} and {m}": partial(without_fault, source, n, m, runs // 2, seed, FAST) for n, m in REAL_FAULTLESS}
    return {
        **{f"{n} and {m}": partial(without_fault, source, n, m, runs, seed, FAST) for n, m in FAULTLESS},
        "1000 and 1000, without labels": partial(unlabelled, source, runs, seed),
        f"1000 and {SLICES} slices of {ROWS_OF_SLICE}": partial(sliced, source, runs // 4, seed),
        "1000 and 1000, default options": partial(without_fault, source, 1000, 1000, runs // 4, seed, {}),
    }


def percent(cell: dict[str, Any], event: str) -> str:
    """Returns the share of the runs with an event; the usual practice may have a smaller number of runs."""
    runs = cell.get(f"{event} runs", cell["runs"])
    return f"{cell[event] / runs:.1%}" if event in cell else ""


def false_alarm_row(cell: dict[str, Any]) -> str:
    rates = [percent(cell, event) for event in ("flagged", "shifted", "usual")]
    return table_row([cell["table"], cell["rows"], cell["runs"], *rates, f"{cell['seconds']:.1f}"])


def power_row(cell: dict[str, Any]) -> str:
    rates = [percent(cell, event) for kind in ("flagged", "own rows", "usual") for event in (kind, f"{kind}, another")]
    return table_row([cell["table"], cell["fault"], cell["rows"], cell["runs"], *rates])


def write(false_alarms: list[dict[str, Any]], power: list[dict[str, Any]], how: dict[str, Any]) -> None:
    sha256 = digest([false_alarms, power])
    DATA.write_text(json.dumps({"made": how, "sha256": sha256, "quiet": false_alarms, "named": power}, indent=1) + "\n")
    tables = [table(FALSE_ALARMS, map(false_alarm_row, false_alarms)), table(POWER, map(power_row, power))]
    made = f"Made by `{how['command']}` at commit {how['commit']}; sha256 of the numbers: {sha256[:16]}."
    replace_block(PAGE, "\n\n".join([made, *tables]))


if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
