"""Explanations as those of shap: what base values and values add up to, and the plots that they are for."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import clarysage as cs
from clarysage.errors import MissingLibraryError

pytestmark = pytest.mark.needs("shap")


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


@pytest.fixture(name="X")
def rows(rng):
    return pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])


@pytest.fixture
def y(rng, X):
    return X["a"] - 2 * X["b"] + rng.normal(size=len(X))


@pytest.fixture
def model(X, y):
    return LinearRegression().fit(X, y)


def test_values_of_the_output_add_up_to_it_as_those_of_shap(X, model):
    theirs = cs.mean_absolute_shap(model, X, background=X).to_shap(X)
    np.testing.assert_allclose(theirs.values, model.coef_ * (X - X.mean()), atol=1e-9)  # shap's closed form
    np.testing.assert_allclose(theirs.base_values, model.predict(X).mean(), atol=1e-9)
    np.testing.assert_allclose(theirs.base_values + theirs.values.sum(axis=1), model.predict(X), atol=1e-9)
    np.testing.assert_array_equal(theirs.data, X)
    assert list(theirs.feature_names) == ["a", "b", "c"]


def test_values_of_the_loss_add_up_to_minus_the_loss(X, y, model):
    explanation = cs.mean_loss_shap(model, X, y, background=X, method="exact")
    theirs = explanation.to_shap(X)
    np.testing.assert_allclose(theirs.base_values, -((y - model.predict(X).mean()) ** 2), atol=1e-9)
    np.testing.assert_allclose(
        theirs.base_values + theirs.values.sum(axis=1), -((y - model.predict(X)) ** 2), atol=1e-9
    )
    np.testing.assert_array_equal(theirs.values, explanation.per_example)
    np.testing.assert_array_equal(theirs.error_std, explanation.per_example_error)


@pytest.mark.parametrize("name", ["sage", "permutation importance", "drop column importance", "mean importance"])
def test_values_of_features_add_up_to_minus_the_loss_of_the_model(name, X, y, model):
    explanation = cs.importance(name, model, X, y, rng=0)
    theirs = explanation.to_shap()
    np.testing.assert_array_equal(theirs.values, explanation.values)
    np.testing.assert_array_equal(theirs.error_std, explanation.target().std_error)
    loss = explanation.base - explanation.total
    assert theirs.base_values + theirs.values.sum() == pytest.approx(-loss, rel=1e-9)


def test_there_is_no_base_value_without_a_sum(X, y, model):
    classifier = LogisticRegression().fit(X, np.digitize(y, [-1, 1]))
    assert cs.mean_absolute_shap(classifier, X, rng=0).to_shap(X).base_values is None  # sums of sizes over classes
    assert cs.coefficient_size(model, X).to_shap().base_values is None


def test_columns_of_the_rows_are_those_of_the_values(X, y, model):
    explanation = cs.mean_absolute_shap(model, X, background=X)
    np.testing.assert_array_equal(explanation.to_shap(X[["c", "a", "b"]].assign(y=y)).data, X)
    np.testing.assert_array_equal(explanation.to_shap(X.to_numpy()).data, X)
    with pytest.raises(
        cs.InputError, match=r"X: got a table of shape \(39, 3\); wanted the 40 rows that were explained"
    ):
        explanation.to_shap(X[1:])
    with pytest.raises(
        cs.InputError, match=r"X: got rows for an explanation without values of single .*mean_loss_shap"
    ):
        cs.sage(model, X, y, rng=0).to_shap(X)


def test_files_and_merged_runs_keep_what_values_add_up_to(X, y, model, tmp_path):
    runs = [cs.mean_loss_shap(model, X, y, background=X, method="paired walks", walks=2, rng=k) for k in range(2)]
    runs[0].save(tmp_path / "e.json", rows=True)
    np.testing.assert_array_equal(cs.load(tmp_path / "e.json").per_example_base, runs[0].per_example_base)
    np.testing.assert_allclose(cs.merge(runs).per_example_base, runs[0].per_example_base, rtol=1e-12)
    content = json.loads((tmp_path / "e.json").read_text())
    del content["per_example_base"]
    (tmp_path / "e.json").write_text(json.dumps(content))
    old = cs.load(tmp_path / "e.json")  # as written before there was this field
    assert old.to_shap().base_values is None


@pytest.mark.parametrize("plot", ["bar", "beeswarm", "waterfall", "heatmap", "scatter"])
def test_plots_of_shap_draw_it(plot, X, y, model):
    import matplotlib.pyplot as plt
    import shap

    theirs = cs.mean_loss_shap(model, X, y, rng=0).to_shap(X)
    drawn = {"waterfall": theirs[0], "scatter": theirs[:, "a"]}.get(plot, theirs)
    getattr(shap.plots, plot)(drawn, show=False)
    assert plt.gcf().axes
    plt.close("all")
    if plot in ("bar", "waterfall"):
        getattr(shap.plots, plot)(cs.sage(model, X, y, rng=0).to_shap(), show=False, max_display=2)
        assert plt.gcf().axes
        plt.close("all")


def test_without_shap_the_error_says_how_to_install_it(X, y, model, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(MissingLibraryError, match=r"needs shap, .*pip install 'clarysage\[shap\]'"):
        cs.sage(model, X, y, rng=0).to_shap()
