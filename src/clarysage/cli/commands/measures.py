"""``clarysage measures MODEL DATA``: every measure of a model, side by side."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clarysage.cli import completion
from clarysage.cli.console import OptionError, Say, clean_stdout, guarded, has_viewer, speaker
from clarysage.cli.inputs import Loaded, Request, loaded
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
from clarysage.errors import InputError

if TYPE_CHECKING:
    from clarysage._measures.table import Measure


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


def say_costs(found: Loaded, only: Sequence[str] | None, say: Say, *, refits: bool) -> None:
    """Say how many fits refits take, and how long where they are asked for: one fit is made and timed."""
    from clarysage._measures.table import MEASURES, as_measure, fits_wanted

    if found.tables["y"] is None:
        return
    slow = {row.name: row for row in (MEASURES.values() if only is None else map(as_measure, only)) if row.refits}
    folds = {"folds": 1} if found.train is not None else {}
    fits = {name: fits_wanted(name, _players(found), **folds) for name in slow}
    if only is None and not refits:
        costs = ", ".join(f"{name} ({counted(fits[name])})" for name in slow)
        say(f"left out, since they fit learners anew: {costs}; --refits asks for them.")
    elif slow:
        learner = None if all(row.own_learners for row in slow.values()) else _learner(found)
        seconds = None if learner is None else _seconds(learner, found)
        costs_of_each = [
            _cost(row, fits[name], seconds) for name, row in slow.items() if learner is not None or row.own_learners
        ]
        if costs_of_each:
            say("; ".join(costs_of_each) + ".")


def counted(fits: int | None) -> str:
    """A number of fits in words.

    Examples
    --------
    >>> counted(1234), counted(None)
    ('1,234 fits', 'fits whose number is not known')
    """
    return "fits whose number is not known" if fits is None else f"{fits:,} fit{'s' * (fits != 1)}"


def lasting(seconds: float) -> str:
    """A time in words.

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


def _players(found: Loaded) -> int:
    from clarysage.players import Players

    return len(Players.of(tuple(map(str, found.tables["X"].columns)), found.groups))


def _learner(found: Loaded) -> Any:
    """What is fitted; None where the model cannot be fitted anew, which its measures will say."""
    from clarysage.models.learners import refittable

    try:
        return refittable(found.model)
    except InputError:
        return None


def _seconds(learner: Any, found: Loaded) -> float | None:
    """Seconds of a fit on all columns; None where it fails, which is for the measures to say."""
    X, y = (found.tables["X"], found.tables["y"]) if found.train is None else found.train[:2]
    begun = time.perf_counter()
    try:
        learner.fit(X, y)
    except Exception:  # the learner's own, who knows which
        return None
    return time.perf_counter() - begun
