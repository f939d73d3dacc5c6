"""Static types of the public functions: ``make lint`` checks this file with mypy; it is never run."""

from __future__ import annotations

from typing import assert_type

import numpy as np

import clarysage as cs
from clarysage.results import FeatureValue


def typed(X: np.ndarray, y: np.ndarray) -> None:
    def f(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0]

    run = cs.Run(tolerance=0.1, n_jobs=2)
    assert_type(cs.sage(f, X, y), cs.Explanation)
    assert_type(cs.sage(f, X, y, tolerance=0.1, budget=1000, rng=0, run=run), cs.Explanation)
    assert_type(cs.sage(f, X, y, loss="squared error"), cs.Explanation)
    assert_type(cs.sage(f, X, y, loss=cs.SquaredError()), cs.Explanation)
    assert_type(cs.sage(f, X, y, loss=["squared error", "absolute error"]), list[cs.Explanation])
    assert_type(cs.sage(f, X, y, loss=(cs.SquaredError(), "absolute error")), list[cs.Explanation])
    assert_type(cs.sage(f, X, y)["x0"], FeatureValue)
    assert_type(cs.shapley_effects(f, X), cs.Explanation)
    assert_type(cs.mean_loss_shap(f, X, y, walks=4, loss=["squared error"]), list[cs.Explanation])
    assert_type(cs.permutation_importance(f, X, y, repeats=10), cs.Explanation)
    assert_type(cs.drop_column_importance(f, X, y, folds=3, train=(X, y)), cs.Explanation)
    assert_type(cs.universal_power(f, X, y, loss=["squared error"]), list[cs.Explanation])
    assert_type(cs.interactions(f, X, y, top=3), cs.Interactions)
    assert_type(cs.interactions(f, X, y, loss=["squared error"]), list[cs.Interactions])
    assert_type(cs.importance("sage", f, X, y, tolerance=0.1), cs.Explanation)
    assert_type(cs.importances(f, X, y, budget=1000), cs.Importances)
    assert_type(cs.game(f, X, y), cs.PredictivePower)
    assert_type(cs.monitor(f, X, X, rng=0), cs.Monitoring)
    cs.sage(f, X, y, tolerence=0.1)  # type: ignore[call-overload]
    cs.sage(f, X, y, tolerance="little")  # type: ignore[call-overload]
