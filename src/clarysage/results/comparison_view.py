"""Comparison view: the summary, the page and the charts of a comparison."""

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
from clarysage.results.provenance import notes_of_runs, shared_facts, warnings_first
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

MOST_PLOTTED = 7  # explanations that a plot has colours for
ROSE, FELL, UNKNOWN, SAME = "rose", "fell", "no known change", "no change"
FLAGGED, ALONG = "flagged", "along"  # marks in charts: a star, and a hollow one
VALUES, DIFFERENCES = "values", "differences"
VIEWS = {VALUES: "what features contribute", DIFFERENCES: "by how much that differs"}
TITLES = {VALUES: "What features contribute", DIFFERENCES: "By how much that differs from {reference}"}
NAME_COLUMNS, HEADING_COLUMNS = 40, 18  # letters of the name of an explanation, and above its column
MOST_ROWS = 60  # of a table that is not scrolled on its own
LEADS = {
    ROSE: "{count} of {all} {contribute} more in {other} than in {reference}:",
    FELL: "{count} of {all} {contribute} less in {other} than in {reference}:",
}
ONE_CHANGED = "{count} of {all} {contribute} more or less in {other} than in {reference}."
ONE_UNCHANGED = "Nothing is known to have changed between {reference} and {other}."
SOME_CHANGED = "{count} of {all} {contribute} more or less than in {reference} in at least one of {others}."
SOME_UNCHANGED = "Nothing is known to have changed between {reference} and {others}."
MARKED = (
    "A feature is marked where p, how likely a difference so large would be if there were none, is below {chance}; "
    "p is {adjusted}."
)
NOTHING = "Of no feature it is known that it contributes more or less in {other} than in {reference}."
CHANGED = Note(
    "What a feature contributes can change because of another column that changed, and a column that contributes "
    "little can change unnoticed. Look at the columns themselves before one is held to be at fault."
)
UNCHANGED = Note(
    "That no change is known does not say that there is none. The intervals of the differences tell how large a change "
    "may have been missed; more rows make them narrower."
)


def comparison_summary(comparison: Comparison, level: float) -> Summary:
    """Returns the comparison in brief: a table for each explanation after the first, and what changed."""
    return Summary(
        kind="comparison",
        title=_title(comparison),
        headline=_title(comparison),
        tables=tuple(_table(comparison, place, level) for place in range(len(comparison.differences))),
        notes=_notes(comparison),
        figure=change_bars(comparison, changes_of(comparison, level), VALUES, level),
        unfinished=unfinished_words(comparison),
        pictures={"plot": comparison.plot},
        record=_record(comparison, level),
    )


def _title(comparison: Comparison) -> str:
    others = short_name(comparison.names[1]) if len(comparison.names) == 2 else f"{len(comparison.names) - 1} others"
    return f"{short_name(comparison.names[0])} and {others} compared"


def _table(comparison: Comparison, place: int, level: float) -> Table:
    """One explanation less the reference, the largest difference first."""
    target, other = comparison.differences[place].target, comparison.explanations[place + 1]
    reference, show = comparison.reference, shared_format(comparison.reference, other)
    low, high = (np.atleast_2d(end)[place] for end in comparison.interval(level))
    chances, flags = (np.atleast_2d(numbers)[place] for numbers in (comparison.p_values(), comparison.flags))
    order = np.argsort(-np.abs(target.values), kind="stable")
    here, there = short_name(comparison.names[place + 1]), short_name(comparison.names[0])
    verdicts = [("rose" if target.values[i] > 0 else "fell") if flags[i] else "" for i in order]
    return Table(
        (
            Column("feature", [comparison.feature_names[i] for i in order], "name"),
            Column(there, [show(reference.values[i]) for i in order]),
            Column(here, [show(other.values[i]) for i in order]),
            Column("difference", [signed(show(target.values[i])) for i in order]),
            Column(f"{100 * level:g}% interval", [f"[{show(low[i])}, {show(high[i])}]" for i in order], "interval"),
            Column(p_words(comparison), [p_value_words(chances[i]) for i in order], "words"),
            Column("", [Cell(word, tone=word) if word else "" for word in verdicts], "words"),
        ),
        caption=f"{here} less {there}: {values_and_unit(comparison)}",
    )


