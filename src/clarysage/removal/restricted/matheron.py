r"""Conditional Gaussian simulation by Matheron's rule: joint draws become draws given the kept columns of a row.

The normal scores of columns have a Gaussian distribution N(0, R). A draw from it is moved by the regression of its
error in the known scores, after which it has the conditional distribution (Journel & Huijbregts 1978, ch. 7; Wilson et
al. 2020).

References
----------
A. G. Journel, C. J. Huijbregts (1978). Mining Geostatistics. Academic Press.
J. T. Wilson, V. Borovitskiy, A. Terenin, P. Mostowsky, M. P. Deisenroth (2020). Efficiently sampling functions from
Gaussian process posteriors. ICML 119, 10292-10302.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from clarysage._utils.threads import one_thread
from clarysage.coalitions import distinct
from clarysage.removal.background import bits

RIDGE = 1e-10  # added to the variance of each score, so that columns which determine each other can be conditioned on


class ScoreTransform(Protocol):
    """A map between cells of columns and normal scores."""

    @property
    def has_ties(self) -> bool:
        """True if a cell gives only an interval for its score, so that the score depends on the other known cells."""
        ...

    def scores(self, x: np.ndarray, background_index: np.ndarray) -> np.ndarray:
        """Returns scores of rows x (n, d) for drawn rows (n, q): (n, q, d), or (n, 1, d) if draws do not matter."""
        ...

    def joint_scores(self, x: np.ndarray, background_index: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """Returns scores drawn jointly where there are ties, given the precision (n, d, d) of the known scores."""
        ...

    def cells(self, scores: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Returns the cells of scores (..., d), or of the scores of some columns, as a new array."""
        ...


