"""v, the universal predictive power of subsets of features (Eq. 3), estimated by refitting a learner to each.

This is the population quantity that a particular model does not enter (intrinsic, or population, importance: Williamson
& Feng 2020). Losses are those of held-out rows: see :mod:`clarysage.games.cross_fitting`.

References
----------
B. D. Williamson, J. Feng (2020). Efficient nonparametric statistical inference on population feature importance using
Shapley values. ICML 119, 10282-10291.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from clarysage._utils.lru_cache import LRUCache
from clarysage._utils.pace import Pace
from clarysage.coalitions import distinct
from clarysage.errors import InputError, ModelError
from clarysage.games.refits import Refits
from clarysage.losses.choice import Fit, as_losses, check_predicts_response
from clarysage.losses.terms import row_weights
from clarysage.models import Predictor
from clarysage.players import Players
from clarysage.protocols import Executor, Kind, Loss, ModelFacts
from clarysage.tables import target_names

CERTAIN = 0.5  # share of the coalitions of the first draws that no other of them has, at least


@dataclass(frozen=True)
class UniversalPower:
    r"""Predictive power of subsets of features, with a learner that is refitted to each subset.

    .. math:: v(S) = \min_{\hat y} E[\ell(\hat y, Y)] - \min_g E[\ell(g(X_S), Y)]    (Eq. 3)

    The best model g of a coalition is approximated by a copy of the learner that is fitted on the columns of the
    coalition, and the best constant by that of the same rows. Losses are those of held-out rows. A learner is at best
    as good as the best model, so that v(S) is estimated from below. The payoff of a coalition on one example is minus
    its loss. Payoffs are cached, so that each coalition is fitted once.

    Attributes
    ----------
    example_weights : (N,) weights of the examples, which add up to one
    empty_payoffs, full_payoffs : (N, L) payoffs of the best constants, and of all columns
    width : number of outputs of the learner
    facts : about the learner, once fitted
    is_together : true if all examples are one state, as in the game :attr:`together`
    pace : the measured speed of fits
    refits : the learner, and its fits on subsets of columns
    losses, players, targets : the L losses, the players, and y encoded for each loss
    memo : payoffs of the coalitions that were fitted

    Examples
    --------
    >>> import clarysage as cs
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> v = cs.UniversalPower.of(LinearRegression(), X, 2 * X[:, 0])
    >>> values = cs.estimate(v, cs.Exact()).values
    >>> bool(values[0, 0] > 3), bool(abs(values[0, 1]) < 0.2)
    (True, True)
    """

    refits: Refits
    losses: tuple[Loss, ...]
    players: Players
    targets: tuple[np.ndarray, ...]
    example_weights: np.ndarray
    empty_payoffs: np.ndarray
    full_payoffs: np.ndarray
    width: int
    facts: ModelFacts
    is_together: bool = False
    memo: LRUCache[np.ndarray] = field(default_factory=LRUCache)
    pace: Pace = field(default_factory=Pace, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        learner: Any,
        X: Any,
        y: Any,
        *,
        loss: Any = "auto",
        folds: int = 5,
        test: Any = None,
        test_size: float | None = None,
        players: Players | None = None,
        sample_weight: Any = None,
        seed: int = 0,
    ) -> UniversalPower:
        """Returns the game of a learner, a loss (or several, or "auto") and data; fits the learner on all columns.

        Parameters
        ----------
        learner : a scikit-learn estimator, fitted or not; it is cloned and not changed
        X, y : rows to fit on, and, unless ``test`` is given, to evaluate on
        folds : number of folds of cross-fitting; each row is evaluated by a learner of the other folds
        test, test_size : instead of folds, rows ``(X_test, y_test)`` to evaluate on, or the share of X to hold out
        sample_weight : one weight for each row of X, for losses, constants, and for fits where the learner takes them
        seed : of folds, and of learners whose ``random_state`` is None

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> v = UniversalPower.of(LinearRegression(), X, X[:, 0])
        >>> (v.example_weights @ (v.ends[1] - v.ends[0])).round(1)
        array([1.])
        """
        refits = Refits.of(
            learner, X, y, folds=folds, test=test, test_size=test_size, sample_weight=sample_weight, seed=seed
        )
        began = time.monotonic()
        f, outputs = _fitted_on_all(refits)
        seconds = time.monotonic() - began
        examples = refits.design.examples
        weights = refits.weights_of(examples)
        weights = np.asarray(weights / weights.sum())
        losses = as_losses(loss, Fit(f.facts, outputs, refits.y[examples], weights, target_names(y)))
        check_predicts_response(f.task, losses)
        for each in losses:
            each.check(outputs)
        all_outputs = np.resize(outputs, (len(refits.y), outputs.shape[1]))  # only their shape matters
        targets = tuple(each.encode(refits.y, refits.classes, all_outputs) for each in losses)
        game = cls(
            refits=refits,
            losses=losses,
            players=players or Players.of(refits.schema.names),
            targets=tuple(target[examples] for target in targets),
            example_weights=weights,
            empty_payoffs=np.column_stack(
                [
                    _payoffs_of_constant(refits, each, target, outputs.shape[1])
                    for each, target in zip(losses, targets, strict=True)
                ]
            ),
            full_payoffs=np.empty(0),
            width=outputs.shape[1],
            facts=f.facts,
        )
        for part in (1, 2):  # fits of one size are taken to have no overhead
            game.pace.record(max(1, refits.rows // part), seconds / part)
        game.pace.certain, game.pace.advice = CERTAIN, "a later one"
        return replace(game, full_payoffs=game._payoffs(outputs, np.arange(len(examples))))

    def __conform__(self, kind: type[Kind]) -> object:
        """Returns the measured speed of fits."""
        return self.pace if kind is Pace else None

    @property
    def together(self) -> UniversalPower:
        """The game with all examples as one state, whose payoffs are weighted means over the examples.

        One fit gives the payoffs of all examples; estimators that draw single examples would not use most of them.
        """
        return replace(self, is_together=True, memo=LRUCache(self.memo.limit))

    @property
    def n_players(self) -> int:
        return len(self.players)

    @cached_property
    def weights(self) -> np.ndarray:
        return np.ones(1) if self.is_together else self.example_weights

    @cached_property
    def loss_weights(self) -> np.ndarray:
        """Weights of the examples in the mean of each loss, (N,) if they are the same for all, else (N, L)."""
        return self.weights if self.is_together else row_weights(self.losses, self.targets, self.weights)

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self._by_state(self.empty_payoffs), self._by_state(self.full_payoffs)

    @property
    def floor(self) -> np.ndarray:
        if self.is_together:  # a mean of payoffs does not show whether single payoffs are clipped
            return np.full(len(self.losses), -np.inf)
        return np.array([-loss.ceiling for loss in self.losses])

    @property
    def rows_per_payoff(self) -> int:
        """Number of rows that learners are fitted on or predict, for each state."""
        return -(-self.refits.rows // len(self.weights))

    @property
    def rows_spent(self) -> int:
        return self.refits.rows

    @property
    def fits_per_coalition(self) -> int:
        """Number of fits of the learner for one coalition."""
        return len(self.refits.design.splits)

    @property
    def coalitions_learned(self) -> int:
        """Number of coalitions that the learner was fitted for in this process, that of all players included."""
        return 1 + self.memo.computed

    @property
    def rows_learned(self) -> int:
        """Number of rows in these fits and their predictions."""
        return self.coalitions_learned * self.refits.rows

    def payoff(self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        payoffs = np.empty((len(examples), len(self.losses)))
        subsets, index = distinct(coalitions)
        for number, coalition in enumerate(subsets):
            is_it = index == number
            payoffs[is_it] = self._payoffs_of(coalition)[examples[is_it]]
        return payoffs

    def walk(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, p = orders.shape
        payoffs = np.empty((n, p + 1, len(self.losses)))
        for row, (example, order) in enumerate(zip(examples, orders, strict=True)):
            coalition = np.zeros(p, dtype=bool)
            payoffs[row, 0] = self.ends[0][example]
            for step, player in enumerate(order):
                coalition[player] = True
                payoffs[row, step + 1] = self._payoffs_of(coalition)[example]
        return payoffs

    def learn(self, coalitions: Sequence[np.ndarray], executor: Executor) -> Iterator[np.ndarray]:
        """Yields the payoffs (N, L) of each coalition (p,); workers compute new ones, which are cached."""
        keys = [key_of(coalition) for coalition in coalitions]
        new = [key for key in dict.fromkeys(keys) if key not in self.memo]
        coming, awaited = executor.map(self.learned, new), set(new)
        for key in keys:
            if key in awaited:
                awaited.remove(key)
                self.memo.put(key, next(coming))
            yield self.memo.get(key, partial(self.learned, key))

    def learned(self, key: bytes) -> np.ndarray:
        """Refits the learner; returns payoffs (N, L) of the coalition of a key, or (1, L) of all examples together."""
        coalition = coalition_of(key, self.n_players)
        is_kept = self.players.columns(coalition[None])[0]
        payoffs = np.empty_like(self.empty_payoffs)
        for number, split in enumerate(self.refits.design.splits):
            held = np.searchsorted(self.refits.design.examples, split.test)
            f = self.refits.predictor(is_kept, number)
            if f is None:  # the learner uses none of these columns, so that the best constant is the model
                payoffs[held] = self.empty_payoffs[held]
            else:
                payoffs[held] = self._payoffs(self.refits.outputs(f, is_kept, number), held)
        return self._by_state(payoffs)

    def _payoffs_of(self, coalition: np.ndarray) -> np.ndarray:
        """Returns the payoffs of a coalition (p,) in all states, from the cache where they are there."""
        if not coalition.any() or coalition.all():
            return self.ends[int(coalition.any())]
        key = key_of(coalition)
        return self.memo.get(key, partial(self.learned, key))

    def _by_state(self, payoffs: np.ndarray) -> np.ndarray:
        return (self.example_weights @ payoffs)[None] if self.is_together else payoffs

    def _payoffs(self, outputs: np.ndarray, examples: np.ndarray) -> np.ndarray:
        if outputs.shape[1] != self.width:
            got = f"{outputs.shape[1]} outputs per row for some columns and {self.width} for all"
            raise ModelError("learner", got=got, wanted="the same number of outputs for any columns")
        for loss in self.losses:
            loss.check(outputs)
        losses = zip(self.losses, self.targets, strict=True)
        return np.column_stack([-loss(outputs, target[examples]) for loss, target in losses])


def key_of(coalition: np.ndarray) -> bytes:
    """Returns a compact key of a coalition (p,)."""
    return np.packbits(coalition).tobytes()


def coalition_of(key: bytes, players: int) -> np.ndarray:
    """Returns the coalition (p,) of a key.

    Examples
    --------
    >>> coalition_of(key_of(np.array([True, False, True])), 3)
    array([ True, False,  True])
    """
    return np.unpackbits(np.frombuffer(key, dtype=np.uint8), count=players).astype(bool)


def _fitted_on_all(refits: Refits) -> tuple[Predictor, np.ndarray]:
    """Returns a predictor fitted on all columns, and the held-out predictions for the examples, (N, k)."""
    is_kept = np.ones(refits.schema.width, dtype=bool)
    predictors, outputs = [], []
    for number in range(len(refits.design.splits)):
        f = refits.predictor(is_kept, number)
        if f is None:
            raise InputError("learner", got=f"{refits.name}, which uses no column of X", wanted="one that uses some")
        predictors.append(f)
        outputs.append(refits.outputs(f, is_kept, number))
    held = np.concatenate([split.test for split in refits.design.splits])
    return predictors[0], np.concatenate(outputs)[np.argsort(held, kind="stable")]


def _payoffs_of_constant(refits: Refits, loss: Loss, target: np.ndarray, outputs: int) -> np.ndarray:
    """Returns payoffs (N,) of examples with the best constant for the rows that learners are fitted on."""
    payoffs, examples = np.empty(len(refits.design.examples)), refits.design.examples
    for split in refits.design.splits:
        weights = refits.weights_of(split.train)
        best = loss.best_constant(target[split.train], weights, outputs)
        payoffs[np.searchsorted(examples, split.test)] = -loss(np.tile(best, (len(split.test), 1)), target[split.test])
    return payoffs
