"""``clarysage demo``: real data, a model fitted on the spot, and what its features bring it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clarysage.cli.console import Say, clean_stdout, guarded, has_viewer, speaker
from clarysage.cli.options import ConsoleOptions, with_groups
from clarysage.cli.output import Delivery
from clarysage.errors import InputError

BACKGROUND_ROWS = 64
TOLERANCE = 0.03


@with_groups
def demo(
    *,
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where to write the report, the plot and the JSON.")
    ] = Path("clarysage-demo"),
    seed: Annotated[int, typer.Option(metavar="K", min=0, help="Seed of the split, the model and the draws.")] = 0,
    n_jobs: Annotated[int, typer.Option(metavar="K", help="Workers, -1 for all cores.")] = 1,
    console: ConsoleOptions,
) -> None:
    """Explain a model of how diabetes progresses: needs no data, no model and no network.

    Gradient boosting learns the progression of the disease in 442 patients after a year from ten measurements (Efron
    et al. 2004, as it comes with scikit-learn) and is explained on patients that it has not seen. Takes seconds.
    """
    say = speaker(console.quiet)
    delivery = Delivery(output / "sage.json", {"--plot": output / "sage.png"}, output / "report.html")
    with guarded(say, debug=console.debug):
        with clean_stdout():
            _make_folder(output)
            delivery.check([])
            explanation = _explained(say, seed, n_jobs, progress=has_viewer(console.quiet))
        delivery.deliver(explanation, say)


def _explained(say: Say, seed: int, n_jobs: int, *, progress: bool) -> Any:
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
        raise InputError("--output", got=f"{path}: {error.strerror}", wanted="a folder that can be made") from error
