"""``clarysage explain MODEL DATA``: a model and tables on disk, explained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clarysage.cli import options
from clarysage.cli.completion import columns, names
from clarysage.cli.console import clean_stdout, guarded, has_viewer, speaker
from clarysage.cli.files import check_writable
from clarysage.cli.option_checks import check_about, check_options, check_rows, whole, workers
from clarysage.cli.output import Delivery
from clarysage.cli.request import Request, run
from clarysage.cli.results import of_explanation
from clarysage.registry import normalised


def explain(
    model: Annotated[str, options.MODEL],
    data: Annotated[Path, options.DATA],
    target: Annotated[str | None, typer.Option(
        metavar="COLUMN", show_default=False, autocompletion=columns,
        help="The column that the model predicts. Without it: Shapley effects, the variance of the model's output "
        "that each feature explains.")] = None,
    background: options.Background = None,
    background_rows: options.BackgroundRows = None,
    loss: options.Loss = "auto",
    removal: options.Removal = "marginal",
    method: options.Method = "auto",
    groups: options.Groups = None,
    sample_weight: options.SampleWeight = None,
    drop: options.Drop = None,
    output: options.Output = None,
    classes: options.Classes = None,
    tolerance: options.Tolerance = 0.025,
    budget: options.Budget = None,
    deadline: options.Deadline = None,
    n_jobs: options.NJobs = 1,
    backend: options.Backend = "processes",
    address: options.Address = None,
    checkpoint: options.Checkpoint = None,
    max_rows: options.MaxRows = None,
    memory_limit: options.MemoryLimit = None,
    batch_size: options.BatchSize = None,
    seed: options.Seed = 0,
    json_file: options.JsonFile = None,
    plot: Annotated[Path | None, typer.Option(
        metavar="FILE", show_default=False, help="Draw the values into a .png, .svg or .pdf file.")] = None,
    rows: Annotated[bool, typer.Option(
        "--rows/--no-rows", show_default=False,
        help='With --json: write what single rows contribute, too, so that "clarysage compare" can pair explanations '
        "of the same rows.")] = False,
    html: options.Html = None,
    about: Annotated[str | None, typer.Option(
        metavar="NAME", show_default=False, autocompletion=names("about"),
        help='What intervals are about: "data" (the sampling of this run alone), "rows" (other rows of the same '
        'population), "population" (other rows and another background). Default: the widest that is known.')] = None,
    tests: Annotated[bool, typer.Option(
        "--tests/--no-tests", show_default=False,
        help="Add p-values to the table: does a feature help, does it hurt?")] = False,
    allow_pickle: options.AllowPickle = False,
    trust: options.Trust = None,
    config: options.Config = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:  # fmt: skip
    """Explain a model: the SAGE value of each feature, what it saves the model in loss.

    If the model knows the names of its features, those columns are used and others ignored; if not, all columns but
    the target, the weights and the dropped ones, in the order of the file. Text columns go to the model as text;
    XGBoost and LightGBM models fitted on categories get categories.

    Prints a table, or JSON with --json -; progress and notes go to stderr. Exit codes: 0 ok, 1 error, 2 usage,
    3 not converged (or interrupted by Ctrl-C), with the result printed and written all the same.
    """
    say, delivery = speaker(quiet), Delivery(json_file, {"--plot": plot}, html)
    with guarded(say, debug=debug):
        settings = {
            "loss": normalised(loss), "removal": normalised(removal), "method": normalised(method),
            "tolerance": tolerance, "budget": whole(budget), "deadline": deadline,
            "n_jobs": workers(n_jobs, backend, address),
            "checkpoint": checkpoint, "max_rows": max_rows, "memory_limit": memory_limit, "batch_size": batch_size,
        }  # fmt: skip
        request = Request.of(
            model, data, target=target, sample_weight=sample_weight, drop=drop, allow_pickle=allow_pickle, trust=trust,
            output=output, classes=classes, background=background, background_rows=background_rows, groups=groups,
            seed=seed, settings=settings,
        )  # fmt: skip
        with clean_stdout():
            check_options(settings, has_target=target is not None)
            check_rows(rows, json_file)
            delivery.check([*request.inputs, config], {"--checkpoint": checkpoint})
            if checkpoint is not None:
                check_writable("--checkpoint", checkpoint, [*request.inputs, *([] if config is None else [config])])
                if checkpoint.exists():
                    say(f"going on with the run that {checkpoint.name} holds.")
            if about is not None:
                check_about(about)
            explanation = run(request, say, progress=has_viewer(quiet))
        delivery.deliver(of_explanation(explanation, say, about=about, tests=tests, rows=rows), say)
