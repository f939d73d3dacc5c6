"""Walks that look at few of the background rows: payoffs along them, estimated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.few import Few
from clarysage.losses.few_forms import few_form
from clarysage.players import Players
from clarysage.protocols import Compared, Loss, Walks
from clarysage.removal.background_draws import BackgroundDraws
from clarysage.removal.hybrid import HybridModel, mean_over
from clarysage.removal.steps import Steps

ASKED_AGAIN = 16  # rows, to see whether predictions repeat ...
ROUNDING = 1e-6  # ... but for rounding that depends on which rows are asked together
CELLS_COMPARED = 4_000_000  # of hybrid rows, at once
SPARING = 2  # few rows are drawn of a background more than this many times as large


@dataclass(frozen=True)
class ShortWalks:
    r"""Payoffs at every prefix of walks, from q background rows that are drawn once a walk and kept along it.

    With z_k(S) = f(x_S, b_k) the drawn predictions are adjusted by their known start,

    .. math:: a_k(S) = z_k(S) - \beta(S) (z_k(\emptyset) - \bar z(\emptyset)), \qquad \beta(S) = 1 - |S \cap A| / |A|

    whose mean over all m rows is that of z_k(S) for any beta fixed in advance. A holds the players that are known to
    matter: one that never changes a prediction then changes no estimate either, and is worth exactly nothing.
    """

    restricted: HybridModel
    losses: tuple[Loss, ...]
    targets: tuple[np.ndarray, ...]
    players: Players
    X: np.ndarray
    outputs: np.ndarray
    ends: tuple[np.ndarray, np.ndarray]
    draws: BackgroundDraws
    kinds: np.ndarray

    @classmethod
    def of(cls, game: Any) -> ShortWalks:
        """Short walks of a game; where losses differ in how rows are best drawn, they are drawn simply."""
        f_S: HybridModel = game.restricted.condensed()
        if game.like is not None:
            like: ShortWalks = game.like
            return replace(like, restricted=f_S, outputs=game.outputs, ends=game.ends)
        forms, m = [few_form(loss) for loss in game.losses], len(f_S.mass)
        rows = max(form.rows for form in forms)
        found = [form.strata(loss, f_S.alone, target)
                 for form, loss, target in zip(forms, game.losses, game.targets, strict=True)]  # fmt: skip
        strata = found[0] if all(one is not None for one in found) else None
        kinds = np.zeros(len(game.X), dtype=np.intp) if strata is None else strata.kinds
        everything = m <= SPARING * rows
        ranked = None if strata is None or everything else strata.ranked
        draws = BackgroundDraws(m if everything else rows, f_S.mass, ranked)
        return cls(f_S, game.losses, game.targets, game.players, game.X, game.outputs, game.ends, draws, kinds)

    @property
    def rows(self) -> int:
        """Background rows of a walk."""
        return self.draws.rows

    @property
    def takes_all(self) -> bool:
        """Whether these are all rows there are."""
        return self.draws.takes_all

    @property
    def is_unbiased(self) -> bool:
        """Whether payoffs are right on average, so that no walk with all rows is needed beside them."""
        is_simple = self.draws.ranked is None
        return self.draws.takes_all or (is_simple and all(few_form(loss).is_unbiased for loss in self.losses))

    @property
    def errs_with_loss(self) -> bool:
        """Whether payoffs are off most where losses are large."""
        return all(few_form(loss).errs_with_loss for loss in self.losses)

    def walk(
        self, examples: np.ndarray, orders: np.ndarray, active: np.ndarray, rng: np.random.Generator, *,
        skip: bool = True, keep: bool = False,
    ) -> Walks:  # fmt: skip
        """Payoffs (n, p + 1, L) and the model rows they cost."""
        picks = self.draws.draw(self.kinds[examples], rng)
        found = self._steps(examples, self.players.arrivals(orders), picks, skip, keep)
        if self.draws.takes_all:
            payoffs = self._exactly(examples, found.outputs)
        else:
            payoffs = self._estimated(examples, _arrived(orders, active), picks, found.outputs, active)
        return Walks(self._with_ends(examples, payoffs), found.rows, found.asked)

    def compared(
        self, examples: np.ndarray, coalitions: np.ndarray, active: np.ndarray, rng: np.random.Generator, *,
        skip: bool = True,
    ) -> Compared:  # fmt: skip
        """Payoffs of coalitions (n, p), one an example, with all rows and by draws of few that share them out."""
        at_once = max(1, CELLS_COMPARED // self.restricted.background.size)
        parts = [
            self._compared(examples[start : start + at_once], coalitions[start : start + at_once], active, rng, skip)
            for start in range(0, len(examples), at_once)
        ]
        exact, few = (np.concatenate(found) for found in zip(*((one.exact, one.few) for one in parts), strict=True))
        return Compared(exact, few, sum(one.rows for one in parts))

    def _compared(
        self, examples: np.ndarray, coalitions: np.ndarray, active: np.ndarray, rng: np.random.Generator, skip: bool
    ) -> Compared:
        n, m = len(examples), len(self.draws.mass)
        arrivals = np.where(coalitions[:, self.players.owner], 1, 2)  # S comes at once, and then the rest
        found = self._steps(examples, arrivals, np.broadcast_to(np.arange(m), (n, m)), skip)
        picks = self.draws.partition(self.kinds[examples], rng)  # (n, g, q)
        groups = picks.shape[1]
        z = found.outputs[np.arange(n)[:, None, None], picks].reshape(n * groups, -1, *found.outputs.shape[2:])
        arrived = np.repeat((coalitions & active).sum(axis=1), groups)[:, None]
        few = self._estimated(np.repeat(examples, groups), arrived, picks.reshape(n * groups, -1), z, active)
        return Compared(
            self._exactly(examples, found.outputs)[:, 0], few.reshape(n, groups, -1).mean(axis=1), found.rows
        )

    def repeats(self) -> tuple[bool, int]:
        """Whether the model gives the same predictions when asked again, and the model rows that cost to see."""
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

    def _exactly(self, examples: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Payoffs (n, steps, L) of predictions z (n, m, steps, k) for all rows."""
        n, m, inner, k = z.shape
        means = mean_over(np.moveaxis(z, 2, 1).reshape(n * inner, m, k), self.draws.mass)
        return self._payoffs(examples, inner, [loss(means, target) for loss, target in self._by_step(examples, inner)])

    def _estimated(
        self, examples: np.ndarray, arrived: np.ndarray, picks: np.ndarray, z: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        """Payoffs (n, steps, L) of predictions z (n, q, steps, k) for the picked rows; arrived is |S n A|."""
        inner, k = z.shape[2:]
        beta = 1 - arrived / max(1, active.sum())
        start = self.restricted.alone[picks]  # (n, q, k)
        excess = start - mean_over(self.restricted.alone[None], self.draws.mass)
        a = z - beta[:, None, :, None] * excess[:, :, None, :]
        few = Few(_mean(z).reshape(-1, k), _mean(a).reshape(-1, k), self.draws.variance_of_mean(a).reshape(-1, k))
        losses = [few_form(loss)(loss, few, target) for loss, target in self._by_step(examples, inner)]
        payoffs = self._payoffs(examples, inner, losses)
        is_start = (arrived == 0) & (z == start[:, :, None, :]).all(axis=(1, 3))  # nothing that matters has arrived
        payoffs[is_start] = np.broadcast_to(self.ends[0][examples][:, None], payoffs.shape)[is_start]
        return payoffs

    def _by_step(self, examples: np.ndarray, inner: int) -> Iterator[tuple[Loss, np.ndarray]]:
        return ((loss, target[np.repeat(examples, inner)])
                for loss, target in zip(self.losses, self.targets, strict=True))  # fmt: skip

    def _payoffs(self, examples: np.ndarray, inner: int, losses: Sequence[np.ndarray]) -> np.ndarray:
        return -np.stack(losses, axis=1).reshape(len(examples), inner, len(losses))

    def _with_ends(self, examples: np.ndarray, payoffs: np.ndarray) -> np.ndarray:
        empty, full = (end[examples][:, None] for end in self.ends)
        return np.concatenate([empty, payoffs, full], axis=1)


def _arrived(orders: np.ndarray, active: np.ndarray) -> np.ndarray:
    """|S n A| at the proper prefixes S of orders (n, p): (n, p - 1)."""
    return np.asarray(np.cumsum(active[orders], axis=1)[:, :-1])


def _mean(values: np.ndarray) -> np.ndarray:
    """Means along axis 1; that of equal values is that value to the last bit."""
    first = values[:, :1]
    return np.asarray((first + (values - first).mean(axis=1, keepdims=True))[:, 0])
