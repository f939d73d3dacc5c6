"""Importances: the values of several measures of one model, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from clarysage._utils.display import shortened, visible
from clarysage.codec import require
from clarysage.errors import InputError, Note, PythonOnly, as_note, parts_of, resembling
from clarysage.results.explanation import MOST_DRAWN, Explanation
from clarysage.results.files import file_format
from clarysage.results.provenance import named, names_by_note, notes_of_runs, shared_facts, warnings_first
from clarysage.results.result import Result, plots, text_of
from clarysage.results.summary import (
    Block,
    Column,
    Controls,
    Items,
    Notes,
    Page,
    Paragraph,
    Record,
    Section,
    Sentence,
    Sentences,
    Squares,
    Summary,
    Table,
)
from clarysage.results.text import loss_words, number_format

ANSWERS = {"yes", "partly", "no"}
WIDTH = 110  # columns of a text
STAR = "*"  # behind the names of heuristics
MARKS = {"yes": "+", "partly": "~", "no": "-"}
POWERS = ("v", "v_f")  # which are differences of the loss
LEGEND = "Value, share of the sum of absolute values, (rank). Scales differ from measure to measure."
NAMED = 3  # features, or measures, that a sentence names
NAME_COLUMNS = 40  # letters of the name of a measure in a sentence ...
ABOVE_COLUMNS, HEADING_COLUMNS = 28, 18  # ... above the grid, and above its column
LABEL_COLUMNS = 29  # letters of the name of a feature beside the grid
LONGEST_REASON = 400
INTERRUPTED = Note("The run was interrupted before its end.")  # why measures are left out
YARDSTICK = "sage"  # by which features are put in order


@dataclass(frozen=True)
class Traits:
    """What a measure is in the paper's framework: its row of Tables 1 and 3.

    Attributes
    ----------
    approximates : "v", "v_f", "w_f"; None for a heuristic, which is outside the framework
    subdomain : subsets for which u(S) comes close to that
    constant : phi_0 of u(S), in words
    properties : "yes", "partly" or "no" for each column of Table 1
    """

    approximates: str | None
    subdomain: str | None
    constant: str | None
    properties: Mapping[str, str]

    def __post_init__(self) -> None:
        require(set(self.properties.values()) <= ANSWERS, "properties", self.properties, '"yes", "partly" or "no"')

    @property
    def is_heuristic(self) -> bool:
        return self.approximates is None


@file_format("importances", "importance values by several measures, side by side")
@dataclass(frozen=True, eq=False, repr=False)
class Importances(Result, Mapping[str, Explanation]):
    """Explanations of one model by several measures, by name: ``importances["permutation test"]``.

    Attributes
    ----------
    explanations : one a measure, all of the same players
    traits : what each measure is
    left_out : measures that were not computed, and why

    Notes
    -----
    Measures have scales of their own: some are in units of the loss, some are variances, some count splits. Compare
    ranks, and shares of the sum of absolute values, rather than values.
    """

    explanations: Mapping[str, Explanation]
    traits: Mapping[str, Traits]
    left_out: Mapping[str, Note] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self.explanations, self.traits)
        object.__setattr__(self, "left_out", {name: as_note(why) for name, why in self.left_out.items()})
        for name in ("explanations", "traits", "left_out"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[Any, ...]:
        return Importances, (dict(self.explanations), dict(self.traits), dict(self.left_out))

    def __getitem__(self, name: str) -> Explanation:
        if name not in self.explanations:
            known = f"one of {', '.join(map(repr, self.explanations))}"
            why = str(self.left_out.get(name, "")).rstrip(".")
            raise UnknownMeasureError(
                "name",
                got=f"{name!r}, which was left out: {why}" if why else f"{name!r}",
                wanted=known,
                hint="" if why else resembling(str(name), self.explanations),
            )
        return self.explanations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.explanations)

    def __len__(self) -> int:
        return len(self.explanations)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the players, in the order in which they came."""
        return next(iter(self.explanations.values())).feature_names

    @property
    def converged(self) -> bool:
        return all(one.converged for one in self.explanations.values())

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Measures whose runs ended since they had to, not since what was asked for is known."""
        return tuple(name for name, one in self.explanations.items() if not one.stopped.is_wanted)

    @property
    def order(self) -> list[str]:
        """Features from the most to the least important: by SAGE values, or where there are none by mean rank."""
        if YARDSTICK in self.explanations:
            key = -_values(self.explanations[YARDSTICK], self.feature_names)
        else:
            key = np.mean([_ranks(_values(one, self.feature_names)) for one in self.explanations.values()], axis=0)
        return [self.feature_names[i] for i in np.argsort(key, kind="stable")]

    def to_frame(self) -> Any:
        """A pandas DataFrame of values, one row a feature and one column a measure."""
        import pandas as pd

        values = {name: _values(one, self.feature_names) for name, one in self.explanations.items()}
        return pd.DataFrame(values, index=pd.Index(self.feature_names, name="feature"))

    def shares(self) -> Any:
        """The same, each value as a share of the sum of absolute values of its measure; harmful ones are negative."""
        frame = self.to_frame()
        sums = frame.abs().sum()
        return frame / sums.where(sums > 0, 1.0)

    def ranks(self) -> Any:
        """The same, each value as its place among those of its measure: 1 is the largest; ties share the best place.

        Values below zero come last: these features do harm.
        """
        frame = self.to_frame()
        return frame.rank(ascending=False, method="min").astype(int)

    def correlation(self) -> Any:
        """A pandas DataFrame of the rank correlations (Spearman's) among measures; NaN where all values are equal."""
        return self.to_frame().corr(method="spearman")

    def table(self) -> str:
        """The printed table."""
        return text_of(self.summary())

    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """The measures in brief: values, shares and ranks of all features, then what each measure is."""
        _refuse(about)
        return Summary(
            kind="importances",
            title=_title(self),
            headline=_headline(self),
            findings=(LEGEND,),
            tables=(_brief(self), _standings(self)),
            notes=_brief_notes(self),
            unfinished=_unfinished(self),
            pictures={"plot": self.plot, "ranks": lambda: plots().ranks(self)},
            width=WIDTH,
            record=_record(self),
        )

    def details(self, level: float = 0.95, *, about: str | None = None) -> Page:
        """All there is to say; values alone, whose intervals are on the page of each measure."""
        _refuse(about)
        features = by_share(self)
        names = [shortened(_called(self, name), ABOVE_COLUMNS) for name in self]
        notes = warnings_first([*notes_of_runs(list(self.values()), names), *_left_out(self)])
        sections = [
            Section("found", "What was found", (Paragraph(f"{_headline(self)}.", "lead"), Sentences(_findings(self)))),
            Section("shares", "Shares", _shares(self, features, names)),
            Section("features", "Features", _features(self, features, names)),
            Section(
                "measures", "Measures", (*(Paragraph(words, "quiet") for words in _letters(self)), _standings(self))
            ),
            *([Section("mind", "What to mind", (Notes(notes),))] if notes else []),
            Section("how", "What was computed, and how", shared_facts(self.values(), names)),
        ]
        return Page(_title(self), tuple(sections))

    def plot(self, **options: Any) -> Any:
        """Ranked bars, one panel a measure; see :func:`clarysage.plots.side_by_side` for the options."""
        return plots().side_by_side(self, **options)


class UnknownMeasureError(InputError, KeyError):
    """A measure that is not among the importances."""

    __str__ = InputError.__str__  # a KeyError would quote the message


def _values(explanation: Explanation, names: tuple[str, ...]) -> np.ndarray:
    """The values in the order of the names."""
    if explanation.feature_names == names:
        return explanation.values
    return explanation.values[[explanation.feature_names.index(name) for name in names]]


def _ranks(values: np.ndarray) -> np.ndarray:
    from scipy.stats import rankdata

    return np.asarray(rankdata(-values))


def _check(explanations: Mapping[str, Explanation], traits: Mapping[str, Traits]) -> None:
    if not explanations:
        raise InputError("explanations", got="none", wanted="at least one")
    if set(traits) != set(explanations):
        raise InputError("traits", got=f"those of {sorted(traits)}", wanted=f"those of {sorted(explanations)}")
    first = next(iter(explanations.values()))
    for name, one in explanations.items():
        if set(one.feature_names) != set(first.feature_names):
            raise InputError("explanations", got=f"{name!r} of other features than the first", wanted="the same")


# what there is to say


def _unfinished(importances: Importances) -> tuple[str, ...]:
    """The measures that did not converge, and those that an interrupt cut off."""
    words = [f"not converged: {name}. {importances[name].stopped.value}" for name in importances.unfinished]
    cut = [name for name, why in importances.left_out.items() if why == INTERRUPTED]
    return (*words, *([f"interrupted; left out: {', '.join(cut)}."] if cut else []))


def _refuse(about: str | None) -> None:
    if about is not None:
        hint = PythonOnly('importances["sage"].report()')
        raise InputError("about", got=f"{about!r}", wanted="None for Importances", hint=hint)


def _title(importances: Importances) -> str:
    model = next((str(one.provenance["model"]) for one in importances.values() if one.provenance.get("model")), None)
    measures = f"{len(importances)} measure{'' if len(importances) == 1 else 's'} of importance"
    return measures if model is None else f"{measures} of {shortened(model, ABOVE_COLUMNS)}"


def _headline(importances: Importances) -> str:
    """What was computed of what."""
    features, measures = len(importances.feature_names), len(importances)
    saving = [
        one
        for name, one in importances.items()
        if importances.traits[name].approximates in POWERS and one.base is not None
    ]
    losses = sorted({loss_words(one.loss) for one in saving})
    under = f", loss: {', '.join(losses)}" if losses else ""
    return f"{features} feature{'s' * (features > 1)} by {measures} measure{'s' * (measures > 1)}{under}"


def _called(importances: Importances, name: str) -> str:
    """The name of a measure, with a star behind that of a heuristic."""
    return visible(name) + (STAR if importances.traits[name].is_heuristic else "")


def _brief(importances: Importances) -> Table:
    """The measures as columns, features in the order of importance: values, shares and ranks."""
    order = importances.order
    tables = (importances.to_frame(), importances.shares(), importances.ranks())
    values, shares, ranks = (frame.loc[order] for frame in tables)
    columns = [Column("feature", order, "name")]
    for name, explanation in importances.items():
        show = _counts if _are_counts(explanation) else number_format(explanation)
        parts = [
            [show(value) for value in values[name]],
            [_percent(share) for share in shares[name]],
            [f"({rank})" for rank in ranks[name]],
        ]
        widths = [max(map(len, part)) for part in parts]
        cells = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
            for row in zip(*parts, strict=True)
        ]
        columns.append(Column(_called(importances, name), cells))
    return Table(tuple(columns), is_divided=True)


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("-0%", "0%")


