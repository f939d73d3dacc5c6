"""Exact values of deep trees under squared error, by orthogonal terms, against enumeration and the axioms."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

import clarysage as cs
import oracle
from clarysage.coalitions import shapley_values
from clarysage.estimators import ClosedFormValues, Exact, estimate
from clarysage.games import PredictivePower, closed_form
from clarysage.games.closed_form import SquaredSums
from clarysage.models import as_predictor
from clarysage.players import Players
from clarysage.structure import moebius
from clarysage.structure.moebius import MOST_SETS, PlayerSets

DOUBLE, SINGLE = 1e-11, 2e-6  # of the largest value; XGBoost adds leaves in single precision


def table(seed: int, columns: int, rows: int = 400, missing: float = 0.08) -> tuple[np.ndarray, np.ndarray]:
    """Numbers with missing cells, and a response with interactions of several columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    y = 2 * X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) * X[:, 3] + np.abs(X[:, 4]) + X.sum(axis=1) / 4
    y += rng.normal(size=rows) / 4
    return np.where(rng.random(X.shape) < missing, np.nan, X), y


def lightgbm(**options: Any) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(**{"n_estimators": 25, "verbose": -1, "n_jobs": 1, "min_child_samples": 5, **options})


def xgboost(**options: Any) -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(**{"n_estimators": 15, "max_depth": 7, "n_jobs": 1, **options})


def catboost(**options: Any) -> Any:
    from catboost import CatBoostRegressor

    return CatBoostRegressor(
        **{"iterations": 15, "depth": 6, "verbose": 0, "allow_writing_files": False, "thread_count": 1, **options}
    )


def forest(**options: Any) -> Any:
    return RandomForestRegressor(**{"n_estimators": 4, "random_state": 0, **options})


MAKERS = {"lightgbm": lightgbm, "xgboost": xgboost, "catboost": catboost, "sklearn": forest}
LIBRARIES = [pytest.param(name, marks=() if name == "sklearn" else pytest.mark.needs(name), id=name) for name in MAKERS]


def games(
    model: Any,
    X: np.ndarray,
    y: np.ndarray,
    background: Any,
    *,
    groups: Any = None,
    loss: Any = "squared error",
    weights: Any = None,
) -> tuple[PredictivePower, PredictivePower]:
    """One game twice: with the structure of the model, and with the model as a black box."""
    f_S = cs.Marginal(background).restrict(as_predictor(model), X)
    assert f_S.native is not None, f_S.remarks
    players = Players.of(f_S.schema.names, groups)
    known, box = (
        PredictivePower.of(f, loss, X, y, players=players, sample_weight=weights)
        for f in (f_S, replace(f_S, native=None))
    )
    assert isinstance(known.closed_form.solve, SquaredSums)
    return known, box


def assert_equal(known: PredictivePower, box: PredictivePower, tolerance: float) -> None:
    values, enumerated = estimate(known, ClosedFormValues()).values, estimate(box, Exact()).values
    assert np.abs(values - enumerated).max() <= tolerance * np.abs(enumerated).max()


@pytest.mark.parametrize("library", LIBRARIES)
def test_values_of_deep_trees_are_those_of_enumeration(library, seed):
    """All 512 coalitions of nine columns with missing cells, by predictions of the model."""
    X, y = table(seed, 9)
    model = MAKERS[library]().fit(X[:300], y[:300])
    known, box = games(model, X[300:305], y[300:305], X[320:335])
    assert known.closed_form.solve.terms.sets.sizes.max() > 4  # deeper than four levels
    assert_equal(known, box, SINGLE if library == "xgboost" else DOUBLE)


@pytest.mark.parametrize("library", LIBRARIES)
def test_so_are_those_of_groups_weighted_rows_and_a_weighted_background(library, seed):
    rng, (X, y) = np.random.default_rng(seed), table(seed, 9)
    model = MAKERS[library]().fit(X[:300], y[:300])
    background = cs.Marginal(X[320:335], weights=rng.dirichlet(np.ones(15)))
    f_S = background.restrict(as_predictor(model), X[300:306])
    players = Players.of(f_S.schema.names, {"pair": [f_S.schema.names[0], f_S.schema.names[3]]})
    known, box = (
        PredictivePower.of(
            f, "squared error", X[300:306], y[300:306], players=players, sample_weight=[0, 1, 2, 1, 0, 3]
        )
        for f in (f_S, replace(f_S, native=None))
    )
    assert isinstance(known.closed_form.solve, SquaredSums)
    assert_equal(known, box, SINGLE if library == "xgboost" else DOUBLE)


