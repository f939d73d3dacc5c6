"""Mean loss SHAP: SAGE values, example by example; closed forms, the paper's axioms, and errors of single examples.

A sampled value may differ from the truth by as much as happens once in a million times, by its standard error and
degrees of freedom; where errors are compared with what they are about, the tolerance comes from the scatter over runs.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import clarysage as cs
from clarysage._measures.mean_shap import mean_loss_shap
from clarysage.errors import InputError
from clarysage.inference.estimate import StopReason
from clarysage.results.files import from_plain
from oracle import predictive_power, shapley, squared_error

N, D = 24, 4


def product(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1] + np.maximum(X[:, 2], X[:, 1])


def chances(X: np.ndarray) -> np.ndarray:
    p = 1 / (1 + np.exp(-2 * product(X)))
    return np.column_stack([1 - p, p])


def three(X: np.ndarray) -> np.ndarray:
    scores = np.exp(np.column_stack([product(X), X[:, 0], X[:, 3]]))
    return scores / scores.sum(axis=1, keepdims=True)


@pytest.fixture
def data(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    return X, product(X) + 0.5 * rng.normal(size=N), rng.normal(size=(11, D))


def problem(kind: str, data: tuple) -> tuple:
    X, y, background = data
    if kind == "binary":
        return chances, X, (y > 0).astype(int), background
    if kind == "multiclass":
        return three, X, np.digitize(y, [-0.5, 0.5]), background
    return product, X, y, background


KINDS = [
    ("regression", "squared error"),
    ("regression", "absolute error"),
    ("binary", "cross entropy"),
    ("binary", "brier"),
    ("binary", "zero one"),
    ("multiclass", "cross entropy"),
]


def is_near(ours: cs.Explanation, truth: np.ndarray) -> bool:
    allowed = student.isf(5e-7, ours.dof) * ours.std_error
    return bool((np.abs(ours.values - truth) <= allowed + 1e-12 * ours.base).all())


@pytest.mark.parametrize(("kind", "loss"), KINDS)
def test_exact_means_are_sage_values(data, kind, loss):
    f, X, y, background = problem(kind, data)
    options = {"background": background, "loss": loss, "method": "exact"}
    ours, sage = mean_loss_shap(f, X, y, **options), cs.sage(f, X, y, **options)
    assert np.allclose(ours.values, sage.values, rtol=1e-12, atol=1e-14)
    assert np.allclose(ours.per_example.mean(axis=0), ours.values, rtol=1e-12, atol=1e-14)
    assert (ours.per_example_error == 0).all()
    assert ours.constant == 0
    assert ours.total == sage.total
    assert ours.targets["rows"].std_error == pytest.approx(sage.targets["rows"].std_error)


@pytest.mark.parametrize(("kind", "loss"), KINDS)
def test_sampled_means_are_sage_values_within_errors(data, kind, loss, seed):
    f, X, y, background = problem(kind, data)
    sage = cs.sage(f, X, y, background=background, loss=loss, method="exact")
    ours = mean_loss_shap(f, X, y, background=background, loss=loss, method="paired walks", tolerance=0.02, rng=seed)
    assert is_near(ours, sage.values)
    assert np.allclose(ours.per_example.mean(axis=0), ours.values, rtol=1e-9, atol=1e-12)
    assert ours.draws >= 2 * N
    assert ours.draws % N == 0


@pytest.mark.parametrize("method", ["exact", "paired walks"])
@pytest.mark.parametrize(("kind", "loss"), KINDS)
def test_values_of_an_example_add_up_to_what_its_loss_loses(data, kind, loss, method, seed):
    """Efficiency, example by example: nothing else is shared out, and nothing is kept back."""
    f, X, y, background = problem(kind, data)
    ours = mean_loss_shap(f, X, y, background=background, loss=loss, method=method, walks=2, rng=seed)
    nothing, everything = np.broadcast_to(f(background).mean(axis=0), f(X).shape), f(X)
    given = {"loss": loss, "method": "exact", "background": background}
    for x in range(0, N, 7):  # the same from a data set of one example, and by hand where the loss is a square
        alone = cs.sage(f, X[x : x + 1], y[x : x + 1], **given) if kind == "regression" else None
        if alone is not None:
            assert ours.per_example[x].sum() == pytest.approx(alone.total, abs=1e-12)
        if loss == "squared error":
            gain = (nothing[x] - y[x]) ** 2 - (everything[x] - y[x]) ** 2
            assert ours.per_example[x].sum() == pytest.approx(gain, abs=1e-12)


def test_single_examples_agree_with_plain_enumeration(data):
    """The loss of the averaged prediction, not the average of losses of single rows."""
    X, y, background = data
    ours = mean_loss_shap(product, X, y, background=background, method="exact")
    for x in range(0, N, 8):
        v = predictive_power(product, squared_error, X[x : x + 1], y[x : x + 1], background)
        assert ours.per_example[x] == pytest.approx(shapley(v, D), abs=1e-12)


@pytest.mark.parametrize("method", ["auto", "exact", "paired walks"])
def test_a_linear_model_beside_a_baseline_has_a_closed_form(data, method, seed):
    """With h_i = beta_i (x_i - b_i) and squared error an example's value is h_i (2 (y - f(b)) - sum of h)."""
    X, y, background = data
    beta, b = np.array([1.0, -2.0, 0.5, 0.0]), background[:1]
    model = LinearRegression().fit(np.eye(D), beta)
    model.coef_, model.intercept_ = beta, 0.3
    h = beta * (X - b)
    truth = h * (2 * (y - model.predict(b)) - h.sum(axis=1))[:, None]
    for f in (model, model.predict):
        ours = mean_loss_shap(f, X, y, background=b, removal="baseline", method=method, walks=2, rng=seed)
        assert ours.per_example == pytest.approx(truth, abs=1e-9)
        assert ours.values == pytest.approx(truth.mean(axis=0), abs=1e-9)


