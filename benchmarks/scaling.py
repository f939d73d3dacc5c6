"""Scaling of a run: cost against sizes, speed-up on workers, and predicted speed-up on up to a thousand workers.

    make bench-scaling
    python benchmarks/scaling.py --part cost --part workers --write

Parts, each with one or two tables:

- cost: seconds and model rows against N, d and m, for a black box and for trees, with a regression on their causes;
- overheads: per round and per group of batches on each kind of workers, and in the parent process;
- workers: one long round and a run of a slow model, on one worker and on two of each kind;
- doubled: the long round on one and on two workers of the same kind, and in independent processes, alternately;
- start: additional seconds of the first run on new workers, and of later runs;
- memory: the peak memory of a worker against the size of the data;
- bits: how many of ``--seeds`` runs are bitwise equal to those of one process, for each kind of workers;
- simulate: predictions for up to a thousand workers, from the numbers of workers and overheads (new or stored).

Cost is in processor seconds, without waiting. Other seconds are the minimum over alternating repetitions; those of the
part doubled are medians. When other programs use the machine, the script waits some seconds for an idle moment. The
column "other load" tells how many cores other programs used during the measurement; above 0.1 or so the numbers are
not reliable. ``--write`` stores numbers and tables in docs/appendix (scaling.json, scaling.md), figures in docs/images.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

import scaling_workloads
from doc_tables import ROOT, digest, provenance, replace_block, table, table_row
from threadpoolctl import threadpool_limits

PAGE, DATA = ROOT / "docs" / "appendix" / "scaling.md", ROOT / "docs" / "appendix" / "scaling.json"
IMAGES = ROOT / "docs" / "images"
Cells = list[dict[str, Any]]


def main() -> int:
    options = read_options()
    scaling_workloads.PATIENCE = options.patience
    stored = json.loads(DATA.read_text()) if DATA.exists() else {}
    for part in options.part or PARTS:
        measure, tables = PARTS[part]
        cells = measure(options, {name: entry["cells"] for name, entry in stored.items()})
        stored[part] = {"made": provenance("scaling.py", 0), "sha256": digest(cells), "cells": cells}
        print(*tables(cells), sep="\n\n", end="\n\n", flush=True)
        if options.write:
            write(stored)
    return 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=[*PARTS], help="only these")
    parser.add_argument("--repeats", type=int, default=4, help="repetitions of each timing")
    parser.add_argument("--seeds", "--bits", type=int, default=50, help="number of runs whose bits are compared")
    parser.add_argument("--patience", type=float, default=20.0, help="longest wait for an idle machine, in seconds")
    parser.add_argument("--write", action="store_true", help="store numbers, tables and figures in docs/")
    return parser.parse_args()


def write(stored: dict[str, Any]) -> None:
    """Writes the numbers, the tables of all parts and the figures to docs/."""
    from scaling_figures import draw

    DATA.write_text(json.dumps(stored, indent=1) + "\n")
    write_tables(stored)
    draw({part: entry["cells"] for part, entry in stored.items()}, IMAGES)


def write_tables(stored: dict[str, Any]) -> None:
    for part, (_, tables) in PARTS.items():
        if part in stored:
            replace_block(PAGE, "\n\n".join([provenance_line(stored[part]), *tables(stored[part]["cells"])]), part)


def provenance_line(entry: dict[str, Any]) -> str:
    how = entry["made"]
    return f"Made by `{how['command']}` at commit {how['commit'][:12]}; sha256 of the numbers: {entry['sha256'][:16]}."


def ms(seconds: float) -> str:
    return f"{1000 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.2f} s"


# Cost


def measure_cost(options: argparse.Namespace, stored: dict[str, Cells]) -> Cells:
    import scaling_cost

    scaling_cost.REPEATS = options.repeats
    for model in scaling_cost.MODELS:  # kernels are loaded or compiled at their first use
        scaling_cost.cost(model, {"n": 250, "d": 4, "m": 32})
    return [
        {"axis": axis, **scaling_cost.cost(model, sizes)}
        for model in scaling_cost.MODELS
        for axis, sizes in scaling_cost.design_points()
    ]


def tables_cost(cells: Cells) -> list[str]:
    from scaling_cost import MODELS, TERMS, fitted

    parts = []
    for model in MODELS:
        of_model = [cell for cell in cells if cell["model"] == model]
        cost, predictions = fitted(of_model)
        rows = [
            [
                cell["n"],
                cell["d"],
                cell["m"],
                f"{cell['draws']:,}",
                f"{cell['rows']:,}",
                f"{cell['seconds']:.2f}",
                f"{prediction:.2f}",
                f"{cell['ends']:.2f}",
                cell["default method"],
                f"{cell['default draws']:,}",
                f"{cell['default rows']:,}",
                f"{cell['default seconds']:.2f}",
            ]
            for cell, prediction in zip(of_model, predictions, strict=True)
        ]
        costs = "; ".join(f"{_small_time(cost[term])} per {term}" for term in TERMS if cost[term] > 0)
        parts += [
            f"**{model}.** Fitted: {costs}.",
            table(
                [
                    "N",
                    "d",
                    "m",
                    "draws",
                    "model rows",
                    "seconds",
                    "fitted",
                    "set-up, s",
                    "default method",
                    "draws",
                    "model rows",
                    "seconds",
                ],
                map(table_row, rows),
            ),
        ]
    return parts


def _small_time(seconds: float) -> str:
    return ms(seconds) if seconds > 1e-4 else f"{1e6 * seconds:.2g} µs"


# Overheads


def measure_overheads(options: argparse.Namespace, stored: dict[str, Cells]) -> Cells:
    from scaling_cost import overheads_of_parent, overheads_of_workers
    from scaling_workloads import measured_use, wait_until_idle

    cells = []
    for kind in ("loky", "threads", "dask", "ray"):
        repetitions = []
        for _ in range(max(2, options.repeats // 2)):
            wait_until_idle()
            with measured_use() as use:
                repetitions.append(overheads_of_workers(kind))
            repetitions[-1]["others"] = use.others
        cells.append(min(repetitions, key=lambda cell: cell["round"] + 16 * cell["group"]))
    return cells + [overheads_of_parent(n, d) for n, d in ((1000, 20), (16_000, 20), (64_000, 20))]


def tables_overheads(cells: Cells) -> list[str]:
    engines = [cell for cell in cells if "engine" in cell]
    parents = [cell for cell in cells if "engine" not in cell]
    return [
        table(
            ["two workers", "per round", "per group", "other load"],
            [table_row([cell["engine"], ms(cell["round"]), ms(cell["group"]), cell["others"]]) for cell in engines],
        ),
        table(
            ["N", "d", "batch", "merge", "evaluation", "checkpoint", "its size"],
            [
                table_row(
                    [
                        cell["n"],
                        cell["d"],
                        *[ms(cell[name]) for name in ("batch", "merge", "read", "checkpoint")],
                        f"{cell['checkpoint bytes'] / 1e6:.1f} MB",
                    ]
                )
                for cell in parents
            ],
        ),
    ]


# Workers


def measure_workers(options: argparse.Namespace, stored: dict[str, Cells]) -> Cells:
    from scaling_workers import speeds

    return speeds(options.repeats)


def tables_workers(cells: Cells) -> list[str]:
    rows = []
    for cell in cells:
        run = [*_time_and_speed_up(cell, "rounds"), *_time_and_speed_up(cell, "run")] if "run" in cell else [""] * 4
        core = ["", ""] if cell["engine"] == "threads" else _time_and_speed_up(cell, "busiest in round")
        rows.append(
            table_row(
                [
                    cell["model"],
                    cell["batch_size"] or "default",
                    cell["engine"],
                    cell["workers"],
                    cell["batches"],
                    *core,
                    *_time_and_speed_up(cell, "round"),
                    *run,
                    " and ".join(str(cell[name]) for name in ("others in round", "others in run") if name in cell),
                ]
            )
        )
    return [
        table(
            [
                "model",
                "batch_size",
                "workers",
                "number",
                "batches in the round",
                "busiest core, s",
                "speed-up",
                "round, s",
                "speed-up",
                "rounds of a run, s",
                "speed-up",
                "run, s",
                "speed-up",
                "other load",
            ],
            rows,
        )
    ]


def _time_and_speed_up(cell: dict[str, Any], name: str) -> list[str]:
    """Returns the seconds and the speed-up over one process."""
    return [f"{cell[name]:.2f}", f"{cell['times sooner'][name]:.2f}" if "times sooner" in cell else ""]


# Doubled


def measure_doubled(options: argparse.Namespace, stored: dict[str, Cells]) -> Cells:
    from scaling_workers import INDEPENDENT, PROCESSES, doubled

    return [doubled(kind, 4 * options.repeats) for kind in (INDEPENDENT, *PROCESSES)]


def tables_doubled(cells: Cells) -> list[str]:
    rows = []
    for cell in cells:
        low, middle, high = cell["times sooner"]
        rows.append(
            table_row(
                [
                    cell["engine"],
                    cell["turns"],
                    f"{cell['one']:.2f} s",
                    f"{cell['two']:.2f} s",
                    f"{middle:.2f}",
                    f"{low:.2f} to {high:.2f}",
                ]
            )
        )
    return [table(["workers", "repetitions", "one", "two", "speed-up", "quartiles"], rows)]


# Start


def measure_start(options: argparse.Namespace, stored: dict[str, Cells]) -> Cells:
    from scaling_workers import PROCESSES, start, start_connected

    repetitions = [
        [*(start(kind) for kind in PROCESSES), start_connected()] for _ in range(max(2, options.repeats // 2))
    ]
    return [
        {**of_kind[0], **{name: min(cell[name] for cell in of_kind) for name in ("first", "later")}}
        for of_kind in zip(*repetitions, strict=True)
    ]


def tables_start(cells: Cells) -> list[str]:
    rows = [
        table_row([cell["engine"], ms(cell["alone"]), f"{cell['first']:+.2f} s", f"{cell['later']:+.2f} s"])
        for cell in cells
    ]
    return [table(["workers", "one process", "first run", "later runs"], rows)]


# Memory


def measure_memory(options: argparse.Namespace, stored: dict[str, Cells]) -> Cells:
    from scaling_workers import MEGABYTES, PROCESSES, memory

    return [memory(kind, size) for kind in PROCESSES for size in (0, *MEGABYTES)]


def tables_memory(cells: Cells) -> list[str]:
    rows = []
    for cell in cells:
        idle = next(base for base in cells if base["engine"] == cell["engine"] and base["megabytes"] == 0)
        more = (cell["peak"] - idle["peak"]) / 1e6
        multiple = f"{more / cell['megabytes']:.1f}" if cell["megabytes"] else ""
        rows.append(
            table_row(
                [
                    cell["engine"],
                    f"{cell['megabytes']} MB",
                    f"{cell['examples']:,}",
                    f"{cell['peak'] / 1e6:,.0f} MB",
                    f"{more:,.0f} MB",
                    multiple,
                ]
            )
        )
    return [table(["workers", "data", "examples", "peak", "increase", "increase / data"], rows)]


# Bits


def measure_bits(options: argparse.Namespace, stored: dict[str, Cells]) -> Cells:
    from scaling_workers import bits

    return [bits(options.seeds)]


def tables_bits(cells: Cells) -> list[str]:
    cell = cells[0]
    kinds, total = cell["same"], cell["seeds"] * len(cell["same"])
    return [
        f"{sum(kinds.values())} of {total} runs are bitwise equal to those of one process ({cell['seeds']} seeds; "
        f"{cell['stopped by the rule']} of them were stopped by the rule): "
        + ", ".join(f"{kind} {count}" for kind, count in kinds.items())
        + "."
    ]


# Simulation


def simulate_workers(options: argparse.Namespace, stored: dict[str, Cells]) -> Cells:
    from scaling_simulation import predict_large_clusters, predict_measured_runs

    measured = stored["workers"], stored["overheads"]
    return [*predict_measured_runs(*measured), *predict_large_clusters(*measured)]


def tables_simulated(cells: Cells) -> list[str]:
    checks = [cell for cell in cells if "measured" in cell]
    curves = [cell for cell in cells if "measured" not in cell]
    numbers = [1, 10, 100, 1000]
    rows = []
    for key in dict.fromkeys((cell["seconds a row"], cell["batch_size"]) for cell in curves):
        curve = {cell["workers"]: cell for cell in curves if (cell["seconds a row"], cell["batch_size"]) == key}
        rows.append(
            table_row(
                [
                    ms(key[0]),
                    key[1] or "default",
                    curve[1]["batches"],
                    ms(curve[1]["serial"]),
                    *[f"{curve[n]['seconds']:,.0f} s ({curve[n]['speed-up']:.0f} x)" for n in numbers],
                ]
            )
        )
    return [
        table(
            ["workers", "number", "batch_size", "rounds of a run, measured", "predicted", "ratio"],
            [
                table_row(
                    [
                        cell["engine"],
                        cell["workers"],
                        cell["batch_size"] or "default",
                        f"{cell['measured']:.2f} s",
                        f"{cell['predicted']:.2f} s",
                        f"{cell['predicted'] / cell['measured']:.2f}",
                    ]
                )
                for cell in checks
            ],
        ),
        table(["per row", "batch_size", "batches", "set-up and pilot", *[f"{n:,} workers" for n in numbers]], rows),
    ]


Part = tuple[Callable[[argparse.Namespace, dict[str, Cells]], Cells], Callable[[Cells], list[str]]]
PARTS: dict[str, Part] = {
    "cost": (measure_cost, tables_cost),
    "overheads": (measure_overheads, tables_overheads),
    "workers": (measure_workers, tables_workers),
    "doubled": (measure_doubled, tables_doubled),
    "start": (measure_start, tables_start),
    "memory": (measure_memory, tables_memory),
    "bits": (measure_bits, tables_bits),
    "simulate": (simulate_workers, tables_simulated),
}

if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
