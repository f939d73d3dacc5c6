"""v_f, the predictive power that a model draws from subsets of features (Eq. 2), and two games made of it.

The game of function sensitivity, w_f, leads to Shapley effects; that of single outputs leads to SHAP values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from clarysage._utils.pace import Pace
from clarysage.errors import ModelError, Note
from clarysage.games.closed_form import closed_form_of
from clarysage.games.coalition_value import coalition_value
from clarysage.games.proxy_model import ProxyModel, Remainder
from clarysage.games.subsampled import SubsampledPower
from clarysage.losses.choice import Fit, as_losses, check_predicts_response
from clarysage.losses.class_order import about_classes
from clarysage.losses.classification import SUM_TOLERANCE
from clarysage.losses.regression import Output
from clarysage.losses.terms import about_targets, row_weights
from clarysage.players import Players
from clarysage.protocols import (
    ClosedForm,
    CoalitionValue,
    FromBackground,
    Game,
    HybridRows,
    Kind,
    Loss,
    LossLike,
    LossList,
    ModelFacts,
    RestrictedModel,
    SubsampledGame,
    SubsampledWalks,
    TableLike,
    TargetLike,
    WeightsLike,
    ability,
)
from clarysage.removal.background import bits
from clarysage.removal.restricted.prefixes import WORTH_A_SEARCH
from clarysage.tables import read_target, read_weights, target_names

PAIRS_TO_COMPARE = 64  # of an example and a background row, to see how many of their cells differ
CONSTANT = 1e-12  # relative difference of predictions that are the same up to rounding
FIRST_EXAMPLES = 16  # examples whose outputs show which kind of outputs the model has


@dataclass(frozen=True)
class SameWidth:
    """Checks that a model returns as many outputs for hybrid rows as for the examples."""

    width: int

    def __call__(self, outputs: np.ndarray) -> None:
        if outputs.shape[1] != self.width:
            got = f"{outputs.shape[1]} outputs per row for some rows and {self.width} for others"
            raise ModelError("model", got=got, wanted="the same number of outputs for all rows")


@dataclass(frozen=True)
class PredictivePower:
    r"""Predictive power a model draws from subsets of features.

    .. math:: v_f(S) = E[\ell(f_\emptyset, Y)] - E[\ell(f_S(X_S), Y)]    (Eq. 2)

    The payoff of a coalition on one example is minus its loss, so that gains are differences of payoffs. Several losses
    are evaluated on the same predictions, in one pass.

    Attributes
    ----------
    restricted, losses, players : f_S, the L losses, and the players (features or groups)
    X, weights : the examples as codes (N, d), and their weights (N,), which add up to one
    targets : y encoded for each loss
    outputs : f(x) (N, k)
    ends : payoffs (N, L) of the empty and of the full coalition
    remarks : notes about the game for users
    rows_before : model rows that were spent before the game was made
    like : payoffs of another game whose draws of background rows are reused, as a proxy model's game does
    given_closed_form : a closed form that is used in place of the one read from the model

    Examples
    --------
    >>> import numpy as np
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> f_S = cs.Marginal(X).restrict(cs.as_predictor(lambda X: X[:, 0]), X)
    >>> v = cs.PredictivePower.of(f_S, "squared error", X, X[:, 0])
    >>> cs.estimate(v, cs.Exact()).values.round(1)
    array([[1., 0.]])
    """

    restricted: RestrictedModel
    losses: tuple[Loss, ...]
    players: Players
    X: np.ndarray
    targets: tuple[np.ndarray, ...]
    weights: np.ndarray
    outputs: np.ndarray
    ends: tuple[np.ndarray, np.ndarray]
    remarks: tuple[Note | str, ...] = ()
    rows_before: int = 0
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
        """Returns the game of a restricted model, a loss (or several, or "auto"), and examples.

        With ``y=None`` the model's outputs take the place of the response. ``codes`` (N, d) are X as encoded by the
        restricted model's schema, where it has been encoded already.
        """
        rows = restricted.schema.encode(X, "X") if codes is None else codes
        weights = read_weights(sample_weight, X, len(rows))
        response = None if y is None else read_target(y, X, len(rows))
        _announce(restricted, rows)
        f, outputs = restricted.facts, restricted.full(rows)
        facts = f if y is not None else ModelFacts("regression")
        response = outputs if response is None else response
        losses = as_losses(loss, Fit(facts, outputs, response, weights, target_names(y)))
        if y is not None:
            check_predicts_response(f.task, losses)
        for each in losses:
            each.check(outputs)
        targets = tuple(each.encode(response, f.classes, outputs) for each in losses)
        remarks: tuple[Note | str, ...] = tuple(restricted.remarks)
        if response.ndim == 1 and any(loss.task == "classification" for loss in losses):
            remarks += tuple(about_classes(f.classes, response, outputs))
        f_S = restricted.guarded((SameWidth(outputs.shape[1]), *(each.check for each in losses)))
        nothing = f_S.empty()
        if response.ndim == 2:
            remarks += tuple(about_targets(losses, targets, nothing, weights, target_names(y)))
        remarks += tuple(_about_evidence(None if y is None else response, weights, outputs, nothing))
        ends = _ends(losses, targets, nothing, outputs)
        players = players or Players.of(f_S.schema.names)
        return cls(f_S, losses, players, rows, targets, weights, outputs, ends, remarks)

    @cached_property
    def loss_weights(self) -> np.ndarray:
        """Weights of the examples in the mean of each loss, (N,) if they are the same for all, else (N, L)."""
        return row_weights(self.losses, self.targets, self.weights)

    @property
    def power(self) -> PredictivePower:
        """The game itself; other games that are made of a game v_f have it as their attribute ``power``."""
        return self

    def after(self, rows: int) -> PredictivePower:
        """Returns the game with a number of model rows added that were spent before it was made."""
        return replace(self, rows_before=self.rows_before + rows) if rows else self

    @cached_property
    def n_players(self) -> int:
        return len(self.players)

    @cached_property
    def batch_size(self) -> int | None:
        """Number of rows in each call of the model, where the user has set it."""
        return self.restricted.facts.batch_size

    @cached_property
    def floor(self) -> np.ndarray:
        return np.array([-loss.ceiling for loss in self.losses])

    @cached_property
    def rows_per_payoff(self) -> int:
        return self.restricted.rows_per_prediction

    @cached_property
    def rows_spent(self) -> int:
        ends = len(self.X) + self.restricted.rows_per_prediction
        return ends + self.restricted.rows_of_checks + self.rows_before

    def __conform__(self, kind: type[Kind]) -> object:
        """Returns an ability that depends on the model, or None: see :func:`clarysage.protocols.ability`."""
        if kind is SubsampledGame or kind is SubsampledWalks:
            return self.subsampled
        if kind is Pace:
            return ability(self.restricted, Pace)
        return self.closed_form if kind is ClosedForm else None

    @cached_property
    def subsampled(self) -> SubsampledPower | None:
        """Payoffs from a subsample of the background; None where the restricted model is not a mean over rows."""
        hybrid = ability(self.restricted, HybridRows)
        if hybrid is None:
            return None
        if self.like is not None:
            return self.like.of_proxy(hybrid.condensed(), self.outputs, self.ends)
        return SubsampledPower.of(
            hybrid, self.losses, self.targets, self.players, self.X, self.outputs, self.ends, self.self_match
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leaves the closed form out, whose tables are large: a worker that needs it finds it again."""
        return {name: value for name, value in self.__dict__.items() if name != "closed_form"}

    @cached_property
    def closed_form(self) -> ClosedForm | None:
        """Exact values without sampling; None where the model's structure has no closed form."""
        return closed_form_of(self) if self.given_closed_form is None else self.given_closed_form

    @cached_property
    def self_match(self) -> np.ndarray | None:
        """The background row that each example is, (N,), -1 for none; None where no example is one."""
        hybrid = ability(self.restricted, HybridRows)
        return None if hybrid is None else hybrid.self_match(self.X)

    def split_by_surrogate(
        self, regressor: Any, asked: Sequence[tuple[np.ndarray, np.ndarray]], active: np.ndarray
    ) -> tuple[Game, Game]:
        """Returns the game of a proxy fitted to the model's predictions, and the game of the differences."""
        assert self.subsampled is not None, "the restricted model is a mean over hybrid rows"
        f_S, used = self.subsampled.restricted, active[self.players.owner]
        answers = [(self.X, self.outputs), (f_S.background, f_S.background_outputs), *asked]
        rows, outputs = (np.vstack(part) for part in zip(*answers, strict=True))
        g = ProxyModel.fitted(regressor, rows, outputs, f_S.schema, used if used.any() else ~used)
        g_S, proxy_outputs = f_S.with_predictor(g), g(self.X)
        ends = _ends(self.losses, self.targets, g_S.empty(), proxy_outputs)
        proxy = replace(self, restricted=g_S, outputs=proxy_outputs, ends=ends, like=self.subsampled)
        return proxy, Remainder(self, proxy)

    def payoff(self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        payoffs = np.empty((len(examples), len(self.losses)))
        sizes, n_used = (coalitions & self._is_used).sum(axis=1), self._is_used.sum()
        for size, end in ((0, self.ends[0]), (n_used, self.ends[1])):
            payoffs[sizes == size] = end[examples[sizes == size]]
        is_inner = (sizes > 0) & (sizes < n_used)
        if is_inner.any():
            is_kept = self.players.columns(coalitions[is_inner])
            outputs = self.restricted.predict(self.X[examples[is_inner]], is_kept, rng)
            payoffs[is_inner] = self._payoffs(outputs, examples[is_inner])
        return payoffs

    def walk(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, p = orders.shape
        payoffs = np.empty((n, p + 1, len(self.losses)))
        payoffs[:, 0], payoffs[:, p] = self.ends[0][examples], self.ends[1][examples]
        if p > 1:
            outputs = self.restricted.walk(self.X[examples], self.players.entry_positions(orders), rng)  # (n, p - 1, k)
            flat = self._payoffs(outputs.reshape(n * (p - 1), -1), np.repeat(examples, p - 1))
            payoffs[:, 1:p] = flat.reshape(n, p - 1, -1)
            sizes, n_used = np.cumsum(self._is_used[orders], axis=1)[:, : p - 1], self._is_used.sum()
            for size, end in ((0, self.ends[0]), (n_used, self.ends[1])):
                np.copyto(payoffs[:, 1:p], end[examples][:, None], where=(sizes == size)[:, :, None])
        return payoffs

    def value(self, coalition: np.ndarray, rng: np.random.Generator) -> CoalitionValue:
        """Estimates v(S) of a coalition (p,): see :func:`clarysage.games.coalition_value.coalition_value`."""
        return coalition_value(self, coalition, rng)

    @cached_property
    def _is_used(self) -> np.ndarray:
        """Tells which players (p,) may have an effect; the values of the others are exactly zero."""
        hybrid = ability(self.restricted, HybridRows)
        if hybrid is None:
            return np.ones(self.n_players, dtype=bool)
        return self.players.owners_of(hybrid.is_used)

    def _payoffs(self, outputs: np.ndarray, examples: np.ndarray) -> np.ndarray:
        losses = zip(self.losses, self.targets, strict=True)
        return np.column_stack([-loss(outputs, target[examples]) for loss, target in losses])


def sensitivity(
    restricted: RestrictedModel,
    X: TableLike,
    *,
    players: Players | None = None,
    loss: LossLike | LossList = "squared error",
    sample_weight: WeightsLike | None = None,
    codes: np.ndarray | None = None,
) -> PredictivePower:
    r"""Returns the game of function sensitivity, whose Shapley values are the Shapley effects.

    .. math:: w_f(S) = Var(E[f(X) | X_S])

    It is v_f with Y = f(X) and squared error (paper, supplement on function sensitivity): no labels are needed, and the
    total is the variance of the output, summed over outputs. ``codes`` are as in :meth:`PredictivePower.of`. ``loss``
    is "auto" for outputs in different units, or a loss of degree 2.

    Parameters
    ----------
    restricted : the restricted model f_S, such as that of ``Marginal(background).restrict(f, X)``
    X : examples
    players : features or groups; default the columns of X
    loss : "squared error", "auto" for outputs in different units, or another loss of degree 2
    sample_weight : one weight for each example
    codes : as in :meth:`PredictivePower.of`

    Returns
    -------
    PredictivePower, of the output as its own response

    Examples
    --------
    >>> import numpy as np
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> f_S = cs.Marginal(X).restrict(cs.as_predictor(lambda X: 2 * X[:, 0]), X)
    >>> effects = cs.estimate(cs.sensitivity(f_S, X), cs.Exact()).values
    >>> np.allclose(effects, [np.var(2 * X[:, 0]), 0])
    True
    """
    return PredictivePower.of(restricted, loss, X, None, players=players, sample_weight=sample_weight, codes=codes)


def pointwise(
    restricted: RestrictedModel,
    X: TableLike,
    *,
    players: Players | None = None,
    sample_weight: WeightsLike | None = None,
    codes: np.ndarray | None = None,
) -> PredictivePower:
    r"""Returns the game whose payoffs are the outputs of f_S at an example, with one "loss" for each output.

    .. math:: v_{f,x}(S) = f_S(x_S)

    The Shapley values of an example in this game are its SHAP values. Where the outputs are the probabilities of two
    classes, the game has the second output only: the values of the first output are the same with the opposite sign.
    ``codes`` are as in :meth:`PredictivePower.of`.
    """
    rows = restricted.schema.encode(X, "X") if codes is None else codes
    _announce(restricted, rows)
    first = rows[:FIRST_EXAMPLES]
    numbers = outputs_of(restricted.full(first), restricted.facts.task)
    losses = tuple(Output(number) for number in numbers)
    v = PredictivePower.of(restricted, losses, X, None, players=players, sample_weight=sample_weight, codes=rows)
    return replace(v, rows_before=len(first))


def outputs_of(outputs: np.ndarray, task: str | None) -> list[int]:
    """Returns the numbers of the outputs that do not follow from others, by the outputs (n, k) of some examples.

    Examples
    --------
    >>> outputs_of(np.array([[0.3, 0.7]]), "classification"), outputs_of(np.array([[3.0, 5.0]]), "regression")
    ([1], [0, 1])
    """
    k = outputs.shape[1]
    adds_up = bool((np.abs(outputs.sum(axis=1) - 1) <= SUM_TOLERANCE).all() and (outputs >= 0).all())
    return [1] if k == 2 and task != "regression" and adds_up else list(range(k))


def _announce(restricted: RestrictedModel, rows: np.ndarray) -> None:
    """Tells the model what a game will ask: the rows of its ends, and whether hybrid rows are new in every step."""
    pace, of_background = ability(restricted, Pace), ability(restricted, FromBackground)
    if pace is None:
        return
    pace.awaited, pace.certain = len(rows) + restricted.rows_per_prediction, 0.0
    if of_background is not None:
        background = of_background.background[::-1]  # which may be the examples themselves
        pairs = slice(min(len(rows), len(background), PAIRS_TO_COMPARE))
        differ = float((bits(rows[pairs]) != bits(background[pairs])).mean())
        pace.certain = differ if differ > WORTH_A_SEARCH else 0.0


def _ends(
    losses: tuple[Loss, ...], targets: tuple[np.ndarray, ...], nothing: np.ndarray, outputs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the payoffs (N, L) of the prediction with nothing kept, (k,), and of the full predictions (N, k)."""
    empty, full = (
        np.column_stack([-loss(predictions, target) for loss, target in zip(losses, targets, strict=True)])
        for predictions in (np.broadcast_to(nothing, outputs.shape), outputs)
    )
    return empty, full


def _about_evidence(y: np.ndarray | None, weights: np.ndarray, outputs: np.ndarray, nothing: np.ndarray) -> list[Note]:
    """Returns warnings on data that show little or nothing, whatever the precision of the values.

    ``outputs`` (N, k) are predictions for the examples, and ``nothing`` (k,) that with no feature known.
    """
    notes, is_used = [], weights > 0
    if np.count_nonzero(is_used) == 1:
        notes.append(Note("X has a single row: the values are about this row alone.", "Explain several hundred rows."))
    elif y is not None and y.ndim == 1 and (y[is_used] == y[is_used][0]).all():
        text = f"y is {y[is_used].tolist()[0]!r} in every row: no value shows whether a feature tells responses apart."
        notes.append(Note(text, "Explain rows with different responses."))
    if (np.abs(outputs - nothing) <= CONSTANT * np.abs(nothing).max()).all():
        text = "The model predicts the same for every row, with and without features: all values are zero."
        notes.append(Note(text, "Check that it was fitted, and that X has its features in its units."))
    return notes
