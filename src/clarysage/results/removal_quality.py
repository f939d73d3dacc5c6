"""RemovalQuality: how near removals come to E[f | x_S], by the squared distance of f_S from f."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np

from clarysage.errors import InputError


@dataclass(frozen=True, eq=False)
class RemovalQuality:
    """Errors of removals on the same pairs of a row and a coalition; the smaller, the nearer to E[f | x_S].

    Attributes
    ----------
    names : labels of the r removals, in the order in which they were asked for
    scores : (r,) mean squared distances of f_S(x) from f(x), summed over the outputs of the model
    covariance : (r, r) of the scores over draws of rows and coalitions; pairs of one row go together
    variance : of f over the rows, summed over outputs
    seconds, model_rows : (r,) what each took, fitting included
    rows, coalitions : how many rows were judged, and coalitions for each
    left_out : removals that could not be judged, and why
    notes : remarks
    """

    names: tuple[str, ...]
    scores: np.ndarray
    covariance: np.ndarray
    variance: float
    seconds: np.ndarray
    model_rows: np.ndarray
    rows: int
    coalitions: int
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("scores", "covariance", "seconds", "model_rows"):
            fixed = np.array(getattr(self, name))
            fixed.setflags(write=False)
            object.__setattr__(self, name, fixed)
        object.__setattr__(self, "left_out", MappingProxyType(dict(self.left_out)))

    def __reduce__(self) -> tuple[Any, ...]:
        parts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return _rebuild, ({**parts, "left_out": dict(self.left_out)},)

    @property
    def std_error(self) -> np.ndarray:
        """Standard errors of the scores, (r,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    @property
    def best(self) -> str:
        """The name of the removal with the smallest error; others may be as good, see :meth:`difference`."""
        return self.names[int(np.argmin(self.scores))]

    @property
    def unexplained(self) -> np.ndarray:
        """Errors as shares of the variance of f, (r,): 1 is what the mean of f alone would do; NaN for a constant f."""
        return self.scores / self.variance if self.variance > 0 else np.full(len(self.scores), np.nan)

    def difference(self, name: str, other: str | None = None) -> tuple[float, float]:
        """By how much the error of one removal exceeds that of another, default the best; and its standard error.

        Both have met the same rows and coalitions, so that their difference is surer than their errors are.
        """
        one, two = self._place(name), self._place(self.best if other is None else other)
        covariance = self.covariance
        variance = covariance[one, one] + covariance[two, two] - 2 * covariance[one, two]
        return float(self.scores[one] - self.scores[two]), float(np.sqrt(max(variance, 0.0)))

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row a removal, the best first."""
        import pandas as pd

        apart = np.array([self.difference(name) for name in self.names])
        frame = pd.DataFrame({
            "removal": self.names, "error": self.scores, "std_error": self.std_error, "difference": apart[:, 0],
            "difference_std_error": apart[:, 1], "unexplained": self.unexplained, "seconds": self.seconds,
            "model_rows": self.model_rows,
        })  # fmt: skip
        return frame.sort_values("error", kind="stable", ignore_index=True)

    def plot(self, **options: Any) -> Any:
        """Dots with intervals on a matplotlib axis; see :func:`clarysage.plots.removal_errors` for the options."""
        return import_module("clarysage.plots").removal_errors(self, **options)

    def __str__(self) -> str:
        from clarysage.results.removal_text import as_text

        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from clarysage.results.removal_text import as_html

        return as_html(self)

    def _place(self, name: str) -> int:
        if name in self.names:
            return self.names.index(name)
        raise InputError("name", got=f"{name!r}", wanted=f"one of {', '.join(map(repr, self.names))}")


def _rebuild(parts: dict[str, Any]) -> RemovalQuality:
    return RemovalQuality(**parts)
