"""Squared correlation: against numpy, scipy and sums by hand; intervals by how often they hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr, pointbiserialr
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression

import clarysage as cs
from clarysage.errors import InputError
from linear_laws import LinearLaw
from tests.lab.coverage import binomial_room, covers

RUNS = 300


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    n = 150
    kind = rng.choice(["red", "green", "blue"], size=n)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.exponential(size=n), "kind": pd.Categorical(kind)})
    y = X["a"].to_numpy() + 0.5 * X["b"].to_numpy() ** 2 + 2 * (kind == "red") + rng.normal(size=n)
    return X, y


def r_squared(matrix, Y, weights):
    """R^2 of weighted least squares with an intercept, summed over responses."""
    Y = np.asarray(Y, dtype=float).reshape(len(matrix), -1)
    root = np.sqrt(weights)[:, None]
    columns = np.column_stack([np.ones(len(matrix)), matrix]).astype(float)
    fitted = columns @ np.linalg.lstsq(root * columns, root * Y, rcond=1e-10)[0]
    spread = weights @ (Y - np.average(Y, axis=0, weights=weights)) ** 2
    return 1 - (weights @ (Y - fitted) ** 2).sum() / spread.sum()


def test_numbers_are_the_squares_of_numpy_and_scipy(data):
    X, y = data
    found = cs.squared_correlation(None, X[["a", "b"]], y)
    for i, name in enumerate(("a", "b")):
        assert found.values[i] == pytest.approx(np.corrcoef(X[name], y)[0, 1] ** 2)
        assert found.values[i] == pytest.approx(pearsonr(X[name], y).statistic ** 2)
    array = cs.squared_correlation(None, X[["a", "b"]].to_numpy(), y)
    assert np.allclose(array.values, found.values)
    assert array.feature_names == ("x0", "x1")


def test_closed_form_of_gaussians(seed):
    law = LinearLaw.correlated(seed)
    X, y = law.draw(5000, np.random.default_rng(seed))
    found = cs.squared_correlation(None, X, y)
    assert np.all(np.abs(found.values - law.alone / law.variance) <= 5 * found.target("rows").std_error + 5 / 5000)


def test_categories_are_the_correlation_ratio_by_hand(data):
    X, y = data
    found = cs.squared_correlation(None, X, y)
    means = pd.Series(y).groupby(X["kind"].astype(str).to_numpy()).agg(["mean", "size"])
    between = (means["size"] * (means["mean"] - y.mean()) ** 2).sum() / len(y)
    assert found.values[2] == pytest.approx(between / y.var())


def test_weights_are_as_good_as_copies(data):
    X, y = data
    times = np.random.default_rng(0).integers(0, 4, size=len(y))
    weighted = cs.squared_correlation(None, X, y, sample_weight=times)
    copied = cs.squared_correlation(None, X.iloc[np.repeat(np.arange(len(y)), times)], np.repeat(y, times))
    assert np.allclose(weighted.values, copied.values)
    covariance = np.cov(X["a"], y, fweights=times)
    assert weighted.values[0] == pytest.approx(covariance[0, 1] ** 2 / covariance[0, 0] / covariance[1, 1])
    without = cs.squared_correlation(None, X[times > 0], y[times > 0], sample_weight=times[times > 0])
    assert np.allclose(without.target("rows").std_error, weighted.target("rows").std_error)


def test_two_classes_are_the_point_biserial_correlation_and_more_add_up(data):
    X, y = data
    two = np.where(y > 1, "high", "low")
    found = cs.squared_correlation(None, X, two)
    assert found.values[0] == pytest.approx(pointbiserialr(y > 1, X["a"]).statistic ** 2)
    three = np.digitize(y, [0, 2])
    indicators = np.eye(3)[three]
    for i, name in enumerate(("a", "b")):
        truth = r_squared(X[[name]].to_numpy(), indicators, np.ones(len(y)))
        assert cs.squared_correlation(None, X, three.astype(str)).values[i] == pytest.approx(truth)
    forest = RandomForestClassifier(3, random_state=0).fit(X[["a", "b"]], three)
    of_classes = cs.squared_correlation(forest, X[["a", "b"]], three)
    assert of_classes.values[0] == pytest.approx(r_squared(X[["a"]].to_numpy(), indicators, np.ones(len(y))))
    of_numbers = cs.squared_correlation(None, X[["a", "b"]], three)
    assert of_numbers.values[0] == pytest.approx(np.corrcoef(X["a"], three)[0, 1] ** 2)


def test_classes_by_categories_are_goodman_and_kruskals_tau(data):
    X, y = data
    label = np.digitize(y, [0, 2])
    table = pd.crosstab(X["kind"].astype(str), label).to_numpy() / len(y)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    tau = ((table**2 / rows[:, None]).sum() - (columns**2).sum()) / (1 - (columns**2).sum())
    assert cs.squared_correlation(None, X, label.astype(str)).values[2] == pytest.approx(tau)


def test_several_responses_add_up(data):
    X, y = data
    Y = np.column_stack([y, 3 * X["b"]])
    found = cs.squared_correlation(None, X, Y)
    each = [cs.squared_correlation(None, X, one).values for one in Y.T]
    assert np.allclose(found.values, np.array(each).T @ Y.var(axis=0) / Y.var(axis=0).sum())


@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_group_is_r_squared_of_the_linear_model(data, is_weighted):
    X, y = data
    weights = np.random.default_rng(1).random(len(y)) if is_weighted else np.ones(len(y))
    found = cs.squared_correlation(None, X, y, groups={"both": ["a", "kind"]}, sample_weight=weights)
    matrix = np.column_stack([X["a"], pd.get_dummies(X["kind"])])
    assert found.feature_names == ("both", "b")
    assert found.values[0] == pytest.approx(r_squared(matrix, y, weights))
    twice = X.assign(again=X["a"])
    copies = cs.squared_correlation(None, twice, y, groups={"two": ["a", "again"]}, sample_weight=weights)
    alone = cs.squared_correlation(None, X, y, sample_weight=weights)
    assert copies.values[0] == pytest.approx(alone.values[0])
    one = cs.squared_correlation(None, X, y, groups={"g": ["kind"]}, sample_weight=weights)
    assert one.values[2] == pytest.approx(alone.values[2])


def test_missing_cells_are_a_category_or_a_mean_and_a_mark(data):
    X, y = data
    holes = X.copy()
    holes.loc[::5, "kind"] = None
    holes.loc[::4, "a"] = np.nan
    found = cs.squared_correlation(None, holes, y)
    marks = pd.get_dummies(holes["kind"].astype(object).fillna("?")).to_numpy(float)
    assert found.values[2] == pytest.approx(r_squared(marks, y, np.ones(len(y))))
    filled = np.column_stack([holes["a"].fillna(9.0), holes["a"].isna()])  # any number: the mark takes it up
    assert found.values[0] == pytest.approx(r_squared(filled, y, np.ones(len(y))))
    grouped = cs.squared_correlation(None, holes, y, groups={"g": ["a"]})
    assert grouped.values[0] == pytest.approx(found.values[0])


def test_constants_explain_nothing_and_are_explained_by_nothing(data):
    X, y = data
    still = X.assign(one=0.1, same="x", none=np.nan)
    found = cs.squared_correlation(None, still, y)
    assert np.array_equal(found.values[3:], [0, 0, 0]) or np.all(np.abs(found.values[3:]) < 1e-25)
    assert np.all(found.target("rows").std_error[3:] < 1e-12)
    nothing = cs.squared_correlation(None, X, np.full(len(y), 0.1))
    assert not nothing.values.any()
    assert not nothing.target("rows").std_error.any()


def test_units_and_signs_change_nothing(data):
    X, y = data
    first = cs.squared_correlation(None, X[["a", "b"]], y)
    for scale in (1e-200, 1e200, -3.0):
        moved = cs.squared_correlation(None, X[["a", "b"]] * scale, y * scale)
        assert np.allclose(moved.values, first.values)
        assert np.allclose(moved.target("rows").std_error, first.target("rows").std_error)


def test_a_line_explains_everything(data):
    X, _ = data
    found = cs.squared_correlation(None, X[["a"]], 2 * X["a"] - 3)
    assert found.values[0] == pytest.approx(1)
    assert found.target("rows").std_error[0] < 1e-9


# intervals


def test_the_standard_error_is_that_of_the_influence_function(data):
    X, y = data
    found = cs.squared_correlation(None, X[["a"]], y)
    r2 = found.values[0]
    fitted = LinearRegression().fit(X[["a"]], y).predict(X[["a"]])
    influence = ((1 - r2) * (y - y.mean()) ** 2 - (y - fitted) ** 2) / y.var()
    about = found.target("rows")
    assert abs(influence.mean()) < 1e-12
    chance = 2 * ((1 - r2) / len(y)) ** 2  # of one slope, as of chi-square
    assert about.std_error[0] == pytest.approx(np.sqrt(influence.var(ddof=1) / len(y) + chance))
    assert 1 <= about.dof[0] <= len(y) - 1


def drawn_numbers(rng, n):
    """A correlation of which the square is 0.4, of heavier tails than normal."""
    x = rng.normal(size=n)
    return x, x + np.sqrt(1.5) * rng.laplace(size=n) / np.sqrt(2), 0.4


def drawn_categories(rng, n):
    """Three categories of unlike variances."""
    kind = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    mean, noise = np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.0, 1.5])
    share = np.array([0.5, 0.3, 0.2])
    between = share @ (mean - share @ mean) ** 2
    y = mean[kind] + noise[kind] * rng.normal(size=n)
    return np.array(["u", "v", "w"])[kind], y, between / (between + share @ noise**2)


def drawn_classes(rng, n):
    """Two classes, by logistic chances of a feature of two values."""
    x = rng.integers(2, size=n).astype(float)
    y = rng.random(n) < np.where(x > 0, 0.8, 0.3)
    return x, y, 0.25 * 0.5**2 / (0.55 * 0.45)


@pytest.mark.statistical
@pytest.mark.parametrize("draw", [drawn_numbers, drawn_categories, drawn_classes])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_intervals_about_rows_hold_as_often_as_they_say(seed, draw, is_weighted):
    rng = np.random.default_rng(seed)
    intervals = []
    for _ in range(RUNS):
        x, y, truth = draw(rng, 200)
        weights = rng.uniform(0.5, 1.5, size=200) if is_weighted else None
        explanation = cs.squared_correlation(None, pd.DataFrame({"x": x}), y, sample_weight=weights)
        intervals.append(explanation.interval(about="rows"))
    assert covers(intervals, truth).mean() >= 0.95 - binomial_room(RUNS, std_errors=4)


@pytest.mark.statistical
def test_categories_that_tell_nothing_seem_to_tell_their_number_less_one_over_the_rows(seed):
    rng = np.random.default_rng(seed)
    found = [
        cs.squared_correlation(None, pd.DataFrame({"x": rng.integers(10, size=200).astype(str)}), rng.normal(size=200))
        for _ in range(RUNS)
    ]
    values = np.array([one.values[0] for one in found])
    assert abs(values.mean() - 9 / 199) <= 5 * values.std() / np.sqrt(RUNS)  # as documented


def test_a_note_tells_of_categories_that_are_many_for_so_few_rows(data):
    X, y = data
    assert cs.squared_correlation(None, X, y).notes == ()
    found = cs.squared_correlation(None, X.assign(name=[f"row {i}" for i in range(150)]), y)
    assert found.values[3] == pytest.approx(1)
    assert len(found.notes) == 1
    assert str(found.notes[0]).startswith("'name' would seem to explain 100 % by chance if it were uninformative")
    some = cs.squared_correlation(None, X.assign(name=(np.arange(150) % 16).astype(str)), y)
    assert str(some.notes[0]).startswith("'name' would seem to explain 10 %")


# what it says


def test_an_explanation_has_neither_base_nor_total(data, tmp_path):
    X, y = data
    found = cs.importance("squared correlation", None, X, y)
    assert (found.total, found.base, found.constant) == (None, None, 0.0)
    assert (found.removal, found.method, found.loss) == ("none", "closed form", "squared error")
    assert (found.fits, found.model_rows, found.draws) == (0, 0, 0)
    assert found.converged
    assert found.shown == "rows"
    assert found.power(["a", "kind"]) == pytest.approx(found.values[[0, 2]].sum())
    assert str(found).startswith("Squared correlation: the share of the variance of y")
    found.save(tmp_path / "r2.json")
    assert cs.load(tmp_path / "r2.json").to_dict() == found.to_dict()
    assert cs.squared_correlation(None, X[:1], y[:1]).shown == "data"


def test_numbers_kept_as_objects_and_names_of_ones_own(data):
    X, y = data
    objects = X[["a", "b"]].astype(object)
    found = cs.squared_correlation(None, objects, y, feature_names=["left", "right"])
    assert found.feature_names == ("left", "right")
    assert np.allclose(found.values, cs.squared_correlation(None, X[["a", "b"]], y).values)


BAD = [
    (lambda X, y: {"y": None}, "y: got None"),
    (lambda X, y: {"y": y[:-1]}, "y: got 149 responses"),
    (lambda X, y: {"y": np.array([["a", "b"]] * 150)}, r"y: got labels of shape \(150, 2\)"),
    (lambda X, y: {"y": np.array([1, "a", 2.5] * 50, dtype=object)}, "y: got labels of different kinds"),
    (lambda X, y: {"X": X.assign(b=np.inf)}, "X: got infinite cells in column 'b'"),
    (lambda X, y: {"X": np.zeros(150)}, "X: got a one-dimensional array"),
    (lambda X, y: {"sample_weight": -np.ones(150)}, "sample_weight: got negative"),
    (lambda X, y: {"groups": {"g": ["z"]}}, "groups: got 'z'"),
    (lambda X, y: {"feature_names": "abc"}, "feature_names: got 'abc'"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_inputs_are_refused_by_name(data, change, message):
    X, y = data
    with pytest.raises(InputError, match=message):
        cs.squared_correlation(**{"model": None, "X": X, "y": y, **change(X, y)})


def test_intervals_of_weak_correlations_hold_as_often_as_they_say(seed):
    rng = np.random.default_rng(seed)
    runs, n, rho = 400, 300, 0.1

    def interval():
        x = rng.normal(size=n)
        y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=n)
        return cs.squared_correlation(None, x[:, None], y).interval(about="rows")

    coverage = covers((interval() for _ in range(runs)), rho**2).mean()
    assert coverage > 0.95 - binomial_room(runs, std_errors=4)  # 0.88 without what chance adds
