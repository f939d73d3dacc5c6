"""Explanations made up for pages: any number of features with any names, known at once."""

from __future__ import annotations

from typing import Any

import numpy as np

import clarysage as cs
from clarysage.estimate import Target

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "\"><svg onload='alert(1)'>",
    "{{ 7 * 7 }} {% raw %} &amp; `${alert(1)}`",
    "javascript:alert(1)//--><!--",
    "\u202etxet lamron\u2067",
    "שלום\u200f עולם",
    "line\u2028and\u2029paragraph\x00\x07",
    "x" * 10_000,
)


def made_up(names: Any, seed: int = 0, **told: Any) -> cs.Explanation:
    """An explanation of features of these names, or of so many, with intervals about everything."""
    names = tuple(f"feature {i}" for i in range(names)) if isinstance(names, int) else tuple(names)
    rng, p = np.random.default_rng(seed), len(names)
    values = rng.normal(size=p) * np.exp(-np.arange(p) / 8)
    errors = {about: np.full(p, size) for about, size in [("data", 0.01), ("rows", 0.05), ("population", 0.1)]}
    targets = {
        about: Target(values + 0.001, errors[about], np.full(p, 50.0), np.zeros(p)) for about in ("rows", "population")
    }
    return cs.Explanation(
        **{
            "values": values, "std_error": errors["data"], "covariance": None, "feature_names": names,
            "total": float(values.sum()), "base": 12.5, "model_rows": 4321, "draws": 120,
            "stopped": cs.StopReason.CONVERGED, "measure": "sage", "loss": "squared error", "removal": "marginal",
            "method": "paired walks", "targets": targets,
            "headline": "SAGE values: the squared error that each feature saves the model",
            "notes": ("Loss 'squared error' was chosen.",),
            "provenance": {"clarysage": "0.1.0", "numpy": "2.0", "python": "3.11", "seed": 7, "model": "Forest",
                           "examples": 99, "columns": p, "background_rows": 64, "fingerprints": {"X": "abc"}},
            **told,
        }
    )  # fmt: skip
