"""v_f with the expectation outside the loss, by single imputation: the game of permutation tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.games.predictive_power import PredictivePower
from clarysage.players import Players
from clarysage.protocols import (
    Drawn,
    DrawsRows,
    HybridRows,
    LossLike,
    LossList,
    RestrictedModel,
    TableLike,
    TargetLike,
    WeightsLike,
    ability,
)
from clarysage.removal import singly

CELLS_AT_ONCE = 4_000_000  # of hybrid rows


@dataclass(frozen=True)
class SingleDraws:
    r"""Predictive power, where the model is judged on each draw of what is withheld, not on their mean prediction.

    .. math:: v(S) = E[\ell(f_\emptyset, Y)] - E_{XY}\big[ E_{X'_{\bar S}} [\ell(f(X_S, X'_{\bar S}), Y)] \big]

    By Jensen's inequality that is at most v_f(S) of a convex loss. ``power`` is the game v_f, with which it shares its
    ends. A payoff is one draw.

    Examples
    --------
    >>> from clarysage.removal import Marginal
    >>> X = np.array([[0.0], [2.0]])
    >>> v = SingleDraws.of(Marginal(X).restrict(lambda X: X[:, 0], X), "squared error", X, X[:, 0])
    >>> v.without(0, np.array([0]), np.array([[0.2, 0.7]])).payoffs[0, :, 0]
    array([-0., -4.])
    """

    power: PredictivePower

    @classmethod
    def of(
        cls,
        restricted: RestrictedModel,
        loss: LossLike | LossList,
        X: TableLike,
        y: TargetLike | None,
        *,
        players: Players | None = None,
        sample_weight: WeightsLike | None = None,
        codes: np.ndarray | None = None,
    ) -> SingleDraws:
        """The game of a restricted model that draws, a loss (or several, or "auto"), and examples.

        ``codes`` are as in :meth:`PredictivePower.of`.
        """
        f_S = singly(restricted)
        return cls(PredictivePower.of(f_S, loss, X, y, players=players, sample_weight=sample_weight, codes=codes))

    def after(self, rows: int) -> SingleDraws:
        """The game when so many model rows have been spent beforehand."""
        return SingleDraws(self.power.after(rows)) if rows else self

    @property
    def n_players(self) -> int:
        return self.power.n_players

    @property
    def weights(self) -> np.ndarray:
        return self.power.weights

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self.power.ends

    @property
    def floor(self) -> np.ndarray:
        return self.power.floor

    @property
    def rows_per_payoff(self) -> int:
        return 1

    @property
    def rows_spent(self) -> int:
        return self.power.rows_spent

    @property
    def self_match(self) -> np.ndarray | None:
        """The background row that each example is, (N,), -1 for none; None where no example is one."""
        return self.power.self_match

    @property
    def background_weights(self) -> np.ndarray | None:
        """Weights of the background rows, (m,), over which values are a mean; None where they are no sample."""
        hybrid = ability(self.power.restricted, HybridRows)
        if hybrid is None or not hybrid.is_sampled or len(hybrid.background_weights) < 2:
            return None
        return hybrid.background_weights

    @property
    def draws_at_once(self) -> int:
        return self._drawing.draws_at_once

    def without(self, player: int, examples: np.ndarray, levels: np.ndarray) -> Drawn:
        """All players but one: payoffs (n, q, L) with the rows at quantile levels (n, q) of their weights."""
        return self._drawn(np.arange(self.n_players) != player, examples, levels)

    def payoff(self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Payoffs (n, L) of one draw each; those of the empty and of the full coalition are the ends."""
        payoffs, places = np.empty((len(examples), len(self.power.losses))), rng.random((len(examples), 1))
        distinct, which = np.unique(coalitions, axis=0, return_inverse=True)
        for number, coalition in enumerate(distinct):
            its = np.flatnonzero(which.ravel() == number)
            if coalition.any() and not coalition.all():
                payoffs[its] = self._drawn(coalition, examples[its], places[its]).payoffs[:, 0]
            else:
                payoffs[its] = self.ends[int(coalition.all())][examples[its]]
        return payoffs

    def walk(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, p = orders.shape
        arrived = np.argsort(orders, axis=1)[:, None, :] < np.arange(p + 1)[:, None]  # (n, p + 1, p)
        found = self.payoff(np.repeat(examples, p + 1), arrived.reshape(-1, p), rng)
        return found.reshape(n, p + 1, -1)

    @property
    def _drawing(self) -> DrawsRows:
        drawing = ability(self.power.restricted, DrawsRows)
        assert drawing is not None, "the game was made of a model that draws"
        return drawing

    def _drawn(self, coalition: np.ndarray, examples: np.ndarray, places: np.ndarray) -> Drawn:
        v, (n, q) = self.power, places.shape
        kept, single = coalition[v.players.owner], self._drawing.single
        payoffs, picks, rows = np.empty((n, q, len(v.losses))), np.empty((n, q), dtype=np.intp), 0
        at_once = max(1, CELLS_AT_ONCE // (q * v.X.shape[1]))
        for part in (slice(start, start + at_once) for start in range(0, n, at_once)):
            its = examples[part]
            found = single(v.X[its], v.outputs[its], kept, places[part])
            flat, each = found.outputs.reshape(len(its) * q, -1), np.repeat(its, q)
            for number, (loss, target) in enumerate(zip(v.losses, v.targets, strict=True)):
                payoffs[part, :, number] = -loss(flat, target[each]).reshape(-1, q)
            picks[part], rows = found.background_index, rows + found.rows
        return Drawn(payoffs, picks, rows)
