"""Comparison view: the summary, the page and the charts of a comparison; monitoring uses its charts, too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from clarysage._utils.display import isolated, shortened
from clarysage.catalogue import ABOUT, ADJUSTMENTS
from clarysage.errors import Note
from clarysage.inference.estimate import Target
from clarysage.results.explanation import MOST_DRAWN, Explanation, setting_of_explanation
from clarysage.results.facts_and_notes import notes_of_runs, shared_facts, warnings_first
from clarysage.results.summary import (
    Bars,
    Block,
    Boxes,
    Cell,
    Column,
    Controls,
    Ends,
    Items,
    Notes,
    Page,
    Paragraph,
    Record,
    Section,
    Sentence,
    Sentences,
    Series,
    Summary,
    Table,
    Terms,
)
from clarysage.results.text import NAMED, is_gain, loss_words, number_format, p_value_words, short_name, values_words
from clarysage.results.verdicts import filled_lead

if TYPE_CHECKING:
    from clarysage.results.comparison import Comparison

MOST_PLOTTED = 7  # explanations, for which a plot has colours
ROSE, FELL, UNKNOWN, SAME = "rose", "fell", "no known change", "no change"
FLAGGED, ALONG = "flagged", "along"  # marks in charts: a star, and a hollow star
VALUES, DIFFERENCES = "values", "differences"
VIEWS = {VALUES: "contributions", DIFFERENCES: "differences"}
TITLES = {VALUES: "Contributions of features", DIFFERENCES: "Differences of contributions from {reference}"}
NAME_COLUMNS, HEADING_COLUMNS = 40, 18  # characters of the name of an explanation, in texts and above its column
MOST_ROWS = 60  # rows of a table without a scroll bar
LEADS = {
    ROSE: "{count} of {all} {contribute} more in {other} than in {reference}:",
    FELL: "{count} of {all} {contribute} less in {other} than in {reference}:",
}
ONE_CHANGED = "{count} of {all} {contribute} more or less in {other} than in {reference}."
ONE_UNCHANGED = "Nothing is known to have changed between {reference} and {other}."
SOME_CHANGED = "{count} of {all} {contribute} more or less than in {reference} in at least one of {others}."
SOME_UNCHANGED = "Nothing is known to have changed between {reference} and {others}."
MARKED = (
    "A feature is marked where p, the probability of a difference this large if nothing had changed, is below "
    "{chance}; p is {adjusted}."
)
NOTHING = "No feature is known to contribute more or less in {other} than in {reference}."
CHANGED = Note(
    "The contribution of a feature can change because another column changed, and a column that contributes little "
    "can change unnoticed. Look at the columns themselves before you conclude that one of them is the cause."
)
UNCHANGED = Note(
    "No known change does not mean that there is none. The intervals of the differences show how large a change may "
    "have been missed; more rows make them narrower."
)


def comparison_summary(comparison: Comparison, level: float) -> Summary:
    """Returns the comparison in brief: a table for each explanation after the first, and what changed."""
    return Summary(
        kind="comparison",
        title=_title(comparison),
        headline=_title(comparison),
        tables=tuple(_table(comparison, k, level) for k in range(len(comparison.differences))),
        notes=_notes(comparison),
        figure=change_bars(comparison, changes_of(comparison, level), VALUES, level),
        unfinished=unfinished_words(comparison),
        pictures={"plot": comparison.plot},
        record=_record(comparison, level),
    )


def _title(comparison: Comparison) -> str:
    others = short_name(comparison.names[1]) if len(comparison.names) == 2 else f"{len(comparison.names) - 1} others"
    return f"{short_name(comparison.names[0])} and {others} compared"


def _table(comparison: Comparison, k: int, level: float) -> Table:
    """Returns the table of one explanation minus the reference, the largest difference first."""
    target, other = comparison.differences[k].target, comparison.explanations[k + 1]
    reference, show = comparison.reference, shared_format(comparison.reference, other)
    low, high = (np.atleast_2d(end)[k] for end in comparison.interval(level))
    p_values, flags = (np.atleast_2d(numbers)[k] for numbers in (comparison.p_values(), comparison.flags))
    order = np.argsort(-np.abs(target.values), kind="stable")
    here, there = short_name(comparison.names[k + 1]), short_name(comparison.names[0])
    verdicts = [("rose" if target.values[i] > 0 else "fell") if flags[i] else "" for i in order]
    return Table(
        (
            Column("feature", [comparison.feature_names[i] for i in order], "name"),
            Column(there, [show(reference.values[i]) for i in order]),
            Column(here, [show(other.values[i]) for i in order]),
            Column("difference", [signed(show(target.values[i])) for i in order]),
            Column(f"{100 * level:g}% interval", [f"[{show(low[i])}, {show(high[i])}]" for i in order], "interval"),
            Column(p_words(comparison), [p_value_words(p_values[i]) for i in order], "words"),
            Column("", [Cell(word, tone=word) if word else "" for word in verdicts], "words"),
        ),
        caption=f"{here} minus {there}: {values_and_unit(comparison)}",
        weights=np.where(flags, np.inf, np.abs(target.values))[order],
        by="differences",
    )


def _notes(comparison: Comparison) -> tuple[Note, ...]:
    """Returns notes: what changed, the meaning of tests and intervals, the losses, and remarks."""
    words = [
        *change_words(comparison),
        *rows_words(comparison),
        f"p: probability of a difference this large if nothing had changed, {adjustment_words(comparison)}.",
        *_losses(comparison),
        *not_converged_words(comparison),
    ]
    return (*map(Note, words), *comparison.notes)


def _record(comparison: Comparison, level: float) -> Record:
    """Returns the numbers and words that tools for tracking experiments keep."""
    return Record(
        name="comparison",
        frame=partial(comparison.to_frame, level),
        columns=("difference", "std_error", "low", "high", "p", "p_adjusted", "changed"),
        numbers={"changed_features": (len(comparison.changed),)},
        words={**setting_of_comparison(comparison, level), "changed": ", ".join(comparison.changed)},
        plot=partial(comparison.plot, top=MOST_DRAWN) if len(comparison.names) <= MOST_PLOTTED else None,
    )


def setting_of_comparison(comparison: Comparison, level: float) -> dict[str, str]:
    """Returns what is compared, and how differences are tested, for tools that track experiments."""
    about = sorted({difference.about for difference in comparison.differences})
    meaning = " or ".join(map(comparison.reference.meaning, about))
    return {
        **setting_of_explanation(comparison.reference),
        "names": ", ".join(comparison.names),
        "paired": str(comparison.is_paired).lower(),
        "adjust": str(comparison.adjust or "none"),
        "level": f"{comparison.level:g}",
        "converged": str(all(explanation.converged for explanation in comparison.explanations)).lower(),
        "about": " or ".join(about),
        "intervals": f"{100 * level:g}% intervals about {meaning}",
    }


def unfinished_words(comparison: Comparison) -> tuple[str, ...]:
    """Returns a sentence for each explanation that did not converge, for the command line."""
    pairs = zip(comparison.names, comparison.explanations, strict=True)
    return tuple(
        f"not converged: {name}. {explanation.stopped.value}"
        for name, explanation in pairs
        if not explanation.stopped.is_wanted
    )


def not_converged_words(comparison: Comparison) -> list[str]:
    """Returns a sentence for each explanation that did not converge, for the notes of a summary."""
    pairs = zip(comparison.names, comparison.explanations, strict=True)
    return [
        f"NOT CONVERGED: {short_name(name)}. {explanation.stopped.value}"
        for name, explanation in pairs
        if not explanation.stopped.is_wanted
    ]


def p_words(comparison: Comparison) -> str:
    """Returns the heading of a column of p-values."""
    return f"p ({ADJUSTMENTS[comparison.adjust].label})" if comparison.adjust else "p"


def values_and_unit(comparison: Comparison) -> str:
    """Returns the name of the compared values, and their unit."""
    reference = comparison.reference
    unit = f", in units of {loss_words(reference.loss)}" if reference.base is not None and reference.loss else ""
    return f"{values_words(reference)}{unit}"


def change_words(comparison: Comparison) -> list[str]:
    """Returns sentences on the flagged features and their interpretation."""
    changed, count = comparison.changed, len(comparison.feature_names)
    if not changed:
        return [f"No feature is known to contribute more or less than in {short_name(comparison.names[0])}."]
    return [
        f"Changed: {', '.join(map(short_name, changed))} ({len(changed):,} of {count:,} features). The contribution "
        "of a feature can change because another column changed."
    ]


def rows_words(comparison: Comparison) -> list[str]:
    """Returns sentences on pairing and on what intervals are about, one for all explanations that share it."""
    names_by_words: dict[str, list[str]] = {}
    for difference, name in zip(comparison.differences, comparison.names[1:], strict=True):
        how = "the same rows, compared row by row" if difference.is_paired else "treated as independent samples of rows"
        about = ABOUT[difference.about]
        meaning = comparison.reference.meaning(about.name) if about.name == "rows" else about.summary
        words = f"{how}. The pointwise intervals are about {meaning}."
        names_by_words.setdefault(words, []).append(short_name(name))
    return [
        f"{', '.join(names)} and {short_name(comparison.names[0])}: {words}" for words, names in names_by_words.items()
    ]


def adjustment_words(comparison: Comparison) -> str:
    """Returns a clause on the adjustment of p-values, and on the rate of false marks."""
    chance = f"{100 * (1 - comparison.level):.3g} %"
    if comparison.adjust is None:
        return f"not adjusted: of features that did not change, about {chance} are marked"
    row = ADJUSTMENTS[comparison.adjust]
    return f"adjusted ({row.label}) so that {row.promise.format(chance=chance)}"


def _losses(comparison: Comparison) -> list[str]:
    """Returns a sentence on the mean losses with all features, where they are known."""
    losses_by_name = [
        (short_name(name), explanation.base - explanation.total)
        for name, explanation in zip(comparison.names, comparison.explanations, strict=True)
        if explanation.base is not None and explanation.total is not None
    ]
    if len(losses_by_name) < len(comparison.names) or comparison.reference.values_are == "variance":
        return []
    show = shared_format(*comparison.explanations)
    losses = ", ".join(f"{show(loss)} in {name}" for name, loss in losses_by_name)
    return [f"The mean {loss_words(comparison.reference.loss)} with all features is {losses}."]


def shared_format(*explanations: Explanation) -> Callable[[float], str]:
    """Returns the number format of the explanation with the smallest values, so that no column is all zeros."""
    sizes = [float(np.abs(explanation.values).max()) for explanation in explanations]
    chosen = min(range(len(sizes)), key=lambda i: sizes[i] or np.inf)
    return number_format(explanations[chosen])


def signed(number: str) -> str:
    """Adds a plus sign to a formatted positive number."""
    is_zero = not any(digit in number for digit in "123456789")
    return number if is_zero or number.startswith("-") else f"+{number}"


# page


@dataclass(frozen=True)
class Change:
    """The difference of one explanation from the reference, as pages show it.

    Attributes
    ----------
    name : name of the explanation
    before, after, values : (p,) value in the reference, value in the other explanation, and the difference
    low, high, p : (p,) ends of the interval of the difference, and its adjusted p-value
    verdicts : (p,) "rose" or "fell" where a feature is flagged, "no change" where nothing differs at all, and otherwise
        "no known change"; monitoring has its own verdicts
    marks : (p,) "flagged" for a known change, "along" for a change that most likely follows that of another feature, or
        an empty text
    """

    name: str
    before: np.ndarray
    after: np.ndarray
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    verdicts: np.ndarray
    marks: np.ndarray

    @property
    def is_changed(self) -> np.ndarray:
        """True for each feature that is known to differ from the reference, (p,)."""
        return np.asarray(self.marks != "")


def changes_of(comparison: Comparison, level: float) -> list[Change]:
    """Returns the change of each explanation after the first from the first, the reference, with its verdicts."""
    lows, highs = (np.atleast_2d(end) for end in comparison.interval(level))
    p_values, flags = (np.atleast_2d(numbers) for numbers in (comparison.p_values(), comparison.flags))
    names = display_names(comparison)
    return [
        Change(
            name=names[k + 1],
            before=comparison.reference.values,
            after=comparison.explanations[k + 1].values,
            values=difference.target.values,
            low=lows[k],
            high=highs[k],
            p=p_values[k],
            verdicts=_directions(difference.target, flags[k]),
            marks=np.where(flags[k], FLAGGED, ""),
        )
        for k, difference in enumerate(comparison.differences)
    ]


def _directions(target: Target, flags: np.ndarray) -> np.ndarray:
    nothing = (target.values == 0) & (target.std_error == 0)
    return np.select([flags & (target.values > 0), flags & (target.values < 0), nothing], [ROSE, FELL, SAME], UNKNOWN)


def display_names(comparison: Comparison, most: int = NAME_COLUMNS, *, is_isolated: bool = True) -> list[str]:
    """Returns short and distinct names of the explanations for the page."""
    names = [shortened(name, most) for name in comparison.names]
    if is_isolated:
        names = list(map(isolated, names))
    count = Counter(names)
    return [f"{name} ({k})" if count[name] > 1 else name for k, name in enumerate(names, start=1)]


def items_by_change(comparison: Comparison) -> Items:
    """Returns the features, the largest difference first; pages show flagged ones and large differences at first."""
    order = comparison.order
    flagged = np.atleast_2d(comparison.flags).any(axis=0)
    size = np.empty(len(order))
    size[order] = np.arange(len(order), 0, -1)
    return Items(comparison.feature_names, tuple(order.tolist()), size + len(order) * flagged)


def indices_with_bars(changes: Sequence[Change]) -> list[int]:
    """Returns the indices of the changes with bars: all, or of many those with the largest differences."""
    largest = np.argsort([-float(np.abs(change.values).max()) for change in changes], kind="stable")
    return sorted(largest[: MOST_PLOTTED - 1].tolist())


def interval_of(comparison: Comparison, k: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns the interval of the values of explanation k, about the target of the comparison."""
    about = comparison.differences[max(0, k - 1)].about
    explanation = comparison.explanations[k]
    return explanation.interval(level, about=about if about in explanation.targets else "data")


