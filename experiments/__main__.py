"""The command: which items, at which scale, into which folder."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from clarysage.errors import ClarysageError
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
    if asked.jobs < 1:
        parser.error(f"--jobs: got {asked.jobs}, wanted one or more")
    scale = Scale(asked.scale, asked.out, asked.jobs)
    failed = [item for item in asked.items or ITEMS if not _is_run(item, scale)]
    print(write_results(scale))
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}. What was done is kept; the same command goes on from there.")


def _is_run(item: str, scale: Scale) -> bool:
    """Runs an item; one that fails says why and leaves the others to run."""
    print(f"{ITEMS[item]}, scale {scale.name}", file=sys.stderr)
    try:
        found = run(item, scale)
    except (ClarysageError, ImportError, ValueError) as error:
        print(f"  {type(error).__name__}: {error}", file=sys.stderr)
        return False
    print(f"  done in {found.seconds:,.0f} s: {scale.folder(item) / 'README.md'}", file=sys.stderr)
    return True


if __name__ == "__main__":
    main()