def test_sixteen_columns_are_more_than_tables_of_all_coalitions_allow(seed):
    """The model predicts the hybrid rows of all 65,536 coalitions of one example with four background rows."""
    X, y = table(seed, 16, missing=0)
    model = forest(n_estimators=3, max_features=0.4).fit(X[:300], y[:300])
    known, _ = games(model, X[300:301], y[300:301], X[320:324])
    assert known.n_players > closed_form.MOST_PLAYERS
    is_kept = (np.arange(2**16)[:, None] >> np.arange(16)) & 1 > 0
    means = np.mean([model.predict(np.where(is_kept, X[300], row)) for row in X[320:324]], axis=0)
    enumerated = shapley_values(-((means - y[300]) ** 2))
    values = estimate(known, ClosedFormValues()).values[0]
    assert np.abs(values - enumerated).max() <= DOUBLE * np.abs(enumerated).max()


def test_several_responses_in_units_of_their_own_and_one_each(seed):
    X, y = table(seed, 7, missing=0)
    Y = np.c_[y, 100 * y**2]
    model = DecisionTreeRegressor(max_depth=7, random_state=0).fit(X[:300], Y[:300])
    for loss in ("squared error", cs.PerTarget()):
        known, box = games(model, X[300:306], Y[300:306], X[320:330], loss=loss)
        assert_equal(known, box, DOUBLE)


def test_shapley_effects_of_deep_trees_are_those_of_enumeration(seed):
    X, y = table(seed, 8, missing=0)
    model = forest().fit(X[:300], y[:300])
    effects = [
        cs.sage(f, X[300:310], background=X[320:335], method="exact", rng=0)
        for f in (model, lambda X: model.predict(X))
    ]
    assert effects[0].method == effects[1].method == "exact"
    assert np.abs(effects[0].values - effects[1].values).max() <= DOUBLE * np.abs(effects[1].values).max()


@pytest.mark.needs("lightgbm")
def test_values_of_each_example_add_up_at_two_hundred_columns(seed):
    X, y = table(seed, 200, rows=900)
    model = lightgbm(n_estimators=40, num_leaves=31).fit(X[:600], y[:600])
    known, _ = games(model, X[600:650], y[600:650], X[700:800])
    parts = known.closed_form.solve(np.arange(50)).parts[:, 0]
    gained = known.weights[:50, None] * (known.ends[1] - known.ends[0])[:50]
    assert np.abs(parts.sum(axis=1) - gained[:, 0]).max() <= 1e-10 * np.abs(parts).max()


def test_one_point_of_quadrature_less_than_it_takes_is_not_exact_and_more_change_nothing(seed, monkeypatch):
    X, y = table(seed, 9, missing=0)
    model = forest().fit(X[:300], y[:300])
    known, _ = games(model, X[300:310], y[300:310], X[320:335])
    solve = known.closed_form.solve
    points = closed_form.quadrature_points(solve.terms)
    assert points > 1

    def values(count: int) -> np.ndarray:
        monkeypatch.setattr(closed_form, "quadrature_points", lambda terms: count)
        return np.asarray(replace(solve)(np.arange(10)).values)

    exact = values(points)
    largest = np.abs(exact).max()
    assert np.abs(values(points + 3) - exact).max() <= 1e-12 * largest
    assert np.abs(values(points - 1) - exact).max() > 1e-8 * largest


def test_values_do_not_depend_on_which_examples_are_solved_together(seed):
    X, y = table(seed, 9)
    model = DecisionTreeRegressor(max_depth=8, random_state=0).fit(X[:300], y[:300])
    known, _ = games(model, X[300:319], y[300:319], X[320:335])
    solve, examples = known.closed_form.solve, np.random.default_rng(seed).permutation(19)
    together = solve(examples).parts
    assert all((solve(examples[i : i + 1]).parts[0] == together[i]).all() for i in range(19))


def test_sets_are_numbered_once_each_with_all_their_edges(seed):
    X, y = table(seed, 12, missing=0)
    trees = as_predictor(forest().fit(X, y)).structure().representation.with_owner(np.arange(12))
    sets = PlayerSets.of(trees, 12, by_number=False)
    leaf_start, path_players, _ = trees.paths
    paths = {frozenset(path_players[a:b].tolist()) for a, b in pairwise(leaf_start)}
    wanted = {frozenset(part) for path in paths for size in range(len(path) + 1) for part in combinations(path, size)}
    members = [frozenset(np.flatnonzero(row).tolist()) for row in oracle.members(sets, 12)]
    assert members[0] == frozenset()
    assert len(members) == len(set(members)) == sets.count
    assert set(members) == wanted
    of_set, without, player = sets.edges
    assert all(members[w] == members[s] - {i} for s, w, i in zip(of_set, without, player, strict=True))
    assert (np.bincount(of_set, minlength=sets.count) == [len(part) for part in members]).all()
    for leaf, first in enumerate(sets.id_start):
        path = path_players[leaf_start[leaf] : leaf_start[leaf + 1]].tolist()
        for number in range(2 ** len(path)):
            part = frozenset(player for k, player in enumerate(path) if number >> k & 1)
            assert members[sets.ids[first + number]] == part


