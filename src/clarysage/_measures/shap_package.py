"""Exact Shapley values of tree models by the shap package, for the same background and the same outputs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from clarysage.games import PredictivePower
from clarysage.models import Predictor
from clarysage.protocols import ClosedFormBatch, HybridRows, OutputLoss, ability

SUM_TOLERANCE = 1e-5  # share of the largest output: shap adds up trees in single precision
EXAMPLES_AT_ONCE = 256
VISITS_AT_ONCE = 200_000  # of trees, a few seconds: shap prints a progress bar if a call takes longer


class NotForShapError(Exception):
    """Raised if shap has no exact values for the model; the message says why."""


@dataclass(frozen=True)
class ShapClosedForm:
    """Values (N, L, p) of all examples, computed by shap, as the closed form of a game."""

    values: np.ndarray
    weights: np.ndarray
    version: str
    at_once: int = EXAMPLES_AT_ONCE
    seconds: float = 0.0  # the time is already spent
    seconds_per_pair: float = 0.0
    influence: None = None
    at_least: int = 1
    short_time: float = 0.0

    @property
    def how(self) -> str:
        return f"shap {self.version} knows the values of these trees"

    @property
    def solve(self) -> Any:
        return self

    def __call__(self, examples: np.ndarray) -> ClosedFormBatch:
        parts = self.values[examples] * self.weights[examples][:, None, None]
        return ClosedFormBatch(parts.sum(axis=0), parts)


def tree_solution(model: Any, v: PredictivePower, *, max_visits: float = np.inf) -> ShapClosedForm:
    """Computes interventional Shapley values of a tree model for the outputs of a pointwise game.

    All background rows are used (by default shap samples a hundred of them). The values are accepted only if they add
    up to the predictions of the model for every example, which shows that shap explains the same outputs. Values of
    shap for probabilities of boosted trees are never used: they are values of log-odds that are rescaled for each
    background row; they add up, but are not Shapley values of probabilities. ``max_visits`` limits the product of
    examples, background rows and trees.
    """
    f_S = ability(v.restricted, HybridRows)
    if find_spec("shap") is None:
        raise NotForShapError("shap is not installed")
    if isinstance(model, Predictor):
        raise NotForShapError("a Predictor hides its model")
    if f_S is None or f_S.simulation is not None or not np.ptp(f_S.background_weights) == 0:
        raise NotForShapError("shap supports only marginal removal, with background rows of equal weight")
    if v.n_players < v.X.shape[1]:
        raise NotForShapError("shap does not support groups of features")
    if not f_S.schema.is_number.all():
        raise NotForShapError("shap requires columns of numbers")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the background is large
            shap = import_module("shap")
            masker = shap.maskers.Independent(f_S.background, max_samples=len(f_S.background))
            explainer = shap.TreeExplainer(model, masker, feature_perturbation="interventional", model_output="raw")
            visits = len(f_S.background) * len(explainer.model.trees)
            if len(v.X) * visits > max_visits:
                raise NotForShapError(f"it would evaluate trees {len(v.X) * visits:.2g} times")
            size = max(1, VISITS_AT_ONCE // visits)
            parts = [
                _rearrange(explainer.shap_values(v.X[start : start + size], check_additivity=False), v)
                for start in range(0, len(v.X), size)
            ]
            values = np.concatenate(parts)
    except NotForShapError:
        raise
    except Exception as error:  # shap raises plain Exceptions for models that it does not support
        raise NotForShapError(" ".join(str(error).split())[:200].rstrip(".")) from error
    if not _adds_up(values, v):
        raise NotForShapError("its exact values are of another output than the model's own, such as log-odds")
    return ShapClosedForm(values, v.weights, shap.__version__)


def _rearrange(raw: Any, v: PredictivePower) -> np.ndarray:
    """Rearranges the values of shap, (n, p), (n, p, k) or a list of k arrays (n, p), to (n, L, p)."""
    values = np.stack(raw, axis=-1) if isinstance(raw, list) else np.asarray(raw)
    values = values[:, :, None] if values.ndim == 2 else values
    of_output = [ability(loss, OutputLoss) for loss in v.losses]
    numbers = [0 if loss is None else loss.number for loss in of_output]
    numbers = [0] if values.shape[2] == 1 and len(numbers) == 1 else numbers  # of two classes shap may have one
    if max(numbers) >= values.shape[2]:
        raise NotForShapError(f"it explains {values.shape[2]} outputs of {v.outputs.shape[1]}")
    return np.ascontiguousarray(np.moveaxis(values[:, :, numbers], 2, 1), dtype=np.float64)


def _adds_up(values: np.ndarray, v: PredictivePower) -> bool:
    error = np.abs(values.sum(axis=2) - (v.ends[1] - v.ends[0]))
    return bool(np.isfinite(values).all() and error.max() <= SUM_TOLERANCE * np.abs(v.outputs).max())
