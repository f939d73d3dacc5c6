"""Monitoring: which features no longer contribute what they did, and whether their columns shifted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from clarysage.codec import require
from clarysage.errors import InputError, Note, as_note
from clarysage.inference.significance import adjusted
from clarysage.results._display import Result, plots, refuse_about, text_of
from clarysage.results.comparison import (
    Comparison,
    adjustment_words,
    not_converged_words,
    p_words,
    rows_words,
    shared_format,
    signed,
    tested_words,
    unfinished_words,
)
from clarysage.results.files import as_plain, file_format, save
from clarysage.results.finding import (
    ALONE,
    BOTH,
    FLAGGED,
    FOLLOWS,
    INPUTS,
    UNCHANGED,
    Finding,
    called,
    hardly_moved,
    hint,
    listed,
    said_of,
)
from clarysage.results.shift import Shift
from clarysage.results.summary import Column, Record, Summary, Table
from clarysage.results.text import chance_words, loss_words

SLICES_NAMED = 3  # in a sentence
REMARKS = 3  # of the comparison that are shown
SURELY = 0.001  # of 1 - level, below which a p-value leaves no doubt that inputs shifted


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
    left_out: Mapping[str, str] = field(default_factory=dict)
    is_in_order: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(map(as_note, self.notes)))
        count = len(self.comparison.differences)
        require(len(self.shifts) == count, "shifts", len(self.shifts), f"{count}, one for each difference")
        wanted = sorted(column for feature in self.feature_names for column in self.columns_of(feature))
        for name, columns in zip(self.names, self.shifts, strict=True):
            shifted = sorted(shift.column for shift in columns)
            require(shifted == wanted, "shifts", shifted, f"those of all columns in {name}")

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
        found = {one.feature: abs(one.difference) for one in sorted(self._all, key=lambda one: abs(one.difference))
                 if one.is_flagged}  # fmt: skip
        return sorted(found, key=lambda feature: -found[feature])

    @property
    def shifted(self) -> list[str]:
        """Columns whose inputs are known to have shifted anywhere, the largest distance first."""
        found: dict[str, float] = {}
        for columns, chances in zip(self.shifts, self.shift_p_values, strict=True):
            for one, p in zip(columns, chances, strict=True):
                if p < 1 - self.comparison.level:
                    found[one.column] = max(one.distance, found.get(one.column, 0.0))
        return sorted(found, key=lambda column: -found[column])

    @cached_property
    def losses(self) -> np.ndarray | None:
        """Mean losses with all features, of the reference and of what is compared with it; None where unknown."""
        found = [
            one.base - one.total
            for one in self.comparison.explanations
            if one.base is not None and one.total is not None and one.values_are == "gain"
        ]
        return np.array(found) if len(found) == len(self.comparison.names) else None

    @property
    def rows(self) -> tuple[int, ...]:
        """How many rows each explanation is of."""
        return tuple(int(one.provenance.get("examples", 0)) for one in self.comparison.explanations)

    @cached_property
    def shift_p_values(self) -> np.ndarray:
        """p-values of the shifts, adjusted as those of contributions are: (K, columns)."""
        alone = np.array([[one.p_value for one in columns] for columns in self.shifts])
        return np.asarray(adjusted(alone.ravel(), self.comparison.adjust).reshape(alone.shape))

    def findings(self, where: str | None = None) -> list[Finding]:
        """What is known of each feature, in the order of the features; ``where``: the slice, if there are several."""
        if where is None and len(self.names) > 1:
            raise InputError("where", got="None", wanted=f"one of {', '.join(map(repr, self.names))}")
        if where is not None and where not in self._places:
            raise InputError("where", got=f"{where!r}", wanted=f"one of {', '.join(map(repr, self.names))}")
        place = 0 if where is None else self._places[where]
        p = len(self.feature_names)
        return list(self._all[place * p : (place + 1) * p])

    def columns_of(self, feature: str) -> tuple[str, ...]:
        """The columns that a feature is made of."""
        return tuple((self.comparison.reference.groups or {}).get(feature, [feature]))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def _all(self) -> tuple[Finding, ...]:
        return _judged(self)

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        """Features of which something is known to have changed, slice by slice, with its share of the loss."""
        return [
            {"where": one.where, "feature": one.feature, "verdict": one.verdict, "share": one.share}
            for one in self._all
            if one.is_changed or one.is_shifted
        ]

    def sentences(self) -> list[str]:
        """What was found, a sentence each: flagged features first, then what else is known to have changed."""
        return [alarm(self), *(sentence for _, sentence in sentences_of_features(self))]

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
                "inputs": hint(finding) if finding.shift.hints else "",
                "verdict": finding.verdict,
                "flagged": finding.is_flagged,
            }
            for i, finding in enumerate(self._all)
        ]
        return pd.DataFrame(rows)

    def table(self, level: float = 0.95) -> str:
        """The printed findings and table."""
        return text_of(self.summary(level))

    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """The findings in brief, with a table of the features, or of the slices where there are several."""
        refuse_about(self, about)
        left_out = (f"left out: {', '.join(self.left_out)}.",) if self.left_out else ()
        return Summary(
            kind="monitoring",
            title=_headline(self),
            headline=_headline(self),
            findings=tuple(self.sentences()),
            tables=(_slice_table(self) if len(self.names) > 1 else _feature_table(self, level),),
            notes=_notes(self),
            unfinished=(*unfinished_words(self.comparison), *left_out),
            flagged=tuple(self.flagged),
            pictures={"plot": self.plot},
            record=_record(self, level),
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python objects, as in the JSON file."""
        return as_plain(self)

    def save(self, path: str | Path) -> None:
        """Write everything as JSON; :func:`clarysage.load` reads it back."""
        save(self, path)

    def plot(self, **options: Any) -> Any:
        """Losses and contributions, or a series over the slices; see :func:`clarysage.plots.monitoring`."""
        return plots().monitoring(self, **options)


