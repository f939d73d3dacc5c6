"""Importances: the values of several measures of one model, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage._utils.display import SHOWN, shortened, visible
from clarysage.catalogue import present_measure_name
from clarysage.codec import require
from clarysage.errors import InputError, Note, PythonOnly, as_note, parts_of, resembling
from clarysage.results.explanation import MOST_DRAWN, Explanation
from clarysage.results.facts_and_notes import (
    names_by_note,
    note_with_names,
    notes_of_runs,
    shared_facts,
    warnings_first,
)
from clarysage.results.files import file_format
from clarysage.results.result import Result, plots, text_of
from clarysage.results.summary import (
    Block,
    Cell,
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

if TYPE_CHECKING:
    import pandas as pd

ANSWERS = {"yes", "partly", "no"}
WIDTH = 110  # columns of a text
STAR = "*"  # after the names of heuristics
POWERS = ("v", "v_f")  # games whose values are differences of the loss
LEGEND = "Value, its share of the sum of absolute values, and (rank). Scales differ between measures."
GAMES = (
    "game: v, the predictive power of the data; v_f, that of the model; w_f, the variance of the model's output. "
    "u(S): the constant plus the values of the features in S."
)
PROPERTIES = {  # the columns of Table 1
    "agnostic": "works with any model",
    "performance": "is about predictive performance",
    "interactions": "includes interactions",
    "missingness": "handles removed features properly",
    "tractable": "is cheap",
}
NAMED = 3  # features, or measures, that a sentence names
NAME_COLUMNS = 40  # characters of the name of a measure in a sentence
ABOVE_COLUMNS = 40  # characters of it above the grid, and above its column
LABEL_COLUMNS = 29  # characters of the name of a feature in the description of a square
LONGEST_REASON = 400
INTERRUPTED = Note("The run was interrupted before its end.")  # why measures are left out
YARDSTICK = "sage"  # the measure that determines the order of features


@dataclass(frozen=True)
class Traits:
    """Properties of a measure in the framework of the paper: its row of Tables 1 and 3.

    Attributes
    ----------
    approximates : the game "v", "v_f" or "w_f"; None for a heuristic, which is outside the framework
    subdomain : subsets for which u(S) approximates that game
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
    """Explanations of one model by several measures, by name: ``importances["permutation importance"]``.

    Attributes
    ----------
    explanations : one for each measure, all of the same players
    traits : properties of each measure
    left_out : measures that were not computed, and the reasons

    Notes
    -----
    Scales differ between measures: some are in units of the loss, some are variances, some count splits. Compare
    ranks, and shares of the sum of absolute values, rather than values.

    Examples
    --------
    >>> import numpy as np
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> names = ["sage", "permutation importance"]
    >>> importances = cs.importances(lambda X: X[:, 0], X, X[:, 0], measures=names, rng=0)
    >>> importances.ranks().loc["x0"].tolist(), importances["sage"].top(1)
    ([1, 1], ['x0'])
    """

    explanations: Mapping[str, Explanation]
    traits: Mapping[str, Traits]
    left_out: Mapping[str, Note] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "left_out", {name: as_note(why) for name, why in self.left_out.items()})
        for part in ("explanations", "traits", "left_out"):
            by_name = {present_measure_name(name): entry for name, entry in getattr(self, part).items()}
            object.__setattr__(self, part, MappingProxyType(by_name))
        _check(self.explanations, self.traits)

    def __reduce__(self) -> tuple[Any, ...]:
        return Importances, (dict(self.explanations), dict(self.traits), dict(self.left_out))

    def __getitem__(self, name: str) -> Explanation:
        name = present_measure_name(name)
        if name not in self.explanations:
            available = f"one of {', '.join(map(repr, self.explanations))}"
            why = str(self.left_out.get(name, "")).rstrip(".")
            raise UnknownMeasureError(
                "name",
                got=f"{name!r}, which was left out: {why}" if why else f"{name!r}",
                wanted=available,
                hint="" if why else resembling(str(name), self.explanations),
            )
        return self.explanations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.explanations)

    def __len__(self) -> int:
        return len(self.explanations)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the players, in their original order."""
        return next(iter(self.explanations.values())).feature_names

    @property
    def converged(self) -> bool:
        return all(explanation.converged for explanation in self.explanations.values())

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Measures whose runs ended early, before they reached their goal."""
        return tuple(name for name, explanation in self.explanations.items() if not explanation.stopped.is_wanted)

    @property
    def order(self) -> list[str]:
        """Features from the most to the least important: by SAGE values, or without these by mean rank."""
        if YARDSTICK in self.explanations:
            key = -_values(self.explanations[YARDSTICK], self.feature_names)
        else:
            key = np.mean(
                [_ranks(_values(explanation, self.feature_names)) for explanation in self.explanations.values()], axis=0
            )
        return [self.feature_names[i] for i in np.argsort(key, kind="stable")]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame of values, with a row for each feature and a column for each measure."""
        import pandas as pd

        values = {name: _values(explanation, self.feature_names) for name, explanation in self.explanations.items()}
        return pd.DataFrame(values, index=pd.Index(self.feature_names, name="feature"))

    def shares(self) -> pd.DataFrame:
        """Return a pandas DataFrame of values as shares of the sum of absolute values of their measure."""
        frame = self.to_frame()
        sums = frame.abs().sum()
        return frame / sums.where(sums > 0, 1.0)

    def ranks(self) -> pd.DataFrame:
        """Return a pandas DataFrame of ranks in each measure: 1 is the largest value; ties share the best rank.

        Negative values, of features that hurt the model, rank last.
        """
        frame = self.to_frame()
        return frame.rank(ascending=False, method="min").astype(int)

    def correlation(self) -> pd.DataFrame:
        """Return a pandas DataFrame of Spearman's rank correlations of measures; NaN where all values are equal."""
        return self.to_frame().corr(method="spearman")

    def table(self, *, top: int | None = SHOWN) -> str:
        """Return the printed tables, with the ``top`` features with the largest mean shares; None for all."""
        return text_of(self.summary(), top)

    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """Return the measures in brief: values, shares and ranks of all features, and properties of the measures."""
        _refuse(about)
        return Summary(
            kind="importances",
            title=_title(self),
            headline=_headline(self),
            findings=(LEGEND,),
            tables=(_table_of_values(self), _table_of_measures(self)),
            notes=_notes(self),
            unfinished=_unfinished(self),
            pictures={"plot": self.plot, "ranks": lambda **options: plots().ranks(self, **options)},
            width=WIDTH,
            record=_record(self),
        )

    def details(self, level: float = 0.95, *, about: str | None = None) -> Page:
        """Return the page of all measures; intervals are on the page of each measure."""
        _refuse(about)
        features = by_share(self)
        names = [shortened(_display_name(self, name), ABOVE_COLUMNS) for name in self]
        notes = warnings_first([*notes_of_runs(list(self.values()), names), *_left_out(self)])
        sections = [
            Section("found", "Findings", (Paragraph(f"{_headline(self)}.", "lead"), Sentences(_findings(self)))),
            Section("shares", "Shares", _shares(self, features, names)),
            Section("features", "Features", _features(self, features, names)),
            Section(
                "measures",
                "Measures",
                (*(Paragraph(words, "quiet") for words in _legend_of_measures(self)), _table_of_measures(self)),
            ),
            *([Section("mind", "Notes and warnings", (Notes(notes),))] if notes else []),
            Section("how", "What was computed, and how", shared_facts(self.values(), names)),
        ]
        return Page(_title(self), tuple(sections))

    def plot(self, **options: Any) -> Any:
        """Draw ranked bars, one panel for each measure; see :func:`clarysage.plots.side_by_side` for the options."""
        return plots().side_by_side(self, **options)


