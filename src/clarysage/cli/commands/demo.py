"""``clarysage demo``: fits a model on real data and explains it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clarysage.cli.console import Say, clean_stdout, handled_errors, note_printer
from clarysage.cli.options import ConsoleOptions, with_option_groups
from clarysage.cli.output import OutputFiles
from clarysage.errors import InputError

BACKGROUND_ROWS = 64
TOLERANCE = 0.03


@with_option_groups
def demo(
    *,
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder for the report, the plot and the JSON file.")
    ] = Path("clarysage-demo"),
    seed: Annotated[int, typer.Option(metavar="K", min=0, help="Seed of the split, the model and the sampling.")] = 0,
    n_jobs: Annotated[int, typer.Option(metavar="K", help="Number of parallel workers, -1 for all cores.")] = 1,
    console: ConsoleOptions,
) -> None:
    """Explain a model of diabetes progression, as a demonstration.

    Gradient boosting predicts the progression of diabetes after one year from ten measurements (442 patients, Efron et
    al. 2004, a data set of scikit-learn). It is explained on patients that were not used to fit it. This takes seconds
    and needs no files and no network.
    """
    say = note_printer(console.quiet)
    output_files = OutputFiles(folder / "sage.json", {"--plot": folder / "sage.png"}, folder / "report.html")
    with handled_errors(say, debug=console.debug):
        with clean_stdout():
            _make_folder(folder)
            output_files.check([])
            explanation = _explanation_of_demo(say, seed, n_jobs, progress=False if console.quiet else None)
        output_files.write_and_print(explanation, say)


def _explanation_of_demo(say: Say, seed: int, n_jobs: int, *, progress: bool | None) -> Any:
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.model_selection import train_test_split

    import clarysage as cs

    X, y = cs.datasets.diabetes()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
    model = GradientBoostingRegressor(n_estimators=60, learning_rate=0.08, min_samples_leaf=10, random_state=seed)
    model.fit(X_train, y_train)
    say(f"gradient boosting, fitted on {len(X_train)} patients, explained on {len(X_test)} others.")
    background = X_train.sample(BACKGROUND_ROWS, random_state=seed)
    return cs.sage(
        model, X_test, y_test, background=background, tolerance=TOLERANCE, n_jobs=n_jobs, rng=seed, progress=progress
    )


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("--folder", got=f"{path}: {error.strerror}", wanted="a folder that can be made") from error
