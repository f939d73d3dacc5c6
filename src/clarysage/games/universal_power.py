"""v, the predictive power of subsets of features whatever the model (Eq. 3), learned by refitting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from clarysage._utils.lru_cache import LRUCache
from clarysage.errors import InputError, ModelError
from clarysage.games.refits import Refits
from clarysage.losses import as_loss
from clarysage.losses.choice import is_auto, loss_for
from clarysage.models import Predictor
from clarysage.players import Players
from clarysage.protocols import Executor, Loss


@dataclass(frozen=True)
class UniversalPower:
    r"""Predictive power of subsets of features with the model that a learner makes of each.

    .. math:: v(S) = \min_{\hat y} E[\ell(\hat y, Y)] - \min_g E[\ell(g(X_S), Y)]    (Eq. 3)

    The best model g of a coalition is taken to be a copy of the learner that is fitted on its columns, the best
    constant that of the same rows; losses are those of rows that were not fitted on. A learner finds no better model
    than the best: what it is short of that is missing from v(S), which it estimates from below. The payoff of a
    coalition on one example is minus its loss. Coalitions are remembered, each is fitted once.

    Attributes
    ----------
    mass : (N,) weights of the examples, adding up to one
    alone, whole : (N, L) payoffs of the best constants, and of all columns
    width : outputs of the learner
    is_together : whether all examples are one state, as :attr:`together` says
    """

    refits: Refits
    losses: tuple[Loss, ...]
    players: Players
    targets: tuple[np.ndarray, ...]
    mass: np.ndarray
    alone: np.ndarray
    whole: np.ndarray
    width: int
    is_together: bool = False
    memo: LRUCache[np.ndarray] = field(default_factory=LRUCache)

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
        """The game of a learner, a loss (or several, or "auto") and data; fits the learner on all columns.

        Parameters
        ----------
        learner : an estimator as scikit-learn has them, fitted or not; it is copied and left alone
        X, y : rows to fit on, and, unless ``test`` is given, to judge by
        folds : cross-fitting, each row is judged by a learner of the other folds
        test, test_size : instead, rows ``(X_test, y_test)`` to judge by, or the share of X to draw for it
        sample_weight : one weight a row of X, for losses, constants, and for fits where the learner takes them
        seed : of folds, and of learners whose ``random_state`` is None

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> v = UniversalPower.of(LinearRegression(), X, X[:, 0])
        >>> (v.mass @ (v.ends[1] - v.ends[0])).round(1)
        array([1.])
        """
        refits = Refits.of(
            learner, X, y, folds=folds, test=test, test_size=test_size, sample_weight=sample_weight, seed=seed
        )
        f, outputs = _fitted_on_all(refits)
        losses = _losses(loss, f, outputs, refits.y[refits.design.examples])
        for one in losses:
            one.check(outputs)
        everyone = np.resize(outputs, (len(refits.y), outputs.shape[1]))  # of which the shape is looked at
        targets = tuple(one.encode(refits.y, refits.classes, everyone) for one in losses)
        examples = refits.design.examples
        found = cls(
            refits=refits,
            losses=losses,
            players=players or Players.of(refits.schema.names),
            targets=tuple(target[examples] for target in targets),
            mass=_mass(refits.weights_of(examples)),
            alone=np.column_stack(
                [_constant(refits, one, target, outputs.shape[1]) for one, target in zip(losses, targets, strict=True)]
            ),
            whole=np.empty(0),
            width=outputs.shape[1],
        )
        return replace(found, whole=found._payoffs(outputs, np.arange(len(examples))))

    @property
    def together(self) -> UniversalPower:
        """The same game with all examples as one state, its payoffs their weighted means.

        A fit tells the payoffs of all examples at once: estimators that draw examples would throw most of them away.
        """
        return replace(self, is_together=True, memo=LRUCache(self.memo.limit))

    @property
    def n_players(self) -> int:
        return len(self.players)

    @cached_property
    def weights(self) -> np.ndarray:
        return np.ones(1) if self.is_together else self.mass

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self._stated(self.alone), self._stated(self.whole)

    @property
    def floor(self) -> np.ndarray:
        if self.is_together:  # a mean may lie at its floor by no single bound
            return np.full(len(self.losses), -np.inf)
        return np.array([-loss.ceiling for loss in self.losses])

    @property
    def rows_per_payoff(self) -> int:
        """Rows that learners are fitted on or predict, for each state."""
        return -(-self.refits.rows // len(self.weights))

    @property
    def rows_spent(self) -> int:
        return self.refits.rows

    @property
    def fits_per_coalition(self) -> int:
        """How often the learner is fitted for a coalition."""
        return len(self.refits.design.parts)

    @property
    def coalitions_learned(self) -> int:
        """Coalitions that the learner was fitted for in this process, that of all players included."""
        return 1 + self.memo.computed

    @property
    def rows_learned(self) -> int:
        """Rows that learners saw for these, to be fitted on or to predict."""
        return self.coalitions_learned * self.refits.rows

    def payoff(self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        payoffs = np.empty((len(examples), len(self.losses)))
        distinct, which = _distinct(coalitions)
        for number, coalition in enumerate(distinct):
            asked = which == number
            payoffs[asked] = self._known(coalition)[examples[asked]]
        return payoffs

    def walk(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, p = orders.shape
        payoffs = np.empty((n, p + 1, len(self.losses)))
        for place, (example, order) in enumerate(zip(examples, orders, strict=True)):
            coalition = np.zeros(p, dtype=bool)
            payoffs[place, 0] = self.ends[0][example]
            for step, player in enumerate(order):
                coalition[player] = True
                payoffs[place, step + 1] = self._known(coalition)[example]
        return payoffs

    def learn(self, coalitions: Sequence[np.ndarray], executor: Executor) -> Iterator[np.ndarray]:
        """Payoffs (N, L) of one coalition (p,) after the other; new ones are learned by workers, and kept."""
        keys = [key_of(coalition) for coalition in coalitions]
        new = [key for key in dict.fromkeys(keys) if key not in self.memo]
        coming, awaited = executor.map(self.learned, new), set(new)
        for key in keys:
            if key in awaited:
                awaited.remove(key)
                self.memo.put(key, next(coming))
            yield self.memo.get(key, partial(self.learned, key))

    def learned(self, key: bytes) -> np.ndarray:
        """Payoffs (N, L) of the coalition of a key, or (1, L) of all examples together, from fits made now."""
        coalition = coalition_of(key, self.n_players)
        kept = self.players.columns(coalition[None])[0]
        payoffs = np.empty_like(self.alone)
        for number, part in enumerate(self.refits.design.parts):
            places = np.searchsorted(self.refits.design.examples, part.held)
            f = self.refits.predictor(kept, number)
            if f is None:  # the learner looks at none of these columns: a constant is all there is
                payoffs[places] = self.alone[places]
            else:
                payoffs[places] = self._payoffs(self.refits.outputs(f, kept, number), places)
        return self._stated(payoffs)

    def _known(self, coalition: np.ndarray) -> np.ndarray:
        """Payoffs of a coalition (p,) in all states."""
        if not coalition.any() or coalition.all():
            return self.ends[int(coalition.any())]
        key = key_of(coalition)
        return self.memo.get(key, partial(self.learned, key))

    def _stated(self, payoffs: np.ndarray) -> np.ndarray:
        return (self.mass @ payoffs)[None] if self.is_together else payoffs

    def _payoffs(self, outputs: np.ndarray, places: np.ndarray) -> np.ndarray:
        if outputs.shape[1] != self.width:
            got = f"{outputs.shape[1]} outputs a row for some columns and {self.width} for all"
            raise ModelError("learner", got=got, wanted="the same number for any columns")
        for loss in self.losses:
            loss.check(outputs)
        losses = zip(self.losses, self.targets, strict=True)
        return np.column_stack([-loss(outputs, target[places]) for loss, target in losses])


def key_of(coalition: np.ndarray) -> bytes:
    """A coalition (p,) in short."""
    return np.packbits(coalition).tobytes()


def coalition_of(key: bytes, players: int) -> np.ndarray:
    """The coalition (p,) of a key.

    Examples
    --------
    >>> coalition_of(key_of(np.array([True, False, True])), 3)
    array([ True, False,  True])
    """
    return np.unpackbits(np.frombuffer(key, dtype=np.uint8), count=players).astype(bool)


def _fitted_on_all(refits: Refits) -> tuple[Predictor, np.ndarray]:
    """A predictor fitted on all columns, and what such predict of the examples, (N, k)."""
    kept = np.ones(refits.schema.width, dtype=bool)
    predictors, outputs = [], []
    for number in range(len(refits.design.parts)):
        f = refits.predictor(kept, number)
        if f is None:
            raise InputError("learner", got=f"{refits.name}, which looks at no column", wanted="one that does")
        predictors.append(f)
        outputs.append(refits.outputs(f, kept, number))
    held = np.concatenate([part.held for part in refits.design.parts])
    return predictors[0], np.concatenate(outputs)[np.argsort(held, kind="stable")]


def _losses(loss: Any, f: Predictor, outputs: np.ndarray, y: np.ndarray) -> tuple[Loss, ...]:
    wanted = loss_for(f.task, f.hard, outputs, y) if is_auto(loss) else loss
    losses = tuple(as_loss(one) for one in (wanted if isinstance(wanted, (list, tuple)) else [wanted]))
    if not losses:
        raise InputError("loss", got="an empty list", wanted="one loss or more")
    return losses


def _constant(refits: Refits, loss: Loss, target: np.ndarray, outputs: int) -> np.ndarray:
    """Payoffs (N,) of examples with the best constant of the rows that learners are fitted on."""
    payoffs, examples = np.empty(len(refits.design.examples)), refits.design.examples
    for part in refits.design.parts:
        weights = refits.weights_of(part.fitted)
        best = loss.best_constant(target[part.fitted], weights, outputs)
        payoffs[np.searchsorted(examples, part.held)] = -loss(np.tile(best, (len(part.held), 1)), target[part.held])
    return payoffs


def _mass(weights: np.ndarray) -> np.ndarray:
    return np.asarray(weights / weights.sum())


def _distinct(coalitions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct coalitions, and the number of that of each row."""
    if (coalitions == coalitions[0]).all():
        return coalitions[:1], np.zeros(len(coalitions), dtype=np.intp)
    distinct, which = np.unique(coalitions, axis=0, return_inverse=True)
    return distinct, which.ravel()
