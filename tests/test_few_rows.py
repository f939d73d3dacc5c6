"""Few background rows stand for all: how they are drawn, what a loss makes of them, and what the model is asked."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor

import clarysage as cs
from clarysage.losses import Brier, CrossEntropy, SquaredError
from clarysage.losses.debiasing import MeanEstimate
from clarysage.players import Players
from clarysage.removal.background_draws import BackgroundDraws
from clarysage.removal.restricted.prefixes import FixedRowWalks, evaluate
from clarysage.structure.base import Structure, apply_link
from clarysage.structure.linear import Linear

DRAWN = 20_000


def even(m: int) -> np.ndarray:
    return np.full(m, 1 / m)


def uneven(m: int) -> np.ndarray:
    mass = 1.0 + np.arange(m) ** 2 % 5
    return mass / mass.sum()


RANKED = np.array([[3, 0, 6, 1, 5, 2, 4], [0, 1, 2, 3, 4, 5, 6]])
DRAWS = {
    "simple even": BackgroundDraws(3, even(7)),
    "simple weighted": BackgroundDraws(3, uneven(7)),
    "stratified even": BackgroundDraws(3, even(7), RANKED),
    "stratified weighted": BackgroundDraws(3, uneven(7), RANKED),
    "stratified even, strata of whole rows": BackgroundDraws(
        2, even(6), np.array([[3, 0, 5, 1, 4, 2], [0, 1, 2, 3, 4, 5]])
    ),
    "all rows": BackgroundDraws(7, uneven(7)),
}


def chances(draws: BackgroundDraws, kind: int) -> dict[tuple[int, ...], float]:
    """The probability of every draw, written from what a draw is said to be."""
    m, q = len(draws.weights), draws.rows
    if draws.ranked is not None:  # one row from each stratum: as much of it as the stratum holds of the row's mass
        order = draws.ranked[kind]
        ends = np.concatenate([[0.0], np.cumsum(draws.weights[order])])
        share = np.zeros((q, m))
        for stratum, (place, row) in product(range(q), enumerate(order)):
            inside = min(ends[place + 1], (stratum + 1) / q) - max(ends[place], stratum / q)
            share[stratum, row] = q * max(inside, 0.0)
        return {rows: float(np.prod(share[range(q), rows])) for rows in product(range(m), repeat=q)}
    if len(set(draws.weights)) > 1:  # with replacement
        return {rows: float(np.prod(draws.weights[list(rows)])) for rows in product(range(m), repeat=q)}
    orders = list(permutations(range(m), q))
    return {rows: 1 / len(orders) for rows in orders}


def frequencies(
    found: np.ndarray, of: dict[tuple[int, ...], float], is_set: bool
) -> dict[tuple[int, ...], list[float]]:
    """Of every outcome its frequency among found draws (n, q) and its probability; of sets, whatever their order."""
    wanted: dict[tuple[int, ...], float] = {}
    for rows, chance in of.items():
        key = tuple(sorted(rows)) if is_set else rows
        wanted[key] = wanted.get(key, 0.0) + chance
    seen: dict[tuple[int, ...], int] = {}
    for rows in (np.sort(found, axis=1) if is_set else found).tolist():
        seen[tuple(rows)] = seen.get(tuple(rows), 0) + 1
    assert all(wanted[rows] > 1e-12 for rows in seen)
    return {rows: [seen.get(rows, 0) / len(found), chance] for rows, chance in wanted.items()}


def agree(frequency: Any, chance: Any, n: int) -> bool:
    """Six standard errors of a frequency, and a count of ten where an outcome is rare and so not near normal."""
    frequency, chance = np.asarray(frequency), np.asarray(chance)
    return bool(np.all(np.abs(frequency - chance) <= 6 * np.sqrt(chance * (1 - chance) / n) + 10 / n))


@pytest.mark.parametrize("name", [name for name in DRAWS if name != "all rows"])
def test_every_row_is_drawn_as_often_as_its_mass(name, seed):
    draws = DRAWS[name]
    kinds = np.zeros(DRAWN, dtype=int)
    found = draws.draw(kinds, np.random.default_rng(seed))
    often = np.array([(found == row).sum(axis=1) for row in range(len(draws.weights))])  # (m, n)
    wanted = draws.rows * draws.weights
    error = np.sqrt(draws.rows * draws.weights * (1 - draws.weights) / DRAWN)  # of draws with replacement, the largest
    assert np.all(np.abs(often.mean(axis=1) - wanted) <= 6 * error)


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("name", [name for name in DRAWS if name != "all rows"])
def test_draws_and_every_draw_of_a_partition_have_the_distribution_found_by_enumeration(name, kind, seed):
    draws = DRAWS[name]
    rng, kinds = np.random.default_rng([seed, kind]), np.full(DRAWN, kind)
    of, is_set = chances(draws, kind), draws.ranked is None
    assert sum(of.values()) == pytest.approx(1)
    parts = draws.partition(kinds, rng)
    assert parts.shape == (DRAWN, len(draws.weights) // draws.rows, draws.rows)
    for found in (draws.draw(kinds, rng), *np.moveaxis(parts, 1, 0)):
        pairs = np.array(list(frequencies(found, of, is_set).values()))
        assert agree(pairs[:, 0], pairs[:, 1], DRAWN)


@pytest.mark.parametrize("own", [0, 3, 5])
@pytest.mark.parametrize("name", [name for name in DRAWS if name != "all rows"])
def test_an_own_row_is_left_out_as_if_it_were_not_there(name, own, seed):
    draws, kind = DRAWS[name], 1
    others = np.delete(np.arange(len(draws.weights)), own)
    ranked = None if draws.ranked is None else np.array([[0] * len(others), [*range(len(others))]])
    without = BackgroundDraws(draws.rows, draws.weights[others] / draws.weights[others].sum(), ranked)
    of, is_set = chances(without, kind), draws.ranked is None
    rng, kinds = np.random.default_rng([seed, own]), np.full(2 * DRAWN, kind)
    mine = np.where(np.arange(2 * DRAWN) % 2 == 0, own, -1)  # examples with and without, side by side
    parts = draws.partition(kinds, rng, mine)
    for found in (draws.draw(kinds, rng, mine), *np.moveaxis(parts, 1, 0)):
        assert not (found[mine == own] == own).any()
        pairs = np.array(list(frequencies(np.searchsorted(others, found[mine == own]), of, is_set).values()))
        assert agree(pairs[:, 0], pairs[:, 1], DRAWN)
        pairs = np.array(list(frequencies(found[mine == -1], chances(draws, kind), is_set).values()))
        assert agree(pairs[:, 0], pairs[:, 1], DRAWN)


def test_examples_of_several_kinds_are_drawn_for_by_their_own_order(seed):
    draws, kinds = DRAWS["stratified weighted"], np.arange(2 * DRAWN) % 2
    found = draws.draw(kinds, np.random.default_rng(seed))
    for kind in (0, 1):
        pairs = np.array(list(frequencies(found[kinds == kind], chances(draws, kind), False).values()))
        assert agree(pairs[:, 0], pairs[:, 1], DRAWN)


@pytest.mark.parametrize("name", ["simple even", "stratified even, strata of whole rows"])
def test_a_partition_holds_each_row_at_most_once(name, seed):
    draws = DRAWS[name]
    parts = draws.partition(np.zeros(500, dtype=int), np.random.default_rng(seed)).reshape(500, -1)
    assert all(len(set(rows)) == parts.shape[1] for rows in parts.tolist())


def test_all_rows_are_drawn_once_each_in_their_order(seed):
    found = DRAWS["all rows"].draw(np.zeros(5, dtype=int), np.random.default_rng(seed))
    assert np.array_equal(found, np.tile(np.arange(7), (5, 1)))


@pytest.mark.parametrize("q", [2, 3, 5])
def test_the_variance_of_a_mean_of_simple_draws_is_unbiased_over_all_subsets(q, seed):
    values = np.random.default_rng(seed).normal(size=(6, 2))
    subsets = np.array([values[list(rows)] for rows in combinations(range(6), q)])  # (n, q, 2)
    found = BackgroundDraws(q, even(6)).variance_of_mean(subsets)
    truth = subsets.mean(axis=1).var(axis=0)
    assert np.allclose(found.mean(axis=0), truth, rtol=1e-12, atol=0)


def test_the_variance_of_a_mean_of_weighted_draws_is_unbiased_over_all_of_them(seed):
    values, draws = np.random.default_rng(seed).normal(size=7), DRAWS["simple weighted"]
    of = chances(draws, 0)
    drawn, chance = values[np.array(list(of))], np.array(list(of.values()))
    means = drawn.mean(axis=1)
    truth = chance @ means**2 - (chance @ means) ** 2
    assert chance @ means == pytest.approx(draws.weights @ values, rel=1e-12)
    assert chance @ draws.variance_of_mean(drawn) == pytest.approx(truth, rel=1e-11)


def test_the_mean_over_all_rows_has_no_variance(seed):
    values = np.random.default_rng(seed).normal(size=(3, 7, 2))
    assert np.all(BackgroundDraws(7, even(7)).variance_of_mean(values) == 0)


def test_rows_of_one_value_have_no_variance_to_the_last_bit(seed):
    """Else a feature that the model ignores would get a value of rounding errors."""
    values = np.random.default_rng(seed).normal(size=(200, 1, 3, 2))
    for q in (4, 8, 16):
        ranked = np.arange(40)[None]
        for draws in (BackgroundDraws(q, even(40)), BackgroundDraws(q, even(40), ranked)):
            assert np.all(draws.variance_of_mean(np.repeat(values, q, axis=1)) == 0)


def few_of(z: np.ndarray, start: np.ndarray, beta: float, q: int) -> MeanEstimate:
    """What every subset of q of m rows tells of the mean of z (m, k), adjusted by the known start (m, k)."""
    subsets = [list(rows) for rows in combinations(range(len(z)), q)]
    a = np.array([z[rows] - beta * (start[rows] - start.mean(axis=0)) for rows in subsets])
    plain = np.array([z[rows].mean(axis=0) for rows in subsets])
    return MeanEstimate(plain, a.mean(axis=1), BackgroundDraws(q, even(len(z))).variance_of_mean(a))


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("outputs", [1, 3])
def test_squared_error_of_few_rows_is_unbiased_over_all_subsets(outputs, beta, seed):
    rng = np.random.default_rng(seed)
    z, start, y = rng.normal(size=(6, outputs)), rng.normal(size=(6, outputs)), rng.normal(size=(1, outputs))
    for q in (2, 4):
        few = few_of(z, start, beta, q)
        loss = SquaredError()
        found = loss.debiasing(loss, few, np.repeat(y, len(few.adjusted), axis=0))
        assert found.mean() == pytest.approx(float(((z.mean(axis=0) - y) ** 2).sum()), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_brier_score_of_few_rows_is_unbiased_over_all_subsets(columns, beta, seed):
    rng = np.random.default_rng(seed)
    z, start = (rng.dirichlet(np.ones(max(columns, 2)), size=6)[:, -columns:] for _ in range(2))
    loss = Brier()
    for y in (np.array([1]), rng.dirichlet(np.ones(max(columns, 2)), size=1)):
        target = loss.encode(y, None, z)
        few = few_of(z, start, beta, 4)
        found = loss.debiasing(loss, few, np.repeat(target, len(few.adjusted), axis=0))
        both = np.column_stack([1 - z, z]) if columns == 1 else z
        off = both.mean(axis=0) - target[0]
        wanted = off[1] ** 2 if columns < 3 else (off**2).sum()
        assert found.mean() == pytest.approx(float(wanted), rel=1e-12, abs=1e-12)


def awkward_few(rng: np.random.Generator, columns: int) -> MeanEstimate:
    """Means of probabilities with zeros among them, adjusted beyond 0 and 1, and variances from 0 to large."""
    plain = rng.dirichlet(np.full(max(columns, 2), 0.3), size=400)
    plain[:50] = np.eye(max(columns, 2))[rng.integers(max(columns, 2), size=50)]
    plain = plain[:, -columns:]
    mean = plain + rng.normal(size=plain.shape) * rng.choice([0.0, 0.01, 0.5], size=(400, 1))
    return MeanEstimate(
        plain, mean, rng.exponential(size=plain.shape) * rng.choice([0.0, 1e-9, 1e-3, 1.0], size=(400, 1))
    )


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_cross_entropy_of_few_rows_without_variance_is_the_loss(columns, seed):
    rng = np.random.default_rng(seed)
    loss, few = CrossEntropy(), awkward_few(rng, columns)
    few = MeanEstimate(few.raw, few.raw, np.zeros_like(few.raw))
    for target in (rng.integers(max(columns, 2), size=400), rng.dirichlet(np.ones(max(columns, 2)), size=400)):
        assert np.array_equal(loss.debiasing(loss, few, target), loss(few.raw, target))


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_correction_of_cross_entropy_is_between_zero_and_one_half_and_never_missing(columns, seed):
    rng = np.random.default_rng(seed)
    loss, few = CrossEntropy(), awkward_few(rng, columns)
    target = rng.integers(max(columns, 2), size=400)
    at = np.arange(400), target
    plain, mean = (np.column_stack([1 - p, p])[at] if columns == 1 else p[at] for p in (few.raw, few.adjusted))
    A = np.maximum(np.maximum(mean, plain / 2), 1e-12)
    with np.errstate(all="raise"):
        found = loss.debiasing(loss, few, target)
    assert np.isfinite(found).all()
    taken_off = -np.log(A) - found
    assert taken_off.min() >= 0
    assert taken_off.max() <= 0.5 + 1e-12
    variance = few.variance[:, 0] if columns == 1 else few.variance[at]
    small = variance < 1e-6 * A**2
    assert np.allclose(taken_off[small], variance[small] / (2 * A[small] ** 2), rtol=1e-5, atol=1e-14)  # Taylor


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_soft_targets_of_few_rows_agree_with_hard_ones_weighted(columns, seed):
    rng = np.random.default_rng(seed)
    loss, few, classes = CrossEntropy(), awkward_few(rng, columns), max(columns, 2)
    soft = rng.dirichlet(np.ones(classes), size=400)
    hard = [loss.debiasing(loss, few, np.full(400, c)) for c in range(classes)]
    assert np.allclose(loss.debiasing(loss, few, soft), (soft * np.array(hard).T).sum(axis=1), rtol=1e-12)
    one_hot = np.eye(classes)[rng.integers(classes, size=400)]
    assert np.allclose(
        loss.debiasing(loss, few, one_hot), loss.debiasing(loss, few, one_hot.argmax(axis=1)), rtol=1e-12
    )


def asked_about(Z: np.ndarray) -> np.ndarray:
    """A model that tells missing cells from others and -0.0 from 0.0; sums and products alone, so that a row's
    answer does not depend on the rows beside it."""
    out = np.zeros((len(Z), 2))
    for j in range(Z.shape[1]):
        cell = np.where(np.isnan(Z[:, j]), 3.5, Z[:, j]) + 0.25 * np.signbit(Z[:, j])
        out[:, 0] = 1.25 * out[:, 0] + cell * (1 + out[:, 1])
        out[:, 1] = 0.5 * out[:, 1] - cell
    return out


class Recording:
    """A model that remembers the rows that it was asked about."""

    def __init__(self):
        self.rows: list[np.ndarray] = []

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        self.rows.append(Z.copy())
        return asked_about(Z)


OWNERS = {"columns": np.arange(5), "groups": np.array([0, 1, 0, 2, 1]), "one player": np.zeros(5, dtype=int)}


def itinerary(cells: str, owner: np.ndarray, rng: np.random.Generator) -> FixedRowWalks:
    n, q, d = 12, 3, len(owner)
    values = {
        "ties": [0.0, 1.0],
        "missing and signed zeros": [0.0, -0.0, np.nan, 2.0],
        "one value": [1.0],
        "all different": rng.normal(size=4000),
    }[cells]
    x, b = rng.choice(values, size=(n, d)), rng.choice(values, size=(n, q, d))
    b[0] = x[0]  # nothing changes along the whole walk
    b[1] = x[1]
    b[1, :, 2] = x[1, 2] + 1  # one change
    p = int(owner.max()) + 1
    orders = np.array([rng.permutation(p) for _ in range(n)])
    return FixedRowWalks(x, b, Players(tuple(map(str, range(p))), owner).entry_positions(orders), p)


def by_hand(walks: FixedRowWalks) -> np.ndarray:
    """Predictions of every hybrid row, one after the other."""
    n, q, _ = walks.b.shape
    outputs = np.empty((n, q, walks.steps - 1, 2))
    for i, k, step in product(range(n), range(q), range(1, walks.steps)):
        row = np.where(walks.entry_position[i] <= step, walks.x[i], walks.b[i, k])
        outputs[i, k, step - 1] = asked_about(row[None])[0]
    return outputs


@pytest.mark.parametrize("at_once", [5, 10_000])
@pytest.mark.parametrize("players", OWNERS)
@pytest.mark.parametrize("cells", ["ties", "missing and signed zeros", "one value", "all different"])
def test_leaving_out_known_rows_changes_no_bit_and_rows_are_counted(cells, players, at_once, seed):
    walks = itinerary(cells, OWNERS[players], np.random.default_rng(seed))
    n, q, d = walks.b.shape
    alone, full = asked_about(walks.b.reshape(-1, d)).reshape(n, q, -1), asked_about(walks.x)
    truth, costs = by_hand(walks), {}
    for skip in (True, False):
        model = Recording()
        found = evaluate(walks, alone, full, model, at_once, skip=skip, keep=True)
        assert found.outputs.tobytes() == truth.tobytes()
        assert found.rows == sum(map(len, model.rows))
        assert max(map(len, model.rows), default=0) <= at_once
        if found.rows:
            assert found.asked is not None
            assert found.asked[0].tobytes() == np.concatenate(model.rows).tobytes()
            assert found.asked[1].tobytes() == asked_about(found.asked[0]).tobytes()
        costs[skip] = found.rows
        assert evaluate(walks, alone, full, model, at_once, skip=skip).asked is None
    assert costs[False] == n * q * (walks.steps - 1)
    assert costs[True] < costs[False] or walks.steps == 1


def test_a_row_that_repeats_is_asked_once(seed):
    """With cells of 0 and 1 there are at most 2^d rows to ask about."""
    rng = np.random.default_rng(seed)
    n, q, d = 200, 4, 5
    x, b = rng.integers(2, size=(n, d)) * 1.0, rng.integers(2, size=(n, q, d)) * 1.0
    arrivals = np.argsort(rng.random((n, d)), axis=1) + 1
    model = Recording()
    walks = FixedRowWalks(x, b, arrivals, d)
    found = evaluate(walks, asked_about(b.reshape(-1, d)).reshape(n, q, -1), asked_about(x), model, 10_000)
    assert found.rows <= 2**d
    assert found.outputs.tobytes() == by_hand(walks).tobytes()


LINKS = {
    "identity": (1, "identity"),
    "identity of two": (2, "identity"),
    "logistic": (1, "logistic"),
    "softmax": (3, "softmax"),
    "exponential": (1, "exponential"),
}


@pytest.mark.parametrize("players", ["columns", "groups"])
@pytest.mark.parametrize("link", LINKS)
def test_steps_of_a_linear_map_are_its_predictions_of_hybrid_rows(link, players, seed):
    rng, (k, kind) = np.random.default_rng(seed), LINKS[link]
    form = Linear(rng.normal(size=(5, k)), rng.normal(size=k))
    walks = itinerary("all different", OWNERS[players], rng)
    n, q = walks.b.shape[:2]
    rows, picks = walks.b.reshape(n * q, -1), np.arange(n * q).reshape(n, q)
    seen = form.encode(walks.x), form.encode(rows)
    found = apply_link(form.prefix_margins(*seen, picks, walks.entry_position, walks.steps), kind)
    walk, which, step = (axis.ravel() for axis in np.indices((n, q, walks.steps - 1)))
    truth = Structure(form, kind)(walks.rows(walk, which, step + 1)).reshape(found.shape)
    assert found.shape[:3] == (n, q, walks.steps - 1)
    assert np.allclose(found, truth, rtol=1e-9, atol=1e-9)


SKLEARN = {
    "identity": LinearRegression,
    "logistic": LogisticRegression,
    "softmax": LogisticRegression,
    "exponential": PoissonRegressor,
}


@pytest.mark.parametrize("link", SKLEARN)
def test_steps_by_coefficients_equal_those_of_the_same_model_asked_row_by_row(link, seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(40, 4)), rng.normal(size=(9, 4))
    X[:, 3], background[:, 3] = np.round(X[:, 3]), np.round(background[:, 3])  # ties
    y = {"softmax": np.arange(40) % 3, "logistic": np.arange(40) % 2}.get(link, np.exp(X[:, 0]))
    structured = cs.Marginal(background).restrict(SKLEARN[link]().fit(X, y), X)
    assert structured.native is not None
    assert structured.native.structure.link == link
    plain = replace(structured, native=None)
    arrivals = np.argsort(rng.random((40, 4)), axis=1) + 1
    picks = rng.integers(9, size=(40, 3))
    options = {"skip": True, "keep": False}
    found, truth = (f_S.steps(X, f_S.full(X), arrivals, picks, **options).outputs for f_S in (structured, plain))
    assert np.allclose(found, truth, rtol=1e-9, atol=1e-9)
