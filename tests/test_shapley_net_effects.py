"""Shapley net effects: closed forms by the covariance matrix, enumeration by hand, designs of tables of all kinds.

Where data are drawn, an estimate may differ from the truth by five standard errors over the examples, and by the excess
risk of what was fitted, which is known to leading order and allowed for twice.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import log_loss

import clarysage as cs
from clarysage._measures.linear_design import is_of_classes, linear_design, numeric_codes
from clarysage.errors import InputError
from clarysage.models.least_squares import LeastSquares
from clarysage.tables import schema_of
from linear_laws import LinearLaw
from oracle import shapley

FIVE = 5.0  # standard errors
LAWS = {"independent": lambda seed: LinearLaw.independent(), "correlated": LinearLaw.correlated}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 4))
    return X, 2 * X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=120)


@pytest.fixture(scope="module")
def mixed():
    """A frame of numbers, missing cells and categories."""
    rng = np.random.default_rng(8)
    n = 200
    kind, size, weight = rng.choice(["red", "green", "blue"], size=n), rng.normal(size=n), rng.normal(size=n)
    y = 2 * size + 3 * (kind == "red") + 0.3 * rng.normal(size=n)
    size[::10] = np.nan
    X = pd.DataFrame({"size": size, "kind": pd.Categorical(kind), "weight": weight, "text": rng.choice(["p", "q"], n)})
    X.loc[3::9, "text"] = None
    return X, y


def enumerated(risk, groups):
    """Shapley values of risk(no columns) - risk(columns), by Eq. 6."""
    p = len(groups)
    sets = [S for size in range(p + 1) for S in combinations(range(p), size)]
    v = {frozenset(S): risk([]) - risk([c for i in S for c in groups[i]]) for S in sets}
    return shapley(v, p)


# closed forms


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("has_train", [False, True])
def test_values_are_the_shapley_values_of_explained_variance(seed, law, has_train):
    law = LAWS[law](seed)
    rng = np.random.default_rng(seed)
    X, y = law.draw(3000, rng)
    options = {"train": law.draw(2400, rng)} if has_train else {}
    found = cs.shapley_net_effects(None, X, y, rng=seed, **options)
    error = found.target("rows").std_error
    assert np.all(np.abs(found.values - law.net_effects) <= FIVE * error + 2 * law.variance * (law.d + 1) / 2400)
    assert np.all(error < 0.1 * law.net_effects.max())  # or this would say little
    assert found.values.sum() == pytest.approx(found.total)
    assert (found.constant, found.method, found.removal) == (0.0, "exact", "refit")


def test_sampled_values_agree_with_enumeration(seed, data):
    exact = cs.shapley_net_effects(None, *data, rng=1)
    found = cs.shapley_net_effects(None, *data, method="paired walks", tolerance=0.05, rng=1)
    assert np.all(np.abs(found.values - exact.values) <= 6 * found.std_error + 1e-9)
    many = np.random.default_rng(seed).normal(size=(60, 14))
    wide = cs.shapley_net_effects(None, many, many[:, 0], tolerance=0.3, train=(many, many[:, 0]), rng=0)
    assert wide.method == "paired walks"
    assert wide.top(1) == ["x0"]
    short = cs.shapley_net_effects(None, many, many[:, 0], tolerance=1e-9, budget=600, folds=2, rng=0)
    assert short.stopped is cs.StopReason.BUDGET
    assert short.fits <= 600


def test_two_copies_of_a_feature_share_equally(data):
    X, y = data
    found = cs.shapley_net_effects(None, np.column_stack([X, X[:, 0]]), y, rng=0)
    assert found.values[0] == pytest.approx(found.values[4], rel=1e-9)
    assert found.values[0] > 0.2 * found.total
    alone = cs.shapley_net_effects(None, X, y, rng=0)
    assert found.total == pytest.approx(alone.total, rel=1e-9)
    labels = (y > 0).astype(int)
    classes = cs.shapley_net_effects(None, np.column_stack([X[:, :2], X[:, 0]]), labels, rng=0)
    assert classes.loss == "cross entropy"
    assert classes.values[0] == pytest.approx(classes.values[2], rel=1e-4)


# by hand


def test_values_are_those_of_refits_by_hand_on_a_table_of_all_kinds(mixed):
    X, y = mixed
    parts = {
        "size": np.column_stack([X["size"].fillna(X["size"][:120].mean()), X["size"].isna()]),
        "kind": pd.get_dummies(X["kind"]).to_numpy(float),
        "weight": X[["weight"]].to_numpy(),
        "text": pd.get_dummies(X["text"].fillna("?")).to_numpy(float),
    }
    matrix, ends = np.hstack(list(parts.values())), np.cumsum([0, *(part.shape[1] for part in parts.values())])

    def risk(columns):
        if not columns:
            return np.mean((y[120:] - y[:120].mean()) ** 2)
        fitted = LinearRegression().fit(matrix[:120, columns], y[:120])
        return np.mean((y[120:] - fitted.predict(matrix[120:, columns])) ** 2)

    truth = enumerated(risk, [list(range(a, b)) for a, b in pairwise(ends)])
    found = cs.shapley_net_effects(None, X[120:], y[120:], train=(X[:120], y[:120]), rng=0)
    assert found.feature_names == tuple(X)
    assert np.allclose(found.values, truth)
    grouped = cs.shapley_net_effects(
        None, X[120:], y[120:], train=(X[:120], y[:120]), groups={"looks": ["kind", "size"]}, rng=0
    )
    spans = [[*range(ends[0], ends[2])], [*range(ends[2], ends[3])], [*range(ends[3], ends[4])]]
    assert grouped.feature_names == ("looks", "weight", "text")
    assert np.allclose(grouped.values, enumerated(risk, spans))


@pytest.mark.parametrize("classes", [2, 3])
def test_values_of_classes_are_those_of_logistic_regression(mixed, classes):
    X, y = mixed
    Z = X[["weight"]].assign(size=X["size"].fillna(0.0)).to_numpy()
    label = np.array(["low", "mid", "top"])[np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))]
    scaled = (Z - Z[:120].mean(axis=0)) / Z[:120].std(axis=0)

    def risk(columns):
        if not columns:
            shares = [np.mean(label[:120] == name) for name in np.unique(label)]
            return log_loss(label[120:], np.tile(shares, (80, 1)), labels=np.unique(label))
        fitted = LogisticRegression(max_iter=1000).fit(scaled[:120, columns], label[:120])
        return log_loss(label[120:], fitted.predict_proba(scaled[120:, columns]), labels=np.unique(label))

    found = cs.shapley_net_effects(None, Z[120:], label[120:], train=(Z[:120], label[:120]), rng=0)
    assert found.loss == "cross entropy"
    assert np.allclose(found.values, enumerated(risk, [[0], [1]]), atol=1e-6)


def test_losses_of_classes_and_of_numbers_choose_the_learner(data):
    X, y = data
    labels = np.digitize(y, [-1, 1])
    for loss in ("cross entropy", "zero one", "brier"):
        found = cs.shapley_net_effects(None, X, labels, loss=loss, rng=0)
        assert found.provenance["learner"] == "LogisticRegression"
        assert found.top(1) == ["x0"]
    assert cs.shapley_net_effects(None, X, labels, rng=0).loss == "squared error"
    classifier = LogisticRegression().fit(X, labels)
    assert cs.shapley_net_effects(classifier, X, labels, rng=0).loss == "cross entropy"
    assert cs.shapley_net_effects(classifier, X, labels, loss="absolute error").provenance["learner"] == "LeastSquares"
    both = cs.shapley_net_effects(None, X, y, loss=["squared error", "absolute error"], rng=0)
    assert [found.loss for found in both] == ["squared error", "absolute error"]
    several = cs.shapley_net_effects(None, X, np.column_stack([y, X[:, 3]]), rng=0)
    each = [cs.shapley_net_effects(None, X, one, rng=0).values for one in (y, X[:, 3])]
    assert np.allclose(several.values, sum(each))


def test_numbers_are_classes_where_somebody_says_so():
    y = np.array([0, 1, 2, 1])
    assert not is_of_classes(y)
    assert is_of_classes(y, loss=["brier", "zero one"])
    assert not is_of_classes(np.minimum(y, 1), loss="squared error")
    assert is_of_classes(np.minimum(y, 1))
    assert not is_of_classes(np.array([0.5, 1.0]))
    assert not is_of_classes(np.minimum(y, 1), LinearRegression().fit(np.eye(4), y))
    assert is_of_classes(y, LogisticRegression().fit(np.eye(4), y))
    assert not is_of_classes(y, LogisticRegression())  # which was not fitted, and says nothing
    assert is_of_classes(y.astype(str), loss="squared error")


# order, weights, learners


def test_the_order_of_columns_changes_no_bit_of_a_frame(mixed):
    X, y = mixed
    first = cs.shapley_net_effects(None, X, y, rng=0)
    back = cs.shapley_net_effects(None, X[["text", "weight", "kind", "size"]], y, rng=0)
    assert back.feature_names == ("text", "weight", "kind", "size")
    assert np.array_equal(first.values, back.values[::-1])
    walks = [
        cs.shapley_net_effects(None, table, y, method="permutation", tolerance=0.2, rng=0).values
        for table in (X, X[["text", "weight", "kind", "size"]])
    ]
    assert np.array_equal(walks[0], walks[1][::-1])


def test_the_order_of_columns_of_an_array_changes_rounding_alone(data):
    X, y = data
    first, back = (cs.shapley_net_effects(None, Z, y, rng=0).values for Z in (X, X[:, ::-1]))
    assert np.allclose(first, back[::-1], rtol=1e-9, atol=1e-12)


def test_units_change_nothing(data):
    X, y = data
    first = cs.shapley_net_effects(None, X, y, rng=0)
    moved = cs.shapley_net_effects(None, X * [1e-9, 1e6, 1.0, -3.0] + [0, 1e7, 5, 0], y, rng=0)
    assert np.allclose(first.values, moved.values, rtol=1e-6)


def test_weights_are_as_good_as_copies(data):
    X, y = data
    times, others = np.random.default_rng(0).integers(0, 4, size=(2, 60))
    weighted = cs.shapley_net_effects(None, X[:60], y[:60], sample_weight=times, train=(X[60:], y[60:], others))
    there = (np.repeat(X[60:], others, axis=0), np.repeat(y[60:], others))
    copied = cs.shapley_net_effects(None, np.repeat(X[:60], times, axis=0), np.repeat(y[:60], times), train=there)
    assert np.allclose(weighted.values, copied.values)


def test_another_learner_gets_columns_of_one_size(data):
    X, y = data
    found = cs.shapley_net_effects(None, X[:40], y[:40], train=(X[40:], y[40:]), learner=Ridge(alpha=20), rng=0)
    Z = (X - X[40:].mean(axis=0)) / X[40:].std(axis=0)

    def risk(columns):
        if not columns:
            return np.mean((y[:40] - y[40:].mean()) ** 2)
        return np.mean((y[:40] - Ridge(alpha=20).fit(Z[40:, columns], y[40:]).predict(Z[:40, columns])) ** 2)

    assert np.allclose(found.values, enumerated(risk, [[0], [1], [2], [3]]))
    assert found.provenance["learner"] == "Ridge"


def test_bits_do_not_depend_on_workers(data):
    one, two = (cs.shapley_net_effects(None, *data, folds=2, n_jobs=jobs, rng=7) for jobs in (1, 2))
    assert one.values.tobytes() == two.values.tobytes()
    assert one.target("rows").std_error.tobytes() == two.target("rows").std_error.tobytes()


@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_least_squares_are_those_of_scikit_learn(seed, shape, is_weighted):
    rng = np.random.default_rng(seed)
    X, y, weights = rng.normal(size=(50, 3)) + 5, rng.normal(size=(50, *shape)), rng.random(50)
    given = {"sample_weight": weights} if is_weighted else {}
    ours, theirs = (learner.fit(X, y, **given).predict(X) for learner in (LeastSquares(), LinearRegression()))
    assert np.allclose(ours, theirs)


# designs


def test_numbers_of_a_design_are_centred_and_scaled_by_mass_and_constants_are_zero(seed):
    rng = np.random.default_rng(seed)
    codes = np.column_stack(
        [rng.normal(size=50) * 1e8 + 1e9, np.full(50, 0.1), rng.integers(3, size=50), rng.random(50)]
    )
    codes[::7, 3] = np.nan
    mass = rng.random(50) * (np.arange(50) < 40)
    matrix, owner = linear_design(codes, np.array([True, True, False, True]), mass / mass.sum())
    assert owner.tolist() == [0, 1, 2, 2, 2, 3, 3]
    assert not matrix[:, 1].any()
    assert sorted(matrix[:, 2:5].T.tolist()) == sorted((codes[:, 2] == k).astype(float).tolist() for k in range(3))
    assert np.array_equal(matrix[:, 6], np.isnan(codes[:, 3]))
    assert not matrix[::7, 5].any()
    for column, rows in ((0, np.ones(50, dtype=bool)), (5, ~np.isnan(codes[:, 3]))):
        weights = mass * rows / (mass * rows).sum()
        assert weights @ matrix[:, column] == pytest.approx(0, abs=1e-9)
        assert weights @ matrix[:, column] ** 2 == pytest.approx(1)


def test_columns_that_are_constant_where_they_are_fitted_have_no_coefficient(seed):
    X = np.random.default_rng(seed).normal(size=(97, 2))
    X[:, 1] = 0.1 + 1e-17
    fitted = LeastSquares().fit(X[:, 1:], X[:, 0])
    assert fitted.predict(np.array([[1e6]])) == pytest.approx(X[:, 0].mean())


def test_numbers_kept_as_objects_are_numbers():
    X = pd.DataFrame({"a": pd.Series([1, 2.5, None], dtype=object), "b": ["x", "y", "x"]})
    schema = schema_of(X)
    codes, is_number = numeric_codes(schema, schema.encode(X, "X"))
    assert is_number.tolist() == [True, False]
    assert np.array_equal(codes[:, 0], [1, 2.5, np.nan], equal_nan=True)


def test_a_column_without_any_cell_and_a_category_of_few_rows_do_no_harm(data):
    X, y = data
    frame = pd.DataFrame({"a": X[:, 0], "none": np.full(120, np.nan), "rare": ["z"] + ["w"] * 119})
    found = cs.shapley_net_effects(None, frame, y, rng=0)
    assert np.isfinite(found.values).all()
    assert found.values[1] == pytest.approx(0, abs=1e-9)
    new = cs.shapley_net_effects(None, frame[:60], y[:60], train=(frame[60:], y[60:]), rng=0)  # "z" was not fitted on
    assert new.values[2] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("has_train", [False, True])
def test_fewer_rows_than_columns_share_no_more_than_there_is(seed, has_train):
    """Least squares on about as many columns as rows goes astray by hundreds of times the variance of y."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(10, 8)), np.arange(10.0)
    options = {"train": (X[:9], y[:9])} if has_train else {}
    found = cs.shapley_net_effects(None, X, y, rng=seed, **options)
    assert np.abs(found.values).max() < 5 * found.base
    assert any("8 columns and" in note and "ridge penalty" in note for note in found.notes)
    asked = cs.shapley_net_effects(None, X, y, learner=LinearRegression(), rng=seed, **options)
    assert not any("ridge penalty" in note for note in asked.notes)


