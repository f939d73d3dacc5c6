"""Monitoring: which features no longer contribute what they did, and whether their columns shifted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from clarysage.codec import require
from clarysage.errors import InputError, Note, as_note
from clarysage.inference.intervals import adjusted
from clarysage.results.comparison import Comparison
from clarysage.results.files import file_format
from clarysage.results.finding import (
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

SURE_SHIFT = 0.001  # of 1 - level, below which a p-value leaves no doubt that inputs shifted


@file_format(
    "monitoring",
    "a model on current rows against the same model on reference rows",
    checked=("flagged",),
    shown={"sentences": lambda monitoring: monitoring.sentences(), "verdicts": lambda monitoring: monitoring.verdicts},
)
@dataclass(frozen=True, eq=False, repr=False)
class Monitoring(Result):
    """A model on current rows against the same model on reference rows: contributions, and inputs beside them.

    A feature is flagged where both its contribution and its inputs are known to have changed; or its contribution
    alone, where no feature is of the first kind. Beside one of the first kind, contributions that change while their
    inputs stay, or shift far less surely, most likely follow it. Where nothing has changed, the chance of any flag is
    at most 1 - level.

    Attributes
    ----------
    comparison : explanations of the reference and of what is compared with it, and their differences
    shifts : how columns differ from the reference, for each explanation after the first, column by column
    notes : remarks; plain texts become notes without advice
    is_in_order : whether slices follow one another, as periods or numbers do, and regions do not
    left_out : slices that could not be explained, or not any more after an interrupt, and why
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
        """What is compared with the reference: "current", or the slices in their order."""
        return self.comparison.names[1:]

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.comparison.feature_names

    @property
    def is_flagged(self) -> bool:
        """Whether any feature is flagged."""
        return bool(self.flagged)

    @property
    def flagged(self) -> list[str]:
        """Features that are flagged anywhere, the largest change first."""
        sizes = {
            finding.feature: abs(finding.difference)
            for finding in sorted(self.all_findings, key=lambda finding: abs(finding.difference))
            if finding.is_flagged
        }
        return sorted(sizes, key=lambda feature: -sizes[feature])

    @property
    def shifted(self) -> list[str]:
        """Columns whose inputs are known to have shifted anywhere, the largest distance first."""
        distances: dict[str, float] = {}
        for columns, chances in zip(self.shifts, self.shift_p_values, strict=True):
            for shift, p in zip(columns, chances, strict=True):
                if p < 1 - self.comparison.level:
                    distances[shift.column] = max(shift.distance, distances.get(shift.column, 0.0))
        return sorted(distances, key=lambda column: -distances[column])

    @cached_property
    def losses(self) -> np.ndarray | None:
        """Mean losses with all features, of the reference and of what is compared with it; None where unknown."""
        losses = [
            explanation.base - explanation.total
            for explanation in self.comparison.explanations
            if explanation.base is not None and explanation.total is not None and explanation.values_are == "gain"
        ]
        return np.array(losses) if len(losses) == len(self.comparison.names) else None

    @property
    def rows(self) -> tuple[int, ...]:
        """How many rows each explanation is of."""
        return tuple(int(explanation.provenance.get("examples", 0)) for explanation in self.comparison.explanations)

    @cached_property
    def shift_p_values(self) -> np.ndarray:
        """p-values of the shifts, adjusted as those of contributions are: (K, columns)."""
        p_values = np.array([[shift.p_value for shift in columns] for columns in self.shifts])
        return np.asarray(adjusted(p_values.ravel(), self.comparison.adjust).reshape(p_values.shape))

    def findings(self, where: str | None = None) -> list[Finding]:
        """What is known of each feature, in the order of the features; ``where``: the slice, if there are several."""
        if where is None and len(self.names) > 1:
            raise InputError("where", got="None", wanted=f"one of {', '.join(map(repr, self.names))}")
        if where is not None and where not in self._places:
            raise InputError("where", got=f"{where!r}", wanted=f"one of {', '.join(map(repr, self.names))}")
        place = 0 if where is None else self._places[where]
        p = len(self.feature_names)
        return list(self.all_findings[place * p : (place + 1) * p])

    def columns_of(self, feature: str) -> tuple[str, ...]:
        """The columns that a feature is made of."""
        return tuple((self.comparison.reference.groups or {}).get(feature, [feature]))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def all_findings(self) -> tuple[Finding, ...]:
        return _findings_of(self)

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        """Features of which something is known to have changed, slice by slice, with its share of the loss."""
        return [
            {"where": finding.where, "feature": finding.feature, "verdict": finding.verdict, "share": finding.share}
            for finding in self.all_findings
            if finding.is_changed or finding.is_shifted
        ]

    def sentences(self) -> list[str]:
        """What was found, a sentence each: flagged features first, then what else is known to have changed."""
        return [alarm_sentence(self), *(sentence for _, sentence in sentences_on_features(self))]

    def to_frame(self, level: float = 0.95) -> Any:
        """A pandas DataFrame with a row for each feature, and for each slice, where there are several."""
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

    def table(self, level: float = 0.95) -> str:
        """The printed findings and table."""
        return text_of(self.summary(level))

    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """The findings in brief, with a table of the features, or of the slices where there are several."""
        refuse_about(self, about)
        return monitoring_summary(self, level)

    def details(self, level: float = 0.95, *, about: str | None = None) -> Page:
        """All there is to say: what is flagged, charts, tables of features, slices and inputs, what verdicts mean."""
        refuse_about(self, about)
        return monitoring_page(self, level)

    def plot(self, **options: Any) -> Any:
        """Losses and contributions, or a series over the slices; see :func:`clarysage.plots.monitoring`."""
        return plots().monitoring(self, **options)


