"""Comparison: what features contribute here less what they contribute there, and which differences are no accident."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from string import ascii_lowercase
from typing import Any, cast, overload

import numpy as np

from clarysage.catalogue import ABOUT, ADJUSTMENTS
from clarysage.codec import require
from clarysage.errors import Call, InputError, Note, PythonOnly, Set, UnavailableError, as_note
from clarysage.inference.differences import heaviest, paired, unpaired
from clarysage.inference.estimate import StopReason, Target
from clarysage.inference.intervals import interval
from clarysage.inference.significance import adjusted, adjustment, two_sided
from clarysage.names import isolated, shortened
from clarysage.results._display import Result, plots, refuse_about, text_of
from clarysage.results.explanation import MOST_DRAWN, Explanation, rounded, setting_words
from clarysage.results.files import file_format
from clarysage.results.provenance import notes_of_runs, shared_facts, warnings_first
from clarysage.results.readings import NAMED, filled
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
from clarysage.results.text import LONGEST, chance_words, is_gain, loss_words, number_format, values_words

POPULATIONS = ("rows", "population")  # that differences are about
PARTS_OF_TARGET = ("values", "std_error", "dof", "skew")
HEAVY = 0.5  # of the variance of a difference, carried by one row in a hundred
MOST_NAMED = 5  # features in a message
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
SAVED_WITH_ROWS = Call("save", "path", (Set("rows", True),))


@dataclass(frozen=True)
class Difference:
    """One explanation less the reference, player by player.

    Attributes
    ----------
    target : the differences with their standard errors, degrees of freedom and skewness, each (p,)
    is_paired : whether they are of the same rows, row by row
    about : what intervals are about: the population of "rows", or that of rows and background, "population"
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

    A flag says that what a feature contributes has changed, not that its column is at fault: where one column breaks,
    contributions of others change too, and a column that contributes little can break unnoticed.

    Attributes
    ----------
    explanations : two or more, the reference first, all with their players in its order
    names : what they are called
    differences : one for each explanation after the first, its players in the order of the reference
    adjust : how p-values are adjusted where nothing else is asked for: over all features and all differences
    level : 1 less the adjusted p-value below which a difference is flagged
    notes : remarks; plain texts become notes without advice

    Notes
    -----
    Arrays have shape (p,) where two explanations are compared, and (K, p) where K of them are compared with the first.
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
        is_alike = len({one.feature_names for one in self.explanations}) == 1
        require(is_alike, "explanations", names, "explanations of the same features, in the same order")
        require(len(self.differences) == len(names) - 1, "differences", len(self.differences), "one less than names")
        require(0 < self.level < 1, "level", self.level, "a number between 0 and 1")
        is_known = self.adjust is None or self.adjust in ADJUSTMENTS
        require(is_known, "adjust", self.adjust, f"None or one of {(*ADJUSTMENTS,)}")
        for other, name, difference in zip(self.explanations[1:], names[1:], self.differences, strict=True):
            shapes = {getattr(difference.target, part).shape for part in PARTS_OF_TARGET}
            require(shapes == {(p,)}, f"differences: {name}", shapes, f"{p} values, std_error, dof and skew")
            require(
                self._is_of(difference, other),
                f"differences: {name}: values",
                difference.target.values,
                "what the explanations differ by",
            )

    def _is_of(self, difference: Difference, other: Explanation) -> bool:
        """Whether a difference is that of the other explanation and the reference, up to rounding."""
        after, before = (
            one.targets[difference.about].values if difference.about in one.targets else one.values
            for one in (other, self.reference)
        )
        near = 1e-6 * max(float(np.abs(numbers).max()) for numbers in (after, before))
        return bool((np.abs(difference.target.values - (after - before)) <= near).all())

    @property
    def reference(self) -> Explanation:
        return self.explanations[0]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """In the order of the reference."""
        return self.reference.feature_names

    @property
    def values(self) -> np.ndarray:
        """Differences from the reference: above zero where a feature contributes more than there."""
        return self._shaped([one.target.values for one in self.differences])

    @property
    def std_error(self) -> np.ndarray:
        """Their standard errors, the sampling of rows included."""
        return self._shaped([one.target.std_error for one in self.differences])

    @property
    def is_paired(self) -> bool:
        """Whether all differences are of the same rows, row by row."""
        return all(one.is_paired for one in self.differences)

    def interval(self, level: float = 0.95, *, joint: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Low and high ends of an interval for each difference; ``joint`` makes all of them hold at once."""
        found = self._flat()
        low, high = interval(found.values, found.std_error, found.dof, level, joint=joint, skew=found.skew)
        return self._unflat(low), self._unflat(high)

    def p_values(self, adjust: str | None = "as compared") -> np.ndarray:
        """Two-sided p-values; 1 where nothing differs.

        ``adjust`` is "holm", "benjamini hochberg" or None for each on its own; default: ``self.adjust``. Those on their
        own are below 5 % where the 95 % interval excludes zero.
        """
        p = self._adjusted if adjust == "as compared" else adjusted(self._alone, adjust)
        return self._unflat(p).copy()

    @property
    def flags(self) -> np.ndarray:
        """Whether a difference is flagged: its adjusted p-value is below 1 - level."""
        return np.asarray(self.p_values() < 1 - self.level)

    @property
    def changed(self) -> list[str]:
        """Features that are flagged in any of the differences, the largest difference first."""
        flags: np.ndarray = np.any(np.atleast_2d(self.flags), axis=0)
        return [self.feature_names[i] for i in self.order if flags[i]]

    @property
    def order(self) -> np.ndarray:
        """Places of the features, the largest difference first."""
        return np.argsort(-np.abs(np.atleast_2d(self.values)).max(axis=0), kind="stable")

    def of(self, name: str) -> np.ndarray:
        """Values (p,) of one of the explanations."""
        if name not in self.names:
            raise InputError("name", got=f"{name!r}", wanted=f"one of {', '.join(map(repr, self.names))}")
        return self.explanations[self.names.index(name)].values

    def to_frame(self, level: float = 0.95) -> Any:
        """A pandas DataFrame, the largest difference first, for each explanation after the first.

        Columns are feature, reference and other (values), difference, std_error, low, high, p (on its own), p_adjusted
        and changed; where there are several others, ``compared`` says which. ``frame.attrs["about"]`` says what
        intervals are about.
        """
        import pandas as pd

        low, high = (np.atleast_2d(end) for end in self.interval(level))
        alone, chances, flags = (np.atleast_2d(one) for one in (self.p_values(None), self.p_values(), self.flags))
        frames = []
        for k, name in enumerate(self.names[1:]):
            found = self.differences[k].target
            columns = {
                "feature": self.feature_names,
                "reference": self.reference.values,
                "other": self.of(name),
                "difference": found.values,
                "std_error": found.std_error,
                "low": low[k],
                "high": high[k],
                "p": alone[k],
                "p_adjusted": chances[k],
                "changed": flags[k],
            }
            frame = pd.DataFrame(columns).iloc[self.order]
            frames.append(frame.assign(compared=name) if len(self.differences) > 1 else frame)
        whole = pd.concat(frames, ignore_index=True)
        whole.attrs["about"] = self.differences[0].about
        return whole

    def table(self, level: float = 0.95) -> str:
        """The printed table."""
        return text_of(self.summary(level))

    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """The comparison in brief: a table for each explanation after the first, and what changed."""
        refuse_about(self, about)
        return Summary(
            kind="comparison",
            title=_title(self),
            headline=_title(self),
            tables=tuple(_table(self, place, level) for place in range(len(self.differences))),
            notes=_notes(self),
            figure=change_bars(self, changes(self, level), VALUES, level),
            unfinished=unfinished_words(self),
            pictures={"plot": self.plot},
            record=_record(self, level),
        )

    def details(self, level: float = 0.95, *, about: str | None = None) -> Page:
        """All there is to say, with a switch between bars of values and of their differences."""
        refuse_about(self, about)
        return _details(self, level)

    def plot(self, **options: Any) -> Any:
        """Bars of all explanations side by side; see :func:`clarysage.plots.comparison` for the options."""
        return plots().comparison(self, **options)

    @cached_property
    def _alone(self) -> np.ndarray:
        """(K p,) p-values, each on its own."""
        found = self._flat()
        return two_sided(found.values, found.std_error, found.dof, skew=found.skew)

    @cached_property
    def _adjusted(self) -> np.ndarray:
        """(K p,) p-values as they are adjusted where nothing else is asked for."""
        return adjusted(self._alone, self.adjust)

    def _flat(self) -> Target:
        """All differences in a row, (K p,)."""
        found = [one.target for one in self.differences]
        return Target(*(np.concatenate([getattr(one, part) for one in found]) for part in PARTS_OF_TARGET))

    def _unflat(self, numbers: np.ndarray) -> np.ndarray:
        return self._shaped(np.split(numbers, len(self.differences)))

    def _shaped(self, rows: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(rows[0] if len(rows) == 1 else np.stack(rows))


@overload
def compare(
    a: Sequence[Explanation],
    b: Sequence[Explanation],
    *,
    paired: bool | None = ...,
    adjust: str | None = ...,
    level: float = ...,
    names: Sequence[str] | None = ...,
) -> list[Comparison]: ...


@overload
def compare(
    a: Explanation | Sequence[Explanation] | Mapping[str, Explanation],
    b: Explanation | None = ...,
    *,
    paired: bool | None = ...,
    adjust: str | None = ...,
    level: float = ...,
    names: Sequence[str] | None = ...,
) -> Comparison: ...


def compare(
    a: Explanation | Sequence[Explanation] | Mapping[str, Explanation],
    b: Explanation | Sequence[Explanation] | None = None,
    *,
    paired: bool | None = None,
    adjust: str | None = "holm",
    level: float = 0.95,
    names: Sequence[str] | None = None,
) -> Comparison | list[Comparison]:
    r"""What features contribute in b less what they contribute in a, with intervals and tests.

    Parameters
    ----------
    a, b : two explanations by the same measure and loss of the same features, which are found by their names. Or a
        alone: a list of several, or a mapping of names to them, of which the first is the reference that all others are
        compared with. Or two lists, as of several losses: explanations of the same loss are then compared, and a list
        comes back
    paired : whether both explain the same rows in the same order: two models on the same data, or the same rows before
        and after something was done to them. Differences are then taken row by row, and are far better known as a
        rule. Default: where X, y and weights are those of both, by their fingerprints. Where X was changed that must be
        said: ``paired=True``
    adjust : of p-values, since there are many: "holm" (any false flag has a chance of at most 1 - level),
        "benjamini hochberg" (of the flagged, a share of about 1 - level is false), or None
    level : 1 less the adjusted p-value below which a difference is flagged
    names : what the explanations are called in tables and plots; default "a", "b" and so on

    Returns
    -------
    Comparison, or a list of them

    Notes
    -----
    Differences are about the population of rows, with the background as chosen: explain both with the same
    ``background``. Backgrounds that differ make differences of their own; where that is known, differences are then
    about the populations of rows and backgrounds, and otherwise a note says so. With D_x what row x contributes,

    .. math:: \Delta = \bar D' - \bar D, \qquad V = s^2_{D' - D} / N \text{ (paired)}, \quad
        V = s^2_{D'} / N' + s^2_D / N \text{ (else)}

    Rows are taken to be drawn independently of one another.

    Examples
    --------
    >>> import clarysage as cs
    >>> rng = np.random.default_rng(0)
    >>> X, background = rng.normal(size=(300, 3)), rng.normal(size=(64, 3))
    >>> y = X @ [2.0, 1.0, 0.5]
    >>> f, g = (lambda X: X @ [2.0, 1.0, 0.5]), (lambda X: X @ [2.0, 0.2, 0.5])
    >>> one, other = (cs.sage(h, X, y, background=background, loss="squared error", rng=0) for h in (f, g))
    >>> found = cs.compare(one, other)
    >>> found.changed, found.is_paired
    (['x1'], True)
    """
    if _are_lists(a, b):
        return [
            compare(*pair, paired=paired, adjust=adjust, level=level, names=names)
            for pair in _by_loss(list(cast(Sequence[Explanation], a)), list(cast(Sequence[Explanation], b)))
        ]
    explanations, called = _given(a, b, names)
    check_comparison_options(paired, adjust, level)
    for other, name in zip(explanations[1:], called[1:], strict=True):
        _check_alike(explanations[0], other, (called[0], name))
    first, *others = (arranged(one, explanations[0].feature_names) for one in explanations)
    pairs = [
        _Pair(first, other, (called[0], name)).difference(paired)
        for other, name in zip(others, called[1:], strict=True)
    ]
    notes = {str(note): note for _, each in pairs for note in each}  # each once
    differences = tuple(difference for difference, _ in pairs)
    return Comparison((first, *others), called, differences, adjustment(adjust), float(level), tuple(notes.values()))


def arranged(explanation: Explanation, names: Sequence[str]) -> Explanation:
    """The same explanation, its players in the order of the names."""
    if explanation.feature_names == tuple(names):
        return explanation
    order = [explanation.feature_names.index(name) for name in names]
    covariance = explanation.covariance
    across: dict[str, Any] = {
        part: None if (array := getattr(explanation, part)) is None else array[..., order]
        for part in ("values", "std_error", "dof", "per_example", "per_example_error", "parts", "parts_error")
    }
    targets = {
        about: Target(*(getattr(one, part)[order] for part in PARTS_OF_TARGET))
        for about, one in explanation.targets.items()
    }
    return replace(
        explanation,
        feature_names=tuple(names),
        targets=targets,
        **across,
        covariance=None if covariance is None else covariance[np.ix_(order, order)],
    )


def _check_alike(one: Explanation, other: Explanation, names: tuple[str, str]) -> None:
    """An error where a difference would say nothing."""
    for part in ("measure", "loss"):
        mine, its = getattr(one, part), getattr(other, part)
        if mine != its:
            raise InputError(part, got=f"{mine!r} in {names[0]} and {its!r} in {names[1]}", wanted=f"the same {part}")
    for (here, there), (name, its_name) in zip([(one, other), (other, one)], [names, names[::-1]], strict=True):
        missing = [feature for feature in there.feature_names if feature not in set(here.feature_names)]
        if missing:
            shown = ", ".join(map(repr, missing[:MOST_NAMED])) + (" and others" if len(missing) > MOST_NAMED else "")
            raise InputError(
                name,
                got=f"an explanation without {shown}, which {its_name} has",
                wanted="the same features in both",
                hint=[Set("feature_names"), " where columns have other names, or groups of the features that differ"],
            )
    members = [{name: sorted(inside) for name, inside in (each.groups or {}).items()} for each in (one, other)]
    if members[0] != members[1]:
        raise InputError("groups", got=f"other members in {names[0]} than in {names[1]}", wanted="the same groups")


def check_comparison_options(paired: object, adjust: str | None, level: object) -> None:
    """Raise for options that cannot be understood."""
    if paired is not None and not isinstance(paired, (bool, np.bool_)):
        raise InputError("paired", got=f"{paired!r}", wanted="True, False, or None to see by the data")
    adjustment(adjust)  # raises for a name that is not known
    if not isinstance(level, (int, float, np.floating)) or isinstance(level, bool) or not 0 < level < 1:
        raise InputError("level", got=f"{level!r}", wanted="a number between 0 and 1", hint=Set("level", 0.95))


def _are_lists(a: Any, b: Any) -> bool:
    return all(isinstance(one, (list, tuple)) for one in (a, b))


def _by_loss(a: list[Any], b: list[Any]) -> list[tuple[Explanation, Explanation]]:
    """Explanations of the same losses, in the order of a."""
    for argument, found in (("a", a), ("b", b)):
        _check_explanations(argument, found)
        if not found or len({one.loss for one in found}) < len(found):
            raise InputError(
                argument,
                got=f"explanations with losses {[one.loss for one in found]}",
                wanted="one explanation a loss in each of two lists",
                hint=[Call("cs.compare", "[...]"), " for several explanations with the same loss"],
            )
    theirs = {one.loss: one for one in b}
    if set(theirs) != {one.loss for one in a}:
        raise InputError("b", got=f"losses {list(theirs)}", wanted=f"those of a, {[one.loss for one in a]}")
    return [(one, theirs[one.loss]) for one in a]


def _given(a: Any, b: Any, names: Sequence[str] | None) -> tuple[tuple[Explanation, ...], tuple[str, ...]]:
    """The explanations, two or more, and what they are called."""
    if b is not None:
        found, own = [a, b], None
        for argument, one in (("a", a), ("b", b)):
            _check_explanations(argument, [one])
    elif isinstance(a, Mapping):
        found, own = list(a.values()), [str(name) for name in a]
    elif isinstance(a, (list, tuple)):
        found, own = list(a), None
    else:
        raise InputError("b", got="None", wanted="an explanation to compare a with", hint=Call("cs.compare", "a, b"))
    _check_explanations("a", found)
    if len(found) < 2:
        raise InputError("a", got=f"{len(found)} explanation{'s' * (len(found) != 1)}", wanted="two or more")
    return tuple(found), _names(len(found), own if names is None else names)


def _check_explanations(argument: str, found: Sequence[object]) -> None:
    for one in found:
        if not isinstance(one, Explanation):
            raise InputError(
                argument, got=type(one).__name__, wanted="an Explanation", hint=PythonOnly("the result of cs.sage")
            )


def _names(count: int, names: Any) -> tuple[str, ...]:
    if names is None:
        return tuple(ascii_lowercase[i] if count <= len(ascii_lowercase) else f"{i + 1}" for i in range(count))
    is_right = not isinstance(names, str) and all(isinstance(name, str) and name.strip() for name in names)
    if not is_right or len(set(names)) != count or len(list(names)) != count:
        raise InputError(
            "names", got=f"{names!r}", wanted=f"{count} distinct texts", hint=Set("names", ("before", "after"))
        )
    return tuple(names)


@dataclass(frozen=True)
class _Pair:
    """A reference and another explanation of the same players, in the same order, with their names."""

    reference: Explanation
    other: Explanation
    names: tuple[str, str]

    def difference(self, paired: bool | None) -> tuple[Difference, list[Note]]:
        """The other less the reference, with notes; ``paired`` as in :func:`compare`."""
        about, notes = self.about(paired)
        is_paired, reasons = self.pairing(paired) if about == "rows" else (False, [])
        target = self.paired_target() if is_paired else self.unpaired_target(about)
        target = rounded(target, max(self.reference.least, self.other.least))
        return Difference(target, is_paired, about), [*notes, *reasons, *self.tails(target, is_paired)]

    def about(self, paired: bool | None) -> tuple[str, list[Note]]:
        """What the difference is about, and notes on removals and backgrounds that differ."""
        (here, there), notes = self.names, []
        if self.reference.removal != self.other.removal:
            text = (
                f"Removals differ ({self.reference.removal!r} in {here}, {self.other.removal!r} in {there}): what "
                "features are worth without others is then not the same, whatever the model and the rows."
            )
            notes.append(Note(text))
        if fingerprint(self.reference, "background") == fingerprint(self.other, "background"):
            return "rows", notes
        both = f"Backgrounds of {here} and {there} differ, if only in the order of columns"
        cure = ("The same ", Set("background"), " in both leaves the rows alone to differ.")
        if paired is not True and all("population" in each.targets for each in self._both):
            text = (
                f"{both}: differences are about the populations of rows and of both backgrounds. They are of values "
                "freed of the bias that a finite background brings, and so are not one shown column less the other. "
            )
            return "population", [*notes, Note((text, *cure))]
        text = f"{both}: part of a difference may come from there, and intervals do not count it. "
        return "rows", [*notes, Note((text, *cure))]

    def pairing(self, paired: bool | None) -> tuple[bool, list[Note]]:
        """Whether to go row by row; with a note where that is not possible, or might be."""
        if paired is False or all(each.stopped is StopReason.NO_EFFECT for each in self._both):
            return False, []
        if paired is None and not self._are_rows_the_same:
            return False, self._rows_may_be_the_same()
        reason = self._reason_not_to_pair()
        if reason and paired:
            raise UnavailableError(
                "paired",
                got=[Set("paired", True), f", where {reason}"],
                wanted="the same rows in both, each with what it contributes",
                hint=[
                    SAVED_WITH_ROWS,
                    " for explanations that are read from files, and ",
                    Set("paired", False),
                    " otherwise",
                ],
            )
        if not reason:
            return True, []
        text = (
            f"Both explain the same rows, but {reason}: they are compared as if they were different rows, which makes "
            "errors larger as a rule. Explanations that are read from files need "
        )
        return False, [Note((text, SAVED_WITH_ROWS, "."))]

    @property
    def _are_rows_the_same(self) -> bool:
        """Whether X, y and weights are known to be the same; y only where the measure looks at it."""
        parts = ["X", "weights", *(["y"] if self._has_y else [])]
        return fingerprint(self.reference, "X") is not None and all(map(self._is_the_same, parts))

    def _rows_may_be_the_same(self) -> list[Note]:
        """A note where responses and weights are the same, but X is not."""
        is_known = all(fingerprint(self.reference, part) is not None for part in ("X", "y"))
        if not (is_known and self._has_y and self._is_the_same("y") and self._is_the_same("weights")):
            return []
        text = "Responses are the same in both, but X is not: if the rows are the same too, in the same order, "
        return [Note((text, Set("paired", True), " compares them one by one."))]

    @property
    def _has_y(self) -> bool:
        return self.reference.values_are != "variance"  # which rows alone make

    def _is_the_same(self, part: str) -> bool:
        return bool(fingerprint(self.reference, part) == fingerprint(self.other, part))

    def _reason_not_to_pair(self) -> str:
        (here, there), weights = self.names, [one.parts_weight for one in self._both if one.parts_weight is not None]
        without = [name for name, each in zip(self.names, self._both, strict=True) if not _has_parts(each)]
        if without:
            return f"{' and '.join(without)} did not keep what single rows contribute"
        if len({len(each) for each in weights}) > 1:
            return f"there are {len(weights[0]):,} rows in {here} and {len(weights[1]):,} in {there}"
        if not all(np.allclose(weights[0], each, rtol=1e-9, atol=0) for each in weights):
            return "weights of the rows are not the same"
        return "there are fewer than two rows" if len(weights[0]) < 2 else ""

    def paired_target(self) -> Target:
        """The difference taken row by row."""
        parts, weights = self._parts_of_differences()
        errors = [each.parts_error for each in self._both if each.parts_error is not None]
        return paired(parts, weights, sum((error**2 for error in errors), np.zeros(parts.shape[1])))

    def unpaired_target(self, about: str) -> Target:
        """The difference of explanations of rows that were drawn independently."""
        return unpaired(*(_target(each, about, name) for each, name in zip(self._both, self.names, strict=True)))

    def tails(self, target: Target, is_paired: bool) -> list[Note]:
        """A warning where few rows carry most of the variance of a difference."""
        if is_paired:
            parts, weights = self._parts_of_differences()
            shares, rows = heaviest(parts, weights), max(1, len(parts) // 100)
            return self._heavy(np.where(target.std_error > 0, shares, 0.0), rows)
        shares, rows = np.zeros(len(target.values)), 1
        for each in self._both:
            if each.parts is not None and each.parts_weight is not None and "rows" in each.targets:
                variance = heaviest(each.parts, each.parts_weight) * each.targets["rows"].std_error ** 2
                nothing = np.zeros_like(variance)
                share = np.divide(variance, target.std_error**2, out=nothing, where=target.std_error > 0)
                if share.max() > shares.max():
                    shares, rows = share, max(1, len(each.parts) // 100)
        return self._heavy(shares, rows)

    def _heavy(self, shares: np.ndarray, rows: int) -> list[Note]:
        """A warning about the feature whose heaviest rows carry most, if that is much."""
        heavy = np.flatnonzero(shares > HEAVY)
        if len(heavy) == 0:
            return []
        worst = heavy[np.argmax(shares[heavy])]
        which = "One row carries" if rows == 1 else f"The heaviest 1 % of the rows, {rows:,} in number, carry"
        more = len(heavy) - 1
        others = f" ({more:,} more feature{'s have' if more > 1 else ' has'} such tails)" if more else ""
        text = (
            f"{which} {100 * shares[worst]:.0f} % of the variance of the difference of "
            f"{self.reference.feature_names[worst]!r} between {self.names[0]} and {self.names[1]}{others}: with tails "
            "so heavy, intervals may hold less often than they say."
        )
        return [Note(text, advice="More rows help.")]

    def _parts_of_differences(self) -> tuple[np.ndarray, np.ndarray]:
        """What rows contribute to the differences, (N, p), and their weights (N,)."""
        before, after = self.reference, self.other
        if before.parts is None or before.parts_weight is None:  # nothing moves there
            assert after.parts is not None
            assert after.parts_weight is not None
            return after.parts, after.parts_weight
        return (-before.parts if after.parts is None else after.parts - before.parts), before.parts_weight

    @property
    def _both(self) -> tuple[Explanation, Explanation]:
        return self.reference, self.other


def _target(explanation: Explanation, about: str, name: str) -> Target:
    if explanation.stopped is StopReason.NO_EFFECT:
        nothing = np.zeros(len(explanation.values))
        return Target(nothing, nothing, nothing + 1.0, nothing)
    if about in explanation.targets:
        return explanation.targets[about]
    raise UnavailableError(
        name,
        got="an explanation that does not say how values vary from row to row",
        wanted=["one that has intervals ", Set("about", "rows")],
        hint=[Set("method", "paired walks"), " where another was used, and more than one row"],
    )


def _has_parts(explanation: Explanation) -> bool:
    return explanation.parts is not None or explanation.stopped is StopReason.NO_EFFECT


def fingerprint(explanation: Explanation, part: str) -> Any:
    """The fingerprint of X, y, the weights or the background; None where it is not known."""
    prints = explanation.provenance.get("fingerprints")
    return prints.get(part) if isinstance(prints, Mapping) else None


# what there is to say


def _title(comparison: Comparison) -> str:
    others = _plain(comparison.names[1]) if len(comparison.names) == 2 else f"{len(comparison.names) - 1} others"
    return f"{_plain(comparison.names[0])} and {others} compared"


def _table(comparison: Comparison, place: int, level: float) -> Table:
    """One explanation less the reference, the largest difference first."""
    target, other = comparison.differences[place].target, comparison.explanations[place + 1]
    reference, show = comparison.reference, shared_format(comparison.reference, other)
    low, high = (np.atleast_2d(end)[place] for end in comparison.interval(level))
    chances, flags = (np.atleast_2d(numbers)[place] for numbers in (comparison.p_values(), comparison.flags))
    order = np.argsort(-np.abs(target.values), kind="stable")
    here, there = _plain(comparison.names[place + 1]), _plain(comparison.names[0])
    verdicts = [("rose" if target.values[i] > 0 else "fell") if flags[i] else "" for i in order]
    return Table(
        (
            Column("feature", [comparison.feature_names[i] for i in order], "name"),
            Column(there, [show(reference.values[i]) for i in order]),
            Column(here, [show(other.values[i]) for i in order]),
            Column("difference", [signed(show(target.values[i])) for i in order]),
            Column(f"{100 * level:g}% interval", [f"[{show(low[i])}, {show(high[i])}]" for i in order], "interval"),
            Column(p_words(comparison), [chance_words(chances[i]) for i in order], "words"),
            Column("", [Cell(word, tone=word) if word else "" for word in verdicts], "words"),
        ),
        caption=f"{here} less {there}: {measured(comparison)}",
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
        words={**tested_words(comparison, level), "changed": ", ".join(comparison.changed)},
        plot=partial(comparison.plot, top=MOST_DRAWN) if len(comparison.names) <= MOST_PLOTTED else None,
    )


def tested_words(comparison: Comparison, level: float) -> dict[str, str]:
    """What is compared, and how differences are tested, for tools that track experiments."""
    about = sorted({difference.about for difference in comparison.differences})
    meaning = " or ".join(map(comparison.reference.meaning, about))
    return {
        **setting_words(comparison.reference),
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
    return [f"NOT CONVERGED: {_plain(name)}. {one.stopped.value}" for name, one in pairs if not one.stopped.is_wanted]


def p_words(comparison: Comparison) -> str:
    """The word above p-values."""
    return f"p ({ADJUSTMENTS[comparison.adjust].label})" if comparison.adjust else "p"


def measured(comparison: Comparison) -> str:
    """What values are compared, and their unit."""
    reference = comparison.reference
    unit = f", in units of {loss_words(reference.loss)}" if reference.base is not None and reference.loss else ""
    return f"{values_words(reference)}{unit}"


def change_words(comparison: Comparison) -> list[str]:
    """Which features are flagged, and how to read that."""
    changed, count = comparison.changed, len(comparison.feature_names)
    if not changed:
        return [f"No feature is known to contribute more or less than in {_plain(comparison.names[0])}."]
    return [
        f"Changed: {', '.join(map(_plain, changed))} ({len(changed):,} of {count:,} features). What a feature "
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
        names_by_words.setdefault(words, []).append(_plain(name))
    return [f"{', '.join(names)} and {_plain(comparison.names[0])}: {words}" for words, names in names_by_words.items()]


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
        (_plain(name), one.base - one.total)
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


def _plain(name: str) -> str:
    return shortened(name, LONGEST)


# what there is to say on a page


@dataclass(frozen=True)
class Change:
    """One explanation less the reference.

    Attributes
    ----------
    name : of the explanation
    before, after, values : (p,) in the reference, in the other, and the difference
    low, high, p : (p,) interval of the difference, each on its own, and its adjusted p-value
    known : of each feature "rose" or "fell" where it is flagged, "no change" where there is none at all, or "no known
        change"; or other words for what is known
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
    known: np.ndarray
    marks: np.ndarray

    @property
    def is_changed(self) -> np.ndarray:
        """(p,) Which are known to differ from the reference."""
        return np.asarray(self.marks != "")


def changes(comparison: Comparison, level: float) -> list[Change]:
    """One for each explanation after the first."""
    lows, highs = (np.atleast_2d(end) for end in comparison.interval(level))
    chances, flags = (np.atleast_2d(numbers) for numbers in (comparison.p_values(), comparison.flags))
    names = called(comparison)
    return [
        Change(
            name=names[k + 1],
            before=comparison.reference.values,
            after=comparison.explanations[k + 1].values,
            values=difference.target.values,
            low=lows[k],
            high=highs[k],
            p=chances[k],
            known=_known(difference.target, flags[k]),
            marks=np.where(flags[k], FLAGGED, ""),
        )
        for k, difference in enumerate(comparison.differences)
    ]


def _known(target: Target, flags: np.ndarray) -> np.ndarray:
    nothing = (target.values == 0) & (target.std_error == 0)
    return np.select([flags & (target.values > 0), flags & (target.values < 0), nothing], [ROSE, FELL, SAME], UNKNOWN)


def called(comparison: Comparison, most: int = NAME_COLUMNS, *, is_isolated: bool = True) -> list[str]:
    """What explanations are called on the page: short, and no two alike."""
    names = [shortened(name, most) for name in comparison.names]
    if is_isolated:
        names = list(map(isolated, names))
    count = Counter(names)
    return [f"{name} ({k})" if count[name] > 1 else name for k, name in enumerate(names, start=1)]


def by_change(comparison: Comparison) -> Items:
    """Features, the largest difference first, of which those that changed and then the largest are shown."""
    order = comparison.order
    flagged = np.atleast_2d(comparison.flags).any(axis=0)
    size = np.empty(len(order))
    size[order] = np.arange(len(order), 0, -1)
    return Items(comparison.feature_names, tuple(order.tolist()), size + len(order) * flagged)


def drawn(found: Sequence[Change]) -> list[int]:
    """Which changes have bars: all, or of many those with the largest differences, in their order."""
    largest = np.argsort([-float(np.abs(one.values).max()) for one in found], kind="stable")
    return sorted(largest[: MOST_PLOTTED - 1].tolist())


def ends_of(comparison: Comparison, k: int, level: float) -> tuple[np.ndarray, np.ndarray]:
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
    names, several = called(comparison), drawn(found) if several is None else several
    series = _series_of_values(comparison, found, several, level)
    if view == DIFFERENCES:
        series = _series_of_differences(found, several)
    return Bars(
        title=TITLES[view].format(reference=names[0]),
        items=by_change(comparison),
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
        marks, ends = None if k == 0 else found[k - 1].marks, Ends(*ends_of(comparison, k, level), never)
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
        others = (f"{one.name} {show(one.after[i])} ({one.known[i]})" for one in found)
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
    show, heads = shared_format(*comparison.explanations), called(comparison, HEADING_COLUMNS)

    def numbers(part: str) -> list[float]:
        return [float(getattr(found[k], part)[i]) for k, i in rows]

    before, after, values, low, high, p = map(numbers, ("before", "after", "values", "low", "high", "p"))
    ends = [f"[{show(a)}, {show(b)}]" for a, b in zip(low, high, strict=True)]
    return Table(
        (
            Column("Feature", kind="name", key="name", rises=True),
            *others_column(comparison, [k for k, _ in rows]),
            *first,
            Column(heads[0], list(map(show, before)), key="before", order=before),
            Column("Value" if len(found) > 1 else heads[1], list(map(show, after)), key="after", order=after),
            Column("Difference", [signed(show(one)) for one in values], key="size", order=np.abs(values).tolist()),
            Column(f"{100 * level:g}% interval", ends, "interval", key="low", order=low),
            Column(p_words(comparison), list(map(chance_words, p)), key="p", order=p, rises=True),
            *last,
        ),
        caption,
        by_change(comparison),
        tuple(i for _, i in rows),
        comparison.names[1:] if len(found) > 1 else (),
        ("size", "descending"),
        "Table of the features",
        most,
    )


def others_column(comparison: Comparison, places: Sequence[int]) -> list[Column]:
    """Which explanation each row of a table is of, by its place after the first; nothing where there is one alone."""
    if len(comparison.differences) == 1:
        return []
    names = called(comparison, is_isolated=False)[1:]
    return [Column("In", [names[k] for k in places], "name", key="other", order=list(places), rises=True)]


def _details(comparison: Comparison, level: float) -> Page:
    found, names = changes(comparison, level), called(comparison)
    headline, rows, several = _page_headline(comparison, found, names[0]), largest_first(found), drawn(found)
    known = [str(found[k].known[i]) for k, i in rows]
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
        Paragraph(f"Compared are {measured(comparison)}."),
        Boxes(_mean_losses(comparison, names)),
        Sentences(tuple(_sentences(comparison, found, names[0]))),
        *(Paragraph(words, "quiet") for words in (tested, *rows_words(renamed))),
    )


def _page_headline(comparison: Comparison, found: Sequence[Change], reference: str) -> str:
    count, everything = len(comparison.changed), len(comparison.feature_names)
    if len(found) == 1:
        words = {"other": found[0].name, "reference": reference}
        return filled(ONE_CHANGED, count, everything, **words) if count else ONE_UNCHANGED.format(**words)
    words = {"others": f"{len(found)} others", "reference": reference}
    return filled(SOME_CHANGED, count, everything, **words) if count else SOME_UNCHANGED.format(**words)


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
            places = np.flatnonzero(change.known == word)
            if len(places) == 0:
                continue
            first = places[np.argsort(-np.abs(change.values[places]), kind="stable")][:NAMED]
            named = tuple(
                (comparison.feature_names[i], f"from {show(change.before[i])} to {show(change.after[i])}")
                for i in first
            )
            text = filled(lead, len(places), len(change.known), other=change.name, reference=reference)
            of_change.append(Sentence(text, named, len(places) - len(first), tone=word))
        nothing = Sentence(NOTHING.format(other=change.name, reference=reference), tone=UNKNOWN)
        sentences += of_change or [nothing]
    return sentences


def page_notes(comparison: Comparison, found: Sequence[Change], names: Sequence[str]) -> tuple[Note, ...]:
    """How to read what changed, notes of the comparison, and those of its explanations, each once; warnings first."""
    reading = CHANGED if any(one.is_changed.any() for one in found) else UNCHANGED
    return warnings_first([reading, *comparison.notes, *notes_of_runs(comparison.explanations, names)])
