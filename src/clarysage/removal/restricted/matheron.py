r"""Conditional Gaussian simulation by Matheron's rule: draws from a law become draws given what is known of a row.

The scores of columns have a Gaussian law N(0, R). A draw from it is moved by the regression of its error in the known
scores, after which it has the conditional law (Journel & Huijbregts, Mining geostatistics, 1978, ch. 7; Wilson et al.,
Efficiently sampling functions from Gaussian process posteriors, ICML 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from clarysage._utils.threads import one_thread
from clarysage.removal.background import bits

RIDGE = 1e-10  # added to the variance of each score, so that columns which determine each other can be conditioned on


class Lens(Protocol):
    """Between cells of columns and scores, which are normal."""

    @property
    def has_ties(self) -> bool:
        """Whether a cell says of its score only where about it is, so that it depends on what else is known."""
        ...

    def scores(self, x: np.ndarray, background_index: np.ndarray) -> np.ndarray:
        """Scores of rows x (n, d) beside drawn rows (n, q): (n, q, d), or (n, 1, d) where draws make no difference."""
        ...

    def agreed(self, x: np.ndarray, background_index: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """Scores that agree with each other where there are ties, given the precision (n, d, d) of those known."""
        ...

    def cells(self, scores: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Cells of scores (..., d), or of those of some columns, freshly made."""
        ...