def _notes(comparison: Comparison) -> tuple[Note, ...]:
    """What changed, what the tests and intervals mean, how the losses differ, and remarks."""
    words = [
        *change_words(comparison),
        *rows_words(comparison),
        f"p: how likely a difference so large would be if there were none, {adjustment_words(comparison)}.",
        *_losses(comparison),
        *not_converged_words(comparison),
    ]
    return (*map(Note, words), *comparison.notes)


def _record(comparison: Comparison, level: float) -> Record:
    """Numbers and words for tools that track experiments."""
    return Record(
        name="comparison",
        frame=partial(comparison.to_frame, level),
        columns=("difference", "std_error", "low", "high", "p", "p_adjusted", "changed"),
        numbers={"changed_features": (len(comparison.changed),)},
        words={**setting_of_comparison(comparison, level), "changed": ", ".join(comparison.changed)},
        plot=partial(comparison.plot, top=MOST_DRAWN) if len(comparison.names) <= MOST_PLOTTED else None,
    )


def setting_of_comparison(comparison: Comparison, level: float) -> dict[str, str]:
    """What is compared, and how differences are tested, for tools that track experiments."""
    about = sorted({difference.about for difference in comparison.differences})
    meaning = " or ".join(map(comparison.reference.meaning, about))
    return {
        **setting_of_explanation(comparison.reference),
        "names": ", ".join(comparison.names),
        "paired": str(comparison.is_paired).lower(),
        "adjust": str(comparison.adjust or "none"),
        "level": f"{comparison.level:g}",
        "converged": str(all(one.converged for one in comparison.explanations)).lower(),
        "about": " or ".join(about),
        "intervals": f"{100 * level:g}% intervals about {meaning}",
    }


def unfinished_words(comparison: Comparison) -> tuple[str, ...]:
    """The explanations that did not converge, a sentence each."""
    pairs = zip(comparison.names, comparison.explanations, strict=True)
    return tuple(f"not converged: {name}. {one.stopped.value}" for name, one in pairs if not one.stopped.is_wanted)


def not_converged_words(comparison: Comparison) -> list[str]:
    """The same as a reader of the table is told it."""
    pairs = zip(comparison.names, comparison.explanations, strict=True)
    return [
        f"NOT CONVERGED: {short_name(name)}. {one.stopped.value}" for name, one in pairs if not one.stopped.is_wanted
    ]


def p_words(comparison: Comparison) -> str:
    """The word above p-values."""
    return f"p ({ADJUSTMENTS[comparison.adjust].label})" if comparison.adjust else "p"


def values_and_unit(comparison: Comparison) -> str:
    """What values are compared, and their unit."""
    reference = comparison.reference
    unit = f", in units of {loss_words(reference.loss)}" if reference.base is not None and reference.loss else ""
    return f"{values_words(reference)}{unit}"


def change_words(comparison: Comparison) -> list[str]:
    """Which features are flagged, and how to read that."""
    changed, count = comparison.changed, len(comparison.feature_names)
    if not changed:
        return [f"No feature is known to contribute more or less than in {short_name(comparison.names[0])}."]
    return [
        f"Changed: {', '.join(map(short_name, changed))} ({len(changed):,} of {count:,} features). What a feature "
        "contributes can change because of another column that changed."
    ]


