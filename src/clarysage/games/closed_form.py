r"""Closed-form (analytic) Shapley values of games whose model has a known structure.

Restricted predictions are sums of Möbius (Moebius) coefficients, or Harsanyi dividends in game theory (Harsanyi 1963),

.. math:: f_S = \sum_{A \subseteq S} a_A

and the Shapley value gives each player an equal share of every coefficient that it takes part in. Linear models
have few coefficients, and so have trees, however deep, whose paths have few players each: see
:mod:`clarysage.structure.moebius`. The classes below say what follows for each kind of loss. Other losses have exact
values where all 2^p coalitions can be enumerated.

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
import scipy

from clarysage.coalitions import masks, shapley_values
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
from clarysage.removal.background_draws import BackgroundDraws, variance_factor
from clarysage.structure.base import mean_predictions, n_outputs
from clarysage.structure.linear import Linear
from clarysage.structure.moebius import MOST_SETS, Expansion, LeafTerms, Terms

MOST_PLAYERS = 14  # players whose coalitions are all enumerated
EXAMPLES_TOGETHER, EXAMPLES_AT_ONCE = 8, 64  # of orthogonal terms: as many as cost no more than one, and the most
SECONDS_AT_ONCE = 0.25  # a deadline holds within that many
NUMBERS_AT_ONCE = 2**22
OF_LINEAR = "a linear model has a closed form"

# seconds of each operation, as measured on one core of an older machine
OF_SORT, OF_SEARCH, OF_COMPARISON = 1e-7, 1e-7, 4e-9
OF_LEAF, OF_ENTRY, OF_SUM, OF_LOSS, OF_LINK, OF_VISIT = 3e-8, 6e-9, 1.5e-9, 2e-8, 1e-8, 1e-6
OF_TREE_WALK, OF_PAIR = 2e-7, 6e-5
OF_QUICK_TREE_WALK, OF_QUICK_PAIR = 4e-8, 2e-5  # of walks, on the machine of the times of orthogonal terms
OF_EDGE, OF_DISTANT_EDGE = 8e-10, 1.2e-9  # of orthogonal terms that fit the cache, or do not
SETS_IN_CACHE = 2**17
SHORT_TIME = 0.1  # seconds that orthogonal terms may always take
COUNTED_ROWS = 8  # on which the changes of terms are counted


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
    at_least : number of examples that cost as much as a single one
    short_time : seconds that are short enough for the formula to be preferred, whatever walks would take
    """

    how: str
    solve: Callable[[np.ndarray], ClosedFormBatch]
    at_once: int
    seconds: float
    seconds_per_pair: float
    influence: Callable[[np.ndarray], BackgroundInfluence] | None = None
    at_least: int = 1
    short_time: float = 2.0


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
            form = _by_squares(game, native, parts)
            if form is not None:
                return form
        return _by_terms(game, native, parts) if game.n_players <= MOST_PLAYERS else None
    if game.n_players > MOST_PLAYERS:
        return None
    is_of_labels = native.structure.link == "labels" and isinstance(native.structure.representation, Linear)
    return _by_labels(game, native, parts) if is_of_labels else _by_pairs(game, native, parts)