class UnknownMeasureError(InputError, KeyError):
    """Raised for a measure that is not among the importances."""

    __str__ = InputError.__str__  # a KeyError would quote the message


def _values(explanation: Explanation, names: tuple[str, ...]) -> np.ndarray:
    """Returns the values of an explanation in the order of the names."""
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
    for name, explanation in explanations.items():
        if set(explanation.feature_names) != set(first.feature_names):
            raise InputError(
                "explanations", got=f"{name!r} with other features than the first measure", wanted="the same features"
            )


# summary and page


def _unfinished(importances: Importances) -> tuple[str, ...]:
    """Returns sentences on measures that did not converge, and on those that an interrupt prevented."""
    words = [f"not converged: {name}. {importances[name].stopped.value}" for name in importances.unfinished]
    cut = [name for name, why in importances.left_out.items() if why == INTERRUPTED]
    return (*words, *([f"interrupted; left out: {', '.join(cut)}."] if cut else []))


def _refuse(about: str | None) -> None:
    if about is not None:
        hint = PythonOnly('importances["sage"].report()')
        raise InputError("about", got=f"{about!r}", wanted="None for Importances", hint=hint)


def _title(importances: Importances) -> str:
    model = next(
        (
            str(explanation.provenance["model"])
            for explanation in importances.values()
            if explanation.provenance.get("model")
        ),
        None,
    )
    measures = f"{len(importances)} measure{'' if len(importances) == 1 else 's'} of importance"
    return measures if model is None else f"{measures} of {shortened(model, ABOVE_COLUMNS)}"