def _judged(monitoring: Monitoring) -> tuple[Finding, ...]:
    """Findings of all features, explanation by explanation."""
    comparison = monitoring.comparison
    low, high = (np.atleast_2d(end) for end in comparison.interval(comparison.level))
    chances, flags = (np.atleast_2d(one) for one in (comparison.p_values(), comparison.flags))
    findings = []
    for place, name in enumerate(monitoring.names):
        strongest = _strongest(monitoring, place)
        chance = np.array([p for _, p in strongest])
        shifted, surely = (chance < share * (1 - comparison.level) for share in (1.0, SURELY))
        verdicts = verdicts_of(flags[place], shifted, surely)
        shares = _shares(monitoring, place)
        difference, values = comparison.differences[place].target.values, comparison.explanations[place + 1].values
        after_low, after_high = _interval_here(monitoring, place)
        findings += [
            Finding(
                feature=feature,
                where=name,
                verdict=verdicts[i],
                before=float(comparison.reference.values[i]),
                after=float(values[i]),
                difference=float(difference[i]),
                low=float(low[place, i]),
                high=float(high[place, i]),
                after_low=float(after_low[i]),
                after_high=float(after_high[i]),
                p_value=float(chances[place, i]),
                inputs_p_value=strongest[i][1],
                share=None if shares is None else float(shares[i]),
                shift=monitoring.shifts[place][strongest[i][0]],
                is_shifted=bool(shifted[i]),
            )
            for i, feature in enumerate(monitoring.feature_names)
        ]
    return tuple(findings)


def verdicts_of(changed: np.ndarray, shifted: np.ndarray, surely: np.ndarray) -> list[str]:
    """One verdict a feature, from whether its contribution changed, its inputs shifted, and did so surely.

    One column that breaks does change contributions of others. Of these, columns whose inputs seem to have shifted by
    chance are in some 1 - level of all cases: beside a sure cause they are no causes.

    Examples
    --------
    >>> no, yes = np.zeros(3, dtype=bool), np.array([True, True, False])
    >>> verdicts_of(yes, shifted=yes, surely=np.array([True, False, False]))
    ['inputs and contribution', 'along with others', 'unchanged']
    >>> verdicts_of(yes, shifted=np.array([False, True, True]), surely=no)
    ['along with others', 'inputs and contribution', 'inputs alone']
    >>> verdicts_of(yes, shifted=no, surely=no)
    ['contribution alone', 'contribution alone', 'unchanged']
    """
    sure, likely = changed & surely, changed & shifted
    causes = sure if sure.any() else likely
    words = np.where(changed, FOLLOWS if causes.any() else ALONE, np.where(shifted, INPUTS, UNCHANGED))
    return [str(word) for word in np.where(causes, BOTH, words)]


