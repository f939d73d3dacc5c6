r"""Walks with a subsample of the background: payoffs of coalitions, estimated from q of the m background rows.

The rows are drawn once a walk and kept along it. With z_k(S) = f(x_S, b_k) and control variates c_k(S) of mean 0
(:mod:`clarysage.games.control_variates`), the mean prediction is estimated by

.. math:: \hat f_S(x) = \frac1q \sum_k \big( z_k(S) - c_k(S) \big), \qquad
    \widehat{Var} = \Big(1 - \frac qm\Big) \frac{s^2}{q}

the mean of a simple or stratified random sample without replacement (Cochran, Sampling techniques, 1977, chs. 2, 5;
with replacement where rows differ in weight), and the loss of the mean by its debiased form
(:mod:`clarysage.losses.debiasing`), since the loss of an estimated mean is off by Jensen's gap. How payoffs depend on
the background is :mod:`clarysage.games.influence`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clarysage.games.control_variates import Control, control_of, entered_along
from clarysage.games.influence import StepInfluence, SubsampledMeans, is_start
from clarysage.games.self_match import SelfMatches
from clarysage.losses.debiasing import MeanEstimate
from clarysage.players import Players
from clarysage.protocols import CoalitionInfluence, Comparison, HybridRows, Influence, Loss, Steps, Walks
from clarysage.removal.background_draws import BackgroundDraws
from clarysage.removal.restricted.hybrid import mean_over

ASKED_AGAIN = 16  # rows, to see whether predictions repeat ...
ROUNDING = 1e-6  # ... but for rounding that depends on which rows are asked together
CELLS_COMPARED = 4_000_000  # of hybrid rows, at once
ROWS_OF_NATIVE = 8  # at least, of a model whose structure is known: rows then cost less than what goes on around them
ROWS_OF_ENLARGED, ALL_OF_ENLARGED = 16, 128  # for differences of differences; all rows if no more than the latter
SPARING = 2  # few rows are drawn of a background more than this many times as large


@dataclass(frozen=True)
class SubsampledPower:
    """Payoffs of v_f from few background rows an example; see :class:`clarysage.protocols.SubsampledGame`.

    An example that is a background row itself is known to predict what it does: that row is not drawn for it, but
    added by its weight.

    Attributes
    ----------
    restricted : the restricted model with as few background rows as will do
    whole : the same with all of them
    draws : how rows are drawn
    strata : (N,) the kinds of examples that rows are ranked for, where they are drawn by strata
    matches : examples that are background rows themselves
    """

    restricted: HybridRows
    whole: HybridRows
    losses: tuple[Loss, ...]
    targets: tuple[np.ndarray, ...]
    players: Players
    X: np.ndarray
    outputs: np.ndarray
    ends: tuple[np.ndarray, np.ndarray]
    draws: BackgroundDraws
    strata: np.ndarray
    matches: SelfMatches

    @classmethod
    def of(
        cls,
        whole: HybridRows,
        losses: tuple[Loss, ...],
        targets: tuple[np.ndarray, ...],
        players: Players,
        X: np.ndarray,
        outputs: np.ndarray,
        ends: tuple[np.ndarray, np.ndarray],
        self_match: np.ndarray | None,
    ) -> SubsampledPower:
        """The payoffs of a game; where losses differ in how rows are best drawn, they are drawn simply."""
        f_S = whole.condensed()
        m, rows = len(f_S.background_weights), max(loss.debiasing.rows for loss in losses)
        if f_S.native is not None:
            rows = max(ROWS_OF_NATIVE, rows)
        takes_all = m <= SPARING * rows
        by_loss = [loss.debiasing.strata(loss, f_S.alone, target) for loss, target in zip(losses, targets, strict=True)]
        strata = by_loss[0] if all(found is not None for found in by_loss) else None
        kinds = np.zeros(len(X), dtype=np.intp) if strata is None else strata.kinds
        ranked = None if strata is None or takes_all else strata.ranked
        draws = BackgroundDraws(m if takes_all else rows, f_S.background_weights, ranked)
        matches = SelfMatches(self_match, whole.background_weights, outputs)
        return cls(f_S, whole, losses, targets, players, X, outputs, ends, draws, kinds, matches)

    def of_proxy(self, proxy: HybridRows, outputs: np.ndarray, ends: tuple[np.ndarray, np.ndarray]) -> SubsampledPower:
        """The same draws for the game of another model, which is asked for the rows of ``restricted``."""
        rows = self.matches.rows if self.whole is self.restricted else None  # no example is the mean row
        matches = SelfMatches(rows, proxy.background_weights, outputs)
        return replace(self, restricted=proxy, whole=proxy, outputs=outputs, ends=ends, matches=matches)

    @property
    def rows(self) -> int:
        return self.draws.rows

    @property
    def rows_in_all(self) -> int:
        return len(self.draws.weights)

    @property
    def takes_all(self) -> bool:
        return self.draws.takes_all

    @property
    def asks_model(self) -> bool:
        return self.restricted.native is None

    @property
    def is_unbiased(self) -> bool:
        """Whether payoffs are right on average, so that no walk with all rows is needed beside them."""
        is_simple = self.draws.ranked is None
        return self.draws.takes_all or (is_simple and all(loss.debiasing.is_unbiased for loss in self.losses))

    @property
    def errs_with_loss(self) -> bool:
        return all(loss.debiasing.errs_with_loss for loss in self.losses)

    @property
    def background_weights(self) -> np.ndarray:
        return self.whole.background_weights

    @property
    def is_sampled(self) -> bool:
        """Whether there are several background rows, which may be thought of as drawn from more."""
        return self.whole.is_sampled and len(self.whole.background_weights) > 1

    @cached_property
    def enlarged(self) -> SubsampledPower:
        """The same with more rows, drawn simply: for differences of differences, which few rows drown in noise."""
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
        """Payoffs (n, p + 1, L) and the model rows they cost."""
        active = active & self._is_used
        index = self.draws.draw(self.strata[examples], rng, self.matches.of(examples))
        entry_position, entered = self.players.arrivals(orders), entered_along(orders, active)
        steps = self._steps(examples, entry_position, index, skip, keep)
        if self.takes_all:
            means = self._means_of_all(examples, steps.outputs)
        else:
            means = self._means(examples, steps.outputs, self._control.along(examples, orders, index, active))
        payoffs = self._payoffs(examples, means.mean, self._is_start(steps.outputs, index, entered))
        empty, full = (end[examples][:, None] for end in self.ends)
        of_background = None
        if influence and self.is_sampled:
            most = max(1, active.sum())
            of_background = self._influence.along(examples, entry_position, entered, most, index, means, rng)
        return Walks(np.concatenate([empty, payoffs, full], axis=1), steps.rows, steps.asked, of_background)

    def at(
        self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator, *, skip: bool = True
    ) -> tuple[np.ndarray, int]:
        """Payoffs of s coalitions an example, each with the same rows, and model rows: (n,), (n, s, p) -> (n, s, L)."""
        active = self._is_used
        size = (coalitions & active).sum(axis=2)
        index = self.draws.draw(self.strata[examples], rng, self.matches.of(examples))
        payoffs = np.where((size == 0)[:, :, None], *(end[examples][:, None] for end in self.ends))
        which, place = np.nonzero((size > 0) & (size < active.sum()))
        if not len(which):
            return payoffs, 0
        each, inner, index = examples[which], coalitions[which, place], index[which]
        steps = self._steps(each, np.where(self.players.columns(inner), 1, 2), index, skip)
        means = self._means_at(each, inner, index, active, steps.outputs)
        payoffs[which, place] = self._payoffs(each, means.mean)[:, 0]
        return payoffs, steps.rows

    def compare(
        self,
        examples: np.ndarray,
        coalitions: np.ndarray,
        active: np.ndarray,
        rng: np.random.Generator,
        *,
        skip: bool = True,
    ) -> Comparison:
        """Payoffs of coalitions (n, p), one an example, with all rows and by draws that share them out."""
        at_once, active = max(1, CELLS_COMPARED // self.restricted.background.size), active & self._is_used
        parts = [
            self._compare(examples[start : start + at_once], coalitions[start : start + at_once], active, rng, skip)
            for start in range(0, len(examples), at_once)
        ]
        return Comparison(
            np.concatenate([part.exact for part in parts]),
            np.concatenate([part.subsampled for part in parts]),
            sum(part.rows for part in parts),
        )

    def _compare(
        self, examples: np.ndarray, coalitions: np.ndarray, active: np.ndarray, rng: np.random.Generator, skip: bool
    ) -> Comparison:
        n, m = len(examples), len(self.draws.weights)
        entry_position = np.where(coalitions[:, self.players.owner], 1, 2)  # S comes at once, and then the rest
        steps = self._steps(examples, entry_position, np.broadcast_to(np.arange(m), (n, m)), skip)
        index = self.draws.partition(self.strata[examples], rng, self.matches.of(examples))  # (n, g, q)
        groups = index.shape[1]
        z = steps.outputs[np.arange(n)[:, None, None], index].reshape(n * groups, -1, *steps.outputs.shape[2:])
        entered = np.repeat((coalitions & active).sum(axis=1), groups)[:, None]
        each, drawn = np.repeat(examples, groups), index.reshape(n * groups, -1)
        means = self._means_at(each, np.repeat(coalitions, groups, axis=0), drawn, active, z)
        subsampled = self._payoffs(each, means.mean, self._is_start(z, drawn, entered))
        exact = self._payoffs(examples, self._means_of_all(examples, steps.outputs).mean)
        return Comparison(exact[:, 0], subsampled.reshape(n, groups, -1).mean(axis=1), steps.rows)

    def with_all_rows(self, examples: np.ndarray, weights: np.ndarray, coalition: np.ndarray) -> CoalitionInfluence:
        """Payoffs of a coalition (p,) with all background rows, and their influence."""
        at_once = max(1, CELLS_COMPARED // self.whole.background.size)
        parts = [
            self._with_all_rows(examples[start : start + at_once], weights[start : start + at_once], coalition)
            for start in range(0, len(examples), at_once)
        ]
        return CoalitionInfluence(
            np.concatenate([part.payoffs for part in parts]),
            np.sum([part.bias_correction for part in parts], axis=0),
            np.sum([part.influence for part in parts], axis=0),
        )

    def _with_all_rows(self, examples: np.ndarray, weights: np.ndarray, coalition: np.ndarray) -> CoalitionInfluence:
        if coalition[self._is_used].all():
            losses = len(self.losses)
            none = np.zeros((len(self.whole.background_weights), losses))
            return CoalitionInfluence(self.ends[1][examples], np.zeros(losses), none)
        if not coalition[self._is_used].any():
            return _summed(self.ends[0][examples], weights, self._influence.at_start_with_all_rows(examples))
        kept = np.broadcast_to(coalition[self.players.owner], (len(examples), self.X.shape[1]))
        mean, influence = self._influence.with_all_rows(examples, kept)
        return _summed(self._payoffs(examples, mean)[:, 0], weights, influence)

    def repeats(self) -> tuple[bool, int]:
        """Whether the model gives the same predictions when asked again, and the model rows that cost to see."""
        _ = self._control  # so that it is there before walks are made by several threads
        rows = self.X[:ASKED_AGAIN]
        first, again = self.outputs[: len(rows)], self.restricted.full(rows)
        return bool((np.abs(again - first) <= ROUNDING * np.abs(first).max()).all()), len(rows)

    def moves(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, int]:
        """Players (p,) that change a prediction on some of the walks, each with one background row; and model rows."""
        n, p = orders.shape
        index = rng.integers(len(self.draws.weights), size=(n, 1))
        steps = self._steps(examples, self.players.arrivals(orders), index, skip=True)
        start, end = self.restricted.alone[index][:, :, None, :], self.outputs[examples][:, None, None, :]
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
        """Means of predictions z (n, q, 1, k) of one coalition (n, p) an example."""
        if self.takes_all:
            return self._means_of_all(examples, z)
        return self._means(examples, z, self._control.at(examples, coalitions, index, active))

    def _means(self, examples: np.ndarray, z: np.ndarray, control: np.ndarray) -> SubsampledMeans:
        """Means estimated from predictions z (n, q, steps, k) with drawn rows, less a control of mean 0."""
        match, k = self.matches.of(examples), z.shape[3]
        adjusted = z - control
        variance = self.draws.variance_of_mean(adjusted, match)
        plain, mean = _mean(z), _mean(adjusted)
        others = MeanEstimate(plain.reshape(-1, k), mean.reshape(-1, k), variance.reshape(-1, k))
        if match is None:
            return SubsampledMeans(z, others, others, adjusted)
        plain, mean = (self.matches.put_back(examples, match, part) for part in (plain, mean))
        variance = variance * (1 - self.matches.weight(match)[:, None, None]) ** 2
        estimate = MeanEstimate(plain.reshape(-1, k), mean.reshape(-1, k), variance.reshape(-1, k))
        return SubsampledMeans(z, estimate, others, adjusted)

    def _means_of_all(self, examples: np.ndarray, z: np.ndarray) -> SubsampledMeans:
        """Means of predictions z (n, m, steps, k) with all rows, which are exact."""
        n, m, inner, k = z.shape
        mean = mean_over(np.moveaxis(z, 2, 1).reshape(n * inner, m, k), self.draws.weights)
        others = self.matches.leave_out(examples, mean.reshape(n, inner, k)).reshape(-1, k)
        return SubsampledMeans(z, MeanEstimate.exactly(mean), MeanEstimate.exactly(others))

    def _payoffs(self, examples: np.ndarray, mean: MeanEstimate, is_start: np.ndarray | None = None) -> np.ndarray:
        """Payoffs (n, steps, L) of mean predictions; those of the empty coalition where nothing has moved yet."""
        inner = len(mean.adjusted) // len(examples)
        repeated = np.repeat(examples, inner)
        losses = [
            loss.debiasing(loss, mean, target[repeated]) for loss, target in zip(self.losses, self.targets, strict=True)
        ]
        payoffs = -np.stack(losses, axis=1).reshape(len(examples), inner, len(losses))
        if is_start is not None:
            payoffs[is_start] = np.broadcast_to(self.ends[0][examples][:, None], payoffs.shape)[is_start]
        return payoffs

    def _is_start(self, z: np.ndarray, index: np.ndarray, entered: np.ndarray) -> np.ndarray | None:
        """Where predictions z are those of the start; None where payoffs are as the ends are, to the last bit."""
        if self.takes_all and self.whole is self.restricted:
            return None
        return is_start(z, self.restricted.alone[index][:, :, None, :], entered)

    @cached_property
    def _control(self) -> Control:
        is_square = all(loss.degree == 2 for loss in self.losses)
        return control_of(self.restricted, self.players, self.matches, is_square=is_square)

    @cached_property
    def _influence(self) -> StepInfluence:
        is_condensed = self.whole is not self.restricted
        return StepInfluence(
            self.whole,
            is_condensed,
            self.draws,
            self.strata,
            self.X,
            self.outputs,
            self.losses,
            self.targets,
            self.matches,
        )

    @cached_property
    def _is_used(self) -> np.ndarray:
        """Players (p,) that are not known to have no effect."""
        return self.players.owning(self.whole.is_used)


def _summed(payoffs: np.ndarray, weights: np.ndarray, influence: Influence) -> CoalitionInfluence:
    """Payoffs (n, L), and the weighted sum over examples of their influence."""
    rows = np.einsum("n,nml->ml", weights, influence.influence[:, :, 0]) / influence.background_index.shape[1]
    return CoalitionInfluence(payoffs, weights @ influence.bias_correction[:, 0], rows)


def _mean(values: np.ndarray) -> np.ndarray:
    """Means along axis 1; that of equal values is that value to the last bit."""
    first = values[:, :1]
    return np.asarray((first + (values - first).mean(axis=1, keepdims=True))[:, 0])
