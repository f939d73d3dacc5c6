"""``clarysage explain MODEL DATA``: a model and tables on disk, explained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clarysage.cli.delivery import Delivery
from clarysage.cli.model_files import Trust
from clarysage.cli.option_checks import check_options, spelled, whole
from clarysage.cli.request import Columns, Request, run
from clarysage.cli.speech import clean_stdout, guarded, has_viewer, speaker


def explain(
    model: Annotated[str, typer.Argument(
        metavar="MODEL", show_default=False,
        help="The model: XGBoost .json or .ubj, LightGBM .txt, CatBoost .cbm, .onnx, .skops, .joblib, .pkl, .pickle, "
        "or module:name for a function or model in a Python module.")],
    data: Annotated[Path, typer.Argument(
        metavar="DATA", show_default=False,
        help="Rows to judge the model on, best not those it was fitted on: .csv, .csv.gz, .tsv, .parquet.")],
    target: Annotated[str | None, typer.Option(
        metavar="COLUMN", show_default=False,
        help="The column that the model predicts. Without it: Shapley effects, the variance of the model's output "
        "that each feature explains.")] = None,
    background: Annotated[Path | None, typer.Option(
        metavar="FILE", show_default=False,
        help="Rows that stand in for withheld features, such as the training data. Default: DATA.")] = None,
    background_rows: Annotated[int | None, typer.Option(
        metavar="N", min=1, show_default=False,
        help="Rows to draw at random from a larger --background; cost grows with them. Default: 512, or 4096 where "
        "features are withheld given the others.")] = None,
    loss: Annotated[str, typer.Option(
        metavar="NAME", help='"squared error", "absolute error", "cross entropy", "zero one", "brier", or "auto" to '
        "fit the model's task.")] = "auto",
    removal: Annotated[str, typer.Option(
        metavar="NAME",
        help='How features are withheld: "marginal", "product of marginals", "baseline"; given the others "gaussian", '
        '"copula", "neighbours", "trees", "surrogate", or "auto conditional" to choose among these.')] = "marginal",
    method: Annotated[str, typer.Option(
        metavar="NAME",
        help='"exact", "paired walks", "surrogate walks", "permutation", "kernel", or "auto".')] = "auto",
    groups: Annotated[Path | None, typer.Option(
        metavar="FILE", show_default=False,
        help='Columns that count as one: a JSON file {"weather": ["temp", "wind"], ...}.')] = None,
    sample_weight: Annotated[str | None, typer.Option(
        metavar="COLUMN", show_default=False, help="A column of DATA with the weight of each row.")] = None,
    drop: Annotated[list[str] | None, typer.Option(
        metavar="COLUMN", show_default=False, help="A column that is no feature; give it again for more.")] = None,
    output: Annotated[str | None, typer.Option(
        metavar="NAME", show_default=False,
        help='The output to explain: a method such as "predict_proba", an output of an ONNX model, or "sigmoid" / '
        '"softmax" to turn logits into probabilities.')] = None,
    classes: Annotated[str | None, typer.Option(
        metavar="A,B,...", show_default=False,
        help="Labels of the classes in the order of the model's outputs, for a model that knows only their numbers.",
        )] = None,
    tolerance: Annotated[float, typer.Option(
        metavar="SHARE",
        help="Stop when the largest standard error is below this share of the values' range.")] = 0.025,
    budget: Annotated[float | None, typer.Option(
        metavar="ROWS", show_default=False, help="Stop at this many rows passed to the model.")] = None,
    deadline: Annotated[float | None, typer.Option(
        metavar="SECONDS", show_default=False, help="Stop after this many seconds.")] = None,
    n_jobs: Annotated[int, typer.Option(
        metavar="K", help="Workers, -1 for all cores; the result is the same for any number.")] = 1,
    seed: Annotated[int, typer.Option(metavar="K", min=0, help="Seed of the random draws.")] = 0,
    json_file: Annotated[Path | None, typer.Option(
        "--json", metavar="FILE", show_default=False,
        help='Write the explanation as JSON; "-" prints it in place of the table.')] = None,
    plot: Annotated[Path | None, typer.Option(
        metavar="FILE", show_default=False, help="Draw the values into a .png, .svg or .pdf file.")] = None,
    about: Annotated[str | None, typer.Option(
        metavar="NAME", show_default=False,
        help='What intervals are about: "data" (the sampling of this run alone), "rows" (other rows of the same '
        'population), "population" (other rows and another background). Default: the widest that is known.')] = None,
    tests: Annotated[bool, typer.Option(
        "--tests", help="Add p-values to the table: does a feature help, does it hurt?")] = False,
    allow_pickle: Annotated[bool, typer.Option(
        "--allow-pickle", help="Read a pickled model, which can run any code.")] = False,
    trust: Annotated[list[str] | None, typer.Option(
        metavar="TYPE", show_default=False,
        help="A type that a .skops file may hold beside scikit-learn's own; give it again for more.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no notes.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:  # fmt: skip
    """Explain a model: the SAGE value of each feature, what it saves the model in loss.

    If the model knows the names of its features, those columns are used and others ignored; if not, all columns but
    the target, the weights and the dropped ones, in the order of the file. Text columns go to the model as text;
    XGBoost and LightGBM models fitted on categories get categories.

    Prints a table, or JSON with --json -; progress and notes go to stderr. Exit codes: 0 ok, 1 error, 2 usage,
    3 not converged (or interrupted by Ctrl-C), with the result printed and written all the same.
    """
    settings = {
        "loss": spelled(loss), "removal": spelled(removal), "method": spelled(method), "tolerance": tolerance,
        "budget": whole(budget), "deadline": deadline, "n_jobs": n_jobs,
    }  # fmt: skip
    request = Request(
        model=model, trust=Trust(allow_pickle, tuple(trust or ())), output=output,
        classes=None if classes is None else tuple(label.strip() for label in classes.split(",")),
        data=data, columns=Columns(target, sample_weight, tuple(drop or ())),
        background=background, background_rows=background_rows, groups=groups, seed=seed, settings=settings,
    )  # fmt: skip
    say, delivery = speaker(quiet), Delivery(json_file, plot, about, tests)
    with guarded(say, debug=debug):
        with clean_stdout():
            check_options(settings, has_target=target is not None)
            delivery.check(request.inputs)
            explanation = run(request, say, progress=has_viewer(quiet))
        delivery.deliver(explanation, say)
