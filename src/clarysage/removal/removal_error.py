"""The error of a removal: the mean of ||f_S(x) - f(x)||^2 over pairs of a row and a coalition.

All removals are evaluated on the same pairs. E[||f_S(X) - f(X)||^2] is smallest for f_S(x_S) = E[f(X) | X_S = x_S],
so that a lower error means a better approximation of conditional expectations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from clarysage.coalitions import draw_by_size
from clarysage.errors import ClarysageError
from clarysage.players import Players
from clarysage.protocols import Removal
from clarysage.removal.background import bound_to, codes_of

MEMORY = 1e9  # bytes that the rows given to the model at once may take


@dataclass(frozen=True)
class EvaluationSample:
    """A sample of n rows, and c coalitions of the p players for each of them: (n,), (n, c, p).

    Sizes are uniform on 1, ..., p - 1 and coalitions of a size equally likely, so that all inner prefixes of a walk
    count alike. Coalitions come in antithetic pairs, each with its complement, which has the same distribution: where
    one withholds much of f the other withholds little, so that the variance of their mean is smaller.

    Several rows may have the same coalitions, which saves time for removals that are fitted once per coalition.
    ``cluster`` (n,) numbers these groups. Errors of rows in one cluster are dependent, those of others are not.
    """

    rows: np.ndarray
    coalitions: np.ndarray
    cluster: np.ndarray

    @classmethod
    def draw(
        cls,
        weights: np.ndarray,
        rows: int,
        coalitions: int,
        p: int,
        rng: np.random.Generator,
        *,
        clusters: int | None = None,
    ) -> EvaluationSample:
        """Draws at most ``rows`` of the rows of positive weight, without replacement, with coalitions for each.

        If ``clusters`` is given, at most that many sets of coalitions are drawn, which the rows share evenly.
        """
        (candidates,) = np.nonzero(weights > 0)
        chosen = np.sort(rng.choice(candidates, min(rows, len(candidates)), replace=False))
        n, half = len(chosen), (coalitions + 1) // 2
        draws = n if clusters is None else min(n, clusters)
        drawn = draw_by_size(draws * half, np.full(p - 1, 1 / (p - 1)), rng).reshape(draws, half, p)
        pairs = np.stack([drawn, ~drawn], axis=2).reshape(draws, 2 * half, p)
        cluster = np.arange(n) if draws == n else rng.permutation(n) % draws  # the order of rows may have a meaning
        return cls(chosen, pairs[cluster, :coalitions], cluster)


@dataclass(frozen=True)
class RemovalError:
    """Mean squared errors of a removal over the coalitions of each row, (n,), and the time and model rows they took."""

    errors: np.ndarray
    seconds: float
    model_rows: int


@dataclass(frozen=True)
class RemovalEvaluation:
    """The data that removals are evaluated on: a model f, rows X, and its predictions (n, k) for the sampled rows."""

    f: Any
    X: Any
    outputs: np.ndarray
    sample: EvaluationSample
    players: Players

    @classmethod
    def of(cls, f: Any, X: Any, background: Any, sample: EvaluationSample, players: Players) -> RemovalEvaluation:
        """Computes the model's predictions, in the joint dtypes of X and background."""
        bound = bound_to(f, X, background, MEMORY)
        outputs = bound.predictor(bound.examples.codes[sample.rows])
        return cls(f, X, outputs, sample, players)

    def error_of(self, removal: Removal, rng: np.random.Generator) -> RemovalError:
        """Measures the squared distances between f and the f_S of a removal."""
        start = perf_counter()
        n, c, p = self.sample.coalitions.shape
        f_S = removal.restrict(self.f, self.X)
        x = np.repeat(codes_of(f_S, self.X)[self.sample.rows], c, axis=0)
        predictions = f_S.predict(x, self.players.columns(self.sample.coalitions.reshape(n * c, p)), rng)
        errors = ((predictions.reshape(n, c, -1) - self.outputs[:, None]) ** 2).sum(axis=2).mean(axis=1)
        return RemovalError(errors, perf_counter() - start, f_S.rows_of_checks + n * c * f_S.rows_per_prediction)

    def errors_of_all(
        self, makers: Mapping[str, Callable[[], Removal]], rng: Callable[[], np.random.Generator]
    ) -> tuple[dict[str, RemovalError], dict[str, str]]:
        """Evaluates all removals that work for these data; also returns why the others do not. Raises if none works."""
        results: dict[str, RemovalError] = {}
        left_out: dict[str, str] = {}
        failure: ClarysageError | None = None
        for name, make in makers.items():
            try:
                results[name] = self.error_of(make(), rng())
            except ClarysageError as error:
                left_out[name], failure = str(error), error
        if not results and failure is not None:
            raise failure
        return results, left_out


def mean_and_covariance(errors: np.ndarray, weights: np.ndarray, cluster: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns weighted means over rows of errors (n, r), (r,), and their covariance over draws of the sample, (r, r).

    It is the cluster-robust covariance: all pairs of rows that share their coalitions, ``cluster`` (n,), count as one
    observation. Clusters are independent, and identically distributed except for their weights.
    """
    weights, clusters = weights / weights.sum(), int(cluster.max()) + 1
    means = weights @ errors
    sums = np.zeros((clusters, errors.shape[1]))
    np.add.at(sums, cluster, weights[:, None] * (errors - means))
    return means, sums.T @ sums * (clusters / (clusters - 1))
