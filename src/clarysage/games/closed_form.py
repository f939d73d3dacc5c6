"""Closed-form Shapley values of games whose model's structure is known.

Predictions are sums of terms over subsets of players (Moebius or Harsanyi coefficients), f_S = sum_{A within S} a_A,
and a term is shared in equal parts by its players. What follows for losses is written beside each class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from clarysage.coalitions import shapley_values
from clarysage.protocols import HybridRows, KnownStructure, Loss, ModelGame, OfOutput, Solved, SubsampledWalks, ability
from clarysage.structure.base import mean_predictions
from clarysage.structure.moebius import Expansion, LeafTerms, LinearTerms, Terms

SHALLOW, MOST_TERMS = 4, 3000  # trees of which terms are few, and terms whose products are formed
MOST_ENTRIES = 2**20  # of tables of leaves whose terms are told apart
MOST_PLAYERS = 14  # of which all coalitions are looked at
NUMBERS_AT_ONCE = 2**22

# seconds, as measured on one core of some years ago
OF_PRODUCT, OF_ENTRY, OF_SUM, OF_LOSS, OF_LINK, OF_VISIT = 2e-10, 1e-8, 1.5e-9, 2e-8, 1e-8, 1e-6
OF_TREE_WALK, OF_PAIR = 2e-7, 6e-5


@dataclass(frozen=True)
class AnalyticForm:
    """Exact values of a game, from examples to sums of their values.

    Attributes
    ----------
    how : in words
    solve : values of examples (n,), summed by weight
    at_once : examples whose numbers are held together
    seconds : that it takes, about
    seconds_of_pair : that a pair of walks would take, about
    """

    how: str
    solve: Callable[[np.ndarray], Solved]
    at_once: int
    seconds: float
    seconds_of_pair: float


def closed_form_of(game: ModelGame) -> AnalyticForm | None:
    """The quickest way to exact values, None where the model's structure offers none."""
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
            found = _by_products(game, native, parts)
            if found is not None:
                return found
        return _by_terms(game, native, parts) if game.n_players <= MOST_PLAYERS else None
    return _by_pairs(game, native, parts) if game.n_players <= MOST_PLAYERS else None


@dataclass(frozen=True)
class Additive:
    r"""Squared error of an additive model, f_S = a_\emptyset + sum_{i in S} a_i, of which, for each example and output,

    .. math:: \phi_i = a_i (2 y - a_\emptyset - f)
    """

    terms: LinearTerms
    native: KnownStructure
    X: np.ndarray
    targets: tuple[np.ndarray, ...]
    weights: np.ndarray

    def __call__(self, examples: np.ndarray) -> Solved:
        terms = self.terms(self.native.looked_at(self.X[examples])[0])
        nothing, a = terms[:, 0], terms[:, 1:]  # (n, K), (n, p, K)
        parts = np.stack(
            [np.einsum("npk,nk->np", a, 2 * (target[examples] - nothing) - a.sum(axis=1)) for target in self.targets],
            axis=1,
        )
        parts *= self.weights[examples][:, None, None]
        return Solved(parts.sum(axis=0), parts)


