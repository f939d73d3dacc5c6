"""Model rows and seconds to equal true error: our methods beside sage-importance's PermutationEstimator.

    make bench
    .venv/bin/python benchmarks/equal_error.py --game bike_xgboost --rounds 4

Error is that of the worst feature: the root of its mean squared distance from the truth over runs with different
seeds, each at the default tolerance. The truth is a long run of plain walks (``truth.py``). The reference's variance
per permutation and its pace are measured between our runs, in this process, on one thread; the permutations that it
needs for the same error follow from the variance, at (d + 1) m model rows each. What chance adds to the worst of many
features counts against us on both sides (``worst.py``). Our rows are all that the model sees: the ends of the game,
checks and pilots included; one run a line is counted to be sure. Seconds are processor time, at the pace of the
quickest run on both sides. Uncertainty is that of the runs of both sides.

Columns: "error" and "truth", the error of ours and the standard error of the truth, as shares of the range of the
values; "claimed", the standard error that a run claims, as a multiple of the true error.

Bike, credit and bank come from the directory in the environment variable CLARYSAGE_DATA, or are downloaded
(``clarysage.datasets``); where neither is possible their lines are skipped.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import games
import numpy as np
import reference
import runs
from threadpoolctl import threadpool_limits
from truth import Truth, truth
from worst import largest, largest_by_others

from clarysage.errors import MissingDataError
from clarysage.estimators import METHODS

ROUNDS = 16  # of the reference; our runs are spread over them


@dataclass(frozen=True)
class Plan:
    """How long to look at a game: permutations of the reference a round, and passes for the truth."""

    permutations: int
    passes: int


@dataclass(frozen=True)
class Line:
    """A method on a game: how many runs a round, and how many times fewer rows and seconds it is held to take."""

    game: str
    method: str
    runs: int
    fewer: float | None = None
    faster: float | None = None


PLANS = {
    "bike_xgboost": Plan(permutations=256, passes=8),
    "credit_forest": Plan(permutations=128, passes=16),
    "cancer_network": Plan(permutations=1024, passes=100),
    "digits_network": Plan(permutations=256, passes=24),
    "bank_catboost": Plan(permutations=256, passes=2),
    "credit_catboost": Plan(permutations=256, passes=60),
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
    asked = arguments()
    print(
        f"{'game':<30}{'d':>3}{'m':>5}  {'method':<16}{'runs':>4}{'error':>7}{'truth':>7}{'claimed':>8}{'rows':>11}"
        f"{'reference':>11}{'fewer rows':>24}{'seconds':>9}{'reference':>11}{'faster':>24}"
    )
    with threadpool_limits(1):
        for name, plan in PLANS.items():
            if not asked.game or name in asked.game:
                look(name, plan, asked)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--game", action="append", choices=PLANS, help="only these games")
    parser.add_argument("--method", action="append", choices=METHODS, help="these methods, one run a round")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--first", type=int, default=0, help="number of the first round; seeds follow from it")
    parser.add_argument("--passes", type=int, default=0, help="at least so many passes over the examples for the truth")
    parser.add_argument("--tolerance", type=float, default=0.025, help="of each run; 0 for a budget alone")
    parser.add_argument("--budget", type=float, help="model rows of each run")
    return parser.parse_args()


def look(name: str, plan: Plan, asked: argparse.Namespace) -> None:
    """The lines of a game."""
    try:
        case = getattr(games, name)()
    except MissingDataError as error:
        print(f"{name:<30} skipped: {error}", flush=True)
        return
    known = truth(case, max(plan.passes, asked.passes))
    options = {"tolerance": asked.tolerance or None, "budget": asked.budget}
    lines = [Line(name, method, 1) for method in asked.method or ()]
    lines = lines or [line for line in LINES if line.game == name and line.method in METHODS]
    for line in lines:
        reported, counted = runs.count_rows(case, line.method, **options)
        assert reported == counted, f"{line.method} on {name} reports {reported} model rows of {counted}"
    theirs, ours = [], {line: [] for line in lines}
    for number in range(asked.first, asked.first + asked.rounds):
        theirs.append(reference.run(case, plan.permutations, seed=number))
        for line in lines:
            seeds = range(number * line.runs, (number + 1) * line.runs)
            ours[line] += [runs.run(case, line.method, seed, **options) for seed in seeds]
    for line in lines:
        report(case, line, known, runs.gathered(ours[line]), theirs)


def report(case: games.Case, line: Line, known: Truth, ours: runs.Runs, theirs: list) -> None:
    variances, paces = (np.array(part) for part in zip(*theirs, strict=True))
    error, our_spread = largest(ours.squared_errors(known))
    variance, their_spread = largest_by_others(variances)
    their_rows = reference.rows(case) * variance / error
    seconds, their_seconds = ours.seconds_of_a_run(), their_rows * paces.min()
    spread = float(np.hypot(our_spread, their_spread))
    fewer = judged(their_rows / ours.rows.mean(), spread, line.fewer)
    faster = judged(their_seconds / seconds, spread, line.faster)
    claimed = ours.claimed.mean(axis=0).max()
    _, d, m = case.shape
    print(
        f"{case.name:<30}{d:>3}{m:>5}  {line.method:<16}{len(ours.rows):>4}{error**0.5 / known.range:>7.4f}"
        f"{known.variance.max() ** 0.5 / known.range:>7.4f}{(claimed / error) ** 0.5:>8.2f}{ours.rows.mean():>11,.0f}"
        f"{their_rows:>11.3g}{fewer:>24}{seconds:>9.2f}{their_seconds:>11,.0f}{faster:>24}",
        flush=True,
    )


def judged(ratio: float, spread: float, bar: float | None) -> str:
    verdict = "" if bar is None else f" {'>=' if ratio >= bar else 'BELOW'} {bar:g}"
    return f"{float(f'{ratio:.3g}'):g} +-{spread:.0%}{verdict}"


if __name__ == "__main__":
    main()
