"""Neighbours: withheld features from the rows nearest in what is kept, against conditional expectations."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
from clarysage.removal.weighted import weighted_mean
from conditional_laws import Discrete, Gaussian, coalitions, mean_error


def one(x, kept):
    return np.atleast_2d(np.asarray(x, dtype=float)), np.atleast_2d(np.asarray(kept))


def test_error_against_the_conditional_expectation_falls_with_the_background(seed):
    law, rng = Gaussian(), np.random.default_rng(seed)
    X = law.draw(100, rng)
    errors = [mean_error(cs.Neighbours(law.draw(m, rng)), law, X) / law.variance for m in (64, 512, 4096)]
    assert errors[2] < errors[1] / 1.5 < errors[0] / 1.5**2  # measured: about 5, 1.8 and 0.7 %
    assert errors[2] < 0.015
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
    assert abs(values[0] - values[1]) < 0.1 * values[:2].sum()
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


def mixed_rows(n, rng):
    colour = rng.choice(["red", "green", "blue"], size=n)
    size = np.where(colour == "red", 3.0, 0.0) + rng.normal(size=n)
    size[rng.random(n) < 0.2] = np.nan
    return pd.DataFrame({"colour": colour, "size": size, "count": rng.integers(0, 5, size=n)})


def mixed_model(frame):
    frame = pd.DataFrame({name: np.asarray(frame[name]) for name in ("colour", "size", "count")})
    return (frame["colour"] == "red") * 2.0 + np.nan_to_num(frame["size"].astype(float)) + frame["count"]


@pytest.mark.parametrize("removal", ["neighbours", "trees", "surrogate"])
@pytest.mark.parametrize("library", ["pandas", pytest.param("polars", marks=pytest.mark.needs("polars"))])
def test_categories_strings_and_missing_cells_are_taken(seed, removal, library):
    rng = np.random.default_rng(seed)
    X, rows = mixed_rows(30, rng), mixed_rows(300, rng)
    X.loc[0, "colour"] = "violet"  # which the background has never seen
    y = mixed_model(X)
    if library == "polars":
        import polars as pl

        X, rows = pl.from_pandas(X, nan_to_null=True), pl.from_pandas(rows, nan_to_null=True)
    options = {"background": rows, "removal": removal, "method": "exact", "rng": seed, "loss": "squared error"}
    found = cs.sage(mixed_model, X, np.asarray(y), **options)
    assert np.isfinite(found.values).all()
    assert found.values.sum() == pytest.approx(found.total)
    assert dict(found.targets).keys() == {"rows"}
    assert any("with the removal as it was fitted" in note for note in found.notes)


def test_a_missing_cell_is_a_value_of_its_own():
    rows = np.array([[np.nan, 5.0]] * 20 + [[0.0, 1.0]] * 20)
    f_S = cs.Neighbours(rows, neighbours=10).restrict(lambda Z: Z[:, 1], rows[:1])
    kept = [True, False]
    assert f_S.predict(*one([np.nan, 0.0], kept), None) == 5.0
    assert f_S.predict(*one([0.0, 0.0], kept), None) == 1.0


@pytest.mark.parametrize("removal", [cs.Neighbours, cs.TreeConditional, cs.Surrogate])
def test_ends_are_the_mean_over_the_background_and_the_model_itself(seed, removal):
    rng = np.random.default_rng(seed)
    X, rows, weights = rng.normal(size=(5, 3)), rng.normal(size=(60, 3)), rng.random(60)
    f_S = removal(rows, weights=weights).restrict(lambda Z: Z.sum(axis=1), X)
    np.testing.assert_allclose(f_S.empty(), weights @ rows.sum(axis=1) / weights.sum())
    np.testing.assert_array_equal(f_S.full(X)[:, 0], X.sum(axis=1))
    kept = np.array([[False] * 3, [True] * 3, [True, False, True], [False] * 3, [True] * 3])
    found = f_S.predict(X, kept, None)
    np.testing.assert_array_equal(found[[0, 3]], np.tile(f_S.empty(), (2, 1)))
    np.testing.assert_array_equal(found[[1, 4]], f_S.full(X)[[1, 4]])


@pytest.mark.parametrize("removal", [cs.Neighbours, cs.TreeConditional, cs.Surrogate])
def test_walks_are_predictions_at_prefixes_whatever_the_size_of_batches(seed, removal):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4)).round(1)
    X[1] = X[0]
    f_S = removal(X).restrict(lambda Z: np.column_stack([Z[:, 0] * Z[:, 1], Z[:, 2]]), X)
    arrivals = np.argsort(rng.random((60, 4)), axis=1) + 1
    walked = f_S.walk(X, arrivals, None)
    for step in (1, 2, 3):
        kept = arrivals <= step
        by_row = [f_S.predict(X[i : i + 1], kept[i : i + 1], None)[0] for i in range(60)]
        np.testing.assert_array_equal(walked[:, step - 1], by_row)
    small = removal(X, memory_limit=3e4).restrict(lambda Z: np.column_stack([Z[:, 0] * Z[:, 1], Z[:, 2]]), X)
    np.testing.assert_array_equal(small.walk(X, arrivals, None), walked)
    again = pickle.loads(pickle.dumps(f_S.choice if hasattr(f_S, "choice") else f_S.learners))
    assert again is not None


@pytest.mark.parametrize("removal", ["neighbours", "trees"])
def test_counts_of_model_rows_are_those_the_model_saw(seed, removal):
    rng = np.random.default_rng(seed)
    X, rows, seen = rng.normal(size=(20, 4)), rng.normal(size=(80, 4)), []

    def model(Z):
        seen.append(len(Z))
        return Z[:, 0] * Z[:, 1]

    for method in ("exact", "paired walks", "permutation", "kernel"):
        seen.clear()
        found = cs.sage(model, X, X[:, 0], background=rows, removal=removal, method=method, tolerance=0.3, rng=seed)
        assert found.model_rows == sum(seen), method


@pytest.mark.parametrize("removal", ["neighbours", "trees", "surrogate"])
@pytest.mark.parametrize("method", ["exact", "paired walks", "permutation", "kernel"])
def test_every_method_agrees_with_exact_values_and_jobs_change_no_bit(seed, removal, method):
    rng = np.random.default_rng(seed)
    law = Gaussian(3)
    X = law.draw(60, rng)
    y = law.f(X) + rng.normal(size=60)
    options = {"removal": removal, "rng": seed, "tolerance": 0.1}
    exact = cs.sage(law.f, X, y, method="exact", **options)
    runs = [cs.sage(law.f, X, y, method=method, n_jobs=jobs, **options) for jobs in (1, 2)]
    assert runs[0].values.tobytes() == runs[1].values.tobytes()
    assert (np.abs(runs[0].values - exact.values) <= 5.5 * runs[0].std_error + 1e-9).all()


@pytest.mark.parametrize("removal", ["neighbours", "trees", "surrogate"])
def test_groups_one_column_and_constant_columns(seed, removal):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    X[:, 2] = 7.0
    y = X[:, 0] + X[:, 1]
    options = {"removal": removal, "method": "exact", "rng": seed}
    grouped = cs.sage(lambda Z: Z[:, 0] + Z[:, 1], X, y, groups={"both": [0, 2]}, **options)
    assert grouped.values.sum() == pytest.approx(grouped.total)
    alone = cs.sage(lambda Z: Z[:, 0], X[:, :1], y, **options)
    assert alone.values[0] == alone.total
    nothing = cs.sage(lambda Z: 0 * Z[:, 0] + 3, X, y, **options)
    np.testing.assert_allclose(nothing.values, 0, atol=1e-12)


@pytest.mark.parametrize("removal", ["neighbours", "trees", "surrogate"])
def test_probabilities_of_several_classes_with_cross_entropy(seed, removal):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=120)

    def model(Z):
        scores = np.exp(np.column_stack([Z[:, 0], -Z[:, 0], 0.5 * Z[:, 2]]))
        return scores / scores.sum(axis=1, keepdims=True)

    y = np.array([rng.choice(3, p=p) for p in model(X)])
    found = cs.sage(model, X, y, removal=removal, loss=["cross entropy", "brier"], method="exact", rng=seed)
    assert all(np.isfinite(one.values).all() for one in found)
    assert found[0].values[1] > 0.2 * found[0].values[0] > 0  # the model does not look at the second


@pytest.mark.parametrize("removal", [cs.Neighbours, cs.TreeConditional])
def test_rows_of_more_weight_count_as_if_they_came_more_often(seed, removal):
    rows = np.array([[0.0, 0.0], [0.0, 1.0]] * 10 + [[5.0, 9.0]] * 20)
    weights = np.array([1.0, 3.0] * 10 + [4.0] * 20)
    options = {"neighbours": 20} if removal is cs.Neighbours else {}
    f_S = removal(rows, weights=weights, **options).restrict(lambda Z: Z[:, 1], np.array([[0.0, 100.0]]))
    found = f_S.predict(*one([0.0, 100.0], [True, False]), None)[0, 0]
    assert found == pytest.approx(0.75, abs=0.07)


@pytest.mark.parametrize("removal", [cs.Neighbours, cs.TreeConditional, cs.Surrogate])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_background_of_few_rows_or_of_equal_rows_will_do(removal, count):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    for rows in (X[:count], np.repeat(X[:1], count, axis=0)):
        f_S = removal(rows).restrict(lambda Z: Z.sum(axis=1), X)
        assert np.isfinite(f_S.predict(X, np.tile([True, False], (3, 1)), None)).all()
        assert f_S.rows_per_prediction <= max(len(rows), 128)


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


@pytest.mark.parametrize("removal", ["neighbours", "trees", "surrogate"])
def test_up_to_4096_rows_are_taken_where_no_background_is_given(removal):
    X = np.random.default_rng(0).normal(size=(600, 2))
    found = cs.sage(lambda Z: Z[:, 0], X, X[:, 0], removal=removal, method="exact", rng=0)
    assert "all rows of X, 600 in number" in found.notes[0]
