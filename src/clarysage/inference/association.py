"""How well one number predicts another over pairs of them: correlation and R2, with known noise taken off.

Intervals are by the bootstrap, corrected for bias and acceleration (BCa; Efron 1987).

References
----------
B. Efron (1987). Better bootstrap confidence intervals. JASA 82, 171-185.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from clarysage.errors import InputError, Set

RESAMPLES = 2000
CELLS_AT_ONCE = 2_000_000  # numbers of resamples
FLAT = 1e-24  # variance, as a share of the largest square, of what does not vary


@dataclass(frozen=True)
class Association:
    r"""Correlation of u with v, and R2 of u itself as a prediction of v, over weighted pairs.

    .. math:: \rho = \frac{Cov(u, \hat v)}{\sqrt{Var(u) (Var(\hat v) - \sigma^2)}}, \qquad
        R^2 = 1 - \frac{E(\hat v - u)^2 - \sigma^2}{Var(\hat v) - \sigma^2}

    v is known as an unbiased estimate whose noise has the given variances, of mean sigma^2. Noise that has nothing to
    do with u leaves the covariance as it is and adds to the variance: it is taken off, lest it passes for a lack of
    agreement. What comes out is never above 1, as it could by chance.

    Parameters
    ----------
    u, v : (n,)
    variance : (n,) of the noise of v
    weights : (n,) adding up to one
    """

    u: np.ndarray
    v: np.ndarray
    variance: np.ndarray
    weights: np.ndarray

    def numbers(self) -> np.ndarray:
        """Correlation and R2, (2,); NaN where u or v does not vary."""
        return _bounded(self._found)

    @property
    def _found(self) -> np.ndarray:
        return self._of(self.weights @ self._terms())

    def interval(self, level: float, *, is_drawn: bool, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Low and high ends (2,) for correlation and R2.

        Of pairs that were drawn independently: by resampling them, with Efron's correction for bias and acceleration.
        Of pairs that are all there are, the noise of v alone is unknown: by adding as much of it once more.
        """
        if not isinstance(level, (int, float, np.floating)) or not 0 < level < 1:
            raise InputError("level", got=f"{level!r}", wanted="a number between 0 and 1", hint=Set("level", 0.95))
        found, tails = self._found, np.array([(1 - level) / 2, (1 + level) / 2])
        if is_drawn:
            terms = self._terms()
            around = self._resampled(terms, rng)
            return _ends(around, _accelerated(found, around, self._left_out(terms), tails))
        if not self.variance.any():
            return self.numbers(), self.numbers()
        return _ends(self._shaken(rng), np.column_stack([tails, tails]))

    def _terms(self) -> np.ndarray:
        """Eight moment columns (n, 8), of u and v around their means, since digits would be lost otherwise."""
        u, v = (one - self.weights @ one for one in (self.u, self.v))
        return np.column_stack([np.ones_like(u), u, v, u * u, v * v, u * v, (self.v - self.u) ** 2, self.variance])

    def _of(self, sums: np.ndarray) -> np.ndarray:
        """Correlation and R2 (..., 2) of sums of terms (..., 8), of which noise may make more than 1."""
        means = np.moveaxis(sums / sums[..., :1], -1, 0)
        _, u, v, uu, vv, uv, off, noise = means
        var_u, var_v, shared = uu - u * u, vv - v * v - noise, uv - u * v
        is_flat_u = var_u <= FLAT * max(float((self.u**2).max()), 1e-300)
        is_flat_v = var_v <= FLAT * max(float((self.v**2).max()), 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = np.where(is_flat_u | is_flat_v, np.nan, shared / np.sqrt(var_u * var_v))
            r2 = np.where(is_flat_v, np.nan, 1 - (off - noise) / var_v)
        return np.stack([correlation, r2], axis=-1)

    def _resampled(self, terms: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n = len(terms)
        sums = [np.bincount(rng.integers(n, size=n), minlength=n) @ terms for _ in range(RESAMPLES)]
        return self._of(np.array(sums))

    def _left_out(self, terms: np.ndarray) -> np.ndarray:
        """The same without each pair, (n, 2)."""
        return self._of(terms.sum(axis=0) - terms)

    def _shaken(self, rng: np.random.Generator) -> np.ndarray:
        w, n, noise = self.weights, len(self.v), 2 * float(self.weights @ self.variance)
        u, centre, error, found = self.u - w @ self.u, w @ self.v, np.sqrt(self.variance), []
        at_once = max(1, CELLS_AT_ONCE // n)
        for start in range(0, RESAMPLES, at_once):
            v = self.v + error * rng.normal(size=(min(at_once, RESAMPLES - start), n))
            around, ones = v - centre, np.ones(len(v))
            found.append(
                np.column_stack(
                    [
                        ones,
                        (w @ u) * ones,
                        around @ w,
                        (w @ u**2) * ones,
                        around**2 @ w,
                        around @ (w * u),
                        (v - self.u) ** 2 @ w,
                        noise * ones,
                    ]
                )
            )
        return self._of(np.concatenate(found))


def _accelerated(found: np.ndarray, around: np.ndarray, left_out: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Shares of the resamples that lie below the ends of intervals, (2 ends, 2 numbers)."""
    off = left_out.mean(axis=0) - left_out
    scatter = (off**2).sum(axis=0) ** 1.5
    acceleration = np.divide((off**3).sum(axis=0), 6 * scatter, out=np.zeros(2), where=scatter > 0)
    below = ((around < found).mean(axis=0) + (around <= found).mean(axis=0)) / 2
    bias = scipy.special.ndtri(np.clip(below, 1 / RESAMPLES, 1 - 1 / RESAMPLES))
    moved = bias + scipy.special.ndtri(tails)[:, None]
    return np.asarray(scipy.special.ndtr(bias + moved / (1 - acceleration * moved)))


def _ends(around: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles of resamples, of those in which something varies."""
    ends = np.full((2, 2), np.nan)
    for number in range(2):
        known = around[:, number][np.isfinite(around[:, number])]
        if len(known):
            ends[:, number] = np.quantile(known, shares[:, number])
    return _bounded(ends[0]), _bounded(ends[1])


def _bounded(numbers: np.ndarray) -> np.ndarray:
    """Correlation and R2 within what these can be; last of all, since resamples are to scatter on both sides."""
    return np.asarray(np.clip(numbers, [-1.0, -np.inf], 1.0))
