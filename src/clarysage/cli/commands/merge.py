"""``clarysage merge A.json B.json``: runs of the same explanation, made apart with different seeds, as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clarysage.cli.config import or_configured
from clarysage.cli.console import OptionError, clean_stdout, guarded, speaker
from clarysage.cli.files import explanation_in
from clarysage.cli.option_checks import check_about, check_rows, check_tolerance
from clarysage.cli.options import ConfiguredOptions, ExplanationOptions, with_groups
from clarysage.cli.output import Delivery, about_known, has_rows

CALLED_HERE = {"explanations": "FILE"}


@with_groups
def merge(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            callback=or_configured,
            help="Explanations that --json of explain wrote, two or more, each with a --seed of its own.",
        ),
    ] = None,
    *,
    tolerance: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The result has converged when the largest standard error is below this share of the values' range, "
            "or when every run had converged.",
        ),
    ] = 0.025,
    written: ExplanationOptions,
    console: ConfiguredOptions,
) -> None:
    """Merge explanations that were made apart, on several machines or days, as if their draws had been made in one run.

    Runs explain the same model by the same rows, background and options, with a --seed of its own for each. Without
    --background, and from one with more rows than --background-rows, rows are drawn with the seed, and runs are then
    not of the same game: write a file of as many rows as are wanted, and give it to all of them. Files that "explain
    --json FILE --rows" wrote make sharper intervals.

    Prints a table, or JSON with --json -; notes go to stderr. Exit codes: 0 ok, 1 error, 2 usage, 3 not converged, with
    the result printed and written all the same.
    """
    say, given = speaker(console.quiet), files or []
    delivery = Delivery(written.json_file, {"--plot": written.plot}, written.html)
    with guarded(say, debug=console.debug, called=CALLED_HERE):
        with clean_stdout():
            import clarysage as cs

            if len(given) < 2:
                count = f"{len(given)} file{'s' * (len(given) != 1)}"
                raise OptionError("FILE", got=count, wanted="two or more to merge")
            check_tolerance(tolerance)
            check_rows(written.rows, written.json_file)
            if written.about is not None:
                check_about(written.about)
            delivery.check([*given, console.config])
            found = cs.merge([explanation_in(path) for path in given], tolerance=tolerance)
        about = about_known(found, written.about, say)
        summary = found.summary(about=about, tests=written.tests)
        delivery.deliver(found, say, summary=summary, rows=has_rows(found, written.rows, say))