def _are_counts(explanation: Explanation) -> bool:
    """Whether values are whole numbers, as those of splits."""
    return bool((explanation.values == np.round(explanation.values)).all())


def _counts(number: float) -> str:
    return f"{number:,.0f}"


def _standings(importances: Importances) -> Table:
    """What each measure is, its constant and its cost: a row each."""
    properties = _properties(importances)
    traits = [importances.traits[name] for name in importances]
    marks = [" ".join(MARKS[one.properties.get(word, "no")] for word in properties) for one in traits]
    return Table(
        (
            Column("measure", [_called(importances, name) for name in importances], "name"),
            Column("of", [one.approximates or "-" for one in traits], "words"),
            Column("close to it for", [one.subdomain or "-" for one in traits], "words"),
            Column("phi_0", [_constant(one) for one in importances.values()], "words"),
            Column(" ".join(word[:1].upper() for word in properties), marks, "words"),
            Column("cost", [_cost(one) for one in importances.values()], "words"),
        ),
        label="What each measure is",
    )


def _constant(explanation: Explanation) -> str:
    if explanation.constant is None:
        return "-"
    return number_format(explanation)(explanation.constant) if explanation.constant else "0"


def _cost(explanation: Explanation) -> str:
    """What a measure has cost, and whether it had to stop before its end.

    Refits are counted in fits: rows that learners predicted matter little beside them.
    """
    if explanation.fits:
        spent = f"{explanation.fits:,} fit{'s' * (explanation.fits > 1)}"
    else:
        spent = f"{explanation.model_rows:,} model rows" if explanation.model_rows else "-"
    return spent if explanation.stopped.is_wanted else f"{spent}, not converged"


