"""A cheap proxy model that is fitted to an expensive model, and the game of the differences between the two.

The proxy's game is a control variate for the model's game: Shapley values are linear in the game, so that those of the
proxy, which are cheap to estimate precisely, and those of the differences, which vary little, add up to the values of
the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from clarysage._utils.pace import Pace
from clarysage._utils.threads import one_thread
from clarysage.errors import InputError
from clarysage.losses.classification import SUM_TOLERANCE
from clarysage.protocols import (
    Game,
    Influence,
    Kind,
    ModelFacts,
    SelfMatched,
    SubsampleComparison,
    SubsampledWalks,
    Walks,
    ability,
)
from clarysage.tables import Schema

LEAST_PROBABILITY = 1e-6  # probabilities are clipped to this distance from 0 and 1 before log odds are fitted
ROWS_PER_CALL = 32_768


@dataclass(frozen=True)
class ProxyModel:
    """A proxy of a model: regressors that are fitted to its outputs, or to the log odds of its probabilities.

    Attributes
    ----------
    regressors : one for each output
    used : (d,) the columns that regressors are fitted on, so that columns that the model ignores are ignored
    form : the kind of outputs, which decides on the link
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
        """Fits a copy of a regressor to each output of a model (n, k) for rows (n, d)."""
        from sklearn.base import clone

        form = _form(outputs)
        try:
            with one_thread():  # so that sums, and with them the proxy, do not depend on the machine
                regressors = tuple(clone(regressor).fit(rows[:, used], y) for y in _unlinked(outputs, form).T)
        except Exception as error:
            raise _unfit(regressor, f"{type(error).__name__} from {{}}: {error}") from error
        return cls(regressors, schema, used, form)

    @property
    def facts(self) -> ModelFacts:
        """No facts: a proxy has no limit on the rows in a call, and its outputs are of the model's kind."""
        return ModelFacts()

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        try:
            with one_thread():
                margins = np.column_stack([regressor.predict(codes[:, self.used]) for regressor in self.regressors])
        except Exception as error:
            raise _unfit(self.regressors[0], f"{type(error).__name__} from {{}}: {error}") from error
        if margins.shape != (len(codes), len(self.regressors)) or not np.isfinite(margins).all():
            raise _unfit(self.regressors[0], "predictions of {} that are not one finite number per row")
        if self.form == "one probability":
            return np.asarray(scipy.special.expit(margins))
        if self.form == "two probabilities":
            return np.column_stack([1 - scipy.special.expit(margins), scipy.special.expit(margins)])
        return np.asarray(scipy.special.softmax(margins, axis=1)) if self.form == "probabilities" else margins


