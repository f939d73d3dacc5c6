"""Adapter of statsmodels results: linear and generalised linear models, from arrays, frames or formulas."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from clarysage.models.objectives import STATSMODELS, tweedie_objective, unknown_objective
from clarysage.models.outputs import Values, from_methods
from clarysage.models.predictor import Predictor
from clarysage.protocols import Objective
from clarysage.structure.base import Link, Structure
from clarysage.structure.linear import Linear

CLASSIFIERS = ("Logit", "Probit", "MNLogit")
LINKS: dict[str, Link] = {
    **dict.fromkeys(("OLS", "WLS", "GLS", "GLSAR", "RLM", "QuantReg"), "identity"),
    "Logit": "positive",
    "Poisson": "exponential",
    "MNLogit": "softmax",
}
LINKS_OF_FAMILIES: dict[str, Link] = {"Identity": "identity", "Log": "exponential", "Logit": "positive"}


@dataclass(frozen=True)
class StatsmodelsResults:
    """Reads the results of a fit; they expect the columns of the fit, including a constant."""

    model: Any

    def predictor(self, output: str | None) -> Predictor:
        model, fitted, kind = self.model, self.model.model, type(self.model.model).__name__
        is_classifier = kind in CLASSIFIERS or type(getattr(fitted, "family", None)).__name__ == "Binomial"
        returns: Values = "probabilities" if is_classifier else "numbers"
        count = max(np.asarray(model.params).reshape(len(model.params), -1).shape[1] + 1, 2)
        is_named = not hasattr(fitted, "formula") and hasattr(fitted.data.orig_exog, "columns")
        link = _link(fitted)
        return from_methods(
            model,
            output,
            values={"predict": returns},
            classes=tuple(range(count)) if is_classifier else None,
            task="regression",
            name=kind,
            feature_names=tuple(map(str, fitted.data.orig_exog.columns)) if is_named else None,
            containers=("pandas",) if is_named or hasattr(fitted, "formula") else (),
            structure=None if link is None else partial(_structure, model, link),
        )

    def objective(self) -> Objective | None:
        model, fitted, kind = self.model, self.model.model, type(self.model.model).__name__
        family = type(getattr(fitted, "family", None)).__name__
        if family == "Tweedie":
            return tweedie_objective(STATSMODELS["GLM Tweedie"], float(fitted.family.var_power))
        if family == "InverseGaussian":
            return STATSMODELS["GLM InverseGaussian"].objective(3.0, f"{kind} {family}")
        if family != "NoneType":
            row = STATSMODELS.get(f"GLM {family}")
            return unknown_objective(f"{kind} {family}") if row is None else row.objective(name=f"{kind} {family}")
        if kind == "RLM":
            norm = type(fitted.M).__name__
            row = STATSMODELS.get(f"RLM {norm}", STATSMODELS["RLM"])
            return row.objective(float(fitted.M.t * model.scale) if row.parameter else None, f"RLM {norm}")
        if kind == "QuantReg":
            return STATSMODELS[kind].objective(float(model.q))
        row = next((row for row in STATSMODELS.values() if kind in row.estimators), None)
        return unknown_objective(kind) if row is None else row.objective(name=kind)

    def coefficients(self) -> np.ndarray | None:
        """Returns coefficients (D, 1), or (D, K - 1) for classes compared with the first; None for formulas."""
        fitted, weights = self.model.model, np.asarray(self.model.params, dtype=np.float64)
        columns = np.asarray(getattr(fitted, "exog", None)).shape[1:]
        if hasattr(fitted, "formula") or not columns or len(weights) < columns[0]:
            return None
        return weights.reshape(len(weights), -1)[
            : columns[0]
        ]  # later parameters, such as a dispersion, are not coefficients


def _link(fitted: Any) -> Link | None:
    """Returns the link of a model; None where it is unsupported, or a formula makes the columns."""
    if hasattr(fitted, "formula"):
        return None
    if type(fitted).__name__ == "GLM":
        return LINKS_OF_FAMILIES.get(type(fitted.family.link).__name__)
    return LINKS.get(type(fitted).__name__)


def _structure(model: Any, link: Link) -> Structure:
    weights = np.asarray(model.params, dtype=np.float64).reshape(len(model.params), -1)
    if link == "softmax":  # the first class is the reference
        weights = np.column_stack([np.zeros(len(weights)), weights])
    return Structure(Linear(weights, np.zeros(weights.shape[1])), link)