@dataclass(frozen=True)
class GaussianSimulation:
    r"""Rows of scores z_k (m, d), drawn from N(0, R), which are moved to the conditional one, given kept columns.

    A draw from N(0, R) becomes one from the conditional distribution when its known scores are replaced by those of the
    example and the other scores follow by regression (Matheron's rule):

    .. math:: z_{\bar S | S} = z_{\bar S} + R_{\bar S S} R_{S S}^{-1} (s_S(x) - z_S)

    with s(x) the scores of the example. The same draws serve every coalition: with nothing kept the rows are those that
    were drawn, with everything kept they are the example, and rows of a walk change step by step as hybrid rows of a
    fixed background do.
    """

    transform: ScoreTransform
    latent: np.ndarray
    correlation: np.ndarray

    @cached_property
    def background(self) -> np.ndarray:
        """The rows for nothing kept, as cells, (m, d)."""
        return self.transform.cells(self.latent)

    def given(self, x: np.ndarray, is_kept: np.ndarray, part: slice = slice(None)) -> np.ndarray:
        """Returns all rows, or a part of them, given the kept columns of examples: (n, d), (n, d) -> (n, m, d)."""
        latent, numbers = self.latent[part], np.arange(len(self.latent))[part]
        background_index = np.broadcast_to(numbers, (len(x), len(numbers)))
        coalitions, inverse = distinct(is_kept)
        slopes = self._regression(coalitions)
        residuals = latent - latent @ slopes  # (u, m, d)
        scores = residuals[inverse]
        scores += self._scores(x, is_kept, background_index) @ slopes[inverse]
        cells = self.transform.cells(scores)
        np.copyto(cells, x[:, None, :], where=is_kept[:, None, :])
        return cells

    def withheld_cells(self, x: np.ndarray, is_kept: np.ndarray, background_index: np.ndarray) -> np.ndarray:
        """Returns withheld cells of drawn rows (n, q), given one coalition (d,) of examples: (n, d) -> (n, q, c)."""
        slopes, z = self._regression(is_kept[None])[0][:, ~is_kept], self.latent[background_index]
        error = self._scores(x, is_kept[None], background_index) - z
        with one_thread():
            return self.transform.cells(z[:, :, ~is_kept] + error @ slopes, np.flatnonzero(~is_kept))

    def at_prefixes(self, x: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray) -> np.ndarray:
        """Returns drawn rows (n, q) at every proper prefix of walks, (n, d), (n, q), (n, d) -> (n, q, p - 1, d)."""
        rows = (
            self._prefix_by_prefix(x, background_index, entry_position)
            if self.transform.has_ties
            else self._step_by_step(x, background_index, entry_position)
        )
        cells = self.transform.cells(rows)
        has_entered = entry_position[:, None, :] <= np.arange(1, int(entry_position.max()))[:, None]  # (n, p - 1, d)
        np.copyto(cells, x[:, None, None, :], where=has_entered[:, None])
        return cells

    def _step_by_step(self, x: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray) -> np.ndarray:
        """Returns the scores of the rows, each computed from the one before."""
        (n, q), steps, each = background_index.shape, int(entry_position.max()), np.arange(len(background_index))
        order, gain = self._gains(entry_position)
        scores, z = self.transform.scores(x, background_index), self.latent[background_index]
        rows = np.empty((n, steps, q, x.shape[1]))
        for position, column in enumerate(order.T):
            z += (scores[each, :, column] - z[each, :, column])[:, :, None] * gain[:, position, None, :]
            rows[each, entry_position[each, column] - 1] = z
        return rows[:, :-1].swapaxes(1, 2)

    def _prefix_by_prefix(self, x: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray) -> np.ndarray:
        """Returns the scores of the rows, each computed separately: with ties, a score depends on all known ones."""
        z, scores = self.latent[background_index], []
        for step in range(1, int(entry_position.max())):
            is_kept = entry_position <= step
            scores.append(z + (self._scores(x, is_kept, background_index) - z) @ self._regression(is_kept))
        return np.stack(scores, axis=2)

    def _scores(self, x: np.ndarray, is_kept: np.ndarray, background_index: np.ndarray) -> np.ndarray:
        """Returns scores of the kept cells for drawn rows: (n, d), (n, d), (n, q) -> (n, q, d) or (n, 1, d)."""
        if not self.transform.has_ties:
            return self.transform.scores(x, background_index)
        with one_thread():
            precision = np.linalg.inv(self._kept_correlation(is_kept))
        return self.transform.joint_scores(x, background_index, precision)

    def linear_control(
        self, slopes: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray
    ) -> np.ndarray:
        r"""Returns control variates of drawn rows, linear in scores with slopes (d, k): (n, q), (n, d) -> (n, q, p, k).

        .. math:: \sum_i \beta_i (z_{k, i | S} - \bar z_{i | S})

        at every prefix but the last, the empty one first. Its mean over all rows is 0 at each of them, since all rows
        are moved by the same regression.
        """
        (n, q), steps, each = background_index.shape, int(entry_position.max()), np.arange(len(background_index))
        order, gain = self._gains(entry_position)
        z = (self.latent - self.latent.mean(axis=0))[background_index]
        control = np.empty((n, steps + 1, q, slopes.shape[1]))
        control[:, 0] = z @ slopes
        value = control[:, 0].copy()
        change = gain @ slopes  # (n, d, k)
        for position, column in enumerate(order.T):
            error = z[each, :, column]
            value -= error[:, :, None] * change[:, position, None, :]
            z -= error[:, :, None] * gain[:, position, None, :]
            control[each, entry_position[each, column]] = value
        return control[:, :-1].swapaxes(1, 2)

    def _gains(self, entry_position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the columns in order of entry, (n, d), and how scores change with each entering score: (n, d, d)."""
        order = np.argsort(entry_position, axis=1, kind="stable")
        with one_thread():
            factor = np.linalg.cholesky(self.correlation[order[:, :, None], order[:, None, :]])
        factor /= np.diagonal(factor, axis1=1, axis2=2)[:, None, :]  # scores of later columns per score of an earlier
        gain = np.empty_like(factor)
        np.put_along_axis(gain, np.broadcast_to(order[:, None, :], gain.shape), factor.swapaxes(1, 2), axis=2)
        return order, gain

    def _regression(self, is_kept: np.ndarray) -> np.ndarray:
        """Returns slopes of withheld scores on kept ones: (u, d) -> (u, d, d), 0 except kept by withheld columns."""
        is_cross = is_kept[:, :, None] & ~is_kept[:, None, :]
        with one_thread():
            return np.linalg.solve(self._kept_correlation(is_kept), np.where(is_cross, self.correlation, 0.0))

    def _kept_correlation(self, is_kept: np.ndarray) -> np.ndarray:
        """Returns correlations among kept columns, (u, d, d), as if the others were uncorrelated."""
        return np.where(is_kept[:, :, None] & is_kept[:, None, :], self.correlation, np.eye(len(self.correlation)))


@dataclass(frozen=True)
class ConditionalWalks:
    """n walks with q simulated rows each, at steps 1 to p - 1; the counterpart of ``FixedRowWalks``.

    ``b`` (n, q, d) are the rows at the start, x (n, d) those at the end, ``inner`` (n, q, p - 1, d) those between.
    """

    x: np.ndarray
    b: np.ndarray
    inner: np.ndarray

    @property
    def steps(self) -> int:
        return int(self.inner.shape[2]) + 1

    def changes(self, is_used: np.ndarray) -> np.ndarray:
        """Counts the changes of used columns up to each of the steps 1 to p: (n, q, p)."""
        start = self.b[:, :, None, :]
        end = np.broadcast_to(self.x[:, None, None, :], (*self.b.shape[:2], 1, len(is_used)))
        rows = bits(np.concatenate([start, self.inner, end], axis=2))
        return np.cumsum(((rows[:, :, 1:] != rows[:, :, :-1]) & is_used).any(axis=3), axis=2, dtype=np.int32)

    def rows(self, walk: np.ndarray, draw: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Returns the rows (r, d) of the given walks and draws at the given steps."""
        return np.asarray(self.inner[walk, draw, step - 1])