def test_trees_with_too_many_sets_have_no_such_form(seed):
    X, y = table(seed, 12, missing=0)
    trees = as_predictor(forest().fit(X, y)).structure().representation.with_owner(np.arange(12))
    count = PlayerSets.of(trees, 12, by_number=False).count
    assert PlayerSets.of(trees, 12, by_number=False, most_sets=count) is not None
    assert PlayerSets.of(trees, 12, by_number=False, most_sets=count - 1) is None
    assert count < MOST_SETS


def test_a_background_of_one_row_and_trees_without_a_split(seed):
    X, y = table(seed, 6, missing=0)
    model = forest().fit(X[:300], y[:300])
    assert_equal(*games(model, X[300:304], y[300:304], X[320:321]), DOUBLE)
    constant = DecisionTreeRegressor(max_depth=1).fit(X[:300], np.ones(300))
    known, _ = games(constant, X[300:304], y[300:304], X[320:325])
    assert (estimate(known, ClosedFormValues()).values == 0).all()


def test_trees_of_many_levels_are_exact_where_a_few_points_of_quadrature_are_not(seed):
    """Two leaves of 14 rules each, all of which one row meets and no background row: products of 14 factors."""
    rng = np.random.default_rng(seed)
    first = (rng.random((600, 28)) < 0.9).astype(float)
    y = first[:, :14].prod(axis=1) + first[:, 14:].prod(axis=1)
    model = GradientBoostingRegressor(n_estimators=2, max_depth=None, max_leaf_nodes=15, learning_rate=1.0).fit(
        first, y
    )
    X, background = np.ones((1, 28)), np.zeros((1, 28))
    f_S = cs.Marginal(background).restrict(as_predictor(model), X)
    known = PredictivePower.of(f_S, "squared error", X, np.array([2.0]))
    assert closed_form.quadrature_points(known.closed_form.solve.terms) > 7
    values = estimate(known, ClosedFormValues()).values[0]
    total = float(known.weights @ (known.ends[1] - known.ends[0])[:, 0])
    assert abs(values.sum() - total) <= 1e-12 * abs(total)


def test_forests_whose_terms_take_long_to_find_have_no_such_form(seed, monkeypatch):
    X, y = table(seed, 9, missing=0)
    model = forest().fit(X[:300], y[:300])
    known, _ = games(model, X[300:305], y[300:305], X[320:335])
    leaves = len(known.closed_form.solve.terms.trees.values)
    shares = np.minimum(2.0 ** np.diff(known.closed_form.solve.terms.trees.paths[0]), 15).sum()
    for limit, number in (("MOST_VISITS", 15 * leaves), ("MOST_SHARES", shares)):
        for change in (0, -1):
            with monkeypatch.context() as patch:
                patch.setattr(moebius, limit, number + change)
                assert (replace(known).closed_form is None) == (change < 0)


def test_the_terms_of_a_game_are_not_sent_to_workers(seed):
    X, y = table(seed, 9, missing=0)
    model = forest(n_estimators=20).fit(X[:300], y[:300])
    f_S = cs.Marginal(X[320:335]).restrict(as_predictor(model), X[300:305])
    v = PredictivePower.of(f_S, "squared error", X[300:305], y[300:305])
    before = len(pickle.dumps(v))
    values = v.closed_form.solve(np.arange(5)).values
    assert len(pickle.dumps(v)) <= 1.1 * before
    assert (pickle.loads(pickle.dumps(v)).closed_form.solve(np.arange(5)).values == values).all()


def test_paired_walks_and_short_deadlines_do_not_look_for_the_terms(seed, monkeypatch):
    X, y = table(seed, 9, missing=0)
    model = forest().fit(X[:300], y[:300])

    def refuse(*arguments: Any, **options: Any) -> None:
        raise AssertionError("terms of trees were computed")

    monkeypatch.setattr(moebius.Expansion, "leaf_terms", refuse)
    for options in ({"method": "paired walks"}, {"deadline": 5.0}):
        told = cs.sage(model, X[300:330], y[300:330], background=X[320:335], rng=0, **options)
        assert told.method == "paired walks"
