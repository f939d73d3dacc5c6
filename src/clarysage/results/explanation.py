"""Explanation: what each feature contributes, how sure that is, and how it was found."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from clarysage._utils.display import shortened
from clarysage.catalogue import ABOUT
from clarysage.codec import ON_REQUEST, Array, require, settle_arrays
from clarysage.errors import InputError, Note, Or, PythonOnly, Set, UnavailableError, as_note
from clarysage.inference.estimate import StopReason, Target
from clarysage.inference.intervals import adjusted, interval, p_values
from clarysage.inference.sequential import UNDECIDED, least_lead, level_of, signs
from clarysage.results.files import file_format, save
from clarysage.results.provenance import facts, losses, notes_of_run, sampling, warnings_first
from clarysage.results.result import Result, agreement_with, plots, text_of
from clarysage.results.summary import (
    Bars,
    Block,
    Boxes,
    Cell,
    Column,
    Controls,
    Curve,
    Ends,
    Facts,
    Image,
    Items,
    Notes,
    Page,
    Paragraph,
    Record,
    Section,
    Sentences,
    Series,
    Summary,
    Table,
)
from clarysage.results.text import cost_words, interval_words, number_format, p_value_words, total_words
from clarysage.results.verdicts import (
    OPEN,
    Verdicts,
    Vocabulary,
    all_verdicts,
    verdict_sentences,
    verdicts_about,
    vocabulary_of,
)

if TYPE_CHECKING:
    from clarysage.protocols import Game, Seed
    from clarysage.results.agreement import Agreement

ValuesAre = Literal["gain", "variance", "heuristic"]
HeldFixed = Literal["background", "removal", "learners", "nothing"]

Vector = Annotated[np.ndarray, Array("p")]
BAR = 24  # letters of the longest bar in a text
FEWEST_PIXELS, FEWEST_POINTS = 64, 3  # features that make an image, and points that make a line
NUMBERED = re.compile(r"\D*\d+(\D+\d+)?")  # pixel_12, x0, 3_27
LONGEST_TITLE = 200  # letters
MOST_DRAWN = 30  # features in a plot that is kept with the numbers of a run
RECORDED = ("model", "learner", "seed", "examples", "background_rows")
ROUNDING = 1e-12  # share of the loss below which a value is zero up to rounding


class Top(list[str]):
    """Names, and whether they are certainly those of the largest values."""

    def __init__(self, names: Iterable[str], *, is_certain: bool) -> None:
        super().__init__(names)
        self.is_certain = is_certain


@file_format("explanation", "importance values of features by one measure", checked=("converged",))
@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Importance values of players (features or groups), with uncertainty and provenance.

    Attributes
    ----------
    values, std_error : (p,) contributions, and the standard errors of the run's sampling
    covariance : (p, p) of the values; None for very many players
    feature_names : names of the players
    constant : phi_0 of the additive proxy u(S) = phi_0 + sum of phi_i (Table 3); None for a heuristic, which is none
    total : v(D), what all features together bring, known without sampling error; None where there is no such thing
    base : loss with no features known; ``base - total`` is the loss of the model itself; None as above
    model_rows : rows passed to the model, or evaluated through its structure in the model's place
    draws : independent draws behind the values (0: exact)
    stopped : why the run ended; ``converged`` says whether that was convergence
    notes : remarks on the run, such as the background that was chosen; plain texts become notes without advice
    provenance : versions, seed, sizes and fingerprints of the data
    dof : (p,) degrees of freedom of the standard errors; default: those of as many independent draws
    targets : what the values say of the population of "rows", and of the "population" of rows and background, each with
        values, std_error, dof and skew (p,); those of the population are freed of the bias of a finite background
    looks : interim analyses at which a sequential rule (``SignsKnown``, ``TopKnown``) was asked; ``signs`` and ``top``
        are corrected for so many
    confidence : the smallest confidence among such rules, 0.95 without one
    headline : the sentence above the table
    per_example, per_example_error : (N, p) values of each example, of which ``values`` are the means by weight (of mean
        absolute SHAP the means of their sizes), and their standard errors; where the measure has such
    parts : (N, p) what each example of positive weight contributes to the values, which are their sums; None where some
        examples were never visited, the method does not tell them apart, or there are more than 50 million numbers.
        Comparisons of the same rows rest on them. In files by ``save(path, rows=True)`` alone
    parts_weight, parts_error : (N,) weights of these examples, adding up to one, and (p,) standard errors of what the
        run added to the values beside what it found at examples; as the parts
    trace : (m, 4) the run on its way: draws, model rows, largest standard error, range of the values; None if exact
    values_are : "gain", of predicting y better; "variance", of the model's output, for which y has no part; or
        "heuristic", sizes that are outside the framework
    held_fixed : what is taken as it is when intervals are about other rows than these: the "background", a "removal"
        that was fitted, "learners" that were, or "nothing"
    """

    values: Vector
    std_error: Annotated[np.ndarray, Array("p", low=0)]
    covariance: Annotated[np.ndarray, Array("p p", is_symmetric=True)] | None
    feature_names: tuple[str, ...]
    total: float | None
    base: float | None
    model_rows: int
    draws: int
    stopped: StopReason
    measure: str
    loss: str
    removal: str
    method: str
    constant: float | None = 0.0
    groups: dict[str, list[str]] | None = None
    notes: tuple[Note, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    dof: Annotated[np.ndarray, Array("p", low=0)] | None = None
    targets: dict[str, Target] = field(default_factory=dict)
    looks: int = 1
    confidence: float = 0.95
    headline: str = ""
    per_example: Annotated[np.ndarray, Array("n p", has_gaps=True)] | None = None
    per_example_error: Annotated[np.ndarray, Array("n p", has_gaps=True)] | None = None
    parts: Annotated[np.ndarray, Array("m p")] | None = field(default=None, repr=False, metadata=ON_REQUEST)
    parts_weight: Annotated[np.ndarray, Array("m", low=0)] | None = field(default=None, repr=False, metadata=ON_REQUEST)
    parts_error: Annotated[np.ndarray, Array("p", low=0)] | None = field(default=None, repr=False, metadata=ON_REQUEST)
    trace: Annotated[np.ndarray, Array("steps 4", low=0)] | None = None
    values_are: ValuesAre = "gain"
    held_fixed: HeldFixed = "background"

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(map(as_note, self.notes)))
        if self.dof is None:
            object.__setattr__(self, "dof", np.full(len(self.values), max(self.draws - 1.0, 1.0)))
        p = len(self.feature_names)
        require(p > 0 and len(set(self.feature_names)) == p, "feature_names", self.feature_names, "distinct names")
        settle_arrays(self, p=p)
        require(set(self.targets) <= {"rows", "population"}, "targets", self.targets, '"rows" and "population" alone')
        object.__setattr__(self, "targets", {about: _settled(about, one, p) for about, one in self.targets.items()})
        require((self.base is None) == (self.total is None), "base", self.base, "a number beside a total, else none")
        for name in ("model_rows", "draws"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "a whole number of zero or more")
        require(self.looks >= 1, "looks", self.looks, "a whole number from one on")
        require(0 < self.confidence < 1, "confidence", self.confidence, "a number between 0 and 1")
        self._check_parts()

    def _check_parts(self) -> None:
        """Parts add up to the values, their weights to one."""
        if self.parts is not None:
            scale = 1e-6 * np.abs(self.parts).sum()
            is_sum = bool(np.allclose(self.parts.sum(axis=0), self.values, rtol=1e-6, atol=scale))
            require(is_sum, "parts", self.parts.sum(axis=0), "parts that add up to the values, or None")
        if self.parts_weight is not None:
            total = float(self.parts_weight.sum())
            require(abs(total - 1) < 1e-6, "parts_weight", total, "weights that add up to one")

    @property
    def converged(self) -> bool:
        return self.stopped.is_converged

    @property
    def fits(self) -> int:
        """How often a learner was fitted anew; 0 for measures of the model as it is."""
        return int(self.provenance.get("fits", 0))

    @property
    def shown(self) -> str:
        """What intervals are about where nothing else is asked for: the widest of what is known."""
        return next((about for about in ("population", "rows") if about in self.targets), "data")

    def meaning(self, about: str) -> str:
        """What intervals are about, in words."""
        return ABOUT[about].meaning(self.held_fixed)

    def target(self, about: str | None = None) -> Target:
        """Values, standard errors and degrees of freedom about the data, the rows or the population.

        Values and errors that are rounding alone are the zeros they stand for.
        """
        about = self.shown if about is None else about
        if about not in (*ABOUT,):
            raise ABOUT.unknown(about)
        if about not in self._targets:
            known = ", ".join(map(repr, self._targets))
            raise UnavailableError(
                "about",
                got=f"{about!r}",
                wanted=f"one of {known}, which are known here; rows take several examples, "
                "the population several background rows drawn from it, and both a method that follows them",
                hint=[Set("about", self.shown), Or(), Set("method", "paired walks"), " where another was used"],
            )
        return self._targets[about]

    @cached_property
    def _targets(self) -> dict[str, Target]:
        assert self.dof is not None
        data = Target(self.values, self.std_error, self.dof, np.zeros(len(self.values)))
        return {about: with_exact_zeros(one, self.least) for about, one in {"data": data, **self.targets}.items()}

    @property
    def least(self) -> float:
        """The size below which a value is zero up to rounding."""
        ends = [abs(end) for end in (self.base, self.total) if end is not None]
        return ROUNDING * max(*ends, float(np.abs(self.values).max()), 0.0)

    def interval(
        self, level: float = 0.95, *, about: str | None = None, joint: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Low and high ends of an interval for each value.

        Parameters
        ----------
        level : how often such intervals hold what they are about
        about : "data", this data and this background: how far the sampling of the run may be off, and no more. "rows",
            the population of rows that the examples were drawn from, with the background as chosen. "population", that
            of rows and of background; around values that are freed of the bias of a finite background. Default: the
            widest that is known, ``shown``
        joint : make all intervals hold at once (Bonferroni)
        """
        key = (level, self.shown if about is None else about, joint)
        if key not in self._intervals:
            found = self.target(about)
            self._intervals[key] = interval(
                found.values, found.std_error, found.dof, level, joint=joint, skew=found.skew
            )
        low, high = self._intervals[key]
        return low.copy(), high.copy()

    @cached_property
    def _intervals(self) -> dict[tuple[float, str, bool], tuple[np.ndarray, np.ndarray]]:
        """Intervals that were asked for before, by level, what they are about, and whether they hold at once."""
        return {}

    def p_values(
        self, alternative: str = "helps", *, about: str | None = None, adjust: str | None = None
    ) -> np.ndarray:
        """p-values of tests of each value, (p,): is it above zero ("helps"), or below ("hurts")?

        Parameters
        ----------
        alternative : "helps" or "hurts"
        about : what the test is about, as in :meth:`interval`
        adjust : "holm" or "benjamini hochberg", since there are many features; None for each on its own
        """
        found = self.target(about)
        return adjusted(p_values(found.values, found.std_error, found.dof, alternative, skew=found.skew), adjust)

    @property
    def signs(self) -> dict[str, str]:
        """What each feature does to the model on this data: "helps", "hurts", "undecided", or "no effect" at all.

        All of them are right at once with a probability of ``confidence``, 95 % if not asked otherwise, however often
        :class:`~clarysage.SignsKnown` looked.
        For other rows of the same population ask :meth:`p_values`.
        """
        data = self.target("data")
        found = signs(data.values, data.std_error, data.dof, level_of(self.confidence, self.looks))
        return dict(zip(self.feature_names, found, strict=True))

    def power(self, features: Iterable[str | int]) -> float:
        """u(S) = phi_0 + the sum of the values of the given players: a proxy for the power of that subset."""
        if self.constant is None:
            raise UnavailableError(
                "measure",
                got=f"{self.measure!r}, whose values add up to nothing that a model gains or loses",
                wanted="an additive importance measure",
                hint=[PythonOnly("cs.measures(), which says of each what it approximates")],
            )
        return self.constant + float(self.values[self._places(features)].sum())

    def agreement(
        self, game: Game, n: int = 1000, *, n_jobs: object = None, progress: bool | None = None, rng: Seed = None
    ) -> Agreement:
        """How good a proxy u(S) is for v(S): their correlation and R2 over random subsets (paper, Table 2).

        Subsets are drawn as in the paper, the size uniform on 0, ..., p and then the subset uniform of that size. Where
        n suffices for all 2^p of them, each is taken once, with the weight of its chance to be drawn, and nothing is
        left to chance.

        Parameters
        ----------
        game : v: a :class:`~clarysage.PredictivePower`, for what the model draws from subsets; a
            :class:`~clarysage.UniversalPower`, for what learners make of them, each fitted once; or another game. Its
            players are found by their names, and of several losses that of the explanation is taken
        n : how many subsets
        n_jobs, progress, rng : as in :func:`clarysage.sage`

        Examples
        --------
        >>> import clarysage as cs
        >>> X = np.random.default_rng(0).normal(size=(100, 3))
        >>> f = lambda X: X[:, 0] + X[:, 1] * X[:, 2]
        >>> game = cs.PredictivePower.of(cs.Marginal(X).restrict(f, X), "squared error", X, f(X))
        >>> found = cs.sage(f, X, f(X), background=X, loss="squared error", rng=0).agreement(game)
        >>> found.is_complete, 0.8 < found.correlation < 1
        (True, True)
        """
        return agreement_with(self, game, n, n_jobs=n_jobs, progress=progress, rng=rng)

    def top(self, k: int) -> Top:
        """Names of the k players with the largest values, largest first.

        A list, whose ``is_certain`` says whether these are the largest on this data with a probability of
        ``confidence``, 95 % if not asked otherwise, however often :class:`~clarysage.TopKnown` looked.
        """
        if not isinstance(k, (int, np.integer)) or k < 0:
            raise InputError("k", got=f"{k!r}", wanted="a whole number of zero or more")
        assert self.dof is not None
        covariance = self.std_error**2 if self.covariance is None else self.covariance
        least, _ = least_lead(self.values, covariance, self.dof, int(k), level_of(self.confidence, self.looks))
        names = [self.feature_names[i] for i in np.argsort(-self.values, kind="stable")[:k]]
        return Top(names, is_certain=least > 0)

    def to_frame(self, level: float = 0.95, *, about: str | None = None, tests: bool = False) -> Any:
        """A pandas DataFrame: feature, value, std_error (about the data), and the ends low and high of its interval.

        ``frame.attrs["about"]`` says what the interval is about; ``tests=True`` adds p-values for "helps" and "hurts"
        about the same, and both adjusted by Holm's method.
        """
        import pandas as pd

        about = self.shown if about is None else about
        low, high = self.interval(level, about=about)
        columns = {"value": self.values, "std_error": self.std_error, "low": low, "high": high}
        for alternative in ("helps", "hurts") if tests else ():
            columns[f"p_{alternative}"] = self.p_values(alternative, about=about)
            columns[f"p_{alternative}_holm"] = self.p_values(alternative, about=about, adjust="holm")
        frame = pd.DataFrame({"feature": self.feature_names, **columns})
        frame.attrs["about"] = about
        return frame

    def table(self, level: float = 0.95, *, about: str | None = None, tests: bool = False) -> str:
        """The printed table, with intervals about what is asked for; ``tests=True`` adds p-values (Holm)."""
        return text_of(self.summary(level, about=about, tests=tests))

    def summary(self, level: float = 0.95, *, about: str | None = None, tests: bool = False) -> Summary:
        """The explanation in brief; ``tests=True`` adds p-values (Holm)."""
        about = self.shown if about is None else about
        self.target(about)  # an error where nothing is known about it
        words = [*total_words(self), interval_words(self, about), cost_words(self)]
        meaning = self.meaning(about)
        chance = f"p: how likely a value so far from zero would be if it were zero, about {meaning} (Holm)."
        return Summary(
            kind="explanation",
            title=_title(self),
            headline=self.headline or _capitalized(self.measure),
            tables=(_table(self, level, about, tests),),
            notes=(*map(Note, words), *self.notes, *([Note(chance)] if tests else [])),
            figure=value_bars(self, [verdicts_about(self, about, level)], items_by_value(self)),
            unfinished=() if self.stopped.is_wanted else (f"not converged. {self.stopped.value}",),
            pictures={"plot": partial(self.plot, about=about)},
            about=about,
            choices=("data", *self.targets),
            record=_record(self, level, about),
        )

    def details(self, level: float = 0.95, *, about: str | None = None) -> Page:
        """All there is to say, with a switch between what is known of the data, of rows and of the population."""
        picture = [] if (image := _image(self)) is None else [Section("image", "As an image", (image,))]
        return page_of_values(self, level, about, vocabulary_of(self), pictures=picture)

    def save(self, path: str | Path, *, rows: bool = False) -> None:
        """Write the explanation as JSON; :func:`clarysage.load` reads it back.

        ``rows=True`` writes the ``parts`` too, N x p numbers that say something of single examples, so that
        :func:`clarysage.compare` can pair explanations of the same rows read from their files.
        """
        if rows and self.parts is None:
            raise UnavailableError(
                "rows",
                got=[Set("rows", True), " for an explanation that does not know what single examples contribute"],
                wanted="one that has parts",
                hint=[
                    Set("method", "paired walks"),
                    ", with a tolerance so small, or a budget so large, that every example is visited",
                    Or("; or "),
                    Set("rows", False),
                ],
            )
        save(self, path, rows=rows)

    def plot(self, **options: Any) -> Any:
        """Bars with intervals on a matplotlib axis; see :func:`clarysage.plots.bars` for the options."""
        return plots().bars(self, **options)

    def _places(self, features: Iterable[str | int]) -> list[int]:
        if isinstance(features, str):
            features = [features]
        places = []
        for feature in features:
            if isinstance(feature, str) and feature in self.feature_names:
                places.append(self.feature_names.index(feature))
            elif isinstance(feature, (int, np.integer)) and 0 <= feature < len(self.values):
                places.append(int(feature))
            else:
                raise InputError(
                    "features", got=f"{feature!r}", wanted="names or numbers of features in the explanation"
                )
        if len(set(places)) < len(places):
            raise InputError("features", got="a feature more than once", wanted="each at most once")
        return places


def with_exact_zeros(found: Target, least: float) -> Target:
    """The same, with zeros for values and errors that are both no larger than rounding makes them."""
    is_nothing = (np.abs(found.values) <= least) & (found.std_error <= least)
    values, error = (np.where(is_nothing, 0.0, numbers) for numbers in (found.values, found.std_error))
    return Target(values, error, found.dof, found.skew)


def _settled(about: str, target: Target, p: int) -> Target:
    """A target of p players, whose arrays cannot be written to."""
    parts = {name: _fixed(getattr(target, name)) for name in ("values", "std_error", "dof", "skew")}
    for name, array in parts.items():
        require(array.shape == (p,), f"targets: {about}: {name}", array.tolist(), f"{p} numbers")
    return Target(**parts)


def _fixed(array: Any) -> np.ndarray:
    """Numbers that cannot be written to."""
    if isinstance(array, np.ndarray) and array.dtype == np.float64 and _is_fixed(array):
        return array
    found = np.array(array, dtype=np.float64)
    found.setflags(write=False)
    return found


def _is_fixed(array: np.ndarray) -> bool:
    """Whether nobody can write to an array, not even by way of another that it is a view of."""
    return not array.flags.writeable and array.base is None


# what there is to say


def _capitalized(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def _title(explanation: Explanation) -> str:
    """What was measured, and of which model."""
    provenance = explanation.provenance
    model = next((str(provenance[key]) for key in ("model", "learner") if provenance.get(key)), None)
    measure = (explanation.headline or explanation.measure).partition(":")[0]
    return shortened(measure if model is None else f"{measure} of {model}", LONGEST_TITLE)


def _table(explanation: Explanation, level: float, about: str, tests: bool) -> Table:
    """Values, largest first, with intervals where something is sampled, p-values if asked for, and small bars."""
    show, order = number_format(explanation), np.argsort(-explanation.values, kind="stable")
    is_sure = explanation.draws == 0 and about == "data"  # an interval of no width would tell nothing
    ends = list(zip(*explanation.interval(level, about=about), strict=True))
    columns = [
        Column("feature", [explanation.feature_names[i] for i in order], "name"),
        Column("value", [show(explanation.values[i]) for i in order]),
        Column(
            "" if is_sure else f"{100 * level:g}% interval",
            ["" if is_sure else f"[{show(ends[i][0])}, {show(ends[i][1])}]" for i in order],
            "interval",
        ),
    ]
    for alternative in ("helps", "hurts") if tests else ():
        chances = explanation.p_values(alternative, about=about, adjust="holm")
        columns.append(Column(f"p {alternative}", [p_value_words(chances[i]) for i in order], "interval"))
    return Table((*columns, Column("", [_bar(explanation, i) for i in order], "bar")))


def _bar(explanation: Explanation, place: int) -> str:
    value, largest = float(explanation.values[place]), float(np.abs(explanation.values).max())
    return ("▇" if value >= 0 else "▒") * round(BAR * (abs(value) / largest if largest > 0 else 0.0))


def _record(explanation: Explanation, level: float, about: str) -> Record:
    """Numbers and words for tools that track experiments."""
    provenance = explanation.provenance
    return Record(
        name=explanation.measure,
        frame=partial(explanation.to_frame, level, about=about),
        columns=("value", "std_error", "low", "high"),
        numbers={
            "total": (explanation.total,),
            "base": (explanation.base,),
            "model_rows": (explanation.model_rows,),
            "draws": (explanation.draws,),
        },
        words={
            **setting_of_explanation(explanation),
            "method": explanation.method,
            **{key: str(provenance[key]) for key in RECORDED if provenance.get(key) is not None},
            "converged": str(explanation.converged).lower(),
            "stopped": explanation.stopped.value,
            "about": about,
            "intervals": f"{100 * level:g}% intervals about {explanation.meaning(about)}",
        },
        plot=partial(explanation.plot, about=about, top=MOST_DRAWN),
    )


def setting_of_explanation(explanation: Explanation) -> dict[str, str]:
    """What was computed, for tools that track experiments."""
    from clarysage import __version__

    return {
        "version": str(explanation.provenance.get("clarysage", __version__)),
        "measure": explanation.measure,
        "loss": explanation.loss,
        "removal": explanation.removal,
    }


def items_by_value(explanation: Explanation) -> Items:
    """Features, the largest value first, of which those with the largest sizes are shown."""
    order = np.argsort(-explanation.values, kind="stable").tolist()
    return Items(explanation.feature_names, tuple(order), np.abs(explanation.values))


def value_bars(explanation: Explanation, views: list[Verdicts], features: Items, noun: str = "feature") -> Bars:
    """Bars of the values, with an interval of each reading; a view of its own for each where there are several."""
    show = number_format(explanation)
    ends = tuple(
        Ends(view.low, view.high, np.isin(view.labels, OPEN), view.about if len(views) > 1 else "")
        for view in views
        if view.has_intervals
    )
    return Bars(
        explanation.headline or explanation.measure,
        features,
        (Series(explanation.values, ends),),
        tuple(map(show, explanation.values)),
        label=f"Chart of the {noun}s",
    )


def page_of_values(
    explanation: Explanation,
    level: float,
    about: str | None,
    words: Vocabulary,
    *,
    overview: tuple[Block, ...] = (),
    pictures: list[Section] | None = None,
) -> Page:
    """Returns the page of values with their intervals, in the given words.

    ``about`` says what intervals are about when the page is opened; ``overview`` adds blocks to the first section,
    ``pictures`` adds sections after the table.
    """
    explanation.target(about)  # an error where nothing is known about it
    views = all_verdicts(explanation, level)
    shown = next(view for view in views if view.about == (about or explanation.shown))
    sections = [
        Section("found", "What was found", (*_overview(explanation, views, words), *overview)),
        Section("features", f"{_capitalized(words.noun)}s", _values(explanation, views, words, level), words.noun),
        *(pictures or []),
        Section("mind", "What to mind", (Notes(notes),)) if (notes := _notes(explanation, shown)) else None,
        Section("how", "What was computed, and how", _computed(explanation)),
    ]
    return Page(_title(explanation), tuple(section for section in sections if section is not None), shown.about)


def _overview(explanation: Explanation, views: list[Verdicts], words: Vocabulary) -> tuple[Block, ...]:
    """What there is to know first: what all features bring, and sentences on what is known of them."""
    return (
        Paragraph(f"{explanation.headline or explanation.measure}.", "lead"),
        *map(Paragraph, total_words(explanation)),
        Boxes(losses(explanation)),
        *(Sentences(tuple(verdict_sentences(explanation, view, words)), view.about) for view in views),
    )


def _values(explanation: Explanation, views: list[Verdicts], words: Vocabulary, level: float) -> tuple[Block, ...]:
    """The chart and the table of the values, with intervals about one thing at a time."""
    features = items_by_value(explanation)
    choices = tuple((view.about, view.choice) for view in views)
    lines = (
        f" Lines are {100 * level:g}% intervals, each on its own; faint bars are of values that cannot be told from "
        f"zero. A verdict without “likely” holds for all {words.noun}s at once."
    )
    return (
        Controls("Intervals are about", choices),
        *(Paragraph(view.meaning + (lines if view.has_intervals else ""), "quiet", view.about) for view in views),
        value_bars(explanation, views, features, words.noun),
        _values_table(explanation, views, words, features, level),
    )


def _values_table(
    explanation: Explanation, views: list[Verdicts], words: Vocabulary, features: Items, level: float
) -> Table:
    show, order = number_format(explanation), list(features.order)
    ends, errors, verdicts = {}, {}, {}
    for view in views:
        ends[view.about] = [f"[{show(view.low[i])}, {show(view.high[i])}]" for i in order], view.low[order].tolist()
        errors[view.about] = [show(view.std_error[i]) for i in order], view.std_error[order].tolist()
        if not view.has_intervals:
            ends[view.about], errors[view.about] = (
                (["exact"] * len(order), numbers) for _, numbers in (ends[view.about], errors[view.about])
            )
        labels = [view.labels[i] for i in order]
        verdicts[view.about] = [Cell(words.labels[label], label) for label in labels], labels
    values = explanation.values[order]
    return Table(
        (
            Column(_capitalized(words.noun), kind="name", key="name", rises=True),
            Column("Value", list(map(show, values)), key="value", order=values.tolist()),
            Column(f"{100 * level:g}% interval", kind="interval", key="low", by_view=ends),
            Column("Standard error", key="std_error", by_view=errors),
            Column("Verdict", kind="words", key="known", rises=True, by_view=verdicts),
        ),
        f"{explanation.headline or explanation.measure}: value, interval, standard error and verdict of each "
        f"{words.noun}. Headings sort the table.",
        features,
        sorted_by=("value", "descending"),
        label=f"Table of the {words.noun}s",
    )


def _image(explanation: Explanation) -> Image | None:
    """The values as pixels; None where they make no square."""
    values, side = explanation.values, isqrt(len(explanation.values))
    if len(values) < FEWEST_PIXELS or side**2 != len(values):
        return None
    show = number_format(explanation)
    is_likely = all(NUMBERED.fullmatch(name[:40]) for name in explanation.feature_names)
    return Image(values, show(values.max()), show(values.min()), is_open=is_likely)


def _notes(explanation: Explanation, shown: Verdicts) -> tuple[Note, ...]:
    """Warnings, then notes; where most values are undecided, that too."""
    notes, count = notes_of_run(explanation), sum(label == UNDECIDED for label in shown.labels)
    if 2 * count > len(shown.labels):
        values = f"{count:,} of {len(shown.labels):,} values"
        advice = "A smaller tolerance tells more." if shown.about == "data" else "Explain more rows."
        text = f"Of {values} it cannot be told whether they are above zero {ABOUT[shown.about].where}."
        notes.append(Note(text, advice))
    return warnings_first(notes)


def _computed(explanation: Explanation) -> tuple[Block, ...]:
    """How the run ended, how its errors shrank, and facts."""
    trace = _trace(explanation)
    return (
        Paragraph(sampling(explanation)),
        *([] if trace is None else [trace]),
        Facts(facts(explanation)),
    )


def _trace(explanation: Explanation) -> Curve | None:
    """How the largest standard error shrank with the rows that the model was asked about; None for too few points."""
    if explanation.trace is None:
        return None
    draws, rows, errors, spans = explanation.trace.T
    known = (rows > 0) & (errors > 0) & (spans > 0)
    if known.sum() < FEWEST_POINTS or rows[known].min() == rows[known].max():
        return None
    shares = errors[known] / spans[known]
    first, last = (f"{shares[i]:.2g} of the range of the values after {int(draws[known][i]):,} draws" for i in (0, -1))
    return Curve(
        rows[known],
        shares,
        "How the largest standard error shrank",
        "model rows; upwards: largest standard error, in % of the range of the values",
        f"The largest standard error went from {first} to {last}.",
        "Trace of the run",
    )
