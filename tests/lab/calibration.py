"""How well runs keep their word: coverage, reported against observed errors, bias, claims that miss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tests.lab.runs import ROUNDING, Runs

FAR = 4.0  # an error so many times what was claimed is a miss


@dataclass(frozen=True)
class Calibration:
    """Summary of R runs on p players; errors are standard errors of the summary itself.

    A player whose value comes out exact in every run, with a standard error of zero, is left out of what is pooled.

    Attributes
    ----------
    runs : R
    moves : (p,) players that are not exact in every run
    coverage, coverage_error : share of the intervals that hold the exact value, over runs and players that move
    by_player : (p,) that share for each player
    joint : share of the runs whose joint intervals hold all values
    ratio, ratio_error : reported over observed standard deviation, pooled over players that move
    ratios, ratio_errors : (p,) the same for each player
    bias, bias_errors : (p,) mean minus exact value, as a share of the range of the values
    spread : largest observed standard deviation, as a share of that range
    claims, misses : runs that claim convergence; those among them with an error of more than four times the claim
    model_rows : mean number of rows passed to the model
    """

    runs: int
    moves: np.ndarray
    coverage: float
    coverage_error: float
    by_player: np.ndarray
    joint: float
    ratio: float
    ratio_error: float
    ratios: np.ndarray
    ratio_errors: np.ndarray
    bias: np.ndarray
    bias_errors: np.ndarray
    spread: float
    claims: int
    misses: int
    model_rows: float

    @classmethod
    def of(cls, found: Runs) -> Calibration:
        """The summary of runs.

        Examples
        --------
        >>> from tests.lab.cells import calibrate
        >>> bool(0.5 < calibrate("permutation", "null", "squared error", runs=20).coverage <= 1)
        True
        """
        count, size = len(found.values), found.size
        errors = found.values - found.truth
        observed = found.values.std(axis=0, ddof=1)
        moves = (np.maximum(observed, found.std_error.max(axis=0)) > ROUNDING * size) | (errors != 0).any(axis=0)
        shares = found.held[:, moves].mean(axis=1) if moves.any() else np.ones(count)
        squares, influence = _ratios(found, moves)
        pooled = squares[moves].mean() if moves.any() else 1.0
        missed = np.abs(errors).max(axis=1) > FAR * found.claim
        return cls(
            runs=count,
            moves=moves,
            coverage=float(shares.mean()),
            coverage_error=_error(shares),
            by_player=found.held.mean(axis=0),
            joint=float(found.held_together.mean()),
            ratio=float(np.sqrt(pooled)),
            ratio_error=_error(influence[:, moves].mean(axis=1)) / (2 * np.sqrt(pooled)) if moves.any() else 0.0,
            ratios=np.sqrt(squares),
            ratio_errors=influence.std(axis=0, ddof=1) / np.sqrt(count) / (2 * np.sqrt(squares)),
            bias=errors.mean(axis=0) / size,
            bias_errors=observed / np.sqrt(count) / size,
            spread=float(observed.max() / size),
            claims=int(np.isfinite(found.claim).sum()),
            misses=int(missed.sum()),
            model_rows=float(found.model_rows.mean()),
        )

    @property
    def worst(self) -> float:
        """Coverage of the player that is covered least."""
        return float(self.by_player.min())


def _error(sample: np.ndarray) -> float:
    """Standard error of a mean."""
    return float(sample.std(ddof=1) / np.sqrt(len(sample)))


def _ratios(found: Runs, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reported over observed variance (p,), one where nothing moves, and what each run adds to its error (R, p).

    To first order the ratio of two means moves with each run by ratio * (x / mean(x) - y / mean(y)).
    """
    reported, observed = found.std_error**2, (found.values - found.values.mean(axis=0)) ** 2
    tiny = (ROUNDING * found.size) ** 2 / 4  # keeps a player that never varies but says so at a huge, finite ratio
    means = [np.where(moves, np.maximum(part.mean(axis=0), tiny), 1.0) for part in (reported, observed)]
    squares = np.where(moves, means[0] / means[1] * (len(observed) - 1) / len(observed), 1.0)
    return squares, squares * (reported / means[0] - observed / means[1])
