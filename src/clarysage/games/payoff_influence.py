r"""Influence of the background on payoffs: their finite-background bias, and their influence function.

A payoff is minus the loss of a mean prediction over m background rows. If these rows are a sample from an infinite
population, the loss of their mean is biased upwards where the loss is convex (Jensen's gap, by the delta method of
second order),

.. math:: E[\ell(\bar f)] \approx \ell(E f) + \tfrac12 \ell''(E f) \, Var(f) / m

which is exact for squares. The ``bias_correction`` is to be added to payoffs. The influence of a row is the derivative
of the payoff when weight moves to the row. It is the empirical influence function, from which the infinitesimal
jackknife estimates variances (Jaeckel 1972; Efron & Tibshirani 1993, ch. 21),

.. math:: \psi_k = -\ell'(\bar f) \cdot \big( f(x_S, b_k) - \bar f \big)

Where the mean is estimated from the drawn rows, each row is left out of the mean that it is compared with; otherwise
the noise of the draw would look like influence. A row that is the example itself (a self-match) has no influence.

Here the influence is on single payoffs. :mod:`clarysage.inference.influence` accumulates it over walks, and
:mod:`clarysage.inference.population` makes variances of it.

References
----------
L. A. Jaeckel (1972). The infinitesimal jackknife. Bell Laboratories Memorandum MM 72-1215-11.
B. Efron, R. J. Tibshirani (1993). An Introduction to the Bootstrap. Chapman & Hall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clarysage.games.self_match import SelfMatches
from clarysage.losses.debiasing import MeanEstimate
from clarysage.protocols import HybridRows, Influence, Loss
from clarysage.removal.background_draws import BackgroundDraws, variance_factor
from clarysage.removal.restricted.hybrid import mean_over

ROWS_OF_CONDENSED = 8  # rows drawn to estimate the influence where walks used the mean row of the background


@dataclass(frozen=True)
class SubsampledMeans:
    """Predictions z (n, q, s, k) with drawn background rows at s steps of n walks, and estimates of their means.

    Attributes
    ----------
    mean : over all background rows, (n s, k)
    others : over all background rows except the one that the example itself is, if any
    adjusted : (n, q, s, k) predictions whose mean over the draw is ``others.adjusted``; None where known exactly
    """

    z: np.ndarray
    mean: MeanEstimate
    others: MeanEstimate
    adjusted: np.ndarray | None = None


@dataclass(frozen=True)
class StepInfluence:
    """Computes the influence of the background on the payoffs at the steps of walks.

    Attributes
    ----------
    hybrid : the restricted model with all its background rows
    is_condensed : whether walks used the mean row of the background instead
    draws, class_of : how walks draw rows, and the class of each example (N,), which has its own strata of rows
    """

    hybrid: HybridRows
    is_condensed: bool
    draws: BackgroundDraws
    class_of: np.ndarray
    X: np.ndarray
    outputs: np.ndarray
    losses: tuple[Loss, ...]
    targets: tuple[np.ndarray, ...]
    matches: SelfMatches

    def at_prefixes(
        self,
        examples: np.ndarray,
        matches: SelfMatches,
        entry_position: np.ndarray,
        beta: np.ndarray,
        background_index: np.ndarray,
        means: SubsampledMeans,
        rng: np.random.Generator,
    ) -> Influence:
        """Returns the influence at every prefix of walks, the empty and the full one included.

        ``matches`` are the self-matches of the examples. ``beta`` (n, p - 1) is the share of active players that have
        not entered at a proper prefix. The variance of predictions with nothing kept is known exactly, and is a control
        variate for their variances at other prefixes.
        """
        draws, walked = self.draws, means
        if self.is_condensed:  # the mean row hides the single rows, so that some are drawn to estimate their influence
            draws = self._all_draws if len(self.hybrid.background_weights) <= ROWS_OF_CONDENSED else self._few_draws
            background_index = draws.draw(self.class_of[examples], rng, matches.rows)
            steps = self.hybrid.steps(
                self.X[examples], self.outputs[examples], entry_position, background_index, skip=True, keep=False
            )
            walked = SubsampledMeans(steps.outputs, means.mean, means.others)
        alone = self.hybrid.background_outputs[background_index][:, :, None, :]
        at_start = self._variance_at_start(matches)[:, None]  # (n, 1, k)
        excess = draws.sampling_variance(alone, matches.rows) - at_start
        variance = draws.sampling_variance(walked.z, matches.rows) - beta[:, :, None] * excess
        targets = [np.repeat(target[examples], walked.z.shape[2], axis=0) for target in self.targets]
        inner = influence_of_means(walked, self.losses, targets, background_index, draws, matches.rows, variance)
        start = self._at_start(examples, matches, background_index, draws, at_start)
        if not draws.uses_all_rows:
            is_unchanged = equals_start(walked.z, alone, beta == 1)
            np.copyto(inner.bias_correction, start.bias_correction, where=is_unchanged[:, :, None])
            np.copyto(inner.influence, start.influence, where=is_unchanged[:, None, :, None])
        n, q, _, losses = inner.influence.shape
        return Influence(
            np.concatenate([start.bias_correction, inner.bias_correction, np.zeros((n, 1, losses))], axis=1),
            background_index,
            np.concatenate([start.influence, inner.influence, np.zeros((n, q, 1, losses))], axis=2),
        )

    def _at_start(
        self,
        examples: np.ndarray,
        matches: SelfMatches,
        background_index: np.ndarray,
        draws: BackgroundDraws,
        variance: np.ndarray,
    ) -> Influence:
        """Returns the influence with nothing kept, where the predictions f(b_k) of all rows are known.

        ``variance`` (n, 1, k) is that of the mean prediction with nothing kept.
        """
        mean = np.broadcast_to(self._mean_alone, (len(examples), self.outputs.shape[1]))
        others = matches.leave_out(mean[:, None])[:, 0]
        z = self.hybrid.background_outputs[background_index][:, :, None, :]
        means = SubsampledMeans(z, MeanEstimate.exactly(mean), MeanEstimate.exactly(others))
        targets = [target[examples] for target in self.targets]
        return influence_of_means(means, self.losses, targets, background_index, draws, matches.rows, variance)

    def at_start_with_all_rows(self, examples: np.ndarray) -> Influence:
        """Returns the influence of all background rows with nothing kept."""
        matches = self.matches.of(examples)
        variance = self._variance_at_start(matches)[:, None]
        return self._at_start(examples, matches, self._every_index(examples), self._all_draws, variance)

    def coalition_influence(self, examples: np.ndarray, z: np.ndarray) -> tuple[MeanEstimate, Influence]:
        """Returns mean predictions, and the influence of all rows, from predictions z (n, m, k) of a coalition."""
        matches, z = self.matches.of(examples), z[:, :, None, :]
        mean = mean_over(z[:, :, 0], self.hybrid.background_weights)
        others = matches.leave_out(mean[:, None])[:, 0]
        means = SubsampledMeans(z, MeanEstimate.exactly(mean), MeanEstimate.exactly(others))
        targets = [target[examples] for target in self.targets]
        draws, match = self._all_draws, matches.rows
        variance, index = draws.sampling_variance(z, match), self._every_index(examples)
        return means.mean, influence_of_means(means, self.losses, targets, index, draws, match, variance)

    def _variance_at_start(self, matches: SelfMatches) -> np.ndarray:
        """Returns the variance (n, k) of the mean prediction with nothing kept, by the sampling of the background."""
        weights = self.hybrid.background_weights
        squares = (self.hybrid.background_outputs - self._mean_alone) ** 2
        match, variance = matches.rows, np.broadcast_to(weights @ squares, matches.outputs.shape)
        if match is not None:  # of the rows without the self-match, around their mean
            share = matches.share[:, None]
            variance = (variance - share * np.where(match[:, None] >= 0, squares[match], 0.0)) / (1 - share)
            repeated = np.broadcast_to(self._mean_alone, variance.shape)
            others = matches.leave_out(repeated[:, None])[:, 0]
            variance = np.maximum(variance - (others - self._mean_alone) ** 2, 0.0)
        return np.asarray(variance * variance_factor(np.asarray(self._all_draws.concentration(match)).reshape(-1, 1)))

    @cached_property
    def _mean_alone(self) -> np.ndarray:
        """The mean prediction with nothing kept, (1, k)."""
        return mean_over(self.hybrid.background_outputs[None], self.hybrid.background_weights)

    @cached_property
    def _few_draws(self) -> BackgroundDraws:
        return BackgroundDraws(ROWS_OF_CONDENSED, self.hybrid.background_weights)

    @cached_property
    def _all_draws(self) -> BackgroundDraws:
        return BackgroundDraws(len(self.hybrid.background_weights), self.hybrid.background_weights)

    def _every_index(self, examples: np.ndarray) -> np.ndarray:
        m = len(self.hybrid.background_weights)
        return np.broadcast_to(np.arange(m), (len(examples), m))


def influence_of_means(
    means: SubsampledMeans,
    losses: Sequence[Loss],
    targets: Sequence[np.ndarray],
    background_index: np.ndarray,
    draws: BackgroundDraws,
    match: np.ndarray | None,
    variance: np.ndarray,
) -> Influence:
    """Returns the influence at s steps of walks, from predictions with drawn rows (n, q).

    ``targets`` hold one entry for each walk and step. ``variance`` (n, s, k) is the variance of mean predictions by the
    sampling of the background. ``match`` (n,) is the background row that each example is, -1 for none.
    """
    n, q, steps, k = means.z.shape
    step_size = np.broadcast_to(np.asarray(draws.concentration(match)).reshape(-1, 1, 1), (n, q, steps)).ravel()
    direction, origin = _directions(means, is_simple=draws.ranked is None)
    corrections, influences = [], []
    for loss, target in zip(losses, targets, strict=True):
        debiased = loss.debiasing
        correction = debiased.bias(loss, means.others, target, variance.reshape(-1, k))
        if match is not None:
            correction = correction + debiased(loss, means.mean, target) - debiased(loss, means.others, target)
        corrections.append(correction.reshape(n, steps))
        shape = target.shape[1:]
        by_row = np.broadcast_to(target.reshape(n, 1, steps, *shape), (n, q, steps, *shape)).reshape(-1, *shape)
        influences.append(-debiased.derivative(loss, origin, by_row, direction, step_size).reshape(n, q, steps))
    influence = np.stack(influences, axis=3)
    if draws.uses_all_rows:
        is_self = np.zeros((n, q), dtype=bool) if match is None else background_index == match[:, None]
        weight_of_others = 1 - np.where(is_self, draws.weights, 0.0).sum(axis=1, keepdims=True)
        as_if_drawn = np.where(is_self, 0.0, draws.weights * q) / weight_of_others
        influence *= as_if_drawn[:, :, None, None]
    return Influence(np.stack(corrections, axis=2), background_index, influence)


def _directions(means: SubsampledMeans, *, is_simple: bool) -> tuple[np.ndarray, MeanEstimate]:
    """Returns the directions (n q s, k) in which means move when a drawn row gains weight, and the means themselves.

    A mean that is estimated from the draw contains the row itself; for simple random draws the row is left out of it.
    """
    n, q, steps, k = means.z.shape

    def repeated(flat: np.ndarray) -> np.ndarray:
        return np.broadcast_to(flat.reshape(n, 1, steps, k), means.z.shape)

    plain, mean = repeated(means.others.raw), repeated(means.others.adjusted)
    if means.adjusted is not None and is_simple:
        plain = plain + (plain - means.z) / (q - 1)
        mean = mean + (mean - means.adjusted) / (q - 1)
    direction, plain, mean = (np.ascontiguousarray(part).reshape(-1, k) for part in (means.z - plain, plain, mean))
    return direction, MeanEstimate(plain, mean, np.zeros_like(mean))


def equals_start(z: np.ndarray, alone: np.ndarray, is_empty: np.ndarray) -> np.ndarray:
    """Tells at which steps (n, s) no active player has entered and predictions are those of background rows alone."""
    is_start = np.zeros((z.shape[0], z.shape[2]), dtype=bool)
    walk, step = np.nonzero(np.broadcast_to(is_empty, is_start.shape))
    is_start[walk, step] = (z[walk, :, step] == alone[walk, :, 0]).all(axis=(1, 2))
    return is_start