def rows_words(comparison: Comparison) -> list[str]:
    """Whether rows are the same, and what intervals are about: a sentence for all explanations it is true of."""
    names_by_words: dict[str, list[str]] = {}
    for difference, name in zip(comparison.differences, comparison.names[1:], strict=True):
        how = "the same rows, one by one" if difference.is_paired else "rows taken as drawn apart"
        about = ABOUT[difference.about]
        meaning = comparison.reference.meaning(about.name) if about.name == "rows" else about.summary
        words = f"{how}. Intervals, each on its own, are about {meaning}."
        names_by_words.setdefault(words, []).append(short_name(name))
    return [
        f"{', '.join(names)} and {short_name(comparison.names[0])}: {words}" for words, names in names_by_words.items()
    ]


def adjustment_words(comparison: Comparison) -> str:
    """How p-values are adjusted, and how often a mark is false."""
    chance = f"{100 * (1 - comparison.level):.3g} %"
    if comparison.adjust is None:
        return f"each on its own: of features that did not change, about {chance} are marked"
    row = ADJUSTMENTS[comparison.adjust]
    return f"so adjusted ({row.label}) that {row.promise.format(chance=chance)}"


def _losses(comparison: Comparison) -> list[str]:
    """The mean losses with all features, where they are known."""
    known = [
        (short_name(name), one.base - one.total)
        for name, one in zip(comparison.names, comparison.explanations, strict=True)
        if one.base is not None and one.total is not None
    ]
    if len(known) < len(comparison.names) or comparison.reference.values_are == "variance":
        return []
    show = shared_format(*comparison.explanations)
    losses = ", ".join(f"{show(loss)} in {name}" for name, loss in known)
    return [f"The mean {loss_words(comparison.reference.loss)} with all features is {losses}."]


def shared_format(*explanations: Explanation) -> Callable[[float], str]:
    """As of the explanation with the smaller values, so that no column is all zeros."""
    sizes = [float(np.abs(one.values).max()) for one in explanations]
    chosen = min(range(len(sizes)), key=lambda i: sizes[i] or np.inf)
    return number_format(explanations[chosen])


def signed(number: str) -> str:
    """A number as it is printed, with its sign."""
    is_zero = not any(digit in number for digit in "123456789")
    return number if is_zero or number.startswith("-") else f"+{number}"


# what there is to say on a page


@dataclass(frozen=True)
class Change:
    """One explanation less the reference.

    Attributes
    ----------
    name : of the explanation
    before, after, values : (p,) in the reference, in the other, and the difference
    low, high, p : (p,) interval of the difference, each on its own, and its adjusted p-value
    verdicts : (p,) "rose" or "fell" where a feature is flagged, "no change" where nothing differs at all, and otherwise
        "no known change"; monitoring has its own verdicts
    marks : (p,) "flagged" where it is known to have changed, "along" where it most likely did so with another, or
        nothing
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
        """(p,) Which are known to differ from the reference."""
        return np.asarray(self.marks != "")


def changes_of(comparison: Comparison, level: float) -> list[Change]:
    """One for each explanation after the first."""
    lows, highs = (np.atleast_2d(end) for end in comparison.interval(level))
    chances, flags = (np.atleast_2d(numbers) for numbers in (comparison.p_values(), comparison.flags))
    names = display_names(comparison)
    return [
        Change(
            name=names[k + 1],
            before=comparison.reference.values,
            after=comparison.explanations[k + 1].values,
            values=difference.target.values,
            low=lows[k],
            high=highs[k],
            p=chances[k],
            verdicts=_directions(difference.target, flags[k]),
            marks=np.where(flags[k], FLAGGED, ""),
        )
        for k, difference in enumerate(comparison.differences)
    ]


def _directions(target: Target, flags: np.ndarray) -> np.ndarray:
    nothing = (target.values == 0) & (target.std_error == 0)
    return np.select([flags & (target.values > 0), flags & (target.values < 0), nothing], [ROSE, FELL, SAME], UNKNOWN)


def display_names(comparison: Comparison, most: int = NAME_COLUMNS, *, is_isolated: bool = True) -> list[str]:
    """What explanations are called on the page: short, and no two alike."""
    names = [shortened(name, most) for name in comparison.names]
    if is_isolated:
        names = list(map(isolated, names))
    count = Counter(names)
    return [f"{name} ({k})" if count[name] > 1 else name for k, name in enumerate(names, start=1)]


def items_by_change(comparison: Comparison) -> Items:
    """Features, the largest difference first, of which those that changed and then the largest are shown."""
    order = comparison.order
    flagged = np.atleast_2d(comparison.flags).any(axis=0)
    size = np.empty(len(order))
    size[order] = np.arange(len(order), 0, -1)
    return Items(comparison.feature_names, tuple(order.tolist()), size + len(order) * flagged)


def indices_with_bars(found: Sequence[Change]) -> list[int]:
    """Which changes have bars: all, or of many those with the largest differences, in their order."""
    largest = np.argsort([-float(np.abs(one.values).max()) for one in found], kind="stable")
    return sorted(largest[: MOST_PLOTTED - 1].tolist())


def interval_of(comparison: Comparison, k: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of the values of explanation k, about what the comparison is about."""
    about = comparison.differences[max(0, k - 1)].about
    explanation = comparison.explanations[k]
    return explanation.interval(level, about=about if about in explanation.targets else "data")


