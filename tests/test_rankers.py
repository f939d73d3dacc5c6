"""Scores of rankers are not predictions of y: no loss of predictions is computed of them."""

from __future__ import annotations

import numpy as np
import pytest

import clarysage as cs
from clarysage.errors import InputError

GROUPS = [20] * 10


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return X, np.clip(np.round(2 + X[:, 0] + 0.3 * rng.normal(size=200)), 0, 4).astype(int)


def lightgbm_ranker(X, y):
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMRanker(n_estimators=5, verbose=-1, n_jobs=1).fit(X, y, group=GROUPS)


def lightgbm_booster(X, y):
    return lightgbm_ranker(X, y).booster_


def lightgbm_model(X, y):
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMModel(objective="xendcg", n_estimators=5, verbose=-1, n_jobs=1)
    return model.fit(X, y, group=GROUPS)


def pipeline(X, y):
    pipelines = pytest.importorskip("sklearn.pipeline")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    lightgbm = pytest.importorskip("lightgbm")
    steps = pipelines.make_pipeline(preprocessing.StandardScaler(), lightgbm.LGBMRanker(n_estimators=5, verbose=-1))
    return steps.fit(X, y, lgbmranker__group=GROUPS)


def xgboost_ranker(X, y):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBRanker(n_estimators=5, n_jobs=1).fit(X, y, group=GROUPS)


def xgboost_booster(X, y):
    return xgboost_ranker(X, y).get_booster()


def catboost_ranker(X, y):
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRanker(iterations=5, verbose=False, thread_count=1, allow_writing_files=False)
    return model.fit(X, y, group_id=np.repeat(np.arange(10), 20))


RANKERS = [
    pytest.param(lightgbm_ranker, marks=pytest.mark.needs("lightgbm")),
    pytest.param(lightgbm_booster, marks=pytest.mark.needs("lightgbm")),
    pytest.param(lightgbm_model, marks=pytest.mark.needs("lightgbm")),
    pytest.param(pipeline, marks=[pytest.mark.needs("lightgbm"), pytest.mark.needs("sklearn")]),
    pytest.param(xgboost_ranker, marks=pytest.mark.needs("xgboost")),
    pytest.param(xgboost_booster, marks=pytest.mark.needs("xgboost")),
    pytest.param(catboost_ranker, marks=pytest.mark.needs("catboost")),
]


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("loss", ["auto", "squared error", ["absolute error", "squared error"]], ids=str)
def test_a_ranker_is_refused_with_what_to_do(ranker, loss, data):
    X, y = data
    with pytest.raises(InputError, match="a ranker") as refused:
        cs.sage(ranker(X, y), X, y, loss=loss, background=X[:50], rng=0)
    assert "leaving out y" in str(refused.value)
    assert "loss=" in str(refused.value)


@pytest.mark.needs("lightgbm")
@pytest.mark.parametrize("name", ["permutation importance", "mean importance", "mean loss shap"])
def test_so_do_the_other_measures_of_a_model(name, data):
    X, y = data
    with pytest.raises(InputError, match="a ranker"):
        cs.importance(name, lightgbm_ranker(X, y), X, y, background=X[:50], rng=0)


@pytest.mark.parametrize("ranker", RANKERS)
def test_scores_of_a_ranker_have_shapley_effects(ranker, data):
    X, y = data
    explanation = cs.sage(ranker(X, y), X, background=X[:50], rng=0)
    assert explanation.measure == "shapley effects"
    assert explanation.top(1) == [explanation.feature_names[0]]


@pytest.mark.needs("lightgbm")
def test_a_loss_of_the_user_may_score_a_ranker(data):
    X, y = data

    def misordered(relevance, scores):  # of pairs with the first example
        return ((relevance > relevance[0]) != (scores > scores[0])).astype(float)

    explanation = cs.sage(lightgbm_ranker(X, y), X, y, loss=misordered, background=X[:50], rng=0, budget=50_000)
    assert np.isfinite(explanation.values).all()
