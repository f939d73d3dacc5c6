"""``clarysage merge A.json B.json``: runs of the same explanation, made apart with different seeds, as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clarysage.cli import options
from clarysage.cli.completion import names
from clarysage.cli.config import or_configured
from clarysage.cli.console import OptionError, clean_stdout, guarded, speaker
from clarysage.cli.files import explanation_in
from clarysage.cli.option_checks import check_about, check_rows, check_tolerance
from clarysage.cli.output import Delivery
from clarysage.cli.results import of_explanation
from clarysage.cli.words import CALLED

CALLED_HERE = {**CALLED, "explanations": "FILE"}


def merge(
    files: Annotated[list[Path] | None, typer.Argument(
        metavar="FILE", show_default=False, callback=or_configured,
        help="Explanations that --json of explain wrote, two or more, each with a --seed of its own.")] = None,
    tolerance: Annotated[float, typer.Option(
        metavar="SHARE", help="The result has converged when the largest standard error is below this share of the "
        "values' range, or when every run had converged.")] = 0.025,
    json_file: options.JsonFile = None,
    plot: Annotated[Path | None, typer.Option(
        metavar="FILE", show_default=False, help="Draw the values into a .png, .svg or .pdf file.")] = None,
    rows: Annotated[bool, typer.Option(
        "--rows/--no-rows", show_default=False,
        help="With --json: write what single rows contribute, too, where all files have it.")] = False,
    html: options.Html = None,
    about: Annotated[str | None, typer.Option(
        metavar="NAME", show_default=False, autocompletion=names("about"),
        help='What intervals are about: "data" (the sampling of these runs alone), "rows" (other rows of the same '
        'population), "population" (other rows and another background). Default: the widest that is known.')] = None,
    tests: Annotated[bool, typer.Option(
        "--tests/--no-tests", show_default=False,
        help="Add p-values to the table: does a feature help, does it hurt?")] = False,
    config: options.Config = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:  # fmt: skip
    """Merge explanations that were made apart, on several machines or days, as if their draws had been made in one run.

    Runs explain the same model by the same rows, background and options, with a --seed of its own for each. Without
    --background, and from one with more rows than --background-rows, rows are drawn with the seed, and runs are then
    not of the same game: write a file of as many rows as are wanted, and give it to all of them. Files that "explain
    --json FILE --rows" wrote make sharper intervals.

    Prints a table, or JSON with --json -; notes go to stderr. Exit codes: 0 ok, 1 error, 2 usage, 3 not converged, with
    the result printed and written all the same.
    """
    say, delivery, given = speaker(quiet), Delivery(json_file, {"--plot": plot}, html), files or []
    with guarded(say, debug=debug, called=CALLED_HERE):
        with clean_stdout():
            import clarysage as cs

            if len(given) < 2:
                count = f"{len(given)} file{'s' * (len(given) != 1)}"
                raise OptionError("FILE", got=count, wanted="two or more to merge")
            check_tolerance(tolerance)
            check_rows(rows, json_file)
            if about is not None:
                check_about(about)
            delivery.check([*given, config])
            found = cs.merge([explanation_in(path) for path in given], tolerance=tolerance)
        delivery.deliver(of_explanation(found, say, about=about, tests=tests, rows=rows), say)