def _properties(importances: Importances) -> list[str]:
    """The columns of Table 1, in their order."""
    return list(dict.fromkeys(word for traits in importances.traits.values() for word in traits.properties))


def _letters(importances: Importances) -> list[str]:
    """What the letters and signs of the table of measures mean."""
    letters = ", ".join(f"{word[:1].upper()} {word}" for word in _properties(importances))
    return [f"{letters}: + yes, ~ partly, - no (Table 1)."] if letters else []


def _brief_notes(importances: Importances) -> tuple[Note, ...]:
    """What the signs mean, what did not converge, what measures warn of, and what was left out."""
    words = _letters(importances)
    if any(traits.is_heuristic for traits in importances.traits.values()):
        words.append(
            "*: a heuristic outside the framework, whose values add up to nothing that a model gains or loses."
        )
    words += [f"Not converged: {name}. {importances[name].stopped.value}" for name in importances.unfinished]
    warnings = names_by_note(
        (name, note) for name, one in importances.items() for note in one.notes if note.level == "warning"
    )
    return (
        *map(Note, words),
        *(named(note, [f"Mind, of {', '.join(names)}"]) for note, names in warnings.items()),
        *_left_out(importances, longest=None),
    )


def _record(importances: Importances) -> Record:
    """Returns the numbers and words that tools for tracking experiments keep."""
    from clarysage import __version__

    provenance = next(iter(importances.values())).provenance
    return Record(
        name="importances",
        frame=partial(_long_frame, importances),
        columns=("value", "share", "rank"),
        numbers={
            "measures": (len(importances),),
            "model_rows": (sum(explanation.model_rows for explanation in importances.values()),),
            "fits": (sum(explanation.fits for explanation in importances.values()),),
        },
        words={
            "version": str(provenance.get("clarysage", __version__)),
            "measures": ", ".join(importances),
            "left_out": ", ".join(importances.left_out),
            "converged": str(importances.converged).lower(),
            **{key: str(provenance[key]) for key in ("model", "learner") if provenance.get(key) is not None},
        },
        plot=partial(importances.plot, top=MOST_DRAWN),
        section="measure",
    )


