r"""Closed form of additive models under squared error: values, and the influence of the background on them.

With h_i the part of player i in the predictions, mu_i its mean over the background rows and a_i = h_i(x) - mu_i, the
value of an example, for each output, is

.. math:: \phi_i = a_i (2 y - a_\emptyset - f)

Weight that moves to background row k moves the means by d_k = h(b_k) - mu, so that the influence of the row is

.. math:: \psi_{ki} = -d_{ki} (2 y - a_\emptyset - f) - a_i \sum_j d_{kj}

The finite background adds to the loss of a coalition S the variance of the mean of sum_{j not in S} h_j (Jensen's gap,
:mod:`clarysage.games.payoff_influence`). This is a sum over pairs of players; its Shapley values, which are subtracted
from the values, are

.. math:: \frac{C}{1 - C} Cov\Big(h_i, \sum_j h_j\Big), \qquad C = \sum_k w_k^2

The influence on an example that is itself a background row is that of the other rows (a self-match).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clarysage.inference.influence import BackgroundInfluence
from clarysage.protocols import ClosedFormBatch, KnownStructure
from clarysage.removal.background_draws import BackgroundDraws, variance_factor
from clarysage.structure.moebius import Terms


@dataclass(frozen=True)
class Additive:
    """Values of examples, f_S = a_0 + sum_{i in S} a_i, and the influence of the background on them.

    Attributes
    ----------
    terms : maps rows to a_0 and a, in one array (n, p + 1, K)
    units : (K,) of each loss, by which errors are divided
    row_weights : (m,) of the background rows, which are those of ``native``
    self_match : (N,) the background row that each example is, -1 for none; None where no example is one
    """

    terms: Terms
    native: KnownStructure
    X: np.ndarray
    targets: tuple[np.ndarray, ...]
    units: tuple[np.ndarray, ...]
    weights: np.ndarray
    row_weights: np.ndarray
    self_match: np.ndarray | None

    def __call__(self, examples: np.ndarray) -> ClosedFormBatch:
        nothing, a = self._terms(examples)
        of_losses = zip(self.targets, self.units, strict=True)
        parts = np.stack([_values(*in_units(unit, nothing, a, target[examples])) for target, unit in of_losses], axis=1)
        parts *= self.weights[examples][:, None, None]
        return ClosedFormBatch(parts.sum(axis=0), parts)

    def influence(self, examples: np.ndarray) -> BackgroundInfluence:
        """Returns the influence of the background rows on the sum of the values of examples (n,)."""
        nothing, a = self._terms(examples)
        of_losses = [
            self._influence(
                examples,
                *in_units(unit, nothing, a, target[examples], self._deviations),
                *in_units(unit**2, self._covariance),
            )
            for target, unit in zip(self.targets, self.units, strict=True)
        ]
        zero = np.zeros((len(self.targets), a.shape[1]))
        rows = np.stack([influence for influence, _ in of_losses], axis=1)
        return BackgroundInfluence(rows, zero, np.stack([correction for _, correction in of_losses]), zero)

    def _influence(
        self,
        examples: np.ndarray,
        nothing: np.ndarray,
        a: np.ndarray,
        target: np.ndarray,
        deviations: np.ndarray,
        covariance: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the influence (m, p) of background rows, and the correction (p,), for one loss, in its units."""
        weights, match = self.weights[examples], np.full(len(examples), -1)
        if self.self_match is not None:
            match = self.self_match[examples]
        is_row = match >= 0
        share = np.where(is_row, self.row_weights[match], 0.0)[:, None]
        odds = share / (1 - share)
        excess = odds[:, :, None] * a  # a by the other rows, less a by all rows
        nothing_else, a_else = nothing - excess.sum(axis=1), a + excess
        gain, gain_else = a.sum(axis=1), a_else.sum(axis=1)  # f - a_0
        by_row = weights[:, None] / (1 - share)
        residual = 2 * (target - nothing_else) - gain_else
        influence = -np.einsum("mik,k->mi", deviations, (by_row * residual).sum(axis=0))
        influence -= np.einsum("mk,ik->mi", deviations.sum(axis=1), np.einsum("nl,nik->ik", by_row, a_else))
        influence -= np.einsum("nl,nik,nk->i", by_row, excess, residual)
        influence -= np.einsum("nl,nik,nk->i", by_row, a_else, excess.sum(axis=1))
        of_itself = by_row * np.einsum("nik,nk->ni", a_else, residual + gain_else)
        np.add.at(influence, match[is_row], of_itself[is_row])  # an example has no influence on itself
        gap = self._gap(match, odds, a, gain, covariance)
        correction = _values(nothing_else, a_else, target) - _values(nothing, a, target) - gap
        return self.row_weights[:, None] * influence, weights @ correction

    def _terms(self, examples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns a_0 (n, K) and a (n, p, K) of examples."""
        terms = self.terms(self.native.represent(self.X[examples])[0])
        return terms[:, 0], terms[:, 1:]

    def _gap(
        self, match: np.ndarray, odds: np.ndarray, a: np.ndarray, gain: np.ndarray, covariance: np.ndarray
    ) -> np.ndarray:
        """Returns the values (n, p) of the games of Jensen's gaps, by the covariances over all rows but the match."""
        concentration = BackgroundDraws(len(self.row_weights), self.row_weights).concentration(match)
        of_others = covariance - odds[:, :, None] * a * gain[:, None]
        return np.asarray((1 + odds) * variance_factor(concentration)[:, None] * of_others.sum(axis=2))

    @cached_property
    def _deviations(self) -> np.ndarray:
        """The parts of the players for each background row, less their means: d, (m, p, K)."""
        return self.terms(self.native.inner)[:, 1:]

    @cached_property
    def _covariance(self) -> np.ndarray:
        """The covariance of each part with the sum of all parts over the background rows, (p, K)."""
        sums = self._deviations.sum(axis=1)
        return np.asarray(np.einsum("m,mik,mk->ik", self.row_weights, self._deviations, sums))


def in_units(unit: np.ndarray, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns arrays with a last axis of outputs in the units (K,) of a loss; units of one leave them as they are."""
    return arrays if (unit == 1).all() else tuple(array / unit for array in arrays)


def _values(nothing: np.ndarray, a: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Returns the values (n, p) of examples, summed over outputs."""
    return np.asarray(np.einsum("npk,nk->np", a, 2 * (target - nothing) - a.sum(axis=1)))
