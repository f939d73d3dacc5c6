"""RemovalQuality: how near removals come to E[f | x_S], by the squared distance of f_S from f."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from clarysage.codec import Array, require, settle_arrays
from clarysage.errors import InputError, Note, as_note
from clarysage.results.files import file_format
from clarysage.results.result import Result, plots, refuse_about
from clarysage.results.summary import Column, Record, Summary, Table

HEADLINE = "Removals by the mean squared distance of f_S from f: the smaller, the nearer to E[f | x_S]"


@file_format("removal quality", "how near removals come to the mean of the model given the known features")
@dataclass(frozen=True, eq=False, repr=False)
class RemovalQuality(Result):
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
        settle_arrays(self, r=r)
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
        frame = pd.DataFrame(
            {
                "removal": self.names,
                "error": self.scores,
                "std_error": self.std_error,
                "difference": apart[:, 0],
                "difference_std_error": apart[:, 1],
                "unexplained": self.unexplained,
                "seconds": self.seconds,
                "model_rows": self.model_rows,
            }
        )
        return frame.sort_values("error", kind="stable", ignore_index=True)

    def plot(self, **options: Any) -> Any:
        """Dots with intervals on a matplotlib axis; see :func:`clarysage.plots.removal_errors` for the options."""
        return plots().removal_errors(self, **options)

    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """The removals in brief, the best first."""
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

    def _place(self, name: str) -> int:
        if name in self.names:
            return self.names.index(name)
        raise InputError("name", got=f"{name!r}", wanted=f"one of {', '.join(map(repr, self.names))}")


def _rebuild(parts: dict[str, Any]) -> RemovalQuality:
    return RemovalQuality(**parts)


def _table(quality: RemovalQuality) -> Table:
    """Errors, their distance from the best, and what they cost."""
    order = np.argsort(quality.scores, kind="stable")
    differences = [quality.difference(quality.names[i]) if quality.names[i] != quality.best else None for i in order]
    shares = quality.unexplained[order]
    return Table(
        (
            Column("removal", [" ".join(quality.names[i].split()) for i in order], "name"),
            Column("error", [f"{quality.scores[i]:.4g}" for i in order]),
            Column("± s.e.", [f"{quality.std_error[i]:.2g}" for i in order]),
            Column("from the best", ["" if one is None else f"{one[0]:.3g}" for one in differences]),
            Column("± s.e.", ["" if one is None else f"{one[1]:.2g}" for one in differences]),
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
    """What was judged on what, what could not be, and remarks."""
    basis = (
        f"{quality.rows:,} rows with {quality.coalitions} coalition{'s' * (quality.coalitions > 1)} each, the same for "
        f"all removals; unexplained: share of the variance of f, {quality.variance:.4g}."
    )
    left_out = (Note(f"Left out: {name!r}, {why}") for name, why in quality.left_out.items())
    return (Note(basis), *left_out, *quality.notes)
