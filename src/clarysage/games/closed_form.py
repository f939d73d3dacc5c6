r"""Closed-form (analytic) Shapley values of games whose model has a known structure.

Restricted predictions are sums of Möbius (Moebius) coefficients, or Harsanyi dividends in game theory (Harsanyi 1963),

.. math:: f_S = \sum_{A \subseteq S} a_A

and the Shapley value gives each player an equal share of every coefficient that it takes part in. Linear models and
shallow trees have few coefficients: see :mod:`clarysage.structure.moebius`. The classes below say what follows for each
kind of loss. Other losses have exact values where all 2^p coalitions can be enumerated.

References
----------
J. C. Harsanyi (1963). A simplified bargaining model for the n-person cooperative game. International Economic Review 4,
194-220.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from clarysage.coalitions import masks, shapley_values
from clarysage.games.additive import Additive, in_units
from clarysage.inference.influence import BackgroundInfluence
from clarysage.protocols import (
    ClosedFormBatch,
    HybridRows,
    KnownStructure,
    Loss,
    ModelGame,
    OutputLoss,
    SelfMatched,
    SubsampledWalks,
    ability,
    units_of,
)
from clarysage.structure.base import mean_predictions, n_outputs
from clarysage.structure.linear import Linear
from clarysage.structure.moebius import Expansion, Terms

SHALLOW, MOST_TERMS = 4, 3000  # depth of trees that have few terms, and number of terms whose products are formed
MOST_ENTRIES = 2**20  # entries of leaf tables that are grouped by their sets of players
MOST_PLAYERS = 14  # players whose coalitions are all enumerated
NUMBERS_AT_ONCE = 2**22
OF_LINEAR = "a linear model has a closed form"

# seconds of each operation, as measured on one core of an older machine
OF_SORT, OF_SEARCH, OF_COMPARISON = 1e-7, 1e-7, 4e-9
OF_PRODUCT, OF_ENTRY, OF_SUM, OF_LOSS, OF_LINK, OF_VISIT = 2e-10, 1e-8, 1.5e-9, 2e-8, 1e-8, 1e-6
OF_TREE_WALK, OF_PAIR = 2e-7, 6e-5


@dataclass(frozen=True)
class AnalyticForm:
    """The exact Shapley values of a game by a formula.

    Attributes
    ----------
    how : the reason why a formula exists, as a text for users
    solve : maps examples (n,) to the weighted sum of their values
    at_once : number of examples that are computed together, by the memory that they take
    seconds : expected time of the formula for all examples
    seconds_per_pair : expected time of a pair of antithetic walks, which are the alternative
    influence : maps examples (n,) to the influence of the background on the sum of their values, where it has a formula
    """

    how: str
    solve: Callable[[np.ndarray], ClosedFormBatch]
    at_once: int
    seconds: float
    seconds_per_pair: float
    influence: Callable[[np.ndarray], BackgroundInfluence] | None = None


def closed_form_of(game: ModelGame) -> AnalyticForm | None:
    """Returns the quickest closed form of a game, or None where the model's structure offers none."""
    hybrid = ability(game.restricted, HybridRows)
    if hybrid is None or hybrid.native is None:
        return None
    native, owner = hybrid.native, game.players.owner
    player = owner if native.structure.owner is None else owner[native.structure.owner]
    parts = Expansion(native.structure.representation, native.inner, hybrid.background_weights, player, game.n_players)
    if native.structure.link == "identity":
        if all(loss.degree == 1 for loss in game.losses):
            return _by_sums(game, native, parts)
        if all(loss.degree == 2 for loss in game.losses):
            form = _by_products(game, native, parts)
            if form is not None:
                return form
        return _by_terms(game, native, parts) if game.n_players <= MOST_PLAYERS else None
    if game.n_players > MOST_PLAYERS:
        return None
    is_of_labels = native.structure.link == "labels" and isinstance(native.structure.representation, Linear)
    return _by_labels(game, native, parts) if is_of_labels else _by_pairs(game, native, parts)


