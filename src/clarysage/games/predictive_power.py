"""v_f, the predictive power that a model draws from subsets of features (Eq. 2), and two games made of it.

The game of function sensitivity, w_f, leads to Shapley effects; that of single outputs leads to SHAP values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from clarysage.errors import InputError, ModelError
from clarysage.games.closed_form import closed_form_of
from clarysage.games.coalition_value import coalition_value
from clarysage.games.proxy_model import ProxyModel, Remainder
from clarysage.games.subsampled import SubsampledPower
from clarysage.losses import as_loss
from clarysage.losses.choice import is_auto, loss_for
from clarysage.losses.classification import SUM_TOLERANCE, presumed_classes
from clarysage.losses.regression import Output
from clarysage.players import Players
from clarysage.protocols import (
    ClosedForm,
    CoalitionValue,
    Game,
    HybridRows,
    Kind,
    Loss,
    LossLike,
    LossList,
    RestrictedModel,
    SubsampledGame,
    SubsampledWalks,
    TableLike,
    TargetLike,
    WeightsLike,
    ability,
)
from clarysage.tables import read_target, read_weights

LOOKED_AT = 16  # examples, to see which outputs there are


@dataclass(frozen=True)
class SameWidth:
    """The check that a model returns as many outputs for hybrid rows as for the examples."""

    width: int

    def __call__(self, outputs: np.ndarray) -> None:
        if outputs.shape[1] != self.width:
            got = f"{outputs.shape[1]} outputs a row for some rows and {self.width} for others"
            raise ModelError("model", got=got, wanted="the same number for all")


@dataclass(frozen=True)
class PredictivePower:
    r"""Predictive power a model draws from subsets of features.

    .. math:: v_f(S) = E[\ell(f_\emptyset, Y)] - E[\ell(f_S(X_S), Y)]    (Eq. 2)

    The payoff of a coalition on one example is minus its loss, so gains are differences of payoffs. Several losses are
    evaluated on the same predictions, in one pass.

    Attributes
    ----------
    restricted, losses, players : f_S, the losses (L of them), and who plays
    X, weights : the examples as codes (N, d), and their weights (N,), which add up to one
    targets : y encoded for each loss
    outputs : f(x) (N, k)
    ends : payoffs (N, L) with no and with all features
    remarks : what users are to know of the game
    rows_in_vain : model rows that were spent before the game
    like : payoffs of another game whose background draws are used again, as a surrogate's are
    given_closed_form : a closed form that is used in place of the one read from the model
    """

    restricted: RestrictedModel
    losses: tuple[Loss, ...]
    players: Players
    X: np.ndarray
    targets: tuple[np.ndarray, ...]
    weights: np.ndarray
    outputs: np.ndarray
    ends: tuple[np.ndarray, np.ndarray]
    remarks: tuple[str, ...] = ()
    rows_in_vain: int = 0
    like: SubsampledPower | None = None
    given_closed_form: ClosedForm | None = None

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
    ) -> PredictivePower:
        """The game of a restricted model, a loss (or several, or "auto"), and examples; y=None: its own outputs.

        ``codes`` (N, d) are those of X by the restricted model's schema, where it has been encoded already.
        """
        rows = restricted.schema.encode(X, "X") if codes is None else codes
        weights = read_weights(sample_weight, X, len(rows))
        response = None if y is None else read_target(y, X, len(rows))
        f, outputs = restricted.facts, restricted.full(rows)
        response = outputs if response is None else response
        wanted = loss_for(f.task, f.hard, outputs, response) if is_auto(loss) else loss
        losses = tuple(as_loss(one) for one in (wanted if isinstance(wanted, (list, tuple)) else [wanted]))
        if not losses:
            raise InputError("loss", got="an empty list", wanted="one loss or more")
        for one in losses:
            one.check(outputs)
        targets = tuple(one.encode(response, f.classes, outputs) for one in losses)
        remarks = (*restricted.remarks, *_about_classes(f.classes, losses, response, outputs.shape[1]))
        f_S = restricted.guarded((SameWidth(outputs.shape[1]), *(one.check for one in losses)))
        ends = _ends(losses, targets, f_S.empty(), outputs)
        who = players or Players.of(f_S.schema.names)
        return cls(f_S, losses, who, rows, targets, weights, outputs, ends, remarks)

    @property
    def power(self) -> PredictivePower:
        """This game, as games that are made of it have it."""
        return self

    def after(self, rows: int) -> PredictivePower:
        """The game when so many model rows have been spent beforehand, of which its payoffs know nothing."""
        return replace(self, rows_in_vain=self.rows_in_vain + rows) if rows else self

    @property
    def n_players(self) -> int:
        return len(self.players)

    @property
    def batch_size(self) -> int | None:
        """Rows that the model is to get at once, where the user said so."""
        return self.restricted.facts.batch_size

    @property
    def floor(self) -> np.ndarray:
        return np.array([-loss.ceiling for loss in self.losses])

    @property
    def rows_per_payoff(self) -> int:
        return self.restricted.rows_per_prediction

    @property
    def rows_spent(self) -> int:
        ends = len(self.X) + self.restricted.rows_per_prediction
        return ends + self.restricted.rows_of_checks + self.rows_in_vain

    def __conform__(self, kind: type[Kind]) -> object:
        """Abilities that depend on the restricted model: see :func:`clarysage.protocols.ability`."""
        if kind is SubsampledGame or kind is SubsampledWalks:
            return self.subsampled
        return self.closed_form if kind is ClosedForm else None

    @cached_property
    def subsampled(self) -> SubsampledPower | None:
        """Payoffs from a subsample of the background; None where the restricted model is no mean over rows."""
        hybrid = ability(self.restricted, HybridRows)
        if hybrid is None:
            return None
        if self.like is not None:
            return self.like.of_proxy(hybrid.condensed(), self.outputs, self.ends)
        return SubsampledPower.of(
            hybrid, self.losses, self.targets, self.players, self.X, self.outputs, self.ends, self.self_match
        )

    @cached_property
    def closed_form(self) -> ClosedForm | None:
        """Exact values without sampling, where the model's structure offers such."""
        return closed_form_of(self) if self.given_closed_form is None else self.given_closed_form

    @cached_property
    def self_match(self) -> np.ndarray | None:
        """The background row that each example is, (N,), -1 for none; None where no example is one."""
        hybrid = ability(self.restricted, HybridRows)
        return None if hybrid is None else hybrid.self_match(self.X)

    def split_by_surrogate(
        self, regressor: Any, asked: Sequence[tuple[np.ndarray, np.ndarray]], active: np.ndarray
    ) -> tuple[Game, Game]:
        """The game of a proxy that was fitted to the model's answers, and the game of what the proxy leaves."""
        assert self.subsampled is not None, "the model is asked row by row"
        f_S, used = self.subsampled.restricted, active[self.players.owner]
        answers = [(self.X, self.outputs), (f_S.background, f_S.alone), *asked]
        rows, outputs = (np.vstack(part) for part in zip(*answers, strict=True))
        g = ProxyModel.fitted(regressor, rows, outputs, f_S.schema, used if used.any() else ~used)
        g_S, of_proxy = f_S.asking(g), g(self.X)
        ends = _ends(self.losses, self.targets, g_S.empty(), of_proxy)
        proxy = replace(self, restricted=g_S, outputs=of_proxy, ends=ends, like=self.subsampled)
        return proxy, Remainder(self, proxy)

    def payoff(self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        payoffs = np.empty((len(examples), len(self.losses)))
        sizes, most = (coalitions & self._matters).sum(axis=1), self._matters.sum()
        for size, end in ((0, self.ends[0]), (most, self.ends[1])):
            payoffs[sizes == size] = end[examples[sizes == size]]
        inner = (sizes > 0) & (sizes < most)
        if inner.any():
            kept = self.players.columns(coalitions[inner])
            outputs = self.restricted.predict(self.X[examples[inner]], kept, rng)
            payoffs[inner] = self._payoffs(outputs, examples[inner])
        return payoffs

    def walk(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, p = orders.shape
        payoffs = np.empty((n, p + 1, len(self.losses)))
        payoffs[:, 0], payoffs[:, p] = self.ends[0][examples], self.ends[1][examples]
        if p > 1:
            outputs = self.restricted.walk(self.X[examples], self.players.arrivals(orders), rng)  # (n, p - 1, k)
            flat = self._payoffs(outputs.reshape(n * (p - 1), -1), np.repeat(examples, p - 1))
            payoffs[:, 1:p] = flat.reshape(n, p - 1, -1)
            known, most = np.cumsum(self._matters[orders], axis=1)[:, : p - 1], self._matters.sum()
            for size, end in ((0, self.ends[0]), (most, self.ends[1])):
                np.copyto(payoffs[:, 1:p], end[examples][:, None], where=(known == size)[:, :, None])
        return payoffs

    def value(self, coalition: np.ndarray, rng: np.random.Generator) -> CoalitionValue:
        """See :func:`clarysage.games.coalition_value.coalition_value`."""
        return coalition_value(self, coalition, rng)

    @cached_property
    def _matters(self) -> np.ndarray:
        """Players (p,) that are not known to have no effect, so that those are worth exactly nothing."""
        hybrid = ability(self.restricted, HybridRows)
        if hybrid is None:
            return np.ones(self.n_players, dtype=bool)
        return self.players.owning(hybrid.is_used)

    def _payoffs(self, outputs: np.ndarray, examples: np.ndarray) -> np.ndarray:
        losses = zip(self.losses, self.targets, strict=True)
        return np.column_stack([-loss(outputs, target[examples]) for loss, target in losses])


def sensitivity(
    restricted: RestrictedModel,
    X: TableLike,
    *,
    players: Players | None = None,
    sample_weight: WeightsLike | None = None,
    codes: np.ndarray | None = None,
) -> PredictivePower:
    r"""The game of function sensitivity, whose Shapley values are the Shapley effects.

    .. math:: w_f(S) = Var(E[f(X) | X_S])

    It is v_f with Y = f(X) and squared error (paper, supplement on function sensitivity): no labels are needed, and
    what is shared out is the variance of the output, summed over outputs. ``codes`` are as in
    :meth:`PredictivePower.of`.
    """
    return PredictivePower.of(
        restricted, "squared error", X, None, players=players, sample_weight=sample_weight, codes=codes
    )


def pointwise(
    restricted: RestrictedModel,
    X: TableLike,
    *,
    players: Players | None = None,
    sample_weight: WeightsLike | None = None,
    codes: np.ndarray | None = None,
) -> PredictivePower:
    r"""The game whose payoffs are the outputs of f_S at an example, one "loss" an output.

    .. math:: v_{f,x}(S) = f_S(x_S)

    Shapley values of an example in it are its SHAP values. Of two outputs that are the probabilities of two classes the
    second alone is played for: the values of the first are the same with the other sign. ``codes`` are as in
    :meth:`PredictivePower.of`.
    """
    rows = restricted.schema.encode(X, "X") if codes is None else codes
    few = rows[:LOOKED_AT]
    numbers = outputs_of(restricted.full(few), restricted.facts.task)
    losses = tuple(Output(number) for number in numbers)
    v = PredictivePower.of(restricted, losses, X, None, players=players, sample_weight=sample_weight, codes=rows)
    return replace(v, rows_in_vain=len(few))


def outputs_of(outputs: np.ndarray, task: str | None) -> list[int]:
    """Outputs that are not known from others, by those of some examples, (n, k).

    Examples
    --------
    >>> outputs_of(np.array([[0.3, 0.7]]), "classification"), outputs_of(np.array([[3.0, 5.0]]), "regression")
    ([1], [0, 1])
    """
    k = outputs.shape[1]
    adds_up = bool((np.abs(outputs.sum(axis=1) - 1) <= SUM_TOLERANCE).all() and (outputs >= 0).all())
    return [1] if k == 2 and task != "regression" and adds_up else list(range(k))


def _ends(
    losses: tuple[Loss, ...], targets: tuple[np.ndarray, ...], nothing: np.ndarray, outputs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Payoffs (N, L) of the mean prediction with nothing known, (k,), and of predictions for the examples, (N, k)."""
    empty, full = (
        np.column_stack([-loss(shown, target) for loss, target in zip(losses, targets, strict=True)])
        for shown in (np.broadcast_to(nothing, outputs.shape), outputs)
    )
    return empty, full


def _about_classes(known: Any, losses: tuple[Loss, ...], y: np.ndarray, outputs: int) -> list[str]:
    """What was presumed of a model that does not know the names of its classes."""
    if known is not None or y.ndim > 1 or all(loss.task != "classification" for loss in losses):
        return []
    presumed = presumed_classes(y, max(outputs, 2))
    if presumed == list(range(len(presumed))) and (y == 0).any():  # numbered from zero, as y shows
        return []
    names = ", ".join(map(repr, presumed[:8])) + (", ..." if len(presumed) > 8 else "")
    return [
        f"The model's outputs were presumed to be of the classes {names}, in this order; see as_predictor(classes=)."
    ]
