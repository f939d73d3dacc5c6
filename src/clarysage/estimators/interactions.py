"""Shapley interaction index of pairs: exact by enumeration, or from random coalitions with players toggled.

The index is the mean second difference of v (Grabisch & Roubens 1999), here over coalitions and over examples.

References
----------
M. Grabisch, M. Roubens (1999). An axiomatic approach to the concept of interaction among players in cooperative games.
International Journal of Game Theory 28, 547-565.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from clarysage.coalitions import draw_uniform_sizes, interaction_coefficients, shapley_coefficients
from clarysage.errors import InputError
from clarysage.estimators.draws import scale
from clarysage.estimators.exact import CoalitionPayoffs, Exact, enumerate_coalitions
from clarysage.estimators.limits import by_quarters, rows_per_chunk
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.paired_walks.bias_correction import BiasCorrection
from clarysage.estimators.paired_walks.estimator import PairedWalks, Walked
from clarysage.estimators.paired_walks.pilot import Pilot
from clarysage.estimators.paired_walks.sampling_design import SamplingDesign, size_measure
from clarysage.inference.estimate import Estimate, VarianceComponents
from clarysage.inference.stratified import StratifiedMoments
from clarysage.protocols import Game, SubsampledGame, ability


@dataclass(frozen=True)
class ExactInteractions:
    """Shapley values of the p players, followed by the interactions of pairs (K, 2), from all coalitions.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> from clarysage.estimators import estimate
    >>> estimate(TabularGame([0, 1, 2, 4]), ExactInteractions(np.array([[0, 1]]))).values
    array([[1.5, 2.5, 1. ]])
    """

    pairs: np.ndarray
    exact: Exact = field(default_factory=Exact)
    name: str = "exact"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (CoalitionPayoffs,)

    def check(self, game: Game) -> None:
        self.exact.check(game)
        check_pairs(self.pairs, game)

    def chunk(self, game: Game) -> int:
        return self.exact.chunk(game)

    def pause(self, game: Game, made: int) -> int:
        return by_quarters(self.chunk(game), made)

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return self.exact.rows(game, draws, first)

    def limit(self, game: Game) -> int | None:
        return self.exact.limit(game)

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> CoalitionPayoffs:
        return enumerate_coalitions(game, first, draws, rng, self._shares)

    def _shares(self, coalition: np.ndarray) -> np.ndarray:
        return np.concatenate([shapley_coefficients(coalition), interaction_coefficients(coalition, self.pairs)])

    def merge(self, state: CoalitionPayoffs, other: CoalitionPayoffs) -> CoalitionPayoffs:
        return self.exact.merge(state, other)

    def components(self, game: Game, state: CoalitionPayoffs) -> VarianceComponents:
        """Returns contributions of examples, and the influence of background rows."""
        return self.exact.components(game, state)

    def read(self, game: Game, state: CoalitionPayoffs) -> Estimate:
        return Estimate.exact(
            state.contributions.sum(axis=0),  # (L, p + K)
            model_rows=game.rows_spent + state.rows,
            scale=scale(game),
            clipped=state.clipped,
            payoffs=state.payoffs,
        )


@dataclass(frozen=True)
class SampledInteractions:
    r"""Interactions of pairs (K, 2) from random coalitions T in which players are toggled.

    If the size of T is uniform on 0, ..., p, then that of T \ {i, j} is uniform on 0, ..., p - 2, as the weights of
    the Shapley interaction index require, and

    .. math:: I_{ij} = E[\sigma_i \sigma_j (v(T) - v(T \triangle i) - v(T \triangle j) + v(T \triangle ij))], \qquad
        \sigma_i = 1 \text{ for } i \in T, -1 \text{ else}

    so K pairs of k players take 1 + k + K payoffs and not 4 K: v(T) and v(T \triangle i) serve all pairs. T and its
    complement, on the same example, make a draw (antithetic coalitions): errors that grow with the size of T then have
    opposite signs. Examples are visited in passes, as by paired walks. Payoffs take a subsample of the background, the
    same for all changes of a coalition, if that is unbiased with the loss, else all background rows.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> from clarysage.estimators import estimate
    >>> estimate(TabularGame([0, 1, 2, 4]), SampledInteractions(np.array([[0, 1]])), seed=0).values
    array([[1.]])
    """

    pairs: np.ndarray
    visits: PairedWalks = field(default_factory=PairedWalks)  # whose state summarises the visits to examples
    name: str = "random coalitions"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Walked,)

    def check(self, game: Game) -> None:
        check_pairs(self.pairs, game)

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> SampledInteractions:
        if self.visits.pilot is not None:
            return self
        design = SamplingDesign.of(game, size_measure(game), rng, len(self.pairs))
        subsampled = ability(game, SubsampledGame)
        skip, spent = (True, 0) if subsampled is None else subsampled.check_determinism()
        correction = BiasCorrection(game.weights, np.ones(game.n_players, dtype=bool), skip)
        return replace(self, visits=PairedWalks(Pilot(design, correction, rows_of_pair(game), rows=spent)))

    def chunk(self, game: Game) -> int:
        return max(1, rows_per_chunk(game) // max(1, self._cost(game)))

    def pause(self, game: Game, made: int) -> int:
        return self.visits.pause(game, made)

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return (0 if first else self.visits.pilot_run.rows) + draws * self._cost(game)

    def limit(self, game: Game) -> int | None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Walked:
        design = self.visits.design
        examples = design.examples(first, draws)
        coalitions = draw_uniform_sizes(draws, game.n_players, rng)
        T = np.vstack([coalitions, ~coalitions])
        skip = self.visits.pilot_run.correction.skip
        payoffs, rows = unbiased_payoffs(game, enlarged(game), np.tile(examples, 2), self._toggled(T), rng, skip=skip)
        of_coalition, of_complement = np.split(self._differences(T, payoffs), 2)
        values = game.weights[examples][:, None, None] * (of_coalition + of_complement) / 2
        moments = StratifiedMoments.of(design.cell[examples], values, design.weighting(first))
        return Walked(moments, None, draws, int((payoffs <= game.floor).sum()), rows)

    def merge(self, state: Walked, other: Walked) -> Walked:
        return self.visits.merge(state, other)

    def read(self, game: Game, state: Walked) -> Estimate:
        return self.visits.read(game, state)

    def components(self, game: Game, state: Walked) -> VarianceComponents:
        """Returns the contributions of examples."""
        return self.visits.components(game, state)

    def _cost(self, game: Game) -> int:
        """Returns the most model rows of a draw."""
        return 2 * (1 + len(np.unique(self.pairs)) + len(self.pairs)) * rows_per_unbiased_payoff(game, enlarged(game))

    def _toggled(self, T: np.ndarray) -> np.ndarray:
        """Returns T, T with each single player toggled, and with each pair toggled: (n, p) -> (n, 1 + k + K, p)."""
        players, p = np.unique(self.pairs), T.shape[1]
        changes = np.zeros((1 + len(players) + len(self.pairs), p), dtype=bool)
        changes[1 + np.arange(len(players)), players] = True
        changes[1 + len(players) + np.arange(len(self.pairs))[:, None], self.pairs] = True
        return np.asarray(T[:, None, :] ^ changes)

    def _differences(self, T: np.ndarray, payoffs: np.ndarray) -> np.ndarray:
        """Returns second differences (n, L, K) from payoffs (n, 1 + k + K, L) of coalitions by :meth:`_toggled`."""
        players, i, j = np.unique(self.pairs), *self.pairs.T
        start, single, both = np.split(payoffs, [1, 1 + len(players)], axis=1)
        at_i, at_j = (np.searchsorted(players, ends) for ends in (i, j))
        sign = np.where(T[:, i] == T[:, j], 1.0, -1.0)  # sigma_i sigma_j, (n, K)
        crossed = (start + both) - (single[:, at_i] + single[:, at_j])  # the same bits whichever of a pair comes first
        return np.asarray((sign[:, :, None] * crossed).transpose(0, 2, 1))


def unbiased_payoffs(
    game: Game,
    subsampled: SubsampledGame | None,
    examples: np.ndarray,
    coalitions: np.ndarray,
    rng: np.random.Generator,
    *,
    skip: bool,
) -> tuple[np.ndarray, int]:
    """Returns unbiased payoffs of s coalitions an example, and model rows: (n,), (n, s, p) -> (n, s, L).

    They take a subsample of the background if that is unbiased, else all background rows.
    """
    if subsampled is not None and subsampled.is_unbiased:
        return subsampled.at(examples, coalitions, rng, skip=skip)
    n, s, p = coalitions.shape
    sizes = coalitions.sum(axis=2)
    payoffs = game.payoff(np.repeat(examples, s), coalitions.reshape(n * s, p), rng)
    return payoffs.reshape(n, s, -1), int(((sizes > 0) & (sizes < p)).sum()) * game.rows_per_payoff


def rows_per_unbiased_payoff(game: Game, subsampled: SubsampledGame | None) -> int:
    """Returns the most model rows of a payoff of :func:`unbiased_payoffs`."""
    return subsampled.rows if subsampled is not None and subsampled.is_unbiased else game.rows_per_payoff


def enlarged(game: Game) -> SubsampledGame | None:
    """Returns the game with larger subsamples, so that second differences are not mere noise, or None."""
    subsampled = ability(game, SubsampledGame)
    return None if subsampled is None else subsampled.enlarged


def check_pairs(pairs: np.ndarray, game: Game) -> None:
    """Raises an error for anything but pairs of different players of the game."""
    is_right = pairs.ndim == 2 and pairs.shape[1] == 2 and len(pairs) and pairs.dtype.kind in "iu"
    if not is_right or pairs.min() < 0 or pairs.max() >= game.n_players or (pairs[:, 0] == pairs[:, 1]).any():
        raise InputError("pairs", got=f"{pairs!r}", wanted=f"numbers below {game.n_players} of two different players")
