"""Do hybrid rows look like real ones? A classifier two-sample test for rows off the data manifold.

A classifier is fitted to tell hybrid rows from real ones; its AUC on rows that it was not fitted to measures the
difference of the two distributions (Friedman 2003; Lopez-Paz & Oquab 2017).

References
----------
J. H. Friedman (2003). On multivariate goodness-of-fit and two-sample testing. PHYSTAT 2003.
D. Lopez-Paz, M. Oquab (2017). Revisiting classifier two-sample tests. ICLR.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from clarysage._utils.threads import one_thread
from clarysage.coalitions import draw_by_size
from clarysage.players import Players

PAIRS = 256  # of a row of X and a background row, at most
FEWEST = 25  # pairs below which there is no test
COLUMNS, FEATURES = 1024, 64  # columns that are tested, and those that are features of the classifier, at most
TREES, FEWEST_TREES, LEAF = 24, 3, 5
SECONDS, SECONDS_A_COLUMN = 0.05, 5e-4  # that a test takes, about
USUAL = 0.95  # quantile of the scores of real rows beyond which a row looks unlike them
HIGH, CLEAR = 0.2, 3.0  # share of unlike rows for a warning, and standard errors of the AUC above 1/2
LARGEST = 1e300  # numbers whose differences are finite
LEVELS = 8  # categories of a column that have an indicator, the most frequent ones
UNKNOWN = -6.0  # the score of a missing cell, below the normal scores of all others
RIDGE = 0.1  # of the columns' variance, times columns per row


@dataclass(frozen=True)
class OffManifold:
    """The result of a test of whether hybrid rows can be told from real ones.

    Attributes
    ----------
    auc : probability that a classifier gives a hybrid row a higher score than a real one; 0.5 if they are alike
    std_error : standard error of ``auc``, over draws of rows, with the classifier as fitted
    share : lower bound of the share of hybrid rows off the manifold: those beyond a score that 5 % of real rows exceed,
        less the 5 % of rows like real ones that are there anyway; never below zero
    pairs : number of pairs of rows that were compared

    Examples
    --------
    >>> import numpy as np
    >>> import clarysage as cs
    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> cs.off_manifold(np.column_stack([x, x]), rng=0).is_high  # two copies of one column
    True
    """

    auc: float
    std_error: float
    share: float
    pairs: int

    @property
    def is_high(self) -> bool:
        """True if enough hybrid rows are unlike real ones for a warning."""
        return self.share >= HIGH and self.auc > 0.5 + CLEAR * self.std_error

    def __str__(self) -> str:
        verdict = "many are unlike real rows" if self.is_high else "few are unlike real rows, or none"
        return (
            f"Hybrid rows against real ones: AUC {self.auc:.3f} ± {self.std_error:.3f}, {100 * self.share:.0f} % look "
            f"off the manifold; {verdict}."
        )


@dataclass(frozen=True)
class RowPairs:
    """k pairs of a row of X and a background row (k, d), no individual in more than one of them."""

    x: np.ndarray
    b: np.ndarray

    @classmethod
    def draw(
        cls,
        X: np.ndarray,
        background: np.ndarray,
        match: np.ndarray | None,
        weights: np.ndarray,
        background_weights: np.ndarray,
        rng: np.random.Generator,
    ) -> RowPairs:
        """Draws pairs by weight; ``match`` (n,) is the background row that each row of X is, -1 for none."""
        match = np.full(len(X), -1) if match is None else match
        m = int((background_weights > 0).sum())
        individuals = m + int(((match < 0) & (weights > 0)).sum())
        b = _sample(background_weights, min(PAIRS, m, individuals // 2), rng)
        weights_of_others = np.where(np.isin(match, b), 0.0, weights)
        x = _sample(weights_of_others, min(len(b), int((weights_of_others > 0).sum())), rng)
        return cls(X[x], background[rng.permutation(b)[: len(x)]])

    def __len__(self) -> int:
        return len(self.x)

    def part(self, index: slice) -> RowPairs:
        return RowPairs(self.x[index], self.b[index])

    def real(self) -> np.ndarray:
        """Returns both rows of each pair: (2k, d)."""
        return np.concatenate([self.x, self.b])

    def hybrids(self, players: Players, rng: np.random.Generator, *, is_product: bool) -> np.ndarray:
        """Returns two hybrid rows of each pair, of a random coalition and of its complement: (2k, d).

        Together they have the cells of the two real rows. Hybrid and real rows thus have equal margins, and differ only
        in the dependence between columns. ``is_product`` first shuffles the columns of the background rows
        independently, as a product of marginals does.
        """
        p = len(players)
        is_kept = players.columns(draw_by_size(len(self), np.full(p - 1, 1 / (p - 1)), rng))
        b = rng.permuted(self.b, axis=0) if is_product else self.b
        return np.concatenate([np.where(is_kept, self.x, b), np.where(is_kept, b, self.x)])

    def scaled(self, scale: RankScale) -> RowPairs:
        return RowPairs(scale(self.x), scale(self.b))

    def permuted(self, rng: np.random.Generator) -> RowPairs:
        """Returns the same rows in other pairs."""
        return RowPairs(self.x, self.b[rng.permutation(len(self))])


def seconds_of_test(columns: int) -> float:
    """Returns about how many seconds the whole test of rows with so many columns takes."""
    return SECONDS + SECONDS_A_COLUMN * min(columns, COLUMNS)


def trees_within(seconds: float, pairs: int, columns: int) -> int:
    """Returns the number of trees for a test that takes about so many seconds at most; 0 if any test takes longer.

    Examples
    --------
    >>> trees_within(1.0, pairs=256, columns=10), trees_within(0.012, pairs=256, columns=10)
    (24, 6)
    >>> trees_within(0.001, pairs=256, columns=10)
    0
    """
    preparation = 1e-3 + 1e-5 * pairs + (6e-5 + 9e-7 * pairs) * columns
    trees = int(min(TREES, max(0.0, seconds - preparation) / (4e-4 + 2e-6 * pairs)))
    return trees if trees >= FEWEST_TREES else 0


def two_sample_test(
    pairs: RowPairs,
    players: Players,
    is_number: np.ndarray,
    rng: np.random.Generator,
    *,
    is_product: bool = False,
    trees: int = TREES,
) -> OffManifold | None:
    """Tests whether hybrid rows of these pairs are unlike real ones; None if there are too few pairs, or one player.

    The pairs are split in two; a classifier fitted to either part is tested on the other (cross-fitting). Hybrid rows
    of a part are made of its own rows only, so that no cell of the test rows was seen before.
    """
    if len(players) < 2 or len(pairs) < FEWEST:
        return None
    half, results = len(pairs) // 2, []
    parts = pairs.part(slice(half)), pairs.part(slice(half, None))
    with one_thread():  # products this small are slower by many threads, and their bits differ
        for fitted, tested in (parts, parts[::-1]):
            results.append(_auc_and_share(*_scores(fitted, tested, players, is_number, rng, is_product, trees)))
    auc, variance, share = (float(np.mean(values)) for values in zip(*results, strict=True))
    return OffManifold(auc, float(np.sqrt(variance / 2)), max(share, 0.0), len(pairs))


def sampled_columns(players: Players, rng: np.random.Generator) -> tuple[np.ndarray, Players]:
    """Returns the columns to test, a sample if there are very many, and the players that hold them."""
    d = len(players.owner)
    if d <= COLUMNS:
        return np.arange(d), players
    columns = np.sort(rng.choice(d, COLUMNS, replace=False))
    holders, owner = np.unique(players.owner[columns], return_inverse=True)
    return columns, Players(tuple(players.names[i] for i in holders), owner)


def _scores(
    fitted: RowPairs,
    tested: RowPairs,
    players: Players,
    is_number: np.ndarray,
    rng: np.random.Generator,
    is_product: bool,
    trees: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Fits the classifier; returns its scores of the real and of the hybrid rows of the test pairs, (2k,) each."""
    scale = RankScale.of(fitted.real(), is_number)
    fitted, tested = fitted.scaled(scale), tested.scaled(scale)
    real = fitted.real()
    hybrids = [fitted.permuted(rng).hybrids(players, rng, is_product=is_product) for _ in range(2)]
    dependence, d = Dependence.of(real, is_number), real.shape[1]
    columns = np.sort(rng.choice(d, min(d, FEATURES), replace=False))
    rows = np.concatenate([real, *hybrids, tested.real(), tested.hybrids(players, rng, is_product=is_product)])
    features = dependence.features(rows, columns).astype(np.float32)
    is_hybrid = np.arange(3 * len(real)) >= len(real)
    seed = int(rng.integers(2**31))
    scores = forest_scores(features[: len(is_hybrid)], is_hybrid, features[len(is_hybrid) :], trees, seed)
    return scores[: len(scores) // 2], scores[len(scores) // 2 :]


def forest_scores(X: np.ndarray, is_hybrid: np.ndarray, tested: np.ndarray, trees: int, seed: int) -> np.ndarray:
    """Returns scores of rows ``tested`` by extremely randomised trees that are fitted to X, both in single precision.

    These are the probabilities of scikit-learn's ``ExtraTreesClassifier`` with balanced classes, in half of the time:
    the impurity of two classes is twice the variance of an indicator, so that regression trees make the same splits,
    and a forest fitted tree by tree checks its rows only here.
    """
    from sklearn import config_context
    from sklearn.tree import ExtraTreeRegressor

    indicator, (others, hybrids) = is_hybrid.astype(np.float64), np.bincount(is_hybrid)
    weights = len(is_hybrid) / (2 * np.where(is_hybrid, hybrids, others))
    draws, scores = np.random.RandomState(seed), np.zeros(len(tested))
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for _ in range(trees):
            of_tree = draws.randint(np.iinfo(np.int32).max)
            tree = ExtraTreeRegressor(min_samples_leaf=LEAF, max_features="sqrt", random_state=of_tree)
            tree.fit(X, indicator, sample_weight=weights, check_input=False)
            scores += tree.predict(tested, check_input=False)
    return scores / trees


def _auc_and_share(real: np.ndarray, hybrid: np.ndarray) -> tuple[float, float, float]:
    """Returns the AUC of scores (2k,) each, its variance over draws of pairs, and the share of unlike hybrid rows."""
    k = len(real) // 2
    wins = (hybrid[:, None] > real) + 0.5 * (hybrid[:, None] == real)
    blocks = wins.reshape(2, k, 2, k)
    of_pair = blocks.sum(axis=(0, 2, 3)) + blocks.sum(axis=(0, 1, 2)) - np.einsum("aibi->i", blocks)
    without = (wins.sum() - of_pair) / (2 * k - 2) ** 2  # the AUC with one pair left out
    variance = float(((without - without.mean()) ** 2).sum() * (k - 1) / k)  # jackknife: pairs are independent
    threshold = np.quantile(real, USUAL)
    real_share, hybrid_share = float((real > threshold).mean()), float((hybrid > threshold).mean())
    # hybrid rows that are like real ones exceed the threshold as often as these do
    return float(wins.mean()), variance, (hybrid_share - real_share) / (1 - real_share)


def _sample(weights: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draws ``count`` distinct row numbers by weight, in random order."""
    (rows,) = np.nonzero(weights > 0)
    weights = weights[rows]
    if (weights == weights[:1]).all():
        return rng.choice(rows, count, replace=False)
    return rng.choice(rows, count, replace=False, p=weights / weights.sum())


@dataclass(frozen=True)
class RankScale:
    """A map of columns to a common scale: numbers become normal scores of their ranks among ``ordered`` (n, d).

    Scores do not depend on units or on heavy tails. Codes of categories and missing cells stay as they are.
    """

    ordered: np.ndarray
    is_number: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, is_number: np.ndarray) -> RankScale:
        return cls(np.sort(_bounded(rows), axis=0), is_number)  # missing cells come last

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        scaled = rows.copy()
        present = (~np.isnan(self.ordered)).sum(axis=0)
        for j in np.flatnonzero(self.is_number & (present > 0)):
            scores = scipy.special.ndtri((np.arange(present[j]) + 0.5) / present[j])
            scaled[:, j] = np.interp(_bounded(rows[:, j]), self.ordered[: present[j], j], scores)
        return scaled


@dataclass(frozen=True)
class Dependence:
    """The linear dependence between the columns of real rows (n, d), scaled.

    Each number, and each indicator of a frequent category or of a missing cell, is predicted from all others by ridge
    regression. Residuals are small in rows with the dependence of the real ones, and large in others.
    """

    levels: tuple[tuple[int, float], ...]
    is_number: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    whitened: np.ndarray
    ridge: float

    @classmethod
    def of(cls, rows: np.ndarray, is_number: np.ndarray) -> Dependence:
        n, levels = len(rows), _levels(rows, is_number)
        columns = _columns(rows, levels, is_number)
        mean, spread = columns.mean(axis=0), columns.std(axis=0)
        spread[spread < 1e-9] = 1.0
        scaled = (columns - mean) / (spread * np.sqrt(n))
        ridge = RIDGE * columns.shape[1] / n
        root = np.linalg.cholesky(scaled @ scaled.T + ridge * np.eye(n))  # (n, n): there may be many more columns
        return cls(levels, is_number, mean, spread, scipy.linalg.solve_triangular(root, scaled, lower=True), ridge)

    def features(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Returns features of scaled rows for the classifier: the given columns, and the size of all residuals."""
        z = (_columns(rows, self.levels, self.is_number) - self.mean) / self.spread
        solved = (z - (z @ self.whitened.T) @ self.whitened) / self.ridge  # (C + ridge)^-1 z (Woodbury)
        precision = np.maximum(1 - (self.whitened**2).sum(axis=0), 1e-9) / self.ridge
        residuals = solved**2 / precision
        top = min(2, residuals.shape[1])
        largest = np.partition(residuals, -top, axis=1)[:, -top:]
        cells = np.where(np.isnan(rows[:, columns]), UNKNOWN, rows[:, columns])
        return np.column_stack([cells, largest, residuals.mean(axis=1), (solved * z).sum(axis=1)])


def _bounded(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(values, -LARGEST, LARGEST))


def _columns(rows: np.ndarray, levels: tuple[tuple[int, float], ...], is_number: np.ndarray) -> np.ndarray:
    """Returns numbers, zero where missing, and an indicator for each level."""
    numbers = rows[:, is_number]
    indicators = [np.isnan(rows[:, j]) if np.isnan(value) else rows[:, j] == value for j, value in levels]
    return np.asarray(np.column_stack([np.where(np.isnan(numbers), 0.0, numbers), *indicators]))


def _levels(rows: np.ndarray, is_number: np.ndarray) -> tuple[tuple[int, float], ...]:
    """Returns the levels that get an indicator, each with its column: frequent categories, and missing cells."""
    levels = []
    for j in np.flatnonzero(~is_number):
        values, counts = np.unique(rows[~np.isnan(rows[:, j]), j], return_counts=True)
        levels += [(int(j), float(value)) for value in values[np.argsort(-counts, kind="stable")[:LEVELS]]]
    return (*levels, *((int(j), np.nan) for j in np.flatnonzero(np.isnan(rows).any(axis=0))))
