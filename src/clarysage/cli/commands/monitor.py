"""``clarysage monitor MODEL REFERENCE CURRENT``: compares a model's explanations on reference and current rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clarysage.catalogue import PERIODS
from clarysage.cli.checks import as_every, check_options
from clarysage.cli.completion import complete_column, completion_of
from clarysage.cli.console import Say, clean_stdout, handled_errors, note_printer
from clarysage.cli.inputs import SHAPLEY_EFFECTS, Request, load_inputs
from clarysage.cli.options import (
    MODEL,
    DifferenceOptions,
    FileOptions,
    LongRunOptions,
    Method,
    ModelOptions,
    ProblemOptions,
    StoppingOptions,
    StorageOptions,
    with_option_groups,
)
from clarysage.cli.output import OutputFiles
from clarysage.registry import normalised

# argument of the library -> its name in this command
ARGUMENT_NAMES = {
    "X": "REFERENCE or CURRENT",
    "X or background": "REFERENCE, CURRENT or --background",
    "X and background": "REFERENCE, CURRENT and --background",
}
PARTS = ("X", "y", "sample_weight")


@with_option_groups
def monitor(
    model: Annotated[str, MODEL],
    reference: Annotated[
        Path,
        typer.Argument(
            metavar="REFERENCE",
            show_default=False,
            help="Table of rows on which the model worked well, such as its test data: .csv, .csv.gz, .tsv, .parquet.",
        ),
    ],
    current: Annotated[
        Path,
        typer.Argument(metavar="CURRENT", show_default=False, help="Table of new rows, with the same columns."),
    ],
    *,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            autocompletion=complete_column,
            help="Column that the model predicts. Omit it if it is not known yet: the result is then Shapley effects, "
            "the variance of the model's output that each feature explains.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            autocompletion=complete_column,
            help="Column of CURRENT with dates or batch names; each slice of CURRENT is compared with REFERENCE.",
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            metavar="PERIOD",
            show_default=False,
            autocompletion=completion_of("every"),
            help=f"Length of slices: {PERIODS.help()} of the dates in --by, or a number of rows. Default: one slice "
            "per batch, or a period that fits the dates.",
        ),
    ] = None,
    background: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Table of rows that replace withheld features, such as the training data. Default: rows of REFERENCE.",
        ),
    ] = None,
    problem: ProblemOptions,
    method: Method = "auto",
    of_model: ModelOptions,
    differences: DifferenceOptions,
    run: StoppingOptions,
    storage: StorageOptions,
    written: FileOptions,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Plot the changes to this .png, .svg or .pdf file."),
    ] = None,
    console: LongRunOptions,
) -> None:
    """Find features whose contribution changed on new data, for example because a column is broken.

    Features are chosen as by "clarysage explain"; the --by column is not a feature, unless the model has a feature of
    this name. A changed contribution does not tell which column changed, so shifts of the columns are shown, too. A
    column that shifted beyond doubt and far is flagged, even if so few rows do not show it in the loss.
    --tolerance, --budget and --deadline apply to each explanation.

    Prints findings and a table, or JSON with --json -; progress and notes go to stderr. Exit codes: 0 nothing flagged,
    1 error, 2 wrong usage, 3 nothing flagged, but not converged, 4 something flagged. With 3 and 4 the result is
    printed and written, too.
    """
    say, output_files = note_printer(console.quiet), OutputFiles(written.json_file, {"--plot": plot}, written.html)
    with handled_errors(say, debug=console.debug, argument_names=ARGUMENT_NAMES):
        settings = {**problem.settings, "method": normalised(method), **run.settings, **storage.settings}
        request = Request(
            model,
            reference,
            problem,
            of_model,
            seed=run.seed,
            settings=settings,
            target=target,
            background=background,
            by=by,
            current=current,
        )
        with clean_stdout():
            check_options(settings, has_target=target is not None)
            comparison = {"every": as_every(every, by), **differences.settings}
            output_files.check([*request.inputs, console.config])
            monitoring = _monitored(request, comparison, say, progress=console.shows_progress)
        output_files.write_and_print(monitoring, say, top=written.top)


def _monitored(request: Request, comparison: dict[str, Any], say: Say, *, progress: bool | None) -> Any:
    """Returns the monitoring result; ``comparison`` are arguments of the comparisons."""
    import clarysage as cs

    inputs = load_inputs(request, say)
    if request.target is None:
        say(SHAPLEY_EFFECTS)
    assert inputs.current is not None
    reference, current = (tuple(rows[part] for part in PARTS) for rows in (inputs.tables, inputs.current))
    options = {"background": inputs.tables["background"], "by": inputs.current["by"], "groups": inputs.groups}
    if request.background is None:  # a --background has been sampled already
        options["background_rows"] = request.problem.background_rows
    options |= {"rng": request.seed, "progress": progress, **comparison, **request.settings}
    return cs.monitor(inputs.f, reference, current, **options)
