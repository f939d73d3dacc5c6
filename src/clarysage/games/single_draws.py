"""v_f with the expectation outside the loss, by single imputation: the game of permutation importance.

Permutation importance (Breiman 2001; model reliance, Fisher, Rudin & Dominici 2019) replaces the withheld features by
those of one random row, and averages losses, where v_f averages predictions.

References
----------
L. Breiman (2001). Random forests. Machine Learning 45, 5-32.
A. Fisher, C. Rudin, F. Dominici (2019). All models are wrong, but many are useful. JMLR 20(177), 1-81.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage._utils.pace import Pace
from clarysage.games.predictive_power import PredictivePower
from clarysage.players import Players
from clarysage.protocols import (
    DrawsRows,
    HybridRows,
    Kind,
    LossLike,
    LossList,
    RestrictedModel,
    SingleDrawPayoffs,
    TableLike,
    TargetLike,
    WeightsLike,
    ability,
)
from clarysage.removal import singly

CELLS_AT_ONCE = 4_000_000  # cells of hybrid rows that are held in memory at once


@dataclass(frozen=True)
class SingleDraws:
    r"""Predictive power where the loss is that of each imputed draw, not of their mean prediction.

    .. math:: v(S) = E[\ell(f_\emptyset, Y)] - E_{XY}\big[ E_{X'_{\bar S}} [\ell(f(X_S, X'_{\bar S}), Y)] \big]

    For a convex loss it is at most v_f(S), by Jensen's inequality. ``power`` is the game v_f; it has the same
    payoffs of the empty and of the full coalition. Each payoff is that of one draw.

    Parameters
    ----------
    power : the game v_f, whose restricted model, losses and examples are used

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
        """Returns the game of a restricted model that can draw rows, a loss (or several, or "auto"), and examples.

        ``codes`` are as in :meth:`PredictivePower.of`.
        """
        f_S = singly(restricted)
        return cls(PredictivePower.of(f_S, loss, X, y, players=players, sample_weight=sample_weight, codes=codes))

    def after(self, rows: int) -> SingleDraws:
        """Returns the game with a number of model rows added that were spent before it was made."""
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
    def loss_weights(self) -> np.ndarray:
        """Weights of the examples in the mean of each loss, (N,) if they are the same for all, else (N, L)."""
        return self.power.loss_weights

    def __conform__(self, kind: type[Kind]) -> object:
        """Returns the measured speed of the model."""
        return ability(self.power, Pace) if kind is Pace else None

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
        """Weights (m,) of the background rows over which values are a mean; None where the rows are not a sample."""
        hybrid = ability(self.power.restricted, HybridRows)
        if hybrid is None or not hybrid.is_sampled or len(hybrid.background_weights) < 2:
            return None
        return hybrid.background_weights

    @property
    def draws_at_once(self) -> int:
        return self._drawing.draws_at_once

    def without(self, player: int, examples: np.ndarray, levels: np.ndarray) -> SingleDrawPayoffs:
        """Returns payoffs (n, q, L) without one player, with the rows at quantile levels (n, q) of their weights."""
        return self._drawn(np.arange(self.n_players) != player, examples, levels)

    def payoff(self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns payoffs (n, L) by one draw each; those of the empty and of the full coalition are exact."""
        payoffs, levels = np.empty((len(examples), len(self.power.losses))), rng.random((len(examples), 1))
        distinct, which = np.unique(coalitions, axis=0, return_inverse=True)
        for number, coalition in enumerate(distinct):
            rows = np.flatnonzero(which.ravel() == number)
            if coalition.any() and not coalition.all():
                payoffs[rows] = self._drawn(coalition, examples[rows], levels[rows]).payoffs[:, 0]
            else:
                payoffs[rows] = self.ends[int(coalition.all())][examples[rows]]
        return payoffs

    def walk(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, p = orders.shape
        prefixes = np.argsort(orders, axis=1)[:, None, :] < np.arange(p + 1)[:, None]  # (n, p + 1, p)
        payoffs = self.payoff(np.repeat(examples, p + 1), prefixes.reshape(-1, p), rng)
        return payoffs.reshape(n, p + 1, -1)

    @property
    def _drawing(self) -> DrawsRows:
        drawing = ability(self.power.restricted, DrawsRows)
        assert drawing is not None, "the game was made of a model that draws"
        return drawing

    def _drawn(self, coalition: np.ndarray, examples: np.ndarray, levels: np.ndarray) -> SingleDrawPayoffs:
        v, (n, q) = self.power, levels.shape
        is_kept, single = coalition[v.players.owner], self._drawing.single
        payoffs, background_index, rows = np.empty((n, q, len(v.losses))), np.empty((n, q), dtype=np.intp), 0
        at_once = max(1, CELLS_AT_ONCE // (q * v.X.shape[1]))
        for part in (slice(start, start + at_once) for start in range(0, n, at_once)):
            examples_of_part = examples[part]
            draws = single(v.X[examples_of_part], v.outputs[examples_of_part], is_kept, levels[part])
            flat, each = draws.outputs.reshape(len(examples_of_part) * q, -1), np.repeat(examples_of_part, q)
            for number, (loss, target) in enumerate(zip(v.losses, v.targets, strict=True)):
                payoffs[part, :, number] = -loss(flat, target[each]).reshape(-1, q)
            background_index[part], rows = draws.background_index, rows + draws.rows
        return SingleDrawPayoffs(payoffs, background_index, rows)
