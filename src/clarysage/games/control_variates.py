r"""Control variates for mean predictions over a subsample of the background.

A control variate is a number c_k(S) of each background row b_k that correlates with its prediction
z_k(S) = f(x_S, b_k), and whose mean over all rows is known (here it is 0). The adjusted mean over drawn rows,

.. math:: \hat f_S(x) = \frac1q \sum_k \big( z_k(S) - c_k(S) \big)

has the same expectation as the plain mean, and a smaller variance: the noise of the draw that both share cancels (Owen
2013, sec. 8.9). Survey sampling calls it the difference estimator (Särndal, Swensson & Wretman 1992, ch. 6). The
coefficient of c_k is 1, not a regression on the sample, so that no bias arises from its estimation. It is
subtracted in :mod:`clarysage.games.subsampled`.

The prediction f(b_k) of every background row with nothing kept is known and costs no further model rows. The three
control variates here differ in how they extrapolate it to coalitions in which features are kept:

- :class:`StartControl`: the excess of f(b_k) over its mean, shrunk linearly to zero along the walk;
- :class:`MainEffectsControl`: the main effects of features not yet kept, which are pure noise of the draw until they
  are kept, and the remaining excess, shrunk linearly (:mod:`clarysage.games.main_effects`);
- :class:`ConditionalControl`: a linear function of normal scores, for removals whose withheld cells are conditional on
  the kept ones.

References
----------
A. B. Owen (2013). Monte Carlo theory, methods and examples. https://artowen.su.domains/mc
C.-E. Särndal, B. Swensson, J. Wretman (1992). Model Assisted Survey Sampling. Springer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from clarysage.games.main_effects import main_effects, slopes
from clarysage.games.self_match import SelfMatches
from clarysage.players import Players
from clarysage.protocols import ConditionalRows, HybridRows
from clarysage.removal.restricted.hybrid import mean_over

MOST_EFFECTS = 2**23  # numbers that are held in memory


class ControlVariate(Protocol):
    """Control variates of drawn background rows (n, q); their mean over all rows except the self-match is 0.

    ``matches`` are the self-matches of the n examples. ``active`` (p,) are the players that can change a prediction. A
    player that never changes a prediction then changes no estimate either, so that its value is exactly zero.
    """

    def at_prefixes(
        self, matches: SelfMatches, orders: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        """Returns control variates (n, q, p - 1, k) at the proper prefixes of orders (n, p)."""
        ...

    def at(
        self, matches: SelfMatches, coalitions: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        """Returns control variates (n, q, 1, k) at one coalition (n, p) for each example."""
        ...


@dataclass(frozen=True)
class StartControl:
    r"""The control variate that shrinks the excess of f(b_k) over its mean linearly to zero along a walk.

    .. math:: c_k(S) = \beta(S) \big( z_k(\emptyset) - \bar z(\emptyset) \big), \qquad \beta(S) = 1 - |S \cap A| / |A|

    with A the active players.
    """

    hybrid: HybridRows

    def excess(self, matches: SelfMatches, background_index: np.ndarray) -> np.ndarray:
        """Returns the excess (n, q, k) of f(b_k) of drawn rows over the mean of f over all rows but the self-match."""
        return np.asarray(self.hybrid.background_outputs[background_index] - matches.leave_out(self._mean_alone))

    def at_prefixes(
        self, matches: SelfMatches, orders: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        beta = beta_at_prefixes(orders, active)
        return np.asarray(beta[:, None, :, None] * self.excess(matches, background_index)[:, :, None, :])

    def at(
        self, matches: SelfMatches, coalitions: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        beta = beta_at(coalitions, active)
        return np.asarray((beta[:, None, None] * self.excess(matches, background_index))[:, :, None])

    @cached_property
    def _mean_alone(self) -> np.ndarray:
        """The mean prediction with nothing kept, (1, 1, k)."""
        return mean_over(self.hybrid.background_outputs[None], self.hybrid.background_weights)[:, None]


@dataclass(frozen=True)
class MainEffectsControl:
    r"""The control variate made of main effects of players that have not entered, and of the residual excess.

    .. math:: c_k(S) = \sum_{i \in A \setminus S} h_i(b_k) + \beta(S) r_k, \qquad
        r_k = z_k(\emptyset) - \bar z(\emptyset) - \sum_{i \in A} h_i(b_k)

    with ``effects`` h_i (m, p, k) of mean 0, which are fixed in advance: accurate effects reduce the variance, and
    inaccurate ones leave the expectation unchanged.
    """

    start: StartControl
    effects: np.ndarray

    def at_prefixes(
        self, matches: SelfMatches, orders: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        effects, residual = self._parts(matches, background_index, active)
        control = beta_at_prefixes(orders, active)[:, None, :, None] * residual[:, :, None, :]
        by_entry = np.take_along_axis(effects, orders[:, None, :, None], axis=2)
        control += np.cumsum(by_entry[:, :, ::-1], axis=2)[:, :, -2::-1]  # of the players after each prefix
        return np.asarray(control)

    def at(
        self, matches: SelfMatches, coalitions: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        effects, residual = self._parts(matches, background_index, active)
        control = beta_at(coalitions, active)[:, None, None] * residual
        control += np.einsum("nqpk,np->nqk", effects, ~coalitions)
        return np.asarray(control[:, :, None])

    def _parts(
        self, matches: SelfMatches, background_index: np.ndarray, active: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns the effects of active players (n, q, p, k) and the residual excess (n, q, k)."""
        excess, effects = self.start.excess(matches, background_index), self.effects[background_index]
        if matches.rows is not None:  # the mean over all rows but the self-match must be 0
            share = matches.share
            effects += (share / (1 - share))[:, None, None, None] * self.effects[matches.rows][:, None]
        effects *= active[:, None]
        return effects, np.asarray(excess - effects.sum(axis=2))