@pytest.mark.parametrize("loss", ["squared error", "absolute error"])
def test_errors_of_single_examples_are_what_they_say(data, loss, seed):
    """Squared errors over runs are the variances that the runs tell, on average."""
    X, y, background = data
    few = slice(0, 8)
    truth = mean_loss_shap(product, X[few], y[few], background=background, loss=loss, method="exact").per_example
    runs = [
        mean_loss_shap(
            product,
            X[few],
            y[few],
            background=background,
            loss=loss,
            method="paired walks",
            walks=4,
            rng=1000 * seed + run,
        )
        for run in range(80)
    ]
    told = np.array([run.per_example_error**2 for run in runs])
    off = np.array([(run.per_example - truth) ** 2 for run in runs])
    surplus = (off - told).sum(axis=(1, 2))
    sure = surplus.std(ddof=1) / np.sqrt(len(runs))
    assert sure < 0.25 * told.sum(axis=(1, 2)).mean(), "the check could not fail"
    assert abs(surplus.mean()) <= 5 * sure
    errors = np.array([run.per_example for run in runs]).mean(axis=0) - truth
    assert (np.abs(errors) <= 5.5 * np.sqrt(off.mean(axis=0) / len(runs)) + 1e-12).all()


def test_a_feature_without_effect_is_worth_nothing_to_any_example(data, seed):
    X, y, background = data
    for loss in ("squared error", "absolute error"):
        ours = mean_loss_shap(product, X, y, background=background, loss=loss, method="paired walks", walks=3, rng=seed)
        assert np.abs(ours.per_example[:, 3]).max() <= 1e-12
        assert ours.per_example_error[:, 3].max() <= 1e-12


@pytest.mark.parametrize("method", ["exact", "paired walks"])
def test_weights_weigh_means_and_not_examples(data, method, seed):
    X, y, background = data
    weights = np.random.default_rng(seed).uniform(0.5, 2, size=N)
    weights[[3, 5]] = 0
    options = {"background": background, "method": method, "rng": seed, "walks": 5}
    ours = mean_loss_shap(product, X, y, sample_weight=weights, **options)
    plain = mean_loss_shap(product, X, y, **{**options, "method": "exact"})
    assert np.isnan(ours.per_example[[3, 5]]).all()
    there = weights > 0
    mean = np.average(ours.per_example[there], axis=0, weights=weights[there])
    assert mean == pytest.approx(ours.values, abs=1e-12)
    assert is_near(ours, np.average(plain.per_example, axis=0, weights=weights))
    if method == "exact":
        assert ours.per_example[there] == pytest.approx(plain.per_example[there], abs=1e-12)


def test_groups_play_as_one(data):
    X, y, background = data
    groups = {"first": [0, 1], "rest": [2, 3]}
    ours = mean_loss_shap(product, X, y, background=background, groups=groups, method="exact")
    assert ours.feature_names == ("first", "rest")
    for x in range(0, N, 8):
        v = predictive_power(
            product, squared_error, X[x : x + 1], y[x : x + 1], background, groups=list(groups.values())
        )
        assert ours.per_example[x] == pytest.approx(shapley(v, 2), abs=1e-12)


