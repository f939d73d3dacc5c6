"""Probabilities of zero: the floor is chosen from the model, every path agrees on it, and a note names the rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import clarysage as cs
import oracle
from clarysage.errors import InputError
from clarysage.losses.classification import best_probabilities


def rare_class(n, rng):
    """Features of which the first two matter, and a class of about 5 % of the rows."""
    X = rng.normal(size=(n, 5))
    return X, (rng.random(n) < 1 / (1 + np.exp(4.5 - 1.6 * X[:, 0] - 1.2 * X[:, 1]))).astype(int)


@pytest.fixture(scope="module")
def data():
    return rare_class(600, np.random.default_rng(0))


def forest(**options):
    return RandomForestClassifier(20, random_state=0, **options)


def largest_leaf(trees, X):
    """The most distinct rows that a leaf was fitted on, of trees without a bootstrap."""
    return max(np.bincount(tree.apply(X)).max() for tree in trees)


def test_the_floor_of_a_tree_or_forest_of_pure_leaves_is_half_a_row_in_the_largest_leaf(data):
    X, y = data
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert cs.as_predictor(tree).floor == 0.5 / (largest_leaf([tree], X) + 1)
    trees = ExtraTreesClassifier(20, random_state=0).fit(X, y)
    largest = largest_leaf(trees.estimators_, X.astype(np.float32))
    assert largest > 20
    assert cs.as_predictor(trees).floor == 0.5 / (largest + 1)


@pytest.mark.parametrize("k", [1, 5])
def test_the_floor_of_nearest_neighbours_is_half_a_neighbour(k, data):
    assert cs.as_predictor(KNeighborsClassifier(k).fit(*data)).floor == 0.5 / (k + 1)


MODELS = {
    "tree": DecisionTreeClassifier(random_state=0),
    "tree of mixed leaves": DecisionTreeClassifier(max_depth=3, random_state=0),
    "weighted tree": DecisionTreeClassifier(min_samples_leaf=3, class_weight="balanced", random_state=0),
    "forest": forest(),
    "forest of mixed leaves": forest(min_samples_leaf=5),
    "neighbours": KNeighborsClassifier(3),
    "bag of trees": BaggingClassifier(random_state=0),
    "bag of neighbours": BaggingClassifier(KNeighborsClassifier(4), random_state=0),
    "vote": VotingClassifier([("a", forest()), ("b", KNeighborsClassifier(4))], voting="soft"),
    "pipeline": make_pipeline(StandardScaler(), forest()),
    "search": GridSearchCV(forest(), {"max_depth": [4, None]}, cv=2),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_floor_is_below_every_probability_above_zero(name, data):
    """So that the floor changes only the losses of rows whose class the model gives no probability."""
    model = MODELS[name].fit(*data)
    outputs = model.predict_proba(np.random.default_rng(1).normal(size=(5000, 5)))
    f = cs.as_predictor(model)
    assert 1e-9 < f.floor <= 0.5 * outputs[outputs > 0].min() * (1 + 1e-9)
    assert (f(data[0][:9]) == model.predict_proba(data[0][:9])).all()


UNKNOWN = {
    "logistic": LogisticRegression(),
    "weighted neighbours": KNeighborsClassifier(4, weights="distance"),
    "vote with a logistic model": VotingClassifier([("a", forest()), ("b", LogisticRegression())], voting="soft"),
    "weighted vote": VotingClassifier([("a", forest()), ("b", forest())], voting="soft", weights=[1, 2]),
    "calibrated": CalibratedClassifierCV(forest(), cv=2),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_other_models_have_no_floor_of_their_own(name, data):
    X, y = data
    model = UNKNOWN[name].fit(X, y)
    assert cs.as_predictor(model).floor is None
    options = {"background": X[:9], "method": "permutation", "budget": 2000, "rng": 0}
    default, least = (cs.sage(model, X, y, loss=loss, **options) for loss in ("auto", cs.CrossEntropy(1e-12)))
    assert (default.values == least.values).all()
    assert "probability_floor" not in default.provenance


@pytest.mark.parametrize("method", ["exact", "paired walks", "permutation", "kernel"])
@pytest.mark.parametrize("is_native", [True, False], ids=["native", "called"])
@pytest.mark.parametrize("name", ["tree", "forest"])
def test_every_path_has_the_same_floor(name, method, is_native, data, seed):
    """Against enumeration with the floor written out; rows whose class has no probability at all are among them."""
    X, y = data
    rng = np.random.default_rng(seed)
    model = MODELS[name].fit(X[:300], y[:300])
    f = cs.as_predictor(model)
    rows = np.concatenate([300 + np.flatnonzero(y[300:])[:8], 300 + rng.choice(300, 12, replace=False)])
    x, labels, background = X[rows, :], y[rows], X[rng.choice(300, 24, replace=False)]
    assert (model.predict_proba(x)[np.arange(len(rows)), labels] == 0).any()
    truth = oracle.sage(
        model.predict_proba,
        lambda y, p: -np.log(max(p[y], f.floor)),
        x,
        labels,
        background,
        groups=[[0], [1, 2], [3, 4]],
    )
    model = f if is_native else cs.as_predictor(model.predict_proba, classes=[0, 1])
    result = cs.sage(
        model,
        x,
        labels,
        loss="cross entropy" if is_native else cs.CrossEntropy(f.floor),
        background=background,
        groups={"a": [0], "b": [1, 2], "c": [3, 4]},
        feature_names=["0", "1", "2", "3", "4"],
        method=method,
        budget=60_000,
        check_manifold=False,
        rng=seed,
    )
    assert (np.abs(result.values - truth) <= 6 * result.std_error + 1e-9).all()


@pytest.mark.parametrize("floor", [1e-12, 0.001, 0.05, 0.3])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_best_constant_is_that_of_the_bounded_loss(floor, k, seed):
    """Against a search over which classes get no probability, and over random constants."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        shares = rng.dirichlet(np.full(k, 0.4))

        def risk(p, shares=shares):
            return float(shares @ -np.log(np.maximum(p, floor)))

        best = best_probabilities(shares, floor)
        assert best.sum() == pytest.approx(1)
        candidates = [
            np.where(np.isin(np.arange(k), rest), shares, 0)
            for n in range(1, k + 1)
            for rest in combinations(range(k), n)
        ]
        candidates = [kept / kept.sum() for kept in candidates if kept.sum() > 0]
        least = min(map(risk, [*candidates, *rng.dirichlet(np.full(k, 0.4), size=300)]))
        assert risk(best) <= least + 1e-12


