"""What holds of every removal in which withheld features follow the kept ones."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
from conditional_laws import Gaussian


def one(x, kept):
    return np.atleast_2d(np.asarray(x, dtype=float)), np.atleast_2d(np.asarray(kept))


def made(name, rows, seed=0, **options):
    """A removal by name, with a surrogate that learns quickly."""
    kinds = {"neighbours": cs.Neighbours, "trees": cs.TreeConditional, "surrogate": cs.Surrogate}
    options |= {"neighbours": {}, "trees": {"rng": seed, "trees": 8}, "surrogate": {"rng": seed, "copies": 500}}[name]
    return kinds[name](rows, **options)


def two_numbers(Z):
    return np.column_stack([Z[:, 0] * Z[:, 1], Z[:, 2]])


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
    options = {"removal": made(removal, rows, seed), "method": "exact", "loss": "squared error"}
    found = cs.sage(mixed_model, X, np.asarray(y), **options)
    assert np.isfinite(found.values).all()
    assert found.values.sum() == pytest.approx(found.total)
    assert dict(found.targets).keys() == {"rows"}
    assert any("with the removal as it was fitted" in note for note in found.notes)


@pytest.mark.parametrize("removal", ["neighbours", "trees", "surrogate"])
def test_ends_are_the_mean_over_the_background_and_the_model_itself(seed, removal):
    rng = np.random.default_rng(seed)
    X, rows, weights = rng.normal(size=(5, 3)), rng.normal(size=(60, 3)), rng.random(60)
    f_S = made(removal, rows, weights=weights).restrict(lambda Z: Z.sum(axis=1), X)
    np.testing.assert_allclose(f_S.empty(), weights @ rows.sum(axis=1) / weights.sum())
    np.testing.assert_array_equal(f_S.full(X)[:, 0], X.sum(axis=1))
    kept = np.array([[False] * 3, [True] * 3, [True, False, True], [False] * 3, [True] * 3])
    found = f_S.predict(X, kept, None)
    np.testing.assert_array_equal(found[[0, 3]], np.tile(f_S.empty(), (2, 1)))
    np.testing.assert_array_equal(found[[1, 4]], f_S.full(X)[[1, 4]])


@pytest.mark.parametrize("removal", ["neighbours", "trees", "surrogate"])
def test_walks_are_predictions_at_prefixes_whatever_the_size_of_batches(seed, removal):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4)).round(1)
    X[1] = X[0]
    f_S = made(removal, X).restrict(two_numbers, X)
    arrivals = np.argsort(rng.random((60, 4)), axis=1) + 1
    walked = f_S.walk(X, arrivals, None)
    for step in (1, 2, 3):
        kept = arrivals <= step
        by_row = [f_S.predict(X[i : i + 1], kept[i : i + 1], None)[0] for i in range(60)]
        np.testing.assert_array_equal(walked[:, step - 1], by_row)
    small = made(removal, X, memory_limit=3e4).restrict(two_numbers, X)
    np.testing.assert_array_equal(small.walk(X, arrivals, None), walked)
    again = pickle.loads(pickle.dumps(f_S))
    np.testing.assert_array_equal(again.walk(X, arrivals, None), walked)


@pytest.mark.parametrize("removal", ["neighbours", "trees"])
def test_counts_of_model_rows_are_those_the_model_saw(seed, removal):
    rng = np.random.default_rng(seed)
    X, rows, seen = rng.normal(size=(12, 3)), rng.normal(size=(80, 3)), []

    def model(Z):
        seen.append(len(Z))
        return Z[:, 0] * Z[:, 1]

    for method in ("exact", "paired walks", "permutation", "kernel"):
        seen.clear()
        found = cs.sage(model, X, X[:, 0], removal=made(removal, rows), method=method, tolerance=0.3, rng=seed)
        assert found.model_rows == sum(seen), method


@pytest.mark.parametrize("removal", ["neighbours", "trees", "surrogate"])
@pytest.mark.parametrize("method", ["exact", "paired walks", "permutation", "kernel"])
def test_every_method_agrees_with_exact_values_and_jobs_change_no_bit(seed, removal, method):
    rng = np.random.default_rng(seed)
    law = Gaussian(3)
    X = law.draw(40, rng)
    y = law.f(X) + rng.normal(size=40)
    options = {"removal": made(removal, X, seed), "rng": seed, "tolerance": 0.15}
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
    options = {"removal": made(removal, X, seed), "method": "exact"}
    grouped = cs.sage(lambda Z: Z[:, 0] + Z[:, 1], X, y, groups={"both": [0, 2]}, **options)
    assert grouped.values.sum() == pytest.approx(grouped.total)
    alone = cs.sage(lambda Z: Z[:, 0], X[:, :1], y, removal=made(removal, X[:, :1]), method="exact")
    assert alone.values[0] == pytest.approx(alone.total, rel=1e-12)
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
    found = cs.sage(model, X, y, removal=made(removal, X, seed), loss=["cross entropy", "brier"], method="exact")
    assert all(np.isfinite(one.values).all() for one in found)
    assert found[0].values[1] > 0.2 * found[0].values[0] > 0  # the model does not look at the second


@pytest.mark.parametrize("removal", [cs.Neighbours, cs.TreeConditional])
def test_rows_of_more_weight_count_as_if_they_came_more_often(seed, removal):
    rows = np.array([[0.0, 0.0], [0.0, 1.0]] * 100 + [[5.0, 9.0]] * 200)
    weights = np.array([1.0, 3.0] * 100 + [4.0] * 200)
    options = {"neighbours": 200} if removal is cs.Neighbours else {}
    f_S = removal(rows, weights=weights, **options).restrict(lambda Z: Z[:, 1], np.array([[0.0, 100.0]]))
    found = f_S.predict(*one([0.0, 100.0], [True, False]), None)[0, 0]
    assert found == pytest.approx(0.75, abs=0.07)


@pytest.mark.parametrize("removal", ["neighbours", "trees", "surrogate"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_background_of_few_rows_or_of_equal_rows_will_do(removal, count):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    for rows in (X[:count], np.repeat(X[:1], count, axis=0)):
        f_S = made(removal, rows).restrict(lambda Z: Z.sum(axis=1), X)
        assert np.isfinite(f_S.predict(X, np.tile([True, False], (3, 1)), None)).all()


@pytest.mark.parametrize("removal", ["neighbours", "trees", "surrogate"])
def test_up_to_4096_rows_are_taken_where_no_background_is_given(removal):
    X = np.random.default_rng(0).normal(size=(600, 1))
    found = cs.sage(lambda Z: Z[:, 0], X, X[:, 0], removal=removal, method="exact", rng=0)
    assert "all 600 rows of X" in found.notes[0]
    assert found.removal == removal
