"""Do hybrid rows look like real ones? A classifier that tries to tell them apart, judged on rows it has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from clarysage._utils.threads import unshared
from clarysage.coalitions import draw_by_size
from clarysage.players import Players

PAIRS = 256  # of a row of X and a background row, at most
FEWEST = 25  # pairs below which nothing is said
COLUMNS, SEEN = 1024, 64  # columns that are looked at, and those that the classifier sees each by itself, at most
TREES, LEAF = 24, 5
USUAL = 0.95  # of real rows, beyond which a row looks strange
HIGH, CLEAR = 0.2, 3.0  # share of strange rows that is worth a warning, and standard errors of the AUC above 1/2


@dataclass(frozen=True)
class OffManifold:
    """How well hybrid rows can be told from real ones.

    Attributes
    ----------
    auc : chance that a classifier finds a hybrid row stranger than a real one; 0.5 where they are alike
    std_error : of ``auc``, over draws of rows, with the classifier as fitted
    share : of hybrid rows that look off the manifold, at least: those beyond a score that 5 % of real rows exceed, less
        the 5 % of rows like real ones that are there anyway; never below zero
    pairs : how many pairs of rows it rests on
    """

    auc: float
    std_error: float
    share: float
    pairs: int

    @property
    def is_high(self) -> bool:
        """Whether so many hybrid rows are unlike real ones that it is worth a warning."""
        return self.share >= HIGH and self.auc > 0.5 + CLEAR * self.std_error

    def __str__(self) -> str:
        verdict = "many are unlike real rows" if self.is_high else "few are unlike real rows, or none"
        return (
            f"Hybrid rows against real ones: AUC {self.auc:.3f} ± {self.std_error:.3f}, {100 * self.share:.0f} % look "
            f"off the manifold; {verdict}."
        )


@dataclass(frozen=True)
class Pairs:
    """k pairs of a row of X and a background row (k, d), no individual in more than one of them."""

    x: np.ndarray
    b: np.ndarray

    @classmethod
    def draw(
        cls,
        X: np.ndarray,
        background: np.ndarray,
        own: np.ndarray | None,
        weights: np.ndarray,
        mass: np.ndarray,
        rng: np.random.Generator,
    ) -> Pairs:
        """Pairs drawn by weight; ``own`` (n,) is the background row that each row of X is, -1 for none."""
        own = np.full(len(X), -1) if own is None else own
        m = int((mass > 0).sum())
        people = m + int(((own < 0) & (weights > 0)).sum())
        b = _drawn(mass, min(PAIRS, m, people // 2), rng)
        left = np.where(np.isin(own, b), 0.0, weights)
        x = _drawn(left, min(len(b), int((left > 0).sum())), rng)
        return cls(X[x], background[rng.permutation(b)[: len(x)]])

    def __len__(self) -> int:
        return len(self.x)

    def part(self, which: slice) -> Pairs:
        return Pairs(self.x[which], self.b[which])

    def real(self) -> np.ndarray:
        """Both rows of each pair: (2k, d)."""
        return np.concatenate([self.x, self.b])

    def hybrids(self, players: Players, rng: np.random.Generator, *, is_apart: bool) -> np.ndarray:
        """Two hybrid rows of each pair, that of a random coalition and that of its complement: (2k, d).

        They share out the cells of the two real rows, so that column by column hybrids and real rows are alike, and
        how columns go together is all there is to tell them apart. ``is_apart`` shuffles the columns of the background
        rows apart before, as a product of marginals does.
        """
        p = len(players)
        is_kept = players.columns(draw_by_size(len(self), np.full(p - 1, 1 / (p - 1)), rng))
        b = rng.permuted(self.b, axis=0) if is_apart else self.b
        return np.concatenate([np.where(is_kept, self.x, b), np.where(is_kept, b, self.x)])

    def scaled(self, scale: Scale) -> Pairs:
        return Pairs(scale(self.x), scale(self.b))

    def repaired(self, rng: np.random.Generator) -> Pairs:
        """The same rows, paired anew."""
        return Pairs(self.x, self.b[rng.permutation(len(self))])


def look(
    pairs: Pairs, players: Players, is_number: np.ndarray, rng: np.random.Generator, *, is_apart: bool = False
) -> OffManifold | None:
    """What can be told of hybrid rows of these pairs; None where there are too few pairs, or one player alone.

    The pairs are split in two; a classifier fitted on either part is judged on the other. All that a part's hybrid rows
    are made of are its own rows, so that no cell of what is judged has been seen.
    """
    if len(players) < 2 or len(pairs) < FEWEST:
        return None
    half, found = len(pairs) // 2, []
    parts = pairs.part(slice(half)), pairs.part(slice(half, None))
    with threadpool_limits(1):  # products this small are slower by many threads, and their bits differ
        for fitted, judged in (parts, parts[::-1]):
            found.append(_told_apart(*_scores(fitted, judged, players, is_number, rng, is_apart)))
    auc, variance, share = (float(np.mean([one[place] for one in found])) for place in range(3))
    return OffManifold(auc, float(np.sqrt(variance / 2)), max(share, 0.0), len(pairs))


def some_columns(players: Players, rng: np.random.Generator) -> tuple[np.ndarray, Players]:
    """Columns to look at, all of them but for very many, and the players that hold them."""
    d = len(players.owner)
    if d <= COLUMNS:
        return np.arange(d), players
    chosen = np.sort(rng.choice(d, COLUMNS, replace=False))
    who, owner = np.unique(players.owner[chosen], return_inverse=True)
    return chosen, Players(tuple(players.names[i] for i in who), owner)


def _scores(
    fitted: Pairs, judged: Pairs, players: Players, is_number: np.ndarray, rng: np.random.Generator, is_apart: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the real rows and the hybrid rows to be judged, (2k,) each."""
    from sklearn.ensemble import ExtraTreesClassifier

    scale = Scale.of(fitted.real(), is_number)
    fitted, judged = fitted.scaled(scale), judged.scaled(scale)
    real = fitted.real()
    hybrids = [fitted.repaired(rng).hybrids(players, rng, is_apart=is_apart) for _ in range(2)]
    view, d = Dependence.of(real, is_number), real.shape[1]
    some = np.sort(rng.choice(d, min(d, SEEN), replace=False))
    rows = np.concatenate([real, *hybrids, judged.real(), judged.hybrids(players, rng, is_apart=is_apart)])
    features = view.features(rows, some).astype(np.float32)
    is_hybrid = np.arange(3 * len(real)) >= len(real)
    trees = ExtraTreesClassifier(
        TREES, min_samples_leaf=LEAF, class_weight="balanced", random_state=int(rng.integers(2**31))
    )
    with unshared():
        trees.fit(features[: len(is_hybrid)], is_hybrid)
        found = trees.predict_proba(features[len(is_hybrid) :])[:, 1]
    return found[: len(found) // 2], found[len(found) // 2 :]


def _told_apart(real: np.ndarray, hybrid: np.ndarray) -> tuple[float, float, float]:
    """The AUC of scores (2k,) each, its variance over draws of pairs, and the share of strange hybrid rows."""
    k = len(real) // 2
    wins = (hybrid[:, None] > real) + 0.5 * (hybrid[:, None] == real)
    blocks = wins.reshape(2, k, 2, k)
    of_pair = blocks.sum(axis=(0, 2, 3)) + blocks.sum(axis=(0, 1, 2)) - np.einsum("aibi->i", blocks)
    without = (wins.sum() - of_pair) / (2 * k - 2) ** 2  # the AUC, a pair left out
    variance = float(((without - without.mean()) ** 2).sum() * (k - 1) / k)  # jackknife: pairs are independent
    edge = np.quantile(real, USUAL)
    usual, strange = float((real > edge).mean()), float((hybrid > edge).mean())
    return (
        float(wins.mean()),
        variance,
        (strange - usual) / (1 - usual),
    )  # rows like real ones are beyond the edge as often as those


def _drawn(mass: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """So many distinct numbers, drawn by mass, in random order."""
    (there,) = np.nonzero(mass > 0)
    weights = mass[there]
    if (weights == weights[:1]).all():
        return rng.choice(there, count, replace=False)
    return rng.choice(there, count, replace=False, p=weights / weights.sum())


LARGEST = 1e300  # whose differences are still finite
LEVELS = 8  # values of a category that are told apart, the most frequent ones
UNKNOWN = -6.0  # where a missing cell stands on a scale of normal scores: beyond all others
RIDGE = 0.1  # of the columns' variance, times columns a row


@dataclass(frozen=True)
class Scale:
    """Columns of codes on a common scale: numbers as normal scores of their ranks among ``ordered`` (n, d), whatever
    their unit and tails; categories as they are, missing cells too."""

    ordered: np.ndarray
    is_number: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, is_number: np.ndarray) -> Scale:
        return cls(np.sort(_bounded(rows), axis=0), is_number)  # missing cells come last

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        found = rows.copy()
        present = (~np.isnan(self.ordered)).sum(axis=0)
        for j in np.flatnonzero(self.is_number & (present > 0)):
            scores = scipy.special.ndtri((np.arange(present[j]) + 0.5) / present[j])
            found[:, j] = np.interp(_bounded(rows[:, j]), self.ordered[: present[j], j], scores)
        return found


@dataclass(frozen=True)
class Dependence:
    """What real rows (n, d), scaled, tell about how columns go together.

    Each number, and each indicator of a frequent category or of a missing cell, is predicted from all others by ridge
    regression; what is left is small in rows whose columns go together as they do in real ones, and large in others.
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

    def features(self, rows: np.ndarray, some: np.ndarray) -> np.ndarray:
        """What a classifier is to see of scaled rows: the columns ``some``, and how large residuals of all are."""
        z = (_columns(rows, self.levels, self.is_number) - self.mean) / self.spread
        pulled = (z - (z @ self.whitened.T) @ self.whitened) / self.ridge  # (C + ridge)^-1 z (Woodbury)
        precision = np.maximum(1 - (self.whitened**2).sum(axis=0), 1e-9) / self.ridge
        residuals = pulled**2 / precision
        top = min(2, residuals.shape[1])
        largest = np.partition(residuals, -top, axis=1)[:, -top:]
        seen = np.where(np.isnan(rows[:, some]), UNKNOWN, rows[:, some])
        return np.column_stack([seen, largest, residuals.mean(axis=1), (pulled * z).sum(axis=1)])


def _bounded(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(values, -LARGEST, LARGEST))


def _columns(rows: np.ndarray, levels: tuple[tuple[int, float], ...], is_number: np.ndarray) -> np.ndarray:
    """Numbers, zero where missing, and an indicator for each level."""
    numbers = rows[:, is_number]
    marks = [np.isnan(rows[:, j]) if np.isnan(value) else rows[:, j] == value for j, value in levels]
    return np.asarray(np.column_stack([np.where(np.isnan(numbers), 0.0, numbers), *marks]))


def _levels(rows: np.ndarray, is_number: np.ndarray) -> tuple[tuple[int, float], ...]:
    """Columns with the values that are told apart in them: frequent categories, and missing."""
    found = []
    for j in np.flatnonzero(~is_number):
        values, counts = np.unique(rows[~np.isnan(rows[:, j]), j], return_counts=True)
        found += [(int(j), float(value)) for value in values[np.argsort(-counts, kind="stable")[:LEVELS]]]
    return (*found, *((int(j), np.nan) for j in np.flatnonzero(np.isnan(rows).any(axis=0))))