def _headline(importances: Importances) -> str:
    """Returns the headline: number of features and measures, and the losses."""
    features, measures = len(importances.feature_names), len(importances)
    saving = [
        explanation
        for name, explanation in importances.items()
        if importances.traits[name].approximates in POWERS and explanation.base is not None
    ]
    losses = sorted({loss_words(explanation.loss) for explanation in saving})
    under = f", loss: {', '.join(losses)}" if losses else ""
    return f"{features} feature{'s' * (features > 1)} by {measures} measure{'s' * (measures > 1)}{under}"


def _display_name(importances: Importances, name: str) -> str:
    """Returns the name of a measure, with a star for heuristics."""
    return visible(name) + (STAR if importances.traits[name].is_heuristic else "")


def _table_of_values(importances: Importances) -> Table:
    """Returns the table of values, shares and ranks: measures as columns, features in the order of importance."""
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
        columns.append(Column(_display_name(importances, name), cells))
    weights = tables[1].abs().mean(axis=1).loc[order].to_numpy()
    return Table(tuple(columns), is_divided=True, weights=weights, by="mean shares")


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("-0%", "0%")


def _are_counts(explanation: Explanation) -> bool:
    """Tells whether all values are whole numbers, such as numbers of splits."""
    return bool((explanation.values == np.round(explanation.values)).all())


def _counts(number: float) -> str:
    return f"{number:,.0f}"


def _table_of_measures(importances: Importances) -> Table:
    """Returns the table of measures: what each approximates, its properties, its constant and its cost."""
    properties = _properties(importances)
    traits = [importances.traits[name] for name in importances]
    return Table(
        (
            Column("measure", [_display_name(importances, name) for name in importances], "name"),
            Column("game", [row.approximates or "-" for row in traits], "words"),
            Column("u(S) approximates it for", [row.subdomain or "-" for row in traits], "words"),
            Column("constant", [_constant(explanation) for explanation in importances.values()], "words"),
            Column("cost", [_cost(explanation) for explanation in importances.values()], "words"),
            *(Column(word, [row.properties.get(word, "no") for row in traits], "words") for word in properties),
        ),
        label="Properties of the measures",
        is_divided=True,
    )


def _constant(explanation: Explanation) -> str:
    if explanation.constant is None:
        return "-"
    return number_format(explanation)(explanation.constant) if explanation.constant else "0"


def _cost(explanation: Explanation) -> str:
    """Returns the cost of a measure, and whether it stopped before convergence.

    The cost of refits is given in fits, since predicted rows cost little in comparison.
    """
    if explanation.fits:
        spent = f"{explanation.fits:,} fit{'s' * (explanation.fits > 1)}"
    else:
        spent = f"{explanation.model_rows:,} model rows" if explanation.model_rows else "-"
    return spent if explanation.stopped.is_wanted else f"{spent}, not converged"


def _properties(importances: Importances) -> list[str]:
    """Returns the columns of Table 1, in their order."""
    return list(dict.fromkeys(word for traits in importances.traits.values() for word in traits.properties))


def _legend_of_measures(importances: Importances) -> list[str]:
    """Returns the legend of the table of measures."""
    properties = [word for word in _properties(importances) if word in PROPERTIES]
    return [GAMES, properties_words(properties)] if properties else [GAMES]


def properties_words(properties: Iterable[str]) -> str:
    """Returns a sentence on the meaning of properties of measures.

    Examples
    --------
    >>> properties_words(["agnostic", "tractable"])
    'agnostic: works with any model; tractable: is cheap.'
    """
    return f"{'; '.join(f'{word}: {PROPERTIES[word]}' for word in properties)}."


