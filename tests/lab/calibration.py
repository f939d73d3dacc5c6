"""Calibration of an estimator over repeated runs: coverage, reported against observed errors, bias, false claims.

:class:`Calibration` summarizes runs whose true values are known; :func:`violations` compares it with the limits of
:class:`CalibrationLimits`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from tests.lab.repeated_runs import ROUNDING, RepeatedRuns

FALSE_CLAIM = 4.0  # a claim of convergence is false if the error is this many times the claimed standard error
NOISE = 3.0  # standard errors of allowance for bias and for single players


@dataclass(frozen=True)
class Calibration:
    """Summary of R runs on p players; errors are standard errors of the summary itself.

    A player whose value is exact in every run, with a standard error of zero, is left out of pooled numbers.

    Attributes
    ----------
    runs : R
    varies : (p,) players that are not exact in every run
    coverage, coverage_error : share of the intervals that contain the exact value, over runs and players that vary
    coverage_by_player : (p,) this share for each player
    joint_coverage : share of the runs whose joint intervals contain all values
    ratio, ratio_error : reported over observed standard deviation, pooled over players that vary
    ratios, ratio_errors : (p,) the same for each player
    bias, bias_errors : (p,) mean minus exact value, as a share of the range of the values
    spread : largest observed standard deviation, as a share of that range
    claims : number of runs that claim convergence
    false_claims : number of these runs with an error of more than four times the claim
    model_rows : mean number of rows passed to the model
    """

    runs: int
    varies: np.ndarray
    coverage: float
    coverage_error: float
    coverage_by_player: np.ndarray
    joint_coverage: float
    ratio: float
    ratio_error: float
    ratios: np.ndarray
    ratio_errors: np.ndarray
    bias: np.ndarray
    bias_errors: np.ndarray
    spread: float
    claims: int
    false_claims: int
    model_rows: float

    @classmethod
    def of(cls, runs: RepeatedRuns) -> Calibration:
        """Summarizes runs.

        Examples
        --------
        >>> from tests.lab.calibration_runs import calibrate
        >>> bool(0.5 < calibrate("permutation", "null", "squared error", runs=20).coverage <= 1)
        True
        """
        count, size = len(runs.values), runs.size
        errors = runs.values - runs.truth
        observed = runs.values.std(axis=0, ddof=1)
        varies = (np.maximum(observed, runs.std_error.max(axis=0)) > ROUNDING * size) | (errors != 0).any(axis=0)
        shares = runs.covers[:, varies].mean(axis=1) if varies.any() else np.ones(count)
        squares, influence = _variance_ratios(runs, varies)
        pooled = squares[varies].mean() if varies.any() else 1.0
        is_false = np.abs(errors).max(axis=1) > FALSE_CLAIM * runs.claimed_error
        return cls(
            runs=count,
            varies=varies,
            coverage=float(shares.mean()),
            coverage_error=_standard_error(shares),
            coverage_by_player=runs.covers.mean(axis=0),
            joint_coverage=float(runs.covers_jointly.mean()),
            ratio=float(np.sqrt(pooled)),
            ratio_error=_standard_error(influence[:, varies].mean(axis=1)) / (2 * np.sqrt(pooled))
            if varies.any()
            else 0.0,
            ratios=np.sqrt(squares),
            ratio_errors=influence.std(axis=0, ddof=1) / np.sqrt(count) / (2 * np.sqrt(squares)),
            bias=errors.mean(axis=0) / size,
            bias_errors=observed / np.sqrt(count) / size,
            spread=float(observed.max() / size),
            claims=int(np.isfinite(runs.claimed_error).sum()),
            false_claims=int(is_false.sum()),
            model_rows=float(runs.model_rows.mean()),
        )

    @property
    def worst(self) -> float:
        """Coverage of the player whose coverage is lowest."""
        return float(self.coverage_by_player.min())


def _standard_error(sample: np.ndarray) -> float:
    """Returns the standard error of a mean."""
    return float(sample.std(ddof=1) / np.sqrt(len(sample)))


def _variance_ratios(runs: RepeatedRuns, varies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns reported over observed variance (p,), 1 for players that do not vary, and influences (R, p) of the runs.

    To first order the ratio of two means changes with each run by ratio * (x / mean(x) - y / mean(y)).
    """
    reported, observed = runs.std_error**2, (runs.values - runs.values.mean(axis=0)) ** 2
    tiny = (ROUNDING * runs.size) ** 2 / 4  # keeps the ratio finite for a constant player with a standard error
    means = [np.where(varies, np.maximum(squares.mean(axis=0), tiny), 1.0) for squares in (reported, observed)]
    ratios = np.where(varies, means[0] / means[1] * (len(observed) - 1) / len(observed), 1.0)
    return ratios, ratios * (reported / means[0] - observed / means[1])


