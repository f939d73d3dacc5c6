"""Losses by the names, metrics and scorers of other libraries: each is the loss whose mean it is, or an error."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LinearRegression, LogisticRegression

import clarysage as cs
from clarysage.catalogue import LOSSES, METRICS
from clarysage.losses import as_loss
from clarysage.registry import normalised
from tests.cli_harness import enter, error_of, run

X = np.random.default_rng(0).normal(size=(60, 3))
Y = 2 * X[:, 0] + X[:, 1]
MODEL = LinearRegression().fit(X, Y)
OF_LIBRARIES = {
    "squared error": ["mse", "MSE", "l2", "mean_squared_error", "neg_mean_squared_error", "reg:squarederror"],
    "absolute error": ["mae", "l1", "mean_absolute_error", "neg_mean_absolute_error", "reg:absoluteerror"],
    "pinball": ["quantile", "mean_pinball_loss", "reg:quantileerror"],
    "huber": ["huber"],
    "log cosh": ["logcosh"],
    "poisson deviance": ["poisson", "neg_mean_poisson_deviance", "count:poisson"],
    "gamma deviance": ["gamma", "neg_mean_gamma_deviance", "reg:gamma", "gamma-deviance"],
    "tweedie deviance": ["tweedie", "reg:tweedie", "mean_tweedie_deviance"],
    "cross entropy": [
        *("log_loss", "neg_log_loss", "logloss", "Logloss", "binary_logloss", "multi_logloss", "mlogloss"),
        *("binary:logistic", "multi:softprob", "CrossEntropy", "binary_crossentropy", "binary", "multiclass"),
    ],
    "multi label cross entropy": ["MultiLogloss"],
    "zero one": ["accuracy", "accuracy_score", "zero_one_loss", "error", "merror", "binary_error", "multi_error"],
    "brier": ["brier_score_loss", "neg_brier_score"],
    "hinge": ["hinge_loss", "binary:hinge"],
}
WITHOUT_MEAN = {
    "rmse": "squared error",
    "neg_root_mean_squared_error": "squared error",
    "r2": "squared error",
    "explained_variance": "squared error",
    "neg_median_absolute_error": "absolute error",
    "max_error": "absolute error",
    "d2_absolute_error_score": "absolute error",
    "roc_auc": "cross entropy",
    "roc_auc_ovr_weighted": "cross entropy",
    "auc": "cross entropy",
    "average_precision": "cross entropy",
    "ndcg@10": "cross entropy",
    "f1": "cross entropy",
    "precision_macro": "cross entropy",
    "matthews_corrcoef": "cross entropy",
    "balanced_accuracy": "zero one",
}
OTHER_LOSSES = {
    "mean_absolute_percentage_error": "lambda y, p",
    "neg_mean_squared_log_error": "lambda y, p",
    "top_k_accuracy": "zero one",
    "mphe": "huber",
    "poisson-nloglik": "poisson deviance",
}


@pytest.mark.parametrize(("name", "ours"), [(name, ours) for ours, names in OF_LIBRARIES.items() for name in names])
def test_names_of_other_libraries_are_understood(name, ours):
    assert as_loss(name).name == ours


def test_a_name_has_one_meaning():
    names = [normalised(name) for row in METRICS for name in row.names]
    assert len(set(names)) == len(names)
    assert not set(names) & {normalised(name) for row in LOSSES.values() for name in (row.name, *row.aliases)}


@pytest.mark.parametrize(("name", "nearest"), WITHOUT_MEAN.items())
def test_an_error_says_what_is_no_mean_over_examples_and_what_comes_nearest(name, nearest):
    with pytest.raises(cs.InputError, match=r"(no mean over|not over) examples.*wanted a loss of single") as caught:
        as_loss(name)
    assert str(caught.value).startswith(f"loss: got '{name}', ")
    assert f'loss="{nearest}"' in str(caught.value)


@pytest.mark.parametrize(("name", "nearest"), OTHER_LOSSES.items())
def test_an_error_says_what_comes_nearest_to_a_loss_that_has_no_name_here(name, nearest):
    with pytest.raises(cs.InputError, match=f"loss: got '{name}', .*{nearest}"):
        as_loss(name)


def responses(kind, rng):
    """Returns responses and predictions of 80 examples that a metric of this kind accepts."""
    if kind == "classes":
        p = rng.dirichlet(np.ones(3), size=80)
        return rng.integers(3, size=80), p
    if kind == "two classes":
        return rng.integers(2, size=80), rng.random(80)[:, None]
    if kind == "margins":
        return rng.choice([-1, 1], size=80), rng.normal(size=80)[:, None]
    return rng.gamma(2.0, size=80), rng.gamma(2.0, size=80)[:, None]


OF_SCIKIT_LEARN = {
    "mean_squared_error": "numbers",
    "mean_absolute_error": "numbers",
    "mean_pinball_loss": "numbers",
    "mean_poisson_deviance": "numbers",
    "mean_gamma_deviance": "numbers",
    "log_loss": "classes",
    "brier_score_loss": "two classes",
    "hinge_loss": "margins",
}


def mean_loss(loss, y, predictions):
    return as_loss(loss)(predictions, as_loss(loss).encode(y, None, predictions)).mean()


@pytest.mark.parametrize(("name", "kind"), OF_SCIKIT_LEARN.items())
def test_a_metric_of_scikit_learn_is_the_loss_whose_mean_it_is(name, kind, seed):
    metric = getattr(metrics, name)
    y, predictions = responses(kind, np.random.default_rng(seed))
    theirs = metric(y, predictions[:, 0] if predictions.shape[1] == 1 else predictions)
    for loss in (metric, metrics.make_scorer(metric, greater_is_better=False), metrics.make_scorer(metric), name):
        assert mean_loss(loss, y, predictions) == pytest.approx(theirs, rel=1e-10), loss


def test_accuracy_is_one_minus_the_zero_one_loss(seed):
    y, predictions = responses("classes", np.random.default_rng(seed))
    accuracy = metrics.accuracy_score(y, predictions.argmax(axis=1))
    for loss in (metrics.accuracy_score, metrics.get_scorer("accuracy"), metrics.zero_one_loss, "accuracy"):
        assert mean_loss(loss, y, predictions) == pytest.approx(1 - accuracy, rel=1e-12), loss


@pytest.mark.parametrize("name", metrics.get_scorer_names())
def test_every_scorer_of_scikit_learn_is_a_loss_or_an_error_and_so_is_its_name(name):
    try:
        loss = as_loss(name)
    except cs.InputError:
        with pytest.raises(cs.InputError, match=r"loss: got .*; wanted "):
            as_loss(metrics.get_scorer(name))
    else:
        assert as_loss(metrics.get_scorer(name)) == loss


def test_parameters_of_metrics_and_scorers_are_those_of_the_loss():
    scorer = metrics.make_scorer(metrics.mean_pinball_loss, alpha=0.9, greater_is_better=False)
    assert as_loss(scorer) == cs.Pinball(0.9)
    assert as_loss(partial(metrics.mean_pinball_loss, alpha=0.1)) == cs.Pinball(0.1)
    assert as_loss(partial(metrics.mean_tweedie_deviance, power=1.7)) == cs.TweedieDeviance(1.7)
    assert as_loss(partial(metrics.log_loss, labels=[0, 1], normalize=True)) == cs.CrossEntropy()
    with pytest.raises(cs.InputError, match=r"power: got 0.*Try loss=\"squared error\" for a power of 0"):
        as_loss(metrics.mean_tweedie_deviance)
    with pytest.raises(cs.InputError, match=r"mean_squared_error with multioutput='raw_values'; wanted .* default"):
        as_loss(partial(metrics.mean_squared_error, multioutput="raw_values"))
    with pytest.raises(cs.InputError, match=r"log_loss with sample_weight="):
        as_loss(partial(metrics.log_loss, sample_weight=np.ones(3)))


@pytest.mark.parametrize(
    "metric", [metrics.roc_auc_score, metrics.r2_score, metrics.f1_score, metrics.confusion_matrix]
)
def test_a_metric_that_is_no_mean_is_an_error_and_not_called(metric):
    with pytest.raises(cs.InputError, match=f"loss: got '{metric.__name__}'"):
        cs.sage(MODEL, X, Y, loss=metric, rng=0)


def test_a_scorer_of_ones_own_is_an_error_that_says_what_to_write():
    def own(y_true, y_pred):
        return float(np.mean((y_true - y_pred) ** 4))

    for scorer, name in ((metrics.make_scorer(own), "own"), (metrics.check_scoring(MODEL), "_PassthroughScorer")):
        with pytest.raises(cs.InputError, match=f"a scorer by {name}, .*one value for each example"):
            as_loss(scorer)
    assert as_loss(own).name == "own"


def test_a_function_of_ones_own_with_the_name_of_a_metric_is_itself():
    def mean_squared_error(y_true, y_pred):
        return (y_true - y_pred) ** 4

    assert as_loss(mean_squared_error)(np.array([[1.0]]), np.array([3.0])).tolist() == [16.0]

    def accuracy(y_true, y_pred):
        return np.abs(y_true - y_pred)

    explanation = cs.sage(MODEL, X, Y, loss=accuracy, rng=0)
    assert explanation.loss == "accuracy"
    assert "zero-one" not in str(explanation)


def test_values_are_the_same_by_any_name():
    ours = cs.sage(MODEL, X, Y, loss="squared error", rng=0)
    for loss in ("mse", "neg_mean_squared_error", metrics.mean_squared_error):
        theirs = cs.sage(MODEL, X, Y, loss=loss, rng=0)
        assert theirs.loss == "squared error"
        np.testing.assert_array_equal(theirs.values, ours.values)
    classifier = LogisticRegression().fit(X, Y > 0)
    explanations = cs.sage(classifier, X, Y > 0, loss=["neg_log_loss", "accuracy"], rng=0)
    assert [explanation.loss for explanation in explanations] == ["cross entropy", "zero one"]
    assert all(explanation.values[0] > 0 for explanation in explanations)


def test_the_command_line_knows_the_names_too(tmp_path, monkeypatch):
    (tmp_path / "plain.py").write_text("def heat(rows):\n    return rows['a']\n")
    (tmp_path / "test.csv").write_text("a,b,y\n" + "\n".join(f"{i},{i % 3},{i + 1}" for i in range(30)))
    enter(tmp_path, monkeypatch)
    arguments = ["explain", "plain:heat", "test.csv", "--target", "y", "--seed", "0"]
    assert "squared error" in run(*arguments, "--loss", "neg_mean_squared_error").stdout
    error = error_of(*arguments, "--loss", "rmse", code=2)
    assert "--loss: got 'rmse', the square root of a mean" in error
    assert '--loss "squared error"' in error
