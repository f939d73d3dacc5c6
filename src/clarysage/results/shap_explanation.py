"""Explanations as those of the shap package, for its plots and other tools that take them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import InputError, MissingLibraryError, PythonOnly
from clarysage.tables import as_table, labels_of, select_columns

if TYPE_CHECKING:
    from clarysage.results.explanation import Explanation


def shap_explanation(explanation: Explanation, X: Any) -> Any:
    """Returns an explanation as one of shap: values of single examples (N, p) if there are any, otherwise (p,)."""
    try:
        shap = import_module("shap")
    except ModuleNotFoundError as error:
        raise MissingLibraryError("shap", "shap", "An explanation of shap") from error
    names = list(explanation.feature_names)
    if explanation.per_example is not None:
        return shap.Explanation(
            values=explanation.per_example,
            base_values=explanation.per_example_base,
            data=None if X is None else _data(explanation, X),
            feature_names=names,
            error_std=explanation.per_example_error,
        )
    if X is not None:
        raise InputError(
            "X",
            got="rows for an explanation without values of single examples",
            wanted="None",
            hint=PythonOnly("cs.mean_loss_shap(model, X, y).to_shap(X)"),
        )
    is_additive = explanation.base is not None and explanation.constant is not None
    return shap.Explanation(
        values=explanation.values,
        base_values=explanation.constant - explanation.base if is_additive else None,  # type: ignore[operator]
        feature_names=names,
        error_std=explanation.target().std_error,
    )


def _data(explanation: Explanation, X: Any) -> np.ndarray:
    """Returns the rows (N, p) of the examples, with the features as columns."""
    names, table = explanation.feature_names, as_table(X, "X")
    labels = labels_of(table)
    if labels is not None and set(names) <= set(labels):
        table = select_columns(table, list(names))
    rows, shape = np.asarray(table), explanation.per_example.shape  # type: ignore[union-attr]
    if rows.shape != shape:
        raise InputError(
            "X",
            got=f"a table of shape {rows.shape}",
            wanted=f"the {shape[0]:,} rows that were explained, with a column for each of the {shape[1]:,} values",
            hint="leaving it out, if values are about groups or a sample of the rows",
        )
    return rows
