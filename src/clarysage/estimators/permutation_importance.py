"""Permutation importance: every player is left out in turn, on every example, with one drawn row in its place.

This is Breiman's (2001) measure of a model's reliance on a feature (Fisher, Rudin & Dominici 2019), repeated.

References
----------
L. Breiman (2001). Random forests. Machine Learning 45, 5-32.
A. Fisher, C. Rudin, F. Dominici (2019). All models are wrong, but many are useful. JMLR 20(177), 1-81.
M. D. McKay, R. J. Beckman, W. J. Conover (1979). A comparison of three methods for selecting values of input variables
in the analysis of output from a computer code. Technometrics 21, 239-245.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.errors import InputError, PythonOnly
from clarysage.estimators.draws import scale
from clarysage.estimators.limits import rows_per_chunk
from clarysage.inference.degrees_of_freedom import Estimated
from clarysage.inference.estimate import Coverage, Estimate, StopReason, VarianceComponents
from clarysage.inference.influence import BackgroundInfluence
from clarysage.inference.moments import Moments
from clarysage.protocols import Game, SelfMatched, SingleDrawGame, ability

FEWEST = 5  # repeats; their variance needs as many ...
FEWEST_DRAWS = 4096  # ... or more, if they are cheap: with few degrees of freedom a run stops too early


@dataclass(frozen=True)
class Repeated:
    """The state of the estimator: sums over the repeats so far.

    Attributes
    ----------
    moments : of the values (L, p), with a repeat for a draw
    parts : (N, L, p) contributions of examples of positive weight to the values
    squares : (L, p) of these contributions, summed over examples and repeats
    rows, row_squares : (m, L, p) influence of background rows on values, and its squares; None if unknown
    clipped, asked : number of payoffs with a clipped loss, and of model rows
    """

    moments: Moments
    parts: np.ndarray
    squares: np.ndarray
    rows: np.ndarray | None
    row_squares: np.ndarray | None
    clipped: int
    asked: int


@dataclass(frozen=True)
class Repeats:
    r"""Permutation importance by repeats, in each of which every example has one draw for every player.

    .. math:: \hat\phi_i = \frac1R \sum_r \sum_x w_x \big[ \ell(f(x_{-i}, b_{i, r(x)}), y) - \ell(f(x), y) \big]

    A draw is a repeat. Within a repeat the background rows are distributed evenly over the examples, as by a
    permutation, so effects that a row has on all examples cause no noise. The variance of values is that over repeats.
    For games of single draws (:class:`~clarysage.games.single_draws.SingleDraws`); ``count`` repeats, or as many as
    stopping rules ask for.
    """

    count: int | None = None
    name: str = "repeats"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Repeated,)

    def check(self, game: Game) -> None:
        if ability(game, SingleDrawGame) is None:
            got = f"{self.name!r} for a game of mean predictions"
            hint = PythonOnly("SingleDraws.of(...) in place of PredictivePower.of(...)")
            raise InputError("method", got=got, wanted="single draws", hint=hint)

    def chunk(self, game: Game) -> int:
        return max(_single_draws(game).draws_at_once, rows_per_chunk(game) // self.rows(game, 1))

    def pause(self, game: Game, made: int) -> int:
        first = max(FEWEST, -(-FEWEST_DRAWS // int((game.weights > 0).sum())))
        following = made + max(FEWEST, made // 4) if made else first
        return following if self.count is None else min(self.count, following)

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return int(draws * game.n_players * (game.weights > 0).sum())

    def limit(self, game: Game) -> None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Repeated:
        examples = np.flatnonzero(game.weights > 0)
        drawn = _single_draws(game)
        w, full, background_weights = game.weights[examples], game.ends[1][examples], drawn.background_weights
        n, losses, p = len(examples), full.shape[1], game.n_players
        values, parts, squares = np.empty((draws, losses, p)), np.empty((n, losses, p)), np.empty((losses, p))
        rows, row_squares = (
            None if background_weights is None else np.empty((len(background_weights), losses, p)) for _ in range(2)
        )
        clipped = asked = 0
        for i in range(p):
            single = drawn.without(i, examples, stratified_levels(n, draws, rng))
            gains = w[:, None, None] * (full[:, None] - single.payoffs)  # (n, draws, L)
            values[:, :, i], parts[:, :, i], squares[:, i] = gains.sum(0), gains.sum(1), (gains**2).sum((0, 1))
            if rows is not None and row_squares is not None:
                rows[:, :, i], row_squares[:, :, i] = influence_of_rows(gains, single.background_index, w, len(rows))
            clipped, asked = clipped + int((single.payoffs <= game.floor).sum()), asked + single.rows
        return Repeated(Moments.of(values), parts, squares, rows, row_squares, clipped, asked)

    def merge(self, state: Repeated, other: Repeated) -> Repeated:
        return Repeated(
            state.moments.merge(other.moments),
            state.parts + other.parts,
            state.squares + other.squares,
            None if state.rows is None or other.rows is None else state.rows + other.rows,
            None if state.row_squares is None or other.row_squares is None else state.row_squares + other.row_squares,
            state.clipped + other.clipped,
            state.asked + other.asked,
        )

    def components(self, game: Game, state: Repeated) -> VarianceComponents:
        """Returns contributions of examples, and the influence of background rows.

        The variance of contributions over examples includes that of draws, as if examples drew independently. Rows are
        distributed evenly, so that the variance of values due to draws is smaller, or at times larger: the residual is
        the difference.
        """
        R, parts = state.moments.count, state.parts / state.moments.count
        within = (state.squares - (state.parts**2).sum(axis=0) / R) / (R * (R - 1))
        return VarianceComponents(
            parts,
            between=np.zeros_like(within),
            residual=Estimated.mean_of(state.moments).variance - within,
            dof=len(parts) - 1.0,
            background=self._background(game, state, parts),
            background_weights=_single_draws(game).background_weights,
        )

    def _background(self, game: Game, state: Repeated, parts: np.ndarray) -> BackgroundInfluence | None:
        """Returns the influence of background rows; None if it is unknown.

        Values are means over background rows, and an example that is a background row contributes nothing when it is
        drawn for itself. An infinite background has no such row, so the bias correction replaces it by the others.
        """
        if state.rows is None or state.row_squares is None:
            return None
        R, zeros = state.moments.count, np.zeros(parts.shape[1:])
        noise = (state.row_squares - state.rows**2 / R).sum(axis=0) / (R * (R - 1))
        correction = zeros
        matched, background_weights = ability(game, SelfMatched), _single_draws(game).background_weights
        if matched is not None and matched.self_match is not None and background_weights is not None:
            row = matched.self_match[game.weights > 0]
            share = np.where(row >= 0, background_weights[row], 0.0)
            correction = np.einsum("n,nlp->lp", share / (1 - share), parts)
        return BackgroundInfluence(state.rows / R, noise, correction, zeros)

    def read(self, game: Game, state: Repeated) -> Estimate:
        R, n = state.moments.count, len(state.parts)
        return Estimate(
            values=state.moments.mean,
            covariance=state.moments.covariance_of_mean(),
            dof=np.full(state.moments.mean.shape, max(1.0, R - 1.0)),
            draws=R * n,
            model_rows=game.rows_spent + state.asked,
            scale=scale(game),
            coverage=Coverage(draws_to_see_all=float(n)),
            clipped=state.clipped,
        )


def _single_draws(game: Game) -> SingleDrawGame:
    drawn = ability(game, SingleDrawGame)
    assert drawn is not None, "the game was checked"
    return drawn


@dataclass(frozen=True)
class AfterRepeats:
    """A stopping rule that ends a run after a number of repeats, each of which takes a draw for every example."""

    repeats: int
    examples: int

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return StopReason.REPEATED if estimate.draws >= self.repeats * self.examples else None


def stratified_levels(n: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draws quantile levels (n, draws) from 0 to 1: in each column one from every n-th, in random order.

    This is Latin hypercube sampling (McKay, Beckman & Conover 1979) of n points with one dimension for each draw.

    Examples
    --------
    >>> np.sort(stratified_levels(4, 2, np.random.default_rng(0)) // 0.25, axis=0).T
    array([[0., 1., 2., 3.],
           [0., 1., 2., 3.]])
    """
    return np.asarray(rng.permuted((np.arange(n)[:, None] + rng.random((n, draws))) / n, axis=0))


