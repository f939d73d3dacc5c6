"""Repeated runs on fresh rows of a population: coverage of intervals, and false positives of tests."""

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
from tests.lab.repeated_runs import LEVEL, ROUNDING, AfterDraws, range_with_zero

SERIAL = Serial()
PASSES = 2
SIGNIFICANCE = 0.05  # level of the tests


@dataclass(frozen=True)
class PopulationRuns:
    """Results of runs on fresh rows.

    Attributes
    ----------
    truth : (p,) values of the population
    values : (runs, p) estimates, corrected for the bias of a finite background
    uncorrected : (runs, p) estimates without this correction
    std_error : (runs, p) reported standard errors about the population
    covers : (runs, p) true if the interval about the population contains the truth
    covers_by_rows : (runs, p) the same for intervals about the population of rows, with the background fixed
    covers_by_data : (runs, p) the same for intervals about the given data, as in other libraries
    covers_jointly : (runs,) true if the joint intervals contain all values
    helps, helps_by_holm : (runs, p) true if the test decides that the feature helps, without and with adjustment
    """

    truth: np.ndarray
    values: np.ndarray
    uncorrected: np.ndarray
    std_error: np.ndarray
    covers: np.ndarray
    covers_by_rows: np.ndarray
    covers_by_data: np.ndarray
    covers_jointly: np.ndarray
    helps: np.ndarray
    helps_by_holm: np.ndarray

    def coverage_by_feature(self, covers: np.ndarray) -> np.ndarray:
        """Returns the coverage for each feature that the model does not ignore."""
        return np.asarray(covers[:, (self.std_error > 0).any(axis=0)].mean(axis=0))

    @property
    def coverage(self) -> float:
        return float(self.coverage_by_feature(self.covers).mean())

    @property
    def worst(self) -> float:
        return float(self.coverage_by_feature(self.covers).min())

    @property
    def is_null(self) -> np.ndarray:
        """True for features that do not help, (p,)."""
        return self.truth <= ROUNDING * range_with_zero(self.truth)

    @property
    def false_positives(self) -> float:
        """The largest share of runs in which the test decides that a feature helps, over features that do not."""
        return float(self.helps[:, self.is_null].mean(axis=0).max(initial=0.0))

    @property
    def any_false_positive_by_holm(self) -> float:
        """The family-wise error rate: the share of runs with any false positive after Holm's adjustment."""
        return float(self.helps_by_holm[:, self.is_null].any(axis=1).mean())

    @property
    def bias(self) -> np.ndarray:
        """Bias as a share of the range, (2, p): without and with the correction for a finite background."""
        means = np.stack([self.uncorrected.mean(axis=0), self.values.mean(axis=0)])
        return np.asarray((means - self.truth) / range_with_zero(self.truth))

    @property
    def ratio(self) -> float:
        """Reported over observed standard deviation, summed over all features."""
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
    """Makes runs of two passes over fresh rows, with fresh background rows or, with ``overlap``, a part of the rows.

    Examples
    --------
    >>> population_runs("linear", 50, 40, runs=3).values.shape
    (3, 8)
    """
    work = FreshRun(name, examples, background, overlap, seed)
    estimates = list((executor or SERIAL).map(work, list(range(runs))))
    truth = POPULATIONS[name]().truth
    targets = [result.targets["population"] for result in estimates]
    p_by_run = [p_values(*_first_loss(target), skew=target.skew[0]) for target in targets]
    return PopulationRuns(
        truth=truth,
        values=np.array([target.values[0] for target in targets]),
        uncorrected=np.array([result.values[0] for result in estimates]),
        std_error=np.array([target.std_error[0] for target in targets]),
        covers=np.array([_covers(target, truth) for target in targets]),
        covers_by_rows=np.array([_covers(result.targets["rows"], truth) for result in estimates]),
        covers_by_data=np.array([_covers(_about_data(result), truth) for result in estimates]),
        covers_jointly=np.array([_covers(target, truth, joint=True).all() for target in targets]),
        helps=np.array([p < SIGNIFICANCE for p in p_by_run]),
        helps_by_holm=np.array([adjusted(p, "holm") < SIGNIFICANCE for p in p_by_run]),
    )


@dataclass(frozen=True)
class FreshRun:
    """A run on fresh rows as a function of its number, which can be sent to workers."""

    name: str
    examples: int
    background: int
    overlap: bool
    seed: int

    def __call__(self, number: int) -> Estimate:
        rng = np.random.default_rng([self.seed, number, self.examples, self.background, self.overlap])
        game = POPULATIONS[self.name]().game(self.examples, self.background, rng, overlap=self.overlap)
        rules: list[Any] = [AfterDraws(PASSES * self.examples)]
        return estimate(game, PairedWalks(), stop=rules, seed=int(rng.integers(2**32)), executor=SERIAL)


def _about_data(result: Estimate) -> Target:
    """Returns the estimate about the given data in place of one about the population."""
    return Target(result.values, result.std_error, result.dof, np.zeros_like(result.values))


def _first_loss(target: Target) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return target.values[0], target.std_error[0], target.dof[0]


def _covers(target: Target, truth: np.ndarray, joint: bool = False) -> np.ndarray:
    low, high = interval(*_first_loss(target), LEVEL, joint=joint, skew=target.skew[0])
    slack = ROUNDING * range_with_zero(truth)  # rounding error of the truth
    return np.asarray((low - slack <= truth) & (truth <= high + slack))
