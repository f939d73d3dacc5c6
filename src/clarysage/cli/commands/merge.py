"""``clarysage merge A.json B.json``: merges explanations of the same problem with different seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clarysage.cli.checks import check_about, check_rows, check_tolerance, explanation_in
from clarysage.cli.config import or_configured
from clarysage.cli.console import OptionError, clean_stdout, handled_errors, note_printer
from clarysage.cli.options import ConfiguredOptions, ExplanationOptions, with_option_groups
from clarysage.cli.output import OutputFiles, available_about, has_rows

ARGUMENT_NAMES = {"explanations": "FILE"}


@with_option_groups
def merge(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            callback=or_configured,
            help='Two or more explanations, written by "clarysage explain --json" with different seeds.',
        ),
    ] = None,
    *,
    tolerance: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The result counts as converged if the largest standard error is less than this share of the range of "
            "values, or if all runs have converged.",
        ),
    ] = 0.025,
    written: ExplanationOptions,
    console: ConfiguredOptions,
) -> None:
    """Merge explanations from several runs, such as on several machines, as if they were one long run.

    The runs must have the same model, data, background and options, and different seeds. Give all of them a
    --background file with at most --background-rows rows: a larger file, or none, is sampled with the seed, so the runs
    would have different backgrounds. Files with the contributions of single rows (see "clarysage explain --rows") give
    narrower intervals.

    Prints a table, or JSON with --json -; notes go to stderr. Exit codes: 0 success, 1 error, 2 wrong usage, 3 not
    converged (the result is printed and written, too).
    """
    say, given = note_printer(console.quiet), files or []
    output_files = OutputFiles(written.json_file, {"--plot": written.plot}, written.html)
    with handled_errors(say, debug=console.debug, argument_names=ARGUMENT_NAMES):
        with clean_stdout():
            import clarysage as cs

            if len(given) < 2:
                count = f"{len(given)} file{'s' * (len(given) != 1)}"
                raise OptionError("FILE", got=count, wanted="two or more to merge")
            check_tolerance(tolerance)
            check_rows(written.rows, written.json_file)
            if written.about is not None:
                check_about(written.about)
            output_files.check([*given, console.config])
            merged = cs.merge([explanation_in(path) for path in given], tolerance=tolerance)
        about = available_about(merged, written.about, say)
        summary = merged.summary(about=about, tests=written.tests)
        rows = has_rows(merged, written.rows, written.json_file, say)
        output_files.write_and_print(merged, say, top=written.top, summary=summary, rows=rows)
