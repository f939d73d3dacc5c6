"""RemovalQuality: mean squared error of removals, as approximations of the conditional expectation E[f | x_S].

The mean squared distance of f_S(x) from f(x) is smallest for the conditional expectation (Frye et al. 2021, "Shapley
explainability on the data manifold"), so that removals can be compared without knowing it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from clarysage.codec import Array, freeze_arrays, require
from clarysage.errors import InputError, Note, as_note
from clarysage.results.files import file_format
from clarysage.results.result import Result, plots, refuse_about
from clarysage.results.summary import Column, Record, Summary, Table

if TYPE_CHECKING:
    import pandas as pd

HEADLINE = (
    "How close removals come to E[f | x_S]: mean squared distance of f_S, the prediction from features in S, from f, "
    "the prediction from all; smaller is better"
)


@file_format("removal quality", "how close removals come to the mean of the model given the known features")
@dataclass(frozen=True, eq=False, repr=False)
class RemovalQuality(Result):
    """Mean squared errors of removals on the same pairs of a row and a coalition; smaller is closer to E[f | x_S].

    Attributes
    ----------
    names : labels of the r removals, in the order of the call
    scores : (r,) mean squared distances of f_S(x) from f(x), summed over the outputs of the model
    covariance : (r, r) covariance of the scores over draws of rows and coalitions, clustered by row
    variance : variance of f over the rows, summed over outputs
    seconds, model_rows : (r,) cost of each removal, fitting included
    rows, coalitions : number of rows, and number of coalitions for each row
    left_out : removals whose error could not be computed, and the reasons
    notes : remarks

    Examples
    --------
    >>> import numpy as np
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> X[:, 1] += 3 * X[:, 0]
    >>> quality = cs.removal_quality(["marginal", "gaussian"], lambda X: X[:, 0], X, background=X, rng=0)
    >>> quality.best
    'gaussian'
    """

    names: tuple[str, ...]
    scores: Annotated[np.ndarray, Array("r", low=0)]
    covariance: Annotated[np.ndarray, Array("r r", is_symmetric=True)]
    variance: float
    seconds: Annotated[np.ndarray, Array("r", low=0)]
    model_rows: Annotated[np.ndarray, Array("r", low=0, is_whole=True)]
    rows: int
    coalitions: int
    left_out: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        r = len(self.names)
        require(r > 0 and len(set(self.names)) == r, "names", self.names, "distinct names")
        freeze_arrays(self, r=r)
        object.__setattr__(self, "notes", tuple(map(as_note, self.notes)))
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
        """The name of the removal with the smallest error; others may be equally good, see :meth:`difference`."""
        return self.names[int(np.argmin(self.scores))]

    @property
    def unexplained(self) -> np.ndarray:
        """Errors as shares of the variance of f, (r,): 1 for the mean of f as prediction; NaN for a constant f."""
        return self.scores / self.variance if self.variance > 0 else np.full(len(self.scores), np.nan)

    def difference(self, name: str, other: str | None = None) -> tuple[float, float]:
        """Returns the error of one removal less that of another (default: the best), and its standard error.

        Both were evaluated on the same rows and coalitions, so that the difference is more precise than the errors.
        """
        i, j = self._index(name), self._index(self.best if other is None else other)
        covariance = self.covariance
        variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        return float(self.scores[i] - self.scores[j]), float(np.sqrt(max(variance, 0.0)))

    def to_frame(self) -> pd.DataFrame:
        """Returns a pandas DataFrame with one row for each removal, the best first."""
        import pandas as pd

        differences = np.array([self.difference(name) for name in self.names])
        frame = pd.DataFrame(
            {
                "removal": self.names,
                "error": self.scores,
                "std_error": self.std_error,
                "difference": differences[:, 0],
                "difference_std_error": differences[:, 1],
                "unexplained": self.unexplained,
                "seconds": self.seconds,
                "model_rows": self.model_rows,
            }
        )
        return frame.sort_values("error", kind="stable", ignore_index=True)

    def plot(self, **options: Any) -> Any:
        """Draws dots with intervals; see :func:`clarysage.plots.removal_errors` for the options."""
        return plots().removal_errors(self, **options)

    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """Returns the removals in brief, the best first."""
        refuse_about(self, about)
        return Summary(
            kind="removal quality",
            title=f"Quality of {len(self.names)} removals",
            headline=HEADLINE,
            tables=(_table(self),),
            notes=_notes(self),
            pictures={"plot": self.plot},
            record=_record(self),
        )

    def _index(self, name: str) -> int:
        if name in self.names:
            return self.names.index(name)
        raise InputError("name", got=f"{name!r}", wanted=f"one of {', '.join(map(repr, self.names))}")


def _rebuild(parts: dict[str, Any]) -> RemovalQuality:
    return RemovalQuality(**parts)


def _table(quality: RemovalQuality) -> Table:
    """Returns the table of errors, differences from the best removal, and costs."""
    order = np.argsort(quality.scores, kind="stable")
    differences = [quality.difference(quality.names[i]) if quality.names[i] != quality.best else None for i in order]
    shares = quality.unexplained[order]
    return Table(
        (
            Column("removal", [" ".join(quality.names[i].split()) for i in order], "name"),
            Column("error", [f"{quality.scores[i]:.4g}" for i in order]),
            Column("± s.e.", [f"{quality.std_error[i]:.2g}" for i in order]),
            Column(
                "above the best", ["" if difference is None else f"{difference[0]:.3g}" for difference in differences]
            ),
            Column("± s.e.", ["" if difference is None else f"{difference[1]:.2g}" for difference in differences]),
            Column("unexplained", [f"{share:.1%}" if np.isfinite(share) else "" for share in shares]),
            Column("seconds", [f"{quality.seconds[i]:.2f}" for i in order]),
            Column("model rows", [f"{int(quality.model_rows[i]):,}" for i in order]),
        )
    )


def _record(quality: RemovalQuality) -> Record:
    """Returns the numbers and words that tools for tracking experiments keep."""
    from clarysage import __version__

    return Record(
        name="removal_quality",
        frame=quality.to_frame,
        columns=(
            "error",
            "std_error",
            "difference",
            "difference_std_error",
            "unexplained",
            "seconds",
            "model_rows",
        ),
        numbers={
            "variance": (quality.variance,),
            "rows": (quality.rows,),
            "coalitions": (quality.coalitions,),
        },
        words={
            "version": __version__,
            "removals": ", ".join(quality.names),
            "best": quality.best,
            "left_out": ", ".join(quality.left_out),
        },
        plot=quality.plot,
        item="removal",
    )


def _notes(quality: RemovalQuality) -> tuple[Note, ...]:
    """Returns notes on the data behind the errors, removals that were left out, and remarks."""
    basis = (
        f"{quality.rows:,} rows with {quality.coalitions} coalition{'s' * (quality.coalitions > 1)} each, the same for "
        f"all removals. unexplained: the error as a share of the variance of f, {quality.variance:.4g}."
    )
    left_out = (Note(f"Left out: {name!r}, {why}") for name, why in quality.left_out.items())
    return (Note(basis), *left_out, *quality.notes)