def _findings_of(monitoring: Monitoring) -> tuple[Finding, ...]:
    """Findings of all features, explanation by explanation."""
    comparison = monitoring.comparison
    low, high = (np.atleast_2d(end) for end in comparison.interval(comparison.level))
    chances, flags = (np.atleast_2d(numbers) for numbers in (comparison.p_values(), comparison.flags))
    findings = []
    for k, name in enumerate(monitoring.names):
        strongest = _strongest(monitoring, k)
        chance = np.array([p for _, p in strongest])
        shifted, surely = (chance < share * (1 - comparison.level) for share in (1.0, SURE_SHIFT))
        verdicts = verdicts_of(flags[k], shifted, surely)
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
                p_value=float(chances[k, i]),
                inputs_p_value=strongest[i][1],
                share=None if shares is None else float(shares[i]),
                shift=monitoring.shifts[k][strongest[i][0]],
                is_shifted=bool(shifted[i]),
            )
            for i, feature in enumerate(monitoring.feature_names)
        ]
    return tuple(findings)


def _interval_here(monitoring: Monitoring, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of intervals of the contributions here, about what the differences are about."""
    comparison = monitoring.comparison
    here, about = comparison.explanations[k + 1], comparison.differences[k].about
    return here.interval(comparison.level, about=about if about in here.targets else "data")


def _strongest(monitoring: Monitoring, k: int) -> list[tuple[int, float]]:
    """For each feature the place of its column that shifted most, and the adjusted p-value of that."""
    columns = {shift.column: j for j, shift in enumerate(monitoring.shifts[k])}
    chances = monitoring.shift_p_values[k]
    strongest = []
    for feature in monitoring.feature_names:
        indices = [columns[column] for column in monitoring.columns_of(feature)]
        first = min(indices, key=lambda j: (chances[j], -monitoring.shifts[k][j].distance))
        strongest.append((first, float(chances[first])))
    return strongest


def _shares(monitoring: Monitoring, k: int) -> np.ndarray | None:
    """Shares of the change in the mean loss that changes of contributions make.

    The loss is the loss without features less the sum of the values (Eq. 2 with S = D), so that shares and that of the
    loss without features add up to one. None where the loss hardly moved: shares of next to nothing are large and mean
    nothing.
    """
    losses = monitoring.losses
    if losses is None or is_almost_equal(losses[0], losses[k + 1]):
        return None
    comparison = monitoring.comparison
    before, after = comparison.reference, comparison.explanations[k + 1]
    return np.asarray(-(after.values - before.values) / (losses[k + 1] - losses[0]))
