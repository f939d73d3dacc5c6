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
from clarysage.results.finding import (
    ALONE,
    BOTH,
    FLAGGED,
    FOLLOWS,
    INPUTS,
    UNCHANGED,
    Finding,
    Shift,
    alarm_sentence,
    sentences_on_features,
    strongest_hint,
)
from clarysage.results.provenance import shared_facts, warnings_first
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

REMARKS = 3  # of the comparison that are shown
LONGEST = 800  # letters of a sentence
SEVERITY = (BOTH, ALONE, FOLLOWS, INPUTS, UNCHANGED)  # the order in which verdicts are sorted
MARKS = {BOTH: STAR, ALONE: STAR, FOLLOWS: ALONG}
MARK_WORDS = {STAR: "flagged", ALONG: "changed along with others"}
MOST_FINDINGS, MOST_INPUTS = 240, 200  # rows of tables
MOST_SHOWN = 20  # rows of a table that is not scrolled on its own
MOST_HINTS, HINT_COLUMNS, FACT_COLUMNS, LABEL_COLUMNS = 3, 160, 40, 29
WITH_BARS = 2  # slices, of which lines tell more
MOST_LINES, FEWEST_LINES = 5, 3  # features with lines, as many as can be told apart, and where less is known
DAYS = " (days since 1970)"
LAST_DAY = 2_900_000  # of the dates that people write
UNTOLD = ("rows",)  # the same for all columns
MEANINGS = {
    BOTH: "Flagged: its {noun} changed, and so did its own inputs, which are the likely cause.",
    ALONE: "Flagged: its {noun} changed, while its inputs are not known to have shifted, and no other feature changed "
    "in both. {cause} may have changed, or inputs of other features.",
    FOLLOWS: "Not flagged: its {noun} changed, while its inputs are not known to have shifted. Beside a feature that "
    "changed in both it most likely follows that one.",
    INPUTS: "Not flagged: its inputs shifted, but its {noun} is not known to have changed. A column can break like "
    "that where the model draws little from it.",
    UNCHANGED: "Neither is known to have changed, which does not say that nothing did: the interval tells how large a "
    "change may have been missed.",
}
CAUSES = {
    "contribution": "The response, or how it depends on the features,",
    "effect": "How features go together",
}
HOLM = (
    "Where nothing has changed, the chance that anything at all is flagged{everywhere} is at most {chance}, and the "
    "chance that any inputs are said to have shifted is at most {chance} too."
)
BENJAMINI_HOCHBERG = (
    "Of the {noun}s that are said to have changed about {chance} have not, and of the inputs that are said to have "
    "shifted likewise."
)
SINGLE = (
    "p is not adjusted for the number of tests: where nothing has changed, each finds something with a chance of about "
    "{chance}, and there are {count:,} of {noun}s and {inputs:,} of inputs."
)
DISTANCE = (
    "The distance of inputs is 0 where two columns are distributed alike and 1 where they have nothing in common: of "
    "numbers the largest gap between the shares that lie below a point (Kolmogorov-Smirnov), of categories the share "
    "of rows that would have to change theirs (total variation)."
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
    here, there = map(short_name, comparison.names)
    return Table(
        (
            Column("feature", [short_name(one.feature) for one in rows], "name"),
            Column(here, [show(one.before) for one in rows]),
            Column(there, [show(one.after) for one in rows]),
            Column("difference", [signed(show(one.difference)) for one in rows]),
            Column(f"{100 * level:g}% interval", [f"[{show(low[i])}, {show(high[i])}]" for i in order], "interval"),
            Column(p_words(comparison), [p_value_words(one.p_value) for one in rows]),
            Column("inputs", [f"{one.shift.distance:.2f}" for one in rows]),
            Column("p of inputs", [p_value_words(one.inputs_p_value) for one in rows]),
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
            Column("slice", list(map(short_name, monitoring.comparison.names)), "name"),
            Column("rows", [f"{count:,}" for count in monitoring.rows]),
            *means,
            Column("flagged", [names_in_sentence(names) if names else "" for names in flagged], "words"),
            Column("inputs shifted alone", [names_in_sentence(names) if names else "" for names in shifted], "words"),
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
            **setting_of_comparison(monitoring.comparison, level),
            "flagged": ", ".join(monitoring.flagged),
            "shifted": ", ".join(monitoring.shifted),
        },
        plot=monitoring.plot,
    )


# what there is to say on a page


def features_to_show(monitoring: Monitoring, top: int | None, most: int, least: int) -> list[str]:
    """Names of ``top`` features: first the flagged, then those of which anything is known, then the largest.

    Without a top, those of which anything is known, at most ``most`` and, with the largest of the others, at least
    ``least`` of them, where there are such.
    """
    flagged = {one.feature for one in monitoring.all_findings if one.is_flagged}
    known = {one.feature for one in monitoring.all_findings if one.is_changed or one.is_shifted}
    sizes = np.max([np.abs(one.values) for one in monitoring.comparison.explanations], axis=0)
    size = dict(zip(monitoring.feature_names, sizes, strict=True))
    order = sorted(size, key=lambda name: (name not in flagged, name not in known, -size[name]))
    return order[: min(max(len(known), least), most) if top is None else top]


def changes_with_verdicts(monitoring: Monitoring, level: float) -> list[Change]:
    """One for each explanation after the reference, with verdicts, and stars where features are flagged."""
    found = []
    for change, where in zip(changes_of(monitoring.comparison, level), monitoring.names, strict=True):
        verdicts = np.array([one.verdict for one in monitoring.findings(where)])
        marks = np.array([MARKS.get(verdict, "") for verdict in verdicts])
        found.append(replace(change, verdicts=verdicts, marks=marks))
    return found


def legend_of_marks(found: Sequence[Change]) -> Terms:
    """What stars mean, as far as there are such."""
    seen = {mark for one in found for mark in one.marks}
    return tuple((mark, words) for mark, words in MARK_WORDS.items() if mark in seen)


def slices_with_bars(found: Sequence[Change]) -> list[int]:
    """Which changes have bars: those in which most features are flagged, then those with the largest differences."""
    keys = [(-int((one.marks == STAR).sum()), -float(np.abs(one.values).max()), k) for k, one in enumerate(found)]
    return sorted(k for *_, k in sorted(keys)[:WITH_BARS])


def most_telling(
    rows: Sequence[tuple[int, int]], severity: Callable[[tuple[int, int]], int], most: int
) -> list[tuple[int, int]]:
    """Rows, or of more than so many the first of each name, then those of least ``severity``, then the first."""
    keys, seen = [], set()
    for at, row in enumerate(rows):
        keys.append((row[1] in seen, severity(row), at))
        seen.add(row[1])
    return [rows[at] for at in sorted(at for *_, at in sorted(keys)[: max(most, len(seen))])]


def most_telling_rows(found: Sequence[Change], most: int = MOST_FINDINGS) -> list[tuple[int, int]]:
    """Rows of the table, the largest difference first: all, or of very many the most telling.

    These are the largest of each feature, then whatever is known to have changed, then the largest.
    """
    return most_telling(largest_first(found), lambda place: SEVERITY.index(found[place[0]].verdicts[place[1]]), most)


def _picture(monitoring: Monitoring, level: float) -> Bars | Lines:
    """Lines over the slices, or bars where there is one alone."""
    if len(monitoring.names) > 1:
        return slice_lines(monitoring, level)
    found = changes_with_verdicts(monitoring, level)
    return change_bars(monitoring.comparison, found, VALUES, level, legend_of_marks(found))


def monitoring_page(monitoring: Monitoring, level: float) -> Page:
    comparison, found = monitoring.comparison, changes_with_verdicts(monitoring, level)
    names = display_names(comparison)
    notes = warnings_first([*monitoring.notes, *page_notes(comparison, found, names)])
    slices = [Section("slices", "Slices", _slices(monitoring, level), "slice")] if len(monitoring.names) > 1 else []
    sections = (
        Section("found", "What was found", _found(monitoring)),
        *slices,
        Section("features", "Features", _features(monitoring, found, level)),
        Section("inputs", "Inputs", _inputs(monitoring), "column"),
        Section("verdicts", "What verdicts mean, and how often they are wrong", _verdicts(monitoring)),
        Section("mind", "What to mind", (Notes(notes),)),
        Section("how", "What was computed, and how", shared_facts(comparison.explanations, names)),
    )
    return Page(_page_title(monitoring), sections, VALUES)


def _page_title(monitoring: Monitoring) -> str:
    """Which model is watched, on what, against what."""
    reference, *others = map(_name, monitoring.comparison.names)
    model = _name(str(monitoring.comparison.reference.provenance.get("model", "The model")))
    return f"{model} on {others[0] if len(others) == 1 else f'{len(others)} slices'} against {reference}"


def _name(name: str) -> str:
    return isolated(shortened(name, NAME_COLUMNS))


def _found(monitoring: Monitoring) -> tuple[Block, ...]:
    """The alarm, losses and rows, and a sentence on each feature of which something is known."""
    return (
        Paragraph(visible(alarm_sentence(monitoring)), "raised" if monitoring.is_flagged else "quieted"),
        Boxes(_boxes(monitoring)),
        Sentences(tuple(_apart(finding, words) for finding, words in sentences_on_features(monitoring))),
        Paragraph(
            f"Compared are {values_and_unit(monitoring.comparison)}.",
            "quiet",
            link=("What verdicts mean, and how often they are wrong", "verdicts"),
        ),
    )


def _apart(finding: Finding, sentence: str) -> Sentence:
    """A sentence, with the name that it begins with set apart."""
    name = short_name(finding.feature)
    assert sentence.startswith(name)
    tag = "flagged" if finding.is_flagged else finding.verdict
    return Sentence(shortened(sentence[len(name) :], LONGEST), tone=finding.verdict, tag=tag, name=name)


def _boxes(monitoring: Monitoring) -> Terms:
    """Mean losses, where they are known, how many slices are flagged, and rows."""
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
            moved = signed(show(float(losses[k + 1] - losses[0])))
            term = f"{loss} in {others[k]}{which and f', {which}'}"
            boxes.append((term, f"{show(float(losses[k + 1]))} ({moved})"))
    if len(others) > 1:
        flagged = sum(any(one.is_flagged for one in monitoring.findings(where)) for where in monitoring.names)
        boxes.append(("Slices in which something is flagged", f"{flagged:,} of {len(others):,}"))
    where = others[0] if len(others) == 1 else f"{len(others):,} slices"
    return (*boxes, (f"Rows in {reference}", f"{first:,}"), (f"Rows in {where}", f"{sum(counts):,}"))


def _slices(monitoring: Monitoring, level: float) -> tuple[Block, ...]:
    """Lines over the slices, and a table of them."""
    lines = slice_lines(monitoring, level)
    flagged = ", pale columns are slices in which something is flagged" if monitoring.is_flagged else ""
    has_shifts = any(one.is_shifted for one in monitoring.all_findings)
    shifted = ", diamonds are inputs that are known to have shifted" if has_shifts else ""
    words = f"Dashed lines are the reference, shades are {100 * level:g}% intervals, each on its own{flagged}{shifted}."
    if len(lines.legend) < lines.drawn_of:
        words += f" {len(lines.legend)} of {lines.drawn_of} features have lines."
    controls = Controls(search="Search slices", has_count=False)
    return Paragraph(words, "quiet"), lines, controls, _slices_on_page(monitoring)


def _slices_on_page(monitoring: Monitoring) -> Table:
    """The reference and the slices in their order, with how much was found in each."""
    names, brief = monitoring.comparison.names, _slice_table(monitoring).columns[1:]
    findings = [[], *(monitoring.findings(where) for where in monitoring.names)]
    order: dict[str, Sequence[float]] = {
        "rows": list(monitoring.rows),
        "mean loss": [] if monitoring.losses is None else monitoring.losses.tolist(),
        "flagged": [sum(one.is_flagged for one in each) for each in findings],
        "inputs shifted alone": [sum(one.is_shifted and not one.is_changed for one in each) for each in findings],
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
    """Losses, contributions and shifts of inputs over the slices: of the features that are flagged, of others of which
    something is known, or of the largest."""
    comparison, losses = monitoring.comparison, monitoring.losses
    names = features_to_show(monitoring, None, MOST_LINES, FEWEST_LINES)
    places = [monitoring.feature_names.index(name) for name in names]
    findings = [monitoring.findings(where) for where in monitoring.names]
    panels = []
    if losses is not None:
        margin = 0.08 * float(np.ptp(losses)) or 0.1 * abs(float(losses[0])) or 1.0
        line = Line(losses[1:], reference=float(losses[0]))
        limits = float(losses.min()) - margin, float(losses.max()) + margin
        label = f"mean {loss_words(comparison.reference.loss)}"
        panels.append(Panel(label, (line,), "middle", limits, is_single=True))
    values = np.array([one.values for one in comparison.explanations])  # (1 + n, p)
    ends = np.array([interval_of(comparison, k, level) for k in range(1, len(values))])  # (n, 2, p)
    contributions = tuple(
        Line(
            values[1:, i],
            (ends[:, 0, i], ends[:, 1, i]),
            float(values[0, i]),
            flagged=np.array([each[i].is_flagged for each in findings]),
        )
        for i in places
    )
    distances = tuple(
        Line(
            np.array([each[i].shift.distance for each in findings]),
            marked=np.array([each[i].is_shifted for each in findings]),
        )
        for i in places
    )
    flagged = np.array([any(one.is_flagged for one in each) for each in findings])
    noun = "effects: variance of the output" if losses is None else "contributions"
    return Lines(
        title="What became of the model over the slices",
        words=_line_words(monitoring, places),
        slices=monitoring.names,
        slice_words=tuple(_slice_words(monitoring, places)),
        flagged=flagged,
        panels=(
            *panels,
            Panel(noun, contributions, "large"),
            Panel("shift of inputs, from 0 to 1", distances, "small", (0.0, 1.0)),
        ),
        legend=tuple(names),
        marks=((STAR, "flagged"),) if flagged.any() else (),
        drawn_of=len(monitoring.feature_names),
        label="Chart: What became of the model over the slices",
    )


def _slice_words(monitoring: Monitoring, places: Sequence[int]) -> list[str]:
    """What to say of each slice, after its name."""
    show, losses = shared_format(*monitoring.comparison.explanations), monitoring.losses
    words = []
    for k, name in enumerate(monitoring.names):
        found = monitoring.findings(name)
        parts = [] if losses is None else [f"mean loss {show(float(losses[k + 1]))}"]
        parts += [f"{_label(found[i].feature)} {show(found[i].after)} ({found[i].verdict})" for i in places]
        words.append(", ".join(parts))
    return words


def _line_words(monitoring: Monitoring, places: Sequence[int]) -> str:
    """What the lines show, to be read aloud."""
    show, losses = shared_format(*monitoring.comparison.explanations), monitoring.losses
    words = []
    if losses is not None:
        least, most = show(float(losses[1:].min())), show(float(losses[1:].max()))
        words.append(f"Mean loss: {show(float(losses[0]))} in the reference, from {least} to {most} in the slices")
    for i in places:
        found = [monitoring.findings(where)[i] for where in monitoring.names]
        count = sum(one.is_flagged for one in found)
        flagged = f", flagged in {count} of {len(found)} slices" if count else ""
        before, after = show(found[0].before), show(found[-1].after)
        words.append(f"{_label(found[0].feature)}: {before} in the reference, {after} in the last slice{flagged}")
    return f"Lines over {len(monitoring.names)} slices. {'; '.join(words)}. The tables have every number."


def _label(name: str) -> str:
    return isolated(shortened(name, LABEL_COLUMNS))


def _features(monitoring: Monitoring, found: Sequence[Change], level: float) -> tuple[Block, ...]:
    """Charts and the table of the features, with verdicts and how their inputs shifted."""
    comparison, rows, several = monitoring.comparison, most_telling_rows(found), slices_with_bars(found)
    findings = [monitoring.findings(where) for where in monitoring.names]
    each = [findings[k][i] for k, i in rows]
    verdicts = [
        Cell(
            one.verdict,
            one.verdict,
            small=isolated(shortened(strongest_hint(one), HINT_COLUMNS)) if one.is_shifted else "",
        )
        for one in each
    ]
    severity = [SEVERITY.index(one.verdict) for one in each]
    distances, chances = [one.shift.distance for one in each], [one.inputs_p_value for one in each]
    table = features_table(
        comparison,
        found,
        rows,
        level,
        caption=f"{visible(alarm_sentence(monitoring))} Values, difference, its interval, p-value and verdict of each "
        "feature. Headings sort the table, differences by their size.",
        first=[Column("Verdict", verdicts, "words", "known", severity, rises=True)],
        last=[
            Column("Inputs", [f"{one:.2f}" for one in distances], key="distance", order=distances),
            Column("p of inputs", list(map(p_value_words, chances)), key="inputs_p", order=chances, rises=True),
        ],
        most=MOST_SHOWN,
    )
    left_out = (
        f"Of {len(found)} slices those {len(several)} in which most is flagged, or else differences are largest, have "
        "bars; the lines above are of all of them."
    )
    every = len(found) * len(monitoring.feature_names)
    above = []
    if len(rows) < every:
        words = (
            f"Of {every:,} findings, of each feature in each slice, the table has the {len(rows)} that tell most: all "
            "features where they changed most, then whatever is known to have changed, then the largest differences. "
            "The result itself has all."
        )
        above.append(Paragraph(words, "quiet"))
    return features_blocks(
        comparison, found, level, table, several=several, left_out=left_out, marks=legend_of_marks(found), above=above
    )


@dataclass(frozen=True)
class InputRow:
    """A column in one of the explanations.

    Attributes
    ----------
    place : of the explanation, and of the column
    kind, distance, p : as in a Shift, p adjusted
    is_shifted : whether it is known to have
    hints, facts : what is known of the shift, and numbers of the column before and now
    """

    place: tuple[int, int]
    kind: str
    distance: float
    p: float
    is_shifted: bool
    hints: tuple[str, ...]
    facts: str


def inputs_of(monitoring: Monitoring, most: int = MOST_INPUTS) -> tuple[Items, list[InputRow]]:
    """Columns, and their rows in the table, the largest distance first.

    Of each column there is the slice where it is furthest from the reference, and those in which it is known to have
    shifted, as far as there is room.
    """
    names = [one.column for one in monitoring.shifts[0]]
    at = {name: j for j, name in enumerate(names)}  # columns of a file may come in any order
    found = {
        (k, at[one.column]): (one, float(p))
        for k, columns in enumerate(monitoring.shifts)
        for one, p in zip(columns, monitoring.shift_p_values[k], strict=True)
    }
    chance = 1 - monitoring.comparison.level
    largest, weights = np.zeros(len(names)), np.zeros(len(names))
    for (_, j), (one, p) in found.items():
        largest[j], weights[j] = max(largest[j], one.distance), max(weights[j], one.distance + (p < chance))
    places = sorted(found, key=lambda place: -found[place][0].distance)
    furthest = {j: (k, j) for k, j in reversed(places)}
    worth = [place for place in places if place == furthest[place[1]] or found[place][1] < chance]
    kept = most_telling(worth, lambda place: int(found[place][1] >= chance), most)
    columns = Items(tuple(names), tuple(np.argsort(-largest, kind="stable").tolist()), weights)
    return columns, [_input(place, *found[place], chance) for place in kept]


def _input(place: tuple[int, int], shift: Shift, p: float, chance: float) -> InputRow:
    told = shift.hints[:MOST_HINTS] if p < chance else ()  # what may be chance needs no reason
    hints = tuple(isolated(shortened(one, HINT_COLUMNS)) for one in told)
    facts = "; ".join(_fact(name, *pair) for name, pair in shift.facts.items() if name not in UNTOLD)
    return InputRow(place, shift.kind, shift.distance, p, p < chance, hints, facts)


def _fact(name: str, before: float, now: float) -> str:
    """A number of a column before and now.

    Examples
    --------
    >>> _fact("median", 181.0, 10860.0), _fact("missing share", 0.0, 0.25), _fact("lowest (days since 1970)", 0.0, 1.0)
    ('median 181, now 10,860', 'missing 0 %, now 25 %', 'lowest 1970-01-01, now 1970-01-02')
    """
    term, is_date = name.removesuffix(DAYS).removesuffix(" share"), name.endswith(DAYS)
    one, other = (_number(value, is_date, name.endswith(" share")) for value in (before, now))
    return f"{shortened(term, FACT_COLUMNS)} {one}, now {other}"


def _number(value: float, is_date: bool, is_share: bool) -> str:
    if is_date and abs(value) < LAST_DAY:
        return str(np.datetime64(int(np.floor(value)), "D"))
    if is_share:
        return f"{100 * value:.3g} %"
    return f"{value:,.5g}" if abs(value) < 1e5 else f"{value:,.6g}"


def _inputs(monitoring: Monitoring) -> tuple[Block, ...]:
    """How each column shifted, and what is known of it."""
    columns, inputs = inputs_of(monitoring)
    count = sum(map(len, monitoring.shifts))
    words = "How columns differ from the reference's, whatever the model makes of them."
    if len(inputs) < count:
        words += (
            f" Of {count:,} columns in slices the table has {len(inputs)}: each column where it is furthest from the "
            "reference, then the furthest of those that are known to have shifted elsewhere. The result itself has all."
        )
    controls = Controls(search="Search columns", largest="distances")
    return Paragraph(words, "quiet"), controls, _inputs_table(monitoring, columns, inputs)


def _inputs_table(monitoring: Monitoring, columns: Items, inputs: Sequence[InputRow]) -> Table:
    comparison, kinds = monitoring.comparison, [one.kind for one in inputs]
    distances, chances = [one.distance for one in inputs], [one.p for one in inputs]
    known = [
        Cell(
            "shifted" if one.is_shifted else "no known shift",
            INPUTS if one.is_shifted else UNCHANGED,
            f": {'; '.join(one.hints)}" if one.hints else "",
            one.facts,
        )
        for one in inputs
    ]
    return Table(
        (
            Column("Column", kind="name", key="name", rises=True),
            *column_of_explanations(comparison, [one.place[0] for one in inputs]),
            Column("Kind", kinds, "words", "kind", kinds, rises=True),
            Column("Distance", [f"{one:.3f}" for one in distances], key="distance", order=distances),
            Column(p_words(comparison), list(map(p_value_words, chances)), key="p", order=chances, rises=True),
            Column("What is known", known, "long", "known", [int(not one.is_shifted) for one in inputs], rises=True),
        ),
        "Kind, distance from the reference, p-value and what is known of each column. Headings sort the table.",
        columns,
        tuple(one.place[1] for one in inputs),
        monitoring.names if len(monitoring.names) > 1 else (),
        ("distance", "descending"),
        "Table of the inputs",
        MOST_SHOWN,
    )


def _verdicts(monitoring: Monitoring) -> tuple[Block, ...]:
    """What each verdict means, how often verdicts are wrong, what the distance is, and what intervals are about."""
    noun = "effect" if monitoring.losses is None else "contribution"
    meanings = tuple((verdict, words.format(noun=noun, cause=CAUSES[noun])) for verdict, words in MEANINGS.items())
    comparison, several = monitoring.comparison, len(monitoring.names) > 1
    rate = {"holm": HOLM, "benjamini hochberg": BENJAMINI_HOCHBERG}.get(comparison.adjust or "", SINGLE).format(
        noun=noun,
        chance=f"{100 * (1 - comparison.level):.3g} %",
        everywhere=", in any slice," if several else "",
        count=np.size(comparison.flags),
        inputs=monitoring.shift_p_values.size,
    )
    return Facts(meanings, is_verdicts=True), *map(Paragraph, [rate, DISTANCE, *_rows_words(monitoring)])


def _rows_words(monitoring: Monitoring) -> list[str]:
    """What rows and intervals are, where that is the same for all slices."""
    comparison = monitoring.comparison
    if len({(one.is_paired, one.about) for one in comparison.differences}) > 1:
        return []
    reference, other = (_name(name) for name in comparison.names[:2])
    names = (reference, other if len(monitoring.names) == 1 else "Each slice")
    first = replace(
        comparison, explanations=comparison.explanations[:2], differences=comparison.differences[:1], names=names
    )
    return rows_words(first)