@dataclass(frozen=True)
class Additive:
    r"""Values under squared error of f_S = a_0 + sum_{i in S} a_i, and the influence of the background on them.

    In an additive model, with h_i the part of player i in the predictions, mu_i its mean over the background rows and
    a_i = h_i(x) - mu_i, the value of an example, for each output, is

    .. math:: \phi_i = a_i (2 y - a_\emptyset - f)

    Weight that moves to background row k moves the means by d_k = h(b_k) - mu, so that the influence of the row is

    .. math:: \psi_{ki} = -d_{ki} (2 y - a_\emptyset - f) - a_i \sum_j d_{kj}

    The finite background adds to the loss of a coalition S the variance of the mean of sum_{j not in S} h_j (Jensen's
    gap, :mod:`clarysage.games.payoff_influence`). This is a sum over pairs of players; its Shapley values, which are
    subtracted from the values, are

    .. math:: \frac{C}{1 - C} Cov\Big(h_i, \sum_j h_j\Big), \qquad C = \sum_k w_k^2

    The influence on an example that is itself a background row is that of the other rows (a self-match).

    Attributes
    ----------
    terms : maps rows to a_0 and a, in one array (n, p + 1, K)
    units : (K,) of each loss, by which errors are divided
    row_weights : (m,) of the background rows, which are those of ``native``
    self_match : (N,) the background row that each example is, -1 for none; None where no example is one
    """

    terms: Terms
    native: KnownStructure
    X: np.ndarray
    targets: tuple[np.ndarray, ...]
    units: tuple[np.ndarray, ...]
    weights: np.ndarray
    row_weights: np.ndarray
    self_match: np.ndarray | None

    def __call__(self, examples: np.ndarray) -> ClosedFormBatch:
        nothing, a = self._terms(examples)
        of_losses = zip(self.targets, self.units, strict=True)
        parts = np.stack(
            [_additive_values(*in_units(unit, nothing, a, target[examples])) for target, unit in of_losses], axis=1
        )
        parts *= self.weights[examples][:, None, None]
        return ClosedFormBatch(parts.sum(axis=0), parts)

    def influence(self, examples: np.ndarray) -> BackgroundInfluence:
        """Returns the influence of the background rows on the sum of the values of examples (n,)."""
        nothing, a = self._terms(examples)
        of_losses = [
            self._influence(
                examples,
                *in_units(unit, nothing, a, target[examples], self._deviations),
                *in_units(unit**2, self._covariance),
            )
            for target, unit in zip(self.targets, self.units, strict=True)
        ]
        zero = np.zeros((len(self.targets), a.shape[1]))
        rows = np.stack([influence for influence, _ in of_losses], axis=1)
        return BackgroundInfluence(rows, zero, np.stack([correction for _, correction in of_losses]), zero)

    def _influence(
        self,
        examples: np.ndarray,
        nothing: np.ndarray,
        a: np.ndarray,
        target: np.ndarray,
        deviations: np.ndarray,
        covariance: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the influence (m, p) of background rows, and the correction (p,), for one loss, in its units."""
        weights, match = self.weights[examples], np.full(len(examples), -1)
        if self.self_match is not None:
            match = self.self_match[examples]
        is_row = match >= 0
        share = np.where(is_row, self.row_weights[match], 0.0)[:, None]
        odds = share / (1 - share)
        excess = odds[:, :, None] * a  # a by the other rows, less a by all rows
        nothing_else, a_else = nothing - excess.sum(axis=1), a + excess
        gain, gain_else = a.sum(axis=1), a_else.sum(axis=1)  # f - a_0
        by_row = weights[:, None] / (1 - share)
        residual = 2 * (target - nothing_else) - gain_else
        influence = -np.einsum("mik,k->mi", deviations, (by_row * residual).sum(axis=0))
        influence -= np.einsum("mk,ik->mi", deviations.sum(axis=1), np.einsum("nl,nik->ik", by_row, a_else))
        influence -= np.einsum("nl,nik,nk->i", by_row, excess, residual)
        influence -= np.einsum("nl,nik,nk->i", by_row, a_else, excess.sum(axis=1))
        of_itself = by_row * np.einsum("nik,nk->ni", a_else, residual + gain_else)
        np.add.at(influence, match[is_row], of_itself[is_row])  # an example has no influence on itself
        gap = self._gap(match, odds, a, gain, covariance)
        correction = _additive_values(nothing_else, a_else, target) - _additive_values(nothing, a, target) - gap
        return self.row_weights[:, None] * influence, weights @ correction

    def _terms(self, examples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns a_0 (n, K) and a (n, p, K) of examples."""
        terms = self.terms(self.native.represent(self.X[examples])[0])
        return terms[:, 0], terms[:, 1:]

    def _gap(
        self, match: np.ndarray, odds: np.ndarray, a: np.ndarray, gain: np.ndarray, covariance: np.ndarray
    ) -> np.ndarray:
        """Returns the values (n, p) of the games of Jensen's gaps, by the covariances over all rows but the match."""
        concentration = BackgroundDraws(len(self.row_weights), self.row_weights).concentration(match)
        of_others = covariance - odds[:, :, None] * a * gain[:, None]
        return np.asarray((1 + odds) * variance_factor(concentration)[:, None] * of_others.sum(axis=2))

    @cached_property
    def _deviations(self) -> np.ndarray:
        """The parts of the players for each background row, less their means: d, (m, p, K)."""
        return self.terms(self.native.inner)[:, 1:]

    @cached_property
    def _covariance(self) -> np.ndarray:
        """The covariance of each part with the sum of all parts over the background rows, (p, K)."""
        sums = self._deviations.sum(axis=1)
        return np.asarray(np.einsum("m,mik,mk->ik", self.row_weights, self._deviations, sums))


@dataclass(frozen=True)
class SquaredSums:
    r"""Values under squared error of f_S = sum_{A within S} a_A, by orthogonal terms.

    Let every player be in S with probability q, r = q (1 - q), and g_S = f_S - y, of which only the constant term
    differs from that of f_S. The functions prod_{j in A} ([j in S] - q) of S are orthogonal, with second moments
    r^{|A|}; the coefficients of g_S are

    .. math:: u_A(q) = \sum_{B \supseteq A} a_B q^{|B| - |A|}

    so that the second moment of g_S is a single sum over sets. Shapley values are integrals over q of the expected
    change of -g_S^2 as player i enters (the multilinear extension, Owen 1972):

    .. math:: \phi_i = -\int_0^1 \sum_{A \ni i} r^{|A| - 1} u_A (2 u_{A - i} + (1 - 2 q) u_A) \, dq

    The integrand is a polynomial of degree min(2 k, p) - 1 at most, where paths have k players at most, for which
    Gauss-Legendre quadrature with min(k, p / 2) points, rounded up, is exact. Proof: docs/theory/native_walks.md.

    References
    ----------
    G. Owen (1972). Multilinear extensions of games. Management Science 18, P64-P79.
    """

    terms: LeafTerms
    native: KnownStructure
    X: np.ndarray
    targets: tuple[np.ndarray, ...]
    units: tuple[np.ndarray, ...]
    weights: np.ndarray

    def __call__(self, examples: np.ndarray) -> ClosedFormBatch:
        players = len(self._player_start) - 1
        parts = np.zeros((len(examples), len(self.targets), players))
        for start in range(0, len(examples), EXAMPLES_TOGETHER):
            lanes = np.resize(
                examples[start : start + EXAMPLES_TOGETHER], EXAMPLES_TOGETHER
            )  # the last ones are filled up with the first
            count = len(examples[start : start + EXAMPLES_TOGETHER])
            terms = self.terms.by_output(self.native.represent(self.X[lanes])[0])
            for number, (target, unit) in enumerate(zip(self.targets, self.units, strict=True)):
                for k in np.flatnonzero(np.isfinite(unit)):
                    values = self._values(terms[k], target[lanes, k]) / unit[k] ** 2
                    parts[start : start + count, number] += values.T[:count]
        parts *= self.weights[examples][:, None, None]
        return ClosedFormBatch(parts.sum(axis=0), parts)

    def _values(self, terms: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Returns the values (p, n) of the terms (M, n) of one output."""
        from clarysage.structure.kernels.leaf_terms import squared_values

        values, nothing = np.empty((len(self._player_start) - 1, terms.shape[1])), terms[0].copy()
        terms[0] -= y
        squared_values(terms, self.terms.sets.sizes, self._player_start, *self._edges, *self._quadrature, values)
        terms[0] = nothing
        return values

    @cached_property
    def _order(self) -> np.ndarray:
        """The order of edges by player."""
        return np.argsort(self._all_edges[2], kind="stable")

    @cached_property
    def _edges(self) -> tuple[np.ndarray, np.ndarray]:
        """The edges A and A without i, sorted by i."""
        return self._all_edges[0][self._order], self._all_edges[1][self._order]

    @cached_property
    def _player_start(self) -> np.ndarray:
        """The first edge of each player, (p + 1,)."""
        return np.searchsorted(self._all_edges[2][self._order], np.arange(self.terms.players + 1))

    @property
    def _all_edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        edges = self.terms.sets.edges
        assert edges is not None, "only numbers of all 2^p sets have no edges"
        return edges

    @cached_property
    def _quadrature(self) -> tuple[np.ndarray, np.ndarray]:
        """The Gauss-Legendre points and weights on [0, 1]."""
        points, weights = np.polynomial.legendre.leggauss(quadrature_points(self.terms))
        return (1 + points) / 2, weights / 2


def quadrature_points(terms: LeafTerms) -> int:
    """Returns the number of points at which the quadrature over q is exact."""
    return max(1, min(int(terms.sets.sizes.max(initial=0)), -(-terms.players // 2)))


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

    def __call__(self, examples: np.ndarray) -> ClosedFormBatch:
        a = self.terms(self.native.represent(self.X[examples])[0])[:, :, list(self.outputs)]  # (n, M, L)
        n, count, losses = a.shape
        if self._shares is None:  # each term but the first belongs to one player, in their order
            parts = np.moveaxis(a[:, 1:], 2, 1)
        else:
            parts = (np.moveaxis(a, 2, 1).reshape(n * losses, count) @ self._shares).reshape(n, losses, -1)
        parts = parts * self.weights[examples][:, None, None]
        return ClosedFormBatch(parts.sum(axis=0), parts)

    @cached_property
    def _shares(self) -> scipy.sparse.csr_matrix | None:
        """The shares 1 / |A| of players in terms, (M, p); None where each term belongs to one player."""
        if not isinstance(self.terms, LeafTerms):
            return None
        sets = self.terms.sets
        assert sets.edges is not None, "only numbers of all 2^p sets have no edges"
        of_set, _, player = sets.edges
        shape = (sets.count, self.terms.players)
        return scipy.sparse.csr_matrix((1 / sets.sizes[of_set], (of_set, player)), shape=shape)


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


def in_units(unit: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns arrays with a last axis of outputs in the units (K,) of a loss; units of one leave them as they are."""
    return arrays if (unit == 1).all() else tuple(array / unit for array in arrays)


def _additive_values(nothing: np.ndarray, a: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Returns the values (n, p) of examples under squared error of an additive model, summed over outputs."""
    return np.asarray(np.einsum("npk,nk->np", a, 2 * (target - nothing) - a.sum(axis=1)))


def _by_sums(game: ModelGame, native: KnownStructure, parts: Expansion) -> AnalyticForm | None:
    linear, k = parts.linear_terms(), native.structure.representation.n_margins
    terms = parts.leaf_terms(most_sets=MOST_SETS // k) if linear is None else linear
    if terms is None:
        return None
    how = OF_LINEAR if linear is not None else _of_terms(terms.count)
    of_output = [ability(loss, OutputLoss) for loss in game.losses]
    outputs = tuple(loss.number for loss in of_output if loss is not None)
    of_terms = k * game.X.shape[1] * OF_ENTRY
    if isinstance(terms, LeafTerms):
        of_terms = _seconds_of_terms(native, terms)
    seconds = len(game.X) * (k * terms.count * OF_SUM + of_terms)
    solve = Sums(terms, native, game.X, outputs, game.weights)
    return AnalyticForm(
        how, solve, max(1, NUMBERS_AT_ONCE // (terms.count * k)), seconds, _seconds_of_pair(game, parts)
    )


def _by_squares(game: ModelGame, native: KnownStructure, parts: Expansion) -> AnalyticForm | None:
    k = native.structure.representation.n_margins
    units = tuple(units_of(loss, k) for loss in game.losses)
    data = (native, game.X, game.targets, units, game.weights)
    linear, pair = parts.linear_terms(), _seconds_of_pair(game, parts)
    if linear is not None:
        at_once = max(1, NUMBERS_AT_ONCE // (game.n_players * k))
        matched = ability(game, SelfMatched)
        self_match = None if matched is None else matched.self_match
        form = Additive(linear, *data, parts.row_weights, self_match)
        return AnalyticForm(OF_LINEAR, form, at_once, game.X.size * k * OF_ENTRY, pair, form.influence)
    terms = parts.leaf_terms(most_sets=MOST_SETS // k)
    if terms is None:
        return None
    assert terms.sets.edges is not None, "only numbers of all 2^p sets have no edges"
    solved, edges = sum(int(np.isfinite(unit).sum()) for unit in units), len(terms.sets.edges[0])
    of_edge = OF_EDGE if terms.count <= SETS_IN_CACHE else OF_DISTANT_EDGE
    of_example = _seconds_of_terms(native, terms) + solved * 2 * quadrature_points(terms) * edges * of_edge
    together = min(SECONDS_AT_ONCE / of_example, NUMBERS_AT_ONCE // (game.n_players * len(game.losses)))
    solve, seconds = SquaredSums(terms, *data), len(game.X) * of_example
    at_once = int(min(max(together, 1), EXAMPLES_AT_ONCE))
    quick_pair = _seconds_of_pair(game, parts, OF_QUICK_TREE_WALK, OF_QUICK_PAIR)
    return AnalyticForm(
        _of_terms(terms.count),
        solve,
        at_once,
        seconds,
        quick_pair,
        at_least=EXAMPLES_TOGETHER,
        short_time=SHORT_TIME,
    )


def _seconds_of_terms(native: KnownStructure, terms: LeafTerms) -> float:
    """Returns the seconds that the terms of an example take, by the changes of terms of a few background rows."""
    rows = native.inner[:COUNTED_ROWS]
    return len(terms.trees.values) * OF_LEAF + terms.trees.n_margins * terms.changes(rows) / len(rows) * OF_ENTRY


def _of_terms(count: int) -> str:
    """Returns the reason, for users, why the values of trees have a closed form."""
    terms = f"{count:,} term{'s' * (count != 1)}"
    return f"the trees are a sum of {terms} of few features each, whose values have a formula"


def _by_terms(game: ModelGame, native: KnownStructure, parts: Expansion) -> AnalyticForm | None:
    linear = parts.linear_terms()
    terms = parts.leaf_terms(by_number=True) if linear is None else linear
    if terms is None:
        return None
    p, k = game.n_players, native.structure.representation.n_margins
    of_terms = _seconds_of_terms(native, terms) if isinstance(terms, LeafTerms) else 0.0
    seconds = of_terms + 2**p * (p * k * OF_SUM + (len(game.losses) + p) * OF_LOSS)
    solve = Coalitions(FromTerms(terms, native, p), game.X, game.losses, game.targets, game.weights, game.floor)
    source = "the leaves of the trees" if linear is None else "the weights of the linear model"
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


def _seconds_of_pair(
    game: ModelGame, parts: Expansion, of_tree_walk: float = OF_TREE_WALK, of_pair: float = OF_PAIR
) -> float:
    """Returns the expected seconds of a pair of antithetic walks."""
    trees = 1 if parts.trees is None else len(parts.trees.roots)
    subsampled = ability(game, SubsampledWalks)
    rows = 0 if subsampled is None else subsampled.rows
    return float(of_pair + 2 * rows * trees * of_tree_walk)