def change_bars(
    comparison: Comparison,
    changes: Sequence[Change],
    view: str,
    level: float,
    marks: Terms | None = None,
    with_bars: Sequence[int] | None = None,
) -> Bars:
    """Returns the chart of values, the reference first, or of differences from the reference.

    ``marks`` is the legend of stars; default: a known change. ``with_bars`` are the indices of the changes with bars;
    default: as many as have different colours.
    """
    names, with_bars = display_names(comparison), indices_with_bars(changes) if with_bars is None else with_bars
    series = _series_of_values(comparison, changes, with_bars, level)
    if view == DIFFERENCES:
        series = _series_of_differences(changes, with_bars)
    return Bars(
        title=TITLES[view].format(reference=names[0]),
        items=items_by_change(comparison),
        series=tuple(series),
        row_words=_row_words(comparison, [changes[k] for k in with_bars], names[0]),
        largest="difference",
        described=3,
        legend=(names[0], *(changes[k].name for k in with_bars)),
        marks=changed_marks(comparison) if marks is None else marks,
        view=view,
        label=f"Chart: {VIEWS[view]}",
    )


def changed_marks(comparison: Comparison) -> Terms:
    """Returns the legend of the mark of a known change."""
    method = "" if comparison.adjust is None else f" ({ADJUSTMENTS[comparison.adjust].label})"
    return ((FLAGGED, f"changed{method}"),)


