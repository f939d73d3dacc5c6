"""``clarysage measures MODEL DATA``: every measure of a model, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clarysage.cli import completion
from clarysage.cli.console import OptionError, Say, clean_stdout, guarded, has_viewer, speaker
from clarysage.cli.option_checks import check_background_rows, check_options, named_measures
from clarysage.cli.options import (
    DATA,
    MODEL,
    Background,
    ConfiguredOptions,
    FileOptions,
    ModelOptions,
    ProblemOptions,
    RunFlags,
    StorageOptions,
    with_groups,
)
from clarysage.cli.output import Delivery
from clarysage.cli.refit_costs import say_costs
from clarysage.cli.request import Request, loaded


@with_groups
def measures(
    model: Annotated[str | None, MODEL] = None,
    data: Annotated[Path | None, DATA] = None,
    *,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            autocompletion=completion.columns,
            help="The column that the model predicts. Without it: only measures that need none.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            show_default=False,
            autocompletion=completion.measures,
            help='Compute these alone, such as "sage,permutation test". Default: all that apply.',
        ),
    ] = None,
    refits: Annotated[
        bool,
        typer.Option(
            "--refits/--no-refits",
            show_default=False,
            help="Compute measures that fit learners anew, too; what they cost is said first.",
        ),
    ] = False,
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Rows to fit learners on, with the target. Default: cross-fitting on DATA.",
        ),
    ] = None,
    background: Background = None,
    problem: ProblemOptions,
    of_model: ModelOptions,
    run: RunFlags,
    storage: StorageOptions,
    written: FileOptions,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Draw the measures side by side into a .png, .svg or .pdf file.",
        ),
    ] = None,
    ranks: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Draw a map of ranks, features by measures, into such a file.",
        ),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Print what measures there are, and what they are; needs no MODEL.")
    ] = False,
    console: ConfiguredOptions,
) -> None:
    """Compare measures of a model: what SAGE, permutation tests, heuristics and others say of each feature.

    Columns are found as by "clarysage explain". Measures that do not apply to the model are left out, with the reason.
    Measures that fit learners anew are asked for by --refits, or by name; they need a model that can be fitted again,
    as pipelines in .skops and .joblib files can. --tolerance, --budget and --deadline are for each measure.

    Prints a table, or JSON with --json -; progress and notes go to stderr. Exit codes: 0 ok, 1 error, 2 usage,
    3 some measure not converged, with the result printed and written all the same.
    """
    say = speaker(console.quiet)
    delivery = Delivery(written.json_file, {"--plot": plot, "--ranks": ranks}, written.html)
    with guarded(say, debug=console.debug):
        if show_list:
            print(listing())
            return
        settings = {**problem.settings, **run.settings, **storage.settings}
        with clean_stdout():
            request = Request(
                *_given(model, data),
                problem,
                of_model,
                seed=run.seed,
                settings=settings,
                target=target,
                background=background,
                train=train,
            )
            check_options(settings, has_target=target is not None)
            check_background_rows(problem.background_rows, background)
            chosen = None if only is None else named_measures(only)
            delivery.check([*request.inputs, console.config])
            found = _compared(request, chosen, say, refits=refits, progress=has_viewer(console.quiet))
        delivery.deliver(found, say)


def listing() -> str:
    """The measures that there are, and what they are, as a table."""
    import clarysage as cs
    from clarysage._measures.table import PROPERTIES
    from clarysage.render.terminal import aligned
    from clarysage.results.importances import MARKS, STAR

    rows = [("measure", "of", "close to it for", "phi_0", " ".join(word[0].upper() for word in PROPERTIES), "refits")]
    for name, row in cs.measures().iterrows():
        marks = " ".join(MARKS[row[word]] for word in PROPERTIES)
        title = f"{name}{STAR * (row['heuristic'] == 'yes')}"
        rows.append((title, row["approximates"], row["subdomain"], row["constant"], marks, row["refits"]))
    letters = ", ".join(f"{word[0].upper()} {word}" for word in PROPERTIES)
    return "\n".join(
        [
            *aligned(rows),
            "",
            f"{letters}: + yes, ~ partly, - no (Table 1).",
            "of: v, the predictive power of the data; v_f, that of the model; w_f, the variance of its output.",
            f"{STAR}: a heuristic outside the framework. refits: fits learners anew.",
        ]
    )


def _given(model: str | None, data: Path | None) -> tuple[str, Path]:
    if model is None or data is None:
        what = "MODEL" if model is None else "DATA"
        raise OptionError(
            what, got="nothing", wanted="MODEL and DATA", hint="clarysage measures --list for what there is"
        )
    return model, data


def _compared(request: Request, only: list[str] | None, say: Say, *, refits: bool, progress: bool) -> Any:
    """The measures that are asked for; before slow ones run, their cost is said."""
    import clarysage as cs

    found = loaded(request, say)
    say_costs(found, only, say, refits=refits)
    return cs.importances(
        found.f,
        **found.tables,
        measures=only,
        refits=refits,
        train=found.train,
        groups=found.groups,
        rng=request.seed,
        progress=progress,
        **request.settings,
    )