def change_bars(
    comparison: Comparison,
    found: Sequence[Change],
    view: str,
    level: float,
    marks: Terms | None = None,
    several: Sequence[int] | None = None,
) -> Bars:
    """Bars of values, the reference first, or of differences from it.

    ``marks`` say what stars mean; default: that something changed. ``several`` are the changes that have bars; default:
    as many as can be told apart.
    """
    names, several = display_names(comparison), indices_with_bars(found) if several is None else several
    series = _series_of_values(comparison, found, several, level)
    if view == DIFFERENCES:
        series = _series_of_differences(found, several)
    return Bars(
        title=TITLES[view].format(reference=names[0]),
        items=items_by_change(comparison),
        series=tuple(series),
        row_words=_row_words(comparison, [found[k] for k in several], names[0]),
        largest="difference",
        told=3,
        legend=(names[0], *(found[k].name for k in several)),
        marks=changed_marks(comparison) if marks is None else marks,
        view=view,
        label=f"Chart: {VIEWS[view]}",
    )


def changed_marks(comparison: Comparison) -> Terms:
    """The mark of what changed, by which adjustment."""
    method = "" if comparison.adjust is None else f" ({ADJUSTMENTS[comparison.adjust].label})"
    return ((FLAGGED, f"changed{method}"),)


def _series_of_values(
    comparison: Comparison, found: Sequence[Change], several: Sequence[int], level: float
) -> list[Series]:
    never = np.zeros(len(comparison.feature_names), dtype=bool)
    series = []
    for at, k in enumerate([0, *(k + 1 for k in several)]):
        marks, ends = None if k == 0 else found[k - 1].marks, Ends(*interval_of(comparison, k, level), never)
        series.append(Series(comparison.explanations[k].values, (ends,), f"series-{at}", marks))
    return series


def _series_of_differences(found: Sequence[Change], several: Sequence[int]) -> list[Series]:
    return [
        Series(
            found[k].values,
            (Ends(found[k].low, found[k].high, ~found[k].is_changed),),
            f"series-{at}",
            found[k].marks,
        )
        for at, k in enumerate(several, start=1)
    ]


def _row_words(comparison: Comparison, found: Sequence[Change], reference: str) -> tuple[str, ...]:
    """What to say of the bars of each feature, those that are drawn."""
    show = shared_format(*comparison.explanations)
    words = []
    for i in range(len(comparison.feature_names)):
        others = (f"{one.name} {show(one.after[i])} ({one.verdicts[i]})" for one in found)
        words.append(f"{reference} {show(found[0].before[i])}, {', '.join(others)}")
    return tuple(words)