def _series_of_values(
    comparison: Comparison, changes: Sequence[Change], with_bars: Sequence[int], level: float
) -> list[Series]:
    undecided = np.zeros(len(comparison.feature_names), dtype=bool)
    series = []
    for at, k in enumerate([0, *(k + 1 for k in with_bars)]):
        marks, ends = None if k == 0 else changes[k - 1].marks, Ends(*interval_of(comparison, k, level), undecided)
        series.append(Series(comparison.explanations[k].values, (ends,), f"series-{at}", marks))
    return series


def _series_of_differences(changes: Sequence[Change], with_bars: Sequence[int]) -> list[Series]:
    return [
        Series(
            changes[k].values,
            (Ends(changes[k].low, changes[k].high, ~changes[k].is_changed),),
            f"series-{at}",
            changes[k].marks,
        )
        for at, k in enumerate(with_bars, start=1)
    ]


def _row_words(comparison: Comparison, changes: Sequence[Change], reference: str) -> tuple[str, ...]:
    """Returns the text for the bars of each feature."""
    show = shared_format(*comparison.explanations)
    words = []
    for i in range(len(comparison.feature_names)):
        others = (f"{change.name} {show(change.after[i])} ({change.verdicts[i]})" for change in changes)
        words.append(f"{reference} {show(changes[0].before[i])}, {', '.join(others)}")
    return tuple(words)


