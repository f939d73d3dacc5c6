"""Predictions without the withheld features, learned: one regressor for all coalitions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from clarysage._utils.lazy import Lazy
from clarysage._utils.threads import one_thread
from clarysage.errors import InputError
from clarysage.models.torch import is_module, train_regressor
from clarysage.removal.background import BackgroundRows, seed_of
from clarysage.removal.regressors import boosted, check_regressor, fitted, takes_weights
from clarysage.removal.restricted.learned import FEWEST, Learner, OutputForm, SurrogateModel, as_seen
from clarysage.tables import Schema

FOLDS = 4
COPIES, CELLS = 20_000, 2**20  # masked rows to learn from, and their cells at most
COPIES_A_ROW, FEWEST_COPIES = 40, 4_000  # more of a row tell hardly more
BYTES_A_CELL = 64  # of a masked row, while it is made and learned from: masks, marks, and copies of folds


@dataclass(frozen=True)
class Surrogate:
    r"""A regressor learns to predict f from what is kept, and answers in place of the model.

    .. math:: f_S(x_S) = g(x_S, S), \qquad g = \arg\min_g E[(f(X) - g(X_S, S))^2]

    whose minimum is E[f(X) | X_S] for every coalition at once. g is trained on copies of the background rows with
    cells withheld at random: coalition sizes uniform, and coalitions of a size. The model is asked for the background
    rows and the examples alone; g is trained when a coalition is first asked for. Four regressors learn from three
    quarters of the rows each: an example that is a background row is answered by the one that has not seen it, others
    by the mean of all. Predictions are kept within the range of f over the background, probabilities are made to add up
    to one.

    Parameters
    ----------
    background : table of rows with the columns of X; the more the better, as g learns from them alone
    weights : one weight a background row; a regressor that takes none meets rows as often as they weigh
    regressor : a scikit-learn regressor that takes missing values, or a PyTorch module; default gradient boosting. A
        regressor is fitted once an output (once for two probabilities), to d columns of cells, withheld ones missing,
        and d marks of the kept ones; categories by their codes. A module maps such rows, standardised, with 0 for
        missing cells, to k outputs, and is trained with Adam until its error on rows held out falls no more
    copies : masked rows to learn from, at least one a background row; default 20,000, fewer for few rows and for many
        columns or outputs
    rng : seed or Generator
    memory_limit : bytes that the rows given to the model at once may take; of a background whose copies, one a row,
        would take more, fewer rows are learned from, drawn evenly by weight
    examples : for a background drawn from X, the number in X of each of its rows, -1 for a row from elsewhere; such
        rows are otherwise known by being equal to a row of X, if there is but one of the kind

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat(np.random.default_rng(0).normal(size=(500, 1)), 2, axis=1)  # two columns, the same
    >>> f_S = Surrogate(rows).restrict(lambda X: X[:, 0], rows[:1])
    >>> found = f_S.predict(np.array([[1.0, 1.0]]), np.array([[False, True]]), rng=None)
    >>> bool(abs(found[0, 0] - 1) < 0.2)
    True
    """

    background: Any
    weights: Any = None
    regressor: Any = None
    copies: int | None = None
    rng: Any = 0
    memory_limit: float = 1e9
    examples: Any = None
    name: str = "surrogate"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rng", seed_of(self.rng))  # the same draws whenever it is used

    def restrict(self, predictor: Any, X: Any) -> SurrogateModel:
        check_regressor(self.regressor)
        if self.copies is not None and (not isinstance(self.copies, Integral) or self.copies < 1):
            raise InputError("copies", got=f"{self.copies!r}", wanted="a whole number of rows to learn from, or None")
        found, examples = BackgroundRows.of(self, predictor, X)
        outputs = found.predictor(found.rows)
        form = OutputForm.of(outputs, is_classifier=found.predictor.facts.classes is not None)
        wanted = outputs if is_module(self.regressor) else form.wanted(outputs)
        fold, count = np.arange(len(outputs)) % FOLDS, self._count(found.rows.shape, wanted.shape[1])
        learners = Lazy(partial(self._learners, found, wanted, fold, count, self.rng))
        return SurrogateModel(
            found.predictor, found.rows, found.mass, outputs, learners, form, fold, found.known, count, examples
        )

    def limited(self, memory_limit: float) -> Surrogate:
        return replace(self, memory_limit=memory_limit)

    def knowing_examples(self, examples: np.ndarray) -> Surrogate:
        return replace(self, examples=examples)

    def _count(self, shape: tuple[int, ...], outputs: int) -> int:
        """Masked rows to learn from, of a background (m, d)."""
        m, d = shape
        worth_it = min(COPIES, CELLS // d, max(FEWEST_COPIES, COPIES_A_ROW * m))
        affordable = worth_it / outputs ** (0.0 if is_module(self.regressor) else 0.5)
        one_a_row = min(m, max(FEWEST, int(self.memory_limit / (BYTES_A_CELL * d))))
        return max(one_a_row, int(affordable if self.copies is None else self.copies))

    def _learners(
        self, found: BackgroundRows, wanted: np.ndarray, fold: np.ndarray, count: int, seed: int
    ) -> tuple[Learner, ...]:
        m, d = found.rows.shape
        is_weighed = m <= count and takes_weights(self.regressor)
        least = 1 if is_weighed else _heaviest(found.mass, fold)
        copies = MaskedRows.drawn(found.mass, count, d, np.random.default_rng(seed), least=least)
        is_even = bool((found.mass == found.mass[0]).all())  # copies then make up for it by their number alone
        weights = copies.weights(found.mass) if is_weighed and not is_even else None
        seen = as_seen(found.rows[copies.row], copies.is_kept)
        learn = self._learning(found.predictor.schema, max(1.0, count / m), seed)
        learners = []
        with one_thread():
            for number in range(min(FOLDS, m)):
                held = (fold == number)[copies.row] if m > 1 else np.zeros(len(copies.row), dtype=bool)
                learners.append(learn(seen, wanted[copies.row], held, weights))
        return tuple(learners)

    def _learning(self, schema: Schema, copies_a_row: float, seed: int) -> Callable[..., Learner]:
        """What makes a learner of rows as they are seen, what is wanted, the rows to be held out, and weights."""
        if self.regressor is None:
            return partial(boosted, schema=schema, copies_a_row=copies_a_row, seed=seed % 2**31)
        if is_module(self.regressor):
            return partial(train_regressor, self.regressor, seed=seed % 2**31)
        return partial(fitted, self.regressor)


def _heaviest(mass: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """One for the row of most mass in each fold, (m,): without it, a learner might have nothing to learn from."""
    found = np.zeros(len(mass), dtype=int)
    for number in np.unique(fold):
        its = np.flatnonzero(fold == number)
        found[its[mass[its].argmax()]] = 1
    return found


@dataclass(frozen=True)
class MaskedRows:
    """Copies of background rows: ``row`` (c,) is the one that each is of, ``kept`` (c, d) the columns left to it.

    Sizes of coalitions are uniform over 1, ..., d - 1, and coalitions uniform among those of a size.

    Examples
    --------
    >>> copies = MaskedRows.drawn(np.full(4, 0.25), 8, 3, np.random.default_rng(0))
    >>> np.bincount(copies.row)
    array([2, 2, 2, 2])
    """

    row: np.ndarray
    is_kept: np.ndarray

    @classmethod
    def drawn(
        cls, mass: np.ndarray, count: int, columns: int, rng: np.random.Generator, *, least: np.ndarray | int = 0
    ) -> MaskedRows:
        """So many copies, shared out among rows by their mass, but at least so many of each, (m,) or the same."""
        shared = np.diff(np.floor(np.cumsum(np.concatenate([[rng.random()], count * mass])))).astype(int)
        row = np.repeat(np.arange(len(mass)), np.maximum(shared, least))
        size = rng.integers(1, columns, size=len(row))
        rank = np.argsort(rng.random((len(row), columns)), axis=1)
        return cls(row, np.argsort(rank, axis=1) < size[:, None])

    def weights(self, mass: np.ndarray) -> np.ndarray:
        """Weights (c,), one on average, by which the copies of each row count together as its mass."""
        share = mass[self.row] / np.bincount(self.row, minlength=len(mass))[self.row]
        return np.asarray(share / share.mean())
