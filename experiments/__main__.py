"""The command line: which items to run, at which scale, and the folder of the results."""

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
        description="Reproduces the paper's experiments. An interrupted run resumes where it was.",
        epilog="Tables come from the folder that CLARYSAGE_DATA names, or are downloaded (experiments/README.md).",
    )
    parser.add_argument("items", nargs="*", metavar="ITEM", help=f"{', '.join(ITEMS)}; default: all of them")
    parser.add_argument(
        "--scale", choices=SCALES, default="small", help="; ".join(f"{k}: {v}" for k, v in SCALES.items())
    )
    parser.add_argument("--out", type=Path, default=HERE / "results", help="folder of results (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: %(default)s)")
    options = parser.parse_args()
    if unknown := [item for item in options.items if item not in ITEMS]:
        parser.error(f"unknown item {unknown[0]!r}: wanted one of {', '.join(ITEMS)}")
    if options.jobs < 1:
        parser.error(f"--jobs: got {options.jobs}, wanted one or more")
    scale = Scale(options.scale, options.out, options.jobs)
    failed = [item for item in options.items or ITEMS if not _succeeds(item, scale)]
    print(write_results(scale))
    if failed:
        sys.exit(f"Failed: {', '.join(failed)}. Finished results are cached; the same command resumes from there.")


def _succeeds(item: str, scale: Scale) -> bool:
    """Runs an item and returns whether it succeeded; an error is printed, so that the other items still run."""
    print(f"{ITEMS[item]}, scale {scale.name}", file=sys.stderr)
    try:
        outcome = run(item, scale)
    except (ClarysageError, ImportError, ValueError) as error:
        print(f"  {type(error).__name__}: {error}", file=sys.stderr)
        return False
    print(f"  done in {outcome.seconds:,.0f} s: {scale.folder(item) / 'README.md'}", file=sys.stderr)
    return True


if __name__ == "__main__":
    main()
