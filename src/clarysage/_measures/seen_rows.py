"""A warning on examples that the model has been fitted on, or that are rows of the given background.

A model is too good on rows that it has seen: the mean loss is too small, and features that it memorised seem to help.
It is known for models that store the rows they were fitted on, such as nearest neighbours. A background is often made
of training rows, so that a warning says what follows if it is. The default background is drawn from X itself, and has
no warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import Note
from clarysage.models import adapter_of
from clarysage.models.adapter import HasTrainingRows
from clarysage.models.pipelines import unwrap
from clarysage.protocols import ability
from clarysage.removal.background import match_by_cells

if TYPE_CHECKING:
    from clarysage._measures.problem import Problem
    from clarysage.games import PredictivePower

ADVICE = "Explain rows that the model has not seen."


def about_seen_rows(problem: Problem, v: PredictivePower) -> list[Note | str]:
    """Returns a warning if examples are rows that the model stores, or else rows of the given background."""
    if problem.y is None:
        return []
    seen = _count_stored(problem.predictor, problem.X)
    if seen:
        text = f"{_count(seen, len(v.X))} that {problem.predictor.name} was fitted on: its loss on them is too small."
        return [Note(text, ADVICE, topic="seen rows")]
    if problem.is_background_of_x or v.self_match is None:
        return []
    shared = int((v.self_match >= 0).sum())
    text = f"{_count(shared, len(v.X))} of the background. If the model was fitted on them, its loss is too small."
    return [Note(text, ADVICE, topic="seen rows")]


def _count(rows: int, of: int) -> str:
    if rows == of:
        return "All rows of X are rows"
    return f"{rows:,} of the {of:,} rows of X {'is a row' if rows == 1 else 'are rows'}"


def _count_stored(model: Any, X: Any) -> int:
    """Returns the number of rows of X that the last estimator of a model stores, as its transformers make them."""
    unwrapped = unwrap(model)
    stores = ability(adapter_of(unwrapped.last), HasTrainingRows)
    stored = None if stores is None else stores.training_rows()
    if stored is None:
        return 0
    try:
        rows = X
        for transformer in unwrapped.before:
            rows = transformer.transform(rows)
        numbers = np.asarray(rows, dtype=stored.dtype).astype(np.float64)
    except (TypeError, ValueError):  # texts or sparse rows, which cannot be compared
        return 0
    if numbers.ndim != 2 or numbers.shape[1] != stored.shape[1]:
        return 0
    match = match_by_cells(numbers + 0.0, stored.astype(np.float64) + 0.0)  # -0.0 is 0.0
    return 0 if match is None else int((match >= 0).sum())