def features_blocks(
    comparison: Comparison,
    changes: Sequence[Change],
    level: float,
    table: Table,
    *,
    with_bars: Sequence[int],
    left_out: str,
    marks: Terms | None = None,
    above: Sequence[Paragraph] = (),
) -> tuple[Block, ...]:
    """Returns the section of the features: a switch between values and differences, charts of both, and a table.

    ``left_out`` is the text on changes without bars, ``above`` are paragraphs above the table.
    """
    lines = f"Lines are pointwise {100 * level:g}% intervals of the"
    return (
        Controls("Bars show", tuple(VIEWS.items()), largest="changes"),
        Paragraph(
            f"{lines} values. A star marks a significant difference; intervals can overlap although it is significant.",
            "quiet",
            VALUES,
        ),
        Paragraph(
            f"{lines} differences; faint bars are differences that may be zero.",
            "quiet",
            DIFFERENCES,
        ),
        *([Paragraph(left_out, "quiet")] if len(with_bars) < len(changes) else []),
        *(change_bars(comparison, changes, view, level, marks, with_bars) for view in VIEWS),
        *above,
        table,
    )


def largest_first(changes: Sequence[Change]) -> list[tuple[int, int]]:
    """Returns the rows of the table, (change, feature), the largest difference first."""
    values = np.stack([change.values for change in changes])
    order = np.argsort(-np.abs(values), axis=None, kind="stable")
    return [(int(k), int(i)) for k, i in zip(*np.unravel_index(order, values.shape), strict=True)]


