"""What payoffs would be beyond the given background: an endless one, or one in which a row weighs more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clarysage.losses.debiasing import MeanEstimate
from clarysage.protocols import Influence, Loss
from clarysage.removal.background_draws import BackgroundDraws


@dataclass(frozen=True)
class Seen:
    """Predictions z (n, q, s, k) with drawn background rows, at s steps of n walks, and what is known of their means.

    Attributes
    ----------
    few : means over all background rows, (n s, k)
    others : the same without the row that an example itself is, if any
    adjusted : (n, q, s, k) predictions whose mean over the draw is ``others.mean``; None where that is known exactly
    """

    z: np.ndarray
    few: MeanEstimate
    others: MeanEstimate
    adjusted: np.ndarray | None = None


def seen_beyond(
    seen: Seen,
    losses: Sequence[Loss],
    targets: Sequence[np.ndarray],
    picks: np.ndarray,
    draws: BackgroundDraws,
    own: np.ndarray | None,
    variance: np.ndarray,
) -> Influence:
    r"""Gains and influences at the steps seen; targets are one a walk and step.

    With f_{-x} the mean prediction without the example's own row, of M rows,

    .. math:: E[\ell(\bar f_M)] \approx \ell(E f) + \tfrac12 \ell'' Var(f) / M

    which is exact for squares; an influence is the derivative of the payoff in the weight of a row. ``variance``
    (n, s, k) is that of means by the sampling of the background.
    """
    n, q, steps, k = seen.z.shape
    step = np.broadcast_to(np.asarray(draws.concentration(own)).reshape(-1, 1, 1), (n, q, steps)).ravel()
    towards, around = _directions(seen, is_simple=draws.ranked is None)
    gains, influences = [], []
    for loss, target in zip(losses, targets, strict=True):
        form = loss.debiasing
        gain = form.excess(loss, seen.others, target, variance.reshape(-1, k))
        if own is not None:
            gain = gain + form(loss, seen.few, target) - form(loss, seen.others, target)
        gains.append(gain.reshape(n, steps))
        each = np.broadcast_to(
            target.reshape(n, 1, steps, *target.shape[1:]), (n, q, steps, *target.shape[1:])
        ).reshape(-1, *target.shape[1:])
        influences.append(-form.tilt(loss, around, each, towards, step).reshape(n, q, steps))
    influence = np.stack(influences, axis=3)
    if draws.takes_all:
        is_own = np.zeros((n, q), dtype=bool) if own is None else picks == own[:, None]
        of_others = 1 - np.where(is_own, draws.mass, 0.0).sum(axis=1, keepdims=True)
        influence *= (np.where(is_own, 0.0, draws.mass * q) / of_others)[:, :, None, None]  # as if drawn by mass
    return Influence(np.stack(gains, axis=2), picks, influence)


def _directions(seen: Seen, *, is_simple: bool) -> tuple[np.ndarray, MeanEstimate]:
    """Where means move when a drawn row gains weight, and from where, (n q s, k) each.

    A mean that is estimated from the draw holds the row itself: of simple draws it is then taken without it, or a row
    would seem to have an influence by being unlike the others alone.
    """
    n, q, steps, k = seen.z.shape

    def repeated(flat: np.ndarray) -> np.ndarray:
        return np.broadcast_to(flat.reshape(n, 1, steps, k), seen.z.shape)

    plain, mean = repeated(seen.others.plain), repeated(seen.others.mean)
    if seen.adjusted is not None and is_simple:
        plain = plain + (plain - seen.z) / (q - 1)
        mean = mean + (mean - seen.adjusted) / (q - 1)
    flat = [np.ascontiguousarray(one).reshape(-1, k) for one in (seen.z - plain, plain, mean)]
    return flat[0], MeanEstimate(flat[1], flat[2], np.zeros_like(flat[2]))


def joined(parts: Sequence[Influence]) -> Influence:
    """Steps of the same walks, one after another."""
    return Influence(
        np.concatenate([one.bias_correction for one in parts], axis=1),
        parts[0].background_index,
        np.concatenate([one.influence for one in parts], axis=2),
    )
