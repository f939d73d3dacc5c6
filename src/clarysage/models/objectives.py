"""Table of the losses that libraries fit models with, and of the losses of clarysage that stand for them.

A loss that is the same up to a factor, or up to a number that depends on y alone, has the same importances up to that
factor. Where no loss is the same, the nearest one stands for it, and the row says how the two differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from clarysage.models.predictor import Task
from clarysage.protocols import Objective

SQUARES_OF_TREES = "leaves have the mean of y"
SHARES_OF_TREES = "leaves have the shares of classes, which minimise it"
LABELS = 'of the labels; "hinge" with the output "decision_function" for margins'
SHARES, SUMS = "y may be shares from 0 to 1", "of the probabilities, divided by their sum"
MULTI_LABEL = "for several labels, their multi-label cross entropy"
RELATIVE = "whose errors are relative to y"
OVERDISPERSED = "whose variance is larger than its mean"


@dataclass(frozen=True)
class ObjectiveRow:
    """An objective of a library, and the loss that stands for it.

    Attributes
    ----------
    name : the objective, as its library writes it
    loss : the name of the loss in the catalogue; empty where outputs are not predictions of y
    parameter : the library's parameter whose value is that of the loss
    difference : a relative clause on the objective, where the loss is only the nearest
    remark : what else is to know
    task : of models whose outputs are not predictions of y
    estimators : classes that have this objective and no other
    is_converted : whether the library predicts on another scale than y, so that its adapter converts predictions
    """

    name: str
    loss: str = ""
    parameter: str = ""
    difference: str = ""
    remark: str = ""
    task: Task | None = None
    estimators: tuple[str, ...] = ()
    is_converted: bool = False

    def objective(self, value: float | Sequence[float] | None = None, name: str = "") -> Objective:
        """Returns the objective of a model, with the value of the parameter and the name with all parameters."""
        loss, shown = self.loss, self.name
        if value is not None and self.parameter:
            values = ", ".join(
                repr(float(number)) for number in ([value] if isinstance(value, (int, float)) else value)
            )
            loss, shown = f"{self.loss}({values})", f"{self.name}({self.parameter}={values})"
        return Objective(name or shown, loss, self.difference, self.is_converted)


def unknown_objective(name: str, is_classifier: bool = False) -> Objective:
    """Returns an objective that is not in the table, with the loss that is taken for it.

    Examples
    --------
    >>> unknown_objective("my_objective").loss
    'squared error'
    """
    return Objective(name, "cross entropy" if is_classifier else "squared error", "which clarysage does not know")


def tweedie_objective(row: ObjectiveRow, power: float) -> Objective:
    """Returns the objective of a Tweedie deviance; below a power of 1, squared error stands for it.

    Examples
    --------
    >>> tweedie_objective(SCIKIT_LEARN["tweedie"], 0.0)
    Objective(name='tweedie(power=0.0)', loss='squared error', difference='', is_converted=False)
    """
    objective = row.objective(power)
    if power >= 1:
        return objective
    difference = "" if power == 0 else "whose variance does not grow with the mean"
    return Objective(objective.name, "squared error", difference)


def unpredictive_task(rows: Mapping[str, ObjectiveRow], name: Any) -> Task | None:
    """Returns the task of a model by its objective, if its outputs are not predictions of y.

    Examples
    --------
    >>> unpredictive_task(XGBOOST, "rank:ndcg"), unpredictive_task(XGBOOST, "reg:gamma")
    ('ranking', None)
    """
    return rows[name].task if isinstance(name, str) and name in rows else None


def _by_name(*rows: ObjectiveRow) -> Mapping[str, ObjectiveRow]:
    return MappingProxyType({row.name: row for row in rows})


def _without_predictions(task: Task, *names: str) -> tuple[ObjectiveRow, ...]:
    return tuple(ObjectiveRow(name, task=task) for name in names)


SCIKIT_LEARN = _by_name(
    ObjectiveRow(
        "squared_error",
        "squared error",
        estimators=(
            *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "KernelRidge"),
            *("Lars", "LarsCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "BayesianRidge", "ARDRegression"),
            *("OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV", "MultiTaskLasso", "MultiTaskLassoCV"),
            *("MultiTaskElasticNet", "MultiTaskElasticNetCV", "GaussianProcessRegressor", "IsotonicRegression"),
            *("KNeighborsRegressor", "RadiusNeighborsRegressor", "PLSRegression", "PLSCanonical", "CCA"),
        ),
    ),
    ObjectiveRow("friedman_mse", "squared error", remark=SQUARES_OF_TREES),
    ObjectiveRow("absolute_error", "absolute error"),
    ObjectiveRow("quantile", "pinball", "quantile", estimators=("QuantileRegressor",)),
    ObjectiveRow("huber", "huber", "delta", estimators=("HuberRegressor",), remark="delta is that of the fitted model"),
    ObjectiveRow("poisson", "poisson deviance", estimators=("PoissonRegressor",)),
    ObjectiveRow("gamma", "gamma deviance", estimators=("GammaRegressor",)),
    ObjectiveRow(
        "tweedie", "tweedie deviance", "power", estimators=("TweedieRegressor",), remark="squared error for power 0"
    ),
    ObjectiveRow(
        "epsilon_insensitive",
        "absolute error",
        difference="which ignores errors up to epsilon",
        estimators=("SVR", "NuSVR"),
    ),
    ObjectiveRow("squared_epsilon_insensitive", "squared error", difference="which ignores errors up to epsilon"),
    ObjectiveRow(
        "median of least-squares fits",
        "absolute error",
        difference="which is about subsets of rows",
        estimators=("TheilSenRegressor",),
    ),
    ObjectiveRow(
        "AdaBoost.R2",
        "squared error",
        difference="which is about the weights of rows",
        estimators=("AdaBoostRegressor",),
    ),
    ObjectiveRow("log_loss", "cross entropy", remark=MULTI_LABEL),
    ObjectiveRow("entropy", "cross entropy", remark=SHARES_OF_TREES),
    ObjectiveRow("gini", "cross entropy", remark=SHARES_OF_TREES),
    ObjectiveRow(
        "exponential",
        "cross entropy",
        difference="which grows exponentially with margins",
        estimators=("AdaBoostClassifier",),
    ),
    ObjectiveRow("modified_huber", "cross entropy", difference="which is quadratic in margins"),
    ObjectiveRow("hinge", "zero one", remark=LABELS, estimators=("SVC", "NuSVC")),
    ObjectiveRow("squared_hinge", "zero one", remark=LABELS),
    ObjectiveRow("perceptron", "zero one", remark=LABELS, estimators=("Perceptron",)),
)

XGBOOST = _by_name(
    ObjectiveRow("reg:squarederror", "squared error"),
    ObjectiveRow("reg:linear", "squared error"),
    ObjectiveRow("reg:squaredlogerror", "squared error", difference="whose errors are those of log(1 + y)"),
    ObjectiveRow("reg:absoluteerror", "absolute error"),
    ObjectiveRow(
        "reg:pseudohubererror", "huber", "huber_slope", difference="which changes smoothly from squares to lines"
    ),
    ObjectiveRow("reg:quantileerror", "pinball", "quantile_alpha", remark="one level, or several"),
    ObjectiveRow("count:poisson", "poisson deviance"),
    ObjectiveRow("reg:gamma", "gamma deviance"),
    ObjectiveRow("reg:tweedie", "tweedie deviance", "tweedie_variance_power"),
    ObjectiveRow("reg:logistic", "cross entropy", remark=SHARES),
    ObjectiveRow("binary:logistic", "cross entropy", remark=MULTI_LABEL),
    ObjectiveRow("binary:logitraw", "cross entropy", remark="of the probabilities", is_converted=True),
    ObjectiveRow("binary:hinge", "zero one", remark=LABELS),
    ObjectiveRow("multi:softprob", "cross entropy"),
    ObjectiveRow("multi:softmax", "cross entropy", remark="of the probabilities"),
    *_without_predictions("ranking", "rank:ndcg", "rank:map", "rank:pairwise"),
    *_without_predictions("survival", "survival:cox", "survival:aft"),
)

LIGHTGBM = _by_name(
    ObjectiveRow("regression", "squared error"),
    ObjectiveRow("regression_l1", "absolute error"),
    ObjectiveRow("huber", "huber", "alpha"),
    ObjectiveRow("fair", "huber", "fair_c", difference="which changes smoothly from squares to lines"),
    ObjectiveRow("quantile", "pinball", "alpha"),
    ObjectiveRow("mape", "absolute error", difference=RELATIVE),
    ObjectiveRow("poisson", "poisson deviance"),
    ObjectiveRow("gamma", "gamma deviance"),
    ObjectiveRow("tweedie", "tweedie deviance", "tweedie_variance_power"),
    ObjectiveRow("binary", "cross entropy"),
    ObjectiveRow("multiclass", "cross entropy"),
    ObjectiveRow("multiclassova", "cross entropy", remark=SUMS),
    ObjectiveRow("cross_entropy", "cross entropy", remark=SHARES),
    ObjectiveRow("cross_entropy_lambda", "cross entropy", remark="of the probabilities 1 - exp(-λ)", is_converted=True),
    *_without_predictions("ranking", "lambdarank", "rank_xendcg"),
)

CATBOOST = _by_name(
    ObjectiveRow("RMSE", "squared error"),
    ObjectiveRow("MultiRMSE", "squared error"),
    ObjectiveRow("MultiRMSEWithMissingValues", "squared error"),
    ObjectiveRow(
        "RMSEWithUncertainty",
        "squared error",
        difference="which also predicts a variance for each row",
        remark="of the predicted mean",
        is_converted=True,
    ),
    ObjectiveRow("RMSPE", "squared error", difference=RELATIVE),
    ObjectiveRow("Expectile", "squared error", difference="which weights errors by their sign"),
    ObjectiveRow("Lq", "absolute error", difference="which is a power of the absolute error"),
    ObjectiveRow("MAE", "absolute error"),
    ObjectiveRow("MAPE", "absolute error", difference=RELATIVE),
    ObjectiveRow("Quantile", "pinball", "alpha"),
    ObjectiveRow("MultiQuantile", "pinball", "alpha", remark="several levels"),
    ObjectiveRow(
        "LogLinQuantile", "pinball", "alpha", remark="of the exponentials, which predict y", is_converted=True
    ),
    ObjectiveRow("Huber", "huber", "delta"),
    ObjectiveRow("LogCosh", "log cosh"),
    ObjectiveRow("Poisson", "poisson deviance"),
    ObjectiveRow("Tweedie", "tweedie deviance", "variance_power"),
    ObjectiveRow("Logloss", "cross entropy"),
    ObjectiveRow("CrossEntropy", "cross entropy", remark=SHARES),
    ObjectiveRow("Focal", "cross entropy", difference="which counts probable classes less"),
    ObjectiveRow("MultiClass", "cross entropy"),
    ObjectiveRow("MultiClassOneVsAll", "cross entropy", remark=SUMS),
    ObjectiveRow("MultiLogloss", "multi label cross entropy"),
    ObjectiveRow("MultiCrossEntropy", "multi label cross entropy"),
    *_without_predictions(
        "ranking",
        *("YetiRank", "YetiRankPairwise", "PairLogit", "PairLogitPairwise", "LambdaMart", "StochasticFilter"),
        *("StochasticRank", "QueryRMSE", "QuerySoftMax", "QueryCrossEntropy", "GroupQuantile", "Combination"),
    ),
    *_without_predictions("survival", "Cox", "SurvivalAft"),
)

STATSMODELS = _by_name(
    ObjectiveRow("least squares", "squared error", estimators=("OLS", "WLS", "GLS", "GLSAR", "MixedLM")),
    ObjectiveRow("QuantReg", "pinball", "q"),
    ObjectiveRow("RLM HuberT", "huber", "t", remark="delta is t times the scale of the residuals"),
    ObjectiveRow("RLM LeastSquares", "squared error"),
    ObjectiveRow(
        "RLM", "absolute error", difference="which bounds the influence of large errors", remark="any other norm"
    ),
    ObjectiveRow("GLM Gaussian", "squared error"),
    ObjectiveRow("GLM Binomial", "cross entropy", remark=SHARES),
    ObjectiveRow("GLM Poisson", "poisson deviance"),
    ObjectiveRow("GLM Gamma", "gamma deviance"),
    ObjectiveRow("GLM InverseGaussian", "tweedie deviance", "power"),
    ObjectiveRow("GLM Tweedie", "tweedie deviance", "var_power"),
    ObjectiveRow("GLM NegativeBinomial", "poisson deviance", difference=OVERDISPERSED),
    ObjectiveRow("Poisson likelihood", "poisson deviance", estimators=("Poisson",)),
    ObjectiveRow(
        "likelihood of counts",
        "poisson deviance",
        difference=OVERDISPERSED,
        estimators=(
            *("NegativeBinomial", "NegativeBinomialP", "GeneralizedPoisson", "ZeroInflatedPoisson"),
            *("ZeroInflatedNegativeBinomialP", "ZeroInflatedGeneralizedPoisson", "HurdleCountModel"),
            *("TruncatedLFPoisson", "TruncatedLFNegativeBinomialP"),
        ),
    ),
    ObjectiveRow("likelihood of classes", "cross entropy", estimators=("Logit", "Probit", "MNLogit", "OrderedModel")),
    ObjectiveRow(
        "likelihood of shares",
        "squared error",
        difference="which is that of a beta distribution",
        estimators=("BetaModel",),
    ),
)

OBJECTIVES: Mapping[str, Mapping[str, ObjectiveRow]] = MappingProxyType(
    {
        "scikit-learn": SCIKIT_LEARN,
        "XGBoost": XGBOOST,
        "LightGBM": LIGHTGBM,
        "CatBoost": CATBOOST,
        "statsmodels": STATSMODELS,
    }
)
