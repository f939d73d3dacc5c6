"""Monitoring view: the summary, the page and the charts of a monitored model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from clarysage._utils.display import isolated, shortened, visible
from clarysage.errors import Note
from clarysage.results.comparison_view import (
    ALONG,
    NAME_COLUMNS,
    VALUES,
    Change,
    adjustment_words,
    change_bars,
    changes_of,
    column_of_explanations,
    display_names,
    features_blocks,
    features_table,
    interval_of,
    largest_first,
    not_converged_words,
    p_words,
    page_notes,
    rows_words,
    setting_of_comparison,
    shared_format,
    signed,
    unfinished_words,
    values_and_unit,
)
from clarysage.results.comparison_view import FLAGGED as STAR
from clarysage.results.facts_and_notes import shared_facts, warnings_first
from clarysage.results.finding import (
    ALONE,
    BOTH,
    CERTAIN,
    FLAGGED,
    FOLLOWS,
    INPUTS,
    SURE_SHIFT,
    UNCHANGED,
    Finding,
    Shift,
    alarm_sentence,
    sentences_on_features,
    strongest_hint,
)
from clarysage.results.summary import (
    Bars,
    Block,
    Boxes,
    Cell,
    Column,
    Controls,
    Facts,
    Items,
    Line,
    Lines,
    Notes,
    Page,
    Panel,
    Paragraph,
    Record,
    Section,
    Sentence,
    Sentences,
    Summary,
    Table,
    Terms,
)
from clarysage.results.text import loss_words, names_in_sentence, p_value_words, short_name

if TYPE_CHECKING:
    from clarysage.results.monitoring import Monitoring

REMARKS = 3  # notes of the comparison that are shown
LONGEST = 800  # characters of a sentence
SEVERITY = (BOTH, ALONE, CERTAIN, FOLLOWS, INPUTS, UNCHANGED)  # the order in which verdicts are sorted
MARKS = {BOTH: STAR, ALONE: STAR, FOLLOWS: ALONG}
MARK_WORDS = {STAR: "flagged", ALONG: "changed along with others"}
MOST_FINDINGS, MOST_INPUTS = 240, 200  # rows of tables
MOST_SHOWN = 20  # rows of a table without a scroll bar
MOST_HINTS, HINT_COLUMNS, FACT_COLUMNS, LABEL_COLUMNS = 3, 160, 40, 29
WITH_BARS = 2  # slices with bars, since lines show slices better
MOST_LINES, FEWEST_LINES = 5, 3  # features with lines: at most as many as there are colours, and at least
DAYS = " (days since 1970)"
LAST_DAY = 2_900_000  # of plausible dates, about the year 9900
OMITTED_FACTS = ("rows",)  # the same for all columns
MEANINGS = {
    BOTH: "Flagged: its {noun} changed, and so did its own inputs, which are the likely cause.",
    ALONE: "Flagged: its {noun} changed, while its inputs are not known to have shifted, and no other feature changed "
    "in both. {cause} may have changed, or the inputs of other features.",
    CERTAIN: "Flagged: its inputs shifted beyond doubt, by a distance of 0.25 or more, but its {noun} is not known to "
    "have changed: few rows may not show it, or the model hardly uses the column.",
    FOLLOWS: "Not flagged: its {noun} changed, while its inputs are not known to have shifted. It most likely follows "
    "another feature that changed in both.",
    INPUTS: "Not flagged: its inputs shifted, by less or with less certainty, or the model does not use the column; "
    "its {noun} is not known to have changed.",
    UNCHANGED: "Not flagged: there is no evidence that its {noun} or its inputs changed. A small change may have been "
    "missed: the interval shows how large it can be.",
}
CAUSES = {
    "contribution": "The response, or how it depends on the features,",
    "effect": "The dependence between features",
}
HOLM = (
    "If nothing has changed, the probability that anything is flagged by its {noun}{everywhere} is at most {chance}, "
    "and so is the probability that any inputs are reported as shifted. The probability that anything is flagged by "
    "its inputs for certain is at most {more}."
)
BENJAMINI_HOCHBERG = (
    "About {chance} of the {noun}s that are reported as changed have not changed, and about {chance} of the inputs "
    "that are reported as shifted have not shifted."
)
SINGLE = (
    "p is not adjusted for the number of tests: if nothing has changed, each test reports a change with a probability "
    "of about {chance}, and there are {count:,} tests of {noun}s and {inputs:,} of inputs."
)
DISTANCE = (
    "The distance of inputs is 0 if two columns have the same distribution and 1 if they have no values in common: for "
    "numbers the largest difference of the two distribution functions (Kolmogorov-Smirnov), for categories the share "
    "of rows that would have to change their category (total variation)."
)


def monitoring_summary(monitoring: Monitoring, level: float) -> Summary:
    """Returns the findings in brief, with a table of the features, or of the slices where there are several."""
    left_out = (f"left out: {', '.join(monitoring.left_out)}.",) if monitoring.left_out else ()
    return Summary(
        kind="monitoring",
        title=_headline(monitoring),
        headline=_headline(monitoring),
        findings=tuple(monitoring.sentences()),
        tables=(_slice_table(monitoring) if len(monitoring.names) > 1 else _feature_table(monitoring, level),),
        notes=_notes(monitoring),
        figure=_picture(monitoring, level),
        unfinished=(*unfinished_words(monitoring.comparison), *left_out),
        flagged=tuple(monitoring.flagged),
        pictures={"plot": monitoring.plot},
        record=_record(monitoring, level),
    )


def _headline(monitoring: Monitoring) -> str:
    """Returns the headline: the model, the compared rows and the unit."""
    comparison, (first, *rest) = monitoring.comparison, monitoring.rows
    model = comparison.reference.provenance.get("model", "the model")
    where = monitoring.names[0] if len(rest) == 1 else f"{len(rest)} slices"
    unit = "" if monitoring.losses is None else f", in units of {loss_words(comparison.reference.loss)}"
    return f"{model}: {where} ({sum(rest):,} rows) against {comparison.names[0]} ({first:,} rows){unit}"


def _feature_table(monitoring: Monitoring, level: float) -> Table:
    """Returns the table of features, the largest difference first."""
    comparison, findings = monitoring.comparison, monitoring.findings()
    show, (low, high) = shared_format(*comparison.explanations), comparison.interval(level)
    order = comparison.order
    rows = [findings[i] for i in order]
    here, there = map(short_name, comparison.names)
    return Table(
        (
            Column("feature", [short_name(finding.feature) for finding in rows], "name"),
            Column(here, [show(finding.before) for finding in rows]),
            Column(there, [show(finding.after) for finding in rows]),
            Column("difference", [signed(show(finding.difference)) for finding in rows]),
            Column(f"{100 * level:g}% interval", [f"[{show(low[i])}, {show(high[i])}]" for i in order], "interval"),
            Column(p_words(comparison), [p_value_words(finding.p_value) for finding in rows]),
            Column("inputs", [f"{finding.shift.distance:.2f}" for finding in rows]),
            Column("p of inputs", [p_value_words(finding.inputs_p_value) for finding in rows]),
            Column("", ["" if finding.verdict == UNCHANGED else finding.verdict for finding in rows], "words"),
        ),
        weights=-np.array([SEVERITY.index(finding.verdict) * len(rows) + i for i, finding in enumerate(rows)]),
        by="changes, flagged ones first",
    )


def _slice_table(monitoring: Monitoring) -> Table:
    """Returns the table of reference and slices: rows, losses where known, flagged features, shifted features."""
    show, losses = shared_format(*monitoring.comparison.explanations), monitoring.losses
    findings = [[], *(monitoring.findings(name) for name in monitoring.names)]
    flagged, shifted = (
        [[finding.feature for finding in each if finding.verdict in verdicts] for each in findings]
        for verdicts in (FLAGGED, (INPUTS,))
    )
    means = [] if losses is None else [Column("mean loss", [show(float(loss)) for loss in losses])]
    return Table(
        (
            Column("slice", list(map(short_name, monitoring.comparison.names)), "name"),
            Column("rows", [f"{count:,}" for count in monitoring.rows]),
            *means,
            Column("flagged", [names_in_sentence(names) if names else "" for names in flagged], "words"),
            Column("inputs shifted alone", [names_in_sentence(names) if names else "" for names in shifted], "words"),
        )
    )


def _notes(monitoring: Monitoring) -> tuple[Note, ...]:
    """Returns notes on the meaning and the limits of the tests, and remarks."""
    comparison = monitoring.comparison
    rate = f"{100 * (1 - comparison.level):.3g} %"
    tested = (
        f"p: p-values of contributions and of inputs, each {adjustment_words(comparison)}."
        if comparison.adjust
        else f"p: p-values, not adjusted: where nothing has changed, about {rate} of the tests report a change."
    )
    limits = "A column can break without a change of its contribution if the model hardly uses it."
    about = [
        *rows_words(comparison),
        f"inputs: distance between the distributions of the column, from 0 to 1. {limits}",
    ]
    words = [tested, *(about if len(monitoring.names) == 1 else [limits]), *not_converged_words(comparison)]
    notes, more = list(comparison.notes[:REMARKS]), len(comparison.notes) - REMARKS
    if more > 0:
        where = "comparison.notes of the result in Python, --json in a shell"
        notes.append(Note(f"{more:,} more remark{'s' * (more > 1)} of this kind: {where}."))
    return (*map(Note, words), *notes, *monitoring.notes)


def _record(monitoring: Monitoring, level: float) -> Record:
    """Returns the numbers and words that tools for tracking experiments keep; each slice is a step."""
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
            **setting_of_comparison(monitoring.comparison, level),
            "flagged": ", ".join(monitoring.flagged),
            "shifted": ", ".join(monitoring.shifted),
        },
        plot=monitoring.plot,
    )


# page


def features_to_show(monitoring: Monitoring, top: int | None, most: int, least: int) -> list[str]:
    """Returns the names of ``top`` features: flagged ones, then those with a known change, then the largest.

    If ``top`` is None, their number is that of features with a known change, but at least ``least`` and at most
    ``most``.
    """
    flagged = {finding.feature for finding in monitoring.all_findings if finding.is_flagged}
    known_to_differ = {
        finding.feature for finding in monitoring.all_findings if finding.is_changed or finding.is_shifted
    }
    sizes = np.max([np.abs(explanation.values) for explanation in monitoring.comparison.explanations], axis=0)
    size = dict(zip(monitoring.feature_names, sizes, strict=True))
    order = sorted(size, key=lambda name: (name not in flagged, name not in known_to_differ, -size[name]))
    return order[: min(max(len(known_to_differ), least), most) if top is None else top]


def changes_with_verdicts(monitoring: Monitoring, level: float) -> list[Change]:
    """Returns the change of each slice from the reference, with verdicts, and stars for flagged features."""
    changes = []
    for change, where in zip(changes_of(monitoring.comparison, level), monitoring.names, strict=True):
        verdicts = np.array([finding.verdict for finding in monitoring.findings(where)])
        marks = np.array([MARKS.get(verdict, "") for verdict in verdicts])
        changes.append(replace(change, verdicts=verdicts, marks=marks))
    return changes


def legend_of_marks(changes: Sequence[Change]) -> Terms:
    """Returns the legend of the stars that occur."""
    seen = {mark for change in changes for mark in change.marks}
    return tuple((mark, words) for mark, words in MARK_WORDS.items() if mark in seen)


def slices_with_bars(changes: Sequence[Change]) -> list[int]:
    """Returns the indices of the slices with bars: most flagged features first, then the largest differences."""
    keys = [
        (-int((change.marks == STAR).sum()), -float(np.abs(change.values).max()), k) for k, change in enumerate(changes)
    ]
    return sorted(k for *_, k in sorted(keys)[:WITH_BARS])


def most_telling(
    rows: Sequence[tuple[int, int]], severity: Callable[[tuple[int, int]], int], most: int
) -> list[tuple[int, int]]:
    """Returns all rows, or if there are more than ``most``: the first of each name, then rows by ``severity``."""
    keys, seen = [], set()
    for i, row in enumerate(rows):
        keys.append((row[1] in seen, severity(row), i))
        seen.add(row[1])
    return [rows[i] for i in sorted(i for *_, i in sorted(keys)[: max(most, len(seen))])]


def most_telling_rows(changes: Sequence[Change], most: int = MOST_FINDINGS) -> list[tuple[int, int]]:
    """Returns the rows of the table, (slice, feature), the largest difference first, and at most ``most``.

    These are the largest of each feature, then known changes, then the largest of the others.
    """
    return most_telling(largest_first(changes), lambda row: SEVERITY.index(changes[row[0]].verdicts[row[1]]), most)


def _picture(monitoring: Monitoring, level: float) -> Bars | Lines:
    """Returns lines over the slices, or bars for a single one."""
    if len(monitoring.names) > 1:
        return slice_lines(monitoring, level)
    changes = changes_with_verdicts(monitoring, level)
    return change_bars(monitoring.comparison, changes, VALUES, level, legend_of_marks(changes))


def monitoring_page(monitoring: Monitoring, level: float) -> Page:
    """Returns the page of a monitored model: findings, slices, features, inputs, and the meaning of verdicts."""
    comparison, changes = monitoring.comparison, changes_with_verdicts(monitoring, level)
    names = display_names(comparison)
    notes = warnings_first([*monitoring.notes, *page_notes(comparison, changes, names)])
    slices = [Section("slices", "Slices", _slices(monitoring, level), "slice")] if len(monitoring.names) > 1 else []
    sections = (
        Section("found", "Findings", _overview(monitoring)),
        *slices,
        Section("features", "Features", _features(monitoring, changes, level)),
        Section("inputs", "Inputs", _inputs(monitoring), "column"),
        Section("verdicts", "What verdicts mean, and how often they are wrong", _verdicts(monitoring)),
        Section("mind", "Notes and warnings", (Notes(notes),)),
        Section("how", "What was computed, and how", shared_facts(comparison.explanations, names)),
    )
    return Page(_page_title(monitoring), sections, VALUES)


def _page_title(monitoring: Monitoring) -> str:
    """Returns the title of the page: the model, the compared rows and the reference."""
    reference, *others = map(_name, monitoring.comparison.names)
    model = _name(str(monitoring.comparison.reference.provenance.get("model", "The model")))
    return f"{model} on {others[0] if len(others) == 1 else f'{len(others)} slices'} against {reference}"


def _name(name: str) -> str:
    return isolated(shortened(name, NAME_COLUMNS))


def _overview(monitoring: Monitoring) -> tuple[Block, ...]:
    """Returns the first blocks of the page: alarm, losses, rows, and a sentence for each known change."""
    return (
        Paragraph(visible(alarm_sentence(monitoring)), "raised" if monitoring.is_flagged else "quieted"),
        Boxes(_boxes(monitoring)),
        Sentences(
            tuple(_sentence_without_name(finding, words) for finding, words in sentences_on_features(monitoring))
        ),
        Paragraph(
            f"This page compares {values_and_unit(monitoring.comparison)}.",
            "quiet",
            link=("What verdicts mean, and how often they are wrong", "verdicts"),
        ),
    )


def _sentence_without_name(finding: Finding, sentence: str) -> Sentence:
    """Returns a sentence with the feature name at its beginning separated from the text."""
    name = short_name(finding.feature)
    assert sentence.startswith(name)
    tag = "flagged" if finding.is_flagged else finding.verdict
    return Sentence(shortened(sentence[len(name) :], LONGEST), tone=finding.verdict, tag=tag, name=name)


def _boxes(monitoring: Monitoring) -> Terms:
    """Returns the numbers in boxes: mean losses where known, flagged slices, and rows."""
    show = shared_format(*monitoring.comparison.explanations)
    reference, *others = map(_name, monitoring.comparison.names)
    losses, (first, *counts) = monitoring.losses, monitoring.rows
    boxes = []
    if losses is not None:
        loss = f"Mean {loss_words(monitoring.comparison.reference.loss)}"
        boxes.append((f"{loss} in {reference}", show(float(losses[0]))))
        worst, last = int(np.argmax(losses[1:])), len(others) - 1
        chosen = {worst: "the highest" if worst < last else "the highest and last"} if last else {0: ""}
        chosen |= {} if last in chosen else {last: "the last"}
        for k, which in chosen.items():
            change = signed(show(float(losses[k + 1] - losses[0])))
            term = f"{loss} in {others[k]}{which and f', {which}'}"
            boxes.append((term, f"{show(float(losses[k + 1]))} ({change})"))
    if len(others) > 1:
        flagged = sum(any(finding.is_flagged for finding in monitoring.findings(where)) for where in monitoring.names)
        boxes.append(("Flagged slices", f"{flagged:,} of {len(others):,}"))
    where = others[0] if len(others) == 1 else f"{len(others):,} slices"
    return (*boxes, (f"Rows in {reference}", f"{first:,}"), (f"Rows in {where}", f"{sum(counts):,}"))


def _slices(monitoring: Monitoring, level: float) -> tuple[Block, ...]:
    """Returns the blocks with lines over the slices and the table of slices."""
    lines = slice_lines(monitoring, level)
    flagged = ", pale columns are slices in which something is flagged" if monitoring.is_flagged else ""
    has_shifts = any(finding.is_shifted for finding in monitoring.all_findings)
    shifted = ", diamonds are significant shifts of inputs" if has_shifts else ""
    words = f"Dashed lines are the reference, shades are pointwise {100 * level:g}% intervals{flagged}{shifted}."
    if len(lines.legend) < lines.drawn_of:
        words += f" {len(lines.legend)} of {lines.drawn_of} features have lines."
    controls = Controls(search="Search slices", has_count=False)
    return Paragraph(words, "quiet"), lines, controls, _slices_on_page(monitoring)


def _slices_on_page(monitoring: Monitoring) -> Table:
    """Returns the table of the reference and the slices, with numbers of findings by which it can be sorted."""
    names, brief = monitoring.comparison.names, _slice_table(monitoring).columns[1:]
    findings = [[], *(monitoring.findings(where) for where in monitoring.names)]
    order: dict[str, Sequence[float]] = {
        "rows": list(monitoring.rows),
        "mean loss": [] if monitoring.losses is None else monitoring.losses.tolist(),
        "flagged": [sum(finding.is_flagged for finding in each) for each in findings],
        "inputs shifted alone": [sum(finding.verdict == INPUTS for finding in each) for each in findings],
    }
    tones = {"flagged": ALONE, "inputs shifted alone": "shifted"}
    columns = [Column("Slice", kind="name", key="place", order=list(range(len(names))), rises=True)]
    for column in brief:
        heading, tone = column.heading, tones.get(column.heading, "")
        cells = [Cell(str(cell), tone=tone) if tone and cell else cell for cell in column.cells]
        columns.append(
            Column(
                f"{heading[:1].upper()}{heading[1:]}",
                cells,
                "name" if tone else "number",
                key=heading,
                order=order[heading],
                rises=bool(tone),
            )
        )
    return Table(
        tuple(columns),
        f"{', '.join(column.heading for column in brief)} of the reference and of each slice. Headings sort the table.",
        Items(names, tuple(range(len(names))), -np.arange(len(names), dtype=float)),
        sorted_by=("place", "ascending"),
        label="Table of the slices",
        most=MOST_SHOWN,
    )


def slice_lines(monitoring: Monitoring, level: float) -> Lines:
    """Returns lines over the slices: losses, contributions and shifts of inputs of the most important features."""
    comparison, losses = monitoring.comparison, monitoring.losses
    names = features_to_show(monitoring, None, MOST_LINES, FEWEST_LINES)
    indices = [monitoring.feature_names.index(name) for name in names]
    findings = [monitoring.findings(where) for where in monitoring.names]
    panels = []
    if losses is not None:
        margin = 0.08 * float(np.ptp(losses)) or 0.1 * abs(float(losses[0])) or 1.0
        line = Line(losses[1:], reference=float(losses[0]))
        limits = float(losses.min()) - margin, float(losses.max()) + margin
        label = f"mean {loss_words(comparison.reference.loss)}"
        panels.append(Panel(label, (line,), "middle", limits, is_single=True))
    values = np.array([explanation.values for explanation in comparison.explanations])  # (1 + n, p)
    ends = np.array([interval_of(comparison, k, level) for k in range(1, len(values))])  # (n, 2, p)
    contributions = tuple(
        Line(
            values[1:, i],
            (ends[:, 0, i], ends[:, 1, i]),
            float(values[0, i]),
            flagged=np.array([each[i].is_flagged and each[i].is_changed for each in findings]),
        )
        for i in indices
    )
    distances = tuple(
        Line(
            np.array([each[i].shift.distance for each in findings]),
            marked=np.array([each[i].is_shifted for each in findings]),
        )
        for i in indices
    )
    flagged = np.array([any(finding.is_flagged for finding in each) for each in findings])
    noun = "effects: variance of the output" if losses is None else "contributions"
    return Lines(
        title="Losses, contributions and inputs over the slices",
        words=_line_words(monitoring, indices),
        slices=monitoring.names,
        slice_words=tuple(_slice_words(monitoring, indices)),
        flagged=flagged,
        panels=(
            *panels,
            Panel(noun, contributions, "large"),
            Panel("shift of inputs, from 0 to 1", distances, "small", (0.0, 1.0)),
        ),
        legend=tuple(names),
        marks=((STAR, "flagged"),)
        if any(line.flagged is not None and line.flagged.any() for line in contributions)
        else (),
        drawn_of=len(monitoring.feature_names),
        label="Chart: losses, contributions and inputs over the slices",
    )


def _slice_words(monitoring: Monitoring, indices: Sequence[int]) -> list[str]:
    """Returns the text for each slice."""
    show, losses = shared_format(*monitoring.comparison.explanations), monitoring.losses
    words = []
    for k, name in enumerate(monitoring.names):
        findings = monitoring.findings(name)
        parts = [] if losses is None else [f"mean loss {show(float(losses[k + 1]))}"]
        parts += [f"{_label(findings[i].feature)} {show(findings[i].after)} ({findings[i].verdict})" for i in indices]
        words.append(", ".join(parts))
    return words


def _line_words(monitoring: Monitoring, indices: Sequence[int]) -> str:
    """Returns the description of the lines for screen readers."""
    show, losses = shared_format(*monitoring.comparison.explanations), monitoring.losses
    words = []
    if losses is not None:
        least, most = show(float(losses[1:].min())), show(float(losses[1:].max()))
        words.append(f"Mean loss: {show(float(losses[0]))} in the reference, from {least} to {most} in the slices")
    for i in indices:
        findings = [monitoring.findings(where)[i] for where in monitoring.names]
        count = sum(finding.is_flagged for finding in findings)
        flagged = f", flagged in {count} of {len(findings)} slices" if count else ""
        before, after = show(findings[0].before), show(findings[-1].after)
        words.append(f"{_label(findings[0].feature)}: {before} in the reference, {after} in the last slice{flagged}")
    return f"Lines over {len(monitoring.names)} slices. {'; '.join(words)}. The tables have all numbers."


def _label(name: str) -> str:
    return isolated(shortened(name, LABEL_COLUMNS))


def _features(monitoring: Monitoring, changes: Sequence[Change], level: float) -> tuple[Block, ...]:
    """Returns the blocks with charts and the table of the features, with verdicts and shifts of inputs."""
    comparison, rows, with_bars = monitoring.comparison, most_telling_rows(changes), slices_with_bars(changes)
    findings = [monitoring.findings(where) for where in monitoring.names]
    each = [findings[k][i] for k, i in rows]
    verdicts = [
        Cell(
            finding.verdict,
            finding.verdict,
            small=isolated(shortened(strongest_hint(finding), HINT_COLUMNS)) if finding.is_shifted else "",
        )
        for finding in each
    ]
    severity = [SEVERITY.index(finding.verdict) for finding in each]
    distances, p_values = [finding.shift.distance for finding in each], [finding.inputs_p_value for finding in each]
    table = features_table(
        comparison,
        changes,
        rows,
        level,
        caption=f"{visible(alarm_sentence(monitoring))} Values, difference, its interval, p-value and verdict of each "
        "feature. Headings sort the table, differences by their size.",
        first=[Column("Verdict", verdicts, "words", "known", severity, rises=True)],
        last=[
            Column("Inputs", [f"{distance:.2f}" for distance in distances], key="distance", order=distances),
            Column("p of inputs", list(map(p_value_words, p_values)), key="inputs_p", order=p_values, rises=True),
        ],
        most=MOST_SHOWN,
    )
    left_out = (
        f"Of {len(changes)} slices the {len(with_bars)} with the most flags, or else the largest differences, have "
        "bars; the lines above show all slices."
    )
    row_count = len(changes) * len(monitoring.feature_names)
    above = []
    if len(rows) < row_count:
        words = (
            f"The table has {len(rows)} of {row_count:,} findings (one by feature and slice): each feature in the "
            "slice where it changed most, then known changes, then the largest differences. The result has all."
        )
        above.append(Paragraph(words, "quiet"))
    return features_blocks(
        comparison,
        changes,
        level,
        table,
        with_bars=with_bars,
        left_out=left_out,
        marks=legend_of_marks(changes),
        above=above,
    )


@dataclass(frozen=True)
class InputRow:
    """A column in one slice, as a row of the table of inputs.

    Attributes
    ----------
    position : indices of the slice and of the column
    kind, distance, p : as in a Shift, with an adjusted p
    is_shifted : whether the column is known to have shifted
    hints, facts : likely descriptions of the shift, and statistics of the column in the reference and now
    """

    position: tuple[int, int]
    kind: str
    distance: float
    p: float
    is_shifted: bool
    hints: tuple[str, ...]
    facts: str


def input_rows(monitoring: Monitoring, most: int = MOST_INPUTS) -> tuple[Items, list[InputRow]]:
    """Returns the columns and the rows of their table, the largest distance first.

    Each column has a row for the slice with the largest distance from the reference, and for the slices in which it is
    known to have shifted, as far as there is room.
    """
    names = [shift.column for shift in monitoring.shifts[0]]
    column_index = {name: j for j, name in enumerate(names)}  # a file may hold columns in any order
    shifts = {
        (k, column_index[shift.column]): (shift, float(p))
        for k, columns in enumerate(monitoring.shifts)
        for shift, p in zip(columns, monitoring.shift_p_values[k], strict=True)
    }
    alpha = 1 - monitoring.comparison.level
    largest, weights = np.zeros(len(names)), np.zeros(len(names))
    for (_, j), (shift, p) in shifts.items():
        largest[j], weights[j] = max(largest[j], shift.distance), max(weights[j], shift.distance + (p < alpha))
    by_distance = sorted(shifts, key=lambda position: -shifts[position][0].distance)
    furthest = {j: (k, j) for k, j in reversed(by_distance)}
    candidates = [
        position for position in by_distance if position == furthest[position[1]] or shifts[position][1] < alpha
    ]
    rows = most_telling(candidates, lambda position: int(shifts[position][1] >= alpha), most)
    columns = Items(tuple(names), tuple(np.argsort(-largest, kind="stable").tolist()), weights)
    return columns, [_input(position, *shifts[position], alpha) for position in rows]


def _input(position: tuple[int, int], shift: Shift, p: float, alpha: float) -> InputRow:
    reasons = shift.hints[:MOST_HINTS] if p < alpha else ()  # no hints on what may be chance
    hints = tuple(isolated(shortened(hint, HINT_COLUMNS)) for hint in reasons)
    facts = "; ".join(_fact(name, *pair) for name, pair in shift.facts.items() if name not in OMITTED_FACTS)
    return InputRow(position, shift.kind, shift.distance, p, p < alpha, hints, facts)


def _fact(name: str, before: float, now: float) -> str:
    """Formats a statistic of a column in the reference and now.

    Examples
    --------
    >>> _fact("median", 181.0, 10860.0), _fact("missing share", 0.0, 0.25), _fact("lowest (days since 1970)", 0.0, 1.0)
    ('median 181, now 10,860', 'missing 0 %, now 25 %', 'lowest 1970-01-01, now 1970-01-02')
    """
    term, is_date = name.removesuffix(DAYS).removesuffix(" share"), name.endswith(DAYS)
    reference, current = (_number(value, is_date, name.endswith(" share")) for value in (before, now))
    return f"{shortened(term, FACT_COLUMNS)} {reference}, now {current}"


def _number(value: float, is_date: bool, is_share: bool) -> str:
    if is_date and abs(value) < LAST_DAY:
        return str(np.datetime64(int(np.floor(value)), "D"))
    if is_share:
        return f"{100 * value:.3g} %"
    return f"{value:,.5g}" if abs(value) < 1e5 else f"{value:,.6g}"


def _inputs(monitoring: Monitoring) -> tuple[Block, ...]:
    """Returns the blocks with the table of inputs."""
    columns, inputs = input_rows(monitoring)
    count = sum(map(len, monitoring.shifts))
    words = (
        "How much the distribution of each column differs from the reference, whether or not the model uses the column."
    )
    if len(inputs) < count:
        words += (
            f" The table has {len(inputs)} of {count:,} rows (one by column and slice): each column in the slice with "
            "the largest distance, then known shifts by distance. The result has all."
        )
    controls = Controls(search="Search columns", largest="distances")
    return Paragraph(words, "quiet"), controls, _inputs_table(monitoring, columns, inputs)


def _inputs_table(monitoring: Monitoring, columns: Items, inputs: Sequence[InputRow]) -> Table:
    comparison, kinds = monitoring.comparison, [row.kind for row in inputs]
    distances, p_values = [row.distance for row in inputs], [row.p for row in inputs]
    words = [
        Cell(
            "shifted" if row.is_shifted else "no known shift",
            INPUTS if row.is_shifted else UNCHANGED,
            f": {'; '.join(row.hints)}" if row.hints else "",
            row.facts,
        )
        for row in inputs
    ]
    return Table(
        (
            Column("Column", kind="name", key="name", rises=True),
            *column_of_explanations(comparison, [row.position[0] for row in inputs]),
            Column("Kind", kinds, "words", "kind", kinds, rises=True),
            Column("Distance", [f"{distance:.3f}" for distance in distances], key="distance", order=distances),
            Column(p_words(comparison), list(map(p_value_words, p_values)), key="p", order=p_values, rises=True),
            Column("Shift", words, "long", "known", [int(not row.is_shifted) for row in inputs], rises=True),
        ),
        "Kind, distance from the reference, p-value and what is known of each column. Headings sort the table.",
        columns,
        tuple(row.position[1] for row in inputs),
        monitoring.names if len(monitoring.names) > 1 else (),
        ("distance", "descending"),
        "Table of the inputs",
        MOST_SHOWN,
    )


def _verdicts(monitoring: Monitoring) -> tuple[Block, ...]:
    """Returns the blocks on the meaning of verdicts, their error rates, distances and intervals."""
    noun = "effect" if monitoring.losses is None else "contribution"
    meanings = tuple((verdict, words.format(noun=noun, cause=CAUSES[noun])) for verdict, words in MEANINGS.items())
    comparison, has_slices = monitoring.comparison, len(monitoring.names) > 1
    rate = {"holm": HOLM, "benjamini hochberg": BENJAMINI_HOCHBERG}.get(comparison.adjust or "", SINGLE).format(
        noun=noun,
        chance=f"{100 * (1 - comparison.level):.3g} %",
        more=f"{100 * SURE_SHIFT * (1 - comparison.level):.3g} %",
        everywhere=", in any slice," if has_slices else "",
        count=np.size(comparison.flags),
        inputs=monitoring.shift_p_values.size,
    )
    return Facts(meanings, is_verdicts=True), *map(Paragraph, [rate, DISTANCE, *_rows_words(monitoring)])


def _rows_words(monitoring: Monitoring) -> list[str]:
    """Returns sentences on pairing and intervals, if they are the same for all slices."""
    comparison = monitoring.comparison
    if len({(difference.is_paired, difference.about) for difference in comparison.differences}) > 1:
        return []
    reference, other = (_name(name) for name in comparison.names[:2])
    names = (reference, other if len(monitoring.names) == 1 else "Each slice")
    first = replace(
        comparison, explanations=comparison.explanations[:2], differences=comparison.differences[:1], names=names
    )
    return rows_words(first)