@pytest.mark.parametrize("weighted", [False, True])
def test_shrunk_least_squares_agrees_with_ridge(data, weighted):
    X, y = data[0][:5], data[1][:5]
    weights = np.array([1.0, 2.0, 0.5, 0.0, 3.0]) if weighted else None
    mean = 1.0 if weights is None else weights.mean()
    ours = LeastSquares(penalty=2.0).fit(X, y, weights).predict(data[0])
    assert ours == pytest.approx(Ridge(alpha=2.0 * mean).fit(X, y, sample_weight=weights).predict(data[0]))


BAD = [
    (lambda X, y: {"y": None}, "y: got None"),
    (lambda X, y: {"X": np.where(X > 2, np.inf, X)}, "X: got infinite cells in column 'x"),
    (lambda X, y: {"learner": "ridge"}, "learner: got str"),
    (lambda X, y: {"learner": Ridge}, "learner: got the class Ridge"),
    (lambda X, y: {"loss": "roc_auc"}, "loss: got 'roc_auc'"),
    (lambda X, y: {"loss": "cross entropy"}, "learner: got LogisticRegression"),
    (lambda X, y: {"method": "magic"}, "method: got 'magic'"),
    (lambda X, y: {"budget": 3}, "budget: got 3 fits"),
    (lambda X, y: {"budget": -1}, "budget: got -1"),
    (lambda X, y: {"tolerance": None}, "tolerance: got None"),
    (lambda X, y: {"train": (X[:, 1:], y)}, "X: got 4 columns; wanted 3, as in train"),
    (lambda X, y: {"folds": 500}, "folds: got 500"),
    (lambda X, y: {"n_jobs": 0}, "n_jobs: got 0"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_inputs_are_refused_by_name(data, change, message):
    X, y = data
    with pytest.raises(InputError, match=message):
        cs.shapley_net_effects(**{"model": None, "X": X, "y": y, **change(X, y)})


def test_tables_of_very_many_categories_are_refused(monkeypatch):
    monkeypatch.setattr("clarysage._measures.linear_design.MAX_CELLS", 1000)
    X = pd.DataFrame({"name": [f"row {i}" for i in range(40)]})
    with pytest.raises(InputError, match="X: got 40 rows of 40 columns, once each category has one"):
        cs.shapley_net_effects(None, X, np.arange(40.0))
