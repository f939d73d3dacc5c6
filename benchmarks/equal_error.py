"""Model rows and seconds to equal true error: our methods and sage-importance's PermutationEstimator.

    make bench
    .venv/bin/python benchmarks/equal_error.py --game bike_xgboost --rounds 4

The error of a method is that of its worst feature: the root mean squared distance from the truth, over runs with
different seeds, each to the default tolerance. The truth is a long run of a plain permutation sampler (``truth.py``).
The reference's variance per permutation and its seconds per model row are measured between our runs, in this process,
on one thread. The number of permutations that it needs for the same error follows from the variance, and a permutation
takes (d + 1) m model rows. The largest of several noisy means is biased upwards; the estimates are chosen so that this
works against us on both sides (:func:`largest_mean`). Our rows include all that the model sees: null and full payoffs,
checks and pilot runs; the rows of one run per line are counted as a check. Seconds are processor time, at the speed of
the fastest run on both sides. The uncertainty includes the runs of both sides.

Columns: "error" is our error and "truth" the standard error of the truth, both as shares of the range of the values;
"reported" is the standard error that a run reports, as a multiple of the true error.

Bike, credit and bank come from the directory in the environment variable CLARYSAGE_DATA, or are downloaded
(``experiments.data``). Where neither is possible their lines are skipped. ``--write`` stores the table in
docs/appendix/speed.md, if no line is skipped.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import games
import numpy as np
from doc_tables import ROOT, provenance, replace_block, table, table_row
from games import BenchmarkGame
from threadpoolctl import threadpool_limits
from truth import Truth, prediction, truth

import clarysage as cs
from clarysage.estimators import METHODS
from experiments.data import MissingDataError

PAGE = ROOT / "docs" / "appendix" / "speed.md"
COLUMNS = ("model", "loss", "d", "m", "method", "times fewer model rows")
ROUNDS = 16  # of the reference; our runs are spread over them
REFERENCE_BATCH = 128  # the fastest of 16 to 512, or within 5 % of it, on every game here
REFERENCE_LOSSES = {"squared error": "mse", "cross entropy": "cross entropy"}


@dataclass(frozen=True)
class Effort:
    """Permutations of the reference in each round, and passes for the truth."""

    permutations: int
    passes: int


@dataclass(frozen=True)
class Line:
    """A method on a game: runs per round, and by which factors it must need fewer rows and seconds, where required."""

    game: str
    method: str
    runs: int
    fewer: float | None = None
    faster: float | None = None


EFFORTS = {
    "bike_xgboost": Effort(permutations=256, passes=8),
    "credit_forest": Effort(permutations=128, passes=16),
    "cancer_network": Effort(permutations=1024, passes=100),
    "digits_network": Effort(permutations=256, passes=24),
    "bank_catboost": Effort(permutations=256, passes=2),
    "credit_catboost": Effort(permutations=256, passes=60),
}

LINES = (
    Line("bike_xgboost", "paired walks", 6, 400, 150),
    Line("bike_xgboost", "surrogate walks", 1, 2500),
    Line("credit_forest", "paired walks", 2, 400, 100),
    Line("cancer_network", "paired walks", 16, 40),
    Line("digits_network", "paired walks", 1, 7),
    Line("bank_catboost", "paired walks", 1),
    Line("credit_catboost", "paired walks", 4),
)


def main() -> None:
    options = read_options()
    print(
        f"{'game':<30}{'d':>3}{'m':>5}  {'method':<16}{'runs':>4}{'error':>7}{'truth':>7}{'reported':>9}{'rows':>11}"
        f"{'reference':>11}{'fewer rows':>24}{'seconds':>9}{'reference':>11}{'faster':>24}"
    )
    with threadpool_limits(1):
        lines = [compare(name, EFFORTS[name], options) for name in options.game or EFFORTS]
    if options.write:
        how = provenance("equal_error.py", options.first)
        made = f"Made by `{how['command']}` at commit {how['commit']}."
        rows = [table_row(cells) for of_game in lines for cells in of_game]
        replace_block(PAGE, f"{made}\n\n{table(COLUMNS, rows)}", "rows")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--game", action="append", choices=EFFORTS, help="only these games")
    parser.add_argument("--method", action="append", choices=METHODS, help="these methods, one run per round")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--first", type=int, default=0, help="number of the first round; seeds follow from it")
    parser.add_argument(
        "--passes", type=int, default=0, help="minimum number of passes over the examples for the truth"
    )
    parser.add_argument("--tolerance", type=float, default=0.025, help="of each run; 0 to stop by the budget only")
    parser.add_argument("--budget", type=float, help="model rows of each run")
    parser.add_argument("--write", action="store_true", help="store the table in docs/")
    options = parser.parse_args()
    if options.write and (options.game or options.method):
        parser.error("--write stores all lines of the table: leave out --game and --method")
    return options


def compare(name: str, effort: Effort, options: argparse.Namespace) -> list[tuple[Any, ...]]:
    """Measures and prints the lines of a game; returns them as rows of the table."""
    try:
        game = getattr(games, name)()
    except MissingDataError as error:
        if options.write:
            raise
        print(f"{name:<30} skipped: {error}", flush=True)
        return []
    true_values = truth(game, max(effort.passes, options.passes))
    stopping = {"tolerance": options.tolerance or None, "budget": options.budget}
    lines = [Line(name, method, 1) for method in options.method or ()]
    lines = lines or [line for line in LINES if line.game == name and line.method in METHODS]
    for line in lines:
        reported, counted = count_rows(game, line.method, **stopping)
        assert reported == counted, f"{line.method} on {name} reports {reported} model rows of {counted}"
    theirs, ours = [], {line: [] for line in lines}
    for number in range(options.first, options.first + options.rounds):
        theirs.append(run_reference(game, effort.permutations, seed=number))
        for line in lines:
            seeds = range(number * line.runs, (number + 1) * line.runs)
            ours[line] += [timed_run(game, line.method, seed, **stopping) for seed in seeds]
    return [report(game, line, true_values, MethodRuns.of(ours[line]), theirs) for line in lines]


def report(game: BenchmarkGame, line: Line, true_values: Truth, ours: MethodRuns, theirs: list[Any]) -> tuple[Any, ...]:
    """Prints a line, and returns it as a row of the table."""
    variances, paces = (np.array(part) for part in zip(*theirs, strict=True))
    error, our_spread = largest_mean(ours.squared_errors(true_values))
    variance, their_spread = largest_mean_cross_validated(variances)
    their_rows = reference_rows(game) * variance / error
    seconds, their_seconds = ours.seconds_per_run(), their_rows * paces.min()
    spread = float(np.hypot(our_spread, their_spread))
    fewer = verdict(their_rows / ours.rows.mean(), spread, line.fewer)
    faster = verdict(their_seconds / seconds, spread, line.faster)
    reported = ours.variances.mean(axis=0).max()
    _, d, m = game.shape
    print(
        f"{game.name:<30}{d:>3}{m:>5}  {line.method:<16}{len(ours.rows):>4}{error**0.5 / true_values.range:>7.4f}"
        f"{true_values.variance.max() ** 0.5 / true_values.range:>7.4f}{(reported / error) ** 0.5:>9.2f}"
        f"{ours.rows.mean():>11,.0f}{their_rows:>11.3g}{fewer:>24}{seconds:>9.2f}{their_seconds:>11,.0f}{faster:>24}",
        flush=True,
    )
    times_fewer = f"{float(f'{their_rows / ours.rows.mean():.3g}'):,g} (± {spread:.0%})"
    return game.name, game.loss, d, m, line.method, times_fewer


def verdict(ratio: float, spread: float, required: float | None) -> str:
    comparison = "" if required is None else f" {'>=' if ratio >= required else 'BELOW'} {required:g}"
    return f"{float(f'{ratio:.3g}'):g} +-{spread:.0%}{comparison}"


# Our methods


@dataclass(frozen=True)
class MethodRuns:
    """Runs of a method on a game: values and reported variances (runs, d), model rows and seconds (runs,)."""

    values: np.ndarray
    variances: np.ndarray
    rows: np.ndarray
    seconds: np.ndarray

    @classmethod
    def of(cls, runs: list[tuple[Any, float]]) -> MethodRuns:
        """Collects explanations and their seconds."""
        return cls(
            np.array([explanation.values for explanation, _ in runs]),
            np.array([explanation.std_error for explanation, _ in runs]) ** 2,
            np.array([explanation.model_rows for explanation, _ in runs], dtype=float),
            np.array([seconds for _, seconds in runs]),
        )

    def squared_errors(self, true_values: Truth) -> np.ndarray:
        """Returns squared distances (runs, d) from the truth, minus what the error of the truth adds to them."""
        return np.asarray((self.values - true_values.values) ** 2 - true_values.variance)

    def seconds_per_run(self) -> float:
        """Returns the seconds of a run of mean length at the speed of the fastest run."""
        return float((self.seconds / self.rows).min() * self.rows.mean())


def timed_run(
    game: BenchmarkGame, method: str, seed: int, model: Any = None, **options: Any
) -> tuple[cs.Explanation, float]:
    """Makes one call, and returns the explanation and its processor seconds.

    The library sees the model as a function only, so that no fast path for its type is taken.
    """
    begun = time.process_time()
    explanation = cs.sage(
        model or prediction(game.model),
        game.X,
        game.y,
        background=game.background,
        loss=game.loss,
        method=method,
        rng=seed,
        **options,
    )
    return explanation, time.process_time() - begun


def count_rows(game: BenchmarkGame, method: str, **options: Any) -> tuple[int, int]:
    """Returns the model rows of a run as it reports them, and as a model that counts them sees them."""
    predict, counted = prediction(game.model), 0

    def counting(X: np.ndarray) -> np.ndarray:
        nonlocal counted
        counted += len(X)
        return predict(X)

    explanation, _ = timed_run(game, method, 0, counting, **options)
    return explanation.model_rows, counted


# The reference


def run_reference(game: BenchmarkGame, permutations: int, seed: int) -> tuple[np.ndarray, float]:
    """Runs sage-importance's PermutationEstimator: variances per permutation (d,), and processor seconds per row."""
    import sage

    imputer = sage.MarginalImputer(game.model, game.background)
    estimator = sage.PermutationEstimator(imputer, REFERENCE_LOSSES[game.loss], random_state=seed)
    options = {"batch_size": REFERENCE_BATCH, "detect_convergence": False, "n_permutations": permutations, "bar": False}
    begun = time.process_time()
    explanation = estimator(game.X, game.y, **options)
    seconds = time.process_time() - begun
    variance = np.asarray(explanation.std) ** 2 * permutations * permutations / (permutations - 1)
    return variance, seconds / (permutations * reference_rows(game) + reference_check_rows(game))