def features_table(
    comparison: Comparison,
    changes: Sequence[Change],
    rows: Sequence[tuple[int, int]],
    level: float,
    *,
    caption: str,
    first: Sequence[Column] = (),
    last: Sequence[Column] = (),
    most: int = MOST_ROWS,
) -> Table:
    """Returns the table of the features; ``first`` are columns after the names, ``last`` at the end."""
    show, heads = shared_format(*comparison.explanations), display_names(comparison, HEADING_COLUMNS)

    def numbers(part: str) -> list[float]:
        return [float(getattr(changes[k], part)[i]) for k, i in rows]

    before, after, values, low, high, p = map(numbers, ("before", "after", "values", "low", "high", "p"))
    ends = [f"[{show(a)}, {show(b)}]" for a, b in zip(low, high, strict=True)]
    return Table(
        (
            Column("Feature", kind="name", key="name", rises=True),
            *column_of_explanations(comparison, [k for k, _ in rows]),
            *first,
            Column(heads[0], list(map(show, before)), key="before", order=before),
            Column("Value" if len(changes) > 1 else heads[1], list(map(show, after)), key="after", order=after),
            Column(
                "Difference", [signed(show(number)) for number in values], key="size", order=np.abs(values).tolist()
            ),
            Column(f"{100 * level:g}% interval", ends, "interval", key="low", order=low),
            Column(p_words(comparison), list(map(p_value_words, p)), key="p", order=p, rises=True),
            *last,
        ),
        caption,
        items_by_change(comparison),
        tuple(i for _, i in rows),
        comparison.names[1:] if len(changes) > 1 else (),
        ("size", "descending"),
        "Table of the features",
        most,
    )


def column_of_explanations(comparison: Comparison, indices: Sequence[int]) -> list[Column]:
    """Returns the column with the name of the explanation of each row; none if there is only one."""
    if len(comparison.differences) == 1:
        return []
    names = display_names(comparison, is_isolated=False)[1:]
    return [Column("In", [names[k] for k in indices], "name", key="other", order=list(indices), rises=True)]