@dataclass(frozen=True)
class ConditionalControl:
    """The control variate for removals whose withheld cells are conditional on the kept ones.

    It is a linear function of normal scores, with ``slopes`` (d, k). Kept cells shift it by the same amount for every
    row, so that its mean over all rows is known at each prefix. The residual excess is shrunk linearly.
    """

    start: StartControl
    rows: ConditionalRows
    players: Players
    slopes: np.ndarray

    def at_prefixes(
        self, matches: SelfMatches, orders: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        return self._control(
            matches, background_index, self.players.entry_positions(orders), beta_at_prefixes(orders, active)
        )

    def at(
        self, matches: SelfMatches, coalitions: np.ndarray, background_index: np.ndarray, active: np.ndarray
    ) -> np.ndarray:
        entry_position = np.where(self.players.columns(coalitions), 1, 2)
        return self._control(matches, background_index, entry_position, beta_at(coalitions, active)[:, None])

    def _control(
        self, matches: SelfMatches, background_index: np.ndarray, entry_position: np.ndarray, beta: np.ndarray
    ) -> np.ndarray:
        linear = self.rows.linear_control(self.slopes, background_index, entry_position)
        residual = self.start.excess(matches, background_index) - linear[:, :, 0]
        return np.asarray(linear[:, :, 1:] + beta[:, None, :, None] * residual[:, :, None, :])


def control_variate_of(hybrid: HybridRows, players: Players, *, is_square: bool) -> ControlVariate:
    """Returns the control variate that suits a restricted model.

    Main effects are used only where all losses are squared errors (``is_square``). Effects on probabilities change when
    other features are kept: probabilities saturate, so that effects become smaller along the walk.
    """
    start = StartControl(hybrid)
    if not is_square:
        return start
    if hybrid.simulation is not None:
        fitted = slopes(hybrid.simulation.latent, hybrid.background_outputs)
        return start if fitted is None else ConditionalControl(start, hybrid.simulation, players, fitted)
    if hybrid.background_outputs.size * len(players) > MOST_EFFECTS:
        return start
    weights = hybrid.background_weights
    effects = main_effects(hybrid.background, hybrid.background_outputs, weights, players.owner, len(players))
    return start if effects is None else MainEffectsControl(start, effects)


def beta_at_prefixes(orders: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Returns the share (n, p - 1) of active players that have not entered, at the proper prefixes of orders."""
    entered = np.cumsum(active[orders], axis=1)[:, :-1]
    return np.asarray(1 - entered / max(1, active.sum()))


def beta_at(coalitions: np.ndarray, active: np.ndarray) -> np.ndarray:
    """Returns the share (n,) of active players that are not in coalitions (n, p)."""
    return np.asarray(1 - (coalitions & active).sum(axis=1) / max(1, active.sum()))
