"""The pilot run of paired walks: what they find out about a game before they begin, with draws that are set aside.

It sees whether the model repeats itself and which players matter, and allocates model rows between walks and draws of
their bias correction, in proportion to deviation over the root of cost (as samples to the levels of multilevel Monte
Carlo; Giles 2008).

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
from clarysage.estimators.paired_walks.sampling_design import NUMBERS_KEPT, SamplingDesign, size_measure
from clarysage.protocols import Game, SubsampledGame, ability

SHARE_OF_BUDGET = 1 / 16  # for each of the two that follow
WALKS = 128  # with one background row, to see which players matter
PAIRS_OF_PAIRS, CORRECTIONS = 8, 8  # to see how far they scatter
FIRST_CORRECTIONS = 16  # so that there is an error to tell from them
DEFAULT_SHARE, MIN_SHARE, MAX_SHARE = 1 / 8, 1 / 20, 1.0  # model rows of the bias correction per model row of walks


@dataclass(frozen=True)
class Pilot:
    """What paired walks know of a game before the first draw.

    Attributes
    ----------
    design : which example each draw looks at
    correction : how the bias of subsamples of the background is sampled
    per_draw : draws of the correction for each pair of walks; 0 where there is no bias to take off
    rows : model rows spent to find this out
    keep : whether to remember the hybrid rows that went to the model
    with_influence : whether to estimate the influence of background rows
    all_rows : whether walks look at all background rows, not at a subsample
    """

    design: SamplingDesign
    correction: BiasCorrection
    per_draw: float = 0.0
    rows: int = 0
    keep: bool = False
    with_influence: bool = False
    all_rows: bool = False

    @property
    def active(self) -> np.ndarray:
        """Players (p,) that matter."""
        return self.correction.active

    @property
    def skip(self) -> bool:
        """Whether the model repeats itself, so that known predictions need not be asked again."""
        return self.correction.skip

    def corrections(self, draws: int) -> int:
        """How many draws of the correction belong to the first so many pairs of walks."""
        return min(draws, FIRST_CORRECTIONS) + int(self.per_draw * draws) if self.per_draw else 0


def run_pilot(game: Game, rows: float, rng: np.random.Generator) -> Pilot:
    """The pilot run before a run of so many model rows."""
    p, subsampled, size = game.n_players, ability(game, SubsampledGame), size_measure(game)
    if subsampled is None or p == 1:
        everyone = BiasCorrection(game.weights, np.ones(p, dtype=bool), skip=True)
        return Pilot(SamplingDesign.of(game, size, rng), everyone)
    skip, spent = subsampled.repeats()
    spare = SHARE_OF_BUDGET * max(0.0, rows - spent - _least(game, subsampled))
    active, more = find_active(game, subsampled, skip, spare, rng)
    correction = BiasCorrection(size if subsampled.errs_with_loss else game.weights, active, skip)
    design = SamplingDesign.of(game, size, rng)
    numbers = len(design.groups) * len(subsampled.background_weights) * p * game.ends[0].shape[1]
    with_influence = subsampled.is_sampled and numbers <= NUMBERS_KEPT
    pilot = Pilot(design, correction, rows=spent + more, with_influence=with_influence)
    if subsampled.is_unbiased:
        return pilot
    share, more = _allocated(game, correction, spare, rng)
    return replace(pilot, per_draw=share * rows_of_pair(game) / correction.cost(game), rows=pilot.rows + more)


def _least(game: Game, subsampled: SubsampledGame) -> int:
    """Model rows of the shortest run: two pairs, with their draws of the correction."""
    return 2 * rows_of_pair(game) if subsampled.is_unbiased else 4 * rows_of_pair(game) + 2 * BiasCorrection.cost(game)


def find_active(
    game: Game, subsampled: SubsampledGame, skip: bool, rows: float, rng: np.random.Generator
) -> tuple[np.ndarray, int]:
    """Players that changed a prediction on some walk; all of them where that is not known or makes no difference."""
    p = game.n_players
    walks = int(min(WALKS, rows // (p - 1)))
    if not skip or walks == 0 or subsampled.takes_all:
        return np.ones(p, dtype=bool), 0
    return subsampled.moves(draw_examples(game, walks, rng), permutations(walks, p, rng), rng)


def _allocated(game: Game, correction: BiasCorrection, rows: float, rng: np.random.Generator) -> tuple[float, int]:
    r"""Model rows for the correction for each row of walks, so that the error is least, and those spent to see.

    .. math:: n_1 c_1 / (n_0 c_0) = \sqrt{V_1 c_1 / (V_0 c_0)}

    V_0 and c_0 are the variance and the cost of a pair of walks, within an example; V_1 and c_1 those of a draw of the
    correction.
    """
    c_0, c_1 = rows_of_pair(game), correction.cost(game)
    if 2 * PAIRS_OF_PAIRS * c_0 + CORRECTIONS * c_1 > rows:
        return DEFAULT_SHARE, 0
    examples = draw_examples(game, PAIRS_OF_PAIRS, rng)
    orders = permutations(2 * PAIRS_OF_PAIRS, game.n_players, rng)
    pairs = walk_pairs(game, np.repeat(examples, 2), orders, correction.active, rng, skip=correction.skip)
    within = (pairs.contributions[::2] - pairs.contributions[1::2]) ** 2 / 2  # (n, L, p)
    weight = game.weights[examples] * (game.weights > 0).sum()
    off, more = correction.draw(game, CORRECTIONS, rng)
    V_0 = (weight[:, None, None] * within).mean(axis=0).max(axis=1)
    V_1 = (off**2).mean(axis=0).max(axis=1)  # (L,)
    ratio = np.divide(V_1, V_0, out=np.where(V_1 > 0, np.inf, 0.0), where=V_0 > 0).max()
    return float(np.clip(np.sqrt(ratio * c_1 / c_0), MIN_SHARE, MAX_SHARE)), pairs.rows + more