def influence_of_rows(
    gains: np.ndarray, background_index: np.ndarray, weights: np.ndarray, m: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the influence of m background rows on the values, and its squares, summed over repeats, (m, L) each.

    gains (n, r, L), background_index (n, r), weights (n,). In a repeat the influence of a row is the sum of the gains
    of examples that drew it, less the share of the value that these examples have by their weights. Its mean is the
    derivative of the value in the weight of the row, times that weight, up to one part in n. Rows that were not drawn
    in a repeat have no influence there, and take no memory if rows are many.
    """
    r = background_index.shape[1]
    row_of_repeat = (background_index + m * np.arange(r)).ravel()  # rows of the first repeat, then of the second, ...
    if m <= len(background_index):
        drawn, which = np.arange(r * m), row_of_repeat
    else:
        drawn, which = np.unique(row_of_repeat, return_inverse=True)
    share = np.bincount(which, np.repeat(weights, r), minlength=len(drawn))
    rows, squares = (np.empty((m, gains.shape[2])) for _ in range(2))
    for loss, gain in enumerate(np.moveaxis(gains, 2, 0)):
        c = np.bincount(which, gain.ravel(), minlength=len(drawn)) - share * gain.sum(axis=0)[drawn // m]
        rows[:, loss], squares[:, loss] = (np.bincount(drawn % m, sums, minlength=m) for sums in (c, c**2))
    return rows, squares