def test_a_list_of_losses_gives_a_list(data, seed):
    X, y, background = data
    losses = ["squared error", "absolute error"]
    both = mean_loss_shap(product, X, y, background=background, loss=losses, method="paired walks", walks=6, rng=seed)
    assert [one.loss for one in both] == losses
    for one in both:
        exact = mean_loss_shap(product, X, y, background=background, loss=one.loss, method="exact")
        assert is_near(one, exact.values)
        assert one.per_example.mean(axis=0) == pytest.approx(one.values, abs=1e-12)


def test_frames_with_categories_keep_the_order_of_their_columns(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], size=80)),
            "size": rng.normal(size=80),
            "noise": rng.normal(size=80),
        }
    )
    y = np.where(frame["colour"] == "red", 2.0, 0.0) * frame["size"]
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough"),
        GradientBoostingRegressor(n_estimators=20, random_state=0),
    ).fit(frame, y)
    shuffled = frame[["noise", "colour", "size"]]
    one = mean_loss_shap(model, frame[:20], y[:20], background=frame[40:60], method="exact")
    two = mean_loss_shap(model, shuffled[:20], y[:20], background=shuffled[40:60], method="exact")
    assert two.feature_names == ("noise", "colour", "size")
    assert np.allclose(one.per_example, two.per_example[:, [1, 2, 0]], rtol=1e-12, atol=1e-14)
    sampled = mean_loss_shap(model, frame[:20], y[:20], background=frame[40:60], method="paired walks", rng=seed)
    assert is_near(sampled, one.values)


def test_known_structure_gives_the_values_of_enumeration(data):
    """Trees and linear models are solved; their examples agree with all coalitions of the same model as a function."""
    X, y, background = data
    models = (GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, y), LinearRegression().fit(X, y))
    for model in models:
        solved = mean_loss_shap(model, X, y, background=background)
        plain = mean_loss_shap(model.predict, X, y, background=background, method="exact")
        assert solved.draws == 0
        assert solved.per_example == pytest.approx(plain.per_example, abs=1e-9)


@pytest.mark.parametrize("removal", ["gaussian", "neighbours"])
def test_conditional_removals_have_the_same_identity(seed, removal):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3)) @ np.array([[1, 0.5, 0], [0, 1, 0.5], [0, 0, 1]])
    y = X @ [1.0, 0.5, -1.0]
    model = LinearRegression().fit(X, y)
    options = {"background": X[50:], "removal": removal, "rng": seed, "method": "exact"}
    ours = mean_loss_shap(model.predict, X[:15], y[:15], **options)
    assert ours.values == pytest.approx(cs.sage(model.predict, X[:15], y[:15], **options).values, abs=1e-12)
    assert ours.per_example.mean(axis=0) == pytest.approx(ours.values, abs=1e-12)


@pytest.mark.parametrize("loss", ["squared error", "absolute error"])
def test_the_answer_does_not_depend_on_the_number_of_jobs(data, loss):
    X, y, background = data
    model = RandomForestClassifier(5, random_state=0).fit(X, y > 0).predict_proba
    runs = [
        mean_loss_shap(
            lambda rows: model(rows)[:, 1],
            X,
            y,
            background=background,
            loss=loss,
            walks=40,
            rng=3,
            method="paired walks",
            n_jobs=jobs,
        )
        for jobs in (1, 2)
    ]
    for name in ("values", "std_error", "per_example", "per_example_error"):
        assert getattr(runs[0], name).tobytes() == getattr(runs[1], name).tobytes()


def test_a_budget_within_a_pass_leaves_examples_apart(data, seed):
    X, y, background = data
    exact = mean_loss_shap(product, X, y, background=background, loss="absolute error", method="exact")
    cost = 2 * (D - 1) * len(background)
    options = {"background": background, "loss": "absolute error", "method": "paired walks"}
    whole = mean_loss_shap(product, X, y, walks=9, rng=seed, **options)
    assert whole.draws == 9 * N
    spent = whole.model_rows - cost * whole.draws
    assert spent < cost
    options["tolerance"] = 1e-6
    unequal = mean_loss_shap(product, X, y, budget=spent + cost * (3 * N + 5), rng=seed, **options)
    assert unequal.draws == 3 * N + 5
    assert "3 or 4 pairs" in " ".join(map(str, unequal.notes))
    assert unequal.stopped is StopReason.BUDGET
    assert unequal.per_example.mean(axis=0) == pytest.approx(unequal.values, abs=1e-12)
    assert is_near(unequal, exact.values)

    short = mean_loss_shap(product, X, y, budget=spent + cost * (N + 7), rng=seed, **options)
    assert int(np.isnan(short.per_example_error).all(axis=1).sum()) == N - 7
    assert not np.isnan(short.per_example).any()
    assert f"{N - 7} were sampled once" in " ".join(map(str, short.notes))

    shorter = mean_loss_shap(product, X, y, budget=spent + cost * 10, rng=seed, **options)
    assert int(np.isnan(shorter.per_example).all(axis=1).sum()) == N - 10
    assert f"{N - 10} were not sampled" in " ".join(map(str, shorter.notes))
    again = from_plain(json.loads(json.dumps(shorter.to_dict(), allow_nan=False)))
    assert np.array_equal(again.per_example, shorter.per_example, equal_nan=True)


