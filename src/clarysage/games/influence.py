r"""Influence of the background on payoffs: their bias because it is finite, and their influence function.

A payoff is minus the loss of a mean prediction over M background rows. Were these drawn from an endless population, a
curved loss would be too large on average,

.. math:: E[\ell(\bar f_M)] \approx \ell(E f) + \tfrac12 \ell''(E f) \, Var(f) / M

which is exact for squares; what is to be added to payoffs is called ``bias_correction``. The influence of a row is the
derivative of the payoff when weight moves to it (the empirical influence function, with which the infinitesimal
jackknife finds variances: Jaeckel 1972; Efron & Tibshirani, An introduction to the bootstrap, ch. 21),

.. math:: \psi_k = -\ell'(\bar f) \cdot \big( f(x_S, b_k) - \bar f \big)

A drawn row that is part of an estimated mean is left out of it, or it would seem to have an influence by being unlike
the others alone. Rows that are the example itself have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clarysage.games.self_match import SelfMatches
from clarysage.losses.debiasing import MeanEstimate
from clarysage.protocols import HybridRows, Influence, Loss
from clarysage.removal.background_draws import BackgroundDraws, by_sampling
from clarysage.removal.restricted.hybrid import mean_over

ROWS_OF_CONDENSED = 8  # drawn of a background of which the mean row was walked with, to see their part in it


@dataclass(frozen=True)
class SubsampledMeans:
    """Predictions z (n, q, s, k) with drawn background rows at s steps of n walks, and estimates of their means.

    Attributes
    ----------
    mean : over all background rows, (n s, k)
    others : the same without the row that an example itself is, if any
    adjusted : (n, q, s, k) predictions whose mean over the draw is ``others.adjusted``; None where known exactly
    """

    z: np.ndarray
    mean: MeanEstimate
    others: MeanEstimate
    adjusted: np.ndarray | None = None


@dataclass(frozen=True)
class StepInfluence:
    """Influence of the background on the payoffs of a game of examples (N,).

    Attributes
    ----------
    hybrid : the restricted model with all its background rows
    is_condensed : whether walks went with their mean row instead
    draws, strata : how walks drew rows, and the kinds of examples that rows are ranked for
    """

    hybrid: HybridRows
    is_condensed: bool
    draws: BackgroundDraws
    strata: np.ndarray
    X: np.ndarray
    outputs: np.ndarray
    losses: tuple[Loss, ...]
    targets: tuple[np.ndarray, ...]
    matches: SelfMatches

    def along(
        self,
        examples: np.ndarray,
        entry_position: np.ndarray,
        entered: np.ndarray,
        most: int,
        background_index: np.ndarray,
        means: SubsampledMeans,
        rng: np.random.Generator,
    ) -> Influence:
        """Influence at every prefix of walks, ends included.

        ``entered`` (n, p - 1) of ``most`` active players have entered at proper prefixes. Variances of predictions are
        adjusted by that at the start, which is known, as predictions are by a control variate.
        """
        match, draws, shown = self.matches.of(examples), self.draws, means
        if self.is_condensed:  # all rows have a say in the mean row that was walked with
            draws = self._all_draws if len(self.hybrid.background_weights) <= ROWS_OF_CONDENSED else self._few_draws
            background_index = draws.draw(self.strata[examples], rng, match)
            steps = self.hybrid.steps(
                self.X[examples], self.outputs[examples], entry_position, background_index, skip=True, keep=False
            )
            shown = SubsampledMeans(steps.outputs, means.mean, means.others)
        alone = self.hybrid.alone[background_index][:, :, None, :]
        at_start = self._variance_at_start(examples, match)[:, None]
        excess = draws.variance_by_sampling(alone, match) - at_start  # (n, 1, k)
        variance = draws.variance_by_sampling(shown.z, match) - (1 - entered / most)[:, :, None] * excess
        targets = [np.repeat(target[examples], shown.z.shape[2], axis=0) for target in self.targets]
        along = influence_of_means(shown, self.losses, targets, background_index, draws, match, variance)
        start = self.at_start(examples, background_index, draws)
        if not draws.takes_all:
            unmoved = is_start(shown.z, alone, entered)
            np.copyto(along.bias_correction, start.bias_correction, where=unmoved[:, :, None])
            np.copyto(along.influence, start.influence, where=unmoved[:, None, :, None])
        n, q, _, losses = along.influence.shape
        end = Influence(np.zeros((n, 1, losses)), background_index, np.zeros((n, q, 1, losses)))
        return joined([start, along, end])

    def at_start(self, examples: np.ndarray, background_index: np.ndarray, draws: BackgroundDraws) -> Influence:
        """Influence with nothing kept, where predictions of all rows are known."""
        match = self.matches.of(examples)
        mean = np.broadcast_to(self._mean_alone, (len(examples), self.outputs.shape[1]))
        others = self.matches.leave_out(examples, mean[:, None])[:, 0]
        z = self.hybrid.alone[background_index][:, :, None, :]
        means = SubsampledMeans(z, MeanEstimate.exactly(mean), MeanEstimate.exactly(others))
        targets = [target[examples] for target in self.targets]
        variance = self._variance_at_start(examples, match)[:, None]
        return influence_of_means(means, self.losses, targets, background_index, draws, match, variance)

    def at_start_with_all_rows(self, examples: np.ndarray) -> Influence:
        """Influence of all background rows with nothing kept."""
        return self.at_start(examples, self._every_index(examples), self._all_draws)

    def with_all_rows(self, examples: np.ndarray, kept: np.ndarray) -> tuple[MeanEstimate, Influence]:
        """Mean predictions of coalitions of columns (n, d), one an example, and the influence of all rows."""
        match = self.matches.of(examples)
        z = self.hybrid.each(self.X[examples], kept)[:, :, None, :]
        mean = mean_over(z[:, :, 0], self.hybrid.background_weights)
        others = self.matches.leave_out(examples, mean[:, None])[:, 0]
        means = SubsampledMeans(z, MeanEstimate.exactly(mean), MeanEstimate.exactly(others))
        targets = [target[examples] for target in self.targets]
        variance, index = self._all_draws.variance_by_sampling(z, match), self._every_index(examples)
        return means.mean, influence_of_means(means, self.losses, targets, index, self._all_draws, match, variance)

    def _variance_at_start(self, examples: np.ndarray, match: np.ndarray | None) -> np.ndarray:
        """Variance of the mean prediction with nothing kept by the sampling of the background, (n, k)."""
        weights = self.hybrid.background_weights
        squares = (self.hybrid.alone - self._mean_alone) ** 2
        variance = np.broadcast_to(weights @ squares, (len(examples), squares.shape[1]))
        if match is not None:  # of the others, around their own mean
            share = self.matches.weight(match)[:, None]
            variance = (variance - share * np.where(match[:, None] >= 0, squares[match], 0.0)) / (1 - share)
            every = np.broadcast_to(self._mean_alone, variance.shape)
            others = self.matches.leave_out(examples, every[:, None])[:, 0]
            variance = np.maximum(variance - (others - self._mean_alone) ** 2, 0.0)
        return np.asarray(variance * by_sampling(np.asarray(self._all_draws.concentration(match)).reshape(-1, 1)))

    @cached_property
    def _mean_alone(self) -> np.ndarray:
        """The mean prediction with nothing kept, (1, k)."""
        return mean_over(self.hybrid.alone[None], self.hybrid.background_weights)

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
    """Influence at s steps of walks, from predictions with drawn rows (n, q); targets are one a walk and step.

    ``variance`` (n, s, k) is that of means by the sampling of the background, ``match`` (n,) the row that each example
    is.
    """
    n, q, steps, k = means.z.shape
    share = np.broadcast_to(np.asarray(draws.concentration(match)).reshape(-1, 1, 1), (n, q, steps)).ravel()
    direction, origin = _directions(means, is_simple=draws.ranked is None)
    corrections, influences = [], []
    for loss, target in zip(losses, targets, strict=True):
        form = loss.debiasing
        correction = form.bias(loss, means.others, target, variance.reshape(-1, k))
        if match is not None:
            correction = correction + form(loss, means.mean, target) - form(loss, means.others, target)
        corrections.append(correction.reshape(n, steps))
        shape = target.shape[1:]
        by_row = np.broadcast_to(target.reshape(n, 1, steps, *shape), (n, q, steps, *shape)).reshape(-1, *shape)
        influences.append(-form.derivative(loss, origin, by_row, direction, share).reshape(n, q, steps))
    influence = np.stack(influences, axis=3)
    if draws.takes_all:
        is_self = np.zeros((n, q), dtype=bool) if match is None else background_index == match[:, None]
        of_others = 1 - np.where(is_self, draws.weights, 0.0).sum(axis=1, keepdims=True)
        as_if_drawn = np.where(is_self, 0.0, draws.weights * q) / of_others
        influence *= as_if_drawn[:, :, None, None]
    return Influence(np.stack(corrections, axis=2), background_index, influence)


def _directions(means: SubsampledMeans, *, is_simple: bool) -> tuple[np.ndarray, MeanEstimate]:
    """Where means move when a drawn row gains weight, and from where, (n q s, k) each.

    A mean that is estimated from the draw holds the row itself: of simple draws it is then taken without it.
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


def joined(parts: Sequence[Influence]) -> Influence:
    """Influence at the steps of the same walks, one after another."""
    return Influence(
        np.concatenate([part.bias_correction for part in parts], axis=1),
        parts[0].background_index,
        np.concatenate([part.influence for part in parts], axis=2),
    )


def is_start(z: np.ndarray, alone: np.ndarray, entered: np.ndarray) -> np.ndarray:
    """Whether no active player has entered, (n, steps), and predictions are those of background rows alone."""
    return np.asarray((entered == 0) & (z == alone).all(axis=(1, 3)))
