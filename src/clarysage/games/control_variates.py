r"""Control variates for mean predictions over a subsample of the background.

A control variate is a number c_k(S) of each background row b_k that goes along with its prediction
z_k(S) = f(x_S, b_k), and whose mean over all rows is known, here 0. The mean over drawn rows is then adjusted,

.. math:: \hat f_S(x) = \frac1q \sum_k \big( z_k(S) - c_k(S) \big)

which leaves its expectation as it is and takes off what both have of the noise of the draw (Owen, Monte Carlo theory,
methods and examples, ch. 8.9; in survey sampling, the difference estimator: Särndal, Swensson & Wretman 1992, ch. 6).
What is known of every row is its prediction with nothing kept, f(b_k), which costs nothing more. How far that carries
when features are kept is what the three controls here differ in:

- :class:`StartControl`: the excess of f(b_k) over its mean, shrunk linearly to zero along the walk;
- :class:`MainEffectsControl`: main effects of features not yet kept, which are pure noise of the draw until then, and
  the shrunk rest (:mod:`clarysage.games.main_effects`);
- :class:`ConditionalControl`: the same for rows whose withheld cells follow the kept ones, by a linear function of
  their scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from clarysage.games.main_effects import main_effects, slopes
from clarysage.games.self_match import SelfMatches
from clarysage.players import Players
from clarysage.protocols import ConditionalRows, HybridRows
from clarysage.removal.restricted.hybrid import mean_over

MOST_EFFECTS = 2**23  # numbers that are kept


class Control(Protocol):
    """Numbers of drawn background rows (n, q) whose mean over all rows but an example's own is 0.

    ``active`` (p,) are the players that are known to matter: one that never changes a prediction then changes no
    estimate either, and is worth exactly nothing.
    """

    def along(
        self, examples: np.ndarray, orders: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        """Controls (n, q, p - 1, k) at the proper prefixes of orders (n, p)."""
        ...

    def at(
        self, examples: np.ndarray, coalitions: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        """Controls (n, q, 1, k) at one coalition (n, p) an example."""
        ...


@dataclass(frozen=True)
class StartControl:
    r"""Controls by the excess of a row's own prediction over the mean with nothing kept.

    .. math:: c_k(S) = \beta(S) \big( z_k(\emptyset) - \bar z(\emptyset) \big), \qquad \beta(S) = 1 - |S \cap A| / |A|

    with A the active players.
    """

    hybrid: HybridRows
    matches: SelfMatches

    def excess(self, examples: np.ndarray, background_index: np.ndarray) -> np.ndarray:
        """By how much f(b_k) of drawn rows are above their mean without an example's own row, (n, q, k)."""
        return np.asarray(self.hybrid.alone[background_index] - self._mean(examples)[:, None, :])

    def along(
        self, examples: np.ndarray, orders: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        beta = beta_along(orders, active)
        return np.asarray(beta[:, None, :, None] * self.excess(examples, background_index)[:, :, None, :])

    def at(
        self, examples: np.ndarray, coalitions: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        beta = beta_at(coalitions, active)
        return np.asarray((beta[:, None, None] * self.excess(examples, background_index))[:, :, None])

    def _mean(self, examples: np.ndarray) -> np.ndarray:
        """Mean predictions with nothing known, (n, k) or (1, k)."""
        nothing = mean_over(self.hybrid.alone[None], self.hybrid.background_weights)
        if self.matches.of(examples) is None:
            return np.asarray(nothing)
        every = np.broadcast_to(nothing, (len(examples), 1, nothing.shape[1]))
        return self.matches.leave_out(examples, every)[:, 0]


@dataclass(frozen=True)
class MainEffectsControl:
    r"""Controls by main effects of players that have not entered, and by the rest of the excess at the start.

    .. math:: c_k(S) = \sum_{i \in A \setminus S} h_i(b_k) + \beta(S) r_k, \qquad
        r_k = z_k(\emptyset) - \bar z(\emptyset) - \sum_{i \in A} h_i(b_k)

    with ``effects`` h_i (m, p, k) of mean 0, fixed in advance: good ones lessen the variance, bad ones change no mean.
    """

    start: StartControl
    effects: np.ndarray

    def along(
        self, examples: np.ndarray, orders: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        effects, rest = self._parts(examples, background_index, active)
        control = beta_along(orders, active)[:, None, :, None] * rest[:, :, None, :]
        by_entry = np.take_along_axis(effects, orders[:, None, :, None], axis=2)
        control += np.cumsum(by_entry[:, :, ::-1], axis=2)[:, :, -2::-1]  # of those after each prefix
        return np.asarray(control)

    def at(
        self, examples: np.ndarray, coalitions: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        effects, rest = self._parts(examples, background_index, active)
        control = beta_at(coalitions, active)[:, None, None] * rest
        control += np.einsum("nqpk,np->nqk", effects, ~coalitions)
        return np.asarray(control[:, :, None])

    def _parts(
        self, examples: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Effects of active players (n, q, p, k) and the rest of the excess (n, q, k)."""
        excess = self.start.excess(examples, background_index)
        effects, match = self.effects[background_index], self.start.matches.of(examples)
        if match is not None:  # the mean over all rows but an example's own is to be 0
            share = self.start.matches.weight(match)
            effects += (share / (1 - share))[:, None, None, None] * self.effects[match][:, None]
        effects *= active[:, None]
        return effects, np.asarray(excess - effects.sum(axis=2))


@dataclass(frozen=True)
class ConditionalControl:
    """Controls where withheld cells follow the kept ones, and the effects of features with them.

    A linear function of scores, of ``slopes`` (d, k), moves with what is known by the same share for every row, so that
    its mean over all rows is known at each prefix; the rest of the excess at the start is shrunk as elsewhere.
    """

    start: StartControl
    rows: ConditionalRows
    players: Players
    slopes: np.ndarray

    def along(
        self, examples: np.ndarray, orders: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        return self._control(examples, background_index, self.players.arrivals(orders), beta_along(orders, active))

    def at(
        self, examples: np.ndarray, coalitions: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        entry_position = np.where(self.players.columns(coalitions), 1, 2)
        return self._control(examples, background_index, entry_position, beta_at(coalitions, active)[:, None])

    def _control(
        self, examples: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray, beta: np.ndarray
    ) -> np.ndarray:
        linear = self.rows.linear_control(self.slopes, background_index, entry_position)
        rest = self.start.excess(examples, background_index) - linear[:, :, 0]
        return np.asarray(linear[:, :, 1:] + beta[:, None, :, None] * rest[:, :, None, :])


def control_of(hybrid: HybridRows, players: Players, matches: SelfMatches, *, is_square: bool) -> Control:
    """The control of a restricted model: by effects where they can be had, and stay when others are known.

    Effects on probabilities do not: these saturate, and what is left to come counts for less and less. So there are
    effects where all losses are squared errors, ``is_square``, alone.
    """
    start = StartControl(hybrid, matches)
    if not is_square:
        return start
    if hybrid.filling is not None:
        fitted = slopes(hybrid.filling.latent, hybrid.alone)
        return start if fitted is None else ConditionalControl(start, hybrid.filling, players, fitted)
    if hybrid.alone.size * len(players) > MOST_EFFECTS:
        return start
    weights = hybrid.background_weights
    effects = main_effects(hybrid.background, hybrid.alone, weights, players.owner, len(players))
    return start if effects is None else MainEffectsControl(start, effects)


def entered_along(orders: np.ndarray, active: np.ndarray) -> np.ndarray:
    """|S n A| at the proper prefixes S of orders (n, p), of active players A: (n, p - 1)."""
    return np.asarray(np.cumsum(active[orders], axis=1)[:, :-1])


def beta_along(orders: np.ndarray, active: np.ndarray) -> np.ndarray:
    """The share of active players that have not entered at the proper prefixes of orders, (n, p - 1)."""
    return np.asarray(1 - entered_along(orders, active) / max(1, active.sum()))


def beta_at(coalitions: np.ndarray, active: np.ndarray) -> np.ndarray:
    """The share of active players that are not in coalitions (n, p): (n,)."""
    return np.asarray(1 - (coalitions & active).sum(axis=1) / max(1, active.sum()))
