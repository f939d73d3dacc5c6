"""Regressors as users make them, fitted to masked rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError, PythonOnly
from clarysage.models.learners import weights_argument
from clarysage.models.torch import is_module


@dataclass(frozen=True)
class Regressors:
    """Fitted regressors, one for each number that is wanted."""

    fitted: tuple[Any, ...]

    def __call__(self, seen: np.ndarray) -> np.ndarray:
        try:
            found = np.column_stack([np.ravel(regressor.predict(seen)) for regressor in self.fitted])
        except Exception as error:
            raise _unfit(self.fitted[0], f"{type(error).__name__} from {{}}: {error}") from error
        if found.shape != (len(seen), len(self.fitted)) or not np.isfinite(found).all():
            raise _unfit(self.fitted[0], "predictions of {} that are not one finite number a row")
        return found


def fitted(
    regressor: Any, seen: np.ndarray, wanted: np.ndarray, held: np.ndarray, weights: np.ndarray | None
) -> Regressors:
    """Copies of a regressor fitted to rows (n, 2 d) and what is wanted (n, t), but for the rows held out (n,)."""
    from sklearn.base import clone

    argument = weights_argument(regressor)
    options = {} if weights is None or argument is None else {argument: weights[~held]}
    try:
        return Regressors(tuple(clone(regressor).fit(seen[~held], one[~held], **options) for one in wanted.T))
    except Exception as error:
        raise _unfit(regressor, f"{type(error).__name__} from {{}}: {error}") from error


def takes_weights(regressor: Any) -> bool:
    """Whether rows can be told to count for more than others; boosting and PyTorch modules can."""
    return regressor is None or is_module(regressor) or weights_argument(regressor) is not None


def check_regressor(regressor: Any) -> None:
    """Raise where something is neither a regressor nor a module."""
    is_one = all(callable(getattr(regressor, name, None)) for name in ("fit", "predict", "get_params"))
    if regressor is not None and (isinstance(regressor, type) or not (is_one or is_module(regressor))):
        raise InputError(
            "regressor",
            got=repr(regressor)[:80],
            wanted="a scikit-learn regressor or a PyTorch module",
            hint=PythonOnly("HistGradientBoostingRegressor()"),
        )


def _unfit(regressor: Any, what: str) -> InputError:
    return InputError(
        "regressor",
        got=what.replace("{}", type(regressor).__name__)[:300],
        wanted="a scikit-learn regressor that can be fitted to rows of numbers, missing ones included",
        hint=[PythonOnly("HistGradientBoostingRegressor(), or "), "a pipeline that begins with an imputer"],
    )
