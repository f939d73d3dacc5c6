"""What paired walks find out about a game before they begin, with draws that are then put aside."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clarysage.coalitions import permutations
from clarysage.estimators.antithetic import rows_of_pair, walk_pairs
from clarysage.estimators.bias_correction import Comparisons
from clarysage.estimators.draws import draw_examples
from clarysage.estimators.sampling_design import NUMBERS_KEPT, Tour, care_needed
from clarysage.protocols import Game, SubsampledGame, ability

SHARE_OF_BUDGET = 1 / 16  # for each of the two that follow
WALKS = 128  # with one background row, to see which players matter
PAIRS_OF_PAIRS, COMPARISONS = 8, 8  # to see how far they scatter
FIRST_COMPARISONS = 16  # so that there is an error to tell from them
UNTRIED, FEWEST, MOST = 1 / 8, 1 / 20, 1.0  # model rows of comparisons for each row of walks


@dataclass(frozen=True)
class Plan:
    """What paired walks know of a game before the first draw.

    Attributes
    ----------
    tour : which example each draw looks at
    comparisons : how few background rows are compared with all of them
    per_draw : comparisons a draw; 0 where there is no bias to take off
    rows : model rows spent to find this out
    keep : whether to remember the hybrid rows that went to the model
    reaches : whether to look beyond the given background
    whole : whether walks look at all background rows, not at few
    """

    tour: Tour
    comparisons: Comparisons
    per_draw: float = 0.0
    rows: int = 0
    keep: bool = False
    reaches: bool = False
    whole: bool = False

    @property
    def active(self) -> np.ndarray:
        """Players (p,) that matter."""
        return self.comparisons.active

    @property
    def skip(self) -> bool:
        """Whether the model repeats itself, so that known predictions need not be asked again."""
        return self.comparisons.skip

    def compared(self, draws: int) -> int:
        """How many comparisons belong to the first so many draws."""
        return min(draws, FIRST_COMPARISONS) + int(self.per_draw * draws) if self.per_draw else 0


def planned(game: Game, rows: float, rng: np.random.Generator) -> Plan:
    """A plan for a run of so many model rows."""
    p, subsampled, care = game.n_players, ability(game, SubsampledGame), care_needed(game)
    if subsampled is None or p == 1:
        return Plan(Tour.of(game, care, rng), Comparisons(game.weights, np.ones(p, dtype=bool), skip=True))
    skip, spent = subsampled.repeats()
    spare = SHARE_OF_BUDGET * max(0.0, rows - spent - _least(game, subsampled))
    active, more = find_active(game, subsampled, skip, spare, rng)
    comparisons = Comparisons(care if subsampled.errs_with_loss else game.weights, active, skip)
    tour = Tour.of(game, care, rng)
    numbers = len(tour.groups) * len(subsampled.background_weights) * p * game.ends[0].shape[1]
    plan = Plan(tour, comparisons, rows=spent + more, reaches=subsampled.is_sampled and numbers <= NUMBERS_KEPT)
    if subsampled.is_unbiased:
        return plan
    share, more = _compared(game, comparisons, spare, rng)
    return replace(plan, per_draw=share * rows_of_pair(game) / comparisons.cost(game), rows=plan.rows + more)


def _least(game: Game, subsampled: SubsampledGame) -> int:
    """Model rows of the shortest run: two pairs, with their comparisons."""
    return 2 * rows_of_pair(game) if subsampled.is_unbiased else 4 * rows_of_pair(game) + 2 * Comparisons.cost(game)


def find_active(
    game: Game, subsampled: SubsampledGame, skip: bool, rows: float, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Players that changed a prediction on some walk; all of them where that is not known or makes no difference."""
    p = game.n_players
    walks = int(min(WALKS, rows // (p - 1)))
    if not skip or walks == 0 or subsampled.takes_all:
        return np.ones(p, dtype=bool), 0
    return subsampled.moves(draw_examples(game, walks, rng), permutations(walks, p, rng), rng)


def _compared(game: Game, comparisons: Comparisons, rows: float, rng: np.random.Generator) -> tuple[float, int]:
    r"""Model rows to spend on comparisons for each row of walks, so that the error is least, and those spent to see.

    .. math:: n_1 c_1 / (n_0 c_0) = \sqrt{V_1 c_1 / (V_0 c_0)}

    V_0 and c_0 are the variance and the cost of a pair of walks, within an example; V_1 and c_1 those of a comparison.
    """
    c_0, c_1 = rows_of_pair(game), comparisons.cost(game)
    if 2 * PAIRS_OF_PAIRS * c_0 + COMPARISONS * c_1 > rows:
        return UNTRIED, 0
    examples = draw_examples(game, PAIRS_OF_PAIRS, rng)
    orders = permutations(2 * PAIRS_OF_PAIRS, game.n_players, rng)
    pairs = walk_pairs(game, np.repeat(examples, 2), orders, comparisons.active, rng, skip=comparisons.skip)
    within = (pairs.found[::2] - pairs.found[1::2]) ** 2 / 2  # (n, L, p)
    weight = game.weights[examples] * (game.weights > 0).sum()
    off, more = comparisons.draw(game, COMPARISONS, rng)
    V_0 = (weight[:, None, None] * within).mean(axis=0).max(axis=1)
    V_1 = (off**2).mean(axis=0).max(axis=1)  # (L,)
    ratio = np.divide(V_1, V_0, out=np.where(V_1 > 0, np.inf, 0.0), where=V_0 > 0).max()
    return float(np.clip(np.sqrt(ratio * c_1 / c_0), FEWEST, MOST)), pairs.rows + more
