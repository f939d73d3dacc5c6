"""``clarysage measures MODEL DATA``: computes and compares importance measures of a model."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clarysage.cli.checks import check_background_rows, check_options, measure_names
from clarysage.cli.completion import complete_column, complete_measures
from clarysage.cli.console import OptionError, Say, clean_stdout, handled_errors, note_printer
from clarysage.cli.inputs import Inputs, Request, load_inputs
from clarysage.cli.options import (
    DATA,
    MODEL,
    Background,
    ExplainedOptions,
    FileOptions,
    LongRunOptions,
    ModelOptions,
    StoppingOptions,
    StorageOptions,
    with_option_groups,
)
from clarysage.cli.output import OutputFiles
from clarysage.errors import InputError

if TYPE_CHECKING:
    from clarysage._measures.table import Measure


@with_option_groups
def measures(
    model: Annotated[str | None, MODEL] = None,
    data: Annotated[Path | None, DATA] = None,
    *,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            show_default=False,
            autocompletion=complete_column,
            help="Column that the model predicts. Without it, only measures that need no target are computed.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...",
            show_default=False,
            autocompletion=complete_measures,
            help='Compute only these measures, such as "sage,permutation importance". Default: all that apply.',
        ),
    ] = None,
    refits: Annotated[
        bool,
        typer.Option(
            "--refits/--no-refits",
            show_default=False,
            help="Also compute measures that refit the model; their cost is printed first.",
        ),
    ] = False,
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Table of rows, with the target, on which models are refitted. Default: cross-fitting on DATA.",
        ),
    ] = None,
    background: Background = None,
    problem: ExplainedOptions,
    of_model: ModelOptions,
    run: StoppingOptions,
    storage: StorageOptions,
    written: FileOptions,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Plot the measures side by side to this .png, .svg or .pdf file.",
        ),
    ] = None,
    ranks: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Plot the ranks of features by measure to this .png, .svg or .pdf file.",
        ),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Print a table of all measures and exit; needs no MODEL.")
    ] = False,
    console: LongRunOptions,
) -> None:
    """Compute importance measures of a model, such as SAGE, permutation tests and heuristics, and compare them.

    Features are chosen as by "clarysage explain". Measures that do not apply to the model are left out.
    Measures that refit the model need --refits, or their name in --only, and a model that can be refitted, such as a
    pipeline in a .skops or .joblib file. --tolerance, --budget and --deadline apply to each measure.

    Prints a table, or JSON with --json -; progress and notes go to stderr. Exit codes: 0 success, 1 error, 2 wrong
    usage, 3 a measure has not converged (the result is printed and written, too).
    """
    say = note_printer(console.quiet)
    output_files = OutputFiles(written.json_file, {"--plot": plot, "--ranks": ranks}, written.html)
    with handled_errors(say, debug=console.debug):
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
            names = None if only is None else measure_names(only)
            output_files.check([*request.inputs, console.config])
            importances = _importances(request, names, say, refits=refits, progress=console.shows_progress)
        output_files.write_and_print(importances, say, top=written.top)


def listing() -> str:
    """Returns the table of all measures and their properties."""
    import clarysage as cs
    from clarysage._measures.table import PROPERTIES
    from clarysage.render.terminal import aligned
    from clarysage.results.importances import GAMES, STAR, WIDTH, properties_words

    games, properties = (
        [("measure", "game", "u(S) approximates it for", "constant", "refits")],
        [("measure", *PROPERTIES)],
    )
    for name, row in cs.measures().iterrows():
        title = f"{name}{STAR * (row['heuristic'] == 'yes')}"
        games.append((title, row["approximates"], row["subdomain"], row["constant"], row["refits"]))
        properties.append((title, *(row[word] for word in PROPERTIES)))
    return "\n".join(
        [
            *aligned(games),
            "",
            *aligned(properties),
            "",
            *textwrap.wrap(f"{GAMES} v(D): the power of all features. refits: fits the model again.", WIDTH),
            *textwrap.wrap(properties_words(PROPERTIES), WIDTH),
            f"{STAR}: a heuristic; its values do not add up to anything that a model gains or loses.",
        ]
    )


def _given(model: str | None, data: Path | None) -> tuple[str, Path]:
    if model is None or data is None:
        missing = "MODEL" if model is None else "DATA"
        hint = "clarysage measures --list to see all measures"
        raise OptionError(missing, got="nothing", wanted="MODEL and DATA", hint=hint)
    return model, data


def _importances(request: Request, only: list[str] | None, say: Say, *, refits: bool, progress: bool | None) -> Any:
    """Returns the requested measures; prints the cost of refits before they run."""
    import clarysage as cs

    inputs = load_inputs(request, say)
    say_costs(inputs, request, only, say, refits=refits)
    return cs.importances(
        inputs.f,
        **inputs.tables,
        measures=only,
        refits=refits,
        train=inputs.train,
        groups=inputs.groups,
        rng=request.seed,
        progress=progress,
        **request.settings,
    )


def say_costs(inputs: Inputs, request: Request, only: Sequence[str] | None, say: Say, *, refits: bool) -> None:
    """Prints how many fits the measures with refits need, and estimates their time from one timed fit."""
    from clarysage._measures.table import MEASURES, as_measure, expected_fits

    if inputs.tables["y"] is None:
        return
    slow = {row.name: row for row in (MEASURES.values() if only is None else map(as_measure, only)) if row.refits}
    folds = {"folds": 1} if inputs.train is not None else {}
    arguments = _explained(inputs, request)
    fits = {name: expected_fits(name, _n_players(arguments), **folds) for name in slow}
    if only is None and not refits:
        costs = ", ".join(f"{name} ({counted(fits[name])})" for name in slow)
        say(f"left out, since they refit the model: {costs}; --refits asks for them.")
    elif slow:
        learner = None if all(row.own_learners for row in slow.values()) else _learner(arguments)
        seconds = None if learner is None else _seconds(learner, arguments)
        costs_of_each = [
            _cost(row, fits[name], seconds) for name, row in slow.items() if learner is not None or row.own_learners
        ]
        if costs_of_each:
            say("; ".join(costs_of_each) + ".")


def counted(fits: int | None) -> str:
    """Formats a number of fits.

    Examples
    --------
    >>> counted(1234), counted(None)
    ('1,234 fits', 'fits whose number is not known')
    """
    return "fits whose number is not known" if fits is None else f"{fits:,} fit{'s' * (fits != 1)}"


def lasting(seconds: float) -> str:
    """Formats a duration.

    Examples
    --------
    >>> lasting(0.2), lasting(75), lasting(600), lasting(9000)
    ('less than a second', 'about 75 s', 'about 10 min', 'about 2.5 h')
    """
    if seconds < 1:
        return "less than a second"
    if seconds < 100:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 6000 else f"about {seconds / 3600:.1f} h"


def _cost(row: Measure, fits: int | None, seconds: float | None) -> str:
    count = f"{row.name}: {counted(fits)}"
    if row.own_learners:
        return f"{count} of {row.own_learners}"
    return count if fits is None or seconds is None else f"{count}, {lasting(fits * seconds)}"


def _explained(inputs: Inputs, request: Request) -> dict[str, Any]:
    """Returns the arguments of measures with the features that are explained, such as those of a step."""
    from clarysage._measures.options import columns_to_explain

    arguments = {"model": inputs.f, **inputs.tables, "groups": inputs.groups, "train": inputs.train}
    of_all = {name: request.settings[name] for name in ("after", "max_players")}
    return columns_to_explain(arguments, **of_all)[0]


def _n_players(arguments: dict[str, Any]) -> int:
    from clarysage._measures.player_order import column_names
    from clarysage.players import Players

    return len(Players.of(column_names(arguments["X"], arguments.get("feature_names")), arguments["groups"]))


def _learner(arguments: dict[str, Any]) -> Any:
    """Returns the learner that is refitted; None if the model cannot be refitted (its measures then say so)."""
    from clarysage._measures.importances import refittable_model
    from clarysage.models.learners import learner_for_refits

    try:
        return learner_for_refits(refittable_model(arguments["model"]))
    except InputError:
        return None


def _seconds(learner: Any, arguments: dict[str, Any]) -> float | None:
    """Returns the seconds of a fit on all columns; None if the fit fails (its measures then say so)."""
    X, y = (arguments["X"], arguments["y"]) if arguments["train"] is None else arguments["train"][:2]
    start = time.perf_counter()
    try:
        learner.fit(X, y)
    except Exception:  # learners raise any kind of error
        return None
    return time.perf_counter() - start
