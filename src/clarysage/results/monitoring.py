"""Monitoring: changes of contributions between reference and current rows, and drift of the columns behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage._utils.display import SHOWN
from clarysage.codec import require
from clarysage.errors import InputError, Note, as_note
from clarysage.inference.intervals import adjusted
from clarysage.results.comparison import Comparison
from clarysage.results.files import file_format
from clarysage.results.finding import (
    FAR,
    SURE_SHIFT,
    Finding,
    Shift,
    alarm_sentence,
    is_almost_equal,
    sentences_on_features,
    strongest_hint,
    verdicts_of,
)
from clarysage.results.monitoring_view import monitoring_page, monitoring_summary
from clarysage.results.result import Result, plots, refuse_about, text_of
from clarysage.results.summary import Page, Summary

if TYPE_CHECKING:
    import pandas as pd


@file_format(
    "monitoring",
    "a model on current rows against the same model on reference rows",
    checked=("flagged",),
    shown={"sentences": lambda monitoring: monitoring.sentences(), "verdicts": lambda monitoring: monitoring.verdicts},
)
@dataclass(frozen=True, eq=False, repr=False)
class Monitoring(Result):
    """A model on current rows compared with the same model on reference rows: contributions and inputs.

    A feature is flagged if both its contribution and its inputs are known to have changed; or, if no feature is of this
    kind, if its contribution is. Next to a feature of the first kind, contributions that change while their inputs do
    not shift, or shift with much less certainty, most likely follow it. If nothing has changed, the probability of any
    such flag is at most 1 - level.

    A feature is also flagged where its inputs shifted beyond doubt and by a distance of a quarter or more, such as
    values that are 1/100 of the reference's, unless it is known that the model does not use them: a slice of few rows
    cannot show this in the loss. This adds at most (1 - level) / 1000 to the probability of any flag.

    Attributes
    ----------
    comparison : explanations of the reference and of the current rows or slices, and their differences
    shifts : shifts of all columns from the reference, for each explanation after the first
    notes : remarks; plain texts become notes without advice
    is_in_order : whether slices have an order, as periods and numbers have, and regions have not
    left_out : slices that could not be explained, for example after an interrupt, and the reasons

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import clarysage as cs
    >>> rng = np.random.default_rng(0)
    >>> reference, current = (pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"]) for _ in range(2))
    >>> monitoring = cs.monitor(lambda X: X["a"], reference, current.assign(a=current["a"] * 60), rng=0)
    >>> monitoring.flagged
    ['a']
    """

    comparison: Comparison
    shifts: tuple[tuple[Shift, ...], ...]
    notes: tuple[Note, ...] = ()
    left_out: Mapping[str, Note] = field(default_factory=dict)
    is_in_order: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(map(as_note, self.notes)))
        object.__setattr__(self, "left_out", {name: as_note(why) for name, why in self.left_out.items()})
        count = len(self.comparison.differences)
        require(len(self.shifts) == count, "shifts", len(self.shifts), f"{count}, one for each difference")
        expected = sorted(column for feature in self.feature_names for column in self.columns_of(feature))
        for name, columns in zip(self.names, self.shifts, strict=True):
            shifted = sorted(shift.column for shift in columns)
            require(shifted == expected, "shifts", shifted, f"those of all columns in {name}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what is compared with the reference: "current", or the slices in their order."""
        return self.comparison.names[1:]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.comparison.feature_names

    @property
    def is_flagged(self) -> bool:
        """True if any feature is flagged."""
        return bool(self.flagged)

    @property
    def flagged(self) -> list[str]:
        """Features that are flagged in any slice, the largest change first."""
        sizes = {
            finding.feature: abs(finding.difference)
            for finding in sorted(self.all_findings, key=lambda finding: abs(finding.difference))
            if finding.is_flagged
        }
        return sorted(sizes, key=lambda feature: -sizes[feature])

    @property
    def shifted(self) -> list[str]:
        """Columns that are known to have shifted in any slice, the largest distance first."""
        distances: dict[str, float] = {}
        for columns, p_values in zip(self.shifts, self.shift_p_values, strict=True):
            for shift, p in zip(columns, p_values, strict=True):
                if p < 1 - self.comparison.level:
                    distances[shift.column] = max(shift.distance, distances.get(shift.column, 0.0))
        return sorted(distances, key=lambda column: -distances[column])

    @cached_property
    def losses(self) -> np.ndarray | None:
        """Mean losses with all features, of the reference and then of each slice; None where they are unknown."""
        losses = [
            explanation.base - explanation.total
            for explanation in self.comparison.explanations
            if explanation.base is not None and explanation.total is not None and explanation.values_are == "gain"
        ]
        return np.array(losses) if len(losses) == len(self.comparison.names) else None

    @property
    def rows(self) -> tuple[int, ...]:
        """Numbers of rows of the explanations."""
        return tuple(int(explanation.provenance.get("examples", 0)) for explanation in self.comparison.explanations)

    @cached_property
    def shift_p_values(self) -> np.ndarray:
        """p-values of the shifts, with the same adjustment as those of contributions, (K, columns)."""
        p_values = np.array([[shift.p_value for shift in columns] for columns in self.shifts])
        return np.asarray(adjusted(p_values.ravel(), self.comparison.adjust).reshape(p_values.shape))

    def findings(self, where: str | None = None) -> list[Finding]:
        """Return the findings on all features in their order; ``where`` is the slice, if there are several."""
        if where is None and len(self.names) > 1:
            raise InputError("where", got="None", wanted=f"one of {', '.join(map(repr, self.names))}")
        if where is not None and where not in self._slice_indices:
            raise InputError("where", got=f"{where!r}", wanted=f"one of {', '.join(map(repr, self.names))}")
        k = 0 if where is None else self._slice_indices[where]
        p = len(self.feature_names)
        return list(self.all_findings[k * p : (k + 1) * p])

    def columns_of(self, feature: str) -> tuple[str, ...]:
        """Return the columns of a feature, several for a group."""
        return tuple((self.comparison.reference.groups or {}).get(feature, [feature]))

    @cached_property
    def _slice_indices(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.names)}

    @cached_property
    def all_findings(self) -> tuple[Finding, ...]:
        """Findings on all features in the first slice, then in the second, and so on."""
        return _findings_of(self)

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        """Features with a known change, slice by slice, with the share in the change of the mean loss."""
        return [
            {"where": finding.where, "feature": finding.feature, "verdict": finding.verdict, "share": finding.share}
            for finding in self.all_findings
            if finding.is_changed or finding.is_shifted
        ]

    def sentences(self) -> list[str]:
        """Return the findings as sentences: flagged features first, then other known changes."""
        return [alarm_sentence(self), *(sentence for _, sentence in sentences_on_features(self))]

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a pandas DataFrame with a row for each feature, and for each slice if there are several."""
        import pandas as pd

        low, high = (np.atleast_2d(end).ravel() for end in self.comparison.interval(level))
        rows = [
            {
                "where": finding.where,
                "feature": finding.feature,
                "reference": finding.before,
                "current": finding.after,
                "difference": finding.difference,
                "low": low[i],
                "high": high[i],
                "p_adjusted": finding.p_value,
                "share_of_loss_change": np.nan if finding.share is None else finding.share,
                "inputs_distance": finding.shift.distance,
                "inputs_p_adjusted": finding.inputs_p_value,
                "inputs": strongest_hint(finding) if finding.shift.hints else "",
                "verdict": finding.verdict,
                "flagged": finding.is_flagged,
            }
            for i, finding in enumerate(self.all_findings)
        ]
        return pd.DataFrame(rows)

    def table(self, level: float = 0.95, *, top: int | None = SHOWN) -> str:
        """Return the printed findings and table, of the ``top`` features: flagged ones first, or None for all."""
        return text_of(self.summary(level), top)

    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """Return the findings in brief, with a table of the features, or of the slices if there are several."""
        refuse_about(self, about)
        return monitoring_summary(self, level)

    def details(self, level: float = 0.95, *, about: str | None = None) -> Page:
        """Return the page: flags, charts, tables of features, slices and inputs, and the meaning of verdicts."""
        refuse_about(self, about)
        return monitoring_page(self, level)

    def plot(self, **options: Any) -> Any:
        """Draw losses and contributions, or a series over the slices; see :func:`clarysage.plots.monitoring`."""
        return plots().monitoring(self, **options)


def _findings_of(monitoring: Monitoring) -> tuple[Finding, ...]:
    """Computes the findings on all features, slice by slice."""
    comparison = monitoring.comparison
    low, high = (np.atleast_2d(end) for end in comparison.interval(comparison.level))
    p_values, flags = (np.atleast_2d(numbers) for numbers in (comparison.p_values(), comparison.flags))
    findings = []
    for k, name in enumerate(monitoring.names):
        strongest = _strongest(monitoring, k)
        chance = np.array([p for _, p in strongest])
        shifted, surely = (chance < share * (1 - comparison.level) for share in (1.0, SURE_SHIFT))
        far = np.array([monitoring.shifts[k][j].distance >= FAR for j, _ in strongest])
        far &= (low[k] != 0) | (high[k] != 0)  # else it is known that the model does not use the feature
        verdicts = verdicts_of(flags[k], shifted, surely, far)
        shares = _shares(monitoring, k)
        difference, values = comparison.differences[k].target.values, comparison.explanations[k + 1].values
        after_low, after_high = _interval_here(monitoring, k)
        findings += [
            Finding(
                feature=feature,
                where=name,
                verdict=verdicts[i],
                before=float(comparison.reference.values[i]),
                after=float(values[i]),
                difference=float(difference[i]),
                low=float(low[k, i]),
                high=float(high[k, i]),
                after_low=float(after_low[i]),
                after_high=float(after_high[i]),
                p_value=float(p_values[k, i]),
                inputs_p_value=strongest[i][1],
                share=None if shares is None else float(shares[i]),
                shift=monitoring.shifts[k][strongest[i][0]],
                is_shifted=bool(shifted[i]),
            )
            for i, feature in enumerate(monitoring.feature_names)
        ]
    return tuple(findings)


def _interval_here(monitoring: Monitoring, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the intervals of the contributions in slice k, about the same target as the differences."""
    comparison = monitoring.comparison
    here, about = comparison.explanations[k + 1], comparison.differences[k].about
    return here.interval(comparison.level, about=about if about in here.targets else "data")


def _strongest(monitoring: Monitoring, k: int) -> list[tuple[int, float]]:
    """Returns for each feature the index of its column that shifted most, and its adjusted p-value."""
    columns = {shift.column: j for j, shift in enumerate(monitoring.shifts[k])}
    p_values = monitoring.shift_p_values[k]
    strongest = []
    for feature in monitoring.feature_names:
        indices = [columns[column] for column in monitoring.columns_of(feature)]
        first = min(indices, key=lambda j: (p_values[j], -monitoring.shifts[k][j].distance))
        strongest.append((first, float(p_values[first])))
    return strongest


def _shares(monitoring: Monitoring, k: int) -> np.ndarray | None:
    """Returns the shares of changes of contributions in the change of the mean loss.

    The loss is the loss without features minus the sum of the values (Eq. 2 with S = D), so that these shares and the
    share of the loss without features add up to one. None where the loss hardly changed, since shares would be large
    and meaningless.
    """
    losses = monitoring.losses
    if losses is None or is_almost_equal(losses[0], losses[k + 1]):
        return None
    comparison = monitoring.comparison
    before, after = comparison.reference, comparison.explanations[k + 1]
    return np.asarray(-(after.values - before.values) / (losses[k + 1] - losses[0]))