@dataclass(frozen=True)
class Products:
    r"""Squared error of f_S = sum_{A within S} a_A, of which, for each example and output,

    .. math:: \phi_i = 2 (y - a_\emptyset) \sum_{A \ni i} \frac{a_A}{|A|}
        - \sum_{A, B \neq \emptyset: i \in A \cup B} \frac{a_A a_B}{|A \cup B|}

    since a product of terms is paid to the players of both, in equal shares. The pairs with i in either are twice those
    with i in the first, less those with i in both.
    """

    terms: LeafTerms
    native: KnownStructure
    X: np.ndarray
    targets: tuple[np.ndarray, ...]
    weights: np.ndarray

    def __call__(self, examples: np.ndarray) -> Solved:
        terms = self.terms(self.native.looked_at(self.X[examples])[0])
        nothing, a = terms[:, 0], terms[:, 1:]  # (n, K), (n, M, K)
        products = np.sum([self._products(a[:, :, k]) for k in range(a.shape[2])], axis=0)
        parts = np.stack([self._alone(a, target[examples] - nothing) - products for target in self.targets], axis=1)
        parts *= self.weights[examples][:, None, None]
        return Solved(parts.sum(axis=0), parts)

    def _alone(self, a: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What terms bring by themselves, (n, p)."""
        return np.asarray(2 * np.einsum("nmk,nk->nm", a, y) @ (self._sets / self._sets.sum(axis=1, keepdims=True)))

    def _products(self, a: np.ndarray) -> np.ndarray:
        """What products of terms of one output (n, M) take, (n, p)."""
        found = 2 * (a * (a @ self._shares)) @ self._sets
        for player, its in enumerate(self._sets.T > 0):
            own = a[:, its]
            found[:, player] -= ((own @ self._shares[np.ix_(its, its)]) * own).sum(axis=1)
        return np.asarray(found)

    @cached_property
    def _sets(self) -> np.ndarray:
        """The players of each term but the empty one, (M, p)."""
        return self.terms.sets[1:].astype(np.float64)

    @cached_property
    def _shares(self) -> np.ndarray:
        """1 / |A u B| for all pairs of terms."""
        size = self._sets.sum(axis=1)
        return np.asarray(1 / (size[:, None] + size - self._sets @ self._sets.T))


@dataclass(frozen=True)
class Sums:
    r"""Outputs of f_S = sum_{A within S} a_A, of which, for each example and output,

    .. math:: \phi_i = \sum_{A \ni i} \frac{a_A}{|A|}
    """

    terms: Terms
    native: KnownStructure
    X: np.ndarray
    outputs: tuple[int, ...]
    weights: np.ndarray

    def __call__(self, examples: np.ndarray) -> Solved:
        a = self.terms(self.native.looked_at(self.X[examples])[0])[:, 1:, list(self.outputs)]  # (n, M, L)
        parts = np.moveaxis(a, 2, 1)  # of a weighted sum there is one term a player
        if isinstance(self.terms, LeafTerms):
            sets = self.terms.sets[1:].astype(np.float64)
            parts = parts @ (sets / sets.sum(axis=1, keepdims=True))
        parts = parts * self.weights[examples][:, None, None]
        return Solved(parts.sum(axis=0), parts)


@dataclass(frozen=True)
class Coalitions:
    """Any loss, from predictions of all coalitions by number, (n, 2^p, k)."""

    predict: Callable[[np.ndarray], np.ndarray]
    X: np.ndarray
    losses: tuple[Loss, ...]
    targets: tuple[np.ndarray, ...]
    weights: np.ndarray
    floor: np.ndarray

    def __call__(self, examples: np.ndarray) -> Solved:
        predictions = self.predict(self.X[examples])
        n, count, k = predictions.shape
        payoffs = np.empty((count, n, len(self.losses)))
        for place, (loss, target) in enumerate(zip(self.losses, self.targets, strict=True)):
            found = loss(predictions.reshape(n * count, k), np.repeat(target[examples], count, axis=0))
            payoffs[:, :, place] = -found.reshape(n, count).T
        parts = shapley_values(payoffs).transpose(1, 2, 0) * self.weights[examples][:, None, None]
        return Solved(parts.sum(axis=0), parts, int((payoffs <= self.floor).sum()))


@dataclass(frozen=True)
class FromTerms:
    """Mean predictions of all coalitions, by sums of terms over subsets."""

    terms: Terms
    native: KnownStructure
    players: int

    def __call__(self, x: np.ndarray) -> np.ndarray:
        terms = self.terms(self.native.looked_at(x)[0])
        n, count, k = terms.shape
        if count < 2**self.players:  # terms of single players
            places = np.concatenate([[0], 1 << np.arange(self.players)])
            terms, alone = np.zeros((n, 2**self.players, k)), terms
            terms[:, places] = alone
        for player in range(self.players):
            by_player = terms.reshape(n, -1, 2, 2**player, k)
            by_player[:, :, 1] += by_player[:, :, 0]
        return terms


@dataclass(frozen=True)
class FromPairs:
    """The same for any link, example by example and background row by background row."""

    parts: Expansion
    native: KnownStructure

    def __call__(self, x: np.ndarray) -> np.ndarray:
        from clarysage.structure.kernels.trees import margins_of_all_coalitions

        trees, link = self.parts.trees, self.native.structure.link
        assert trees is not None
        rows, b = trees.encode(self.native.looked_at(x)[0]), trees.encode(self.parts.inner)
        coalitions, found = 2**self.parts.players, []
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
            found.append(mean_predictions(margins, self.parts.mass[part], link))
        return np.asarray(np.stack(found).reshape(len(rows), -1, *found[0].shape).sum(axis=1))


def _by_sums(game: ModelGame, native: KnownStructure, parts: Expansion) -> AnalyticForm | None:
    if not parts.representation.is_linear and (parts.trees is None or parts.most_entries > MOST_ENTRIES):
        return None
    terms, k = parts.terms(by_number=False), native.structure.representation.n_margins
    if terms is None:
        return None
    of_output = [ability(loss, OfOutput) for loss in game.losses]
    outputs = tuple(loss.number for loss in of_output if loss is not None)
    count = game.n_players if isinstance(terms, LinearTerms) else len(terms.sets)
    seconds = len(game.X) * k * (count * game.n_players * OF_PRODUCT + (parts.entries + game.X.shape[1]) * OF_ENTRY)
    how = "a linear model has a closed form" if isinstance(terms, LinearTerms) else _of_terms(count)
    solve = Sums(terms, native, game.X, outputs, game.weights)
    return AnalyticForm(how, solve, max(1, NUMBERS_AT_ONCE // (count * k)), seconds, _pair(game, parts))


def _by_products(game: ModelGame, native: KnownStructure, parts: Expansion) -> AnalyticForm | None:
    is_deep = parts.trees is None or parts.trees.depth > SHALLOW or parts.most_entries > MOST_ENTRIES
    if is_deep and not parts.representation.is_linear:
        return None
    terms, k = parts.terms(by_number=False), native.structure.representation.n_margins
    data = (native, game.X, game.targets, game.weights)
    if isinstance(terms, LinearTerms):
        at_once = max(1, NUMBERS_AT_ONCE // (game.n_players * k))
        seconds = game.X.size * k * OF_ENTRY
        return AnalyticForm(
            "a linear model has a closed form", Additive(terms, *data), at_once, seconds, _pair(game, parts)
        )
    if terms is None or len(terms.sets) > MOST_TERMS:
        return None
    count = len(terms.sets)
    seconds = len(game.X) * k * (count**2 * OF_PRODUCT + parts.entries * OF_ENTRY)
    how = _of_terms(count)
    at_once = max(1, NUMBERS_AT_ONCE // (count * k))
    return AnalyticForm(how, Products(terms, *data), at_once, seconds, _pair(game, parts))


def _of_terms(count: int) -> str:
    """Why values of shallow trees are known, in words."""
    return f"its trees add up to {count:,} term{'s' * (count != 1)} of few features each, which a formula solves"


def _by_terms(game: ModelGame, native: KnownStructure, parts: Expansion) -> AnalyticForm | None:
    terms = parts.terms(by_number=True)
    if terms is None:
        return None
    p, k = game.n_players, native.structure.representation.n_margins
    one = parts.entries * OF_ENTRY + 2**p * (p * k * OF_SUM + (len(game.losses) + p) * OF_LOSS)
    solve = Coalitions(FromTerms(terms, native, p), game.X, game.losses, game.targets, game.weights, game.floor)
    source = "its weighted sum" if parts.representation.is_linear else "the leaves of its trees"
    how = f"predictions for all coalitions follow from {source}"
    at_once = max(1, NUMBERS_AT_ONCE // (2**p * k))
    return AnalyticForm(how, solve, at_once, len(game.X) * one, _pair(game, parts))


def _by_pairs(game: ModelGame, native: KnownStructure, parts: Expansion) -> AnalyticForm | None:
    if parts.trees is None:
        return None
    p, k, m = game.n_players, native.structure.representation.n_margins, len(native.inner)
    one = m * (len(parts.trees.roots) * OF_VISIT + 2**p * k * (p * OF_SUM + OF_LINK))
    solve = Coalitions(FromPairs(parts, native), game.X, game.losses, game.targets, game.weights, game.floor)
    how = "its trees are gone through once for all coalitions"
    at_once = max(1, NUMBERS_AT_ONCE // (2**p * k * 8))
    return AnalyticForm(how, solve, at_once, len(game.X) * one, _pair(game, parts))


def _pair(game: ModelGame, parts: Expansion) -> float:
    """Seconds that a pair of walks takes, about."""
    trees = 1 if parts.trees is None else len(parts.trees.roots)
    subsampled = ability(game, SubsampledWalks)
    rows = 0 if subsampled is None else subsampled.rows
    return float(OF_PAIR + 2 * rows * trees * OF_TREE_WALK)
