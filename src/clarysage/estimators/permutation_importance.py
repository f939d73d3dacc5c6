"""Permutation importance: every player left out in turn, on every example, with one drawn row in its place.

That is Breiman's (2001) measure of a model's reliance on a feature (Fisher, Rudin & Dominici 2019), repeated.

References
----------
L. Breiman (2001). Random forests. Machine Learning 45, 5-32.
A. Fisher, C. Rudin, F. Dominici (2019). All models are wrong, but many are useful. JMLR 20 (177), 1-81.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.errors import InputError, PythonOnly
from clarysage.estimators.draws import rows_per_chunk, scale
from clarysage.inference.estimate import Coverage, Estimate, StopReason, VarianceComponents
from clarysage.inference.influence import BackgroundInfluence
from clarysage.inference.moments import Moments
from clarysage.protocols import DrawsSingly, Game, SelfMatched, ability

FEWEST = 5  # repeats, before their scatter says anything ...
FEWEST_DRAWS = 4096  # ... or more where they are cheap: a run that stops by an error of few degrees stops too early


@dataclass(frozen=True)
class Repeated:
    """Sums over repeats.

    Attributes
    ----------
    moments : of the values (L, p), a repeat a draw
    parts : (N, L, p) what examples of positive weight add to the values
    squares : (L, p) of what they add, over examples and repeats
    rows, row_squares : (m, L, p) how values lean on background rows, and the squares of that; None where unknown
    clipped, asked : payoffs that a loss bounded, and model rows
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
    r"""Values from repeats, in each of which every example has one draw for every player.

    .. math:: \hat\phi_i = \frac1R \sum_r \sum_x w_x \big[ \ell(f(x_{-i}, b_{i, r(x)}), y) - \ell(f(x), y) \big]

    A draw is a repeat. Within one the background rows are shared out evenly over the examples, as a permutation does:
    what a row does to all examples alike is then no noise. The variance of values is that over repeats. For games of
    single draws (:class:`~clarysage.games.single_draws.SingleDraws`); ``count`` repeats, or as many as rules ask for.
    """

    count: int | None = None
    name: str = "repeats"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Repeated,)

    def check(self, game: Game) -> None:
        if ability(game, DrawsSingly) is None:
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
            found = drawn.without(i, examples, shared_out(n, draws, rng))
            gains = w[:, None, None] * (full[:, None] - found.payoffs)  # (n, draws, L)
            values[:, :, i], parts[:, :, i], squares[:, i] = gains.sum(0), gains.sum(1), (gains**2).sum((0, 1))
            if rows is not None and row_squares is not None:
                rows[:, :, i], row_squares[:, :, i] = leant(gains, found.background_index, w, len(rows))
            clipped, asked = clipped + int((found.payoffs <= game.floor).sum()), asked + found.rows
        return Repeated(Moments.of(values), parts, squares, rows, row_squares, clipped, asked)

    def merge(self, one: Repeated, other: Repeated) -> Repeated:
        return Repeated(
            one.moments.merge(other.moments),
            one.parts + other.parts,
            one.squares + other.squares,
            None if one.rows is None or other.rows is None else one.rows + other.rows,
            None if one.row_squares is None or other.row_squares is None else one.row_squares + other.row_squares,
            one.clipped + other.clipped,
            one.asked + other.asked,
        )

    def components(self, game: Game, state: Repeated) -> VarianceComponents:
        """Contributions of examples, and the influence of background rows.

        Contributions scatter over examples by what draws do to each of them, as if these drew independently. Rows are
        shared out, so that values have less of that, or at times more: the residual is the difference.
        """
        R, parts = state.moments.count, state.parts / state.moments.count
        variance = state.moments.covariance_of_mean()
        variance = variance if variance.ndim == 2 else np.einsum("lii->li", variance)
        within = (state.squares - (state.parts**2).sum(axis=0) / R) / (R * (R - 1))
        return VarianceComponents(
            parts,
            between=np.zeros_like(within),
            residual=variance - within,
            dof=len(parts) - 1.0,
            background=self._background(game, state, parts),
            background_weights=_single_draws(game).background_weights,
        )

    def _background(self, game: Game, state: Repeated, parts: np.ndarray) -> BackgroundInfluence | None:
        """Values are means over background rows; an example that is one of them adds nothing to its own value.

        An infinite background would have no such row, so values are corrected by what it would add in its place.
        """
        if state.rows is None or state.row_squares is None:
            return None
        R, none = state.moments.count, np.zeros(parts.shape[1:])
        noise = (state.row_squares - state.rows**2 / R).sum(axis=0) / (R * (R - 1))
        correction = none
        matched, background_weights = ability(game, SelfMatched), _single_draws(game).background_weights
        if matched is not None and matched.self_match is not None and background_weights is not None:
            row = matched.self_match[game.weights > 0]
            share = np.where(row >= 0, background_weights[row], 0.0)
            correction = np.einsum("n,nlp->lp", share / (1 - share), parts)
        return BackgroundInfluence(state.rows / R, noise, correction, none)

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


def _single_draws(game: Game) -> DrawsSingly:
    drawn = ability(game, DrawsSingly)
    assert drawn is not None, "the game was checked"
    return drawn


@dataclass(frozen=True)
class AfterRepeats:
    """The rule that ends a run after so many repeats of so many examples."""

    repeats: int
    examples: int

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return StopReason.REPEATED if estimate.draws >= self.repeats * self.examples else None


def shared_out(n: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Places (n, draws) from 0 to 1, in each column one in every n-th, in random order.

    Examples
    --------
    >>> np.sort(shared_out(4, 2, np.random.default_rng(0)) // 0.25, axis=0).T
    array([[0., 1., 2., 3.],
           [0., 1., 2., 3.]])
    """
    return np.asarray(rng.permuted((np.arange(n)[:, None] + rng.random((n, draws))) / n, axis=0))


def leant(gains: np.ndarray, picks: np.ndarray, weights: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """How the values of repeats lean on background rows, and the squares of that, summed over repeats, (m, L) each.

    gains (n, r, L), picks (n, r), weights (n,). Of a repeat it is the sum of what was gained with a row, less the share
    of the value that examples of their weight have: on average the derivative of the value in the row's mass, times
    that mass, but for one part in n. What was not drawn in a repeat has no part in it, and no place in memory where
    rows are many.
    """
    r = picks.shape[1]
    place = (picks + m * np.arange(r)).ravel()
    met, which = (np.arange(r * m), place) if m <= len(picks) else np.unique(place, return_inverse=True)
    share = np.bincount(which, np.repeat(weights, r), minlength=len(met))
    rows, squares = (np.empty((m, gains.shape[2])) for _ in range(2))
    for number, one in enumerate(np.moveaxis(gains, 2, 0)):
        c = np.bincount(which, one.ravel(), minlength=len(met)) - share * one.sum(axis=0)[met // m]
        rows[:, number], squares[:, number] = (np.bincount(met % m, part, minlength=m) for part in (c, c**2))
    return rows, squares