def features_blocks(
    comparison: Comparison,
    found: Sequence[Change],
    level: float,
    table: Table,
    *,
    several: Sequence[int],
    left_out: str,
    marks: Terms | None = None,
    above: Sequence[Paragraph] = (),
) -> tuple[Block, ...]:
    """The section of the features: a switch between values and differences, charts of both, and a table.

    ``left_out`` says why some changes have no bars, ``above`` is what stands above the table.
    """
    lines = f"Lines are {100 * level:g}% intervals of the"
    return (
        Controls("Bars show", tuple(VIEWS.items()), largest="changes"),
        Paragraph(
            f"{lines} values, each on its own. Whether two bars differ is not told by whether their intervals overlap, "
            "but by the star.",
            "quiet",
            VALUES,
        ),
        Paragraph(
            f"{lines} differences, each on its own; faint bars are of differences that are not known to be there.",
            "quiet",
            DIFFERENCES,
        ),
        *([Paragraph(left_out, "quiet")] if len(several) < len(found) else []),
        *(change_bars(comparison, found, view, level, marks, several) for view in VIEWS),
        *above,
        table,
    )


def largest_first(found: Sequence[Change]) -> list[tuple[int, int]]:
    """Rows of the table, each the places of a change and of a feature, the largest difference first."""
    values = np.stack([one.values for one in found])
    order = np.argsort(-np.abs(values), axis=None, kind="stable")
    return [(int(k), int(i)) for k, i in zip(*np.unravel_index(order, values.shape), strict=True)]


def features_table(
    comparison: Comparison,
    found: Sequence[Change],
    rows: Sequence[tuple[int, int]],
    level: float,
    *,
    caption: str,
    first: Sequence[Column] = (),
    last: Sequence[Column] = (),
    most: int = MOST_ROWS,
) -> Table:
    """The table of the features; ``first`` are columns after the names, ``last`` at the end."""
    show, heads = shared_format(*comparison.explanations), display_names(comparison, HEADING_COLUMNS)

    def numbers(part: str) -> list[float]:
        return [float(getattr(found[k], part)[i]) for k, i in rows]

    before, after, values, low, high, p = map(numbers, ("before", "after", "values", "low", "high", "p"))
    ends = [f"[{show(a)}, {show(b)}]" for a, b in zip(low, high, strict=True)]
    return Table(
        (
            Column("Feature", kind="name", key="name", rises=True),
            *column_of_explanations(comparison, [k for k, _ in rows]),
            *first,
            Column(heads[0], list(map(show, before)), key="before", order=before),
            Column("Value" if len(found) > 1 else heads[1], list(map(show, after)), key="after", order=after),
            Column("Difference", [signed(show(one)) for one in values], key="size", order=np.abs(values).tolist()),
            Column(f"{100 * level:g}% interval", ends, "interval", key="low", order=low),
            Column(p_words(comparison), list(map(p_value_words, p)), key="p", order=p, rises=True),
            *last,
        ),
        caption,
        items_by_change(comparison),
        tuple(i for _, i in rows),
        comparison.names[1:] if len(found) > 1 else (),
        ("size", "descending"),
        "Table of the features",
        most,
    )


def column_of_explanations(comparison: Comparison, places: Sequence[int]) -> list[Column]:
    """Which explanation each row of a table is of, by its place after the first; nothing where there is one alone."""
    if len(comparison.differences) == 1:
        return []
    names = display_names(comparison, is_isolated=False)[1:]
    return [Column("In", [names[k] for k in places], "name", key="other", order=list(places), rises=True)]


def comparison_page(comparison: Comparison, level: float) -> Page:
    found, names = changes_of(comparison, level), display_names(comparison)
    headline, rows, several = (
        _page_headline(comparison, found, names[0]),
        largest_first(found),
        indices_with_bars(found),
    )
    known = [str(found[k].verdicts[i]) for k, i in rows]
    verdict = Column("Verdict", [Cell(word, tone=word) for word in known], "words", "known", known, rises=True)
    caption = (
        f"{headline} Values, difference, its interval, p-value and verdict of each feature. Headings sort the table, "
        "differences by their size."
    )
    table = features_table(comparison, found, rows, level, caption=caption, last=[verdict])
    left_out = (
        f"Of {len(found)} explanations those {len(several)} with the largest differences have bars; the table has all "
        "of them."
    )
    features = features_blocks(comparison, found, level, table, several=several, left_out=left_out)
    others = names[1] if len(names) == 2 else f"{len(names) - 1} others"
    sections = (
        Section("found", "What was found", _found(comparison, found, names, headline)),
        Section("features", "Features", features),
        Section("mind", "What to mind", (Notes(page_notes(comparison, found, names)),)),
        Section("how", "What was computed, and how", shared_facts(comparison.explanations, names)),
    )
    return Page(f"{names[0]} and {others} compared", sections, VALUES)