def comparison_page(comparison: Comparison, level: float) -> Page:
    """Returns the page of a comparison: findings, features, notes, and how the explanations were computed."""
    changes, names = changes_of(comparison, level), display_names(comparison)
    headline, rows, with_bars = (
        _page_headline(comparison, changes, names[0]),
        largest_first(changes),
        indices_with_bars(changes),
    )
    verdicts = [str(changes[k].verdicts[i]) for k, i in rows]
    verdict = Column("Verdict", [Cell(word, tone=word) for word in verdicts], "words", "known", verdicts, rises=True)
    caption = (
        f"{headline} Values, difference, its interval, p-value and verdict of each feature. Headings sort the table, "
        "differences by their size."
    )
    table = features_table(comparison, changes, rows, level, caption=caption, last=[verdict])
    left_out = (
        f"Of {len(changes)} explanations the {len(with_bars)} with the largest differences have bars; the table has "
        "all of them."
    )
    features = features_blocks(comparison, changes, level, table, with_bars=with_bars, left_out=left_out)
    others = names[1] if len(names) == 2 else f"{len(names) - 1} others"
    sections = (
        Section("found", "Findings", _overview(comparison, changes, names, headline)),
        Section("features", "Features", features),
        Section("mind", "Notes and warnings", (Notes(page_notes(comparison, changes, names)),)),
        Section("how", "What was computed, and how", shared_facts(comparison.explanations, names)),
    )
    return Page(f"{names[0]} and {others} compared", sections, VALUES)


def _overview(comparison: Comparison, changes: Sequence[Change], names: list[str], headline: str) -> tuple[Block, ...]:
    """Returns the first blocks of the page: headline, losses, changes, and how they were tested."""
    chance = f"{100 * (1 - comparison.level):.3g} %"
    tested = MARKED.format(chance=chance, adjusted=adjustment_words(comparison))
    renamed = replace(comparison, names=tuple(names))  # by the names that the page has
    return (
        Paragraph(headline, "lead"),
        Paragraph(f"This page compares {values_and_unit(comparison)}."),
        Boxes(_mean_losses(comparison, names)),
        Sentences(tuple(_sentences(comparison, changes, names[0]))),
        *(Paragraph(words, "quiet") for words in (tested, *rows_words(renamed))),
    )


def _page_headline(comparison: Comparison, changes: Sequence[Change], reference: str) -> str:
    count, feature_count = len(comparison.changed), len(comparison.feature_names)
    if len(changes) == 1:
        words = {"other": changes[0].name, "reference": reference}
        return filled_lead(ONE_CHANGED, count, feature_count, **words) if count else ONE_UNCHANGED.format(**words)
    words = {"others": f"{len(changes)} others", "reference": reference}
    return filled_lead(SOME_CHANGED, count, feature_count, **words) if count else SOME_UNCHANGED.format(**words)


def _mean_losses(comparison: Comparison, names: Sequence[str]) -> Terms:
    """Returns the mean losses with all features, where they are known, and their differences from the reference."""
    if not all(is_gain(explanation) and explanation.total is not None for explanation in comparison.explanations):
        return ()
    show = shared_format(*comparison.explanations)
    first, *others = ((explanation.base or 0.0) - (explanation.total or 0.0) for explanation in comparison.explanations)
    loss = loss_words(comparison.reference.loss)
    words = [show(first), *(f"{show(other)} ({signed(show(other - first))})" for other in others)]
    return tuple((f"Mean {loss} in {name}", text) for name, text in zip(names, words, strict=True))


def _sentences(comparison: Comparison, changes: Sequence[Change], reference: str) -> list[Sentence]:
    """Returns sentences on the changes in each explanation, the largest differences first."""
    show = shared_format(*comparison.explanations)
    sentences = []
    for change in changes:
        own_sentences = []
        for word, lead in LEADS.items():
            flagged = np.flatnonzero(change.verdicts == word)
            if len(flagged) == 0:
                continue
            first = flagged[np.argsort(-np.abs(change.values[flagged]), kind="stable")][:NAMED]
            named = tuple(
                (comparison.feature_names[i], f"from {show(change.before[i])} to {show(change.after[i])}")
                for i in first
            )
            text = filled_lead(lead, len(flagged), len(change.verdicts), other=change.name, reference=reference)
            own_sentences.append(Sentence(text, named, len(flagged) - len(first), tone=word))
        nothing = Sentence(NOTHING.format(other=change.name, reference=reference), tone=UNKNOWN)
        sentences += own_sentences or [nothing]
    return sentences


def page_notes(comparison: Comparison, changes: Sequence[Change], names: Sequence[str]) -> tuple[Note, ...]:
    """Returns a note on interpretation and the notes of comparison and explanations, warnings first."""
    reading = CHANGED if any(change.is_changed.any() for change in changes) else UNCHANGED
    return warnings_first([reading, *comparison.notes, *notes_of_runs(comparison.explanations, names)])