def _interval_here(monitoring: Monitoring, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of intervals of the contributions here, about what the differences are about."""
    comparison = monitoring.comparison
    here, about = comparison.explanations[place + 1], comparison.differences[place].about
    return here.interval(comparison.level, about=about if about in here.targets else "data")


def _strongest(monitoring: Monitoring, place: int) -> list[tuple[int, float]]:
    """For each feature the place of its column that shifted most, and the adjusted p-value of that."""
    columns = {one.column: j for j, one in enumerate(monitoring.shifts[place])}
    chances = monitoring.shift_p_values[place]
    found = []
    for feature in monitoring.feature_names:
        places = [columns[column] for column in monitoring.columns_of(feature)]
        first = min(places, key=lambda j: (chances[j], -monitoring.shifts[place][j].distance))
        found.append((first, float(chances[first])))
    return found


def _shares(monitoring: Monitoring, place: int) -> np.ndarray | None:
    """Shares of the change in the mean loss that changes of contributions make.

    The loss is the loss without features less the sum of the values (Eq. 2 with S = D), so that shares and that of the
    loss without features add up to one. None where the loss hardly moved: shares of next to nothing are large and mean
    nothing.
    """
    losses = monitoring.losses
    if losses is None or hardly_moved(losses[0], losses[place + 1]):
        return None
    comparison = monitoring.comparison
    before, after = comparison.reference, comparison.explanations[place + 1]
    return np.asarray(-(after.values - before.values) / (losses[place + 1] - losses[0]))


# what there is to say


def _headline(monitoring: Monitoring) -> str:
    """What is compared with what."""
    comparison, (first, *rest) = monitoring.comparison, monitoring.rows
    model = comparison.reference.provenance.get("model", "the model")
    where = monitoring.names[0] if len(rest) == 1 else f"{len(rest)} slices"
    unit = "" if monitoring.losses is None else f", in units of {loss_words(comparison.reference.loss)}"
    return f"{model}: {where} ({sum(rest):,} rows) against {comparison.names[0]} ({first:,} rows){unit}"


def _feature_table(monitoring: Monitoring, level: float) -> Table:
    """The features, the largest difference first."""
    comparison, findings = monitoring.comparison, monitoring.findings()
    show, (low, high) = shared_format(*comparison.explanations), comparison.interval(level)
    order = comparison.order
    rows = [findings[i] for i in order]
    here, there = map(called, comparison.names)
    return Table(
        (
            Column("feature", [called(one.feature) for one in rows], "name"),
            Column(here, [show(one.before) for one in rows]),
            Column(there, [show(one.after) for one in rows]),
            Column("difference", [signed(show(one.difference)) for one in rows]),
            Column(f"{100 * level:g}% interval", [f"[{show(low[i])}, {show(high[i])}]" for i in order], "interval"),
            Column(p_words(comparison), [chance_words(one.p_value) for one in rows]),
            Column("inputs", [f"{one.shift.distance:.2f}" for one in rows]),
            Column("p of inputs", [chance_words(one.inputs_p_value) for one in rows]),
            Column("", ["" if one.verdict == UNCHANGED else one.verdict for one in rows], "words"),
        )
    )


def _slice_table(monitoring: Monitoring) -> Table:
    """The reference and the slices: rows, losses where they are known, and features that are flagged or shifted."""
    show, losses = shared_format(*monitoring.comparison.explanations), monitoring.losses
    findings = [[], *(monitoring.findings(name) for name in monitoring.names)]
    flagged, shifted = (
        [[one.feature for one in each if one.verdict in verdicts] for each in findings]
        for verdicts in (FLAGGED, (INPUTS,))
    )
    means = [] if losses is None else [Column("mean loss", [show(float(loss)) for loss in losses])]
    return Table(
        (
            Column("slice", list(map(called, monitoring.comparison.names)), "name"),
            Column("rows", [f"{count:,}" for count in monitoring.rows]),
            *means,
            Column("flagged", [listed(names) if names else "" for names in flagged], "words"),
            Column("inputs shifted alone", [listed(names) if names else "" for names in shifted], "words"),
        )
    )


def _notes(monitoring: Monitoring) -> tuple[Note, ...]:
    """What tests mean, what they cannot tell, and remarks."""
    comparison = monitoring.comparison
    rate = f"{100 * (1 - comparison.level):.3g} %"
    tested = (
        f"p: of contributions, and apart from them of inputs, {adjustment_words(comparison)}."
        if comparison.adjust
        else f"p: not adjusted; of each test that has nothing to find, about {rate} find something."
    )
    limits = "A column can break without a change of its contribution where the model draws little from it."
    about = [*rows_words(comparison), f"inputs: distance of the columns' distributions, 0 to 1. {limits}"]
    words = [tested, *(about if len(monitoring.names) == 1 else [limits]), *not_converged_words(comparison)]
    notes, more = list(comparison.notes[:REMARKS]), len(comparison.notes) - REMARKS
    if more > 0:
        where = "found.comparison.notes in Python, --json in a shell"
        notes.append(Note(f"{more:,} more remark{'s' * (more > 1)} of this kind: {where}."))
    return (*map(Note, words), *notes, *monitoring.notes)


def _record(monitoring: Monitoring, level: float) -> Record:
    """Numbers and words for tools that track experiments; a slice is a step."""
    losses = monitoring.losses
    before, *after = [None] if losses is None else losses.tolist()
    return Record(
        name="monitoring",
        frame=partial(monitoring.to_frame, level),
        columns=(
            "difference",
            "low",
            "high",
            "p_adjusted",
            "share_of_loss_change",
            "inputs_distance",
            "inputs_p_adjusted",
            "flagged",
        ),
        numbers={
            "flagged_features": (len(monitoring.flagged),),
            "shifted_columns": (len(monitoring.shifted),),
            "reference_loss": (before,),
            "loss": tuple(after),
        },
        words={
            **tested_words(monitoring.comparison, level),
            "flagged": ", ".join(monitoring.flagged),
            "shifted": ", ".join(monitoring.shifted),
        },
        plot=monitoring.plot,
    )


def sentences_of_features(monitoring: Monitoring) -> list[tuple[Finding, str]]:
    """A sentence on each feature of which something is known, with the finding that its numbers are of."""
    groups = [at for verdicts in (FLAGGED, (FOLLOWS,), (INPUTS,)) for at in _by_feature(monitoring, verdicts)]
    return [(at[0], _sentence(monitoring, at)) for at in groups]


def alarm(monitoring: Monitoring) -> str:
    """Which features are flagged, or that none is."""
    flagged, shifted, left_out = monitoring.flagged, monitoring.shifted, list(monitoring.left_out)
    unknown = f" Not explained: {listed(left_out)}." if left_out else ""
    if flagged:
        return f"FLAGGED: {listed(flagged)}.{unknown}"
    noun = "effect" if monitoring.losses is None else "contribution"
    others = f"Inputs shifted: {listed(shifted)}." if shifted else "Nor is any column known to have shifted."
    return f"Nothing is flagged: no {noun} is known to have changed. {others}{unknown}"


def _by_feature(monitoring: Monitoring, verdicts: tuple[str, ...]) -> list[list[Finding]]:
    """Findings with such verdicts, feature by feature, the largest change first."""
    groups: dict[str, list[Finding]] = {}
    for one in monitoring._all:
        if one.verdict in verdicts:
            groups.setdefault(one.feature, []).append(one)
    size: Callable[[Finding], float] = (
        (lambda one: one.shift.distance) if INPUTS in verdicts else (lambda one: abs(one.difference))
    )
    chosen = [sorted(found, key=size, reverse=True) for found in groups.values()]
    return sorted(chosen, key=lambda found: -size(found[0]))


def _sentence(monitoring: Monitoring, found: list[Finding]) -> str:
    """Of a feature: the slice where the change is largest, and which others there are."""
    worst, names = found[0], monitoring.names
    beside = [one for one in monitoring.findings(worst.where) if one.feature != worst.feature]
    causes = [one.feature for one in beside if one.verdict == (BOTH if worst.verdict == FOLLOWS else INPUTS)]
    losses = monitoring.losses
    pair = None if losses is None else (float(losses[0]), float(losses[1 + names.index(worst.where)]))
    said = said_of(worst, causes, pair)
    return said if len(names) == 1 else f"{said} {_seen(names, [one.where for one in found], monitoring.is_in_order)}"


def _seen(names: Sequence[str], where: list[str], is_in_order: bool) -> str:
    """In which of the slices; the first of ``where`` is the one that numbers are of.

    Examples
    --------
    >>> _seen(["may", "june", "july"], ["july", "june"], is_in_order=True)
    'Seen from june on, in 2 of 3 slices; the numbers are of july, where it is largest.'
    >>> _seen(["east", "north", "south"], ["south", "north"], is_in_order=False)
    'Seen in 2 of 3 slices (north, south); the numbers are of south, where it is largest.'
    """
    worst, places = called(where[0]), sorted(names.index(one) for one in where)
    if len(places) == 1:
        return f"Seen in {worst} alone, of {len(names)} slices."
    if len(places) == len(names):
        which = f"in all {len(names)} slices"
    elif is_in_order and places == list(range(places[0], len(names))):
        which = f"from {called(names[places[0]])} on, in {len(places)} of {len(names)} slices"
    else:
        which = ", ".join(called(names[i]) for i in places[:SLICES_NAMED])
        more = f" and {len(places) - SLICES_NAMED} more" if len(places) > SLICES_NAMED else ""
        which = f"in {len(places)} of {len(names)} slices ({which}{more})"
    return f"Seen {which}; the numbers are of {worst}, where it is largest."
