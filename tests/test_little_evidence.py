"""Results that rest on a single row, or on nothing, say so, and are not praised for being exact."""

from __future__ import annotations

import numpy as np
import pytest

import clarysage as cs


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, X[:, 0] + 0.1 * rng.normal(size=40)


def linear(X):
    return X[:, 0] + X[:, 1] / 2


def warned(explanation, words):
    return [note for note in explanation.notes if words in note and note.level == "warning"]


@pytest.mark.parametrize("method", ["exact", "paired walks"])
def test_a_single_row_is_no_evidence_on_others(method, data):
    X, y = data
    explanation = cs.sage(linear, X[:1], y[:1], background=X[1:], method=method, rng=0)
    assert len(warned(explanation, "X has a single row")) == 1
    assert "no sampling error" not in str(explanation)
    assert "The values are those of a single row: of other rows they say nothing." in str(explanation)


def test_a_class_of_a_single_row_is_no_evidence_on_others(data):
    X, _ = data
    model = cs.as_predictor(linear, output="sigmoid")
    single, others = cs.sage(model, X, np.arange(40) > 0, per_class=True, background=X[:9], method="exact")
    assert "The values are those of a single row" in str(single)
    assert "The values are those of a single row" not in str(others)


def test_a_background_of_a_single_row_is_pointed_out(data):
    X, y = data
    explanation = cs.sage(linear, X[1:], y[1:], background=X[:1], rng=0)
    assert len(warned(explanation, "Background: one row")) == 1
    assert not warned(cs.sage(linear, X[1:], y[1:], background=X[:1], removal="baseline", rng=0), "Background: one row")


def test_a_response_that_is_the_same_in_all_rows_is_pointed_out(data):
    X, _ = data
    assert len(warned(cs.sage(linear, X, np.full(40, 3.0), rng=0), "y is 3.0 in every row")) == 1


@pytest.mark.parametrize("y", ["given", None])
def test_a_model_that_is_the_same_for_all_rows_is_pointed_out(y, data):
    X, numbers = data
    explanation = cs.sage(lambda X: np.full(len(X), 2.0), X, numbers if y else None, background=X[:9], rng=0)
    assert len(warned(explanation, "The model predicts the same for every row")) == 1
    assert (explanation.values == 0).all()


def test_ordinary_data_have_none_of_these_warnings(data):
    X, y = data
    for explanation in (cs.sage(linear, X, y, method="exact"), cs.sage(linear, X, background=X[:9])):
        assert not [
            note
            for words in ("single row", "one row", "in every row", "every row")
            for note in warned(explanation, words)
        ]
        assert "single row" not in str(explanation)
    assert "no sampling error" in str(cs.sage(linear, X, y, method="exact"))


def test_a_single_row_that_is_its_own_background_is_named_in_the_singular(data):
    X, y = data
    notes = cs.sage(linear, X[:1], y[:1], rng=0).notes
    assert any("Background: the only row of X, since none was given" in note for note in notes)
