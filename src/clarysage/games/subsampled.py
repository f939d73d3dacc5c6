r"""Walks with a subsample of the background: payoffs of coalitions, estimated from q of the m background rows.

The rows are drawn once for each walk and used at all its steps (common random numbers). With z_k(S) = f(x_S, b_k) and
control variates c_k(S) of mean 0 (:mod:`clarysage.games.control_variates`), the mean prediction is estimated by

.. math:: \hat f_S(x) = \frac1q \sum_k \big( z_k(S) - c_k(S) \big), \qquad
    \widehat{Var} = \Big(1 - \frac qm\Big) \frac{s^2}{q}

which is the mean of a simple or stratified random sample without replacement (Cochran 1977, chs. 2, 5; with replacement
where rows differ in weight). The loss of an estimated mean is biased by Jensen's gap, so that payoffs use a debiased
loss estimator (:mod:`clarysage.losses.debiasing`). How payoffs depend on the choice of the background itself is the
subject of :mod:`clarysage.games.payoff_influence`.

References
----------
W. G. Cochran (1977). Sampling Techniques, 3rd edition. Wiley.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clarysage.coalitions import codes
from clarysage.games.control_variates import ControlVariate, beta_at_prefixes, control_variate_of
from clarysage.games.payoff_influence import StepInfluence, SubsampledMeans, equals_start
from clarysage.games.self_match import SelfMatches
from clarysage.losses.debiasing import MeanEstimate
from clarysage.players import Players
from clarysage.protocols import (
    CoalitionInfluence,
    DistinctRows,
    HybridRows,
    Influence,
    Loss,
    Steps,
    SubsampleComparison,
    Walks,
)
from clarysage.removal.background import distinct_rows
from clarysage.removal.background_draws import BackgroundDraws
from clarysage.removal.restricted.hybrid import mean_over

ROWS_ASKED_TWICE = 16  # rows whose predictions are repeated, to see whether the model is deterministic ...
ROUNDING = 1e-6  # ... except for rounding, which may depend on the rows that share a call
CELLS_AT_ONCE = 4_000_000  # cells of hybrid rows that are held in memory at once
ROWS_OF_NATIVE = 8  # least number of rows where the model's structure is known: a row then costs less than the overhead
ROWS_OF_ENLARGED, ALL_OF_ENLARGED = 16, 128  # rows for second differences; all rows where there are at most 128
FEW_ROWS, MOST_PLAYERS = 0.5, 16  # share of all hybrid rows that are few; players whose coalitions are looked at
LEAST_RATIO = 2  # a background is subsampled if it has more than this many times the rows of a subsample


@dataclass(frozen=True)
class SubsampledPower:
    """Payoffs of v_f from a subsample of the background; see :class:`clarysage.protocols.SubsampledGame`.

    Where an example is a background row itself, the hybrid rows of that row are the example, whose prediction is known.
    Such a row is not drawn for the example, and its prediction is added with its weight.

    Attributes
    ----------
    restricted : the restricted model, condensed to its mean background row where that is sufficient (linear models)
    restricted_by_all : the restricted model with all background rows
    draws : the sampling design of background rows
    class_of : (N,) the class of each example, which has its own strata of background rows, if there are strata
    matches : examples that are background rows themselves
    """

    restricted: HybridRows
    restricted_by_all: HybridRows
    losses: tuple[Loss, ...]
    targets: tuple[np.ndarray, ...]
    players: Players
    X: np.ndarray
    outputs: np.ndarray
    ends: tuple[np.ndarray, np.ndarray]
    draws: BackgroundDraws
    class_of: np.ndarray
    matches: SelfMatches

    @classmethod
    def of(
        cls,
        restricted: HybridRows,
        losses: tuple[Loss, ...],
        targets: tuple[np.ndarray, ...],
        players: Players,
        X: np.ndarray,
        outputs: np.ndarray,
        ends: tuple[np.ndarray, np.ndarray],
        self_match: np.ndarray | None,
    ) -> SubsampledPower:
        """Returns the payoffs of a game; rows are drawn without strata where some loss of several has none."""
        f_S = restricted.condensed()
        m, rows = len(f_S.background_weights), max(loss.debiasing.rows for loss in losses)
        if f_S.native is not None:
            rows = max(ROWS_OF_NATIVE, rows)
        uses_all_rows = m <= LEAST_RATIO * rows
        by_loss = [
            loss.debiasing.strata(loss, f_S.background_outputs, target)
            for loss, target in zip(losses, targets, strict=True)
        ]
        strata = by_loss[0] if all(of_loss is not None for of_loss in by_loss) else None
        class_of = np.zeros(len(X), dtype=np.intp) if strata is None else strata.class_of
        ranked = None if strata is None or uses_all_rows else strata.ranked
        draws = BackgroundDraws(m if uses_all_rows else rows, f_S.background_weights, ranked)
        matches = SelfMatches(self_match, restricted.background_weights, outputs)
        return cls(f_S, restricted, losses, targets, players, X, outputs, ends, draws, class_of, matches)

    def of_proxy(self, proxy: HybridRows, outputs: np.ndarray, ends: tuple[np.ndarray, np.ndarray]) -> SubsampledPower:
        """Returns the payoffs of a proxy model's game, with the same sampling design of background rows."""
        rows = self.matches.rows if self.restricted_by_all is self.restricted else None  # no example is the mean row
        matches = SelfMatches(rows, proxy.background_weights, outputs)
        return replace(self, restricted=proxy, restricted_by_all=proxy, outputs=outputs, ends=ends, matches=matches)

    @property
    def rows(self) -> int:
        return self.draws.rows

    @property
    def rows_per_exact_payoff(self) -> int:
        return len(self.draws.weights)

    @property
    def uses_all_rows(self) -> bool:
        return self.draws.uses_all_rows

    @property
    def calls_model(self) -> bool:
        return self.restricted.native is None

    @property
    def is_unbiased(self) -> bool:
        """Tells whether payoffs are unbiased, so that no bias correction by payoffs with all rows is needed."""
        is_simple = self.draws.ranked is None
        return self.draws.uses_all_rows or (is_simple and all(loss.debiasing.is_unbiased for loss in self.losses))

    @property
    def knows_bias(self) -> bool:
        """Tells whether payoffs are corrected for their bias, as far as it is known."""
        return all(loss.debiasing.knows_bias for loss in self.losses)

    @property
    def jumps(self) -> bool:
        """Tells whether some loss is a step function."""
        return any(loss.debiasing.jumps for loss in self.losses)

    @property
    def error_grows_with_loss(self) -> bool:
        return all(loss.debiasing.error_grows_with_loss for loss in self.losses)

    @property
    def background_weights(self) -> np.ndarray:
        return self.restricted_by_all.background_weights

    @property
    def is_sampled(self) -> bool:
        """Tells whether the background is a sample of several rows from a population."""
        return self.restricted_by_all.is_sampled and len(self.restricted_by_all.background_weights) > 1

    @cached_property
    def enlarged(self) -> SubsampledPower:
        """The payoffs from a larger simple random subsample, for second differences, in which noise adds up."""
        m = len(self.draws.weights)
        return replace(self, draws=BackgroundDraws(m if m <= ALL_OF_ENLARGED else ROWS_OF_ENLARGED, self.draws.weights))

    def walk(
        self,
        examples: np.ndarray,
        orders: np.ndarray,
        active: np.ndarray,
        rng: np.random.Generator,
        *,
        skip: bool = True,
        keep: bool = False,
        influence: bool = False,
    ) -> Walks:
        """Returns payoffs (n, p + 1, L) at every prefix of orders (n, p), and the model rows that they cost."""
        active, matches = active & self._is_used, self.matches.of(examples)
        index = self.draws.draw(self.class_of[examples], rng, matches.rows)
        entry_position = self.players.entry_positions(orders)
        steps = self._steps(examples, entry_position, index, skip, keep)
        beta = beta_at_prefixes(orders, active)
        if self.draws.uses_all_rows:
            means = self._means_of_all(matches, steps.outputs)
        else:
            means = self._means(matches, steps.outputs, self._control.at_prefixes(matches, orders, index, active))
        payoffs = self._payoffs(examples, means.mean, self._is_start(steps.outputs, index, beta == 1))
        empty, full = (end[examples][:, None] for end in self.ends)
        of_background = None
        if influence and self.is_sampled:
            of_background = self._influence.at_prefixes(examples, matches, entry_position, beta, index, means, rng)
        return Walks(np.concatenate([empty, payoffs, full], axis=1), steps.rows, steps.asked, of_background)

    def at(
        self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator, *, skip: bool = True
    ) -> tuple[np.ndarray, int]:
        """Returns payoffs (n, s, L) of s coalitions (n, s, p) an example, by the same rows, and the model rows."""
        active = self._is_used
        size = (coalitions & active).sum(axis=2)
        index = self.draws.draw(self.class_of[examples], rng, self.matches.of(examples).rows)
        payoffs = np.where((size == 0)[:, :, None], *(end[examples][:, None] for end in self.ends))
        which, inner_index = np.nonzero((size > 0) & (size < active.sum()))
        if not len(which):
            return payoffs, 0
        each, inner, index = examples[which], coalitions[which, inner_index], index[which]
        steps = self._steps(each, np.where(self.players.columns(inner), 1, 2), index, skip)
        means = self._means_at(each, inner, index, active, steps.outputs)
        payoffs[which, inner_index] = self._payoffs(each, means.mean)[:, 0]
        return payoffs, steps.rows

    def compare(
        self,
        examples: np.ndarray,
        coalitions: np.ndarray,
        active: np.ndarray,
        rng: np.random.Generator,
        *,
        skip: bool = True,
    ) -> SubsampleComparison:
        """Returns payoffs of coalitions (n, p), one an example, by all rows and by a partition into subsamples."""
        at_once, active = max(1, CELLS_AT_ONCE // self.restricted.background.size), active & self._is_used
        parts = [
            self._compare(examples[start : start + at_once], coalitions[start : start + at_once], active, rng, skip)
            for start in range(0, len(examples), at_once)
        ]
        return SubsampleComparison(
            np.concatenate([part.exact for part in parts]),
            np.concatenate([part.subsampled for part in parts]),
            sum(part.rows for part in parts),
        )

    def _compare(
        self, examples: np.ndarray, coalitions: np.ndarray, active: np.ndarray, rng: np.random.Generator, skip: bool
    ) -> SubsampleComparison:
        n, m = len(examples), len(self.draws.weights)
        entry_position = np.where(coalitions[:, self.players.owner], 1, 2)  # S enters in one step, and then all others
        steps = self._steps(examples, entry_position, np.broadcast_to(np.arange(m), (n, m)), skip)
        matches = self.matches.of(examples)
        index = self.draws.partition(self.class_of[examples], rng, matches.rows)  # (n, g, q)
        groups = index.shape[1]
        z = steps.outputs[np.arange(n)[:, None, None], index].reshape(n * groups, -1, *steps.outputs.shape[2:])
        is_empty = np.repeat(~(coalitions & active).any(axis=1), groups)[:, None]
        each, drawn = np.repeat(examples, groups), index.reshape(n * groups, -1)
        means = self._means_at(each, np.repeat(coalitions, groups, axis=0), drawn, active, z)
        subsampled = self._payoffs(each, means.mean, self._is_start(z, drawn, is_empty))
        exact = self._payoffs(examples, self._means_of_all(matches, steps.outputs).mean)
        return SubsampleComparison(exact[:, 0], subsampled.reshape(n, groups, -1).mean(axis=1), steps.rows)

    def coalition_influence(
        self, examples: np.ndarray, weights: np.ndarray, coalition: np.ndarray
    ) -> CoalitionInfluence:
        """Returns payoffs of a coalition (p,) with all background rows, and the influence of the rows."""
        f_S, is_kept = self.restricted_by_all, coalition[self.players.owner]
        at_once = max(1, CELLS_AT_ONCE // f_S.background.size)
        is_known = coalition[self._is_used].all() or not coalition[self._is_used].any()
        distinct = None
        if not is_known and self._has_few_rows(coalition):
            distinct = f_S.distinct(self.X[examples], is_kept)
        parts = []
        for start in range(0, len(examples), at_once):
            part = slice(start, start + at_once)
            if is_known:
                parts.append(self._at_ends(examples[part], weights[part], coalition))
                continue
            x = self.X[examples[part]]
            z = f_S.each(x, np.broadcast_to(is_kept, x.shape)) if distinct is None else distinct(part)
            mean, influence = self._influence.coalition_influence(examples[part], z)
            parts.append(_summed(self._payoffs(examples[part], mean)[:, 0], weights[part], influence))
        return CoalitionInfluence(
            np.concatenate([part.payoffs for part in parts]),
            np.sum([part.bias_correction for part in parts], axis=0),
            np.sum([part.influence for part in parts], axis=0),
            len(examples) * len(f_S.background) if distinct is None else distinct.rows,
        )

    def _at_ends(self, examples: np.ndarray, weights: np.ndarray, coalition: np.ndarray) -> CoalitionInfluence:
        """Returns the known payoffs of coalitions that have all players with an effect, or none of them."""
        if not coalition[self._is_used].all():
            return _summed(self.ends[0][examples], weights, self._influence.at_start_with_all_rows(examples))
        losses = len(self.losses)
        no_influence = np.zeros((len(self.restricted_by_all.background_weights), losses))
        return CoalitionInfluence(self.ends[1][examples], np.zeros(losses), no_influence, 0)

    @cached_property
    def distinct_rows(self) -> DistinctRows | None:
        """Numbers of distinct hybrid rows of coalitions: at most those of kept cells times those of withheld cells."""
        f_S, p = self.restricted_by_all, len(self.players)
        if not self.calls_model or f_S.simulation is not None or not 1 < p <= MOST_PLAYERS:
            return None
        of_players = [self.players.owner == player for player in range(p)]
        of_examples, of_rows = np.ones(1), np.ones(1)  # distinct cells of coalitions by number, at most
        for is_owned in of_players:
            in_examples, in_background = (len(distinct_rows(rows[:, is_owned])[0]) for rows in (self.X, f_S.background))
            of_examples = np.concatenate([of_examples, np.minimum(of_examples * in_examples, len(self.X))])
            of_rows = np.concatenate([np.minimum(of_rows * in_background, len(f_S.background)), of_rows])
        most, all_rows = of_examples * of_rows, len(self.X) * len(f_S.background)
        most[most > FEW_ROWS * all_rows] = all_rows
        if most[1:-1].mean() > FEW_ROWS * all_rows:
            return None
        repeats, rows = self._repeats_predictions()
        return DistinctRows(most, rows) if repeats else None

    def _has_few_rows(self, coalition: np.ndarray) -> bool:
        """Tells whether many hybrid rows of a coalition are equal."""
        distinct, all_rows = self.distinct_rows, len(self.X) * len(self.restricted_by_all.background)
        return distinct is not None and bool(distinct.most[codes(coalition)] <= FEW_ROWS * all_rows)

    def check_determinism(self) -> tuple[bool, int]:
        """Tells whether the model repeats its predictions in a second call, and how many model rows that cost."""
        _ = self._control  # computed here, before several threads make walks
        return self._repeats_predictions()

    def _repeats_predictions(self) -> tuple[bool, int]:
        rows = self.X[:ROWS_ASKED_TWICE]
        first, again = self.outputs[: len(rows)], self.restricted.full(rows)
        return bool((np.abs(again - first) <= ROUNDING * np.abs(first).max()).all()), len(rows)

    def active_players(
        self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        """Tells which players (p,) change a prediction on walks with a single background row, and the model rows."""
        n, p = orders.shape
        index = rng.integers(len(self.draws.weights), size=(n, 1))
        steps = self._steps(examples, self.players.entry_positions(orders), index, skip=True)
        start, end = self.restricted.background_outputs[index][:, :, None, :], self.outputs[examples][:, None, None, :]
        is_change = (np.diff(steps.outputs, axis=2, prepend=start, append=end) != 0).any(axis=(1, 3))  # (n, p)
        return np.bincount(orders[is_change], minlength=p) > 0, steps.rows

    def _steps(
        self, examples: np.ndarray, entry_position: np.ndarray, index: np.ndarray, skip: bool, keep: bool = False
    ) -> Steps:
        x, full = self.X[examples], self.outputs[examples]
        return self.restricted.steps(x, full, entry_position, index, skip=skip, keep=keep)

    def _means_at(
        self, examples: np.ndarray, coalitions: np.ndarray, index: np.ndarray, active: np.ndarray, z: np.ndarray
    ) -> SubsampledMeans:
        """Returns means of predictions z (n, q, 1, k) of one coalition (n, p) for each example."""
        matches = self.matches.of(examples)
        if self.draws.uses_all_rows:
            return self._means_of_all(matches, z)
        return self._means(matches, z, self._control.at(matches, coalitions, index, active))

    def _means(self, matches: SelfMatches, z: np.ndarray, control: np.ndarray) -> SubsampledMeans:
        """Estimates means of predictions z (n, q, steps, k) with drawn rows, less a control variate of mean 0."""
        k = z.shape[3]
        adjusted = z - control
        variance = self.draws.variance_of_mean(adjusted, matches.rows)
        raw, mean = _mean(z), _mean(adjusted)
        others = MeanEstimate(raw.reshape(-1, k), mean.reshape(-1, k), variance.reshape(-1, k))
        if matches.rows is None:
            return SubsampledMeans(z, others, others, adjusted)
        raw, mean = matches.put_back(raw), matches.put_back(mean)
        variance = variance * (1 - matches.share[:, None, None]) ** 2
        estimate = MeanEstimate(raw.reshape(-1, k), mean.reshape(-1, k), variance.reshape(-1, k))
        return SubsampledMeans(z, estimate, others, adjusted)

    def _means_of_all(self, matches: SelfMatches, z: np.ndarray) -> SubsampledMeans:
        """Returns the exact means of predictions z (n, m, steps, k) with all rows."""
        n, m, inner, k = z.shape
        mean = mean_over(np.moveaxis(z, 2, 1).reshape(n * inner, m, k), self.draws.weights)
        others = matches.leave_out(mean.reshape(n, inner, k)).reshape(-1, k)
        return SubsampledMeans(z, MeanEstimate.exactly(mean), MeanEstimate.exactly(others))

    def _payoffs(self, examples: np.ndarray, mean: MeanEstimate, is_start: np.ndarray | None = None) -> np.ndarray:
        """Returns payoffs (n, steps, L) of mean predictions; at the start of walks, those of the empty coalition."""
        inner = len(mean.adjusted) // len(examples)
        repeated = np.repeat(examples, inner)
        losses = [
            loss.debiasing(loss, mean, target[repeated]) for loss, target in zip(self.losses, self.targets, strict=True)
        ]
        payoffs = -np.stack(losses, axis=1).reshape(len(examples), inner, len(losses))
        if is_start is not None:
            payoffs[is_start] = np.broadcast_to(self.ends[0][examples][:, None], payoffs.shape)[is_start]
        return payoffs

    def _is_start(self, z: np.ndarray, index: np.ndarray, is_empty: np.ndarray) -> np.ndarray | None:
        """Tells where predictions z equal those with nothing kept; None where payoffs need no replacement.

        ``is_empty`` (n, s) tells at which steps no active player has entered.
        The payoffs of all rows already agree with those of the empty coalition to the last bit.
        """
        if self.draws.uses_all_rows and self.restricted_by_all is self.restricted:
            return None
        return equals_start(z, self.restricted.background_outputs[index][:, :, None, :], is_empty)

    @cached_property
    def _control(self) -> ControlVariate:
        is_square = all(loss.degree == 2 for loss in self.losses)
        return control_variate_of(self.restricted, self.players, is_square=is_square)

    @cached_property
    def _influence(self) -> StepInfluence:
        is_condensed = self.restricted_by_all is not self.restricted
        return StepInfluence(
            self.restricted_by_all,
            is_condensed,
            self.draws,
            self.class_of,
            self.X,
            self.outputs,
            self.losses,
            self.targets,
            self.matches,
        )

    @cached_property
    def _is_used(self) -> np.ndarray:
        """Tells which players (p,) may have an effect, as far as the model's structure is known."""
        return self.players.owners_of(self.restricted_by_all.is_used)


def _summed(payoffs: np.ndarray, weights: np.ndarray, influence: Influence) -> CoalitionInfluence:
    """Returns payoffs (n, L), and the weighted sum over examples of their influence."""
    rows = np.einsum("n,nml->ml", weights, influence.influence[:, :, 0]) / influence.background_index.shape[1]
    return CoalitionInfluence(payoffs, weights @ influence.bias_correction[:, 0], rows, 0)


def _mean(values: np.ndarray) -> np.ndarray:
    """Returns means along axis 1; the mean of equal values is that value to the last bit."""
    first = values[:, :1]
    return np.asarray((first + (values - first).mean(axis=1, keepdims=True))[:, 0])