def reference_rows(game: BenchmarkGame) -> int:
    """Returns the model rows of one permutation: d + 1 coalitions on every background row."""
    _, d, m = game.shape
    return (d + 1) * m


def reference_check_rows(game: BenchmarkGame) -> int:
    """Returns the rows of the check of probabilities at the start of a run; they are not charged to the reference."""
    return min(REFERENCE_BATCH, len(game.X)) * len(game.background) if game.loss == "cross entropy" else 0


# The worst feature


def largest_mean(samples: np.ndarray) -> tuple[float, float]:
    """Returns the largest mean of the columns (runs, d) and its relative standard error; it is biased upwards.

    Examples
    --------
    >>> largest_mean(np.array([[1.0, 3.0], [2.0, 5.0], [1.0, 4.0]]))[0]
    4.0
    """
    return mean_and_error(samples[:, samples.mean(axis=0).argmax()])


def largest_mean_cross_validated(samples: np.ndarray) -> tuple[float, float]:
    """Returns the largest mean, where the column of each run is chosen by the other runs; it is biased downwards."""
    others = samples.sum(axis=0) - samples  # (runs, d), up to a factor
    return mean_and_error(samples[np.arange(len(samples)), others.argmax(axis=1)])


def mean_and_error(sample: np.ndarray) -> tuple[float, float]:
    """Returns the mean and its relative standard error."""
    mean = float(sample.mean())
    return mean, float(sample.std(ddof=1) / np.sqrt(len(sample)) / mean)


if __name__ == "__main__":
    main()
