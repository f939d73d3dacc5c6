"""A cheap proxy that imitates an expensive model, and the game that is left when the proxy's game is taken off."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from clarysage._utils.threads import one_thread
from clarysage.errors import InputError
from clarysage.losses.classification import SUM_TOLERANCE
from clarysage.protocols import (
    Comparison,
    Game,
    Influence,
    Kind,
    ModelFacts,
    SelfMatched,
    SubsampledWalks,
    Walks,
    ability,
)
from clarysage.tables import Schema

SURE = 1e-6  # probabilities nearer to 0 or 1 count as this near when their log odds are imitated
ROWS_PER_CALL = 32_768


@dataclass(frozen=True)
class ProxyModel:
    """Regressors that imitate a model on rows of codes, one an output; of probabilities they imitate the log odds.

    They are shown the columns in ``used`` alone, so that what the model ignores is ignored.
    """

    regressors: tuple[Any, ...]
    schema: Schema
    used: np.ndarray
    form: str
    rows_per_call: int = ROWS_PER_CALL

    @classmethod
    def fitted(
        cls, regressor: Any, rows: np.ndarray, outputs: np.ndarray, schema: Schema, used: np.ndarray
    ) -> ProxyModel:
        from sklearn.base import clone

        form = _form(outputs)
        try:
            with one_thread():  # so that sums, and with them the surrogate, do not depend on the machine
                found = tuple(clone(regressor).fit(rows[:, used], wanted) for wanted in _unlinked(outputs, form).T)
        except Exception as error:
            raise _unfit(regressor, f"{type(error).__name__} from {{}}: {error}") from error
        return cls(found, schema, used, form)

    @property
    def facts(self) -> ModelFacts:
        """Nothing: a proxy gets as many rows at once as it likes, and its outputs are those of the model."""
        return ModelFacts()

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        try:
            with one_thread():
                margins = np.column_stack([regressor.predict(codes[:, self.used]) for regressor in self.regressors])
        except Exception as error:
            raise _unfit(self.regressors[0], f"{type(error).__name__} from {{}}: {error}") from error
        if margins.shape != (len(codes), len(self.regressors)) or not np.isfinite(margins).all():
            raise _unfit(self.regressors[0], "predictions of {} that are not one finite number a row")
        if self.form == "one probability":
            return np.asarray(scipy.special.expit(margins))
        if self.form == "two probabilities":
            return np.column_stack([1 - scipy.special.expit(margins), scipy.special.expit(margins)])
        return np.asarray(scipy.special.softmax(margins, axis=1)) if self.form == "probabilities" else margins


@dataclass(frozen=True)
class Remainder:
    """v_f - v_g: what one game pays beyond another, on the same examples, orders and background rows.

    Shapley values are linear in the game (the paper's property of linearity), so those of v_f are those of v_g and of
    the remainder, added.
    """

    one: Game
    other: Game

    @property
    def n_players(self) -> int:
        return self.one.n_players

    @property
    def weights(self) -> np.ndarray:
        return self.one.weights

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        (empty, full), (their_empty, their_full) = self.one.ends, self.other.ends
        return empty - their_empty, full - their_full

    @property
    def floor(self) -> np.ndarray:
        return np.full_like(self.one.floor, -np.inf)

    @property
    def rows_per_payoff(self) -> int:
        return self.one.rows_per_payoff

    @property
    def rows_spent(self) -> int:
        return self.one.rows_spent

    def payoff(self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        first, second = _twice(rng)
        one, other = self.one.payoff(examples, coalitions, first), self.other.payoff(examples, coalitions, second)
        return np.asarray(one - other)

    def walk(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        first, second = _twice(rng)
        return np.asarray(self.one.walk(examples, orders, first) - self.other.walk(examples, orders, second))

    def __conform__(self, kind: type[Kind]) -> object:
        """Abilities that both games have, and the self-match of the first."""
        if kind is SelfMatched:
            return ability(self.one, SelfMatched)
        if kind is not SubsampledWalks:
            return None
        one, other = ability(self.one, SubsampledWalks), ability(self.other, SubsampledWalks)
        return None if one is None or other is None else RemainderWalks(one, other)


@dataclass(frozen=True)
class RemainderWalks:
    """Subsampled walks of two games side by side, with the same draws of background rows; the second costs nothing."""

    one: SubsampledWalks
    other: SubsampledWalks

    @property
    def rows(self) -> int:
        return self.one.rows

    @property
    def takes_all(self) -> bool:
        return self.one.takes_all

    @property
    def background_weights(self) -> np.ndarray:
        return self.one.background_weights

    @property
    def is_sampled(self) -> bool:
        return self.one.is_sampled and self.other.is_sampled

    @property
    def is_unbiased(self) -> bool:
        return self.one.is_unbiased

    @property
    def errs_with_loss(self) -> bool:
        return self.one.errs_with_loss

    def walk(
        self,
        examples: np.ndarray,
        orders: np.ndarray,
        active: np.ndarray,
        rng: np.random.Generator,
        *,
        skip: bool = True,
        keep: bool = False,
        influence: bool = False,
    ) -> Walks:
        first, second = _twice(rng)
        found = self.one.walk(examples, orders, active, first, skip=skip, keep=keep, influence=influence)
        theirs = self.other.walk(examples, orders, active, second, skip=True, influence=influence)
        both = None
        mine, its = found.influence, theirs.influence
        if mine is not None and its is not None:
            correction = mine.bias_correction - its.bias_correction
            both = Influence(correction, mine.background_index, mine.influence - its.influence)
        return replace(found, payoffs=found.payoffs - theirs.payoffs, influence=both)

    def compare(
        self,
        examples: np.ndarray,
        coalitions: np.ndarray,
        active: np.ndarray,
        rng: np.random.Generator,
        *,
        skip: bool = True,
    ) -> Comparison:
        first, second = _twice(rng)
        mine = self.one.compare(examples, coalitions, active, first, skip=skip)
        theirs = self.other.compare(examples, coalitions, active, second, skip=True)
        return replace(mine, exact=mine.exact - theirs.exact, subsampled=mine.subsampled - theirs.subsampled)


def _unfit(regressor: Any, what: str) -> InputError:
    return InputError(
        "surrogate",
        got=what.replace("{}", type(regressor).__name__),
        wanted="a scikit-learn regressor that can be fitted to rows of numbers, missing ones included",
    )


def _twice(rng: np.random.Generator) -> tuple[np.random.Generator, np.random.Generator]:
    """Two generators that draw the same."""
    seed = int(rng.integers(2**63))
    return np.random.default_rng(seed), np.random.default_rng(seed)


def _form(outputs: np.ndarray) -> str:
    """What the outputs of a model look like."""
    if outputs.min() < -SUM_TOLERANCE or outputs.max() > 1 + SUM_TOLERANCE:
        return "numbers"
    if outputs.shape[1] == 1:
        return "one probability"
    if (np.abs(outputs.sum(axis=1) - 1) > SUM_TOLERANCE).any():
        return "numbers"
    return "two probabilities" if outputs.shape[1] == 2 else "probabilities"


def _unlinked(outputs: np.ndarray, form: str) -> np.ndarray:
    """What regressors imitate: (n, k) or, of two probabilities, (n, 1)."""
    if form == "numbers":
        return outputs
    inside = np.clip(outputs, SURE, 1 - SURE)
    return np.asarray(np.log(inside) if form == "probabilities" else scipy.special.logit(inside[:, -1:]))
