"""What runs must reach, and which of it they miss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from tests.lab.calibration import Calibration


@dataclass(frozen=True)
class Bars:
    """Bars for a number of runs at which sampling error is small beside their width; 1000 or more.

    ``allowance`` standard errors of the measured number widen each bar, where fewer runs are to be judged: an
    estimator that keeps its word then fails about as often as a normal number is so far out. Bias and the standard
    deviations of single players always have an allowance of ``NOISE``, since their bars are near what 1000 runs can
    tell.

    Parameters
    ----------
    pooled : lowest and highest coverage over all players
    worst : lowest coverage of any player
    ratio : lowest and highest ratio of reported to observed standard deviation
    bias : largest bias, as a share of the range of the values
    p_value : a bias that chance would make with less than this probability, in any of the ``tests``, is a fault
    misses : largest share of claims of convergence that miss by more than four times the claim
    """

    pooled: tuple[float, float] = (0.935, 0.965)
    worst: float = 0.925
    ratio: tuple[float, float] = (0.95, 1.05)
    bias: float = 0.005
    p_value: float = 0.001
    misses: float = 0.01
    allowance: float = 0.0


NOISE = 3.0

AT_A_STOP = Bars(pooled=(0.925, 1.0), ratio=(0.0, np.inf), bias=np.inf, p_value=0.0)
"""Where the data say when to stop: values and errors are those of runs so chosen, but intervals must hold."""


def failures(found: Calibration, bars: Bars | None = None, *, tests: int | None = None) -> list[str]:
    """Bars that are missed, in words; none where all is well. ``tests`` counts the biases judged beside each other.

    Examples
    --------
    >>> from tests.lab.cells import calibrate
    >>> failures(calibrate("permutation", "linear", "squared error", runs=100), Bars(allowance=4))
    []
    """
    bars = bars or Bars()
    return [
        *_coverage(found, bars),
        *_standard_deviations(found, bars),
        *_bias(found, bars, tests or len(found.bias)),
        *_claims(found, bars),
    ]


def _coverage(found: Calibration, bars: Bars) -> list[str]:
    missed = []
    room = bars.allowance * found.coverage_error
    if found.moves.any() and not bars.pooled[0] - room <= found.coverage <= bars.pooled[1] + room:
        missed.append(f"coverage {found.coverage:.1%}")
    room = bars.allowance * float(np.sqrt(0.95 * 0.05 / found.runs))  # binomial
    if found.worst < bars.worst - room:
        missed.append(f"coverage of player {found.by_player.argmin()} {found.worst:.1%}")
    return missed


def _standard_deviations(found: Calibration, bars: Bars) -> list[str]:
    missed = []
    low, high = bars.ratio
    room = bars.allowance * found.ratio_error
    if not low - room <= found.ratio <= high + room:
        missed.append(f"reported / observed standard deviation {found.ratio:.3f}")
    rooms = max(bars.allowance, NOISE) * found.ratio_errors
    outside = (found.ratios < low - rooms) | (found.ratios > high + rooms)
    missed += [f"that of player {i} {found.ratios[i]:.3f}" for i in np.flatnonzero(outside)]
    return missed


def _bias(found: Calibration, bars: Bars, tests: int) -> list[str]:
    missed = []
    rooms = max(bars.allowance, NOISE) * found.bias_errors
    large = np.flatnonzero(np.abs(found.bias) > bars.bias + rooms)
    missed += [f"bias of player {i} {found.bias[i]:.2%} of the range" for i in large]
    z = np.abs(found.bias[found.moves]) / np.maximum(found.bias_errors[found.moves], 1e-300)
    chance = 2 * student.sf(z, found.runs - 1) * tests  # Bonferroni
    if (chance < bars.p_value).any():
        missed.append(f"bias that chance does not make, z = {z.max():.1f}")
    return missed


def _claims(found: Calibration, bars: Bars) -> list[str]:
    if found.claims == 0:
        return []
    room = bars.allowance * float(np.sqrt(bars.misses * (1 - bars.misses) / found.claims))
    share = found.misses / found.claims
    return [f"{share:.1%} of claims of convergence miss"] if share > bars.misses + room else []