@dataclass(frozen=True)
class CalibrationLimits:
    """Limits that a calibration must keep, for at least 1000 runs: sampling error is then small beside their width.

    Each limit is widened by ``allowance`` standard errors of the measured number, for use with fewer runs: a calibrated
    estimator then fails about as often as a normal variable exceeds so many standard deviations. Bias and the
    standard deviations of single players always have an allowance of at least ``NOISE``, since 1000 runs can hardly
    measure them to the width of their limits.

    Parameters
    ----------
    pooled : lowest and highest coverage over all players
    worst : lowest coverage of any player
    ratio : lowest and highest ratio of reported to observed standard deviation
    bias : largest bias, as a share of the range of the values
    p_value : smallest p-value of a bias, after Bonferroni's correction for the number of ``tests``
    false_claims : largest share of claims of convergence whose error is more than four times the claim
    """

    pooled: tuple[float, float] = (0.935, 0.965)
    worst: float = 0.925
    ratio: tuple[float, float] = (0.95, 1.05)
    bias: float = 0.005
    p_value: float = 0.001
    false_claims: float = 0.01
    allowance: float = 0.0


AT_OWN_STOP = CalibrationLimits(pooled=(0.925, 1.0), ratio=(0.0, np.inf), bias=np.inf, p_value=0.0)
"""Limits if the data decide when to stop: this selects values and standard errors, but intervals must still cover."""


def violations(
    calibration: Calibration, limits: CalibrationLimits | None = None, *, tests: int | None = None
) -> list[str]:
    """Returns a message for each limit that is violated; ``tests`` is the number of biases tested together.

    Examples
    --------
    >>> from tests.lab.calibration_runs import calibrate
    >>> violations(calibrate("permutation", "linear", "squared error", runs=100), CalibrationLimits(allowance=4))
    []
    """
    limits = limits or CalibrationLimits()
    return [
        *_coverage_violations(calibration, limits),
        *_ratio_violations(calibration, limits),
        *_bias_violations(calibration, limits, tests or len(calibration.bias)),
        *_claim_violations(calibration, limits),
    ]


def _coverage_violations(calibration: Calibration, limits: CalibrationLimits) -> list[str]:
    messages = []
    room = limits.allowance * calibration.coverage_error
    if calibration.varies.any() and not limits.pooled[0] - room <= calibration.coverage <= limits.pooled[1] + room:
        messages.append(f"coverage {calibration.coverage:.1%}")
    room = limits.allowance * float(np.sqrt(0.95 * 0.05 / calibration.runs))  # binomial
    if calibration.worst < limits.worst - room:
        messages.append(f"coverage of player {calibration.coverage_by_player.argmin()} {calibration.worst:.1%}")
    return messages


def _ratio_violations(calibration: Calibration, limits: CalibrationLimits) -> list[str]:
    messages = []
    low, high = limits.ratio
    room = limits.allowance * calibration.ratio_error
    if not low - room <= calibration.ratio <= high + room:
        messages.append(f"reported / observed standard deviation {calibration.ratio:.3f}")
    rooms = max(limits.allowance, NOISE) * calibration.ratio_errors
    outside = (calibration.ratios < low - rooms) | (calibration.ratios > high + rooms)
    messages += [f"that of player {i} {calibration.ratios[i]:.3f}" for i in np.flatnonzero(outside)]
    return messages


def _bias_violations(calibration: Calibration, limits: CalibrationLimits, tests: int) -> list[str]:
    messages = []
    rooms = max(limits.allowance, NOISE) * calibration.bias_errors
    large = np.flatnonzero(np.abs(calibration.bias) > limits.bias + rooms)
    messages += [f"bias of player {i} {calibration.bias[i]:.2%} of the range" for i in large]
    errors = np.maximum(calibration.bias_errors[calibration.varies], 1e-300)
    z = np.abs(calibration.bias[calibration.varies]) / errors
    p_values = 2 * student.sf(z, calibration.runs - 1) * tests  # Bonferroni
    if (p_values < limits.p_value).any():
        messages.append(f"significant bias, z = {z.max():.1f}")
    return messages


def _claim_violations(calibration: Calibration, limits: CalibrationLimits) -> list[str]:
    if calibration.claims == 0:
        return []
    room = limits.allowance * float(np.sqrt(limits.false_claims * (1 - limits.false_claims) / calibration.claims))
    share = calibration.false_claims / calibration.claims
    return [f"{share:.1%} of claims of convergence are false"] if share > limits.false_claims + room else []
