"""The loss "auto" is the one that a model was fitted with; where it is only the nearest, a warning says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import ensemble, linear_model, neural_network, svm, tree
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.feature_selection import RFE
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils import all_estimators

import clarysage as cs
from clarysage.catalogue import LOSSES
from clarysage.losses import as_loss
from clarysage.models.objectives import OBJECTIVES, SCIKIT_LEARN
from clarysage.models.scikit_learn_objectives import CHOSEN_BY, INSIDE, MEMBERS, STRATEGIES

_draws = np.random.default_rng(5)
X = _draws.normal(size=(120, 3))
Y = np.exp(X[:, 0] + 0.3 * _draws.normal(size=120))  # positive
CLASSES = (Y > 1).astype(int)
SETTINGS: dict[str, Any] = {"background": X[:12], "rng": 0, "budget": 20_000}


def explained(model: Any, y: np.ndarray, table: Any = X) -> cs.Explanation:
    return cs.sage(model, table, y, **{**SETTINGS, "background": table[:12]})


def warnings_about_losses(explanation: cs.Explanation) -> list[str]:
    return [str(note) for note in explanation.notes if note.level == "warning" and "Loss" in str(note)]


# scikit-learn: name -> the model, the loss, and whether it is only the nearest

REGRESSORS: dict[str, tuple[Callable[[], Any], str | Callable[[Any], str], bool]] = {
    **{
        f"{kind.__name__} {criterion}": (
            lambda kind=kind, criterion=criterion: kind(criterion=criterion, max_depth=2),
            loss,
            False,
        )
        for kind in (tree.DecisionTreeRegressor, tree.ExtraTreeRegressor)
        for criterion, loss in {
            "squared_error": "squared error",
            "absolute_error": "absolute error",
            "poisson": "poisson deviance",
        }.items()
    },
    "forest, absolute error": (
        lambda: ensemble.RandomForestRegressor(3, criterion="absolute_error", max_depth=2, random_state=0),
        "absolute error",
        False,
    ),
    "extra trees, poisson": (
        lambda: ensemble.ExtraTreesRegressor(3, criterion="poisson", max_depth=2, random_state=0),
        "poisson deviance",
        False,
    ),
    **{
        f"histograms {loss}": (
            lambda loss=loss: ensemble.HistGradientBoostingRegressor(loss=loss, quantile=0.8, max_iter=4),
            ours,
            False,
        )
        for loss, ours in {
            "squared_error": "squared error",
            "absolute_error": "absolute error",
            "gamma": "gamma deviance",
            "poisson": "poisson deviance",
            "quantile": "pinball(0.8)",
        }.items()
    },
    **{
        f"boosting {loss}": (
            lambda loss=loss: ensemble.GradientBoostingRegressor(loss=loss, alpha=0.7, n_estimators=4),
            ours,
            False,
        )
        for loss, ours in {
            "squared_error": "squared error",
            "absolute_error": "absolute error",
            "huber": lambda model: f"huber({model._loss.closs.delta!r})",
            "quantile": "pinball(0.7)",
        }.items()
    },
    **{
        f"descent {loss}": (lambda loss=loss: linear_model.SGDRegressor(loss=loss, epsilon=0.25), ours, is_near)
        for loss, ours, is_near in (
            ("squared_error", "squared error", False),
            ("huber", "huber(0.25)", False),
            ("epsilon_insensitive", "absolute error", True),
            ("squared_epsilon_insensitive", "squared error", True),
        )
    },
    "descent without epsilon": (
        lambda: linear_model.SGDRegressor(loss="epsilon_insensitive", epsilon=0.0),
        "absolute error",
        False,
    ),
    "line": (linear_model.LinearRegression, "squared error", False),
    "Poisson": (linear_model.PoissonRegressor, "poisson deviance", False),
    "gamma": (linear_model.GammaRegressor, "gamma deviance", False),
    "Tweedie": (lambda: linear_model.TweedieRegressor(power=1.7), "tweedie deviance(1.7)", False),
    "Tweedie of power 0": (lambda: linear_model.TweedieRegressor(power=0, link="log"), "squared error", False),
    "Tweedie below 0": (lambda: linear_model.TweedieRegressor(power=-1, link="log"), "squared error", True),
    "quantile": (lambda: linear_model.QuantileRegressor(quantile=0.2, alpha=0), "pinball(0.2)", False),
    "median": (lambda: linear_model.QuantileRegressor(alpha=0), "pinball", False),
    "Huber": (linear_model.HuberRegressor, lambda model: f"huber({float(model.epsilon * model.scale_)!r})", False),
    "Theil-Sen": (lambda: linear_model.TheilSenRegressor(max_subpopulation=50), "absolute error", True),
    "RANSAC": (lambda: linear_model.RANSACRegressor(random_state=0), "squared error", False),
    "SVR": (svm.SVR, "absolute error", True),
    "NuSVR": (svm.NuSVR, "absolute error", True),
    "LinearSVR": (lambda: svm.LinearSVR(epsilon=0.1), "absolute error", True),
    "LinearSVR without epsilon": (svm.LinearSVR, "absolute error", False),
    "squared LinearSVR": (lambda: svm.LinearSVR(loss="squared_epsilon_insensitive"), "squared error", False),
    "network": (lambda: neural_network.MLPRegressor(hidden_layer_sizes=(3,), max_iter=5), "squared error", False),
    "dummy mean": (DummyRegressor, "squared error", False),
    "dummy median": (lambda: DummyRegressor(strategy="median"), "absolute error", False),
    "dummy quantile": (lambda: DummyRegressor(strategy="quantile", quantile=0.9), "pinball(0.9)", False),
    "AdaBoost": (lambda: ensemble.AdaBoostRegressor(n_estimators=3), "squared error", True),
    "bag": (lambda: ensemble.BaggingRegressor(linear_model.QuantileRegressor(quantile=0.9), 2), "pinball(0.9)", False),
    "vote": (
        lambda: ensemble.VotingRegressor([("a", linear_model.Ridge()), ("b", linear_model.Lasso())]),
        "squared error",
        False,
    ),
    "vote of two losses": (
        lambda: ensemble.VotingRegressor([("a", linear_model.Ridge()), ("b", linear_model.PoissonRegressor())]),
        "squared error",
        True,
    ),
    "stack": (
        lambda: ensemble.StackingRegressor(
            [("a", linear_model.Ridge())], linear_model.QuantileRegressor(quantile=0.9, alpha=0)
        ),
        "pinball(0.9)",
        False,
    ),
    "pipeline": (lambda: make_pipeline(StandardScaler(), linear_model.GammaRegressor()), "gamma deviance", False),
    "search of pipelines": (
        lambda: GridSearchCV(
            make_pipeline(StandardScaler(), linear_model.QuantileRegressor(alpha=0)),
            {"quantileregressor__quantile": [0.25]},
        ),
        "pinball(0.25)",
        False,
    ),
    "selection": (lambda: RFE(linear_model.PoissonRegressor(), n_features_to_select=2), "poisson deviance", False),
    # a change of the unit of y is no other loss; any other transformation is
    "not transformed": (lambda: TransformedTargetRegressor(linear_model.Ridge()), "squared error", False),
    "scaled": (
        lambda: TransformedTargetRegressor(
            linear_model.QuantileRegressor(quantile=0.9, alpha=0), transformer=StandardScaler()
        ),
        "pinball(0.9)",
        False,
    ),
    "scaled Huber": (
        lambda: TransformedTargetRegressor(
            linear_model.SGDRegressor(loss="huber", epsilon=0.25), transformer=MinMaxScaler()
        ),
        lambda model: f"huber({float(np.diff(model.transformer_.inverse_transform([[0.0], [0.25]]).ravel())[0])!r})",
        False,
    ),
    "logarithms": (
        lambda: TransformedTargetRegressor(linear_model.Ridge(), func=np.log, inverse_func=np.exp),
        "squared error",
        True,
    ),
    "logarithms behind a pipeline": (
        lambda: TransformedTargetRegressor(
            make_pipeline(StandardScaler(), linear_model.QuantileRegressor(alpha=0)), func=np.log, inverse_func=np.exp
        ),
        "pinball",
        True,
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", REGRESSORS)
def test_auto_is_the_loss_that_a_regressor_was_fitted_with(name):
    learner, loss, is_nearest = REGRESSORS[name]
    model = learner().fit(X, Y)
    loss = loss(model) if callable(loss) else loss
    explanation = explained(model, Y)
    assert explanation.loss == loss
    np.testing.assert_array_equal(explanation.values, cs.sage(model, X, Y, loss=loss, **SETTINGS).values)
    about = warnings_about_losses(explanation)
    assert len(about) == is_nearest
    assert all(f"Loss {loss!r} was chosen for this model, as the nearest to its objective" in text for text in about)


CLASSIFIERS: dict[str, tuple[Callable[[], Any], str, bool, str]] = {
    # the model, the loss, whether it is only the nearest, and the objective that a note names
    "logistic": (linear_model.LogisticRegression, "cross entropy", False, ""),
    "histograms": (lambda: ensemble.HistGradientBoostingClassifier(max_iter=4), "cross entropy", False, ""),
    "forest": (lambda: ensemble.RandomForestClassifier(3, max_depth=2), "cross entropy", False, ""),
    "tree": (lambda: tree.DecisionTreeClassifier(criterion="entropy", max_depth=2), "cross entropy", False, ""),
    "boosting": (lambda: ensemble.GradientBoostingClassifier(n_estimators=4), "cross entropy", False, ""),
    "exponential boosting": (
        lambda: ensemble.GradientBoostingClassifier(loss="exponential", n_estimators=4),
        "cross entropy",
        True,
        "exponential",
    ),
    "AdaBoost": (lambda: ensemble.AdaBoostClassifier(n_estimators=4), "cross entropy", True, "exponential"),
    "descent": (lambda: linear_model.SGDClassifier(loss="log_loss"), "cross entropy", False, ""),
    "modified Huber": (
        lambda: linear_model.SGDClassifier(loss="modified_huber"),
        "cross entropy",
        True,
        "modified_huber",
    ),
    "margins by descent": (linear_model.SGDClassifier, "zero one", False, "hinge"),
    "margins": (svm.LinearSVC, "zero one", False, "squared_hinge"),
    "kernel": (svm.SVC, "zero one", False, "hinge"),
    "perceptron": (linear_model.Perceptron, "zero one", False, "perceptron"),
    "ridge": (linear_model.RidgeClassifier, "zero one", False, ""),
    "search": (
        lambda: GridSearchCV(make_pipeline(StandardScaler(), svm.LinearSVC()), {"linearsvc__C": [0.1]}),
        "zero one",
        False,
        "squared_hinge",
    ),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_auto_is_the_loss_of_what_a_classifier_predicts(name):
    learner, loss, is_nearest, objective = CLASSIFIERS[name]
    explanation = explained(learner().fit(X, CLASSES), CLASSES)
    assert explanation.loss == loss
    assert len(warnings_about_losses(explanation)) == is_nearest
    note = next(str(note) for note in explanation.notes if "was chosen" in str(note))
    assert objective in note
    assert bool(objective) != (note == f"Loss {loss!r} was chosen for this model.")


def test_every_regressor_of_scikit_learn_is_known():
    """Else "auto" would take squared error with a warning that the objective is not known."""
    groups = (*CHOSEN_BY.values(), *INSIDE.values(), MEMBERS, ("TransformedTargetRegressor",))
    names = {name for group in groups for name in group} | {
        name for row in SCIKIT_LEARN.values() for name in row.estimators
    }
    unknown = [
        name for name, kind in all_estimators("regressor") if names.isdisjoint(base.__name__ for base in kind.__mro__)
    ]
    assert unknown == []


def test_every_objective_that_scikit_learn_accepts_is_known():
    unknown = set()
    for kind in ("regressor", "classifier"):
        for name, estimator in all_estimators(kind):
            bases = {base.__name__ for base in estimator.__mro__}
            for parameter, classes in CHOSEN_BY.items():
                if bases.isdisjoint(classes):
                    continue
                for constraint in estimator._parameter_constraints.get(parameter, []):
                    options = getattr(getattr(constraint, "constraint", constraint), "options", ())
                    unknown |= {
                        (name, option)
                        for option in options
                        if STRATEGIES.get(option, option) not in SCIKIT_LEARN and option != "constant"
                    }
    assert unknown == set()


@pytest.mark.parametrize("library", OBJECTIVES)
def test_the_table_names_losses_that_exist(library):
    for row in OBJECTIVES[library].values():
        if row.task is not None:
            assert not row.loss
            continue
        assert row.loss in LOSSES
        assert bool(row.parameter) <= bool(LOSSES[row.loss].parameter)
        assert as_loss(row.objective(0.5 if row.loss != "tweedie deviance" else 1.2).loss)


# what changes with the output, and what does not


def test_an_objective_is_about_predictions_of_the_response():
    model = ensemble.HistGradientBoostingRegressor(loss="quantile", quantile=0.8, max_iter=4).fit(X, Y)
    for f in (
        cs.as_predictor(model),
        cs.as_predictor(model, output="predict"),
        cs.as_predictor(cs.as_predictor(model)),
    ):
        assert f.facts.objective.loss == "pinball(0.8)"
    classifier = ensemble.GradientBoostingClassifier(loss="exponential", n_estimators=4).fit(X, CLASSES)
    assert cs.as_predictor(classifier, output="predict_proba").objective.name == "exponential"
    assert cs.as_predictor(classifier, output="decision_function").objective is None
    assert cs.as_predictor(classifier, output="sigmoid").objective is None
    assert explained(cs.as_predictor(classifier, output="predict"), CLASSES).loss == "zero one"


def test_classes_that_the_user_names_are_judged_as_classes():
    """A regression of zeros and ones whose predictions are probabilities."""
    model = tree.DecisionTreeRegressor(max_depth=2, min_samples_leaf=5).fit(X, CLASSES)
    assert explained(model, CLASSES).loss == "squared error"
    assert explained(cs.as_predictor(model, classes=[0, 1]), CLASSES).loss == "cross entropy"


class OwnRegressor(linear_model.QuantileRegressor):
    """A subclass has the objective of its base."""


class Constant:
    """An estimator of the user, without anything that tells its objective."""

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_) + 0.1 * np.asarray(X)[:, 0]


def test_estimators_of_the_user_have_the_objective_of_their_base_or_none():
    assert explained(OwnRegressor(quantile=0.9, alpha=0).fit(X, Y), Y).loss == "pinball(0.9)"
    explanation = explained(Constant().fit(X, Y), Y)
    assert explanation.loss == "squared error"
    assert "Loss 'squared error' was chosen for this model." in map(str, explanation.notes)


def test_an_objective_that_nobody_knows_is_named_with_the_loss_that_is_taken():
    class HalfLogLoss(type(ensemble.HistGradientBoostingRegressor().fit(X, Y)._loss)):
        """A loss object, as histogram boosting accepts them."""

    explanation = explained(ensemble.HistGradientBoostingRegressor(loss=HalfLogLoss(), max_iter=4).fit(X, Y), Y)
    assert explanation.loss == "squared error"
    assert warnings_about_losses(explanation) == [
        "Loss 'squared error' was chosen for this model, as the nearest to its objective HalfLogLoss, which clarysage "
        "does not know. Choose another one with loss=."
    ]


def test_a_response_that_a_deviance_does_not_take_is_an_error_and_no_other_loss():
    model = linear_model.PoissonRegressor().fit(X, Y)
    with pytest.raises(cs.InputError, match=r'y: got responses down to -1; wanted .* "poisson deviance"'):
        explained(model, np.where(X[:, 0] > 0, -1.0, Y))


# every measure takes the same loss


@pytest.mark.parametrize("name", ["sage", "permutation importance", "mean importance", "mean loss shap"])
def test_measures_of_a_model_take_its_loss(name):
    model = linear_model.QuantileRegressor(quantile=0.9, alpha=0).fit(X, Y)
    assert cs.importance(name, model, X, Y, background=X[:12], rng=0).loss == "pinball(0.9)"


@pytest.mark.parametrize("name", ["shapley net effects", "drop column importance"])
def test_refits_take_the_loss_of_the_learner(name):
    learner = ensemble.AdaBoostRegressor(linear_model.Ridge(), n_estimators=2, random_state=0)
    explanation = cs.importance(name, None, X, Y, learner=learner, rng=0)
    assert explanation.loss == "squared error"
    assert (
        "chosen for this learner, as the nearest to its objective AdaBoost.R2" in warnings_about_losses(explanation)[0]
    )
    learner = linear_model.QuantileRegressor(quantile=0.9, alpha=0)
    assert cs.importance(name, None, X, Y, learner=learner, rng=0).loss == "pinball(0.9)"


def test_monitoring_keeps_the_loss_that_was_chosen_for_the_reference():
    import pandas as pd

    model = ensemble.GradientBoostingRegressor(loss="huber", n_estimators=4).fit(
        pd.DataFrame(X, columns=list("abc")), Y
    )
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=Y)
    monitoring = cs.monitor(model, frame[:60], frame[60:], target="y", rng=0, budget=20_000)
    losses = {explanation.loss for explanation in monitoring.comparison.explanations}
    assert losses == {f"huber({model._loss.closs.delta!r})"}


def test_without_a_response_values_are_shapley_effects_whatever_the_objective():
    model = linear_model.QuantileRegressor(quantile=0.9, alpha=0).fit(X, Y)
    explanation = cs.sage(model, X, **SETTINGS)
    assert explanation.measure == "shapley effects"
    np.testing.assert_array_equal(explanation.values, cs.shapley_effects(model, X, **SETTINGS).values)


def test_closed_forms_are_those_of_squared_error_alone():
    squares = explained(linear_model.Ridge().fit(X, Y), Y)
    assert squares.draws == 0
    quantiles = explained(linear_model.QuantileRegressor(alpha=0).fit(X, Y), Y)
    truth = cs.sage(
        linear_model.QuantileRegressor(alpha=0).fit(X, Y), X, Y, method="exact", **{**SETTINGS, "budget": None}
    )
    assert np.all(np.abs(quantiles.values - truth.values) <= 6 * quantiles.std_error + 1e-9)


# XGBoost

COUNTED = np.digitize(Y, [0.5, 2.0])
WITH_OPTIONS: dict[str, dict[str, Any]] = {
    "reg:quantileerror": {"quantile_alpha": 0.8},
    "reg:pseudohubererror": {"huber_slope": 2.5},
    "reg:tweedie": {"tweedie_variance_power": 1.3},
    "multi:softprob": {"num_class": 3},
    "multi:softmax": {"num_class": 3},
}
XGBOOST_LOSSES = {
    "reg:quantileerror": "pinball(0.8)",
    "reg:pseudohubererror": "huber(2.5)",
    "reg:tweedie": "tweedie deviance(1.3)",
}


def xgboost_response(objective: str) -> np.ndarray:
    if objective.startswith("multi:"):
        return COUNTED
    return CLASSES if objective.startswith(("binary:", "rank:", "reg:logistic")) else Y


def xgboost_booster(objective: str, y: np.ndarray, **options: Any) -> Any:
    import xgboost

    data = xgboost.DMatrix(X, y)
    if objective.startswith("rank:"):
        data.set_group([60, 60])
    if objective == "survival:aft":
        data = xgboost.DMatrix(X, label_lower_bound=y, label_upper_bound=y)
    return xgboost.train({"objective": objective, "nthread": 1, "max_depth": 2, **options}, data, 4)


def objectives_of_xgboost() -> list[str]:
    """The names that the library lists in its error about a name that it does not know."""
    import xgboost

    with pytest.raises(xgboost.core.XGBoostError) as refused:
        xgboost_booster("no such objective", Y)
    return re.findall(r"Objective candidate: (\S+)", str(refused.value))


@pytest.mark.needs("xgboost")
def test_every_objective_that_xgboost_accepts_is_known():
    names = objectives_of_xgboost()
    assert len(names) > 10
    assert set(names) <= set(OBJECTIVES["XGBoost"])


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("objective", OBJECTIVES["XGBoost"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_auto_is_the_loss_that_a_booster_of_xgboost_was_fitted_with(objective, tmp_path):
    import xgboost

    row, y = OBJECTIVES["XGBoost"][objective], xgboost_response(objective)
    booster = xgboost_booster(objective, y, **WITH_OPTIONS.get(objective, {}))
    booster.save_model(tmp_path / "model.json")
    for model in (booster, xgboost.Booster(model_file=tmp_path / "model.json")):
        if row.task is not None:
            with pytest.raises(cs.InputError, match="not predictions of y"):
                explained(model, y)
            continue
        explanation = explained(model, y)
        assert explanation.loss == XGBOOST_LOSSES.get(objective, row.loss)
        assert len(warnings_about_losses(explanation)) == bool(row.difference)


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize(
    ("objective", "loss"),
    [
        ("reg:absoluteerror", "absolute error"),
        ("reg:quantileerror", "pinball(0.8)"),
        ("count:poisson", "poisson deviance"),
        ("reg:gamma", "gamma deviance"),
        ("reg:tweedie", "tweedie deviance(1.3)"),
        ("reg:logistic", "cross entropy"),
        ("binary:logistic", "cross entropy"),
        ("binary:hinge", "zero one"),
    ],
)
def test_auto_is_the_loss_that_a_regressor_of_xgboost_was_fitted_with(objective, loss):
    import xgboost

    options = WITH_OPTIONS.get(objective, {})
    learner = xgboost.XGBRegressor(n_estimators=4, max_depth=2, n_jobs=1, objective=objective, **options)
    y = xgboost_response(objective)
    for model in (learner, make_pipeline(StandardScaler(), learner)):
        explanation = explained(model.fit(X, y), y)
        assert explanation.loss == loss
        assert warnings_about_losses(explanation) == []


@pytest.mark.needs("xgboost")
def test_several_quantiles_of_xgboost_are_judged_each_by_its_level():
    booster = xgboost_booster("reg:quantileerror", Y, quantile_alpha=[0.1, 0.5, 0.9])
    explanation = explained(booster, Y)
    assert explanation.loss == "pinball(0.1, 0.5, 0.9)"
    expected = cs.sage(booster, X, Y, loss=cs.Pinball((0.1, 0.5, 0.9)), **SETTINGS)
    np.testing.assert_array_equal(explanation.values, expected.values)


def squares(y_true: np.ndarray, y_pred: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return y_pred - y_true, np.ones_like(y_pred)


@pytest.mark.needs("xgboost")
def test_an_objective_of_the_user_is_named_with_the_loss_that_xgboost_s_regressor_is_judged_by():
    import xgboost

    model = xgboost.XGBRegressor(n_estimators=4, max_depth=2, n_jobs=1, objective=squares).fit(X, Y)
    explanation = explained(model, Y)
    assert explanation.loss == "squared error"
    assert "its objective squares, which clarysage does not know" in warnings_about_losses(explanation)[0]


@pytest.mark.needs("xgboost")
def test_several_labels_of_xgboost_have_the_cross_entropy_of_each():
    import xgboost

    y = np.column_stack([CLASSES, X[:, 1] > 0]) * 1
    booster = xgboost_booster("binary:logistic", y)
    assert explained(booster, y).loss == "multi label cross entropy"
    model = xgboost.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1).fit(X, y)
    explanation = explained(model, y)
    assert explanation.loss == "multi label cross entropy"
    np.testing.assert_allclose(explanation.values, explained(model.get_booster(), y).values, rtol=0, atol=1e-6)


# LightGBM, which does not list its objectives

LIGHTGBM_CASES: dict[str, tuple[dict[str, Any], str]] = {
    **{name: ({"objective": name}, row.loss) for name, row in OBJECTIVES["LightGBM"].items()},
    "huber": ({"objective": "huber", "alpha": 2.5}, "huber(2.5)"),
    "fair": ({"objective": "fair", "fair_c": 3.0}, "huber(3.0)"),
    "quantile": ({"objective": "quantile", "alpha": 0.8}, "pinball(0.8)"),
    "tweedie": ({"objective": "tweedie", "tweedie_variance_power": 1.2}, "tweedie deviance(1.2)"),
    "multiclass": ({"objective": "multiclass", "num_class": 3}, "cross entropy"),
    "multiclassova": ({"objective": "multiclassova", "num_class": 3}, "cross entropy"),
    "l2_root": ({"objective": "l2_root"}, "squared error"),
    "mae": ({"objective": "mae"}, "absolute error"),
    "xentropy": ({"objective": "xentropy"}, "cross entropy"),
}


def lightgbm_response(name: str) -> np.ndarray:
    if name.startswith("multiclass"):
        return COUNTED
    return CLASSES if re.match("binary|cross_entropy|xentropy|lambdarank|rank_xendcg", name) else Y


def lightgbm_booster(options: dict[str, Any], y: np.ndarray) -> Any:
    import lightgbm

    groups = [60, 60] if options["objective"] in ("lambdarank", "rank_xendcg") else None
    quiet = {"verbose": -1, "num_threads": 1, "num_leaves": 4, "min_data_in_leaf": 5}
    return lightgbm.train({**quiet, **options}, lightgbm.Dataset(X, y, group=groups), 4)


@pytest.mark.needs("lightgbm")
@pytest.mark.parametrize("name", LIGHTGBM_CASES)
def test_auto_is_the_loss_that_a_booster_of_lightgbm_was_fitted_with(name):
    import lightgbm

    options, loss = LIGHTGBM_CASES[name]
    y = lightgbm_response(name)
    booster = lightgbm_booster(options, y)
    row = OBJECTIVES["LightGBM"].get(name)
    for model in (booster, lightgbm.Booster(model_str=booster.model_to_string())):
        if row is not None and row.task is not None:
            with pytest.raises(cs.InputError, match="a ranker, whose scores are not predictions of y"):
                explained(model, y)
            continue
        explanation = explained(model, y)
        assert explanation.loss == loss
        assert len(warnings_about_losses(explanation)) == bool(row is not None and row.difference)


@pytest.mark.needs("lightgbm")
@pytest.mark.parametrize("kind", ["quantile", "poisson", "mape", "binary", "cross_entropy"])
def test_auto_is_the_loss_that_a_regressor_of_lightgbm_was_fitted_with(kind):
    import lightgbm

    options, loss = LIGHTGBM_CASES[kind]
    model = lightgbm.LGBMRegressor(n_estimators=4, num_leaves=4, n_jobs=1, verbose=-1, **options)
    y = lightgbm_response(kind)
    assert explained(model.fit(X, y), y).loss == loss
    assert explained(make_pipeline(StandardScaler(), model).fit(X, y), y).loss == loss


@pytest.mark.needs("lightgbm")
def test_a_response_of_which_lightgbm_takes_roots_is_named():
    explanation = explained(lightgbm_booster({"objective": "regression_l1", "reg_sqrt": True}, Y), Y)
    assert explanation.loss == "absolute error"
    assert "its objective regression_l1, of the square root of y." in warnings_about_losses(explanation)[0]


@pytest.mark.needs("lightgbm")
def test_an_objective_of_the_user_is_named_with_the_loss_that_lightgbm_s_models_are_judged_by():
    import lightgbm

    model = lightgbm.LGBMRegressor(n_estimators=4, n_jobs=1, verbose=-1, objective=squares).fit(X, Y)
    for fitted, name in ((model, "squares"), (model.booster_, "custom")):
        explanation = explained(fitted, Y)
        assert explanation.loss == "squared error"
        assert f"its objective {name}, which clarysage does not know" in warnings_about_losses(explanation)[0]


@pytest.mark.needs("lightgbm")
@pytest.mark.parametrize("kind", ["Booster", "LGBMRegressor", "LGBMClassifier"])
def test_predictions_of_cross_entropy_lambda_are_probabilities(kind):
    """LightGBM predicts λ, where 1 - exp(-λ) is the probability: the logistic function of the scores."""
    import lightgbm

    options = {"objective": "cross_entropy_lambda", "n_estimators": 60, "num_leaves": 4, "n_jobs": 1, "verbose": -1}
    model = lightgbm.LGBMClassifier(**options) if kind == "LGBMClassifier" else lightgbm.LGBMRegressor(**options)
    model.fit(X, CLASSES)
    probability = 1 / (1 + np.exp(-model.booster_.predict(X, raw_score=True)))
    f = cs.as_predictor(model.booster_ if kind == "Booster" else model)
    np.testing.assert_allclose(f(X)[:, -1], probability, rtol=1e-12)
    assert abs(probability.mean() - CLASSES.mean()) < 0.02
    assert explained(f, CLASSES).loss == "cross entropy"


@pytest.mark.needs("lightgbm")
@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_shares_from_zero_to_one_are_judged_by_cross_entropy(library):
    import lightgbm
    import xgboost

    shares = Y / (1 + Y)
    learner = (
        lightgbm.LGBMRegressor(objective="cross_entropy", n_estimators=4, n_jobs=1, verbose=-1)
        if library == "lightgbm"
        else xgboost.XGBRegressor(objective="reg:logistic", n_estimators=4, n_jobs=1)
    )
    model = learner.fit(X, shares)
    explanation = explained(model, shares)
    assert explanation.loss == "cross entropy"
    p = model.predict(X).astype(float)
    full = -(shares * np.log(p) + (1 - shares) * np.log(1 - p)).mean()
    assert explanation.base - explanation.total == pytest.approx(full, rel=1e-6)  # XGBoost has single precision


# CatBoost

CATBOOST_CASES: dict[str, tuple[str, str]] = {
    **{name: (name, row.loss) for name, row in OBJECTIVES["CatBoost"].items()},
    "Quantile": ("Quantile", "pinball"),
    "Quantile of 0.8": ("Quantile:alpha=0.8", "pinball(0.8)"),
    "MultiQuantile": ("MultiQuantile:alpha=0.1,0.9", "pinball(0.1, 0.9)"),
    "LogLinQuantile": ("LogLinQuantile:alpha=0.8", "pinball(0.8)"),
    "Expectile": ("Expectile:alpha=0.3", "squared error"),
    "Expectile of 0.5": ("Expectile:alpha=0.5", "squared error"),
    "Lq": ("Lq:q=1.5", "absolute error"),
    "Lq of 1": ("Lq:q=1", "absolute error"),
    "Lq of 2": ("Lq:q=2", "squared error"),
    "Huber": ("Huber:delta=1.5", "huber(1.5)"),
    "Tweedie": ("Tweedie:variance_power=1.3", "tweedie deviance(1.3)"),
    "Focal": ("Focal:focal_alpha=0.5;focal_gamma=2", "cross entropy"),
    "StochasticRank": ("StochasticRank:metric=DCG", ""),
    "Combination": ("Combination:loss0=QueryRMSE;weight0=1.0;loss1=PairLogit;weight1=0.5", ""),
}
NOT_ON_CPU = ("QueryCrossEntropy", "Combination")


def catboost_response(loss: str) -> np.ndarray:
    if loss.startswith("MultiClass"):
        return COUNTED
    if loss.startswith("MultiRMSE"):
        return np.column_stack([Y, X[:, 1]])
    if loss in ("MultiLogloss", "MultiCrossEntropy"):
        return np.column_stack([CLASSES, X[:, 1] > 0]) * 1
    if loss == "SurvivalAft":
        return np.column_stack([Y, Y])
    is_regression = loss in OBJECTIVES["CatBoost"] and OBJECTIVES["CatBoost"][loss].task is None
    return Y if (is_regression and loss not in ("Logloss", "CrossEntropy", "Focal")) or loss == "Cox" else CLASSES


def catboost_model(loss: Any, y: np.ndarray, kind: str = "CatBoost", **options: Any) -> Any:
    import catboost

    name = loss.partition(":")[0] if isinstance(loss, str) else ""
    is_ranker = name in OBJECTIVES["CatBoost"] and OBJECTIVES["CatBoost"][name].task == "ranking"
    settings = {"iterations": 4, "depth": 2, "verbose": False, "thread_count": 1, "allow_writing_files": False}
    parameters = {"loss_function": loss, **settings, **options}
    model = catboost.CatBoost(parameters) if kind == "CatBoost" else getattr(catboost, kind)(**parameters)
    return model.fit(X, y, **({"group_id": np.repeat(np.arange(6), 20)} if is_ranker else {}))


@pytest.mark.needs("catboost")
def test_every_objective_that_catboost_accepts_is_known():
    """Its error about an unknown name lists losses and metrics; metrics are refused as objectives."""
    import catboost

    with pytest.raises(catboost.CatBoostError) as refused:
        catboost_model("no such loss", Y)
    names = re.findall(r"'(\w+)'", str(refused.value).partition("Valid options are")[2])
    assert len(names) > 40
    for name in set(names) - set(OBJECTIVES["CatBoost"]):
        if not name.startswith(("PythonUserDefined", "User")):
            with pytest.raises(catboost.CatBoostError, match=r"Unknown loss function|is not supported"):
                catboost_model(name, CLASSES)


@pytest.mark.needs("catboost")
@pytest.mark.parametrize("name", [name for name in CATBOOST_CASES if name not in NOT_ON_CPU])
def test_auto_is_the_loss_that_a_model_of_catboost_was_fitted_with(name, tmp_path):
    import catboost

    given, loss = CATBOOST_CASES[name]
    row, y = OBJECTIVES["CatBoost"][given.partition(":")[0]], catboost_response(given.partition(":")[0])
    model = catboost_model(given, y)
    model.save_model(str(tmp_path / "model.cbm"))
    for fitted in (model, catboost.CatBoost().load_model(str(tmp_path / "model.cbm"))):
        if row.task is not None:
            with pytest.raises(cs.InputError, match="not predictions of y"):
                explained(fitted, y if y.ndim == 1 else Y)
            continue
        explanation = explained(fitted, y)
        assert explanation.loss == loss
        is_same = name in ("Lq of 1", "Lq of 2", "Expectile of 0.5")
        about = warnings_about_losses(explanation)
        assert len(about) == (bool(row.difference) and not is_same)
        assert all(f"its objective {given}, {row.difference}." in text for text in about)


@pytest.mark.needs("catboost")
@pytest.mark.parametrize("kind", ["CatBoostRegressor", "pipeline", "search"])
def test_quantiles_of_logarithms_of_catboost_are_on_the_scale_of_y(kind):
    import catboost

    parameters = {"loss_function": "LogLinQuantile:alpha=0.8", "iterations": 60, "learning_rate": 0.3, "depth": 2}
    model: Any = catboost.CatBoostRegressor(**parameters, verbose=False, thread_count=1, allow_writing_files=False)
    if kind != "CatBoostRegressor":
        model = make_pipeline(StandardScaler(), model)
    if kind == "search":
        model = GridSearchCV(model, {"catboostregressor__depth": [2]}, cv=2)
    f = cs.as_predictor(model.fit(X, Y))
    assert abs((f(X)[:, 0] >= Y).mean() - 0.8) < 0.1
    explanation = explained(model, Y)
    assert explanation.loss == "pinball(0.8)"
    errors = Y - f(X)[:, 0]
    full = np.maximum(0.8 * errors, -0.2 * errors).mean()
    assert explanation.base - explanation.total == pytest.approx(full, rel=1e-6)


@pytest.mark.needs("catboost")
def test_of_predictions_with_uncertainty_the_mean_is_judged():
    for model in (
        catboost_model("RMSEWithUncertainty", Y, "CatBoostRegressor"),
        catboost_model("RMSEWithUncertainty", Y),
    ):
        f = cs.as_predictor(model)
        np.testing.assert_array_equal(f(X)[:, 0], model.predict(X, prediction_type="RawFormulaVal")[:, 0])
        assert f(X).shape == (len(X), 1)


@pytest.mark.needs("catboost")
@pytest.mark.parametrize("kind", ["CatBoost", "CatBoostClassifier"])
def test_labels_of_catboost_have_probabilities_that_do_not_add_up_to_one(kind):
    y = catboost_response("MultiLogloss")
    model = catboost_model("MultiLogloss", y, kind)
    f = cs.as_predictor(model)
    np.testing.assert_array_equal(f(X), model.predict(X, prediction_type="Probability"))
    explanation = explained(model, y)
    assert explanation.loss == "multi label cross entropy"
    exact = cs.sage(lambda Z: f(Z), X, y, loss="multi label cross entropy", background=X[:12], method="exact")
    assert np.all(np.abs(explanation.values - exact.values) <= 6 * explanation.std_error + 1e-6)


class Squares:
    """An objective of the user, as CatBoost takes them."""

    def calc_ders_range(self, approxes, targets, weights):
        return [(targets[row] - approxes[row], -1.0) for row in range(len(targets))]


@pytest.mark.needs("catboost")
def test_an_objective_of_the_user_is_named_with_the_loss_that_catboost_s_models_are_judged_by():
    model = catboost_model(Squares(), Y, "CatBoostRegressor", eval_metric="RMSE")
    explanation = explained(model, Y)
    assert explanation.loss == "squared error"
    assert "its objective Squares, which clarysage does not know" in warnings_about_losses(explanation)[0]


# statsmodels

WITH_CONSTANT = np.column_stack([np.ones(120), X])
COUNTS = np.random.default_rng(6).poisson(np.exp(0.5 + 0.3 * X[:, 0]))
SHARES = np.clip(Y / (1 + Y), 0.05, 0.95)


def statsmodels_glm(family: str, y: np.ndarray, **options: Any) -> Any:
    import statsmodels.api as sm

    kind = getattr(sm.families, family)
    link = {} if family in ("Gaussian", "Binomial") else {"link": sm.families.links.Log()}
    return sm.GLM(y, WITH_CONSTANT, family=kind(**link, **options)).fit()


def statsmodels_fit(name: str, y: np.ndarray, **options: Any) -> Any:
    import statsmodels.api as sm

    return getattr(sm, name)(y, WITH_CONSTANT).fit(**options)


def statsmodels_rlm(norm: str) -> Any:
    import statsmodels.api as sm

    return sm.RLM(Y, WITH_CONSTANT, M=getattr(sm.robust.norms, norm)()).fit()


def statsmodels_counts(name: str) -> Any:
    from statsmodels.discrete import count_model, discrete_model, truncated_model

    module = next(module for module in (discrete_model, count_model, truncated_model) if hasattr(module, name))
    return getattr(module, name)(COUNTS, WITH_CONSTANT).fit(disp=0, maxiter=60)


def statsmodels_beta() -> Any:
    from statsmodels.othermod.betareg import BetaModel

    return BetaModel(SHARES, WITH_CONSTANT).fit(disp=0)


def statsmodels_gee() -> Any:
    import statsmodels.api as sm

    return sm.GEE(COUNTS, WITH_CONSTANT, groups=np.arange(120) // 4, family=sm.families.Poisson()).fit()


# name -> the fit, its response, the loss, and whether it is only the nearest
Results = Callable[[], Any]
STATSMODELS: dict[str, tuple[Results, np.ndarray, str | Callable[[Any], str], bool]] = {
    **{
        name: (lambda name=name: statsmodels_fit(name, Y), Y, "squared error", False)
        for name in ("OLS", "WLS", "GLS", "GLSAR")
    },
    "QuantReg": (lambda: statsmodels_fit("QuantReg", Y, q=0.8), Y, "pinball(0.8)", False),
    "RLM": (
        lambda: statsmodels_rlm("HuberT"),
        Y,
        lambda results: f"huber({float(results.model.M.t * results.scale)!r})",
        False,
    ),
    "RLM LeastSquares": (lambda: statsmodels_rlm("LeastSquares"), Y, "squared error", False),
    "RLM TukeyBiweight": (lambda: statsmodels_rlm("TukeyBiweight"), Y, "absolute error", True),
    "GLM Gaussian": (lambda: statsmodels_glm("Gaussian", Y), Y, "squared error", False),
    "GLM Gamma": (lambda: statsmodels_glm("Gamma", Y), Y, "gamma deviance", False),
    "GLM InverseGaussian": (lambda: statsmodels_glm("InverseGaussian", Y), Y, "tweedie deviance(3.0)", False),
    "GLM Poisson": (lambda: statsmodels_glm("Poisson", COUNTS), COUNTS, "poisson deviance", False),
    "GLM Tweedie": (lambda: statsmodels_glm("Tweedie", Y, var_power=1.6), Y, "tweedie deviance(1.6)", False),
    "GLM NegativeBinomial": (
        lambda: statsmodels_glm("NegativeBinomial", COUNTS, alpha=1.0),
        COUNTS,
        "poisson deviance",
        True,
    ),
    "GLM Binomial": (lambda: statsmodels_glm("Binomial", CLASSES), CLASSES, "cross entropy", False),
    "GLM Binomial of shares": (lambda: statsmodels_glm("Binomial", SHARES), SHARES, "cross entropy", False),
    "Logit": (lambda: statsmodels_fit("Logit", CLASSES, disp=0), CLASSES, "cross entropy", False),
    "Probit": (lambda: statsmodels_fit("Probit", CLASSES, disp=0), CLASSES, "cross entropy", False),
    "MNLogit": (lambda: statsmodels_fit("MNLogit", COUNTED, disp=0), COUNTED, "cross entropy", False),
    "Poisson": (lambda: statsmodels_counts("Poisson"), COUNTS, "poisson deviance", False),
    **{
        name: (lambda name=name: statsmodels_counts(name), COUNTS, "poisson deviance", True)
        for name in (
            "NegativeBinomial",
            "NegativeBinomialP",
            "GeneralizedPoisson",
            "ZeroInflatedPoisson",
            "HurdleCountModel",
        )
    },
    "BetaModel": (statsmodels_beta, SHARES, "squared error", True),
    "GEE": (statsmodels_gee, COUNTS, "poisson deviance", False),
}


@pytest.mark.needs("statsmodels")
@pytest.mark.parametrize("name", STATSMODELS)
@pytest.mark.filterwarnings("ignore")
def test_auto_is_the_loss_that_results_of_statsmodels_were_fitted_with(name):
    fit, y, loss, is_nearest = STATSMODELS[name]
    results = fit()
    explanation = explained(results, y, WITH_CONSTANT)
    assert explanation.loss == (loss(results) if callable(loss) else loss)
    assert len(warnings_about_losses(explanation)) == is_nearest


@pytest.mark.needs("statsmodels")
def test_every_family_and_norm_of_statsmodels_is_known():
    from statsmodels.genmod import families
    from statsmodels.robust import norms

    kinds = families.Family.__subclasses__()
    of_families = {kind.__name__ for kind in kinds if kind.__module__.startswith("statsmodels.genmod.families")}
    assert len(of_families) > 5
    assert {f"GLM {name}" for name in of_families} <= set(OBJECTIVES["statsmodels"])
    assert issubclass(norms.HuberT, norms.RobustNorm)
    assert issubclass(norms.LeastSquares, norms.RobustNorm)


def test_the_loss_of_models_of_several_responses_is_that_of_each():
    both = np.column_stack([Y, Y * np.exp(X[:, 1])])
    learner = ensemble.GradientBoostingRegressor(loss="quantile", alpha=0.7, n_estimators=3)
    explanation = explained(MultiOutputRegressor(learner).fit(X, both), both)
    assert explanation.loss == "pinball(0.7)"
    different = MultiOutputRegressor(learner.set_params(loss="huber")).fit(X, both)
    explanation = explained(different, both)
    assert explanation.loss == "squared error"
    assert re.search(r"its objective huber\(.*\) and huber\(.*\), ", warnings_about_losses(explanation)[0])


# several labels

LABELS = np.column_stack([CLASSES, X[:, 1] + 0.3 * _draws.normal(size=120) > 0, X[:, 2] > 1]) * 1
OF_LABELS: dict[str, Callable[[], Any]] = {
    "tree": lambda: tree.DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": lambda: ensemble.RandomForestClassifier(4, max_depth=3, random_state=0),
    "extra trees": lambda: ensemble.ExtraTreesClassifier(4, max_depth=3, random_state=0),
    "neighbours": KNeighborsClassifier,
    "network": lambda: neural_network.MLPClassifier((3,), max_iter=20, random_state=0),
    "one each": lambda: MultiOutputClassifier(linear_model.LogisticRegression()),
    "chain": lambda: ClassifierChain(linear_model.LogisticRegression()),
    "one versus rest": lambda: OneVsRestClassifier(linear_model.LogisticRegression()),
    "pipeline": lambda: make_pipeline(StandardScaler(), ensemble.RandomForestClassifier(3, max_depth=2)),
    "search": lambda: GridSearchCV(ensemble.RandomForestClassifier(3, random_state=0), {"max_depth": [2]}, cv=2),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", OF_LABELS)
def test_several_labels_have_the_cross_entropy_of_each(name):
    model = OF_LABELS[name]().fit(X, LABELS)
    given = model.predict_proba(X)
    probabilities = np.column_stack([shares[:, 1] for shares in given]) if isinstance(given, list) else given
    f = cs.as_predictor(model)
    np.testing.assert_array_equal(f(X), probabilities)
    explanation = explained(model, LABELS)
    assert explanation.loss == "multi label cross entropy"
    assert warnings_about_losses(explanation) == []
    each = cs.sage(model, X, LABELS, loss=cs.MultiLabel.each(3), **SETTINGS)
    total = np.mean([of_label.total for of_label in each])
    assert explanation.total == pytest.approx(total, rel=1e-9)


def test_a_label_that_is_never_one_has_no_probability():
    y = LABELS * [1, 0, 1]
    model = ensemble.RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    assert (cs.as_predictor(model)(X)[:, 1] == 0).all()
    assert explained(model, y).loss == "multi label cross entropy"


def test_outputs_of_a_function_that_look_like_labels_are_judged_as_such():
    model = OF_LABELS["one versus rest"]().fit(X, LABELS)
    assert explained(lambda rows: model.predict_proba(rows), LABELS).loss == "multi label cross entropy"
    assert explained(lambda rows: model.predict_proba(rows), LABELS * 2.0).loss == "squared error"


def test_responses_of_other_values_than_zero_and_one_are_refused():
    with pytest.raises(cs.ModelError, match="with 2 responses that are not zeros and ones"):
        cs.as_predictor(tree.DecisionTreeClassifier().fit(X, np.column_stack([CLASSES, COUNTED])))
