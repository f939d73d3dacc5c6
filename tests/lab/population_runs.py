"""Runs on fresh rows of a population: how often intervals hold its values, and tests see what is not there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.estimators import PairedWalks, estimate
from clarysage.execution.serial import Serial
from clarysage.inference.estimate import Estimate, Target
from clarysage.inference.intervals import adjusted, interval, p_values
from clarysage.protocols import Executor
from tests.lab.populations import POPULATIONS
from tests.lab.runs import LEVEL, ROUNDING, AfterDraws, size_of

ALONE = Serial()
PASSES = 2
CHANCE = 0.05  # at which tests are judged


@dataclass(frozen=True)
class PopulationRuns:
    """What runs on fresh rows found; a run is a row.

    Attributes
    ----------
    truth : (p,) values of the population
    values, plain : (runs, p) estimates of them, freed of the bias of a finite background, and as they are
    std_error : (runs, p) as reported, about the population
    held, held_by_rows, held_by_data : (runs, p) whether intervals held the truth, about the population, about the rows
        alone, and about the data alone, as other libraries have them
    held_together : (runs,) whether joint intervals held all of it
    helps, helps_by_holm : (runs, p) whether tests said that a feature helps
    """

    truth: np.ndarray
    values: np.ndarray
    plain: np.ndarray
    std_error: np.ndarray
    held: np.ndarray
    held_by_rows: np.ndarray
    held_by_data: np.ndarray
    held_together: np.ndarray
    helps: np.ndarray
    helps_by_holm: np.ndarray

    def covered(self, held: np.ndarray) -> np.ndarray:
        """How often intervals held the truth, for each feature that is not ignored."""
        return np.asarray(held[:, (self.std_error > 0).any(axis=0)].mean(axis=0))

    @property
    def coverage(self) -> float:
        return float(self.covered(self.held).mean())

    @property
    def worst(self) -> float:
        return float(self.covered(self.held).min())

    @property
    def is_null(self) -> np.ndarray:
        """Features that do not help, (p,)."""
        return self.truth <= ROUNDING * size_of(self.truth)

    @property
    def false_helps(self) -> float:
        """The largest share of runs in which a feature that does not help was said to."""
        return float(self.helps[:, self.is_null].mean(axis=0).max(initial=0.0))

    @property
    def any_false_by_holm(self) -> float:
        """The share of runs in which any such was said to, when tests are adjusted for their number."""
        return float(self.helps_by_holm[:, self.is_null].any(axis=1).mean())

    @property
    def bias(self) -> np.ndarray:
        """(2, p), as shares of the range: of estimates as they are, and freed of the bias of a finite background."""
        means = np.stack([self.plain.mean(axis=0), self.values.mean(axis=0)])
        return np.asarray((means - self.truth) / size_of(self.truth))

    @property
    def ratio(self) -> float:
        """Reported to observed standard deviation, over all features."""
        reported = np.sqrt((self.std_error**2).mean(axis=0)).sum()
        return float(reported / self.values.std(axis=0, ddof=1).sum())


def population_runs(
    name: str,
    examples: int,
    background: int,
    *,
    runs: int,
    overlap: bool = False,
    seed: int = 0,
    executor: Executor | None = None,
) -> PopulationRuns:
    """Runs of two passes over fresh rows each, with fresh background rows or such as are drawn from the rows.

    Examples
    --------
    >>> population_runs("linear", 50, 40, runs=3).values.shape
    (3, 8)
    """
    work = FreshRun(name, examples, background, overlap, seed)
    found = list((executor or ALONE).map(work, list(range(runs))))
    truth = POPULATIONS[name]().truth
    about = [one.targets["population"] for one in found]
    helps = [p_values(*_first(one), skew=one.skew[0]) for one in about]
    return PopulationRuns(
        truth=truth,
        values=np.array([one.values[0] for one in about]),
        plain=np.array([one.values[0] for one in found]),
        std_error=np.array([one.std_error[0] for one in about]),
        held=np.array([_holds(one, truth) for one in about]),
        held_by_rows=np.array([_holds(one.targets["rows"], truth) for one in found]),
        held_by_data=np.array([_holds(_of_run(one), truth) for one in found]),
        held_together=np.array([_holds(one, truth, joint=True).all() for one in about]),
        helps=np.array([p < CHANCE for p in helps]),
        helps_by_holm=np.array([adjusted(p, "holm") < CHANCE for p in helps]),
    )


@dataclass(frozen=True)
class FreshRun:
    """Makes the run of a number; what a worker needs to know."""

    name: str
    examples: int
    background: int
    overlap: bool
    seed: int

    def __call__(self, number: int) -> Estimate:
        rng = np.random.default_rng([self.seed, number, self.examples, self.background, self.overlap])
        game = POPULATIONS[self.name]().game(self.examples, self.background, rng, overlap=self.overlap)
        rules: list[Any] = [AfterDraws(PASSES * self.examples)]
        return estimate(game, PairedWalks(), stop=rules, seed=int(rng.integers(2**32)), executor=ALONE)


def _of_run(found: Estimate) -> Target:
    """What the run says of the data, as if it were said of the population."""
    return Target(found.values, found.std_error, found.dof, np.zeros_like(found.values))


def _first(found: Target) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return found.values[0], found.std_error[0], found.dof[0]


def _holds(found: Target, truth: np.ndarray, joint: bool = False) -> np.ndarray:
    low, high = interval(*_first(found), LEVEL, joint=joint, skew=found.skew[0])
    slack = ROUNDING * size_of(truth)  # of the truth itself
    return np.asarray((low - slack <= truth) & (truth <= high + slack))
