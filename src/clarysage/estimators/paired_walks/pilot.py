"""The pilot run of paired walks: what they learn about a game before they begin, from draws that do not count.

It tests whether the model is deterministic and which players have an effect, and chooses the numbers of pairs of walks
and of draws of their bias correction: in proportion to standard deviation over the square root of cost, as multilevel
Monte Carlo allocates samples to levels (Giles 2008).

References
----------
M. B. Giles (2008). Multilevel Monte Carlo path simulation. Operations Research 56, 607-617.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clarysage.coalitions import permutations
from clarysage.estimators.draws import draw_examples
from clarysage.estimators.paired_walks.antithetic import rows_of_pair, walk_pairs
from clarysage.estimators.paired_walks.bias_correction import BiasCorrection
from clarysage.estimators.paired_walks.sampling_design import MOST_NUMBERS, SamplingDesign, size_measure
from clarysage.protocols import Game, SubsampledGame, ability

SHARE_OF_BUDGET = 1 / 16  # share of the budget for each of the two steps that follow
WALKS = 128  # walks with one background row each, to find the players that have an effect
PAIRS_OF_PAIRS, CORRECTIONS = 8, 8  # draws to measure variances with
FIRST_CORRECTIONS = 16  # the first pairs of walks have a draw each, so that there is a standard error
DEFAULT_SHARE, MIN_SHARE, MAX_SHARE = 1 / 8, 1 / 20, 1.0  # model rows of the bias correction per model row of walks
CORRECTIONS_OF_PLAIN, MAX_SHARE_OF_PLAIN = 32, 8.0  # where walks do not correct their bias: it is larger, and seen less


@dataclass(frozen=True)
class Pilot:
    """The result of a pilot run: what paired walks know about a game before the first draw.

    Attributes
    ----------
    design : which example each draw looks at
    correction : samples the bias of subsamples of the background
    rows_of_pair : the most model rows of a pair of walks
    calls_model : whether walks call the model, and do not evaluate its known structure
    per_draw : draws of the correction for each pair of walks; 0 if there is no bias to correct
    rows : model rows of the pilot run
    keep : whether to keep the hybrid rows that were passed to the model
    influence_rows : background rows whose influence is estimated: all of them, or 0
    all_rows : whether walks take all background rows, not a subsample
    is_plain : whether walks have a bias that they do not correct themselves
    """

    design: SamplingDesign
    correction: BiasCorrection
    rows_of_pair: int
    calls_model: bool = True
    per_draw: float = 0.0
    rows: int = 0
    keep: bool = False
    influence_rows: int = 0
    all_rows: bool = False
    is_plain: bool = False

    def corrections(self, first: int, draws: int) -> int:
        """Returns the number of draws of the correction that belong to the pairs of walks from ``first`` on."""
        if not self.per_draw:
            return 0
        before, after = (min(n, FIRST_CORRECTIONS) + int(self.per_draw * n) for n in (first, first + draws))
        return after - before


def run_pilot(game: Game, rows: float, rng: np.random.Generator, *, corrects_bias: bool = True) -> Pilot:
    """Makes the pilot run before a run of at most ``rows`` model rows.

    Without ``corrects_bias`` the walks are for the influence of the background alone.
    """
    p, subsampled, size = game.n_players, ability(game, SubsampledGame), size_measure(game)
    pair, calls_model = rows_of_pair(game), subsampled is None or subsampled.calls_model
    if subsampled is None or p == 1:
        correction = BiasCorrection(game.weights, np.ones(p, dtype=bool), skip=True)
        return Pilot(SamplingDesign.of(game, size, rng), correction, pair, calls_model)
    skip, repeat_rows = subsampled.check_determinism()
    shortest_run = 2 * pair if subsampled.is_unbiased else 4 * pair + 2 * BiasCorrection.cost(game)
    budget = SHARE_OF_BUDGET * max(0.0, rows - repeat_rows - shortest_run)
    active, active_rows = find_active(game, subsampled, skip, budget, rng)
    correction = BiasCorrection(size if subsampled.error_grows_with_loss else game.weights, active, skip)
    design = SamplingDesign.of(game, size, rng)
    background_rows = len(subsampled.background_weights)
    numbers = len(design.groups) * background_rows * p * game.ends[0].shape[1]
    influence_rows = background_rows if subsampled.is_sampled and numbers <= MOST_NUMBERS else 0
    pilot_rows = repeat_rows + active_rows
    pilot = Pilot(design, correction, pair, calls_model, rows=pilot_rows, influence_rows=influence_rows)
    if subsampled.is_unbiased or not corrects_bias:
        return pilot
    share, allocation_rows = _share_of_correction(game, subsampled, correction, pair, budget, rng)
    if rows < 2 * pair:  # a deadline is near, and walks are so long that corrections would take most of the time
        share = min(share, correction.cost(game) / pair)
    per_draw, is_plain = share * pair / correction.cost(game), not subsampled.knows_bias
    return replace(pilot, per_draw=per_draw, rows=pilot_rows + allocation_rows, is_plain=is_plain)


def find_active(
    game: Game, subsampled: SubsampledGame, skip: bool, rows: float, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Returns players that changed a prediction on a walk, and model rows; all players if nothing can be skipped."""
    p = game.n_players
    walks = int(min(WALKS, rows // (p - 1)))
    if not skip or walks == 0 or subsampled.uses_all_rows:
        return np.ones(p, dtype=bool), 0
    return subsampled.active_players(draw_examples(game, walks, rng), permutations(walks, p, rng), rng)


def _share_of_correction(
    game: Game,
    subsampled: SubsampledGame,
    correction: BiasCorrection,
    rows_of_pair: int,
    budget: float,
    rng: np.random.Generator,
) -> tuple[float, int]:
    r"""Returns model rows of the correction per model row of walks, for the least error, and the rows to measure it.

    .. math:: n_1 c_1 / (n_0 c_0) = \sqrt{V_1 c_1 / (V_0 c_0)}

    V_0 and c_0 are the variance and the cost of a pair of walks, within an example; V_1 and c_1 those of a draw of the
    correction, by its second moment about zero.
    """
    c_0, c_1 = rows_of_pair, correction.cost(game)
    count, most = (CORRECTIONS, MAX_SHARE) if subsampled.knows_bias else (CORRECTIONS_OF_PLAIN, MAX_SHARE_OF_PLAIN)
    if 2 * PAIRS_OF_PAIRS * c_0 + count * c_1 > budget:
        return DEFAULT_SHARE, 0
    examples = draw_examples(game, PAIRS_OF_PAIRS, rng)
    orders = permutations(2 * PAIRS_OF_PAIRS, game.n_players, rng)
    pairs = walk_pairs(game, subsampled, np.repeat(examples, 2), orders, correction.active, rng, skip=correction.skip)
    within = (pairs.contributions[::2] - pairs.contributions[1::2]) ** 2 / 2  # (n, L, p)
    weight = game.weights[examples] * (game.weights > 0).sum()
    bias, bias_rows = correction.draw(game, count, rng)
    V_0 = (weight[:, None, None] * within).mean(axis=0).max(axis=1)
    V_1 = (bias**2).mean(axis=0).max(axis=1)  # (L,)
    ratio = np.divide(V_1, V_0, out=np.where(V_1 > 0, np.inf, 0.0), where=V_0 > 0).max()
    return float(np.clip(np.sqrt(ratio * c_1 / c_0), MIN_SHARE, most)), pairs.rows + bias_rows
