"""The command: which items, at which scale, into which folder."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from experiments.items import ITEMS, run
from experiments.results import write_results
from experiments.scale import HERE, SCALES, Scale


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Redoes the paper's experiments. What a run that was ended has done is found again.",
        epilog="Datasets are looked for in the folder that CLARYSAGE_DATA names, else downloaded (docs/datasets.md).",
    )
    parser.add_argument("items", nargs="*", metavar="ITEM", help=f"{', '.join(ITEMS)}; all where none is given")
    parser.add_argument(
        "--scale", choices=SCALES, default="small", help="; ".join(f"{k}: {v}" for k, v in SCALES.items())
    )
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder of results (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: %(default)s)")
    asked = parser.parse_args()
    if unknown := [item for item in asked.items if item not in ITEMS]:
        parser.error(f"unknown item {unknown[0]!r}: wanted one of {', '.join(ITEMS)}")
    scale = Scale(asked.scale, asked.out, asked.jobs)
    for item in asked.items or ITEMS:
        print(f"{ITEMS[item]}, scale {scale.name}", file=sys.stderr)
        found = run(item, scale)
        print(f"  done in {found.seconds:,.0f} s: {scale.folder(item) / 'README.md'}", file=sys.stderr)
    print(write_results(scale))


if __name__ == "__main__":
    main()
