"""What a run costs, what workers do for it, and what they would do if there were a thousand of them.

    make bench-scaling
    python benchmarks/scaling.py --part cost --part workers --write

Parts, each a table or two:

- cost: seconds and model rows against N, d and m, of a black box and of trees, beside a fitted model of the cost;
- overheads: of a round and of a group of batches on each kind of workers, and in the process that asks;
- workers: a model that holds its core, by one worker and by two of each kind; one long round, and a whole run;
- doubled: the long round by one and by two workers of the same kind, by turns, and as much by processes apart;
- start: what the first run on new workers takes beyond a process by itself, and what a second one does;
- memory: the peak of a worker against the size of the data;
- bits: how many of ``--seeds`` runs have the bits of one process, for each kind of workers;
- simulate: measured times of batches replayed on up to a thousand workers (of the parts before, as kept or just made).

Cost is in seconds of a core, without waiting. Other seconds are the least of several repeats that take turns, those of
the part doubled medians. Where others use the machine it waits some seconds for a quiet moment, and takes down how many
cores others used meanwhile (column "others"): numbers with more than a tenth or so of a core are to be taken with care.
``--write`` keeps numbers in docs/scaling.json, tables in docs/scaling.md and figures in docs/images.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

import scaling_problems
from kept import ROOT, digest, line, made, put
from threadpoolctl import threadpool_limits

PAGE, DATA, IMAGES = ROOT / "docs" / "scaling.md", ROOT / "docs" / "scaling.json", ROOT / "docs" / "images"
Cells = list[dict[str, Any]]


def main() -> int:
    options = read_options()
    scaling_problems.PATIENCE = options.patience
    kept = json.loads(DATA.read_text()) if DATA.exists() else {}
    for part in options.part or PARTS:
        make, tables = PARTS[part]
        cells = make(options, {name: one["cells"] for name, one in kept.items()})
        kept[part] = {"made": made("scaling.py", 0), "sha256": digest(cells), "cells": cells}
        print(*tables(cells), sep="\n\n", end="\n\n", flush=True)
        if options.write:
            write(kept)
    return 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", action="append", choices=[*PARTS], help="only these")
    parser.add_argument("--repeats", type=int, default=4, help="of what is timed")
    parser.add_argument("--seeds", "--bits", type=int, default=50, help="of runs whose bits are compared")
    parser.add_argument("--patience", type=float, default=20.0, help="seconds to wait for a quiet machine, each time")
    parser.add_argument("--write", action="store_true", help="keep numbers, tables and figures in docs/")
    return parser.parse_args()


def write(kept: dict[str, Any]) -> None:
    """Numbers, the tables of all parts there are, and figures."""
    from scaling_figures import draw

    DATA.write_text(json.dumps(kept, indent=1) + "\n")
    for part, (_, tables) in PARTS.items():
        if part in kept:
            put(PAGE, "\n\n".join([said(kept[part]), *tables(kept[part]["cells"])]), part)
    draw({part: one["cells"] for part, one in kept.items()}, IMAGES)


def said(kept: dict[str, Any]) -> str:
    how = kept["made"]
    return f"Made by `{how['command']}` at commit {how['commit'][:12]}; sha256 of the numbers: {kept['sha256'][:16]}."


def table(names: list[str], found: list[list[Any]]) -> str:
    return "\n".join([line(names), line(["---"] * len(names)), *map(line, found)])


def ms(seconds: float) -> str:
    return f"{1000 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.2f} s"


# cost


def make_cost(options: argparse.Namespace, kept: dict[str, Cells]) -> Cells:
    import scaling_cost

    scaling_cost.REPEATS = options.repeats
    for model in scaling_cost.MODELS:  # kernels are loaded, or compiled, when they are first used
        scaling_cost.cost(model, {"n": 250, "d": 4, "m": 32})
    return [
        {"axis": axis, **scaling_cost.cost(model, sizes)}
        for model in scaling_cost.MODELS
        for axis, sizes in scaling_cost.points()
    ]


def tables_cost(cells: Cells) -> list[str]:
    from scaling_cost import MODELS, TERMS, fitted

    found = []
    for model in MODELS:
        own = [cell for cell in cells if cell["model"] == model]
        price, guessed = fitted(own)
        rows = [
            [
                cell["n"],
                cell["d"],
                cell["m"],
                f"{cell['draws']:,}",
                f"{cell['rows']:,}",
                f"{cell['seconds']:.2f}",
                f"{guess:.2f}",
                f"{cell['ends']:.2f}",
                cell["default method"],
                f"{cell['default draws']:,}",
                f"{cell['default rows']:,}",
                f"{cell['default seconds']:.2f}",
            ]
            for cell, guess in zip(own, guessed, strict=True)
        ]
        prices = "; ".join(f"{_price(price[term])} a {term}" for term in TERMS if price[term] > 0)
        found += [
            f"**{model}.** Fitted: {prices}.",
            table(
                [
                    "N",
                    "d",
                    "m",
                    "draws",
                    "model rows",
                    "seconds",
                    "fitted",
                    "ends, s",
                    "default method",
                    "draws",
                    "model rows",
                    "seconds",
                ],
                rows,
            ),
        ]
    return found


def _price(seconds: float) -> str:
    return ms(seconds) if seconds > 1e-4 else f"{1e6 * seconds:.2g} µs"


# overheads


def make_overheads(options: argparse.Namespace, kept: dict[str, Cells]) -> Cells:
    from scaling_cost import of_engine, of_parent
    from scaling_problems import is_quiet, watched

    found = []
    for kind in ("loky", "threads", "dask", "ray"):
        tried = []
        for _ in range(max(2, options.repeats // 2)):
            is_quiet()
            with watched() as use:
                tried.append(of_engine(kind))
            tried[-1]["others"] = use.others
        found.append(min(tried, key=lambda one: one["round"] + 16 * one["group"]))
    return found + [of_parent(n, d) for n, d in ((1000, 20), (16_000, 20), (64_000, 20))]


def tables_overheads(cells: Cells) -> list[str]:
    engines = [cell for cell in cells if "engine" in cell]
    parents = [cell for cell in cells if "engine" not in cell]
    return [
        table(
            ["two workers", "a round", "a group", "others"],
            [[cell["engine"], ms(cell["round"]), ms(cell["group"]), cell["others"]] for cell in engines],
        ),
        table(
            ["N", "d", "a batch", "merging it", "a look", "a checkpoint", "its size"],
            [
                [
                    cell["n"],
                    cell["d"],
                    *[ms(cell[name]) for name in ("batch", "merge", "read", "checkpoint")],
                    f"{cell['checkpoint bytes'] / 1e6:.1f} MB",
                ]
                for cell in parents
            ],
        ),
    ]


# workers


def make_workers(options: argparse.Namespace, kept: dict[str, Cells]) -> Cells:
    from scaling_workers import speeds

    return speeds(options.repeats)


def tables_workers(cells: Cells) -> list[str]:
    rows = []
    for cell in cells:
        run = [*beside(cell, "rounds"), *beside(cell, "run")] if "run" in cell else [""] * 4
        core = ["", ""] if cell["engine"] == "threads" else beside(cell, "busiest in round")
        rows.append(
            [
                cell["model"],
                cell["batch_size"] or "default",
                cell["engine"],
                cell["workers"],
                cell["batches"],
                *core,
                *beside(cell, "round"),
                *run,
                " and ".join(str(cell[name]) for name in ("others in round", "others in run") if name in cell),
            ]
        )
    return [
        table(
            [
                "model",
                "batch_size",
                "workers",
                "number",
                "batches of the round",
                "busiest core, s",
                "ratio",
                "round, s",
                "ratio",
                "rounds of a run, s",
                "ratio",
                "run, s",
                "ratio",
                "others",
            ],
            rows,
        )
    ]


def beside(cell: dict[str, Any], what: str) -> list[str]:
    """Seconds, and how many times sooner than one process."""
    return [f"{cell[what]:.2f}", f"{cell['times sooner'][what]:.2f}" if "times sooner" in cell else ""]


# doubled


def make_doubled(options: argparse.Namespace, kept: dict[str, Cells]) -> Cells:
    from scaling_workers import APART, PROCESSES, doubled

    return [doubled(kind, 4 * options.repeats) for kind in (APART, *PROCESSES)]


def tables_doubled(cells: Cells) -> list[str]:
    rows = []
    for cell in cells:
        low, middle, high = cell["times sooner"]
        rows.append(
            [
                cell["engine"],
                cell["turns"],
                f"{cell['one']:.2f} s",
                f"{cell['two']:.2f} s",
                f"{middle:.2f}",
                f"{low:.2f} to {high:.2f}",
            ]
        )
    return [table(["workers", "turns", "one", "two", "times sooner", "half of the turns"], rows)]


# start


def make_start(options: argparse.Namespace, kept: dict[str, Cells]) -> Cells:
    from scaling_workers import PROCESSES, start, start_connected

    tried = [[*(start(kind) for kind in PROCESSES), start_connected()] for _ in range(max(2, options.repeats // 2))]
    return [
        {**one[0], **{name: min(each[name] for each in one) for name in ("first", "later")}}
        for one in zip(*tried, strict=True)
    ]


def tables_start(cells: Cells) -> list[str]:
    rows = [[cell["engine"], ms(cell["alone"]), f"{cell['first']:+.2f} s", f"{cell['later']:+.2f} s"] for cell in cells]
    return [table(["workers", "a process by itself", "first run", "later runs"], rows)]


# memory


def make_memory(options: argparse.Namespace, kept: dict[str, Cells]) -> Cells:
    from scaling_workers import MEGABYTES, PROCESSES, memory

    return [memory(kind, size) for kind in PROCESSES for size in (0, *MEGABYTES)]


def tables_memory(cells: Cells) -> list[str]:
    rows = []
    for cell in cells:
        idle = next(one for one in cells if one["engine"] == cell["engine"] and one["megabytes"] == 0)
        more = (cell["peak"] - idle["peak"]) / 1e6
        beside = f"{more / cell['megabytes']:.1f}" if cell["megabytes"] else ""
        rows.append(
            [
                cell["engine"],
                f"{cell['megabytes']} MB",
                f"{cell['examples']:,}",
                f"{cell['peak'] / 1e6:,.0f} MB",
                f"{more:,.0f} MB",
                beside,
            ]
        )
    return [table(["workers", "data", "examples", "peak", "beyond next to no data", "times the data"], rows)]


# bits


def make_bits(options: argparse.Namespace, kept: dict[str, Cells]) -> Cells:
    from scaling_workers import bits

    return [bits(options.seeds)]


def tables_bits(cells: Cells) -> list[str]:
    cell = cells[0]
    kinds, total = cell["same"], cell["seeds"] * len(cell["same"])
    return [
        f"{sum(kinds.values())} of {total} runs have the bits of one process ({cell['seeds']} seeds, of which "
        f"{cell['stopped by the rule']} runs were ended by the rule): "
        + ", ".join(f"{kind} {count}" for kind, count in kinds.items())
        + "."
    ]


# simulate


def make_simulated(options: argparse.Namespace, kept: dict[str, Cells]) -> Cells:
    from scaling_replay import replayed, simulated

    return [*replayed(kept["workers"], kept["overheads"]), *simulated(kept["workers"], kept["overheads"])]


def tables_simulated(cells: Cells) -> list[str]:
    checks = [cell for cell in cells if "measured" in cell]
    curves = [cell for cell in cells if "measured" not in cell]
    shown = [1, 10, 100, 1000]
    lines = []
    for key in dict.fromkeys((cell["seconds a row"], cell["batch_size"]) for cell in curves):
        own = [cell for cell in curves if (cell["seconds a row"], cell["batch_size"]) == key]
        at = {cell["workers"]: cell for cell in own}
        lines.append(
            [
                ms(key[0]),
                key[1] or "default",
                own[0]["batches"],
                ms(own[0]["serial"]),
                *[f"{at[n]['seconds']:,.0f} s ({at[n]['speed-up']:.0f} x)" for n in shown],
            ]
        )
    return [
        table(
            ["workers", "number", "batch_size", "rounds of a run, measured", "predicted", "ratio"],
            [
                [
                    cell["engine"],
                    cell["workers"],
                    cell["batch_size"] or "default",
                    f"{cell['measured']:.2f} s",
                    f"{cell['predicted']:.2f} s",
                    f"{cell['predicted'] / cell['measured']:.2f}",
                ]
                for cell in checks
            ],
        ),
        table(["a row", "batch_size", "batches", "ends and plan", *[f"{n:,} workers" for n in shown]], lines),
    ]


Part = tuple[Callable[[argparse.Namespace, dict[str, Cells]], Cells], Callable[[Cells], list[str]]]
PARTS: dict[str, Part] = {
    "cost": (make_cost, tables_cost),
    "overheads": (make_overheads, tables_overheads),
    "workers": (make_workers, tables_workers),
    "doubled": (make_doubled, tables_doubled),
    "start": (make_start, tables_start),
    "memory": (make_memory, tables_memory),
    "bits": (make_bits, tables_bits),
    "simulate": (make_simulated, tables_simulated),
}

if __name__ == "__main__":
    with threadpool_limits(1):
        sys.exit(main())