def _long_frame(importances: Importances) -> Any:
    """Returns a pandas DataFrame with one row for each feature and measure: value, share and rank."""
    import pandas as pd

    values, shares, ranks = importances.to_frame(), importances.shares(), importances.ranks()
    frames = [
        pd.DataFrame(
            {
                "feature": importances.feature_names,
                "measure": name,
                "value": values[name].to_numpy(),
                "share": shares[name].to_numpy(),
                "rank": ranks[name].to_numpy(),
            }
        )
        for name in importances
    ]
    return pd.concat(frames, ignore_index=True)


def _left_out(importances: Importances, longest: int | None = LONGEST_REASON) -> list[Note]:
    reasons = names_by_note((name, why) for name, why in importances.left_out.items())
    notes = [
        replace(why, text=(f"Left out: {', '.join(names)}. ", *parts_of(why.text))) for why, names in reasons.items()
    ]
    if longest is None:
        return notes
    return [note if len(str(note)) <= longest else Note(shortened(str(note), longest)) for note in notes]


def by_share(importances: Importances) -> Items:
    """Features, the most important first, of which those with the largest mean shares are shown."""
    place = {name: i for i, name in enumerate(importances.feature_names)}
    shares = importances.shares().abs().mean(axis=1).to_numpy()
    return Items(importances.feature_names, tuple(place[name] for name in importances.order), shares)


