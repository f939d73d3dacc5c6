"""Correlation and R2 over weighted pairs, corrected for the known noise of one variable (attenuation).

The variance of the noise is subtracted, as in the correction for attenuation (Spearman 1904). Intervals are by the
bootstrap, corrected for bias and acceleration (BCa; Efron 1987).

References
----------
C. Spearman (1904). The proof and measurement of association between two things. American Journal of Psychology 15,
72-101.
B. Efron (1987). Better bootstrap confidence intervals. JASA 82, 171-185.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from clarysage.errors import InputError, Set

RESAMPLES = 2000
CELLS_AT_ONCE = 2_000_000  # simulated numbers that are held in memory at once
FLAT = 1e-24  # a variance below this share of the largest square counts as zero


@dataclass(frozen=True)
class Association:
    r"""Correlation of u with v, and R2 of u itself as a prediction of v, over weighted pairs.

    .. math:: \rho = \frac{Cov(u, \hat v)}{\sqrt{Var(u) (Var(\hat v) - \sigma^2)}}, \qquad
        R^2 = 1 - \frac{E(\hat v - u)^2 - \sigma^2}{Var(\hat v) - \sigma^2}

    v is observed as an unbiased estimate whose noise has the given variances, with mean sigma^2. Noise that is
    independent of u does not change the covariance but adds to the variance, so that it is subtracted; otherwise it
    would look like a lack of agreement. Results are clipped to at most 1, which they may exceed by chance.

    Parameters
    ----------
    u, v : (n,) the pairs
    variance : (n,) of the noise of v
    weights : (n,) which add up to one
    """

    u: np.ndarray
    v: np.ndarray
    variance: np.ndarray
    weights: np.ndarray

    def numbers(self) -> np.ndarray:
        """Returns correlation and R2, (2,); NaN where u or v is constant."""
        return _bounded(self._estimate)

    @property
    def _estimate(self) -> np.ndarray:
        return self._from_sums(self.weights @ self._terms())

    def interval(self, level: float, *, is_drawn: bool, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Returns the low and the high ends (2,) of intervals for correlation and R2.

        Where pairs are an independent sample, intervals are by the BCa bootstrap over pairs. Where pairs are the whole
        population, only the noise of v is random: intervals are by the parametric bootstrap, which adds normal noise of
        the same variance once more.
        """
        if not isinstance(level, (int, float, np.floating)) or not 0 < level < 1:
            raise InputError("level", got=f"{level!r}", wanted="a number between 0 and 1", hint=Set("level", 0.95))
        estimate, tails = self._estimate, np.array([(1 - level) / 2, (1 + level) / 2])
        if is_drawn:
            terms = self._terms()
            resampled = self._resampled(terms, rng)
            return _quantiles(resampled, _bca_levels(estimate, resampled, self._left_out(terms), tails))
        if not self.variance.any():
            return self.numbers(), self.numbers()
        return _quantiles(self._with_more_noise(rng), np.column_stack([tails, tails]))

    def _terms(self) -> np.ndarray:
        """Returns eight moment columns (n, 8) of centred u and v; centring avoids cancellation."""
        u, v = (values - self.weights @ values for values in (self.u, self.v))
        return np.column_stack([np.ones_like(u), u, v, u * u, v * v, u * v, (self.v - self.u) ** 2, self.variance])

    def _from_sums(self, sums: np.ndarray) -> np.ndarray:
        """Returns correlation and R2 (..., 2), not clipped to 1, from sums of the moment columns (..., 8)."""
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
        return self._from_sums(np.array(sums))

    def _left_out(self, terms: np.ndarray) -> np.ndarray:
        """Returns correlation and R2 without each pair (leave-one-out, the jackknife), (n, 2)."""
        return self._from_sums(terms.sum(axis=0) - terms)

    def _with_more_noise(self, rng: np.random.Generator) -> np.ndarray:
        """Returns correlation and R2 of simulated pairs, whose v has normal noise of the same variance added."""
        w, n, noise = self.weights, len(self.v), 2 * float(self.weights @ self.variance)
        u, centre, error, sums = self.u - w @ self.u, w @ self.v, np.sqrt(self.variance), []
        at_once = max(1, CELLS_AT_ONCE // n)
        for start in range(0, RESAMPLES, at_once):
            v = self.v + error * rng.normal(size=(min(at_once, RESAMPLES - start), n))
            centred, ones = v - centre, np.ones(len(v))
            sums.append(
                np.column_stack(
                    [
                        ones,
                        (w @ u) * ones,
                        centred @ w,
                        (w @ u**2) * ones,
                        centred**2 @ w,
                        centred @ (w * u),
                        (v - self.u) ** 2 @ w,
                        noise * ones,
                    ]
                )
            )
        return self._from_sums(np.concatenate(sums))


def _bca_levels(estimate: np.ndarray, resampled: np.ndarray, left_out: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Returns the levels of resampling quantiles that are the ends of BCa intervals, (2 ends, 2 numbers)."""
    off = left_out.mean(axis=0) - left_out
    scatter = (off**2).sum(axis=0) ** 1.5
    acceleration = np.divide((off**3).sum(axis=0), 6 * scatter, out=np.zeros(2), where=scatter > 0)
    below = ((resampled < estimate).mean(axis=0) + (resampled <= estimate).mean(axis=0)) / 2
    bias = scipy.special.ndtri(np.clip(below, 1 / RESAMPLES, 1 - 1 / RESAMPLES))
    shifted = bias + scipy.special.ndtri(tails)[:, None]
    return np.asarray(scipy.special.ndtr(bias + shifted / (1 - acceleration * shifted)))


def _quantiles(resampled: np.ndarray, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns quantiles of resampled numbers; resamples in which u or v is constant are left out."""
    ends = np.full((2, 2), np.nan)
    for number in range(2):
        finite = resampled[:, number][np.isfinite(resampled[:, number])]
        if len(finite):
            ends[:, number] = np.quantile(finite, levels[:, number])
    return _bounded(ends[0]), _bounded(ends[1])


def _bounded(numbers: np.ndarray) -> np.ndarray:
    """Clips correlation to [-1, 1] and R2 to at most 1, after resampling, so that resamples scatter on both sides."""
    return np.asarray(np.clip(numbers, [-1.0, -np.inf], 1.0))
