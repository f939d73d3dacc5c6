"""``clarysage monitor MODEL REFERENCE CURRENT``: a model on rows of now against the same on rows of then."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clarysage.catalogue import PERIODS
from clarysage.cli.completion import columns, names
from clarysage.cli.console import Say, clean_stdout, guarded, has_viewer, speaker
from clarysage.cli.inputs import Request, loaded
from clarysage.cli.option_checks import as_every, check_options
from clarysage.cli.options import (
    MODEL,
    ConfiguredOptions,
    DifferenceOptions,
    FileOptions,
    Method,
    ModelOptions,
    ProblemOptions,
    RunFlags,
    StorageOptions,
    with_groups,
)
from clarysage.cli.output import Delivery
from clarysage.registry import normalised

# arguments of the library -> what they are called here
CALLED_HERE = {
    "X": "REFERENCE or CURRENT",
    "X or background": "REFERENCE, CURRENT or --background",
    "X and background": "REFERENCE, CURRENT and --background",
}
PARTS = ("X", "y", "sample_weight")


@with_groups
def monitor(
    model: Annotated[str, MODEL],
    reference: Annotated[
        Path,
        typer.Argument(
            metavar="REFERENCE",
            show_default=False,
            help="Rows on which the model did what it should, such as its test data: .csv, .csv.gz, .tsv, .parquet.",
        ),
    ],
    current: Annotated[
        Path,
        typer.Argument(metavar="CURRENT", show_default=False, help="Rows of now, with the same columns."),
    ],
    *,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            autocompletion=columns,
            help="The column that the model predicts. Without it, where it is not known yet: Shapley effects, the "
            "variance of the model's output that each feature explains.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            autocompletion=columns,
            help="A column of CURRENT with dates or batches, each of which is compared with the reference.",
        ),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option(
            metavar="PERIOD",
            show_default=False,
            autocompletion=names("every"),
            help=f"How long slices are: {PERIODS.help()} of the dates in --by; or a "
            "number of rows. Default: each batch a slice, or what fits the dates.",
        ),
    ] = None,
    background: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Rows that stand in for withheld features, such as the training data. Default: rows of REFERENCE.",
        ),
    ] = None,
    problem: ProblemOptions,
    method: Method = "auto",
    of_model: ModelOptions,
    differences: DifferenceOptions,
    run: RunFlags,
    storage: StorageOptions,
    written: FileOptions,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Draw what changed into a .png, .svg or .pdf file."),
    ] = None,
    console: ConfiguredOptions,
) -> None:
    """Find features that no longer contribute what they did, such as columns that broke on the way to the model.

    Columns are found as by "clarysage explain"; what --by names is no feature either, unless the model knows it. A
    contribution that changed does not by itself say which column broke, so shifts of the columns are shown beside it.
    --tolerance, --budget and --deadline are for each explanation.

    Prints findings and a table, or JSON with --json -; progress and notes go to stderr. Exit codes: 0 nothing flagged,
    1 error, 2 usage, 3 nothing flagged, but not converged, 4 something flagged; after 3 and 4 the result is printed and
    written all the same.
    """
    say, delivery = speaker(console.quiet), Delivery(written.json_file, {"--plot": plot}, written.html)
    with guarded(say, debug=console.debug, called=CALLED_HERE):
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
            asked = {"every": as_every(every, by), **differences.settings}
            delivery.check([*request.inputs, console.config])
            found = _monitored(request, asked, say, progress=has_viewer(console.quiet))
        delivery.deliver(found, say)


def _monitored(request: Request, asked: dict[str, Any], say: Say, *, progress: bool) -> Any:
    import clarysage as cs

    found = loaded(request, say)
    if request.target is None:
        say("no --target was given, so these are Shapley effects: shares of the variance of the model's output.")
    assert found.current is not None
    then, now = (tuple(side[part] for part in PARTS) for side in (found.tables, found.current))
    rows = {"background": found.tables["background"], "by": found.current["by"], "groups": found.groups}
    if request.background is None:  # otherwise they have been drawn
        rows["background_rows"] = request.problem.background_rows
    return cs.monitor(found.f, then, now, rng=request.seed, progress=progress, **rows, **asked, **request.settings)
