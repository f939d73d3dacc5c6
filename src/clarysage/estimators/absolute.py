r"""Mean absolute values of single examples, freed of most of what noise adds to an absolute value.

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
from clarysage.protocols import Estimator, Game, HasStates, KeepsExamplesApart, Piloted, ability

FOR_AN_ERROR = 2  # visits to an example


@dataclass(frozen=True)
class Sizes:
    """Sizes of the values of examples, summed over losses, of the examples that are known.

    Errors of losses are added up, not their squares: they come of the same walks, and what one class gains others lose.

    Attributes
    ----------
    sizes, variance : (n, p) estimates of the sizes, and their variances
    bias : (n, p) what was taken off the absolute values of the estimates
    weights : (n,) adding up to ``share`` of those of all examples
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
        """Sizes of the values of examples with errors; where hardly any has one, of all that were looked at.

        How far these are off can then be told from how far they differ alone, which is rather too much: it is not taken
        off, but counts as an error.
        """
        visits = np.full(len(weights), np.inf) if local.visits is None else local.visits.astype(np.float64)
        has_error = visits >= FOR_AN_ERROR
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
        """What was taken off on average, (p,)."""
        return np.asarray(self.weights @ self.bias / self.share)

    @property
    def between(self) -> np.ndarray:
        """Variance of the mean (p,) if the examples that are known were drawn from very many."""
        n = len(self.weights)
        off = (self.weights / self.share)[:, None] * (self.sizes - self.mean)
        return np.asarray((off**2).sum(axis=0) * (n / max(1, n - 1)))


@dataclass(frozen=True)
class Absolute:
    r"""The mean over examples of absolute Shapley values of their own games, summed over losses.

    .. math:: \psi_i = E\Big[\sum_l |\phi_i(v_{X,l})|\Big]

    An absolute value of a sampled number is too large on average: what noise adds is estimated and taken off
    (:func:`absolute`). As much may be left, so it counts as an error.

    Attributes
    ----------
    inner : an estimator that keeps examples apart
    """

    inner: Estimator[Any]

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def state_classes(self) -> tuple[type, ...]:
        kept = ability(self.inner, HasStates)
        return () if kept is None else kept.state_classes

    def check(self, game: Game) -> None:
        self.inner.check(game)
        if ability(self.inner, KeepsExamplesApart) is None:
            wanted = "an estimator that keeps the values of examples apart"
            raise InputError("method", got=f"the method {self.name!r}", wanted=wanted)

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

    def merge(self, one: Any, other: Any) -> Any:
        return self.inner.merge(one, other)

    def read(self, game: Game, state: Any) -> Estimate:
        sizes = self._sizes(self._local_values(game, state), game)
        by_example, n = (sizes.weights / sizes.share)[:, None] ** 2 * sizes.variance, len(sizes.weights)
        others = max(0.0, 1 - sizes.share) * sizes.between  # examples of which nothing is known may differ from these
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
        """Contributions of the sizes of examples, with the signed values of each."""
        local = self._local_values(game, state)
        sizes, none = self._sizes(local, game), np.zeros((1, game.n_players))
        n = len(sizes.weights)
        if n == len(local.values):
            contributions = (sizes.weights[:, None] * sizes.sizes)[:, None]
            return VarianceComponents(contributions, none, sizes.mean_bias[None] ** 2, n - 1.0, local=local)
        return VarianceComponents(None, sizes.share * sizes.between[None], none, n - 1.0, local=local)

    def _local_values(self, game: Game, state: Any) -> LocalValues:
        local = ability(self.inner, KeepsExamplesApart)
        assert local is not None, "the estimator was checked"
        return local.local_values(game, state)

    def _sizes(self, local: LocalValues, game: Game) -> Sizes:
        return Sizes.of(local, game.weights[game.weights > 0])


def absolute(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Estimates of absolute values of numbers known up to normal errors, their variances, and the bias taken off.

    The bias of the folded normal distribution, with M in the place of mu, is taken off: of a number that is zero two
    fifths of what noise adds, of one of two standard errors a little more than it adds, of many numbers spread evenly
    about zero exactly all. So what is left is at most of the size of what was taken off, and nothing where errors are
    small.

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
