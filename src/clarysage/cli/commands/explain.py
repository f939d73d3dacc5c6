"""``clarysage explain MODEL DATA``: explains a model in a file on a table in a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clarysage.cli.checks import check_about, check_background_rows, check_options, check_rows, check_writable
from clarysage.cli.completion import complete_column
from clarysage.cli.console import Say, clean_stdout, handled_errors, note_printer
from clarysage.cli.inputs import SHAPLEY_EFFECTS, Request, load_inputs
from clarysage.cli.options import (
    DATA,
    MODEL,
    Background,
    CheckpointOptions,
    ExplainedOptions,
    ExplanationOptions,
    LongRunOptions,
    Method,
    ModelOptions,
    StoppingOptions,
    with_option_groups,
)
from clarysage.cli.output import STDOUT, OutputFiles, available_about, has_rows
from clarysage.errors import InputError
from clarysage.registry import normalised

if TYPE_CHECKING:
    from clarysage.results import Explanation


@with_option_groups
def explain(
    model: Annotated[str, MODEL],
    data: Annotated[Path, DATA],
    *,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            autocompletion=complete_column,
            help="Column that the model predicts. Without it, the result is Shapley effects: the variance of the "
            "model's output that each feature explains.",
        ),
    ] = None,
    background: Background = None,
    per_class: Annotated[
        bool,
        typer.Option(
            "--per-class/--no-per-class",
            show_default=False,
            help="One explanation for each class: of the mean loss of its rows.",
        ),
    ] = False,
    per_target: Annotated[
        bool,
        typer.Option(
            "--per-target/--no-per-target",
            show_default=False,
            help="One explanation for each target, or output, of a multi-output model.",
        ),
    ] = False,
    problem: ExplainedOptions,
    method: Method = "auto",
    of_model: ModelOptions,
    run: StoppingOptions,
    storage: CheckpointOptions,
    written: ExplanationOptions,
    console: LongRunOptions,
) -> None:
    """Explain a model by SAGE values (Shapley additive global importance): how much each feature reduces the loss.

    If the model has feature names, these columns are used and others ignored. If not, the features are all columns
    except the target, the weights and the dropped columns, in the order of the file. Text columns are passed to the
    model as text; XGBoost and LightGBM models fitted on categories receive categories.

    Prints a table, or JSON with --json -; progress and notes go to stderr. Exit codes: 0 success, 1 error, 2 wrong
    usage, 3 not converged or interrupted by Ctrl-C (the result is printed and written, too). With --per-class and
    --per-target, names of files get the class or the target: out.json becomes out-setosa.json.
    """
    say = note_printer(console.quiet)
    output_files = OutputFiles(written.json_file, {"--plot": written.plot}, written.html)
    with handled_errors(say, debug=console.debug):
        settings = {**problem.settings, "method": normalised(method), **run.settings, **storage.settings}
        is_of_parts = per_class or per_target
        if is_of_parts:
            settings |= {"per_class": per_class, "per_target": per_target}
        request = Request(
            model,
            data,
            problem,
            of_model,
            seed=run.seed,
            settings=settings,
            target=target,
            background=background,
            may_sample_rows=not problem.needs_all_rows,
        )
        with clean_stdout():
            check_options(settings, has_target=target is not None)
            check_background_rows(problem.background_rows, background)
            check_rows(written.rows, written.json_file)
            _check_files(output_files, [*request.inputs, console.config], storage.checkpoint, say)
            if written.about is not None:
                check_about(written.about)
            if is_of_parts and written.json_file == STDOUT:
                raise InputError("--json", got="-", wanted="a file name, since there are several explanations")
            explanations = _explanations(request, say, progress=console.shows_progress)
        names, exit_code = [_part(explanation) for explanation in explanations], 0
        for number, explanation in enumerate(explanations):
            about = available_about(explanation, written.about, say)
            summary = explanation.summary(about=about, tests=written.tests)
            rows = has_rows(explanation, written.rows, written.json_file, say)
            files = output_files
            if is_of_parts:
                is_unique = names.count(names[number]) == 1
                files = output_files.with_suffix(names[number] if is_unique else f"{number}_{names[number]}")
                files.check([*request.inputs, console.config])
            try:
                files.write_and_print(explanation, say, top=written.top, summary=summary, rows=rows)
            except typer.Exit as ended:
                exit_code = max(exit_code, ended.exit_code)
        if exit_code:
            raise typer.Exit(exit_code)


def _part(explanation: Explanation) -> str:
    """Returns the class or the target that an explanation is of, for names of files."""
    part = explanation.provenance.get("class", explanation.provenance.get("target", explanation.loss))
    return re.sub(r"[^\w-]+", "_", str(part))


def _explanations(request: Request, say: Say, *, progress: bool | None) -> list[Explanation]:
    """Reads the files of a request and explains the model, or each class or target by itself."""
    import clarysage as cs

    inputs = load_inputs(request, say)
    if request.target is None:
        say(SHAPLEY_EFFECTS)
    options = {"groups": inputs.groups, "rng": request.seed, "progress": progress, **request.settings}
    result: Explanation | list[Explanation] = cs.sage(inputs.f, **inputs.tables, **options)
    return result if isinstance(result, list) else [result]


def _check_files(output_files: OutputFiles, inputs: Sequence[Path | None], checkpoint: Path | None, say: Say) -> None:
    """Raises an error, before the long computation, if an output file or the checkpoint cannot be written."""
    output_files.check(inputs, during={"--checkpoint": checkpoint})
    if checkpoint is not None:
        check_writable("--checkpoint", checkpoint, [path for path in inputs if path is not None])
        if checkpoint.exists():
            say(f"continuing the run in {checkpoint.name}.")
