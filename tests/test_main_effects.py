"""Main effects: fitted to what is known anyway, of mean zero, so that they change no expectation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import clarysage as cs
from clarysage.coalitions import permutations
from clarysage.estimators import Exact, PairedWalks, estimate
from clarysage.games.control_variates import FEWEST_ROWS, MainEffectsControl, main_effects
from clarysage.players import Players


def additive(X: np.ndarray) -> np.ndarray:
    return 3 * X[:, 0] + np.sign(X[:, 1]) + X[:, 2] ** 2


def background(seed: int, rows: int = 300) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(rows, 5))
    X[:, 3] = np.round(X[:, 3])
    X[::7, 4] = np.nan
    return X


@pytest.mark.parametrize("weighted", [False, True])
def test_effects_have_mean_zero_and_make_up_an_additive_function(weighted, seed):
    B = background(seed)
    mass = np.random.default_rng(seed).gamma(2.0, size=len(B)) if weighted else np.ones(len(B))
    mass /= mass.sum()
    y = np.column_stack([additive(B), -2 * additive(B)])
    effects = main_effects(B, y, mass, np.arange(5), 5)
    assert effects.shape == (300, 5, 2)
    np.testing.assert_allclose(np.einsum("m,mpk->pk", mass, effects), 0, atol=1e-12)
    off = y - mass @ y - effects.sum(axis=1)
    assert (mass @ off**2 < 0.1 * (mass @ (y - mass @ y) ** 2)).all()
    assert np.abs(effects[:, 3:]).max() < 0.2 * np.abs(effects[:, 0]).max()  # of columns that have none


def test_effects_of_a_group_are_those_of_its_columns(seed):
    B = background(seed)
    mass, y = np.full(len(B), 1 / len(B)), additive(B)[:, None]
    alone, grouped = (
        main_effects(B, y, mass, owner, owner.max() + 1) for owner in (np.arange(5), np.array([0, 0, 1, 2, 3]))
    )
    np.testing.assert_allclose(grouped[:, 0], alone[:, :2].sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(grouped[:, 1:], alone[:, 2:], atol=1e-12)


def test_there_are_none_where_rows_are_few_or_nothing_is_explained(seed):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(FEWEST_ROWS - 1, 3))
    assert main_effects(B, B[:, :1], np.full(len(B), 1 / len(B)), np.arange(3), 3) is None
    B = rng.normal(size=(400, 3))
    constant = np.ones((400, 1))
    assert main_effects(B, constant, np.full(400, 1 / 400), np.arange(3), 3) is None


@pytest.mark.parametrize("shared", [0, 20])
@pytest.mark.parametrize("groups", [None, {"two": [0, 1]}])
def test_what_is_taken_off_predictions_has_mean_zero_over_the_rows_that_may_be_drawn(shared, groups, seed):
    """``shared`` examples are background rows themselves, which are not drawn for them."""
    rng = np.random.default_rng(seed)
    X, B = rng.normal(size=(30, 5)), rng.normal(size=(80, 5))
    B[:shared] = X[:shared]
    v = cs.PredictivePower.of(
        cs.Marginal(B).restrict(lambda Z: additive(Z) * (1 + Z[:, 3]), X),
        "squared error",
        X,
        additive(X),
        players=Players.of([f"x{i}" for i in range(5)], groups),
    )
    control_variate, matches = v.subsampled._control, v.subsampled.matches.of(np.arange(30))
    p = v.n_players
    assert isinstance(control_variate, MainEffectsControl)
    everyone, active = np.broadcast_to(np.arange(80), (30, 80)), np.arange(p) != p - 1
    weight = np.ones((30, 80))
    if shared:
        weight[np.arange(shared), np.arange(shared)] = 0.0
    weight /= weight.sum(axis=1, keepdims=True)
    along = control_variate.at_prefixes(matches, permutations(30, p, rng), everyone, active)
    at = control_variate.at(matches, rng.random((30, p)) < 0.5, everyone, active)
    for control in (along, at):
        scale = np.abs(control).max()
        np.testing.assert_allclose(np.einsum("nq,nqsk->nsk", weight, control), 0, atol=1e-12 * scale)


def test_walks_with_main_effects_scatter_less_and_agree_with_exact_values(seed):
    rng = np.random.default_rng(seed)
    X, B = rng.normal(size=(60, 5)), rng.normal(size=(100, 5))
    y = additive(X) + X[:, 3] * X[:, 4]
    v = cs.PredictivePower.of(
        cs.Marginal(B).restrict(lambda Z: additive(Z) + Z[:, 3] * Z[:, 4], X), "squared error", X, y
    )
    plain = replace(v)
    plain.subsampled.__dict__["_control"] = v.subsampled._control.start
    exact = estimate(v, Exact()).values[0]
    rules = [cs.Budget(200_000)]
    found, without = (estimate(one, PairedWalks(), stop=rules, seed=seed) for one in (v, plain))
    assert (np.abs(found.values[0] - exact) < 6 * found.std_error[0]).all()
    assert (found.std_error**2).sum() < 0.7 * (without.std_error**2).sum()
