"""Which features bring a model its predictive power.

>>> import clarysage as cs
>>> import numpy as np
>>> X = np.random.default_rng(0).normal(size=(100, 2))
>>> cs.sage(lambda X: X[:, 0], X, X[:, 0], rng=0).top(1)
['x0']
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# public name -> the room it lives in; rooms load on first touch
_ROOMS = {
    "sage": "measures.sage",
    "shapley_effects": "measures.shapley_effects",
    "mean_loss_shap": "measures.mean_loss_shap",
    "shapley_net_effects": "measures.shapley_net_effects",
    "feature_ablation": "measures.feature_ablation",
    "permutation_test": "measures.permutation_test",
    "conditional_permutation_test": "measures.conditional_permutation_test",
    "mean_importance": "measures.mean_importance",
    "univariate_predictors": "measures.univariate_predictors",
    "squared_correlation": "measures.squared_correlation",
    "mean_absolute_shap": "measures.mean_absolute_shap",
    "coefficient_size": "measures.coefficient_size",
    "gini_importance": "measures.gini_importance",
    "number_of_splits": "measures.number_of_splits",
    "network_weights": "measures.network_weights",
    "aggregated_saliency": "measures.aggregated_saliency",
    "importance": "measures.importance",
    "importances": "measures.importances",
    "Importances": "results",
    "game": "measures.game",
    "measures": "measures",
    "Measure": "measures.table",
    "universal_power": "measures.universal_power",
    "interactions": "measures.interactions",
    "Interactions": "results",
    "removal_quality": "measures.removal_quality",
    "RemovalQuality": "results",
    "off_manifold": "measures.off_manifold",
    "OffManifold": "removal.manifold",
    "Explanation": "results",
    "compare": "results",
    "Comparison": "results",
    "merge": "results",
    "monitor": "monitoring.monitor",
    "Monitoring": "results",
    "Agreement": "results",
    "load": "results",
    "Predictor": "models",
    "as_predictor": "models",
    "Marginal": "removal",
    "ProductOfMarginals": "removal",
    "Baseline": "removal",
    "Gaussian": "removal",
    "Copula": "removal",
    "Neighbours": "removal",
    "TreeConditional": "removal",
    "Surrogate": "removal",
    "SquaredError": "losses",
    "AbsoluteError": "losses",
    "CrossEntropy": "losses",
    "ZeroOne": "losses",
    "Brier": "losses",
    "PredictivePower": "games",
    "SingleDraws": "games",
    "TabularGame": "games",
    "UniversalPower": "games",
    "sensitivity": "games",
    "Players": "players",
    "Exact": "estimators",
    "Permutation": "estimators",
    "Kernel": "estimators",
    "PairedWalks": "estimators",
    "SurrogateWalks": "estimators",
    "Dask": "execution.dask",
    "Ray": "execution.ray",
    "Estimate": "estimate",
    "StopReason": "estimate",
    "Converged": "inference.stopping",
    "SignsKnown": "inference.decisions",
    "TopKnown": "inference.decisions",
    "Budget": "inference.stopping",
    "Deadline": "inference.stopping",
    "ClarysageError": "errors",
    "InputError": "errors",
    "ModelError": "errors",
    "WorkersLostError": "errors",
    "ClarysageWarning": "errors",
    "datasets": "datasets",
    "plots": "plots",
    "report": "report",
    "integrations": "integrations",
}

if TYPE_CHECKING:
    from clarysage import datasets, integrations, plots, report
    from clarysage.errors import ClarysageError, ClarysageWarning, InputError, ModelError, WorkersLostError
    from clarysage.estimate import Estimate, StopReason
    from clarysage.estimators import Exact, Kernel, PairedWalks, Permutation, SurrogateWalks
    from clarysage.execution.dask import Dask
    from clarysage.execution.ray import Ray
    from clarysage.games import PredictivePower, SingleDraws, TabularGame, UniversalPower, sensitivity
    from clarysage.inference.decisions import SignsKnown, TopKnown
    from clarysage.inference.stopping import Budget, Converged, Deadline
    from clarysage.losses import AbsoluteError, Brier, CrossEntropy, SquaredError, ZeroOne
    from clarysage.measures.aggregated_saliency import aggregated_saliency
    from clarysage.measures.coefficient_size import coefficient_size
    from clarysage.measures.conditional_permutation_test import conditional_permutation_test
    from clarysage.measures.feature_ablation import feature_ablation
    from clarysage.measures.game import game
    from clarysage.measures.gini_importance import gini_importance
    from clarysage.measures.importance import importance
    from clarysage.measures.importances import importances
    from clarysage.measures.interactions import interactions
    from clarysage.measures.mean_absolute_shap import mean_absolute_shap
    from clarysage.measures.mean_importance import mean_importance
    from clarysage.measures.mean_loss_shap import mean_loss_shap
    from clarysage.measures.network_weights import network_weights
    from clarysage.measures.number_of_splits import number_of_splits
    from clarysage.measures.off_manifold import off_manifold
    from clarysage.measures.permutation_test import permutation_test
    from clarysage.measures.removal_quality import removal_quality
    from clarysage.measures.sage import sage
    from clarysage.measures.shapley_effects import shapley_effects
    from clarysage.measures.shapley_net_effects import shapley_net_effects
    from clarysage.measures.squared_correlation import squared_correlation
    from clarysage.measures.table import Measure
    from clarysage.measures.univariate_predictors import univariate_predictors
    from clarysage.measures.universal_power import universal_power
    from clarysage.models import Predictor, as_predictor
    from clarysage.monitoring.monitor import monitor
    from clarysage.players import Players
    from clarysage.removal import (
        Baseline,
        Copula,
        Gaussian,
        Marginal,
        Neighbours,
        ProductOfMarginals,
        Surrogate,
        TreeConditional,
    )
    from clarysage.removal.manifold import OffManifold
    from clarysage.results import (
        Agreement,
        Comparison,
        Explanation,
        Importances,
        Interactions,
        Monitoring,
        RemovalQuality,
        compare,
        load,
        merge,
    )

__all__ = [
    "AbsoluteError",
    "Agreement",
    "Baseline",
    "Brier",
    "Budget",
    "ClarysageError",
    "ClarysageWarning",
    "Comparison",
    "Converged",
    "Copula",
    "CrossEntropy",
    "Dask",
    "Deadline",
    "Estimate",
    "Exact",
    "Explanation",
    "Gaussian",
    "Importances",
    "InputError",
    "Interactions",
    "Kernel",
    "Marginal",
    "Measure",
    "ModelError",
    "Monitoring",
    "Neighbours",
    "OffManifold",
    "PairedWalks",
    "Permutation",
    "Players",
    "PredictivePower",
    "Predictor",
    "ProductOfMarginals",
    "Ray",
    "RemovalQuality",
    "SignsKnown",
    "SingleDraws",
    "SquaredError",
    "StopReason",
    "Surrogate",
    "SurrogateWalks",
    "TabularGame",
    "TopKnown",
    "TreeConditional",
    "UniversalPower",
    "WorkersLostError",
    "ZeroOne",
    "aggregated_saliency",
    "as_predictor",
    "coefficient_size",
    "compare",
    "conditional_permutation_test",
    "datasets",
    "feature_ablation",
    "game",
    "gini_importance",
    "importance",
    "importances",
    "integrations",
    "interactions",
    "load",
    "mean_absolute_shap",
    "mean_importance",
    "mean_loss_shap",
    "measures",
    "merge",
    "monitor",
    "network_weights",
    "number_of_splits",
    "off_manifold",
    "permutation_test",
    "plots",
    "removal_quality",
    "report",
    "sage",
    "sensitivity",
    "shapley_effects",
    "shapley_net_effects",
    "squared_correlation",
    "univariate_predictors",
    "universal_power",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'clarysage' has no attribute {name!r}")
    room = import_module(f"clarysage.{_ROOMS[name]}")
    value = room if name == _ROOMS[name] else getattr(room, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROOMS])
