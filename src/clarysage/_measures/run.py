"""A run of an estimator on the game of a measure: explanations of its estimate, and of that of a run that fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from clarysage.errors import RunFailedError
from clarysage.inference.estimate import Estimate

Result = TypeVar("Result")


def explained_run(estimated: Callable[[], Estimate], explain: Callable[[Estimate], Result]) -> Result:
    """The explanation of an estimate; the error of a run that failed carries the explanation of the estimate so far."""
    try:
        estimate = estimated()
    except RunFailedError as error:
        raise RunFailedError(error.text, explain(error.partial)) from error.__cause__
    return explain(estimate)
