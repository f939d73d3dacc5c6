"""``clarysage explain MODEL DATA``: a model and tables on disk, explained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from clarysage.cli.completion import columns
from clarysage.cli.console import Say, clean_stdout, guarded, has_viewer, speaker
from clarysage.cli.files import check_writable
from clarysage.cli.inputs import Request, explained
from clarysage.cli.option_checks import check_about, check_background_rows, check_options, check_rows
from clarysage.cli.options import (
    DATA,
    MODEL,
    Background,
    ConfiguredOptions,
    ExplanationOptions,
    KeptRunFlags,
    Method,
    ModelOptions,
    ProblemOptions,
    RunFlags,
    with_groups,
)
from clarysage.cli.output import Delivery, about_known, has_rows
from clarysage.registry import normalised


@with_groups
def explain(
    model: Annotated[str, MODEL],
    data: Annotated[Path, DATA],
    *,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            autocompletion=columns,
            help="The column that the model predicts. Without it: Shapley effects, the variance of the model's output "
            "that each feature explains.",
        ),
    ] = None,
    background: Background = None,
    problem: ProblemOptions,
    method: Method = "auto",
    of_model: ModelOptions,
    run: RunFlags,
    storage: KeptRunFlags,
    written: ExplanationOptions,
    console: ConfiguredOptions,
) -> None:
    """Explain a model: the SAGE value of each feature, what it saves the model in loss.

    If the model knows the names of its features, those columns are used and others ignored; if not, all columns but
    the target, the weights and the dropped ones, in the order of the file. Text columns go to the model as text;
    XGBoost and LightGBM models fitted on categories get categories.

    Prints a table, or JSON with --json -; progress and notes go to stderr. Exit codes: 0 ok, 1 error, 2 usage,
    3 not converged (or interrupted by Ctrl-C), with the result printed and written all the same.
    """
    say = speaker(console.quiet)
    delivery = Delivery(written.json_file, {"--plot": written.plot}, written.html)
    with guarded(say, debug=console.debug):
        settings = {**problem.settings, "method": normalised(method), **run.settings, **storage.settings}
        request = Request(
            model,
            data,
            problem,
            of_model,
            seed=run.seed,
            settings=settings,
            target=target,
            background=background,
            leaves_on_disk=True,
        )
        with clean_stdout():
            check_options(settings, has_target=target is not None)
            check_background_rows(problem.background_rows, background)
            check_rows(written.rows, written.json_file)
            _check_files(delivery, [*request.inputs, console.config], storage.checkpoint, say)
            if written.about is not None:
                check_about(written.about)
            explanation = explained(request, say, progress=has_viewer(console.quiet))
        about = about_known(explanation, written.about, say)
        summary = explanation.summary(about=about, tests=written.tests)
        delivery.deliver(explanation, say, summary=summary, rows=has_rows(explanation, written.rows, say))


def _check_files(delivery: Delivery, inputs: Sequence[Path | None], checkpoint: Path | None, say: Say) -> None:
    """Raise, before the long computation, for a file that cannot be written after it or on the way."""
    delivery.check(inputs, {"--checkpoint": checkpoint})
    if checkpoint is not None:
        check_writable("--checkpoint", checkpoint, [path for path in inputs if path is not None])
        if checkpoint.exists():
            say(f"going on with the run that {checkpoint.name} holds.")