def _notes(importances: Importances) -> tuple[Note, ...]:
    """Returns notes: legends, measures that did not converge, warnings, and measures that were left out."""
    words = _legend_of_measures(importances)
    if any(traits.is_heuristic for traits in importances.traits.values()):
        words.append("*: a heuristic; its values do not add up to anything that a model gains or loses.")
    words += [f"Not converged: {name}. {importances[name].stopped.value}" for name in importances.unfinished]
    warnings = names_by_note(
        (name, note)
        for name, explanation in importances.items()
        for note in explanation.notes
        if note.level == "warning"
    )
    return (
        *map(Note, words),
        *(note_with_names(note, [f"Warning for {', '.join(names)}"]) for note, names in warnings.items()),
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


def _long_frame(importances: Importances) -> pd.DataFrame:
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
    """Returns the features, the most important first; pages show those with the largest mean shares at first."""
    index = {name: i for i, name in enumerate(importances.feature_names)}
    shares = importances.shares().abs().mean(axis=1).to_numpy()
    return Items(importances.feature_names, tuple(index[name] for name in importances.order), shares)


def _findings(importances: Importances) -> tuple[Sentence, ...]:
    """Returns sentences on the features that measures rank first, and on the agreement of measures with SAGE."""
    firsts = (importances.ranks().to_numpy() == 1).sum(axis=1)
    indices = [int(i) for i in np.argsort(-firsts, kind="stable") if firsts[i] > 0]
    named = tuple((importances.feature_names[i], f"{firsts[i]} of {len(importances)}") for i in indices[:NAMED])
    first = Sentence("Ranked first by the most measures:", named, len(indices) - len(named), tone="first")
    return (first, *_agreement(importances))


def _agreement(importances: Importances) -> list[Sentence]:
    """Returns sentences on the measures whose order of features is closest to that of SAGE, and furthest from it."""
    if YARDSTICK not in importances or len(importances) < 3 or len(importances.feature_names) < 3:
        return []
    correlations = importances.correlation()[YARDSTICK].drop(YARDSTICK).dropna()
    correlations = correlations.sort_values(ascending=False, kind="stable")
    half = min(NAMED, len(correlations) // 2)
    named = [(shortened(str(name), NAME_COLUMNS), f"{value:.2f}") for name, value in correlations.items()]
    leads = [
        ("Measures whose order of features is most like that of SAGE, by rank correlation:", named[:half]),
        ("Least like it:", named[::-1][:half]),
    ]
    return [Sentence(lead, tuple(measures), tone="order") for lead, measures in leads if measures]


def _shares(importances: Importances, features: Items, names: list[str]) -> tuple[Block, ...]:
    """Returns the blocks with the grid of shares."""
    words = (
        "Each value is a share of the sum of absolute values of its measure. An asterisk marks a heuristic, whose "
        "values do not add up to anything that a model gains or loses."
    )
    shown = features.shown
    if len(shown) < len(features.names):
        words += f" The grid shows the {len(shown)} features with the largest shares."
    return Paragraph(words, "quiet", key=("above zero", "below")), share_grid(importances, features, names)


def share_grid(importances: Importances, features: Items, names: list[str]) -> Squares:
    """Returns shares of the features that are shown at first, one column for each measure."""
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
        tuple(features.names[i] for i in shown),
        tuple(names),
        "Shares of features by measures",
        "Features by measures: values as shares of the sum of absolute values. The table has all numbers.",
        "Grid of features by measures",
    )


def _features(importances: Importances, features: Items, names: list[str]) -> tuple[Block, ...]:
    """Returns the blocks with the table of values and ranks."""
    values = importances.to_frame().to_numpy()[list(features.order)]
    ranks = importances.ranks().to_numpy()[list(features.order)]
    columns = [Column("Feature", kind="name", key="name", rises=True)]
    for k, (name, explanation) in enumerate(zip(names, importances.values(), strict=True)):
        show = number_format(explanation)
        cells = [Cell(show(value), small=f"({rank})") for value, rank in zip(values[:, k], ranks[:, k], strict=True)]
        columns.append(Column(name, cells, key=f"measure {k}", order=values[:, k].tolist()))
    table = Table(
        tuple(columns),
        f"{_headline(importances)}: value and rank of each feature by each measure. Headings sort the table.",
        features,
        sorted_by=("measure 0", "descending"),
        label="Table of the features",
    )
    return (
        Controls(),
        Paragraph("Values, with ranks in brackets below. Scales differ between measures.", "quiet"),
        table,
    )