def test_the_best_constant_of_a_loss_with_hardly_a_floor_is_the_class_frequencies():
    target, weights = np.array([0, 1, 1, 2]), np.array([1.0, 2.0, 3.0, 4.0])
    assert (cs.CrossEntropy().best_constant(target, weights, 3) == [0.1, 0.5, 0.4]).all()
    labels = np.array([[1, 0], [0, 0], [1, 1], [1, 0]])
    assert (cs.MultiLabel().best_constant(labels, np.ones(4), 2) == [0.75, 0.25]).all()
    assert (cs.MultiLabel(floor=0.2).best_constant(labels, np.ones(4), 2) == [1, 0]).all()


def test_measures_that_start_from_a_constant_take_that_of_the_bounded_loss(data):
    X, y = data
    model = KNeighborsClassifier(5).fit(X[:300], y[:300])
    share = y[300:].mean()
    assert share < 0.5 / 6
    result = cs.mean_importance(model, X[300:], y[300:], background=X[:50], rng=0)
    assert result.base == pytest.approx(-share * np.log(0.5 / 6))


@pytest.mark.parametrize("floor", [0, 1, -0.1, 2.0])
def test_a_floor_that_is_no_probability_is_an_error(floor):
    for loss in (cs.CrossEntropy, cs.MultiLabel):
        with pytest.raises(InputError, match=r"floor: got .*; wanted a probability above 0 and below 1"):
            loss(floor=floor)


def test_a_floor_may_be_part_of_the_name(data):
    X, y = data
    model = forest().fit(X[:300], y[:300])
    by_name, by_object = (
        cs.sage(model, X[300:], y[300:], loss=loss, background=X[:20], budget=20_000, rng=0)
        for loss in ("cross entropy(0.02)", cs.CrossEntropy(floor=0.02))
    )
    assert by_name.loss == by_object.loss == "cross entropy(0.02)"
    assert (by_name.values == by_object.values).all()


def bounded_note(explanation):
    return next((note for note in explanation.notes if note.topic == "bounded losses"), None)


def test_the_note_on_bounded_losses_names_the_share_of_their_rows(data):
    X, y = data
    model = forest().fit(X[:300], y[:300])
    f, X, y, weights = cs.as_predictor(model), X[300:], y[300:], np.linspace(1, 2, 300)
    result = cs.sage(model, X, y, sample_weight=weights, background=X[:20], method="exact", check_manifold=False)
    p = model.predict_proba(X)[np.arange(300), y]
    losses = weights * -np.log(np.maximum(p, f.floor))
    of_loss = losses[p == 0].sum() / losses.sum()
    sizes = np.abs(result.parts).sum(axis=1)
    of_values = sizes[p == 0].sum() / sizes.sum()
    assert (p == 0).sum() > 1
    note = bounded_note(result)
    assert f"the true class of {(p == 0).sum()} of 300 rows a probability of zero" in note
    assert f"by a floor of {f.floor:.2g}" in note
    assert f"{100 * of_loss:.3g} % of the mean loss and for {100 * of_values:.3g} % of the sizes" in note
    assert note.level == "warning"
    assert 'loss="brier"' in note
    assert result.provenance["probability_floor"] == f.floor


def test_few_bounded_losses_of_little_weight_are_no_warning():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    y = (X[:, 0] > 0).astype(int)

    def f(Z):
        p = 1 / (1 + np.exp(-Z[:, 0]))
        p = np.where(Z[:, 1] == X[7, 1], 1.0 - y[7], p)
        return np.column_stack([1 - p, p])

    result = cs.sage(f, X, y, background=X[:20], method="exact", loss="cross entropy(0.1)", check_manifold=False)
    note = bounded_note(result)
    assert "the true class of 1 of 3,000 rows" in note
    assert note.level == "note"


@pytest.mark.statistical
def test_rows_without_probability_do_not_rule_the_values_of_a_forest(seed):
    """With a floor of 1e-12, a few rows hide what the first feature adds, and columns of noise seem to hurt."""
    z_before, z_after, noise_before, noise_after = np.zeros((4, 6))
    for run in range(6):
        rng = np.random.default_rng([seed, run])
        train, (X, y) = rare_class(2000, rng), rare_class(1000, rng)
        model = RandomForestClassifier(100, random_state=0).fit(*train)
        options = {"background": train[0][:64], "method": "exact", "check_manifold": False}
        for z, noise, loss in ((z_before, noise_before, cs.CrossEntropy(1e-12)), (z_after, noise_after, "auto")):
            result = cs.sage(model, X, y, loss=loss, **options)
            z[run] = result.target().values[0] / result.target().std_error[0]
            noise[run] = np.abs(result.values[2:]).sum()
    assert z_after.mean() > z_before.mean() + 0.7
    assert z_after.mean() > 1.7
    assert noise_before.mean() > 3 * noise_after.mean()
