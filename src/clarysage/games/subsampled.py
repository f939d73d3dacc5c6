"""Walks that look at few of the background rows: payoffs along them, estimated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from clarysage.games.influence import Seen, joined, seen_beyond
from clarysage.games.main_effects import main_effects, slopes
from clarysage.losses.debiasing import MeanEstimate
from clarysage.players import Players
from clarysage.protocols import CoalitionInfluence, Comparison, Influence, Loss, Walks
from clarysage.removal.background_draws import BackgroundDraws, by_sampling
from clarysage.removal.hybrid import HybridModel, mean_over
from clarysage.removal.prefixes import Steps

ASKED_AGAIN = 16  # rows, to see whether predictions repeat ...
ROUNDING = 1e-6  # ... but for rounding that depends on which rows are asked together
CELLS_COMPARED = 4_000_000  # of hybrid rows, at once
ROWS_SEEN = 8  # of a background of which the mean row was walked with, to see their part in it
EFFECTS_KEPT = 2**23  # numbers, at most
ROWS_OF_NATIVE = 8  # at least, of a model whose structure is known: rows then cost less than what goes on around them
ROWS_OF_WIDE, ALL_OF_WIDE = 16, 128  # where differences of differences are wanted; all rows if no more than the latter
SPARING = 2  # few rows are drawn of a background more than this many times as large


@dataclass(frozen=True)
class ShortWalks:
    r"""Payoffs at every prefix of walks, from q background rows that are drawn once a walk and kept along it.

    With z_k(S) = f(x_S, b_k) the drawn predictions are adjusted by their known start,

    .. math:: a_k(S) = z_k(S) - \sum_{i \in A \setminus S} h_i(b_k) - \beta(S) r_k, \qquad
        r_k = z_k(\emptyset) - \bar z(\emptyset) - \sum_{i \in A} h_i(b_k), \qquad \beta(S) = 1 - |S \cap A| / |A|

    with main effects h_i of mean 0 (:mod:`clarysage.games.main_effects`): what a player does by itself is noise of the
    draw until it is known, and what is left of the start fades. The mean over all m rows is that of z_k(S) for any h
    and beta fixed in advance. A holds the players that are known to matter: one that never changes a prediction then
    changes no estimate either, and is worth exactly nothing.

    An example that is a background row itself, ``own`` (N,), is known to predict what it does: that row is not drawn
    for it, but added by its mass. ``whole`` is the restricted model with all the rows that ``restricted`` may do
    without.
    """

    restricted: HybridModel
    whole: HybridModel
    losses: tuple[Loss, ...]
    targets: tuple[np.ndarray, ...]
    players: Players
    X: np.ndarray
    outputs: np.ndarray
    ends: tuple[np.ndarray, np.ndarray]
    draws: BackgroundDraws
    kinds: np.ndarray
    own: np.ndarray | None

    @classmethod
    def of(cls, game: Any) -> ShortWalks:
        """Short walks of a game; where losses differ in how rows are best drawn, they are drawn simply."""
        whole: HybridModel = game.restricted
        f_S = whole.condensed()
        if game.like is not None:
            like: ShortWalks = game.like
            own = like.own if like.whole is like.restricted else None  # of rows that the mean row stands for
            return replace(like, restricted=f_S, whole=f_S, outputs=game.outputs, ends=game.ends, own=own)
        forms, m = [loss.debiasing for loss in game.losses], len(f_S.mass)
        rows = max(ROWS_OF_NATIVE if f_S.native is not None else 1, *(form.rows for form in forms))
        found = [form.strata(loss, f_S.alone, target)
                 for form, loss, target in zip(forms, game.losses, game.targets, strict=True)]  # fmt: skip
        strata = found[0] if all(one is not None for one in found) else None
        kinds = np.zeros(len(game.X), dtype=np.intp) if strata is None else strata.kinds
        everything = m <= SPARING * rows
        ranked = None if strata is None or everything else strata.ranked
        draws = BackgroundDraws(m if everything else rows, f_S.mass, ranked)
        return cls(
            f_S,
            whole,
            game.losses,
            game.targets,
            game.players,
            game.X,
            game.outputs,
            game.ends,
            draws,
            kinds,
            game.self_match,
        )

    @property
    def rows(self) -> int:
        """Background rows of a walk."""
        return self.draws.rows

    @property
    def takes_all(self) -> bool:
        """Whether these are all rows there are."""
        return self.draws.takes_all

    @property
    def rows_in_all(self) -> int:
        """Background rows that a payoff with all of them takes: one, where their mean row tells the same."""
        return len(self.draws.mass)

    @property
    def asks_model(self) -> bool:
        """Whether the model itself predicts along walks, not what is known of its structure."""
        return self.restricted.native is None

    @property
    def is_unbiased(self) -> bool:
        """Whether payoffs are right on average, so that no walk with all rows is needed beside them."""
        is_simple = self.draws.ranked is None
        return self.draws.takes_all or (is_simple and all(loss.debiasing.is_unbiased for loss in self.losses))

    @property
    def errs_with_loss(self) -> bool:
        """Whether payoffs are off most where losses are large."""
        return all(loss.debiasing.errs_with_loss for loss in self.losses)

    @property
    def background_weights(self) -> np.ndarray:
        """Masses of the background rows, (m,), adding up to one."""
        return self.whole.mass

    @property
    def is_sampled(self) -> bool:
        """Whether there are several background rows, which may be thought of as drawn from more."""
        return self.whole.is_sampled and len(self.whole.mass) > 1

    def walk(
        self, examples: np.ndarray, orders: np.ndarray, active: np.ndarray, rng: np.random.Generator, *,
        skip: bool = True, keep: bool = False, influence: bool = False,
    ) -> Walks:  # fmt: skip
        """Payoffs (n, p + 1, L) and the model rows they cost."""
        own, active = self._own(examples), active & self._is_used
        picks = self.draws.draw(self.kinds[examples], rng, own)
        arrivals = self.players.arrivals(orders)
        found = self._steps(examples, arrivals, picks, skip, keep)
        arrived = _arrived(orders, active)
        control = self._control_along(examples, orders, picks, active)
        seen = self._seen(examples, control, found.outputs)
        payoffs = self._payoffs(examples, seen.few, seen.z, picks, arrived)
        more = None
        if influence and self.is_sampled:
            more = self._beyond(examples, arrivals, arrived, max(1, active.sum()), picks, seen, rng)
        return Walks(self._with_ends(examples, payoffs), found.rows, found.asked, more)

    def compare(
        self, examples: np.ndarray, coalitions: np.ndarray, active: np.ndarray, rng: np.random.Generator, *,
        skip: bool = True,
    ) -> Comparison:  # fmt: skip
        """Payoffs of coalitions (n, p), one an example, with all rows and by draws of few that share them out."""
        at_once, active = max(1, CELLS_COMPARED // self.restricted.background.size), active & self._is_used
        parts = [
            self._compared(examples[start : start + at_once], coalitions[start : start + at_once], active, rng, skip)
            for start in range(0, len(examples), at_once)
        ]
        exact, few = (
            np.concatenate(found) for found in zip(*((one.exact, one.subsampled) for one in parts), strict=True)
        )
        return Comparison(exact, few, sum(one.rows for one in parts))

    def _compared(
        self, examples: np.ndarray, coalitions: np.ndarray, active: np.ndarray, rng: np.random.Generator, skip: bool
    ) -> Comparison:
        n, m = len(examples), len(self.draws.mass)
        arrivals = np.where(coalitions[:, self.players.owner], 1, 2)  # S comes at once, and then the rest
        found = self._steps(examples, arrivals, np.broadcast_to(np.arange(m), (n, m)), skip)
        picks = self.draws.partition(self.kinds[examples], rng, self._own(examples))  # (n, g, q)
        groups = picks.shape[1]
        z = found.outputs[np.arange(n)[:, None, None], picks].reshape(n * groups, -1, *found.outputs.shape[2:])
        arrived = np.repeat((coalitions & active).sum(axis=1), groups)[:, None]
        each, drawn = np.repeat(examples, groups), picks.reshape(n * groups, -1)
        control = self._control_at(each, np.repeat(coalitions, groups, axis=0), drawn, active)
        few = self._payoffs(each, self._seen(each, control, z).few, z, drawn, arrived)
        exact = self._payoffs(examples, self._known(examples, found.outputs).few)
        return Comparison(exact[:, 0], few.reshape(n, groups, -1).mean(axis=1), found.rows)

    def at(
        self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator, *, skip: bool = True
    ) -> tuple[np.ndarray, int]:
        """Payoffs of s coalitions an example, each with the same rows, and model rows: (n,), (n, s, p) -> (n, s, L)."""
        active, inside = self._is_used, (coalitions & self._is_used).sum(axis=2)
        picks = self.draws.draw(self.kinds[examples], rng, self._own(examples))
        payoffs = np.where((inside == 0)[:, :, None], *(end[examples][:, None] for end in self.ends))
        which, place = np.nonzero((inside > 0) & (inside < active.sum()))
        if not len(which):
            return payoffs, 0
        each, kept, drawn = examples[which], coalitions[which, place], picks[which]
        found = self._steps(each, np.where(self.players.columns(kept), 1, 2), drawn, skip)
        control = self._control_at(each, kept, drawn, active)
        payoffs[which, place] = self._payoffs(each, self._seen(each, control, found.outputs).few)[:, 0]
        return payoffs, found.rows

    @cached_property
    def enlarged(self) -> ShortWalks:
        """The same with more rows, drawn simply: for differences of differences, which few rows drown in noise."""
        m = len(self.restricted.mass)
        return replace(self, draws=BackgroundDraws(m if m <= ALL_OF_WIDE else ROWS_OF_WIDE, self.draws.mass))

    def with_all_rows(self, examples: np.ndarray, weights: np.ndarray, coalition: np.ndarray) -> CoalitionInfluence:
        """Payoffs of a coalition (p,) with all background rows, and what they would be beyond these."""
        at_once = max(1, CELLS_COMPARED // self.whole.background.size)
        parts = [slice(start, start + at_once) for start in range(0, len(examples), at_once)]
        found = [self._every_row(examples[part], weights[part], coalition) for part in parts]
        gain, rows = (
            np.sum([getattr(one, name) for one in found], axis=0) for name in ("bias_correction", "influence")
        )
        return CoalitionInfluence(np.concatenate([one.payoffs for one in found]), gain, rows)

    def _every_row(self, examples: np.ndarray, weights: np.ndarray, coalition: np.ndarray) -> CoalitionInfluence:
        n, m, own, draws = len(examples), len(self.whole.mass), self._own(examples), self._all_draws
        if coalition[self._is_used].all():
            losses = len(self.losses)
            return CoalitionInfluence(self.ends[1][examples], np.zeros(losses), np.zeros((m, losses)))
        picks = np.broadcast_to(np.arange(m), (n, m))
        if not coalition[self._is_used].any():
            return _added(self.ends[0][examples], weights, self._beyond_at_start(examples, picks, draws, own))
        kept = np.broadcast_to(coalition[self.players.owner], (n, self.X.shape[1]))
        z = self.whole.each(self.X[examples], kept)[:, :, None, :]
        mean = mean_over(z[:, :, 0], self.whole.mass)
        others = self._without_own(examples, mean[:, None])[:, 0]
        seen = Seen(z, MeanEstimate.exactly(mean), MeanEstimate.exactly(others))
        targets = [target[examples] for target in self.targets]
        variance = draws.variance_by_sampling(z, own)
        beyond = seen_beyond(seen, self.losses, targets, picks, draws, own, variance)
        return _added(self._payoffs(examples, seen.few)[:, 0], weights, beyond)

    def repeats(self) -> tuple[bool, int]:
        """Whether the model gives the same predictions when asked again, and the model rows that cost to see."""
        _ = self._effects, self._slopes  # so that they are there before walks are made by several threads
        rows = self.X[:ASKED_AGAIN]
        first, again = self.outputs[: len(rows)], self.restricted.full(rows)
        return bool((np.abs(again - first) <= ROUNDING * np.abs(first).max()).all()), len(rows)

    def moves(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, int]:
        """Players (p,) that change a prediction on some of the walks, each with one background row; and model rows."""
        n, p = orders.shape
        picks = rng.integers(len(self.draws.mass), size=(n, 1))
        found = self._steps(examples, self.players.arrivals(orders), picks, skip=True)
        start, end = self.restricted.alone[picks][:, :, None, :], self.outputs[examples][:, None, None, :]
        is_change = (np.diff(found.outputs, axis=2, prepend=start, append=end) != 0).any(axis=(1, 3))  # (n, p)
        return np.bincount(orders[is_change], minlength=p) > 0, found.rows

    def _steps(
        self, examples: np.ndarray, arrivals: np.ndarray, picks: np.ndarray, skip: bool, keep: bool = False
    ) -> Steps:
        return self.restricted.steps(self.X[examples], self.outputs[examples], arrivals, picks, skip=skip, keep=keep)

    def _own(self, examples: np.ndarray) -> np.ndarray | None:
        """Background rows that examples are themselves, -1 for none; None where that is so for all."""
        if self.own is None:
            return None
        own = self.own[examples]
        return own if (own >= 0).any() else None

    def _seen(self, examples: np.ndarray, control: np.ndarray, z: np.ndarray) -> Seen:
        """What predictions z (n, q, steps, k) for drawn rows, less a control of mean 0, tell of their means."""
        if self.draws.takes_all:
            return self._known(examples, z)
        own, k = self._own(examples), z.shape[3]
        a = z - control
        variance = self.draws.variance_of_mean(a, own)
        plain, mean = _mean(z), _mean(a)
        others = MeanEstimate(plain.reshape(-1, k), mean.reshape(-1, k), variance.reshape(-1, k))
        if own is None:
            return Seen(z, others, others, a)
        share, mine = self._mass(own)[:, None, None], self.outputs[examples][:, None, :]
        plain, mean = (one + share * (mine - one) for one in (plain, mean))
        variance = variance * (1 - share) ** 2
        return Seen(z, MeanEstimate(plain.reshape(-1, k), mean.reshape(-1, k), variance.reshape(-1, k)), others, a)

    def _control_along(
        self, examples: np.ndarray, orders: np.ndarray, picks: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        """What drawn rows (n, q) add to predictions at the prefixes of orders, as far as known: (n, q, p - 1, k)."""
        if self.draws.takes_all:
            return np.zeros(1)
        beta = 1 - _arrived(orders, active) / max(1, active.sum())
        if self._slopes is not None:
            return self._owed(examples, picks, self.players.arrivals(orders), beta)
        effects, rest = self._excess(examples, picks, active)
        control = beta[:, None, :, None] * rest[:, :, None, :]
        if effects is not None:
            coming = np.take_along_axis(effects, orders[:, None, :, None], axis=2)
            control += np.cumsum(coming[:, :, ::-1], axis=2)[:, :, -2::-1]  # of those after each prefix
        return np.asarray(control)

    def _control_at(
        self, examples: np.ndarray, coalitions: np.ndarray, picks: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        """The same for one coalition (n, p) an example: (n, q, 1, k)."""
        if self.draws.takes_all:
            return np.zeros(1)
        beta = 1 - (coalitions & active).sum(axis=1) / max(1, active.sum())
        if self._slopes is not None:
            return self._owed(examples, picks, np.where(self.players.columns(coalitions), 1, 2), beta[:, None])
        effects, rest = self._excess(examples, picks, active)
        control = beta[:, None, None] * rest
        if effects is not None:
            control += np.einsum("nqpk,np->nqk", effects, ~coalitions)
        return np.asarray(control[:, :, None])

    def _owed(self, examples: np.ndarray, picks: np.ndarray, arrivals: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """The same where withheld cells follow the kept ones: by a linear function of scores, (n, q, p - 1, k)."""
        assert self.restricted.filling is not None
        assert self._slopes is not None
        owed = self.restricted.filling.left(self._slopes, picks, arrivals)
        rest = self.restricted.alone[picks] - self._start(examples)[:, None, :] - owed[:, :, 0]
        return np.asarray(owed[:, :, 1:] + beta[:, None, :, None] * rest[:, :, None, :])

    def _excess(
        self, examples: np.ndarray, picks: np.ndarray, active: np.ndarray
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """By how much drawn rows alone are off their mean: by active players (n, q, p, k), and the rest (n, q, k)."""
        excess = self.restricted.alone[picks] - self._start(examples)[:, None, :]
        if self._effects is None:
            return None, np.asarray(excess)
        each, own = self._effects[picks], self._own(examples)
        if own is not None:  # the mean over all rows but the own one is to be 0
            share = self._mass(own)
            each += (share / (1 - share))[:, None, None, None] * self._effects[own][:, None]
        each *= active[:, None]
        return each, np.asarray(excess - each.sum(axis=2))

    @cached_property
    def _effects(self) -> np.ndarray | None:
        """Main effects of players on predictions for background rows, (m, p, k), where they stay when others are known.

        Effects on probabilities do not: these saturate, and what is left to come counts for less and less.
        """
        f_S = self.restricted
        if f_S.filling is not None or f_S.alone.size * len(self.players) > EFFECTS_KEPT or not self._is_square:
            return None
        return main_effects(f_S.background, f_S.alone, f_S.mass, self.players.owner, len(self.players))

    @cached_property
    def _slopes(self) -> np.ndarray | None:
        """Slopes (d, k) of predictions in scores, where withheld cells follow the kept ones and so do their effects."""
        filling = self.restricted.filling
        return None if filling is None or not self._is_square else slopes(filling.latent, self.restricted.alone)

    @property
    def _is_square(self) -> bool:
        return all(loss.degree == 2 for loss in self.losses)

    def _known(self, examples: np.ndarray, z: np.ndarray) -> Seen:
        """The same from predictions z (n, m, steps, k) for all rows."""
        n, m, inner, k = z.shape
        mean = mean_over(np.moveaxis(z, 2, 1).reshape(n * inner, m, k), self.draws.mass)
        others = self._without_own(examples, mean.reshape(n, inner, k)).reshape(-1, k)
        return Seen(z, MeanEstimate.exactly(mean), MeanEstimate.exactly(others))

    def _without_own(self, examples: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Mean predictions (n, steps, k) over all rows but the one that an example is."""
        own = self._own(examples)
        if own is None:
            return mean
        share = self._mass(own)[:, None, None]
        return np.asarray(mean + share / (1 - share) * (mean - self.outputs[examples][:, None, :]))

    def _mass(self, own: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(own >= 0, self.whole.mass[own], 0.0))

    def _start(self, examples: np.ndarray) -> np.ndarray:
        """Mean predictions with nothing known, (n, k) or (1, k)."""
        nothing = mean_over(self.restricted.alone[None], self.draws.mass)
        if self._own(examples) is None:
            return np.asarray(nothing)
        return self._without_own(examples, np.broadcast_to(nothing, (len(examples), 1, nothing.shape[1])))[:, 0]

    def _payoffs(
        self, examples: np.ndarray, few: MeanEstimate, z: np.ndarray | None = None, picks: np.ndarray | None = None,
        arrived: np.ndarray | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Payoffs (n, steps, L); with predictions z, those of the start where nothing that matters has arrived."""
        inner = len(few.mean) // len(examples)
        losses = [loss.debiasing(loss, few, target) for loss, target in self._by_step(examples, inner)]
        payoffs = -np.stack(losses, axis=1).reshape(len(examples), inner, len(losses))
        is_known = self.draws.takes_all and self.whole is self.restricted  # as the ends are, to the last bit
        if z is not None and picks is not None and arrived is not None and not is_known:
            is_start = _is_start(z, self.restricted.alone[picks][:, :, None, :], arrived)
            payoffs[is_start] = np.broadcast_to(self.ends[0][examples][:, None], payoffs.shape)[is_start]
        return payoffs

    def _beyond(
        self, examples: np.ndarray, arrivals: np.ndarray, arrived: np.ndarray, most: int, picks: np.ndarray, seen: Seen,
        rng: np.random.Generator,
    ) -> Influence:  # fmt: skip
        """Gains and influences at every prefix; variances of predictions are adjusted by their known start too."""
        own, draws, shown = self._own(examples), self.draws, seen
        if self.whole is not self.restricted:  # whose rows have a say in the mean row that was walked with
            draws = self._all_draws if len(self.whole.mass) <= ROWS_SEEN else self._few_draws
            picks = draws.draw(self.kinds[examples], rng, own)
            z = self.whole.steps(self.X[examples], self.outputs[examples], arrivals, picks, skip=True, keep=False)
            shown = Seen(z.outputs, seen.few, seen.others)
        alone = self.whole.alone[picks][:, :, None, :]
        known = self._variance_at_start(examples, own)[:, None]
        off = draws.variance_by_sampling(alone, own) - known  # (n, 1, k)
        variance = draws.variance_by_sampling(shown.z, own) - (1 - arrived / most)[:, :, None] * off
        targets = [target for _, target in self._by_step(examples, shown.z.shape[2])]
        along = seen_beyond(shown, self.losses, targets, picks, draws, own, variance)
        start = self._beyond_at_start(examples, picks, draws, own)
        if not draws.takes_all:
            is_start = _is_start(shown.z, alone, arrived)
            np.copyto(along.bias_correction, start.bias_correction, where=is_start[:, :, None])
            np.copyto(along.influence, start.influence, where=is_start[:, None, :, None])
        n, q, _, losses = along.influence.shape
        end = Influence(np.zeros((n, 1, losses)), picks, np.zeros((n, q, 1, losses)))
        return joined([start, along, end])

    def _beyond_at_start(
        self, examples: np.ndarray, picks: np.ndarray, draws: BackgroundDraws, own: np.ndarray | None
    ) -> Influence:
        mean = np.broadcast_to(
            mean_over(self.whole.alone[None], self.whole.mass), (len(examples), self.outputs.shape[1])
        )
        others = self._without_own(examples, mean[:, None])[:, 0]
        seen = Seen(self.whole.alone[picks][:, :, None, :], MeanEstimate.exactly(mean), MeanEstimate.exactly(others))
        targets = [target[examples] for target in self.targets]
        variance = self._variance_at_start(examples, own)[:, None]
        return seen_beyond(seen, self.losses, targets, picks, draws, own, variance)

    def _variance_at_start(self, examples: np.ndarray, own: np.ndarray | None) -> np.ndarray:
        """That of the mean prediction with nothing known, by the sampling of the background, (n, k)."""
        mean = mean_over(self.whole.alone[None], self.whole.mass)
        off = (self.whole.alone - mean) ** 2
        variance = np.broadcast_to(self.whole.mass @ off, (len(examples), off.shape[1]))
        if own is not None:  # of the others, around their own mean
            share = self._mass(own)[:, None]
            variance = (variance - share * np.where(own[:, None] >= 0, off[own], 0.0)) / (1 - share)
            others = self._without_own(examples, np.broadcast_to(mean, variance.shape)[:, None])[:, 0]
            variance = np.maximum(variance - (others - mean) ** 2, 0.0)
        share = by_sampling(np.asarray(self._all_draws.concentration(own)).reshape(-1, 1))
        return np.asarray(variance * share)

    @cached_property
    def _is_used(self) -> np.ndarray:
        """Players (p,) that are not known to have no effect."""
        return np.bincount(self.players.owner, weights=self.whole.is_used, minlength=len(self.players)) > 0

    @cached_property
    def _few_draws(self) -> BackgroundDraws:
        return BackgroundDraws(ROWS_SEEN, self.whole.mass)

    @cached_property
    def _all_draws(self) -> BackgroundDraws:
        return BackgroundDraws(len(self.whole.mass), self.whole.mass)

    def _by_step(self, examples: np.ndarray, inner: int) -> Iterator[tuple[Loss, np.ndarray]]:
        return ((loss, target[np.repeat(examples, inner)])
                for loss, target in zip(self.losses, self.targets, strict=True))  # fmt: skip

    def _with_ends(self, examples: np.ndarray, payoffs: np.ndarray) -> np.ndarray:
        empty, full = (end[examples][:, None] for end in self.ends)
        return np.concatenate([empty, payoffs, full], axis=1)


def _added(payoffs: np.ndarray, weights: np.ndarray, beyond: Influence) -> CoalitionInfluence:
    """Payoffs (n, L), and of what is beyond them the weighted sum over examples."""
    rows = np.einsum("n,nml->ml", weights, beyond.influence[:, :, 0]) / beyond.background_index.shape[1]
    return CoalitionInfluence(payoffs, weights @ beyond.bias_correction[:, 0], rows)


def _is_start(z: np.ndarray, alone: np.ndarray, arrived: np.ndarray) -> np.ndarray:
    """Whether nothing that matters has arrived, (n, steps), and predictions are those of background rows alone."""
    return np.asarray((arrived == 0) & (z == alone).all(axis=(1, 3)))


def _arrived(orders: np.ndarray, active: np.ndarray) -> np.ndarray:
    """|S n A| at the proper prefixes S of orders (n, p): (n, p - 1)."""
    return np.asarray(np.cumsum(active[orders], axis=1)[:, :-1])


def _mean(values: np.ndarray) -> np.ndarray:
    """Means along axis 1; that of equal values is that value to the last bit."""
    first = values[:, :1]
    return np.asarray((first + (values - first).mean(axis=1, keepdims=True))[:, 0])
