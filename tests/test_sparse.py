"""Sparse matrices as X: the same values as of dense ones, the matrix that the model was fitted on, and many columns."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC

import clarysage as cs
from clarysage.removal import Baseline, Marginal
from clarysage.tables import as_table, encode_together, schema_of
from clarysage.tables.sparse import SparseTable

ROWS, COLUMNS, WIDE = 60, 6, 400
RNG = np.random.default_rng(3)


def _counts(columns: int, density: float = 0.4) -> np.ndarray:
    cells = RNG.integers(1, 4, size=(ROWS, columns)) * (RNG.random((ROWS, columns)) < density)
    return cells.astype(np.float64)


CELLS = _counts(COLUMNS)
Y = (CELLS[:, 0] + CELLS[:, 1] - CELLS[:, 2] + RNG.normal(size=ROWS) > 1).astype(int)
X = scipy.sparse.csr_matrix(CELLS)
MANY = np.hstack([CELLS, _counts(WIDE - COLUMNS, density=0.05)])
SPARSE = scipy.sparse.csr_matrix(MANY)


# the table


FORMATS = ("csr_matrix", "csr_array", "csc_matrix", "csc_array", "coo_matrix", "coo_array", "lil_array", "dok_matrix")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_the_model_gets_rows_of_the_same_cells_in_compressed_form(kind, dtype):
    matrix = getattr(scipy.sparse, kind)(CELLS.astype(dtype))
    schema, codes, rows = encode_together(as_table(matrix, "X"), as_table(matrix.tocsr()[:5], "background"))
    assert np.array_equal(codes, CELLS.astype(dtype))
    assert np.array_equal(rows, codes[:5])
    decoded = schema.decode(codes)
    assert type(decoded) is (scipy.sparse.csr_array if "array" in kind else scipy.sparse.csr_matrix)
    assert decoded.dtype == dtype
    assert decoded.indices.dtype == np.int32
    assert np.array_equal(decoded.toarray(), matrix.toarray())
    assert decoded.nnz == np.count_nonzero(matrix.toarray())


def _with_special_cells() -> scipy.sparse.csr_array:
    """Returns a matrix with a stored zero, a missing cell, a negative zero and two entries for one cell."""
    entries = [(0, 0, 0.0), (1, 1, np.nan), (2, 2, -0.0), (3, 3, 1.0), (3, 3, 2.0), (4, 0, -1.5)]
    row, column, cells = map(np.array, zip(*entries, strict=True))
    return scipy.sparse.coo_array((cells, (row, column)), shape=(6, 5))


MEMBERS = {"none": None, "some": [[1, 4], [0], [2, 3]], "all": [[0, 1, 2, 3, 4]], "each": [[0], [1], [2], [3], [4]]}


@pytest.mark.parametrize("members", MEMBERS)
def test_cells_that_are_stored_are_stored_again(members):
    matrix = _with_special_cells()
    table = SparseTable.of(matrix)
    if MEMBERS[members] is not None:
        table = table.combined([np.array(part) for part in MEMBERS[members]], None)
    schema = schema_of(table)
    decoded = schema.decode(schema.encode(table, "X"))
    once = matrix.tocsr()
    once.sum_duplicates()
    for part in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(decoded, part), getattr(once, part), equal_nan=part == "data")
    dense = schema.for_container("numpy")
    assert np.array_equal(dense.decode(schema.encode(table, "X")), once.toarray(), equal_nan=True)


def test_a_matrix_is_not_modified():
    matrix = scipy.sparse.csr_matrix((np.ones(3), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    before = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
    assert as_table(matrix, "X").rows.nnz == 2
    assert all(
        np.array_equal(*parts) for parts in zip(before, (matrix.data, matrix.indices, matrix.indptr), strict=True)
    )


def test_combined_columns_of_equal_rows_have_equal_codes():
    table = SparseTable.of(scipy.sparse.csr_array([[1, 0, 2], [1, 5, 2], [3, 0, 2]])).combined(
        [np.array([0, 2]), np.array([1])], ["both", "one"]
    )
    schema = schema_of(table)
    codes = schema.encode(table, "X")
    assert schema.names == ("both", "one")
    assert schema.is_number.tolist() == [False, True]
    assert codes[0, 0] == codes[1, 0] != codes[2, 0]
    assert codes[:, 1].tolist() == [0, 5, 0]


# few columns


MODELS = {
    "logistic": LogisticRegression(),
    "ridge": Ridge(),
    "forest": RandomForestClassifier(5, random_state=0),
    "scaled": make_pipeline(MaxAbsScaler(), LogisticRegression()),
}
MEASURES = (
    "sage",
    "shapley effects",
    "permutation importance",
    "mean importance",
    "mean loss shap",
    "mean absolute shap",
    "squared correlation",
    "drop column importance",
)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("measure", MEASURES)
def test_values_are_those_of_dense_rows_to_the_last_bit(name, measure):
    model = MODELS[name].fit(CELLS, Y)
    found, expected = (cs.importance(measure, model, rows, Y, rng=0, budget=20_000) for rows in (X, CELLS))
    if (
        name == "scaled"
    ):  # scikit-learn multiplies sparse cells by the inverse of the scale, and divides dense ones by it
        assert np.allclose(found.values, expected.values, rtol=1e-12, atol=1e-15)
    else:
        assert np.array_equal(found.values, expected.values)
    assert found.feature_names == expected.feature_names


@pytest.mark.parametrize("removal", ["product of marginals", "baseline", "copula", "neighbours"])
def test_removals_give_the_values_of_dense_rows(removal):
    model = RandomForestClassifier(5, random_state=0).fit(CELLS, Y)
    # without a budget, which would count the row that the model was asked with
    found, expected = (cs.sage(model, rows, Y, removal=removal, rng=0, tolerance=0.3) for rows in (X, CELLS))
    assert np.array_equal(found.values, expected.values)


def test_the_background_may_be_dense_or_sparse():
    model = RandomForestClassifier(5, random_state=0).fit(CELLS, Y)
    pairs = ((X, X[:9]), (X, CELLS[:9]), (CELLS, X[:9]), (X, pd.DataFrame(CELLS[:9])))
    values = [cs.sage(model, rows, Y, background=others, rng=0).values for rows, others in pairs]
    assert all(np.array_equal(values[0], each) for each in values)


@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array"])
def test_a_function_gets_the_kind_of_matrix_that_x_is(kind):
    kinds = set()

    def f(rows):
        kinds.add(type(rows))
        return rows @ np.arange(COLUMNS)

    cs.sage(f, getattr(scipy.sparse, kind)(X), CELLS[:, 1], background=CELLS[:9], budget=5000, rng=0)
    assert kinds == {getattr(scipy.sparse, kind)}


def test_a_model_that_takes_no_sparse_rows_gets_arrays():
    boosted = HistGradientBoostingClassifier(max_iter=3).fit(CELLS, Y)
    assert np.array_equal(cs.sage(boosted, X, Y, rng=0).values, cs.sage(boosted, CELLS, Y, rng=0).values)

    def f(rows):
        return rows[:, 0] * 2 + rows[:, 1]

    found, expected = (cs.sage(f, rows, Y, loss="squared error", rng=0) for rows in (X, CELLS))
    assert np.array_equal(found.values, expected.values)


def test_a_model_of_named_columns_gets_frames_of_them():
    frame = pd.DataFrame(CELLS, columns=list("abcdef"))
    model = RandomForestClassifier(5, random_state=0).fit(frame, Y)
    found = cs.sage(model, X, Y, rng=0)
    assert found.feature_names == tuple("abcdef")
    assert np.array_equal(found.values, cs.sage(model, frame, Y, rng=0).values)


def _boosters():
    import lightgbm
    import xgboost

    return {
        "xgboost": xgboost.XGBClassifier(n_estimators=5, max_depth=3),
        "lightgbm": lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=5, verbose=-1),
    }


@pytest.mark.needs("xgboost", "lightgbm")
@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("matrix", ["few columns", "many columns"])
def test_boosted_trees_are_explained_as_they_predict_from_sparse_rows(name, matrix):
    rows = X if matrix == "few columns" else SPARSE
    model = _boosters()[name].fit(rows, Y)
    found = cs.sage(model, rows, Y, background=rows[:20], max_players=6, rng=0)
    expected = cs.sage(model.predict_proba, rows, Y, background=rows[:20], groups=found.groups, rng=0, method="exact")
    assert np.allclose(
        cs.sage(model, rows, Y, background=rows[:20], groups=found.groups, rng=0, method="exact").values,
        expected.values,
        atol=1e-6,
    )
    assert not any("row by row" in note for note in found.notes)


@pytest.mark.needs("xgboost")
def test_cells_that_are_not_stored_are_missing_for_xgboost():
    import xgboost

    model = xgboost.XGBRegressor(n_estimators=3, max_depth=2, base_score=0.0).fit(X, Y)
    assert not np.allclose(model.predict(X), model.predict(CELLS))
    game = cs.game(model, X, Y)
    assert np.allclose(game.outputs[:, 0], model.predict(X), atol=1e-6)


LINEAR = {
    "multinomial": MultinomialNB(),
    "complement": ComplementNB(),
    "descent": SGDClassifier(loss="log_loss", random_state=0),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_models_of_texts_are_not_called_row_by_row(name):
    model = LINEAR[name].fit(X, Y)
    found = cs.sage(model, X, Y, method="exact", rng=0)
    expected = cs.sage(model.predict_proba, X, Y, method="exact", rng=0)
    assert np.allclose(found.values, expected.values)
    assert not any("row by row" in note for note in found.notes)
    three = LINEAR[name].fit(X, CELLS[:, 0] % 3)
    found = cs.sage(three, X, CELLS[:, 0] % 3, method="exact", rng=0)
    expected = cs.sage(
        cs.as_predictor(three.predict_proba, classes=three.classes_), X, CELLS[:, 0] % 3, method="exact", rng=0
    )
    assert np.allclose(found.values, expected.values)


# many columns


MODELS_OF_MANY = {
    "logistic": LogisticRegression(),
    "three classes": LogisticRegression(),
    "ridge": Ridge(),
    "scaled": make_pipeline(MaxAbsScaler(), LogisticRegression()),
    "selected": make_pipeline(SelectKBest(k=20), LogisticRegression()),
    "forest": RandomForestClassifier(5, max_depth=4, random_state=0),
    "naive bayes": MultinomialNB(),
    "margins": LinearSVC(),
}


def _model_of_many(name: str):
    return MODELS_OF_MANY[name].fit(MANY, CELLS[:, 1] % 3 if name == "three classes" else Y)


@pytest.mark.parametrize("name", MODELS_OF_MANY)
@pytest.mark.parametrize("options", [{}, {"removal": "baseline"}, {"background": SPARSE[:20]}], ids=str)
def test_the_group_of_the_rest_is_that_of_dense_rows_grouped_by_hand(name, options):
    model, y = _model_of_many(name), CELLS[:, 1] % 3 if name == "three classes" else Y
    found = cs.sage(model, SPARSE, y, max_players=6, method="exact", rng=0, **options)
    rest = "the other 395 columns"
    assert list(found.groups) == [rest] or len(found.groups[rest]) == 395
    groups = {rest: found.groups[rest]}
    dense = {key: value.toarray() if key == "background" else value for key, value in options.items()}
    expected = cs.sage(model, MANY, y, groups=groups, method="exact", rng=0, **dense)
    assert found.feature_names == expected.feature_names
    assert np.allclose(found.values, expected.values, rtol=1e-9, atol=1e-12)
    by_hand = cs.sage(model, SPARSE, y, groups=groups, method="exact", rng=0, **options)
    assert np.array_equal(found.values, by_hand.values)


def test_hybrid_rows_of_combined_columns_are_those_of_dense_rows_to_the_last_bit():
    forest = _model_of_many("forest")
    found = cs.sage(forest.predict_proba, SPARSE, Y, max_players=5, method="exact", rng=0)
    expected = cs.sage(forest.predict_proba, MANY, Y, groups=found.groups, method="exact", rng=0)
    assert np.array_equal(found.values, expected.values)


def test_a_model_that_takes_no_sparse_rows_gets_arrays_of_many_columns():
    boosted = HistGradientBoostingClassifier(max_iter=3).fit(MANY, Y)
    found = cs.sage(boosted, SPARSE, Y, max_players=5, method="exact", rng=0)
    expected = cs.sage(boosted, MANY, Y, groups=found.groups, method="exact", rng=0)
    assert np.allclose(found.values, expected.values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("measure", [measure for measure in MEASURES if measure != "drop column importance"])
def test_all_measures_have_the_same_players(measure):
    model = _model_of_many("ridge")
    found = cs.importance(measure, model, SPARSE, Y, max_players=5, rng=0, budget=50_000)
    groups = found.groups
    assert len(found.values) == 5
    assert len(groups["the other 396 columns"]) == 396
    expected = cs.importance(measure, model, SPARSE, Y, groups=groups, rng=0, budget=50_000)
    assert np.array_equal(found.values, expected.values)
    assert any("Players: 4 of the 400 columns" in note for note in found.notes)


def test_measures_side_by_side_and_interactions_have_the_same_players():
    model = _model_of_many("ridge")
    found = cs.importances(model, SPARSE, Y, measures=["sage", "coefficient size"], rng=0)
    assert found["sage"].feature_names == found["coefficient size"].feature_names
    assert len(found["sage"].values) == 50
    pairs = cs.interactions(model, SPARSE, Y, max_players=4, rng=0)
    assert pairs.feature_names[-1] == "the other 397 columns" or "the other 397 columns" in pairs.feature_names


def test_fifty_players_are_enough_for_a_wide_matrix_but_not_for_a_narrow_one_or_an_array():
    model = LinearRegression().fit(MANY, Y)
    assert len(cs.sage(model, SPARSE, Y, rng=0).values) == 50
    assert len(cs.sage(model, MANY, Y, rng=0).values) == WIDE
    narrow = LinearRegression().fit(MANY[:, :256], Y)
    assert len(cs.sage(narrow, SPARSE[:, :256], Y, rng=0).values) == 256


def test_the_players_are_those_that_a_quick_look_finds():
    model = LinearRegression().fit(MANY, Y)
    model.coef_ = np.zeros(WIDE)
    model.coef_[[7, 300, 3]] = [3.0, -2.0, 1.0]
    found = cs.sage(model, SPARSE, Y, max_players=4, rng=0)
    assert set(found.feature_names) == {"x3", "x7", "x300", "the other 397 columns"}
    assert any("largest coefficient times standard deviation" in note for note in found.notes)
    forest = RandomForestClassifier(5, random_state=0).fit(MANY, CELLS[:, 0] > 1)
    found = cs.sage(forest, SPARSE, CELLS[:, 0] > 1, max_players=3, rng=0)
    assert "x0" in found.feature_names
    assert any("largest gain" in note for note in found.notes)
    by_spread = cs.sage(forest.predict_proba, SPARSE, Y, max_players=3, budget=20_000, rng=0)
    first = [f"x{column}" for column in np.sort(np.argsort(-MANY.std(axis=0), kind="stable")[:2])]
    assert [name for name in by_spread.feature_names if name.startswith("x")] == first


def test_groups_of_the_user_are_players_beside_the_largest_columns():
    model = _model_of_many("ridge")
    found = cs.sage(model, SPARSE, Y, groups={"mine": ["x5", "x399"]}, max_players=4, rng=0)
    assert found.groups["mine"] == ["x5", "x399"]
    assert set(found.groups) - set(found.feature_names) == set()
    assert "the other 396 columns" in found.groups
    assert len(found.values) == 4


def test_dense_tables_have_fewer_players_on_request():
    frame = pd.DataFrame(CELLS, columns=list("abcdef")).assign(kind=np.where(CELLS[:, 0] > 0, "u", "v"), y=Y)
    options = {"loss": "squared error", "method": "exact", "rng": 0}
    found = cs.sage(_predict_from_frame, frame, "y", max_players=3, **options)
    assert len(found.values) == 3
    assert "y" not in {name for members in found.groups.values() for name in members}
    groups = {"the other 5 columns": found.groups["the other 5 columns"]}
    expected = cs.sage(_predict_from_frame, frame, "y", groups=groups, **options)
    assert np.array_equal(found.values, expected.values)


def _predict_from_frame(rows):
    return rows["a"] + 2 * rows["b"] + (rows["kind"] == "u")


@pytest.mark.parametrize("n_jobs", [2])
def test_workers_change_no_bit(n_jobs):
    model = _model_of_many("forest")
    alone, shared = (
        cs.sage(model.predict_proba, SPARSE, Y, max_players=6, budget=30_000, rng=0, n_jobs=jobs)
        for jobs in (1, n_jobs)
    )
    assert np.array_equal(alone.values, shared.values)


def test_fingerprints_are_of_all_cells():
    model = _model_of_many("ridge")
    other = SPARSE.copy()
    column = int(cs.sage(model, SPARSE, Y, rng=0).groups["the other 351 columns"][0][1:])
    other[0, column] += 1
    marks = [cs.sage(model, rows, Y, rng=0).provenance["fingerprints"] for rows in (SPARSE, SPARSE.copy(), other)]
    assert marks[0] == marks[1]
    assert marks[0]["X"] != marks[2]["X"]


def test_an_explanation_of_many_columns_can_be_saved_and_shown(tmp_path):
    found = cs.sage(_model_of_many("ridge"), SPARSE, Y, rng=0)
    found.save(tmp_path / "found.json")
    assert np.array_equal(cs.load(tmp_path / "found.json").values, found.values)
    assert "the other 351 columns" in str(found)
    found.report(tmp_path / "found.html")
    assert (tmp_path / "found.html").stat().st_size < 2_000_000


def test_objects_of_removals_have_rows_of_their_own():
    model = _model_of_many("ridge")
    found = cs.sage(model, SPARSE, Y, removal=Marginal(SPARSE[:20]), rng=0)
    assert np.array_equal(found.values, cs.sage(model, SPARSE, Y, background=SPARSE[:20], rng=0).values)
    at_zero = cs.sage(model, SPARSE, Y, removal=Baseline(np.zeros(WIDE)), max_players=5, method="exact", rng=0)
    dense = cs.sage(model, MANY, Y, removal=Baseline(np.zeros(WIDE)), groups=at_zero.groups, method="exact", rng=0)
    assert np.allclose(at_zero.values, dense.values)


@pytest.mark.parametrize("removal", ["product of marginals", "neighbours"])
def test_removals_that_look_at_single_columns_have_all_of_them(removal):
    model = _model_of_many("forest")
    found = cs.sage(model, SPARSE, Y, removal=removal, max_players=4, method="exact", rng=0, background=SPARSE[:30])
    expected = cs.sage(
        model, MANY, Y, removal=removal, groups=found.groups, method="exact", rng=0, background=MANY[:30]
    )
    assert np.allclose(found.values, expected.values, rtol=1e-9, atol=1e-12)


def test_removals_are_compared_on_all_columns():
    model = _model_of_many("ridge")
    options = {"groups": {"rest": [f"x{column}" for column in range(5, WIDE)]}, "rng": 0, "rows": 20}
    found, expected = (cs.removal_quality(["marginal", "baseline"], model, rows, **options) for rows in (SPARSE, MANY))
    assert np.allclose(found.scores, expected.scores)


WRONG = {
    "one player": (lambda: cs.sage(_model_of_many("ridge"), SPARSE, Y, max_players=1), "max_players: got 1"),
    "a true number of players": (
        lambda: cs.sage(_model_of_many("ridge"), X, Y, max_players=True),
        "max_players: got True",
    ),
    "players of a table on disk": (
        lambda: cs.sage(_model_of_many("ridge"), "rows.parquet", Y, max_players=5),
        "max_players: got a number, and X on disk",
    ),
    "a background of fewer columns": (
        lambda: cs.sage(_model_of_many("ridge"), SPARSE, Y, background=SPARSE[:, :9]),
        "background: got 9 columns; wanted 400, as in X",
    ),
    "a background of named columns": (
        lambda: cs.sage(_model_of_many("ridge"), SPARSE, Y, background=pd.DataFrame(MANY)),
        "background: got a DataFrame; wanted a sparse matrix, or an array of numbers, with the columns of X",
    ),
    "a removal that learns from very many columns": (
        lambda: cs.sage(lambda rows: rows[:, [0]], scipy.sparse.csr_matrix((60, 2001)), Y, removal="copula"),
        r"removal: got 'copula', which learns from all columns of X, with 2,001; wanted at most 2,000",
    ),
    "the best of such removals": (
        lambda: cs.sage(lambda rows: rows[:, [0]], scipy.sparse.csr_matrix((60, 2001)), Y, removal="auto conditional"),
        "removal: got 'auto conditional', which learns",
    ),
    "a removal that fills in very many columns": (
        lambda: cs.sage(
            lambda rows: rows[:, [0]], scipy.sparse.csr_matrix((60, 2001)), Y, removal="product of marginals"
        ),
        r"removal: got 'product of marginals', which fills in all columns of X, with 2,001; wanted at most 2,000 "
        r"columns for it. Try removal=\"marginal\"",
    ),
    "an object of such a removal": (
        lambda: cs.sage(
            lambda rows: rows[:, [0]],
            scipy.sparse.csr_matrix((60, 2001)),
            Y,
            removal=cs.ProductOfMarginals(scipy.sparse.csr_matrix((9, 2001))),
        ),
        "removal: got 'product of marginals', which fills in",
    ),
    "no columns": (
        lambda: cs.sage(lambda rows: rows, scipy.sparse.csr_matrix((3, 0)), [1, 2, 3]),
        "X: got a table with no",
    ),
    "complex cells": (lambda: cs.sage(lambda rows: rows, X.astype(complex), Y), "X: got complex numbers"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_sense_is_named(case):
    call, words = WRONG[case]
    with pytest.raises(cs.InputError, match=f"^{words}"):
        call()


COST = """
import resource, sys, time
import numpy as np, scipy.sparse
from sklearn.linear_model import LogisticRegression
import clarysage as cs

n, d, kind = int(sys.argv[1]), 20_000, sys.argv[2]
rng = np.random.default_rng(0)
rows, columns = np.repeat(np.arange(n), 100), (d * rng.random(100 * n) ** 3).astype(int)
X = scipy.sparse.csr_matrix((np.ones(100 * n), (rows, columns)), shape=(n, d))
y = np.asarray(X[:, :50].sum(axis=1)).ravel() > 12
model = LogisticRegression().fit(X, y)
f = model if kind == "known" else model.predict_proba
cs.sage(f, X[:50], y[:50], tolerance=0.5, rng=0)
before, begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
found = cs.sage(f, X, y, rng=0, budget=2_000_000)
seconds = time.perf_counter() - begun
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(round((after - before) / 1024), "MB", round(seconds, 1), "s", len(found.values), "players")
"""


@pytest.mark.subprocess
@pytest.mark.parametrize("kind", ["known", "called"])
@pytest.mark.parametrize("rows", [500, 5000])
def test_memory_is_bounded(rows, kind):
    """All cells of 5,000 rows would take 800 MB, and those of the hybrid rows of a single example 4 GB."""
    done = subprocess.run([sys.executable, "-c", COST, str(rows), kind], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) < 200
    assert "50 players" in done.stdout