def _found(comparison: Comparison, found: Sequence[Change], names: list[str], headline: str) -> tuple[Block, ...]:
    """What there is to know first, the losses, what changed, and how that was tested."""
    chance = f"{100 * (1 - comparison.level):.3g} %"
    tested = MARKED.format(chance=chance, adjusted=adjustment_words(comparison))
    renamed = replace(comparison, names=tuple(names))  # by the names that the page has
    return (
        Paragraph(headline, "lead"),
        Paragraph(f"Compared are {values_and_unit(comparison)}."),
        Boxes(_mean_losses(comparison, names)),
        Sentences(tuple(_sentences(comparison, found, names[0]))),
        *(Paragraph(words, "quiet") for words in (tested, *rows_words(renamed))),
    )


def _page_headline(comparison: Comparison, found: Sequence[Change], reference: str) -> str:
    count, everything = len(comparison.changed), len(comparison.feature_names)
    if len(found) == 1:
        words = {"other": found[0].name, "reference": reference}
        return filled_lead(ONE_CHANGED, count, everything, **words) if count else ONE_UNCHANGED.format(**words)
    words = {"others": f"{len(found)} others", "reference": reference}
    return filled_lead(SOME_CHANGED, count, everything, **words) if count else SOME_UNCHANGED.format(**words)


def _mean_losses(comparison: Comparison, names: Sequence[str]) -> Terms:
    """The mean loss with all features in each, where they are known, and how far it is from the reference's."""
    if not all(is_gain(one) and one.total is not None for one in comparison.explanations):
        return ()
    show = shared_format(*comparison.explanations)
    first, *others = ((one.base or 0.0) - (one.total or 0.0) for one in comparison.explanations)
    loss = loss_words(comparison.reference.loss)
    words = [show(first), *(f"{show(other)} ({signed(show(other - first))})" for other in others)]
    return tuple((f"Mean {loss} in {name}", text) for name, text in zip(names, words, strict=True))


def _sentences(comparison: Comparison, found: Sequence[Change], reference: str) -> list[Sentence]:
    """What changed in each explanation, the largest differences first."""
    show = shared_format(*comparison.explanations)
    sentences = []
    for change in found:
        of_change = []
        for word, lead in LEADS.items():
            places = np.flatnonzero(change.verdicts == word)
            if len(places) == 0:
                continue
            first = places[np.argsort(-np.abs(change.values[places]), kind="stable")][:NAMED]
            named = tuple(
                (comparison.feature_names[i], f"from {show(change.before[i])} to {show(change.after[i])}")
                for i in first
            )
            text = filled_lead(lead, len(places), len(change.verdicts), other=change.name, reference=reference)
            of_change.append(Sentence(text, named, len(places) - len(first), tone=word))
        nothing = Sentence(NOTHING.format(other=change.name, reference=reference), tone=UNKNOWN)
        sentences += of_change or [nothing]
    return sentences


def page_notes(comparison: Comparison, found: Sequence[Change], names: Sequence[str]) -> tuple[Note, ...]:
    """How to read what changed, notes of the comparison, and those of its explanations, each once; warnings first."""
    reading = CHANGED if any(one.is_changed.any() for one in found) else UNCHANGED
    return warnings_first([reading, *comparison.notes, *notes_of_runs(comparison.explanations, names)])