@dataclass(frozen=True)
class Products:
    r"""Values under squared error of f_S = sum_{A within S} a_A.

    For each example and output, in the units (K,) of the loss,

    .. math:: \phi_i = 2 (y - a_\emptyset) \sum_{A \ni i} \frac{a_A}{|A|}
        - \sum_{A, B \neq \emptyset: i \in A \cup B} \frac{a_A a_B}{|A \cup B|}

    since the players of A and B share the product of their terms equally. The sum over pairs with i in A or B is twice
    the sum over pairs with i in A, minus the sum over pairs with i in both.
    """

    terms: Terms
    native: KnownStructure
    X: np.ndarray
    targets: tuple[np.ndarray, ...]
    units: tuple[np.ndarray, ...]
    weights: np.ndarray

    def __call__(self, examples: np.ndarray) -> ClosedFormBatch:
        terms = self.terms(self.native.represent(self.X[examples])[0])
        nothing, a = terms[:, 0], terms[:, 1:]  # (n, K), (n, M, K)
        products = np.array([self._products(a[:, :, k]) for k in range(a.shape[2])])  # (K, n, p)
        parts = np.stack(
            [
                self._alone(*in_units(unit, a, target[examples] - nothing))
                - (products / unit[:, None, None] ** 2).sum(axis=0)
                for target, unit in zip(self.targets, self.units, strict=True)
            ],
            axis=1,
        )
        parts *= self.weights[examples][:, None, None]
        return ClosedFormBatch(parts.sum(axis=0), parts)

    def _alone(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Returns the part of the values (n, p) that is linear in the terms."""
        return np.asarray(2 * np.einsum("nmk,nk->nm", a, y) @ (self._sets / self._sets.sum(axis=1, keepdims=True)))

    def _products(self, a: np.ndarray) -> np.ndarray:
        """Returns the part of the values (n, p) that is quadratic in the terms (n, M) of one output."""
        values = 2 * (a * (a @ self._shares)) @ self._sets
        for player, has_player in enumerate(self._sets.T > 0):
            with_player = a[:, has_player]
            shares = self._shares[np.ix_(has_player, has_player)]
            values[:, player] -= ((with_player @ shares) * with_player).sum(axis=1)
        return np.asarray(values)

    @cached_property
    def _sets(self) -> np.ndarray:
        """The players of each term but the empty one, (M, p)."""
        return self.terms.sets[1:].astype(np.float64)

    @cached_property
    def _shares(self) -> np.ndarray:
        """The shares 1 / |A u B| of all pairs of terms, (M, M)."""
        size = self._sets.sum(axis=1)
        return np.asarray(1 / (size[:, None] + size - self._sets @ self._sets.T))


@dataclass(frozen=True)
class Sums:
    r"""Values of the outputs of f_S = sum_{A within S} a_A themselves, a loss of degree 1.

    For each example and output,

    .. math:: \phi_i = \sum_{A \ni i} \frac{a_A}{|A|}
    """

    terms: Terms
    native: KnownStructure
    X: np.ndarray
    outputs: tuple[int, ...]
    weights: np.ndarray
    is_additive: bool

    def __call__(self, examples: np.ndarray) -> ClosedFormBatch:
        a = self.terms(self.native.represent(self.X[examples])[0])[:, 1:, list(self.outputs)]  # (n, M, L)
        parts = np.moveaxis(a, 2, 1)
        if not self.is_additive:  # else each term belongs to one player, in their order
            sets = self.terms.sets[1:].astype(np.float64)
            parts = parts @ (sets / sets.sum(axis=1, keepdims=True))
        parts = parts * self.weights[examples][:, None, None]
        return ClosedFormBatch(parts.sum(axis=0), parts)


@dataclass(frozen=True)
class Coalitions:
    """Values under any loss, from the predictions of all coalitions by number, (n, 2^p, k)."""

    predict: Callable[[np.ndarray], np.ndarray]
    X: np.ndarray
    losses: tuple[Loss, ...]
    targets: tuple[np.ndarray, ...]
    weights: np.ndarray
    floor: np.ndarray

    def __call__(self, examples: np.ndarray) -> ClosedFormBatch:
        predictions = self.predict(self.X[examples])
        n, count, k = predictions.shape
        payoffs = np.empty((count, n, len(self.losses)))
        for number, (loss, target) in enumerate(zip(self.losses, self.targets, strict=True)):
            losses = loss(predictions.reshape(n * count, k), np.repeat(target[examples], count, axis=0))
            payoffs[:, :, number] = -losses.reshape(n, count).T
        parts = shapley_values(payoffs).transpose(1, 2, 0) * self.weights[examples][:, None, None]
        return ClosedFormBatch(parts.sum(axis=0), parts, int((payoffs <= self.floor).sum()))


@dataclass(frozen=True)
class FromTerms:
    """Mean predictions of all coalitions: sums of terms over subsets (the zeta transform)."""

    terms: Terms
    native: KnownStructure
    players: int

    def __call__(self, x: np.ndarray) -> np.ndarray:
        terms = self.terms(self.native.represent(x)[0])
        n, count, k = terms.shape
        if count < 2**self.players:  # of single players alone
            numbers = np.concatenate([[0], 1 << np.arange(self.players)])
            terms, of_single_players = np.zeros((n, 2**self.players, k)), terms
            terms[:, numbers] = of_single_players
        for player in range(self.players):
            by_player = terms.reshape(n, -1, 2, 2**player, k)
            by_player[:, :, 1] += by_player[:, :, 0]
        return terms


@dataclass(frozen=True)
class FromSums:
    """Shares of the labels of a linear model for all coalitions, by the parts that both rows have in the margins.

    Of two classes a hybrid row has the second if the background row's part is above minus the example's part: rows are
    sorted by their parts, once a coalition.
    """

    parts: Expansion
    native: KnownStructure
    linear: Linear

    def __call__(self, x: np.ndarray) -> np.ndarray:
        p, linear = self.parts.players, self.linear
        of_examples, of_rows = (linear.encode(inner) for inner in (self.native.represent(x)[0], self.parts.inner))
        count = n_outputs(linear.n_margins, "labels")
        shares, of_coalitions = np.empty((len(x), 2**p, count)), max(1, NUMBERS_AT_ONCE // (8 * of_rows[:, 0].size))
        by_label = self._sorted if count == 2 else self._compared
        for start in range(0, 2**p, of_coalitions):
            numbers = np.arange(start, min(start + of_coalitions, 2**p))
            is_kept = masks(numbers, p)[:, : of_rows.shape[1]].astype(np.float64)
            of_example = np.einsum("cd,ndk->cnk", is_kept, of_examples, optimize=True) + linear.intercept
            shares[:, numbers] = by_label(of_example, np.einsum("cd,mdk->ckm", 1 - is_kept, of_rows, optimize=True))
        return shares

    def _sorted(self, of_example: np.ndarray, withheld: np.ndarray) -> np.ndarray:
        """Returns shares (n, c, 2) of two labels, from parts of margins (c, n, 1) and (c, 1, m)."""
        if self.linear.n_margins == 2:  # the difference is the margin of the second class
            of_example, withheld = of_example[:, :, 1:] - of_example[:, :, :1], withheld[:, 1:] - withheld[:, :1]
        order = withheld[:, 0].argsort(axis=1)
        parts = np.take_along_axis(withheld[:, 0], order, axis=1)
        below = np.cumsum(np.pad(self.parts.row_weights[order], ((0, 0), (1, 0))), axis=1)
        needed = -of_example[:, :, 0]
        ranks = [row.searchsorted(bounds, side="right") for row, bounds in zip(parts, needed, strict=True)]
        first = np.take_along_axis(below, np.stack(ranks), axis=1).T
        return np.stack([first, 1 - first], axis=-1)

    def _compared(self, of_example: np.ndarray, withheld: np.ndarray) -> np.ndarray:
        """Returns shares (n, c, K) of several labels, from parts of margins (c, n, K) and (c, K, m)."""
        rows = np.moveaxis(of_example, 1, 0)[..., None]
        return np.stack([mean_predictions(row + withheld, self.parts.row_weights, "labels") for row in rows])


@dataclass(frozen=True)
class FromPairs:
    """Mean predictions of all coalitions under any link, by pairs of an example and a background row."""

    parts: Expansion
    native: KnownStructure

    def __call__(self, x: np.ndarray) -> np.ndarray:
        from clarysage.structure.kernels.trees import margins_of_all_coalitions

        trees, link = self.parts.trees, self.native.structure.link
        assert trees is not None
        rows, b = trees.encode(self.native.represent(x)[0]), trees.encode(self.parts.inner)
        coalitions, predictions = 2**self.parts.players, []
        at_once = max(1, NUMBERS_AT_ONCE // (coalitions * trees.n_margins))
        for row, start in product(rows, range(0, len(b), at_once)):
            part = slice(start, start + at_once)
            margins = np.empty((coalitions, trees.n_margins, len(b[part])))
            margins_of_all_coalitions(
                row,
                b[part],
                trees.feature,
                trees.left,
                trees.right,
                trees.roots,
                trees.output,
                trees.values,
                trees.base,
                trees.depth,
                margins,
            )
            predictions.append(mean_predictions(margins, self.parts.row_weights[part], link))
        return np.asarray(np.stack(predictions).reshape(len(rows), -1, *predictions[0].shape).sum(axis=1))


def _by_sums(game: ModelGame, native: KnownStructure, parts: Expansion) -> AnalyticForm | None:
    if not parts.representation.is_linear and (parts.trees is None or parts.most_entries > MOST_ENTRIES):
        return None
    terms, k = parts.terms(by_number=False), native.structure.representation.n_margins
    if terms is None:
        return None
    of_output = [ability(loss, OutputLoss) for loss in game.losses]
    outputs = tuple(loss.number for loss in of_output if loss is not None)
    is_additive = parts.representation.is_linear
    count = game.n_players if is_additive else len(terms.sets)
    seconds = len(game.X) * k * (count * game.n_players * OF_PRODUCT + (parts.entries + game.X.shape[1]) * OF_ENTRY)
    how = OF_LINEAR if is_additive else _of_terms(count)
    solve = Sums(terms, native, game.X, outputs, game.weights, is_additive)
    return AnalyticForm(how, solve, max(1, NUMBERS_AT_ONCE // (count * k)), seconds, _seconds_of_pair(game, parts))


def _by_products(game: ModelGame, native: KnownStructure, parts: Expansion) -> AnalyticForm | None:
    is_deep = parts.trees is None or parts.trees.depth > SHALLOW or parts.most_entries > MOST_ENTRIES
    if is_deep and not parts.representation.is_linear:
        return None
    terms, k = parts.terms(by_number=False), native.structure.representation.n_margins
    if terms is None:
        return None
    units = tuple(units_of(loss, k) for loss in game.losses)
    data = (native, game.X, game.targets, units, game.weights)
    if parts.representation.is_linear:
        at_once = max(1, NUMBERS_AT_ONCE // (game.n_players * k))
        seconds = game.X.size * k * OF_ENTRY
        matched = ability(game, SelfMatched)
        self_match = None if matched is None else matched.self_match
        form = Additive(terms, *data, parts.row_weights, self_match)
        return AnalyticForm(OF_LINEAR, form, at_once, seconds, _seconds_of_pair(game, parts), form.influence)
    if len(terms.sets) > MOST_TERMS:
        return None
    count = len(terms.sets)
    seconds = len(game.X) * k * (count**2 * OF_PRODUCT + parts.entries * OF_ENTRY)
    how = _of_terms(count)
    at_once = max(1, NUMBERS_AT_ONCE // (count * k))
    return AnalyticForm(how, Products(terms, *data), at_once, seconds, _seconds_of_pair(game, parts))


def _of_terms(count: int) -> str:
    """Returns the reason, for users, why the values of shallow trees have a closed form."""
    return (
        f"the trees are a sum of {count:,} term{'s' * (count != 1)} of few features each, whose values have a formula"
    )


def _by_terms(game: ModelGame, native: KnownStructure, parts: Expansion) -> AnalyticForm | None:
    terms = parts.terms(by_number=True)
    if terms is None:
        return None
    p, k = game.n_players, native.structure.representation.n_margins
    seconds = parts.entries * OF_ENTRY + 2**p * (p * k * OF_SUM + (len(game.losses) + p) * OF_LOSS)
    solve = Coalitions(FromTerms(terms, native, p), game.X, game.losses, game.targets, game.weights, game.floor)
    source = "the weights of the linear model" if parts.representation.is_linear else "the leaves of the trees"
    how = f"predictions for all coalitions are computed from {source}"
    at_once = max(1, NUMBERS_AT_ONCE // (2**p * k))
    return AnalyticForm(how, solve, at_once, len(game.X) * seconds, _seconds_of_pair(game, parts))


def _by_labels(game: ModelGame, native: KnownStructure, parts: Expansion) -> AnalyticForm:
    linear = native.structure.representation
    assert isinstance(linear, Linear)
    p, examples, m, k = game.n_players, len(game.X), len(native.inner), linear.n_margins
    at_once = max(1, NUMBERS_AT_ONCE // (2**p * n_outputs(k, "labels")))
    of_rows = m * OF_SORT * -(-examples // at_once) + examples * (OF_SEARCH if k <= 2 else m * k * OF_COMPARISON)
    seconds = 2**p * (of_rows + examples * (len(game.losses) + p) * OF_LOSS)
    predict = FromSums(parts, native, linear.with_owner(parts.player))
    solve = Coalitions(predict, game.X, game.losses, game.targets, game.weights, game.floor)
    how = "labels for all coalitions are computed from the weights of the linear model"
    return AnalyticForm(how, solve, at_once, seconds, _seconds_of_pair(game, parts))


def _by_pairs(game: ModelGame, native: KnownStructure, parts: Expansion) -> AnalyticForm | None:
    if parts.trees is None:
        return None
    p, k, m = game.n_players, native.structure.representation.n_margins, len(native.inner)
    seconds = m * (len(parts.trees.roots) * OF_VISIT + 2**p * k * (p * OF_SUM + OF_LINK))
    solve = Coalitions(FromPairs(parts, native), game.X, game.losses, game.targets, game.weights, game.floor)
    how = "one pass through the trees gives the predictions for all coalitions"
    at_once = max(1, NUMBERS_AT_ONCE // (2**p * k * 8))
    return AnalyticForm(how, solve, at_once, len(game.X) * seconds, _seconds_of_pair(game, parts))


def _seconds_of_pair(game: ModelGame, parts: Expansion) -> float:
    """Returns the expected seconds of a pair of antithetic walks."""
    trees = 1 if parts.trees is None else len(parts.trees.roots)
    subsampled = ability(game, SubsampledWalks)
    rows = 0 if subsampled is None else subsampled.rows
    return float(OF_PAIR + 2 * rows * trees * OF_TREE_WALK)