def test_walks_that_were_asked_for_are_all_that_was_wanted(data):
    X, y, background = data
    ours = mean_loss_shap(product, X, y, background=background, method="paired walks", walks=3)
    assert ours.draws == 3 * N
    assert ours.stopped.is_wanted
    assert "visited the requested number of times" in str(ours)


def test_a_loss_that_nothing_moves_is_shared_out_as_nothing(data):
    X, y, background = data
    ours = mean_loss_shap(lambda rows: np.ones(len(rows)), X, y, background=background, method="paired walks")
    assert (ours.values == 0).all()
    assert (ours.per_example == 0).all()
    assert ours.per_example.shape == (N, D)


def test_gains_and_losses_that_cancel_out_are_still_those_of_their_examples():
    X, y = np.array([[1.0, 0.0], [-1.0, 0.0]] * 40), np.array([1.0, 0.0] * 40)
    ours = mean_loss_shap(lambda rows: rows[:, 0], X, y, loss="squared error", background=X, method="paired walks")
    assert ours.converged
    assert ours.stopped is not StopReason.NO_EFFECT
    assert ours.values == pytest.approx(np.zeros(2), abs=1e-12)
    assert ours.per_example == pytest.approx(np.array([[1.0, 0.0], [-1.0, 0.0]] * 40), abs=1e-12)  # 2 x y - x^2
    assert ours.target("rows").std_error[0] == pytest.approx(1 / np.sqrt(79))


def test_one_feature_is_paid_everything(data):
    X, y, background = data
    ours = mean_loss_shap(lambda rows: rows[:, 0] ** 2, X[:, :1], y, background=background[:, :1])
    gain = ((background[:, 0] ** 2).mean() - y) ** 2 - (X[:, 0] ** 2 - y) ** 2
    assert ours.per_example[:, 0] == pytest.approx(gain, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"method": "kernel"}, "method"),
        ({"method": 3}, "method"),
        ({"walks": 1}, "walks"),
        ({"walks": 2.5}, "walks"),
        ({"walks": True}, "walks"),
        ({"tolerance": None}, "tolerance"),
        ({"loss": "no such loss"}, "loss"),
        ({"y": None}, "y"),
        ({"budget": 3, "method": "paired walks"}, "budget"),
    ],
)
def test_bad_input_is_named(data, options, argument):
    X, y, background = data
    given = {"y": y, "background": background, **options}
    with pytest.raises(InputError, match=f"^{argument}"):
        mean_loss_shap(product, X, **given)


def test_classifiers_with_labels_of_text(data, seed):
    X, y, background = data
    label = np.where(y > 0, "up", "down")
    if len(set(label)) < 2:
        label[0] = "up" if label[0] == "down" else "down"
    model = LogisticRegression().fit(X, label)
    ours = mean_loss_shap(model, X, label, background=background, rng=seed)
    sage = cs.sage(model, X, label, background=background, method="exact")
    assert is_near(ours, sage.values)


def test_a_model_that_fails_leaves_what_was_found(data):
    X, y, background = data
    calls = []

    def failing(rows):
        calls.append(len(rows))
        if sum(calls) > 60_000:
            raise RuntimeError("out of luck")
        return product(rows)

    with pytest.raises(cs.RunFailedError) as caught:
        mean_loss_shap(failing, X, y, background=background, method="paired walks", tolerance=1e-6)
    found = caught.value.partial
    assert found.stopped is StopReason.FAILED
    assert found.per_example.mean(axis=0) == pytest.approx(found.values, abs=1e-12)


def test_it_is_found_by_name(data):
    X, y, background = data
    ours = cs.importance("mean loss shap", product, X, y, background=background)
    assert ours.measure == "mean loss shap"
    assert ours.per_example.shape == (N, D)
    assert "computed for every example" in str(ours)