@dataclass(frozen=True)
class Remainder:
    """The game of differences v_f - v_g between a model and its proxy, on common random numbers.

    Both games are evaluated on the same examples, orders and background rows. Shapley values are linear in the game
    (the paper's property of linearity), so that the values of v_f are the sum of those of v_g and of the remainder.
    """

    of_model: Game
    of_proxy: Game

    @property
    def n_players(self) -> int:
        return self.of_model.n_players

    @property
    def weights(self) -> np.ndarray:
        return self.of_model.weights

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        (empty, full), (proxy_empty, proxy_full) = self.of_model.ends, self.of_proxy.ends
        return empty - proxy_empty, full - proxy_full

    @property
    def floor(self) -> np.ndarray:
        return np.full_like(self.of_model.floor, -np.inf)

    @property
    def rows_per_payoff(self) -> int:
        return self.of_model.rows_per_payoff

    @property
    def rows_spent(self) -> int:
        return self.of_model.rows_spent

    def payoff(self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        first, second = _twice(rng)
        payoff = self.of_model.payoff(examples, coalitions, first)
        return np.asarray(payoff - self.of_proxy.payoff(examples, coalitions, second))

    def walk(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        first, second = _twice(rng)
        return np.asarray(self.of_model.walk(examples, orders, first) - self.of_proxy.walk(examples, orders, second))

    def __conform__(self, kind: type[Kind]) -> object:
        """Returns the remainder as an ability that both games have; self-matches and speed are those of the model."""
        if kind is SelfMatched or kind is Pace:
            return ability(self.of_model, kind)
        if kind is not SubsampledWalks:
            return None
        model, proxy = ability(self.of_model, SubsampledWalks), ability(self.of_proxy, SubsampledWalks)
        return None if model is None or proxy is None else RemainderWalks(model, proxy)


@dataclass(frozen=True)
class RemainderWalks:
    """Differences of the subsampled walks of a model and its proxy, with the same draws of background rows.

    Only the rows of the model are counted.
    """

    of_model: SubsampledWalks
    of_proxy: SubsampledWalks

    @property
    def rows(self) -> int:
        return self.of_model.rows

    @property
    def uses_all_rows(self) -> bool:
        return self.of_model.uses_all_rows

    @property
    def background_weights(self) -> np.ndarray:
        return self.of_model.background_weights

    @property
    def is_sampled(self) -> bool:
        return self.of_model.is_sampled and self.of_proxy.is_sampled

    @property
    def is_unbiased(self) -> bool:
        return self.of_model.is_unbiased

    @property
    def knows_bias(self) -> bool:
        return self.of_model.knows_bias

    @property
    def jumps(self) -> bool:
        return self.of_model.jumps

    @property
    def error_grows_with_loss(self) -> bool:
        return self.of_model.error_grows_with_loss

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
        walks = self.of_model.walk(examples, orders, active, first, skip=skip, keep=keep, influence=influence)
        proxy_walks = self.of_proxy.walk(examples, orders, active, second, skip=True, influence=influence)
        difference = None
        of_model, of_proxy = walks.influence, proxy_walks.influence
        if of_model is not None and of_proxy is not None:
            correction = of_model.bias_correction - of_proxy.bias_correction
            difference = Influence(correction, of_model.background_index, of_model.influence - of_proxy.influence)
        return replace(walks, payoffs=walks.payoffs - proxy_walks.payoffs, influence=difference)

    def compare(
        self,
        examples: np.ndarray,
        coalitions: np.ndarray,
        active: np.ndarray,
        rng: np.random.Generator,
        *,
        skip: bool = True,
    ) -> SubsampleComparison:
        first, second = _twice(rng)
        of_model = self.of_model.compare(examples, coalitions, active, first, skip=skip)
        of_proxy = self.of_proxy.compare(examples, coalitions, active, second, skip=True)
        return replace(
            of_model,
            exact=of_model.exact - of_proxy.exact,
            subsampled=of_model.subsampled - of_proxy.subsampled,
        )


def _unfit(regressor: Any, failure: str) -> InputError:
    return InputError(
        "surrogate",
        got=failure.replace("{}", type(regressor).__name__),
        wanted="a scikit-learn regressor that can be fitted to rows of numbers, missing ones included",
    )


def _twice(rng: np.random.Generator) -> tuple[np.random.Generator, np.random.Generator]:
    """Returns two generators that draw the same numbers."""
    seed = int(rng.integers(2**63))
    return np.random.default_rng(seed), np.random.default_rng(seed)


def _form(outputs: np.ndarray) -> str:
    """Returns the kind of a model's outputs (n, k): probabilities of which form, or numbers."""
    if outputs.min() < -SUM_TOLERANCE or outputs.max() > 1 + SUM_TOLERANCE:
        return "numbers"
    if outputs.shape[1] == 1:
        return "one probability"
    if (np.abs(outputs.sum(axis=1) - 1) > SUM_TOLERANCE).any():
        return "numbers"
    return "two probabilities" if outputs.shape[1] == 2 else "probabilities"


def _unlinked(outputs: np.ndarray, form: str) -> np.ndarray:
    """Returns the responses that regressors are fitted to: (n, k) or, for the probabilities of two classes, (n, 1)."""
    if form == "numbers":
        return outputs
    clipped = np.clip(outputs, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    return np.asarray(np.log(clipped) if form == "probabilities" else scipy.special.logit(clipped[:, -1:]))
