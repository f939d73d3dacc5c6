"""TreeConditional: withheld features from leaves of forests, against conditional expectations."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import clarysage as cs
from conditional_laws import Discrete, Gaussian, coalitions, mean_error


def test_error_against_the_conditional_expectation_falls_with_the_background(seed):
    law, rng = Gaussian(4), np.random.default_rng(seed)
    X = law.draw(100, rng)
    errors = [mean_error(cs.TreeConditional(law.draw(m, rng)), law, X) / law.variance for m in (64, 2048)]
    assert errors[1] < errors[0] / 2
    assert errors[1] < 0.015  # measured: 3 to 6, and 0.7 %
    assert mean_error(cs.Marginal(law.draw(512, rng)), law, X) / law.variance > 5 * errors[1]


def test_leaves_of_a_discrete_law_give_nearly_its_conditional_means(seed):
    law, rng = Discrete(seed), np.random.default_rng(seed)
    rows = law.draw(4000, rng)
    f_S = cs.TreeConditional(rows).restrict(law.f, law.cells)
    errors, spreads = [], []
    for kept in coalitions(3):
        found = f_S.predict(law.cells, np.tile(kept, (12, 1)), None)[:, 0]
        errors.append(law.law @ (found - law.expected(law.cells, kept)) ** 2)
        spreads.append(law.law @ (law.f(law.cells) - law.expected(law.cells, kept)) ** 2)
    # a mean over 128 rows errs by its variance over 128, that of 4,000 / 12 rows a cell by a three hundredth more
    assert np.mean(errors) < 1.5 * np.mean(spreads) * (1 / 128 + 12 / 4000)


def test_dependence_that_is_not_monotone_is_found(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(1000, 3))
    rows[:, 1] = rows[:, 0] ** 2
    X = rows[:100] + 0.0
    f_S = cs.TreeConditional(rows[100:]).restrict(lambda Z: Z[:, 1], X)
    found = f_S.predict(X, np.tile([True, False, True], (100, 1)), None)[:, 0]
    inner = np.abs(X[:, 0]) < 1.5
    # measured: 0.04 to 0.11 of the variance over 16 seeds; all of it where the dependence is not seen, as by a line
    assert np.mean((found - X[:, 1])[inner] ** 2) < 0.25 * X[inner, 1].var()


def test_an_example_is_not_drawn_for_itself(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    f_S = cs.TreeConditional(X, min_leaf=2).restrict(lambda Z: Z[:, 0], X)
    own = f_S.self_matches.look_up(X)
    np.testing.assert_array_equal(f_S.background[own], X)
    for kept in coalitions(3):
        picks, _ = f_S.choice(X, np.tile(kept, (60, 1)), own)
        assert not (picks == own[:, None]).any()
        others, _ = f_S.choice(X, np.tile(kept, (60, 1)), np.full(60, -1))
        assert (others == own[:, None]).any(axis=1).all()  # where rows are not known they are drawn


def test_in_sample_errors_are_no_better_than_those_of_fresh_rows(seed):
    rng = np.random.default_rng(seed)
    X, fresh = rng.normal(size=(2, 400, 3))
    f_S = cs.TreeConditional(X, min_leaf=2).restrict(lambda Z: Z[:, 2], X)
    kept = np.tile([True, True, False], (400, 1))
    squares = [(f_S.predict(rows, kept, None)[:, 0] - rows[:, 2]) ** 2 for rows in (X, fresh)]
    error = np.hypot(*(part.std() / np.sqrt(400) for part in squares))
    assert abs(squares[0].mean() - squares[1].mean()) < 5 * error  # trees that had seen them would do better


def test_two_columns_that_are_the_same_get_nearly_the_same_value(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    X[:, 1] = X[:, 0] ** 3
    y = X[:, 0] + X[:, 2]
    values = cs.sage(lambda Z: Z[:, 0] + Z[:, 2], X, y, removal="trees", method="exact", rng=seed).values
    assert abs(values[0] - values[1]) < 0.12 * values[:2].sum()  # measured: 0.04 to 0.08 of it
    assert values[1] > 0.25  # the model does not look at it


def test_fits_are_kept_within_their_limit_and_change_no_bit(seed):
    rng = np.random.default_rng(seed)
    law = Gaussian(5)
    X, rows = law.draw(20, rng), law.draw(300, rng)
    kept = rng.random((20, 5)) < 0.5
    roomy = cs.TreeConditional(rows, rng=seed).restrict(law.f, X)
    tight = cs.TreeConditional(rows, rng=seed, memory_limit=2e6).restrict(law.f, X)
    first = roomy.predict(X, kept, None)
    distinct = len(np.unique(kept[(kept.sum(axis=1) > 0) & ~kept.all(axis=1)], axis=0))
    for _ in range(2):
        np.testing.assert_array_equal(tight.predict(X, kept, None), first)
        assert 0 < tight.choice.cache.size <= 5e5
    np.testing.assert_array_equal(roomy.predict(X, kept, None), first)
    assert roomy.choice.cache.computed == distinct < tight.choice.cache.computed
    shipped = pickle.loads(pickle.dumps(roomy.choice))
    assert shipped.cache.computed == shipped.cache.size == 0
    assert len(pickle.dumps(roomy.choice)) < 300 * 5 * 8 * 6
    forest = roomy.choice.forest(kept[0])
    assert forest.nbytes == pytest.approx(len(pickle.dumps(forest)), rel=0.35)  # what it says it weighs, it does
    other = cs.TreeConditional(rows, rng=seed + 1).restrict(law.f, X).predict(X, kept, None)
    assert not np.array_equal(other, first)


def test_threads_may_share_what_is_fitted(seed):
    rng = np.random.default_rng(seed)
    law = Gaussian(4)
    X = law.draw(20, rng)
    f_S = cs.TreeConditional(law.draw(100, rng), memory_limit=1e6).restrict(law.f, X)
    masks = [rng.random((20, 4)) < 0.5 for _ in range(6)]
    alone = [f_S.predict(X, kept, None) for kept in masks]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda kept: f_S.predict(X, kept, None), masks))
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize(
    "options", [{"trees": 3}, {"trees": 0}, {"trees": 2.0}, {"min_leaf": 1}, {"min_leaf": True}, {"rng": -1}]
)
def test_options_that_make_no_sense_are_input_errors(options):
    with pytest.raises(cs.InputError, match=next(iter(options))):
        cs.TreeConditional(np.eye(3), **options).restrict(lambda Z: Z[:, 0], np.eye(3))
