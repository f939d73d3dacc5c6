"""Comparison: differences of contributions between explanations, with intervals and tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage._utils.display import SHOWN
from clarysage.catalogue import ADJUSTMENTS
from clarysage.codec import require
from clarysage.errors import InputError, Note, as_note
from clarysage.inference.estimate import Target
from clarysage.inference.intervals import adjusted, interval, two_sided
from clarysage.results.comparison_view import comparison_page, comparison_summary
from clarysage.results.explanation import Explanation
from clarysage.results.files import file_format
from clarysage.results.result import Result, plots, refuse_about, text_of
from clarysage.results.summary import Page, Summary

if TYPE_CHECKING:
    import pandas as pd

POPULATIONS = ("rows", "population")  # targets of inference of differences


@dataclass(frozen=True)
class Difference:
    """The difference of one explanation from the reference, for each player.

    Attributes
    ----------
    target : the differences with their standard errors, degrees of freedom and skewness, each (p,)
    is_paired : whether differences are taken row by row, on the same rows
    about : target of inference: the population of "rows", or the "population" of rows and background
    """

    target: Target
    is_paired: bool
    about: str

    def __post_init__(self) -> None:
        require(self.about in POPULATIONS, "about", self.about, " or ".join(map(repr, POPULATIONS)))


@file_format(
    "comparison",
    "differences of explanations from the first of them",
    checked=("changed",),
    shown={"p_adjusted": lambda comparison: np.atleast_2d(comparison.p_values()).tolist()},
)
@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """Differences of explanations from the first of them, the reference; with intervals and tests.

    A flag says that the contribution of a feature has changed, not that its column is the cause: when one column
    breaks, contributions of others change too, and a column that contributes little can break unnoticed.

    Attributes
    ----------
    explanations : two or more, the reference first, all with players in the order of the reference
    names : names of the explanations
    differences : one for each explanation after the first, with players in the order of the reference
    adjust : default adjustment of p-values, over all features and all differences
    level : a difference is flagged where its adjusted p-value is below 1 - level
    notes : remarks; plain texts become notes without advice

    Notes
    -----
    Arrays have shape (p,) where two explanations are compared, and (K, p) where K of them are compared with the first.

    Examples
    --------
    >>> import numpy as np
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> before = cs.sage(lambda X: X[:, 0], X, X.sum(axis=1), rng=0)
    >>> after = cs.sage(lambda X: X.sum(axis=1), X, X.sum(axis=1), rng=0)
    >>> comparison = cs.compare(before, after, names=["one column", "both"])
    >>> comparison.changed
    ['x1']
    """

    explanations: tuple[Explanation, ...]
    names: tuple[str, ...]
    differences: tuple[Difference, ...]
    adjust: str | None = "holm"
    level: float = 0.95
    notes: tuple[Note, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(map(as_note, self.notes)))
        names, p = self.names, len(self.feature_names)
        require(len(names) >= 2 and len(set(names)) == len(names), "names", names, "two or more distinct names")
        require(len(self.explanations) == len(names), "explanations", len(self.explanations), "as many as names")
        is_alike = len({explanation.feature_names for explanation in self.explanations}) == 1
        require(is_alike, "explanations", names, "explanations of the same features, in the same order")
        require(len(self.differences) == len(names) - 1, "differences", len(self.differences), "one less than names")
        require(0 < self.level < 1, "level", self.level, "a number between 0 and 1")
        is_known = self.adjust is None or self.adjust in ADJUSTMENTS
        require(is_known, "adjust", self.adjust, f"None or one of {(*ADJUSTMENTS,)}")
        for other, name, difference in zip(self.explanations[1:], names[1:], self.differences, strict=True):
            shapes = {array.shape for array in difference.target.arrays}
            require(shapes == {(p,)}, f"differences: {name}", shapes, f"{p} values, std_error, dof and skew")
            require(
                self._is_of(difference, other),
                f"differences: {name}: values",
                difference.target.values,
                "the differences of the explanations",
            )

    def _is_of(self, difference: Difference, other: Explanation) -> bool:
        """Tells whether a difference is that of the other explanation and the reference, up to rounding."""
        after, before = (
            explanation.targets[difference.about].values
            if difference.about in explanation.targets
            else explanation.values
            for explanation in (other, self.reference)
        )
        near = 1e-6 * max(float(np.abs(numbers).max()) for numbers in (after, before))
        return bool((np.abs(difference.target.values - (after - before)) <= near).all())

    @property
    def reference(self) -> Explanation:
        return self.explanations[0]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the players, in the order of the reference."""
        return self.reference.feature_names

    @property
    def values(self) -> np.ndarray:
        """Differences from the reference: positive where a feature contributes more than in the reference."""
        return self._shaped([difference.target.values for difference in self.differences])

    @property
    def std_error(self) -> np.ndarray:
        """Standard errors of the differences, including the sampling of rows."""
        return self._shaped([difference.target.std_error for difference in self.differences])

    @property
    def is_paired(self) -> bool:
        """True if all differences are taken row by row, on the same rows."""
        return all(difference.is_paired for difference in self.differences)

    def interval(self, level: float = 0.95, *, joint: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high ends of an interval for each difference; ``joint`` makes intervals simultaneous."""
        target = self._concatenated()
        low, high = interval(target.values, target.std_error, target.dof, level, joint=joint, skew=target.skew)
        return self._split(low), self._split(high)

    def p_values(self, adjust: str | None = "as compared") -> np.ndarray:
        """Return two-sided p-values; 1 where nothing differs.

        ``adjust`` is "holm", "benjamini hochberg" or None for unadjusted p-values; default: ``self.adjust``. Unadjusted
        p-values are below 5 % where the 95 % interval excludes zero.
        """
        p = self._adjusted if adjust == "as compared" else adjusted(self._unadjusted, adjust)
        return self._split(p).copy()

    @property
    def flags(self) -> np.ndarray:
        """Flags: whether the adjusted p-value of a difference is below 1 - level."""
        return np.asarray(self.p_values() < 1 - self.level)

    @property
    def changed(self) -> list[str]:
        """Features with a flag in any of the differences, the largest difference first."""
        flags: np.ndarray = np.any(np.atleast_2d(self.flags), axis=0)
        return [self.feature_names[i] for i in self.order if flags[i]]

    @property
    def order(self) -> np.ndarray:
        """Indices of the features, the largest difference first."""
        return np.argsort(-np.abs(np.atleast_2d(self.values)).max(axis=0), kind="stable")

    def of(self, name: str) -> np.ndarray:
        """Return the values (p,) of one of the explanations."""
        if name not in self.names:
            raise InputError("name", got=f"{name!r}", wanted=f"one of {', '.join(map(repr, self.names))}")
        return self.explanations[self.names.index(name)].values

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a pandas DataFrame for each explanation after the first, the largest difference first.

        Columns are feature, reference and other (values), difference, std_error, low, high, p (unadjusted), p_adjusted
        and changed; with several other explanations, ``compared`` has their names. ``frame.attrs["about"]`` says what
        intervals are about.
        """
        import pandas as pd

        low, high = (np.atleast_2d(end) for end in self.interval(level))
        alone, p_values, flags = (
            np.atleast_2d(numbers) for numbers in (self.p_values(None), self.p_values(), self.flags)
        )
        frames = []
        for k, name in enumerate(self.names[1:]):
            target = self.differences[k].target
            columns = {
                "feature": self.feature_names,
                "reference": self.reference.values,
                "other": self.of(name),
                "difference": target.values,
                "std_error": target.std_error,
                "low": low[k],
                "high": high[k],
                "p": alone[k],
                "p_adjusted": p_values[k],
                "changed": flags[k],
            }
            frame = pd.DataFrame(columns).iloc[self.order]
            frames.append(frame.assign(compared=name) if len(self.differences) > 1 else frame)
        combined = pd.concat(frames, ignore_index=True)
        combined.attrs["about"] = self.differences[0].about
        return combined

    def table(self, level: float = 0.95, *, top: int | None = SHOWN) -> str:
        """Return the printed tables, with changed features and the ``top`` largest differences; None for all."""
        return text_of(self.summary(level), top)

    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """Return the comparison in brief: a table for each explanation after the first, and what changed."""
        refuse_about(self, about)
        return comparison_summary(self, level)

    def details(self, level: float = 0.95, *, about: str | None = None) -> Page:
        """Return the page, with a switch between bars of values and bars of differences."""
        refuse_about(self, about)
        return comparison_page(self, level)

    def plot(self, **options: Any) -> Any:
        """Draw bars of all explanations side by side; see :func:`clarysage.plots.comparison` for the options."""
        return plots().comparison(self, **options)

    @cached_property
    def _unadjusted(self) -> np.ndarray:
        """Unadjusted p-values, (K p,)."""
        target = self._concatenated()
        return two_sided(target.values, target.std_error, target.dof, skew=target.skew)

    @cached_property
    def _adjusted(self) -> np.ndarray:
        """p-values with the default adjustment, (K p,)."""
        return adjusted(self._unadjusted, self.adjust)

    def _concatenated(self) -> Target:
        """Concatenates all differences, (K p,)."""
        return Target.concatenated([difference.target for difference in self.differences])

    def _split(self, numbers: np.ndarray) -> np.ndarray:
        return self._shaped(np.split(numbers, len(self.differences)))

    def _shaped(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(rows[0] if len(rows) == 1 else np.stack(rows))
