"""Two-sample tests: Kolmogorov-Smirnov, chi-square, hypergeometric (with Tarone's correction), new categories.

Kolmogorov-Smirnov and chi-square p-values come from scipy. Hypergeometric p-values are computed here: those of
``scipy.stats.hypergeom`` agree to ten digits, not to the last bit, and are slower; large counts need a normal
approximation, and Tarone's correction needs the smallest attainable p-values of many counts at once.

References
----------
R. E. Tarone (1990). A modified Bonferroni method for discrete data. Biometrics 46, 515-522.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, kolmogorov, ndtr
from scipy.stats import chi2_contingency, ks_2samp, kstwo

COLUMN_LEVEL = 0.05  # p-value of a column up to which it gets hints
HINT_LEVEL = 0.01  # p-value of a single change up to which a hint names it
MOST_ROWS_EXACT_KS = 2_000  # in each sample; for more, the one-sample test with the effective number of rows is as good
MOST_EFFECTIVE_ROWS = 1_000  # for more, the asymptotic Kolmogorov distribution is as good
LEAST_EXPECTED = 5.0  # expected rows of a category in the smaller sample, below which chi-square is not trusted
MOST_TERMS = 4_000  # terms of a hypergeometric sum; for more, the normal distribution is as good
MOST_TESTED = 40  # values tested one by one: those whose counts are farthest from the expected ones
ROUNDING = 1e-9  # how far a computed p-value may be below the smallest attainable one, by rounding of floats
STEEPEST = 60.0  # largest exponent per row in Chernoff's bound


@dataclass(frozen=True)
class TwoSampleECDF:
    """Empirical distribution functions of two samples of numbers.

    Attributes
    ----------
    values : distinct values of both samples, (k,), in increasing order
    cumulative : rows of the reference and of the current sample up to each value, (2, k)

    Examples
    --------
    >>> ecdf = TwoSampleECDF.of(np.array([1.0, 1.0, 3.0]), np.array([1.0, 2.0]))
    >>> ecdf.values, ecdf.cumulative.tolist(), ecdf.distance
    (array([1., 2., 3.]), [[2, 2, 3], [1, 2, 2]], 0.33333333333333337)
    """

    values: np.ndarray
    cumulative: np.ndarray

    @classmethod
    def of(cls, reference: np.ndarray, current: np.ndarray) -> TwoSampleECDF:
        """Counts the rows of two sorted samples."""
        both = np.concatenate([reference, current])
        order = np.argsort(both, kind="stable")  # two sorted runs: merged in one pass
        both = both[order]
        ends = np.flatnonzero(np.append(both[1:] != both[:-1], True)) if len(both) else np.zeros(0, dtype=np.int64)
        current_rows = np.cumsum(order >= len(reference))[ends]
        return cls(both[ends], np.array([ends + 1 - current_rows, current_rows]))

    @property
    def rows(self) -> tuple[int, int]:
        """Numbers of rows of both samples."""
        return (int(self.cumulative[0, -1]), int(self.cumulative[1, -1])) if len(self.values) else (0, 0)

    @cached_property
    def counts(self) -> np.ndarray:
        """Numbers of rows that have each value, (2, k)."""
        return np.diff(self.cumulative, axis=1, prepend=0)

    @cached_property
    def gaps(self) -> np.ndarray:
        """Current minus reference distribution function at each value, (k,); zeros where a sample is empty."""
        reference, current = self.rows
        if not reference or not current:
            return np.zeros(len(self.values))
        return np.asarray(self.cumulative[1] / current - self.cumulative[0] / reference)

    @property
    def distance(self) -> float:
        """The Kolmogorov-Smirnov distance: the largest absolute gap."""
        return float(np.abs(self.gaps).max(initial=0.0))

    @property
    def rms_gap(self) -> float:
        """The root mean square gap over all rows (Cramér-von Mises), which varies less by chance than the largest."""
        return float(np.sqrt(np.average(self.gaps**2, weights=self.counts.sum(axis=0))))


def kolmogorov_smirnov_p(reference: np.ndarray, current: np.ndarray, distance: float) -> float:
    """Returns the p-value of the Kolmogorov-Smirnov distance of two sorted samples; it is conservative with ties."""
    n, m = len(reference), len(current)
    if distance == 0:
        return 1.0
    if max(n, m) <= MOST_ROWS_EXACT_KS:
        return float(ks_2samp(reference, current, method="exact").pvalue)
    effective_rows = n * m / (n + m)
    if effective_rows <= MOST_EFFECTIVE_ROWS:
        return float(kstwo.sf(distance, max(1, round(effective_rows))))
    return float(kolmogorov(np.sqrt(effective_rows) * distance))


def total_variation(reference: np.ndarray, current: np.ndarray) -> float:
    """Returns half the sum of absolute differences between shares, of counts (k,) each; 0 where a sample is empty."""
    if not reference.sum() or not current.sum():
        return 0.0
    return min(1.0, float(np.abs(reference / reference.sum() - current / current.sum()).sum() / 2))


def chi_square_p(reference: np.ndarray, current: np.ndarray) -> float:
    """Returns the p-value of Pearson's chi-square test of counts (k,), rare categories pooled; 1 where all are rare.

    Whether a category is rare depends on the counts of both samples together, so pooling does not bias the test.
    """
    table = _pooled(np.array([reference, current], dtype=np.float64))
    if table.shape[1] < 2:
        return 1.0
    return float(chi2_contingency(table, correction=False).pvalue)


def are_rare(reference: np.ndarray, current: np.ndarray) -> np.ndarray:
    """Returns which categories (k,) have fewer than five expected rows in the smaller sample."""
    both, rows = reference + current, (reference.sum(), current.sum())
    return np.asarray(both * min(rows) < LEAST_EXPECTED * max(sum(rows), 1))


def _pooled(table: np.ndarray) -> np.ndarray:
    """Adds up the rare columns of counts (2, k), and the next rarest column where their sum is still rare."""
    table = table[:, np.argsort(-table.sum(axis=0), kind="stable")]
    common = int((~are_rare(*table)).sum())
    pooled = table[:, common:].sum(axis=1, keepdims=True)
    if common and pooled.any() and are_rare(*np.hstack([table[:, :common], pooled]))[-1]:
        common -= 1
        pooled = pooled + table[:, common : common + 1]
    return np.hstack([table[:, :common], pooled]) if pooled.any() else table[:, :common]


def hypergeometric_p(observed: int, total: int, drawn: int, rows: int) -> float:
    """Returns the two-sided p-value of the count of a value among rows drawn: twice the smaller tail (Fisher's test).

    Given that ``total`` of all ``rows`` have the value, the number ``observed`` among the ``drawn`` rows follows a
    hypergeometric distribution.

    Examples
    --------
    >>> round(hypergeometric_p(observed=3, total=3, drawn=10, rows=20), 12)  # 2 x (10 x 9 x 8) / (20 x 19 x 18)
    0.210526315789
    """
    low, high = max(0, total - (rows - drawn)), min(total, drawn)
    if low == high:
        return 1.0
    if high - low > MOST_TERMS:
        return _normal_p(observed, total, drawn, rows)
    law = np.exp(_log_hypergeometric(np.arange(low, high + 1), total, drawn, rows))
    tails = law[: observed - low + 1].sum(), law[observed - low :].sum()
    return float(min(1.0, 2 * min(tails) / law.sum()))


def tarone_p(reference: np.ndarray, current: np.ndarray, rows: tuple[int, int]) -> float:
    """Returns the smallest hypergeometric p-value of single values, with the Bonferroni correction of Tarone (1990).

    Counts (k,) are of ``rows`` of the reference and of the current sample. The p-value is multiplied by the number of
    values that could have one as small. A value that few rows have cannot, so rare values cost the others no power.
    """
    totals, drawn, all_rows = reference + current, rows[1], sum(rows)
    sizes, times = np.unique(totals, return_counts=True)
    attainable = smallest_attainable_p(sizes, drawn, all_rows)
    spread = np.sqrt(np.maximum(totals * (1 - totals / all_rows), 1e-12))
    farthest = np.argsort(-np.abs(current - totals * drawn / all_rows) / spread, kind="stable")[:MOST_TESTED]
    smallest = 1.0
    for i in farthest:
        p = hypergeometric_p(int(current[i]), int(totals[i]), drawn, all_rows)
        smallest = min(smallest, p * max(1, int(times[attainable <= p * (1 + ROUNDING)].sum())))
    return smallest


def smallest_attainable_p(totals: np.ndarray, drawn: int, rows: int) -> np.ndarray:
    """Returns the smallest hypergeometric p-values (k,) that values with these totals of rows (k,) can have."""
    totals = totals.astype(np.float64)
    extremes = [np.maximum(0, totals - (rows - drawn)), np.minimum(totals, drawn)]
    tails = [np.exp(_log_hypergeometric(observed, totals, drawn, rows)) for observed in extremes]
    return np.asarray(np.minimum(1.0, 2 * np.minimum(*tails)))


def _log_hypergeometric(observed: np.ndarray, total: np.ndarray | int, drawn: int, rows: int) -> np.ndarray:
    """Returns the logarithms of hypergeometric probabilities."""
    return np.asarray(
        _log_binomial(total, observed)
        + _log_binomial(rows - total, drawn - observed)
        - _log_binomial(rows, np.asarray(drawn))
    )


def _log_binomial(n: np.ndarray | int, k: np.ndarray) -> np.ndarray:
    return np.asarray(gammaln(np.add(n, 1.0)) - gammaln(k + 1.0) - gammaln(np.subtract(n, k) + 1.0))


def _normal_p(observed: int, total: int, drawn: int, rows: int) -> float:
    """Returns the p-value by the normal approximation, with a continuity correction."""
    share = total / rows
    spread = np.sqrt(drawn * share * (1 - share) * (rows - drawn) / (rows - 1))
    deviation = max(0.0, abs(observed - drawn * share) - 0.5) / spread
    return float(min(1.0, 2 * ndtr(-deviation)))


def new_categories_p(reference: np.ndarray, current: np.ndarray, rows: tuple[int, int]) -> float:
    r"""Returns an upper bound of the p-value of the number of current rows in categories that the reference lacks.

    All rows of a category that has c rows in both samples are current rows with probability
    :math:`P_c = \binom{m}{c} / \binom{n + m}{c}`. These events are negatively associated (rows drawn for one category
    are not available for others), so Chernoff's bound for independent events holds:
    :math:`\min_t \prod (1 + P_c (e^{t c} - 1)) e^{-t T}` for T rows. It is loose where all T rows are of one category.
    There the union bound is better: the sum of :math:`P_c` over all categories at least as large as the largest new
    one. Twice the smaller of the two bounds is returned.

    Parameters
    ----------
    reference, current : counts (k,)
    rows : numbers of rows of both samples
    """
    new_rows = int(current[reference == 0].sum())
    if not new_rows:
        return 1.0
    sizes, times = np.unique((reference + current)[reference + current > 0], return_counts=True)
    log_chance = log_p_all_current(sizes.astype(np.float64), rows)
    possible = np.isfinite(log_chance)
    sizes, times, log_chance = sizes[possible], times[possible], log_chance[possible]
    log_complement = np.log1p(-np.minimum(np.exp(log_chance), 1 - 1e-16))

    def log_bound(slope: float) -> float:
        return float(times @ np.logaddexp(log_complement, log_chance + slope * sizes) - slope * new_rows)

    chernoff = minimize_scalar(log_bound, bounds=(0.0, STEEPEST), method="bounded")
    largest = current[reference == 0].max()  # chances fall with size
    union = float((times * np.exp(log_chance))[sizes >= largest].sum())
    return float(min(1.0, 2 * min(np.exp(chernoff.fun), union)))


def log_p_all_current(sizes: np.ndarray, rows: tuple[int, int]) -> np.ndarray:
    """Returns log probabilities that all rows of categories, ``sizes`` in both samples together, are current rows."""
    drawn, all_rows = rows[1], sum(rows)
    with np.errstate(invalid="ignore"):
        log_chance = (
            gammaln(drawn + 1.0)
            - gammaln(drawn - sizes + 1.0)
            - gammaln(all_rows + 1.0)
            + gammaln(all_rows - sizes + 1.0)
        )
    return np.where(sizes <= drawn, log_chance, -np.inf)


def bonferroni(p_values: list[float]) -> float:
    """Returns the smallest p-value times the number of tests, at most 1; 1 where nothing was tested.

    Examples
    --------
    >>> bonferroni([0.5, 0.01]), bonferroni([])
    (0.02, 1.0)
    """
    return min(1.0, len(p_values) * min(p_values)) if p_values else 1.0
