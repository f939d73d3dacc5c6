"""The mean size of the values of single examples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.estimators.closed_form import SolvedGame
from clarysage.estimators.exact import Exact
from clarysage.estimators.per_example import PerExample
from clarysage.inference.degrees_of_freedom import degrees, doubt_in
from clarysage.inference.estimate import Estimate
from clarysage.inference.folded import absolute
from clarysage.inference.local import Apart
from clarysage.inference.population import Reach
from clarysage.protocols import Game

FOR_AN_ERROR = 2  # visits to an example


@dataclass(frozen=True)
class Sizes:
    """Of the examples that are known, sums over losses: sizes of values (n, p), variances, and what was taken off.

    Errors of losses are added up, not their squares: they come of the same walks, and what one class gains others lose.
    ``weights`` (n,) add up to ``share`` of those of all examples.
    """

    found: np.ndarray
    variance: np.ndarray
    less: np.ndarray
    weights: np.ndarray
    share: float
    dof: np.ndarray

    @classmethod
    def of(cls, apart: Apart, weights: np.ndarray) -> Sizes:
        """Of examples with errors; where hardly any has one, of all that were looked at.

        How far these are off can then be told from how far they differ alone, which is rather too much: it is not taken
        off, but counts as an error.
        """
        visits = np.full(len(weights), np.inf) if apart.visits is None else apart.visits.astype(np.float64)
        is_sure = visits >= FOR_AN_ERROR
        known = is_sure if is_sure.sum() > 1 else visits > 0
        values, variance = apart.values[known], apart.variance[known]
        if known is not is_sure:
            variance = np.broadcast_to(values.var(axis=0, ddof=min(1, len(values) - 1)), values.shape)
        found, spread, less = absolute(values, variance)
        found = found if known is is_sure else np.abs(values)
        found, spread, less = found.sum(axis=1), np.sqrt(spread).sum(axis=1) ** 2, less.sum(axis=1)
        return cls(found, spread, less, weights[known], float(weights[known].sum()), np.maximum(visits[known] - 1, 1))

    @property
    def mean(self) -> np.ndarray:
        return np.asarray(self.weights @ self.found / self.share)

    @property
    def taken_off(self) -> np.ndarray:
        return np.asarray(self.weights @ self.less / self.share)

    @property
    def between(self) -> np.ndarray:
        """Variance of the mean (p,) if the examples that are known were drawn from very many."""
        n = len(self.weights)
        off = (self.weights / self.share)[:, None] * (self.found - self.mean)
        return np.asarray((off**2).sum(axis=0) * (n / max(1, n - 1)))


@dataclass(frozen=True)
class Absolute:
    r"""The mean over examples of absolute Shapley values of their own games, summed over losses.

    .. math:: \psi_i = E\Big[\sum_l |\phi_i(v_{X,l})|\Big]

    An absolute value of a sampled number is too large on average: what noise adds is estimated and taken off
    (:func:`~clarysage.inference.folded.absolute`). As much may be left, so it counts as an error.

    Attributes
    ----------
    inner : an estimator that keeps examples apart
    """

    inner: Any

    @property
    def name(self) -> str:
        return str(self.inner.name)

    def check(self, game: Game) -> None:
        self.inner.check(game)

    def prepared(self, game: Game, rows: float, rng: np.random.Generator, state: Any = None) -> Absolute:
        ready = self.inner.prepared(game, rows, rng, state)
        return self if ready is self.inner else replace(self, inner=ready)

    def chunk(self, game: Game) -> int:
        return int(self.inner.chunk(game))

    def pause(self, game: Game, made: int) -> int:
        return int(self.inner.pause(game, made))

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return int(self.inner.rows(game, draws, first))

    def limit(self, game: Game) -> int | None:
        found: int | None = self.inner.limit(game)
        return found

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Any:
        return self.inner.draw(game, first, draws, rng)

    def merge(self, one: Any, other: Any) -> Any:
        return self.inner.merge(one, other)

    def read(self, game: Game, state: Any) -> Estimate:
        sizes = self._sizes(game, state)
        own, n = (sizes.weights / sizes.share)[:, None] ** 2 * sizes.variance, len(sizes.weights)
        others = max(0.0, 1 - sizes.share) * sizes.between  # examples of which nothing is known may differ from these
        sampling = own.sum(axis=0) + others
        doubt = doubt_in(own, sizes.dof[:, None]).sum(axis=0) + doubt_in(others, max(1, n - 1))
        dof, variance = degrees(sampling, doubt, unknown=max(1.0, n - 1.0)), sampling + sizes.taken_off**2
        empty, full = game.ends
        scale = game.weights @ np.abs(full - empty).sum(axis=1)
        found: Estimate = self.inner.read(game, state)
        return replace(
            found, values=sizes.mean[None], covariance=variance[None], dof=dof[None],
            scale=np.array([scale]),
        )  # fmt: skip

    def reach(self, game: Game, state: Any) -> Reach:
        """What the sizes rest on, with the signed values of each example."""
        sizes, apart = self._sizes(game, state), self._apart(game, state)
        n = len(sizes.weights)
        none = np.zeros((1, game.n_players))
        if n == len(apart.values):
            parts = (sizes.weights[:, None] * sizes.found)[:, None]
            return Reach(parts, none, sizes.taken_off[None] ** 2, n - 1.0, apart=apart)
        return Reach(None, sizes.share * sizes.between[None], none, n - 1.0, apart=apart)

    def _sizes(self, game: Game, state: Any) -> Sizes:
        return Sizes.of(self._apart(game, state), game.weights[game.weights > 0])

    def _apart(self, game: Game, state: Any) -> Apart:
        if isinstance(self.inner, PerExample):
            return self.inner.apart(game, state)
        assert isinstance(self.inner, (Exact, SolvedGame)), "an estimator that keeps examples apart"
        parts = self.inner.reach(game, state).parts
        assert parts is not None
        return Apart.of_parts(parts, game.weights[game.weights > 0])
