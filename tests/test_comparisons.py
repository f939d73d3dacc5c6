"""Comparisons of few background rows with all: values from single coalitions, and what is made of them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest

import clarysage as cs
from clarysage.coalitions import (
    codes,
    draw_by_size,
    horvitz_thompson_weights,
    kernel_size_probabilities,
    minimum_variance_probabilities,
    shapley_values,
)
from clarysage.estimators import exact
from clarysage.estimators.paired_walks.bias_correction import BiasCorrection, correction
from clarysage.inference.moments import FULL_COVARIANCE, Moments


def subsets(p: int) -> np.ndarray:
    """Every coalition but the empty and the full, player i being bit i."""
    return np.array(list(product([False, True], repeat=p)))[1:-1, ::-1]


@pytest.mark.parametrize("sizes", [minimum_variance_probabilities, kernel_size_probabilities])
@pytest.mark.parametrize("p", [2, 3, 6])
def test_payoffs_so_weighted_give_shapley_values(p, sizes, seed):
    rng, coalitions, q = np.random.default_rng(seed), subsets(p), sizes(p)
    v = rng.normal(size=2**p)
    v[0] = v[-1] = 0.0
    size = coalitions.sum(axis=1)
    chance = q[size - 1] / np.array([np.sum(size == s) for s in size])
    found = (chance * v[1:-1]) @ horvitz_thompson_weights(coalitions, q)
    assert np.allclose(found, shapley_values(v), rtol=0, atol=1e-12)


@pytest.mark.parametrize("p", [2, 5, 30, 784])
def test_weights_add_up_to_nothing_and_their_squares_to_little(p, seed):
    q = minimum_variance_probabilities(p)
    weights = horvitz_thompson_weights(draw_by_size(200, q, np.random.default_rng(seed)), q)
    assert np.allclose(weights.sum(axis=1), 0, rtol=0, atol=1e-9)
    s = np.arange(1, p)
    variance = (1 / (s * (p - s) * q)).sum()
    assert variance <= np.pi**2
    assert np.allclose((weights**2).mean(axis=1), variance, rtol=1e-9, atol=0)  # the same for every coalition


def game(seed: int, m: int = 40) -> cs.PredictivePower:
    """Probabilities by three of four features, and responses that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(12, 4)), rng.normal(size=(m, 4))

    def f(Z):
        second = 1 / (1 + np.exp(-3 * Z[:, 0] * Z[:, 1] - 4 * Z[:, 2]))
        return np.column_stack([1 - second, second])

    y = (rng.random(12) < 0.5).astype(int)
    weights = rng.uniform(0.2, 2.0, size=12)
    return cs.PredictivePower.of(cs.Marginal(background).restrict(f, X), "cross entropy", X, y, sample_weight=weights)


@dataclass
class Subsampled:
    """A game of which nothing is asked but comparisons."""

    n_players: int
    weights: np.ndarray
    subsampled: SimpleNamespace

    def __conform__(self, kind):
        return self.subsampled


def test_expected_contributions_are_the_values_of_what_few_rows_are_off_by(seed, monkeypatch):
    """Every example and every coalition, each with its chance: nothing is left to chance."""
    rng = np.random.default_rng(seed)
    n, p = 3, 3
    exact_table, few_table = rng.normal(size=(2, n, 2**p))
    few_table[:, [0, -1]] = exact_table[:, [0, -1]]  # ends are known
    weights, chances, sizes = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n)), minimum_variance_probabilities(p)

    def compared(examples, coalitions, active, rng, skip):
        cells = examples, codes(coalitions)
        return SimpleNamespace(exact=exact_table[cells][:, None], subsampled=few_table[cells][:, None], rows=0)

    game = Subsampled(p, weights, SimpleNamespace(compare=compared))
    comparisons = BiasCorrection(chances, np.ones(p, dtype=bool), skip=True)
    expected = np.zeros(p)
    for example, coalition in product(range(n), subsets(p)):
        drawn = SimpleNamespace(choice=lambda count, size, p, example=example: np.array([example]))
        monkeypatch.setattr(
            "clarysage.estimators.paired_walks.bias_correction.draw_by_size",
            lambda count, sizes, rng, kept=coalition: kept[None],
        )
        chance = chances[example] * sizes[coalition.sum() - 1] / comb(p, coalition.sum())
        expected += chance * comparisons.draw(game, 1, drawn)[0][0, 0]
    assert np.allclose(expected, shapley_values(weights @ (exact_table - few_table)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("are_even", [True, False])
def test_contributions_are_on_average_what_few_rows_are_off_by_whatever_the_chances(are_even, seed):
    v, rng = game(seed), np.random.default_rng([seed, 1])
    active = np.array([True, True, True, False])
    chances = v.weights if are_even else rng.dirichlet(np.full(12, 2.0)) / 2 + 1 / 24
    found, _ = BiasCorrection(chances, active, skip=True).draw(v, 4000, rng)
    truth = exact_values(v)
    walks = few_values(v, active, rng)
    error = np.sqrt(found[:, 0].var(axis=0) / len(found) + walks.var(axis=0) / len(walks))
    assert np.all(np.abs(walks.mean(axis=0) + found[:, 0].mean(axis=0) - truth) <= 6 * error + 1e-9)
    assert error.max() < np.abs(truth).max() / 10  # or nothing would be seen


def exact_values(v: cs.PredictivePower) -> np.ndarray:
    return np.asarray(cs.estimators.estimate(v, exact.Exact()).values[0])


def few_values(v: cs.PredictivePower, active: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Values (n, p) by few rows, each a mean over all examples along random orders."""
    rounds, n = 400, len(v.weights)
    drawn = rng.permuted(np.tile(np.arange(4), (rounds * n, 1)), axis=1)
    walks = v.subsampled.walk(np.tile(np.arange(n), rounds), drawn, active, rng, skip=True)
    gains = np.diff(walks.payoffs[..., 0], axis=1)
    found = np.empty_like(gains)
    np.put_along_axis(found, drawn, gains, axis=1)
    return np.einsum("rnp,n->rp", found.reshape(rounds, n, 4), v.weights)


@pytest.mark.parametrize("p", [5, FULL_COVARIANCE + 1])
def test_a_player_that_never_moved_is_not_corrected_and_corrections_add_up_to_nothing(p, seed):
    draws = np.random.default_rng(seed).normal(size=(50, 2, p))
    draws -= draws.mean(axis=2, keepdims=True)
    moves = np.arange(p) % 3 > 0
    found = correction(Moments.of(draws), moves)
    assert np.all(found.values[:, ~moves] == 0)
    assert np.all(found.variance[:, ~moves] == 0)
    assert np.allclose(found.values.sum(axis=1), 0, rtol=0, atol=1e-9)
    if p <= FULL_COVARIANCE:
        shared = draws[:, :, moves] - draws[:, :, moves].mean(axis=2, keepdims=True)
        assert np.allclose(found.variance[:, moves], shared.var(axis=0, ddof=1) / 50, rtol=1e-9, atol=0)


def test_all_players_that_moved_are_corrected_by_what_was_found(seed):
    draws = np.random.default_rng(seed).normal(size=(50, 1, 4))
    draws -= draws.mean(axis=2, keepdims=True)
    found = correction(Moments.of(draws), np.ones(4, dtype=bool))
    assert np.allclose(found.values, draws.mean(axis=0), rtol=0, atol=1e-12)
    assert np.allclose(found.variance, draws.var(axis=0, ddof=1) / 50, rtol=1e-9, atol=0)
