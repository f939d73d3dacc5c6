"""Neighbours: withheld features from the rows nearest in what is kept, against conditional expectations."""

from __future__ import annotations

import numpy as np
import pytest

import clarysage as cs
from clarysage.removal.restricted.weighted import weighted_mean
from conditional_laws import Discrete, Gaussian, coalitions, mean_error


def one(x, kept):
    return np.atleast_2d(np.asarray(x, dtype=float)), np.atleast_2d(np.asarray(kept))


def test_error_against_the_conditional_expectation_falls_with_the_background(seed):
    law, rng = Gaussian(), np.random.default_rng(seed)
    X = law.draw(100, rng)
    errors = [mean_error(cs.Neighbours(law.draw(m, rng)), law, X) / law.variance for m in (64, 512, 4096)]
    assert errors[2] < errors[1] / 1.5 < errors[0] / 1.5**2  # measured: 2 to 3, 0.8 and 0.2 %
    assert errors[2] < 0.005
    assert mean_error(cs.Marginal(law.draw(512, rng)), law, X) / law.variance > 10 * errors[1]


def test_exact_matches_of_a_discrete_law_give_its_conditional_means(seed):
    law, rng = Discrete(seed), np.random.default_rng(seed)
    rows = law.draw(4000, rng)
    f_S = cs.Neighbours(rows).restrict(law.f, law.cells)
    for kept in coalitions(3):
        found = f_S.predict(law.cells, np.tile(kept, (12, 1)), None)[:, 0]
        alike = (rows[None, :, kept] == law.cells[:, None, kept]).all(axis=2)
        for cell, said, its in zip(law.cells, found, alike, strict=True):
            count = min(f_S.rows_per_prediction, int(its.sum()))
            if count < 20:
                continue
            hybrid = np.where(kept, cell, rows[its])
            error = law.f(hybrid).std() / np.sqrt(count)  # of a mean over so many rows that match
            assert abs(said - law.f(hybrid).mean()) <= 5 * error + 1e-9


def test_an_example_is_no_neighbour_of_itself(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    own = cs.Neighbours(X, neighbours=1).restrict(lambda Z: Z[:, 1], X)
    kept = np.tile([True, False], (40, 1))
    found = own.predict(X, kept, None)[:, 0]
    assert not (found == X[:, 1]).any()
    order = np.argsort(X[:, 0])
    place = {row: p for p, row in enumerate(order)}
    for i, said in enumerate(found):  # the next row on either side
        sides = [order[p] for p in (place[i] - 1, place[i] + 1) if 0 <= p < 40]
        assert said in X[sides, 1]
    others = cs.Neighbours(X, neighbours=1, examples=np.full(40, -1)).restrict(lambda Z: Z[:, 1], X)
    np.testing.assert_array_equal(others.predict(X, kept, None)[:, 0], X[:, 1])


def test_own_rows_are_known_by_the_numbers_that_are_given():
    X = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 2.0], [0.0, 2.0]])
    f_S = cs.Neighbours(X[[2, 0]], neighbours=1, examples=[2, 0]).restrict(lambda Z: Z[:, 1], X)
    found = f_S.predict(X, np.tile([True, False], (4, 1)), None)[:, 0]
    np.testing.assert_array_equal(found, [2.0, 2.0, 1.0, 1.0])  # equal examples are treated alike


def test_in_sample_errors_are_no_better_than_those_of_fresh_rows(seed):
    rng = np.random.default_rng(seed)
    X, fresh = rng.normal(size=(2, 300, 3))
    f_S = cs.Neighbours(X).restrict(lambda Z: Z[:, 2], X)
    kept = np.tile([True, True, False], (300, 1))
    squares = [(f_S.predict(rows, kept, None)[:, 0] - rows[:, 2]) ** 2 for rows in (X, fresh)]
    error = np.hypot(*(part.std() / np.sqrt(300) for part in squares))
    assert abs(squares[0].mean() - squares[1].mean()) < 5 * error
    assert squares[0].mean() > 0.7  # of a variance of one, since nothing tells of it


def test_two_columns_that_are_the_same_get_nearly_the_same_value(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    X[:, 1] = X[:, 0] ** 3  # a map of the first
    y = X[:, 0] + X[:, 2]
    values = cs.sage(lambda Z: Z[:, 0] + Z[:, 2], X, y, removal="neighbours", method="exact").values
    assert abs(values[0] - values[1]) < 0.05 * values[:2].sum()  # measured: 0.01 to 0.025 of it
    assert values[1] > 0.25  # the model does not look at it
    marginal = cs.sage(lambda Z: Z[:, 0] + Z[:, 2], X, y, method="exact").values
    assert abs(marginal[1]) < 1e-12


def test_increasing_maps_of_columns_change_nothing(seed):
    rng = np.random.default_rng(seed)
    law = Gaussian(4)
    X, rows = law.draw(30, rng), law.draw(200, rng)
    f_S = cs.Neighbours(rows).restrict(law.f, X)
    mapped = cs.Neighbours(np.exp(rows)).restrict(lambda Z: law.f(np.log(Z)), np.exp(X))
    kept = rng.random(X.shape) < 0.5
    np.testing.assert_allclose(mapped.predict(np.exp(X), kept, None), f_S.predict(X, kept, None), atol=1e-9)


def test_a_missing_cell_is_a_value_of_its_own():
    rows = np.array([[np.nan, 5.0]] * 20 + [[0.0, 1.0]] * 20)
    f_S = cs.Neighbours(rows, neighbours=10).restrict(lambda Z: Z[:, 1], rows[:1])
    kept = [True, False]
    assert f_S.predict(*one([np.nan, 0.0], kept), None) == 5.0
    assert f_S.predict(*one([0.0, 0.0], kept), None) == 1.0


@pytest.mark.parametrize("neighbours", [0, -1, 2.5, True, "ten"])
def test_a_number_of_neighbours_that_is_none_is_an_input_error(neighbours):
    with pytest.raises(cs.InputError, match="neighbours"):
        cs.Neighbours(np.eye(3), neighbours=neighbours).restrict(lambda Z: Z[:, 0], np.eye(3))


@pytest.mark.parametrize("options", [{"weights": [1, 2]}, {"memory_limit": 0}, {"examples": [0, 0, 1]}])
def test_options_that_make_no_sense_are_input_errors(options):
    with pytest.raises(cs.InputError):
        cs.Neighbours(np.eye(3), **options).restrict(lambda Z: Z[:, 0], np.eye(3))


def test_a_mean_of_equal_predictions_is_that_prediction():
    weights = np.full((1, 3), 1 / 3)
    assert weighted_mean(np.full((1, 3, 1), 0.1), weights)[0, 0] == 0.1
