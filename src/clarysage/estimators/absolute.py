r"""Mean absolute Shapley values of single examples, with a bias correction by the folded normal distribution.

The absolute value of an estimate M of mu with a normal error of standard deviation sigma follows the folded normal
distribution (Leone, Nelson & Nottingham 1961), and is too large on average by

.. math:: E|M| - |\mu| = \sigma c(|\mu| / \sigma), \qquad c(t) = 2 \varphi(t) - 2 t \Phi(-t)

References
----------
F. C. Leone, L. S. Nelson, R. B. Nottingham (1961). The folded normal distribution. Technometrics 3, 543-550.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.inference.degrees_of_freedom import satterthwaite, satterthwaite_term
from clarysage.inference.estimate import Estimate, LocalValues, VarianceComponents
from clarysage.protocols import EstimatesLocalValues, Estimator, Game, HasStates, Piloted, ability

FEWEST_VISITS = 2  # an example with fewer visits has no standard error


@dataclass(frozen=True)
class Sizes:
    """Absolute values of examples, summed over losses, for the examples that have estimates.

    Standard errors of losses are added, not variances: losses share the same walks, so their errors are dependent.

    Attributes
    ----------
    sizes, variance : (n, p) bias-corrected absolute values, and their variances
    bias : (n, p) the bias that was subtracted from the absolute values of the estimates
    weights : (n,) of the examples, which add up to ``share``
    share : of the weights of all examples
    dof : (n,) degrees of freedom of the variances
    """

    sizes: np.ndarray
    variance: np.ndarray
    bias: np.ndarray
    weights: np.ndarray
    share: float
    dof: np.ndarray

    @classmethod
    def of(cls, local: LocalValues, weights: np.ndarray) -> Sizes:
        """Returns the absolute values of examples with standard errors, or if there are none, of all visited examples.

        The variance between examples, which is too large, then takes the place of standard errors: the bias it implies
        is not subtracted, but counts as an error.
        """
        visits = np.full(len(weights), np.inf) if local.visits is None else local.visits.astype(np.float64)
        has_error = visits >= FEWEST_VISITS
        is_by_errors = has_error.sum() > 1
        is_used = has_error if is_by_errors else visits > 0
        values, variance = local.values[is_used], local.variance[is_used]
        if not is_by_errors:
            variance = np.broadcast_to(values.var(axis=0, ddof=min(1, len(values) - 1)), values.shape)
        sizes, variance, bias = absolute(values, variance)
        if not is_by_errors:
            sizes = np.abs(values)
        return cls(
            sizes.sum(axis=1),
            np.sqrt(variance).sum(axis=1) ** 2,
            bias.sum(axis=1),
            weights[is_used],
            float(weights[is_used].sum()),
            np.maximum(visits[is_used] - 1, 1),
        )

    @property
    def mean(self) -> np.ndarray:
        """The weighted mean of the sizes, (p,)."""
        return np.asarray(self.weights @ self.sizes / self.share)

    @property
    def mean_bias(self) -> np.ndarray:
        """The weighted mean of the bias that was subtracted, (p,)."""
        return np.asarray(self.weights @ self.bias / self.share)

    @property
    def between(self) -> np.ndarray:
        """Variance of the mean (p,) if the examples with estimates were a sample of infinitely many."""
        n = len(self.weights)
        deviations = (self.weights / self.share)[:, None] * (self.sizes - self.mean)
        return np.asarray((deviations**2).sum(axis=0) * (n / max(1, n - 1)))


@dataclass(frozen=True)
class Absolute:
    r"""The mean over examples of absolute Shapley values of their own games, summed over losses.

    .. math:: \psi_i = E\Big[\sum_l |\phi_i(v_{X,l})|\Big]

    The absolute value of a sampled number is biased upwards. The bias is estimated and subtracted (:func:`absolute`).
    As much bias may be left, so it also counts as an error.

    Attributes
    ----------
    inner : an estimator with values of single examples
    """

    inner: Estimator[Any]

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def state_classes(self) -> tuple[type, ...]:
        with_states = ability(self.inner, HasStates)
        return () if with_states is None else with_states.state_classes

    def check(self, game: Game) -> None:
        self.inner.check(game)
        if ability(self.inner, EstimatesLocalValues) is None:
            needed = "an estimator with values of single examples"
            raise InputError("method", got=f"the method {self.name!r}", wanted=needed)

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> Absolute:
        piloted = ability(self.inner, Piloted)
        ready = self.inner if piloted is None else piloted.prepared(game, rows, rng)
        return self if ready is self.inner else replace(self, inner=ready)

    def chunk(self, game: Game) -> int:
        return self.inner.chunk(game)

    def pause(self, game: Game, made: int) -> int:
        return self.inner.pause(game, made)

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return self.inner.rows(game, draws, first)

    def limit(self, game: Game) -> int | None:
        return self.inner.limit(game)

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Any:
        return self.inner.draw(game, first, draws, rng)

    def merge(self, state: Any, other: Any) -> Any:
        return self.inner.merge(state, other)

    def read(self, game: Game, state: Any) -> Estimate:
        sizes = self._sizes(self._local_values(game, state), game)
        by_example, n = (sizes.weights / sizes.share)[:, None] ** 2 * sizes.variance, len(sizes.weights)
        others = max(0.0, 1 - sizes.share) * sizes.between  # examples without estimates may differ from these
        sampling = by_example.sum(axis=0) + others
        terms = satterthwaite_term(by_example, sizes.dof[:, None]).sum(axis=0)
        terms = terms + satterthwaite_term(others, max(1, n - 1))
        dof = satterthwaite(sampling, terms, unknown=max(1.0, n - 1.0))
        variance = sampling + sizes.mean_bias**2
        empty, full = game.ends
        scale = game.weights @ np.abs(full - empty).sum(axis=1)
        return replace(
            self.inner.read(game, state),
            values=sizes.mean[None],
            covariance=variance[None],
            dof=dof[None],
            scale=np.array([scale]),
        )

    def components(self, game: Game, state: Any) -> VarianceComponents:
        """Returns contributions of absolute values of examples, with the signed values of each."""
        local = self._local_values(game, state)
        sizes, zeros = self._sizes(local, game), np.zeros((1, game.n_players))
        n = len(sizes.weights)
        if n == len(local.values):
            contributions = (sizes.weights[:, None] * sizes.sizes)[:, None]
            return VarianceComponents(contributions, zeros, sizes.mean_bias[None] ** 2, n - 1.0, local=local)
        return VarianceComponents(None, sizes.share * sizes.between[None], zeros, n - 1.0, local=local)

    def _local_values(self, game: Game, state: Any) -> LocalValues:
        local = ability(self.inner, EstimatesLocalValues)
        assert local is not None, "the estimator was checked"
        return local.local_values(game, state)

    def _sizes(self, local: LocalValues, game: Game) -> Sizes:
        return Sizes.of(local, game.weights[game.weights > 0])


def absolute(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Returns bias-corrected absolute values of numbers with normal errors, their variances, and the bias.

    The bias of the folded normal distribution, with M in place of mu, is subtracted. For a number that is zero this
    removes two fifths of the bias; for one of two standard errors slightly more than the bias; for many numbers spread
    evenly about zero exactly the bias. So the remaining bias is at most as large as the part subtracted, and vanishes
    if errors are small.

    Examples
    --------
    >>> sizes, variance, bias = absolute(np.array([-3.0, 0.0, 5.0]), np.array([1.0, 1.0, 0.0]))
    >>> sizes.round(3), bias.round(3)
    (array([ 2.999, -0.798,  5.   ]), array([0.001, 0.798, 0.   ]))
    """
    from scipy.stats import norm as normal

    size, error = np.abs(mean), np.sqrt(variance)
    t = np.divide(size, error, out=np.full_like(size, np.inf), where=error > 0)
    below = normal.cdf(-t)
    bias = error * 2 * normal.pdf(t) - 2 * size * below
    bias = np.where(error > 0, bias, 0.0)
    return size - bias, variance * (1 + 2 * below) ** 2, bias
