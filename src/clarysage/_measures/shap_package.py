"""The door to the shap package: exact values of tree models, beside the same background and for the same outputs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from clarysage.games import PredictivePower
from clarysage.models import Predictor
from clarysage.protocols import HybridRows, OfOutput, Solved, ability

ADDS_UP = 1e-5  # of the largest output, by which values may miss what they are to add up to: trees add in few digits
EXAMPLES_AT_ONCE = 256
VISITS_AT_ONCE = 200_000  # of trees, some seconds at most: shap prints a bar when it takes longer


class NotForShapError(Exception):
    """Values cannot be had from shap; the message says why."""


@dataclass(frozen=True)
class ShapSolution:
    """Values (N, L, p) of all examples as the solution of a game."""

    values: np.ndarray
    weights: np.ndarray
    version: str
    at_once: int = EXAMPLES_AT_ONCE
    seconds: float = 0.0  # they have been spent
    seconds_of_pair: float = 0.0

    @property
    def how(self) -> str:
        return f"shap {self.version} knows the values of these trees"

    @property
    def solve(self) -> Any:
        return self

    def __call__(self, examples: np.ndarray) -> Solved:
        parts = self.values[examples] * self.weights[examples][:, None, None]
        return Solved(parts.sum(axis=0), parts)


def tree_solution(model: Any, v: PredictivePower, *, most_visits: float = np.inf) -> ShapSolution:
    """Interventional values of a tree model for the outputs that a pointwise game is about.

    All background rows are used, where shap by itself thins them to a hundred; and what was found is taken only if it
    adds up, example by example, to what our own predictions say: shap then explains the same outputs. Its values for
    probabilities of boosted trees are never asked for: those are values of log-odds, scaled for each background row.
    They add up, but are no Shapley values of probabilities. ``most_visits`` bounds examples times background rows times
    trees.
    """
    f_S = ability(v.restricted, HybridRows)
    if find_spec("shap") is None:
        raise NotForShapError("shap is not installed")
    if isinstance(model, Predictor):
        raise NotForShapError("a Predictor hides its model")
    if f_S is None or f_S.filling is not None or not np.ptp(f_S.background_weights) == 0:
        raise NotForShapError("shap has marginal removal alone, with background rows of equal weight")
    if v.n_players < v.X.shape[1]:
        raise NotForShapError("shap does not know groups of features")
    if not f_S.schema.is_number.all():
        raise NotForShapError("shap wants columns of numbers")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the size of the background
            shap = import_module("shap")
            masker = shap.maskers.Independent(f_S.background, max_samples=len(f_S.background))
            explainer = shap.TreeExplainer(model, masker, feature_perturbation="interventional", model_output="raw")
            visits = len(f_S.background) * len(explainer.model.trees)
            if len(v.X) * visits > most_visits:
                raise NotForShapError(f"it would go through trees {len(v.X) * visits:.2g} times")
            size = max(1, VISITS_AT_ONCE // visits)
            parts = [
                _arranged(explainer.shap_values(v.X[start : start + size], check_additivity=False), v)
                for start in range(0, len(v.X), size)
            ]
            found = np.concatenate(parts)
    except NotForShapError:
        raise
    except Exception as error:  # shap raises plain ones for models that it does not know
        raise NotForShapError(" ".join(str(error).split())[:200].rstrip(".")) from error
    if not _adds_up(found, v):
        raise NotForShapError("its exact values are of another output than the model's own, such as log-odds")
    return ShapSolution(found, v.weights, shap.__version__)


def _arranged(raw: Any, v: PredictivePower) -> np.ndarray:
    """Values (n, L, p) of what shap returns: (n, p), (n, p, k), or a list of k arrays (n, p)."""
    found = np.stack(raw, axis=-1) if isinstance(raw, list) else np.asarray(raw)
    found = found[:, :, None] if found.ndim == 2 else found
    of_output = [ability(loss, OfOutput) for loss in v.losses]
    numbers = [0 if loss is None else loss.number for loss in of_output]
    numbers = [0] if found.shape[2] == 1 and len(numbers) == 1 else numbers  # of two classes shap may give one
    if max(numbers) >= found.shape[2]:
        raise NotForShapError(f"it explains {found.shape[2]} outputs of {v.outputs.shape[1]}")
    return np.ascontiguousarray(np.moveaxis(found[:, :, numbers], 2, 1), dtype=np.float64)


def _adds_up(found: np.ndarray, v: PredictivePower) -> bool:
    off = np.abs(found.sum(axis=2) - (v.ends[1] - v.ends[0]))
    return bool(np.isfinite(found).all() and off.max() <= ADDS_UP * np.abs(v.outputs).max())
