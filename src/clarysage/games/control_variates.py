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
  are kept, and the remaining excess, shrunk linearly;
- :class:`ConditionalControl`: a linear function of normal scores, for removals whose withheld cells are conditional on
  the kept ones.

The latter two are fitted to these predictions by ridge regression, on the bins of columns (an additive model) or on
normal scores. The penalty minimises the leave-one-out error, which ridge regression has in closed form (PRESS, Allen
1974).

References
----------
D. M. Allen (1974). The relationship between variable selection and data augmentation and a method for prediction.
Technometrics 16, 125-127.
A. B. Owen (2013). Monte Carlo theory, methods and examples. https://artowen.su.domains/mc
C.-E. Särndal, B. Swensson, J. Wretman (1992). Model Assisted Survey Sampling. Springer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from clarysage._utils.threads import one_thread
from clarysage.games.self_match import SelfMatches
from clarysage.players import Players
from clarysage.protocols import ConditionalRows, HybridRows
from clarysage.removal.restricted.hybrid import mean_over

MOST_EFFECTS = 2**23  # numbers that are held in memory
FEWEST_ROWS = 32  # background rows below which nothing is fitted
MOST_ROWS = 512  # background rows that the regression is fitted to
BINS = 16  # bins of a numeric column
PENALTIES = 10.0 ** np.arange(-3, 2.5, 0.5)  # ridge penalties, from which leave-one-out cross-validation chooses


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


@dataclass(frozen=True)
class Bins:
    """The bins of a column's cells: bounded by quantiles, or one for each value where there are few.

    Attributes
    ----------
    index : (m,) the bin of each cell
    count : number of bins, one for missing cells included
    """

    index: np.ndarray
    count: int

    @classmethod
    def of(cls, column: np.ndarray) -> Bins:
        values = np.unique(column[~np.isnan(column)])
        edges = values if len(values) <= BINS else np.unique(np.quantile(values, np.arange(1, BINS) / BINS))
        index = np.searchsorted(edges, column, side="right")
        index[np.isnan(column)] = len(edges) + 1
        return cls(index, len(edges) + 2)


def main_effects(
    background: np.ndarray, alone: np.ndarray, weights: np.ndarray, owner: np.ndarray, players: int
) -> np.ndarray | None:
    r"""Returns main effects h_i (m, p, k) of an additive fit to the predictions (m, k) for background rows b.

    .. math:: f(b) \approx \bar f + \sum_i h_i(b_i)

    They are fitted by ridge regression on the bins of columns. Effects have mean 0 over the background, so that a
    control variate made of them changes no expectation; how well they fit matters only for the variance. The result is
    None where they explain nothing.
    """
    m = len(background)
    if m < FEWEST_ROWS:
        return None
    with one_thread():
        return _additive_fit(background, alone - weights @ alone, weights, owner, players)


def _additive_fit(
    background: np.ndarray, y: np.ndarray, weights: np.ndarray, owner: np.ndarray, players: int
) -> np.ndarray | None:
    m = len(background)
    bins = [Bins.of(column) for column in background.T]
    rows = np.unique(np.linspace(0, m - 1, min(m, MOST_ROWS)).astype(np.intp))
    root = np.sqrt(weights[rows] / weights[rows].mean())[:, None]
    designs = [_design(of_column, rows) for of_column in bins]
    coefficients = _ridge(np.concatenate(designs, axis=1) * root, root * y[rows])
    if coefficients is None:
        return None
    effects, first = np.zeros((m, players, y.shape[1])), 0
    for column, of_column in enumerate(bins):
        scale = _scale(of_column, rows)
        effect_of_bin = coefficients[first : first + of_column.count] * scale[:, None]
        first += of_column.count
        effects[:, owner[column]] += effect_of_bin[of_column.index]
    return np.asarray(effects - np.einsum("m,mpk->pk", weights, effects))


def slopes(scores: np.ndarray, alone: np.ndarray) -> np.ndarray | None:
    """Returns ridge regression slopes (d, k) of predictions (m, k) on scores (m, d); None if they explain nothing."""
    if len(scores) < FEWEST_ROWS:
        return None
    rows = slice(0, MOST_ROWS)
    with one_thread():
        return _ridge(scores[rows] - scores[rows].mean(axis=0), alone[rows] - alone[rows].mean(axis=0))


def _ridge(Z: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Returns the coefficients of ridge regression under the best penalty; None where they explain nothing."""
    eigenvalues, basis = np.linalg.eigh(Z @ Z.T)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    rotated = basis.T @ y
    errors = [_leave_one_out_error(eigenvalues, basis, rotated, y, penalty) for penalty in PENALTIES]
    best = int(np.argmin(errors))
    if errors[best] >= (y**2).sum():
        return None
    return np.asarray(Z.T @ (basis @ (rotated / (eigenvalues + PENALTIES[best])[:, None])))


def _scale(bins: Bins, rows: np.ndarray) -> np.ndarray:
    """Returns the scales (count,) of bins under which the penalty has the same strength for all."""
    return np.asarray(1 / np.sqrt(np.maximum(np.bincount(bins.index[rows], minlength=bins.count), 1)))


def _design(bins: Bins, rows: np.ndarray) -> np.ndarray:
    """Returns indicators of the bins of rows, centred and scaled, (r, count)."""
    is_in = np.eye(bins.count)[bins.index[rows]]
    return np.asarray((is_in - is_in.mean(axis=0)) * _scale(bins, rows))


def _leave_one_out_error(
    eigenvalues: np.ndarray, basis: np.ndarray, rotated: np.ndarray, y: np.ndarray, penalty: float
) -> float:
    """Returns the sum of squared leave-one-out errors of ridge regression (PRESS)."""
    shrinkage = eigenvalues / (eigenvalues + penalty)
    error = y - basis @ (shrinkage[:, None] * rotated)
    leverage = np.minimum((basis**2) @ shrinkage, 0.999)
    return float(((error / (1 - leverage)[:, None]) ** 2).sum())
