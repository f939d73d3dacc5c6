"""Paired walks: an order of the players and its reverse, on the same example, with few background rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from clarysage.coalitions import permutations
from clarysage.estimate import Estimate
from clarysage.estimators.draws import ROWS_PER_CHUNK, contributions, draw_examples, scale
from clarysage.estimators.tour import Tour
from clarysage.inference.moments import Moments
from clarysage.inference.stopping import FEWEST_DRAWS
from clarysage.inference.sums import Estimated, added
from clarysage.inference.visits import Visits, estimated_sum
from clarysage.protocols import Game, ShortWalks, Walks

PILOT_WALKS = 128  # with one background row, to see which players matter
PILOT_COMPARISONS = 6  # with all background rows, to see how far few are off
PILOT_SHARE = 1 / 16  # of a budget, for each of the two
FIRST_COMPARISONS = 4
COMPARISONS_UNTRIED = 1 / 32  # a draw, where a budget leaves no room to find out
NUMBERS_REMEMBERED = 20_000_000  # cells of rows that went to the model
VARYING = (
    "The model gives other predictions when it is asked again for the same rows: every hybrid row was evaluated, and "
    "the values hold the model's own noise."
)


Asked = tuple[np.ndarray, np.ndarray]  # rows that went to the model, and its answers


@dataclass(frozen=True)
class Plan:
    """What paired walks know of a game before the first draw.

    Attributes
    ----------
    tour : which example each draw looks at
    active : (p,) players that matter
    comparisons : walks with all background rows for each pair with few, to take their bias off; 0 where there is none
    skip : whether the model repeats itself, so that known predictions need not be asked again
    rows : model rows spent to find this out
    keep : whether to remember the hybrid rows that went to the model
    """

    tour: Tour
    active: np.ndarray
    comparisons: float = 0.0
    skip: bool = True
    rows: int = 0
    keep: bool = False

    def compared(self, draws: int) -> int:
        """How many comparisons belong to the first so many draws."""
        return min(draws, FIRST_COMPARISONS + math.ceil(self.comparisons * draws)) if self.comparisons else 0


@dataclass(frozen=True)
class Walked:
    """Visits to examples, comparisons of few background rows with all of them, clipped payoffs, model rows.

    ``asked`` holds hybrid rows with the model's answers, where a plan keeps them.
    """

    visits: Visits
    comparisons: Moments | None
    draws: int
    clipped: int
    rows: int
    asked: tuple[Asked, ...] = ()


@dataclass(frozen=True)
class PairedWalks:
    r"""Walks in pairs: players enter in a random order, and in its reverse, on the same example.

    Four ideas, none of which changes what is estimated, the Shapley values of Eq. 6 for the given examples and
    background:

    - Every example is visited equally often, in passes, so that differences between examples are no error.
    - The two walks of a pair err in opposite directions. For an additive model and squared error
      Delta_i(S) = h_i (2 (y - c) - h_i - 2 sum_{j in S} h_j), and i's predecessors in the two orders are together all
      other players: the mean of the pair does not depend on the order at all.
    - A walk looks at few background rows, and keeps to them, instead of averaging over all. How a loss is then
      estimated without bias, or nearly so, is its own affair (:mod:`clarysage.losses.few_forms`).
    - What bias is left is taken off by a few comparisons, pairs with all background rows and with few:
      phi = E[D_few] + E[D_all - D_few]. How many is decided by variances measured beforehand.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> from clarysage.estimators import estimate
    >>> estimate(TabularGame([0, 1, 2, 4]), PairedWalks(), seed=0).values
    array([[1.5, 2.5]])
    """

    plan: Plan | None = None
    name: str = "paired walks"

    def check(self, game: Game) -> None:
        """Any game can be walked."""

    def prepared(self, game: Game, rows: float, rng: np.random.Generator, state: Walked | None = None) -> PairedWalks:
        return replace(self, plan=_plan(game, rows, rng)) if self.plan is None else self

    def chunk(self, game: Game) -> int:
        return max(1, ROWS_PER_CHUNK // 2 // max(1, rows_of_pair(game)))

    def pause(self, game: Game, made: int) -> int:
        """A quarter more; the end of the second pass is not walked past, where errors fall to those within examples."""
        length = int((game.weights > 0).sum())
        ends = [end for end in (length, 2 * length) if end > max(made, FEWEST_DRAWS)]
        return min([max(FEWEST_DRAWS, made + made // 4), *ends])

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        plan = self.known()
        more = plan.compared(first + draws) - plan.compared(first)
        comparisons = more * 2 * (game.n_players - 1) * game.rows_per_payoff
        return (0 if first else plan.rows) + draws * rows_of_pair(game) + comparisons

    def limit(self, game: Game) -> int | None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Walked:
        plan = self.known()
        examples = plan.tour.examples(first, draws)
        orders = permutations(draws, game.n_players, rng)
        both = np.vstack([orders, orders[:, ::-1]])
        walks = _walk(game, np.tile(examples, 2), both, plan, rng)
        found = contributions(walks.payoffs, both)  # (2 n, L, p)
        pairs = (found[:draws] + found[draws:]) / 2
        visits = Visits.of(plan.tour.cell[examples], game.weights[examples][:, None, None] * pairs)
        comparisons, more = _compare(game, plan, plan.compared(first + draws) - plan.compared(first), rng)
        clipped = int((walks.payoffs <= game.floor).sum())
        return Walked(
            visits, comparisons, draws, clipped, walks.rows + more, () if walks.asked is None else (walks.asked,)
        )

    def merge(self, one: Walked, other: Walked) -> Walked:
        """Both together; ``one`` may be changed, so that a long run does not copy what it has at each step."""
        cells = len(self.known().tour.size)
        visits = one.visits if len(one.visits.count) == cells else one.visits.spread(cells)
        visits.add(other.visits)
        both = [part for part in (one.comparisons, other.comparisons) if part is not None]
        comparisons = both[0].merge(both[1]) if len(both) == 2 else both[0] if both else None
        return Walked(
            visits,
            comparisons,
            one.draws + other.draws,
            one.clipped + other.clipped,
            one.rows + other.rows,
            _kept(one.asked, other.asked),
        )

    def estimated(self, state: Walked) -> Estimated:
        """The values, with the bias of few background rows taken off as far as comparisons know it."""
        cells = len(self.tour.size)
        visits = state.visits if len(state.visits.count) == cells else state.visits.spread(cells)
        found = estimated_sum(visits, self.tour.size, self.tour.stratum)
        if not self.known().comparisons:
            return found
        if state.comparisons is None:  # none was made yet, so nothing is known of the bias
            return Estimated(found.values, np.full_like(found.covariance, np.inf), found.dof)
        return added([found, Estimated.mean_of(state.comparisons)], [1.0, 1.0])

    def read(self, game: Game, state: Walked) -> Estimate:
        found, plan, tour = self.estimated(state), self.known(), self.tour
        is_seen = np.zeros(len(game.weights), dtype=bool)
        is_seen[tour.order[: state.draws]] = True
        return Estimate(
            values=found.values,
            covariance=found.covariance,
            dof=found.dof,
            draws=state.draws,
            model_rows=game.rows_spent + plan.rows + state.rows,
            visited=float(game.weights[is_seen].sum()),
            unvisited=int(((game.weights > 0) & ~is_seen).sum()),
            draws_to_see_all=tour.draws_to_see_all,
            clipped=state.clipped,
            scale=scale(game),
            remark="" if plan.skip else VARYING,
        )

    @property
    def tour(self) -> Tour:
        return self.known().tour

    def known(self) -> Plan:
        """The plan, made before the first draw."""
        assert self.plan is not None, "an estimator is prepared before it draws"
        return self.plan


def rows_of_pair(game: Game) -> int:
    """Model rows of a pair of walks at most."""
    few = game.rows_per_payoff if game.short is None else game.short.rows
    return 2 * (game.n_players - 1) * few


def _walk(game: Game, examples: np.ndarray, orders: np.ndarray, plan: Plan, rng: np.random.Generator) -> Walks:
    if game.short is None:
        return Walks(game.walk(examples, orders, rng), len(examples) * rows_of_pair(game) // 2)
    return game.short.walk(examples, orders, plan.active, rng, skip=plan.skip, keep=plan.keep)


def _kept(one: tuple[Asked, ...], other: tuple[Asked, ...]) -> tuple[Asked, ...]:
    """Rows and answers of both, as many as may be remembered."""
    return one if sum(rows.size for rows, _ in one) >= NUMBERS_REMEMBERED else (*one, *other)


def _compare(game: Game, plan: Plan, count: int, rng: np.random.Generator) -> tuple[Moments | None, int]:
    """Moments of D_all - D_few over pairs of walks of independent examples, and the model rows they cost."""
    if count == 0 or game.short is None:
        return None, 0
    examples, orders = draw_examples(game, count, rng), permutations(count, game.n_players, rng)
    both = np.stack([orders, orders[:, ::-1]], axis=1).reshape(2 * count, -1)
    off, _, rows = _differences(game, np.repeat(examples, 2), both, plan.active, rng, plan.skip)
    return Moments.of((off[::2] + off[1::2]) / 2), rows


def _differences(
    game: Game, examples: np.ndarray, orders: np.ndarray, active: np.ndarray, rng: np.random.Generator, skip: bool
) -> tuple[np.ndarray, np.ndarray, int]:
    """D_all - D_few (n, L, p) of walks, the variance of D_few over draws (n, L, p), and the model rows they cost."""
    assert game.short is not None
    at_once = max(1, ROWS_PER_CHUNK // ((game.n_players - 1) * game.rows_per_payoff))
    found, spread, rows = [], [], 0
    for start in range(0, len(examples), at_once):
        part = slice(start, start + at_once)
        exact, few, more = game.short.compared(examples[part], orders[part], active, rng, skip=skip)
        n, groups = few.shape[:2]
        by_draw = contributions(few.reshape(n * groups, *few.shape[2:]), np.repeat(orders[part], groups, axis=0))
        by_draw = by_draw.reshape(n, groups, *by_draw.shape[1:])
        found.append(contributions(exact, orders[part]) - by_draw.mean(axis=1))
        spread.append(by_draw.var(axis=1, ddof=1))
        rows += more
    return np.concatenate(found), np.concatenate(spread), rows


def _plan(game: Game, rows: float, rng: np.random.Generator) -> Plan:
    tour, p, short = Tour.of(game, rng), game.n_players, game.short
    if short is None or p == 1:
        return Plan(tour, np.ones(p, dtype=bool))
    skip, spent = short.repeats()
    spare = max(0.0, rows - spent - _least(game, short))
    active, more = _active(game, short, skip, spare, rng)
    share, most = _comparisons(game, short, active, skip, spare, rng)
    return Plan(tour, active, share, skip, spent + more + most)


def _least(game: Game, short: ShortWalks) -> int:
    """Model rows of the shortest run: two pairs, with their comparisons."""
    comparison = 0 if short.is_unbiased else 2 * (game.n_players - 1) * game.rows_per_payoff
    return 2 * (rows_of_pair(game) + comparison)


def _active(game: Game, short: ShortWalks, skip: bool, rows: float, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Players that changed a prediction on some walk; all of them where that is not known or makes no difference."""
    p = game.n_players
    walks = int(min(PILOT_WALKS, rows * PILOT_SHARE // (p - 1)))
    if not skip or walks == 0 or short.takes_all:
        return np.ones(p, dtype=bool), 0
    return short.moves(draw_examples(game, walks, rng), permutations(walks, p, rng), rng, skip=skip)


def _comparisons(
    game: Game, short: ShortWalks, active: np.ndarray, skip: bool, rows: float, rng: np.random.Generator
) -> tuple[float, int]:
    r"""How many comparisons to make for each pair, so that both parts of the error fall at the least cost.

    .. math:: n_1 / n_0 = \sqrt{V_1 c_0 / (V_0 c_1)}

    V_1 is the variance of a comparison, V_0 that of few rows, both measured here; their costs are as the rows are.
    """
    if short.is_unbiased:
        return 0.0, 0
    p = game.n_players
    walks = int(min(PILOT_COMPARISONS, rows * PILOT_SHARE // ((p - 1) * game.rows_per_payoff)))
    if walks < 2:
        return COMPARISONS_UNTRIED, 0
    examples = draw_examples(game, walks, rng)
    off, variance, spent = _differences(game, examples, permutations(walks, p, rng), active, rng, skip)
    V_1, V_0 = (off**2).mean(axis=0).sum(axis=1), variance.mean(axis=0).sum(axis=1)  # (L,)
    ratio = np.divide(V_1, V_0, out=np.zeros_like(V_1), where=V_0 > 0).max()
    return float(np.clip(np.sqrt(ratio * short.rows / game.rows_per_payoff), 1 / 512, 1.0)), spent
