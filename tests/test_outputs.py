"""What the outputs of a model are is told apart at the door: logits, numbers, probabilities of which classes."""

from __future__ import annotations

import numpy as np
import pytest

import clarysage as cs
from clarysage.errors import ModelError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    return X, X[:, 0] + 0.5 * rng.normal(size=120) > 0


def logit(X):
    return 4 * X[:, 0] + X[:, 1]


CODINGS = {
    "0 and 1": lambda y: y.astype(int),
    "0.0 and 1.0": lambda y: y.astype(float),
    "-1 and 1": lambda y: 2 * y.astype(int) - 1,
    "booleans": lambda y: y,
    "words": lambda y: np.where(y, "yes", "no"),
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("measure", [cs.sage, cs.permutation_importance, cs.mean_loss_shap])
def test_scores_of_two_classes_are_not_taken_for_a_regression(coding, measure, data):
    X, y = data
    with pytest.raises(ModelError, match=r"one output from -.* for y of two classes") as refused:
        measure(logit, X, CODINGS[coding](y), rng=0)
    assert 'as_predictor(model, output="sigmoid")' in str(refused.value)
    assert 'loss="hinge"' in str(refused.value)
    assert ('loss="squared error"' in str(refused.value)) == (coding != "words")


@pytest.mark.parametrize("remedy", ["sigmoid", "hinge", "squared error"])
def test_each_remedy_for_scores_of_two_classes_works(remedy, data):
    X, y = data
    model, options = (
        (cs.as_predictor(logit, output="sigmoid"), {}) if remedy == "sigmoid" else (logit, {"loss": remedy})
    )
    explanation = cs.sage(model, X, y.astype(int), rng=0, **options)
    assert explanation.loss == ("cross entropy" if remedy == "sigmoid" else remedy)


@pytest.mark.needs("torch")
def test_logits_of_a_module_are_not_taken_for_a_regression(data):
    torch = pytest.importorskip("torch")
    X, y = data
    module = torch.nn.Sequential(torch.nn.Linear(3, 1))
    with torch.no_grad():
        module[0].weight.copy_(torch.tensor([[4.0, 1.0, 0.0]]))
    with pytest.raises(ModelError, match="y of two classes"):
        cs.sage(module, X, y.astype(int), rng=0)


@pytest.mark.parametrize("y", [np.arange(120) % 3, np.linspace(-2, 2, 120), np.ones(120), np.repeat([2.0, 7.0], 60)])
def test_a_regression_by_an_unknown_model_is_still_one(y, data):
    assert cs.sage(logit, data[0], y, rng=0, budget=2000).loss == "squared error"


def test_outputs_in_the_range_of_minus_one_and_one_are_predictions_of_y(data):
    X, y = data
    assert cs.sage(lambda X: np.sign(X[:, 0]), X, 2 * y.astype(int) - 1, rng=0).loss == "squared error"


@pytest.mark.needs("sklearn")
def test_a_regressor_of_labels_is_still_judged_by_squared_error(data):
    linear = pytest.importorskip("sklearn.linear_model")
    X, y = data
    assert cs.sage(linear.LinearRegression().fit(X, y), X, y.astype(int), rng=0).loss == "squared error"


def three_columns(X):
    """A model of three classes; the first is equally likely everywhere, and the first feature separates the others."""
    last = 0.8 / (1 + np.exp(-3 * X[:, 0]))
    return np.column_stack([np.full(len(X), 0.2), 0.8 - last, last])


def unused_last(X):
    return three_columns(X)[:, [1, 2, 0]]


def two_of_three(X):
    return np.column_stack([np.zeros(len(X)), 1 - three_columns(X)[:, 2], three_columns(X)[:, 2]])


def warnings_of(explanation):
    return [str(note) for note in explanation.notes if note.level == "warning" and "class" in note]


def test_labels_without_the_first_class_are_warned_of(data):
    X, y = data
    explanation = cs.sage(three_columns, X, 1 + y, rng=0)
    (warning,) = warnings_of(explanation)
    assert "classes 0, 1, 2, in this order, although y has no 0" in warning
    assert "as_predictor(model, classes=" in warning
    named = cs.sage(cs.as_predictor(three_columns, classes=[0, 1, 2]), X, 1 + y, rng=0)
    assert not warnings_of(named)
    assert (named.values == explanation.values).all()


def test_labels_that_fit_the_outputs_only_if_counted_from_one_are_refused(data):
    X, y = data
    with pytest.raises(
        ModelError, match=r"labels from 1, .* a mean probability of 0\.6\d if they are of the classes from 1 to 3"
    ):
        cs.sage(unused_last, X, 1 + y, rng=0)
    assert cs.sage(cs.as_predictor(unused_last, classes=[1, 2, 3]), X, 1 + y, rng=0).values[0] > 0


def test_labels_from_one_are_refused_only_by_clear_evidence(data):
    X, y = data
    explanation = cs.sage(unused_last, X[:12], 1 + y[:12], rng=0)
    assert any("although y has no 0" in warning for warning in warnings_of(explanation))


@pytest.mark.parametrize("loss", ["auto", "brier", "zero one", "cross entropy"])
def test_a_class_of_y_without_any_probability_is_refused_if_classes_were_presumed(loss, data):
    X, y = data
    with pytest.raises(ModelError, match="the class 0, whose output is never above zero"):
        cs.sage(two_of_three, X, y.astype(int), loss=loss, rng=0)


def test_a_class_of_y_without_any_probability_is_warned_of_if_the_model_names_its_classes(data):
    X, y = data
    explanation = cs.sage(cs.as_predictor(two_of_three, classes=[0, 1, 2]), X, y.astype(int), rng=0)
    assert any("never gives the class 0 any probability" in warning for warning in warnings_of(explanation))


def test_no_warning_where_all_classes_are_known_or_plain(data):
    X, y = data
    labels = np.where(np.arange(len(X)) % 4 == 0, 0, 1 + y)
    for model in (three_columns, cs.as_predictor(three_columns, classes=[0, 1, 2])):
        assert not warnings_of(cs.sage(model, X, labels, rng=0))
    sigmoid = cs.as_predictor(logit, output="sigmoid")
    assert not warnings_of(cs.sage(sigmoid, X[y], np.ones(y.sum()), rng=0))  # two classes are 0 and 1 by convention
