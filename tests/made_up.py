"""Results made up for pages: any number of features with any names, known at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import clarysage as cs
from clarysage.inference.estimate import Target
from clarysage.results import Shift, Traits

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

MEASURES = ("sage", "shapley effects", "permutation importance", "gini importance")
OF = {"sage": "v_f", "shapley effects": "w_f", "permutation importance": "v_f", "gini importance": None}


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
            "values": values,
            "std_error": errors["data"],
            "covariance": None,
            "feature_names": names,
            "total": float(values.sum()),
            "base": 12.5,
            "model_rows": 4321,
            "draws": 120,
            "stopped": cs.StopReason.CONVERGED,
            "measure": "sage",
            "loss": "squared error",
            "removal": "marginal",
            "method": "paired walks",
            "targets": targets,
            "headline": "SAGE values: how much each feature reduces the model's squared error",
            "notes": ("Loss 'squared error' was chosen for this model.",),
            "provenance": {
                "clarysage": "0.1.0",
                "numpy": "2.0",
                "python": "3.11",
                "seed": 7,
                "model": "Forest",
                "examples": 99,
                "columns": p,
                "background_rows": 64,
                "fingerprints": {"X": "abc"},
            },
            **told,
        }
    )


def compared(
    names: Any,
    count: int = 2,
    changes: dict[int, float] | None = None,
    *,
    called: Any = None,
    seed: int = 0,
    **told: Any,
) -> cs.Comparison:
    """So many explanations compared, in which features at these places differ from the reference by these sizes.

    All others differ by a tenth of a standard error.
    """
    first = made_up(names, **told)
    away = np.full(len(first.values), 0.005)
    for place, size in (changes or {}).items():
        away[place] = size
    others = [_moved(first, away * (1 + k / 8), k) for k in range(1, count)]
    return cs.compare([_moved(first, 0 * away, 0), *others], names=called)


def watched(
    names: Any,
    slices: int = 1,
    changes: dict[int, float] | None = None,
    shifted: Any = (),
    *,
    called: Any = None,
    hint: str = "values are about 60 times the reference's",
    distance: float = 0.2,
    notes: tuple[str, ...] = (),
    **told: Any,
) -> cs.Monitoring:
    """A model watched on so many slices, in which features at these places changed, and the inputs of some shifted.

    ``shifted`` are places of features whose inputs shifted everywhere, or pairs of the places of a slice and a feature:
    far where the feature changed, else by ``distance``.
    """
    called = called or ("current",) if slices == 1 else called or tuple(f"batch {k}" for k in range(slices))
    found = compared(names, slices + 1, changes, called=("reference", *called), **told)
    shifts = tuple(
        tuple(
            _shift(name, hint if i in shifted or (k, i) in shifted else "", 0.9 if i in (changes or {}) else distance)
            for i, name in enumerate(found.feature_names)
        )
        for k in range(slices)
    )
    return cs.Monitoring(found, shifts, notes)


def _shift(name: str, hint: str, distance: float) -> Shift:
    facts = {"median": (181.0, 10860.0 if hint else 182.0), "missing share": (0.0, 0.01), "rows": (99.0, 99.0)}
    return Shift(name, "numbers", distance if hint else 0.03, 1e-30 if hint else 0.7, (hint,) if hint else (), facts)


def _moved(explanation: cs.Explanation, away: np.ndarray, k: int) -> cs.Explanation:
    """The same with other values, of other rows."""
    targets = {name: replace(one, values=one.values + away) for name, one in explanation.targets.items()}
    told = {**explanation.provenance, "fingerprints": {"X": f"rows {k}", "background": "the same"}}
    values = explanation.values + away
    return replace(explanation, values=values, targets=targets, total=float(values.sum()), provenance=told)


def several(names: Any, **told: Any) -> cs.Importances:
    """Measures whose values are those of SAGE and more noise in each."""
    found = {name: made_up(names, seed, measure=name, **told) for seed, name in enumerate(MEASURES)}
    traits = {name: Traits(OF[name], None, None, {"agnostic": "yes"}) for name in MEASURES}
    return cs.Importances(found, traits, {"network weights": "It is <no> network."})


def pairs(names: Any, **told: Any) -> cs.Interactions:
    """Interactions of all pairs of features."""
    alone = made_up(names)
    inside = alone.feature_names
    both = tuple((inside[i], inside[j]) for i in range(len(inside)) for j in range(i + 1, len(inside)))
    found = made_up([f"{one} × {other}" for one, other in both], 1, measure="interactions", **told)
    return cs.Interactions(both, found, alone, 0.2, 0.01)