def _findings(importances: Importances) -> tuple[Sentence, ...]:
    """What measures put first, and how far they agree with SAGE on the order of features."""
    firsts = (importances.ranks().to_numpy() == 1).sum(axis=1)
    places = [int(i) for i in np.argsort(-firsts, kind="stable") if firsts[i] > 0]
    named = tuple((importances.feature_names[i], f"{firsts[i]} of {len(importances)}") for i in places[:NAMED])
    first = Sentence("Measures that put a feature first:", named, len(places) - len(named), tone="first")
    return (first, *_agreement(importances))


def _agreement(importances: Importances) -> list[Sentence]:
    """The measures that are closest to SAGE in the order of features, and those that are furthest from it."""
    if YARDSTICK not in importances or len(importances) < 3 or len(importances.feature_names) < 3:
        return []
    correlations = importances.correlation()[YARDSTICK].drop(YARDSTICK).dropna()
    correlations = correlations.sort_values(ascending=False, kind="stable")
    half = min(NAMED, len(correlations) // 2)
    named = [(shortened(str(name), NAME_COLUMNS), f"{value:.2f}") for name, value in correlations.items()]
    leads = [
        ("Closest to SAGE in the order of features, by rank correlation:", named[:half]),
        ("Furthest from it:", named[::-1][:half]),
    ]
    return [Sentence(lead, tuple(measures), tone="order") for lead, measures in leads if measures]


def _shares(importances: Importances, features: Items, names: list[str]) -> tuple[Block, ...]:
    """Squares for shares of those features that are shown at first."""
    words = (
        "Each value is a share of the sum of sizes of its measure. An asterisk marks a heuristic, whose values add up "
    )
    words += "to nothing that a model gains or loses."
    shown = features.shown
    if len(shown) < len(features.names):
        words += f" The {len(shown)} features with the largest shares."
    return Paragraph(words, "quiet", key=("above zero", "below")), share_grid(importances, features, names)


def share_grid(importances: Importances, features: Items, names: list[str]) -> Squares:
    """Shares of the features that are shown at first, one column a measure."""
    shown = features.shown
    shares, ranks = (frame.to_numpy()[shown] for frame in (importances.shares(), importances.ranks()))
    labels = tuple(shortened(features.names[i], LABEL_COLUMNS) for i in shown)
    texts = [[_percent(share) for share in row] for row in shares]
    words = [
        [f"{label}, {name}: {texts[r][c]}, rank {ranks[r, c]}" for c, name in enumerate(names)]
        for r, label in enumerate(labels)
    ]
    return Squares(
        shares,
        texts,
        words,
        labels,
        tuple(names),
        "Shares of features by measures",
        "Features by measures: each value as a share of the sum of sizes of its measure. The table has every number.",
        "Grid of features by measures",
    )


def _features(importances: Importances, features: Items, names: list[str]) -> tuple[Block, ...]:
    """Value and rank of each feature by each measure."""
    values = importances.to_frame().to_numpy()[list(features.order)]
    ranks = importances.ranks().to_numpy()[list(features.order)]
    columns = [Column("Feature", kind="name", key="name", rises=True)]
    for k, (name, explanation) in enumerate(zip(names, importances.values(), strict=True)):
        show = number_format(explanation)
        cells = [f"{show(value)} ({rank})" for value, rank in zip(values[:, k], ranks[:, k], strict=True)]
        columns.append(Column(shortened(name, HEADING_COLUMNS), cells, key=f"measure {k}", order=values[:, k].tolist()))
    table = Table(
        tuple(columns),
        f"{_headline(importances)}: value and rank of each feature by each measure. Headings sort the table.",
        features,
        sorted_by=("measure 0", "descending"),
        label="Table of the features",
    )
    return (
        Controls(),
        Paragraph("Values, and in brackets their ranks. Scales differ from measure to measure.", "quiet"),
        table,
    )