@dataclass(frozen=True)
class Filling:
    r"""Rows of scores z_k (m, d), drawn from N(0, R), which move along with what becomes known.

    A draw from N(0, R) becomes one from the conditional law when what is known of it is put right and the other scores
    follow by regression (Matheron's rule):

    .. math:: z_{\bar S | S} = z_{\bar S} + R_{\bar S S} R_{S S}^{-1} (s_S(x) - z_S)

    with s(x) the scores of the example. Nothing is drawn anew from coalition to coalition: with nothing known the rows
    are those that were drawn, with everything known they are the example, and so rows of a walk change step by step as
    hybrid rows of a fixed background do.
    """

    lens: Lens
    latent: np.ndarray
    correlation: np.ndarray

    @cached_property
    def background(self) -> np.ndarray:
        """The rows with nothing known, as cells, (m, d)."""
        return self.lens.cells(self.latent)

    def at(self, x: np.ndarray, is_kept: np.ndarray, part: slice = slice(None)) -> np.ndarray:
        """Rows, or a part of them, when the kept columns of examples are known: (n, d), (n, d) -> (n, m, d)."""
        latent, numbers = self.latent[part], np.arange(len(self.latent))[part]
        background_index = np.broadcast_to(numbers, (len(x), len(numbers)))
        coalitions, back = _coalitions(is_kept)
        share = self._regression(coalitions)
        moved = latent - latent @ share  # (u, m, d)
        found = moved[back]
        found += self._scores(x, is_kept, background_index) @ share[back]
        cells = self.lens.cells(found)
        np.copyto(cells, x[:, None, :], where=is_kept[:, None, :])
        return cells

    def picked(self, x: np.ndarray, is_kept: np.ndarray, background_index: np.ndarray) -> np.ndarray:
        """Withheld cells of drawn rows (n, q), when one coalition (d,) of examples is known: (n, d) -> (n, q, c)."""
        share, z = self._regression(is_kept[None])[0][:, ~is_kept], self.latent[background_index]
        off = self._scores(x, is_kept[None], background_index) - z
        with one_thread():
            return self.lens.cells(z[:, :, ~is_kept] + off @ share, np.flatnonzero(~is_kept))

    def along(self, x: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray) -> np.ndarray:
        """Drawn rows (n, q) at every proper prefix of walks, (n, d), (n, q), (n, d) -> (n, q, p - 1, d)."""
        rows = (
            self._prefix_by_prefix(x, background_index, entry_position)
            if self.lens.has_ties
            else self._step_by_step(x, background_index, entry_position)
        )
        cells = self.lens.cells(rows)
        has_arrived = entry_position[:, None, :] <= np.arange(1, int(entry_position.max()))[:, None]  # (n, p - 1, d)
        np.copyto(cells, x[:, None, None, :], where=has_arrived[:, None])
        return cells

    def _step_by_step(self, x: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray) -> np.ndarray:
        """Scores of the rows, each from the one before."""
        (n, q), steps, each = background_index.shape, int(entry_position.max()), np.arange(len(background_index))
        order, gain = self._gains(entry_position)
        scores, z = self.lens.scores(x, background_index), self.latent[background_index]
        rows = np.empty((n, steps, q, x.shape[1]))
        for place, column in enumerate(order.T):
            z += (scores[each, :, column] - z[each, :, column])[:, :, None] * gain[:, place, None, :]
            rows[each, entry_position[each, column] - 1] = z
        return rows[:, :-1].swapaxes(1, 2)

    def _prefix_by_prefix(self, x: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray) -> np.ndarray:
        """The same, each by itself, since what is known of a score changes with what else becomes known."""
        z, found = self.latent[background_index], []
        for step in range(1, int(entry_position.max())):
            is_kept = entry_position <= step
            found.append(z + (self._scores(x, is_kept, background_index) - z) @ self._regression(is_kept))
        return np.stack(found, axis=2)

    def _scores(self, x: np.ndarray, is_kept: np.ndarray, background_index: np.ndarray) -> np.ndarray:
        """Scores of what is kept of examples, beside drawn rows: (n, d), (n, d), (n, q) -> (n, q, d) or (n, 1, d)."""
        if not self.lens.has_ties:
            return self.lens.scores(x, background_index)
        with one_thread():
            precision = np.linalg.inv(self._of_kept(is_kept))
        return self.lens.agreed(x, background_index, precision)

    def linear_control(
        self, slopes: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray
    ) -> np.ndarray:
        r"""Control variates of drawn rows, linear in scores, of slopes (d, k): (n, q), (n, d) -> (n, q, p, k).

        .. math:: \sum_i \beta_i (z_{k, i | S} - \bar z_{i | S})

        at every prefix but the last, the empty one first. Its mean over all rows is 0 at each of them, since scores
        move by the same share of what they are off, whatever the row.
        """
        (n, q), steps, each = background_index.shape, int(entry_position.max()), np.arange(len(background_index))
        order, gain = self._gains(entry_position)
        z = (self.latent - self.latent.mean(axis=0))[background_index]
        owed = np.empty((n, steps + 1, q, slopes.shape[1]))
        owed[:, 0] = z @ slopes
        now = owed[:, 0].copy()
        with_player = gain @ slopes  # (n, d, k)
        for place, column in enumerate(order.T):
            off = z[each, :, column]
            now -= off[:, :, None] * with_player[:, place, None, :]
            z -= off[:, :, None] * gain[:, place, None, :]
            owed[each, entry_position[each, column]] = now
        return owed[:, :-1].swapaxes(1, 2)

    def _gains(self, entry_position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns in the order of their arrival, (n, d), and how scores follow each when it arrives: (n, d, d)."""
        order = np.argsort(entry_position, axis=1, kind="stable")
        with one_thread():
            factor = np.linalg.cholesky(self.correlation[order[:, :, None], order[:, None, :]])
        factor /= np.diagonal(factor, axis1=1, axis2=2)[:, None, :]  # scores of later columns per score of an earlier
        gain = np.empty_like(factor)
        np.put_along_axis(gain, np.broadcast_to(order[:, None, :], gain.shape), factor.swapaxes(1, 2), axis=2)
        return order, gain

    def _regression(self, is_kept: np.ndarray) -> np.ndarray:
        """By how much withheld scores go up with each kept one: (u, d) -> (u, d, d), 0 but for kept and withheld."""
        apart = is_kept[:, :, None] & ~is_kept[:, None, :]
        with one_thread():
            return np.linalg.solve(self._of_kept(is_kept), np.where(apart, self.correlation, 0.0))

    def _of_kept(self, is_kept: np.ndarray) -> np.ndarray:
        """Correlations among what is kept, (u, d, d), as if the rest had none."""
        return np.where(is_kept[:, :, None] & is_kept[:, None, :], self.correlation, np.eye(len(self.correlation)))


@dataclass(frozen=True)
class Passage:
    """Rows of n walks with q draws each, at steps 1 to p - 1: what :class:`Itinerary` is for rows that stay.

    ``b`` (n, q, d) are the rows at the start, x (n, d) those at the end.
    """

    x: np.ndarray
    b: np.ndarray
    along: np.ndarray

    @property
    def steps(self) -> int:
        return int(self.along.shape[2]) + 1

    def changes(self, is_used: np.ndarray) -> np.ndarray:
        """How many changes there were up to steps 1 to p, columns that are not used aside: (n, q, p)."""
        start, end = (
            self.b[:, :, None, :],
            np.broadcast_to(self.x[:, None, None, :], (*self.b.shape[:2], 1, len(is_used))),
        )
        rows = bits(np.concatenate([start, self.along, end], axis=2))
        return np.cumsum(((rows[:, :, 1:] != rows[:, :, :-1]) & is_used).any(axis=3), axis=2, dtype=np.int32)

    def rows(self, walk: np.ndarray, which: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Rows (r, d) at the given steps of the given walks with the given ones of their draws."""
        return np.asarray(self.along[walk, which, step - 1])


def _coalitions(is_kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The coalitions among rows (n, d), and which of them each row is, (n,)."""
    _, first, back = np.unique(np.packbits(is_kept, axis=1), axis=0, return_index=True, return_inverse=True)
    return is_kept[first], back.ravel()
