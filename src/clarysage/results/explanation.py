"""Explanation: importance values of features with their uncertainty, and how they were computed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from clarysage._utils.display import SHOWN, shortened
from clarysage.catalogue import ABOUT, present_measure_name
from clarysage.codec import ON_REQUEST, Array, freeze_arrays, read_only, require
from clarysage.errors import (
    ClarysageWarning,
    InputError,
    Note,
    Or,
    PythonOnly,
    Set,
    UnavailableError,
    as_note,
)
from clarysage.inference.estimate import StopReason, Target
from clarysage.inference.intervals import adjusted, interval, p_values
from clarysage.inference.sequential import UNDECIDED, least_lead, level_of, sign_names
from clarysage.results.facts_and_notes import end_of_run, facts, loss_facts, notes_of_run, warnings_first
from clarysage.results.feature_value import FeatureValue, unknown_feature
from clarysage.results.files import file_format, rows_by_default, save
from clarysage.results.result import Result, agreement_with, plots, text_of
from clarysage.results.shap_explanation import shap_explanation
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
from clarysage.synonyms import IN_PLACE_OF_ATTRIBUTES, missing_attribute, with_synonyms

if TYPE_CHECKING:
    import pandas as pd

    from clarysage.protocols import Game, Seed, TableLike
    from clarysage.results.agreement import Agreement

ValuesAre = Literal["gain", "variance", "heuristic"]
HeldFixed = Literal["background", "removal", "learners", "nothing"]

Vector = Annotated[np.ndarray, Array("p")]
BAR = 24  # characters of the longest bar in a text
FEWEST_PIXELS, FEWEST_POINTS = 64, 3  # fewest features of an image, and fewest points of a line
NUMBERED = re.compile(r"\D*\d+(\D+\d+)?")  # pixel_12, x0, 3_27
LONGEST_TITLE = 200  # characters
MOST_DRAWN = 30  # features in a plot that is logged with a run
RECORDED = ("model", "learner", "seed", "examples", "background_rows")
ROUNDING = 1e-12  # as a share of the loss: smaller values are zero up to rounding


class Top(list[str]):
    """Names of the largest values, and whether they are certainly the largest, about the data or a population."""

    def __init__(self, names: Iterable[str], *, is_certain: bool, about: str) -> None:
        super().__init__(names)
        self.is_certain = is_certain
        self.about = about


class Signs(dict[str, str]):
    """Verdicts on the signs of values by feature, about the data or a population."""

    def __init__(self, verdicts: Iterable[tuple[str, str]], *, about: str) -> None:
        super().__init__(verdicts)
        self.about = about


@file_format("explanation", "importance values of features by one measure", checked=("converged",))
@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Importance values of players (features or groups), with uncertainty and provenance.

    It is a mapping of names to values, too: ``explanation["age"]`` is a :class:`~clarysage.results.FeatureValue`, a
    number with ``std_error``, ``interval()`` and ``p_value()``; ``len``, ``in`` and iteration are about the names.

    Attributes
    ----------
    values, std_error : (p,) contributions, and their standard errors by the sampling of the run
    covariance : (p, p) covariance of the values; None for very many players
    feature_names : names of the players
    constant : phi_0 of the additive proxy u(S) = phi_0 + sum of phi_i (Table 3); None for a heuristic without proxy
    total : v(D), the contribution of all features together, without sampling error; None where it is undefined
    base : loss with no features known; ``base - total`` is the loss of the model itself; None where it is undefined
    model_rows : rows passed to the model, or evaluated through its structure instead
    draws : number of independent draws behind the values (0: exact)
    stopped : why the run ended; ``converged`` says whether that was convergence
    notes : remarks on the run, such as the choice of the background; plain texts become notes without advice
    provenance : versions, seed, sizes and fingerprints of the data
    dof : (p,) degrees of freedom of the standard errors; default: ``draws - 1``
    targets : estimates about the population of "rows", and about the "population" of rows and background, each with
        values, std_error, dof and skew (p,); those of the population are corrected for the bias of a finite background
    looks : number of interim analyses by a sequential rule (``SignsKnown``, ``TopKnown``); verdicts about the data
        (``signs_about``, ``top``) are corrected for them
    confidence : the smallest confidence among these rules, 0.95 without one
    headline : the sentence above the table
    per_example, per_example_error : (N, p) values of single examples, and their standard errors, for measures that have
        them; ``values`` are their weighted means (for mean absolute SHAP, the means of their sizes)
    per_example_base : (N,) numbers that each row of ``per_example`` adds to: minus the loss of the example without any
        feature, so that the sum is minus the model's loss, or the output without any feature, so that it is the
        model's output. None where there is no such sum. Files have it if they have ``parts``
    parts : (N, p) contributions of each example of positive weight to the values, which are their sums; None where some
        examples were never visited, where the method does not separate examples, and for more than 50 million numbers.
        Paired comparisons need them. :meth:`save` says when files have them
    parts_weight, parts_error : (N,) weights of these examples, which add up to one, and (p,) standard errors of the
        sampling that is not part of any example; None where ``parts`` is
    trace : (m, 4) course of the run: draws, model rows, largest standard error, range of the values; None if exact
    values_are : "gain", of predicting y better; "variance", of the output of the model, where y plays no part; or
        "heuristic", sizes that are outside the framework
    held_fixed : what is held fixed where intervals are about other rows: the "background", a fitted "removal", fitted
        "learners", or "nothing"
    groups : columns of each group; None where players are columns
    measure, loss, removal, method : names of what was computed and how

    Examples
    --------
    >>> import numpy as np
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> explanation = cs.sage(lambda X: X[:, 0], X, X[:, 0], feature_names=["age", "income"], rng=0)
    >>> explanation.top(1), explanation.signs["age"], bool(explanation["age"] > 0.5)
    (['age'], 'helps', True)
    >>> low, high = explanation.interval(0.95)
    >>> bool(low[0] < explanation.values[0] < high[0])
    True
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
    per_example_base: Annotated[np.ndarray, Array("n")] | None = field(default=None, repr=False, metadata=ON_REQUEST)
    parts: Annotated[np.ndarray, Array("m p")] | None = field(default=None, repr=False, metadata=ON_REQUEST)
    parts_weight: Annotated[np.ndarray, Array("m", low=0)] | None = field(default=None, repr=False, metadata=ON_REQUEST)
    parts_error: Annotated[np.ndarray, Array("p", low=0)] | None = field(default=None, repr=False, metadata=ON_REQUEST)
    trace: Annotated[np.ndarray, Array("steps 4", low=0)] | None = None
    values_are: ValuesAre = "gain"
    held_fixed: HeldFixed = "background"

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(map(as_note, self.notes)))
        object.__setattr__(self, "measure", present_measure_name(self.measure))
        if self.dof is None:
            object.__setattr__(self, "dof", np.full(len(self.values), max(self.draws - 1.0, 1.0)))
        p = len(self.feature_names)
        require(p > 0 and len(set(self.feature_names)) == p, "feature_names", self.feature_names, "distinct names")
        freeze_arrays(self, p=p)
        require(set(self.targets) <= {"rows", "population"}, "targets", self.targets, 'only "rows" and "population"')
        object.__setattr__(
            self, "targets", {about: _checked_target(about, target, p) for about, target in self.targets.items()}
        )
        require(
            (self.base is None) == (self.total is None), "base", self.base, "a number if there is a total, else None"
        )
        for name in ("model_rows", "draws"):
            require(getattr(self, name) >= 0, name, getattr(self, name), "a whole number of zero or more")
        require(self.looks >= 1, "looks", self.looks, "a whole number of one or more")
        require(0 < self.confidence < 1, "confidence", self.confidence, "a number between 0 and 1")
        self._check_parts()

    def _check_parts(self) -> None:
        """Raises unless parts add up to the values and their weights to one."""
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
        """Number of fits of learners; 0 for measures that do not refit."""
        return int(self.provenance.get("fits", 0))

    @property
    def shown(self) -> str:
        """Default target of intervals: "population", "rows" or "data", the first for which there are estimates."""
        return next((about for about in ("population", "rows") if about in self.targets), "data")

    def meaning(self, about: str) -> str:
        """Returns a description of what intervals are about."""
        return ABOUT[about].meaning(self.held_fixed)

    def target(self, about: str | None = None) -> Target:
        """Returns values, standard errors and degrees of freedom about the data, the rows or the population.

        Values and errors that differ from zero only by rounding are set to zero.
        """
        about = self.shown if about is None else about
        if about not in (*ABOUT,):
            raise ABOUT.unknown(about)
        if about not in self._targets:
            available = ", ".join(map(repr, self._targets))
            raise UnavailableError(
                "about",
                got=f"{about!r}",
                wanted=f"one of {available}, which are known here; 'rows' needs several examples, "
                "'population' several background rows drawn from it, and both need a method that keeps track of them",
                hint=[Set("about", self.shown), Or(), Set("method", "paired walks"), " where another was used"],
            )
        return self._targets[about]

    @cached_property
    def _targets(self) -> dict[str, Target]:
        assert self.dof is not None
        data = Target(self.values, self.std_error, self.dof, np.zeros(len(self.values)))
        return {about: with_exact_zeros(target, self.least) for about, target in {"data": data, **self.targets}.items()}

    @property
    def least(self) -> float:
        """The size below which a value is zero up to rounding."""
        sizes = [abs(loss) for loss in (self.base, self.total) if loss is not None]
        return ROUNDING * max(*sizes, float(np.abs(self.values).max()), 0.0)

    def interval(
        self, level: float = 0.95, *, about: str | None = None, joint: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Low and high ends of an interval for each value.

        Parameters
        ----------
        level : coverage of the intervals
        about : "data": this data and this background, so that intervals cover only the sampling error of the run.
            "rows": the population of rows that the examples were drawn from, with this background. "population": the
            population of rows and of background, around values corrected for the bias of a finite background. Default:
            the widest that is known, ``shown``
        joint : make the intervals simultaneous (Bonferroni)
        """
        key = (level, self.shown if about is None else about, joint)
        if key not in self._intervals:
            target = self.target(about)
            self._intervals[key] = interval(
                target.values, target.std_error, target.dof, level, joint=joint, skew=target.skew
            )
        low, high = self._intervals[key]
        return low.copy(), high.copy()

    @cached_property
    def _intervals(self) -> dict[tuple[float, str, bool], tuple[np.ndarray, np.ndarray]]:
        """Cache of intervals by level, target, and whether they are joint."""
        return {}

    def p_values(
        self, alternative: str = "helps", *, about: str | None = None, adjust: str | None = None
    ) -> np.ndarray:
        """p-values of tests of each value, (p,): is it above zero ("helps"), or below ("hurts")?

        Parameters
        ----------
        alternative : "helps" or "hurts"
        about : what the test is about, as in :meth:`interval`
        adjust : "holm" or "benjamini hochberg", to adjust for the number of features; None for unadjusted p-values
        """
        target = self.target(about)
        return adjusted(p_values(target.values, target.std_error, target.dof, alternative, skew=target.skew), adjust)

    @property
    def signs(self) -> Signs:
        """Verdict on each feature, about the same target as the table, plots and the report: see :meth:`signs_about`.

        Its attribute ``about`` is that target, ``shown``.
        """
        return self.signs_about()

    def signs_about(self, about: str | None = None) -> Signs:
        """Return the verdict on each feature: "helps", "hurts", "undecided", or "no effect" at all.

        All verdicts are right simultaneously with a probability of ``confidence`` (default 95 %); on the data, for any
        number of interim analyses by :class:`~clarysage.SignsKnown`.

        Parameters
        ----------
        about : what the verdicts are about, as in :meth:`interval`
        """
        about = self.shown if about is None else about
        target = self.target(about)
        verdicts = sign_names(target.values, target.std_error, target.dof, self.decision_level(about), skew=target.skew)
        return Signs(zip(self.feature_names, verdicts, strict=True), about=about)

    def decision_level(self, about: str) -> float:
        """Return the level of decisions: ``confidence``, on the data adjusted for the number of interim analyses."""
        return level_of(self.confidence, self.looks) if about == "data" else self.confidence

    def __getitem__(self, name: str) -> FeatureValue:
        """Return the value of a feature, which also has its standard error, interval and p-value."""
        if isinstance(name, str) and name in self.feature_names:
            return FeatureValue.of(self, self.feature_names.index(name))
        raise unknown_feature(name, self.feature_names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.feature_names)

    def __len__(self) -> int:
        return len(self.feature_names)

    def keys(self) -> tuple[str, ...]:
        """Return the names, so that ``dict(explanation)`` has the value of each."""
        return self.feature_names

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in IN_PLACE_OF_ATTRIBUTES:
                raise missing_attribute("Explanation", name, IN_PLACE_OF_ATTRIBUTES)
            return super().__getattr__(name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)

    @property
    def importances_mean(self) -> np.ndarray:
        """The values, by the name that scikit-learn has for them."""
        return self.values

    @property
    def importances_std(self) -> np.ndarray:
        """Standard errors of the values, (p,), about the same target as the table, plots and the report: ``shown``.

        If that is the population, they say how far values would differ on other rows, with another background and
        another seed. scikit-learn's attribute of this name is the standard deviation of a single repeat on the same
        rows, which says nothing about other rows; what comes nearest is ``std_error``, the error of the mean of all
        draws on these rows.
        """
        return self.target().std_error

    @property
    def feature_importances_(self) -> np.ndarray:
        """The values in the order of the columns, (p,); there are none by column if columns are grouped."""
        if self.groups:
            raise AttributeError("feature_importances_")
        return self.values

    def to_shap(self, X: TableLike | None = None) -> Any:
        """Return the explanation as a ``shap.Explanation``, for the plots of shap.

        Values of single examples, as :func:`~clarysage.mean_loss_shap` and :func:`~clarysage.mean_absolute_shap` have
        them, are (N, p), otherwise there is one for each feature, (p,). Base value and values add up to minus the loss
        of the model, or for :func:`~clarysage.mean_absolute_shap` to its output, if values of the measure add up to
        anything. A value is positive for a feature that makes predictions better; shap's own values of a loss have the
        opposite sign.

        Parameters
        ----------
        X : the rows that were explained, (N, p), for plots that show them, such as ``shap.plots.beeswarm``
        """
        return shap_explanation(self, X)

    def power(self, features: Iterable[str | int]) -> float:
        """Return u(S) = phi_0 + the sum of the values of the given players, a proxy for the power of that subset."""
        if self.constant is None:
            raise UnavailableError(
                "measure",
                got=f"{self.measure!r}, whose values do not add up to anything that a model gains or loses",
                wanted="an additive importance measure",
                hint=[PythonOnly("cs.measures(), which says what each of them approximates")],
            )
        return self.constant + float(self.values[self._indices(features)].sum())

    @with_synonyms
    def agreement(
        self, game: Game, n: int = 1000, *, n_jobs: object = None, progress: bool | None = None, rng: Seed = None
    ) -> Agreement:
        """Measure how good a proxy u(S) is for v(S), by correlation and R2 over random subsets (paper, Table 2).

        Subsets are drawn as in the paper, the size uniform on 0, ..., p and then the subset uniform of that size. If
        n is at least 2^p, each subset is taken once, weighted by its probability, without sampling.

        Parameters
        ----------
        game : the game v: a :class:`~clarysage.PredictivePower`, for the power that the model has with subsets; a
            :class:`~clarysage.UniversalPower`, for the power of learners fitted to each subset; or another game.
            Players are matched by name; of several losses, that of the explanation is used
        n : number of subsets
        n_jobs, progress, rng : as in :func:`clarysage.sage`

        Examples
        --------
        >>> import clarysage as cs
        >>> X = np.random.default_rng(0).normal(size=(100, 3))
        >>> f = lambda X: X[:, 0] + X[:, 1] * X[:, 2]
        >>> game = cs.PredictivePower.of(cs.Marginal(X).restrict(f, X), "squared error", X, f(X))
        >>> agreement = cs.sage(f, X, f(X), background=X, loss="squared error", rng=0).agreement(game)
        >>> agreement.is_complete, 0.8 < agreement.correlation < 1
        (True, True)
        """
        return agreement_with(self, game, n, n_jobs=n_jobs, progress=progress, rng=rng)

    def top(self, k: int, *, about: str | None = None) -> Top:
        """Names of the k players with the largest values, largest first.

        The list has an attribute ``is_certain``: whether these k are certainly the largest, with a probability of
        ``confidence`` (default 95 %). Its attribute ``about`` says where.

        Parameters
        ----------
        k : number of names
        about : where the k are the largest, as in :meth:`interval`: on the "data", for any number of interim analyses
            by :class:`~clarysage.TopKnown`; or in the population of "rows", or the "population" of rows and background,
            whatever the correlations of the values there, which is conservative. The names do not depend on it
        """
        if not isinstance(k, (int, np.integer)) or k < 0:
            raise InputError("k", got=f"{k!r}", wanted="a whole number of zero or more")
        about = self.shown if about is None else about
        target = self.target(about)
        covariance = self.covariance if about == "data" else None
        covariance = target.std_error**2 if covariance is None else covariance
        first, first_there = (np.argsort(-values, kind="stable")[:k] for values in (self.values, target.values))
        least, _ = least_lead(target.values, covariance, target.dof, int(k), self.decision_level(about))
        is_certain = least > 0 and set(first.tolist()) == set(first_there.tolist())
        return Top([self.feature_names[i] for i in first], is_certain=is_certain, about=about)

    def to_frame(self, level: float = 0.95, *, about: str | None = None, tests: bool = False) -> pd.DataFrame:
        """Return a pandas DataFrame: feature, value, std_error (about the data), and the interval, low and high.

        ``frame.attrs["about"]`` says what the interval is about. ``tests=True`` adds p-values for "helps" and "hurts"
        about the same target, unadjusted and adjusted by Holm's method.
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

    def table(
        self, level: float = 0.95, *, about: str | None = None, tests: bool = False, top: int | None = SHOWN
    ) -> str:
        """Return the printed table.

        Parameters
        ----------
        level, about : of the intervals, as in :meth:`interval`
        tests : whether to add p-values (Holm)
        top : number of features, those with the largest absolute values; None for all
        """
        return text_of(self.summary(level, about=about, tests=tests), top)

    def summary(self, level: float = 0.95, *, about: str | None = None, tests: bool = False) -> Summary:
        """Return the explanation in brief; ``tests=True`` adds p-values (Holm)."""
        about = self.shown if about is None else about
        self.target(about)  # raises for a target without estimates
        words = [*total_words(self), interval_words(self, about), cost_words(self)]
        meaning = self.meaning(about)
        p_value = f"p: probability of a value this far from zero if the true value were zero, for {meaning} (Holm)."
        return Summary(
            kind="explanation",
            title=_title(self),
            headline=self.headline or _capitalized(self.measure),
            tables=(_table(self, level, about, tests),),
            notes=(*map(Note, words), *self.notes, *([Note(p_value)] if tests else [])),
            figure=value_bars(self, [verdicts_about(self, about, level)], vocabulary_of(self)),
            unfinished=() if self.stopped.is_wanted else (f"not converged. {self.stopped.value}",),
            pictures={"plot": partial(self.plot, about=about)},
            about=about,
            choices=("data", *self.targets),
            record=_record(self, level, about),
        )

    def details(self, level: float = 0.95, *, about: str | None = None) -> Page:
        """Return the page, with a switch between intervals about the data, the rows and the population."""
        picture = [] if (image := _image(self)) is None else [Section("image", "As an image", (image,))]
        return page_of_values(self, level, about, vocabulary_of(self), pictures=picture)

    def save(self, path: str | Path, *, rows: bool | None = None) -> None:
        """Write the explanation as JSON; :func:`clarysage.load` reads it back.

        Parameters
        ----------
        path : file to write
        rows : whether to write the ``parts`` too, N x p contributions of single examples, by which
            :func:`clarysage.compare` pairs explanations of the same rows, and :func:`clarysage.merge` averages runs.
            Default: if they are known, up to a million numbers; a warning says where more are left out
        """
        if rows and self.parts is None:
            raise UnavailableError(
                "rows",
                got=[Set("rows", True), " for an explanation without contributions of single examples"],
                wanted="an explanation with parts",
                hint=[
                    Set("method", "paired walks"),
                    ", with a tolerance so small, or a budget so large, that every example is visited",
                    Or("; or "),
                    Set("rows", False),
                ],
            )
        if rows is None:
            rows, note = rows_by_default(self)
            if note is not None:
                warnings.warn(ClarysageWarning(note), stacklevel=2)
        save(self, path, rows=rows)

    def plot(self, feature_names: Sequence[str] | None = None, **options: Any) -> Any:
        """Draw bars with intervals on a matplotlib axis; see :func:`clarysage.plots.bars` for the options.

        ``feature_names`` are other names to write at the bars, in the order of ``explanation.feature_names``.
        """
        if feature_names is None:
            return plots().bars(self, **options)
        if len(feature_names) != len(self):
            expected = f"one for each of the {len(self):,} features"
            raise InputError("feature_names", got=f"{len(feature_names):,} names", wanted=expected)
        return plots().bars(replace(self, feature_names=tuple(feature_names)), **options)

    def _indices(self, features: Iterable[str | int]) -> list[int]:
        if isinstance(features, str):
            features = [features]
        indices = []
        for feature in features:
            if isinstance(feature, str) and feature in self.feature_names:
                indices.append(self.feature_names.index(feature))
            elif isinstance(feature, (int, np.integer)) and 0 <= feature < len(self.values):
                indices.append(int(feature))
            else:
                raise InputError(
                    "features", got=f"{feature!r}", wanted="names or numbers of features in the explanation"
                )
        if len(set(indices)) < len(indices):
            raise InputError("features", got="a feature more than once", wanted="each at most once")
        return indices


def with_exact_zeros(target: Target, tolerance: float) -> Target:
    """Returns the target with zeros for values whose size and standard error are both within rounding error."""
    is_nothing = (np.abs(target.values) <= tolerance) & (target.std_error <= tolerance)
    values, error = (np.where(is_nothing, 0.0, numbers) for numbers in (target.values, target.std_error))
    return Target(values, error, target.dof, target.skew)


def _checked_target(about: str, target: Target, p: int) -> Target:
    """Returns a target with read-only arrays, after a check that they have p numbers."""
    parts = {name: read_only(getattr(target, name)) for name in ("values", "std_error", "dof", "skew")}
    for name, array in parts.items():
        require(array.shape == (p,), f"targets: {about}: {name}", array.tolist(), f"{p} numbers")
    return Target(**parts)


# summary and page


def _capitalized(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def _title(explanation: Explanation) -> str:
    """Returns the title: the measure and the model."""
    provenance = explanation.provenance
    model = next((str(provenance[key]) for key in ("model", "learner") if provenance.get(key)), None)
    measure = (explanation.headline or explanation.measure).partition(":")[0]
    return shortened(measure if model is None else f"{measure} of {model}", LONGEST_TITLE)


def _table(explanation: Explanation, level: float, about: str, tests: bool) -> Table:
    """Returns the table of values, largest first, with intervals (unless exact), p-values (on request) and bars."""
    show, order = number_format(explanation), np.argsort(-explanation.values, kind="stable")
    is_sure = explanation.draws == 0 and about == "data"  # an interval of zero width is not shown
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
        p_values = explanation.p_values(alternative, about=about, adjust="holm")
        columns.append(Column(f"p {alternative}", [p_value_words(p_values[i]) for i in order], "interval"))
    weights = np.abs(explanation.values)[order]
    return Table((*columns, Column("", [_bar(explanation, i) for i in order], "bar")), weights=weights)


def _bar(explanation: Explanation, index: int) -> str:
    value, largest = float(explanation.values[index]), float(np.abs(explanation.values).max())
    return ("▇" if value >= 0 else "▒") * round(BAR * (abs(value) / largest if largest > 0 else 0.0))


def _record(explanation: Explanation, level: float, about: str) -> Record:
    """Returns the numbers and words that tools for tracking experiments keep."""
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
    """Returns version, measure, loss and removal, for tools that track experiments."""
    from clarysage import __version__

    return {
        "version": str(explanation.provenance.get("clarysage", __version__)),
        "measure": explanation.measure,
        "loss": explanation.loss,
        "removal": explanation.removal,
    }


def value_bars(explanation: Explanation, views: list[Verdicts], words: Vocabulary) -> Bars:
    """Returns bars of the values with their intervals; each of several targets of inference is a view of its own."""
    show = number_format(explanation)
    ends = tuple(
        Ends(view.low, view.high, np.isin(view.labels, OPEN), view.about if len(views) > 1 else "")
        for view in views
        if view.has_intervals
    )
    return Bars(
        explanation.headline or explanation.measure,
        _items(explanation, words),
        (Series(explanation.values, ends),),
        tuple(map(show, explanation.values)),
        largest="absolute value" if words.is_by_size else "value",
        label=f"Chart of the {words.noun}s",
    )


def _items(explanation: Explanation, words: Vocabulary) -> Items:
    """Returns the features, the largest value first; pages show those with the largest absolute values at first."""
    order = np.argsort(-_sort_keys(explanation, words), kind="stable").tolist()
    return Items(explanation.feature_names, tuple(order), np.abs(explanation.values))


def _sort_keys(explanation: Explanation, words: Vocabulary) -> np.ndarray:
    return np.abs(explanation.values) if words.is_by_size else explanation.values


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
    explanation.target(about)  # raises for a target without estimates
    views = all_verdicts(explanation, level)
    shown = next(view for view in views if view.about == (about or explanation.shown))
    sections = [
        Section("found", "Findings", (*_overview(explanation, views, words), *overview)),
        Section("features", f"{_capitalized(words.noun)}s", _values(explanation, views, words, level), words.noun),
        *(pictures or []),
        Section("mind", "Notes and warnings", (Notes(notes),)) if (notes := _notes(explanation, shown)) else None,
        Section("how", "What was computed, and how", _computed(explanation)),
    ]
    return Page(_title(explanation), tuple(section for section in sections if section is not None), shown.about)


def _overview(explanation: Explanation, views: list[Verdicts], words: Vocabulary) -> tuple[Block, ...]:
    """Returns the first blocks of the page: headline, total, losses, and a sentence for each verdict."""
    return (
        Paragraph(f"{explanation.headline or explanation.measure}.", "lead"),
        *map(Paragraph, total_words(explanation)),
        Boxes(loss_facts(explanation)),
        *(Sentences(tuple(verdict_sentences(explanation, view, words)), view.about) for view in views),
    )


def _values(explanation: Explanation, views: list[Verdicts], words: Vocabulary, level: float) -> tuple[Block, ...]:
    """Returns the blocks with the chart and the table of the values, with a switch between targets of inference."""
    choices = tuple((view.about, view.choice) for view in views)
    lines = (
        f" Lines are pointwise {100 * level:g}% intervals; faint bars are values that cannot be distinguished "
        f"from zero. A verdict without “likely” holds for all {words.noun}s simultaneously."
    )
    return (
        Controls("Intervals are about", choices),
        *(Paragraph(view.meaning + (lines if view.has_intervals else ""), "quiet", view.about) for view in views),
        value_bars(explanation, views, words),
        _values_table(explanation, views, words, level),
    )


def _values_table(explanation: Explanation, views: list[Verdicts], words: Vocabulary, level: float) -> Table:
    features = _items(explanation, words)
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
    keys = _sort_keys(explanation, words)[order].tolist()
    return Table(
        (
            Column(_capitalized(words.noun), kind="name", key="name", rises=True),
            Column("Value", list(map(show, explanation.values[order])), key="value", order=keys),
            Column(f"{100 * level:g}% interval", kind="interval", key="low", by_view=ends),
            Column("Standard error", key="std_error", by_view=errors),
            Column("Verdict", kind="words", key="known", rises=True, by_view=verdicts),
        ),
        f"{explanation.headline or explanation.measure}: value, interval, standard error and verdict of each "
        f"{words.noun}. Headings sort the table{', values by their size' if words.is_by_size else ''}.",
        features,
        sorted_by=("value", "descending"),
        label=f"Table of the {words.noun}s",
    )


def _image(explanation: Explanation) -> Image | None:
    """Returns the values as pixels of an image; None where their number is no square."""
    values, side = explanation.values, isqrt(len(explanation.values))
    if len(values) < FEWEST_PIXELS or side**2 != len(values):
        return None
    show = number_format(explanation)
    is_likely = all(NUMBERED.fullmatch(name[:40]) for name in explanation.feature_names)
    return Image(values, show(values.max()), show(values.min()), is_open=is_likely)


def _notes(explanation: Explanation, shown: Verdicts) -> tuple[Note, ...]:
    """Returns warnings, then notes, and a note where most values are undecided."""
    notes, count = notes_of_run(explanation), sum(label == UNDECIDED for label in shown.labels)
    if 2 * count > len(shown.labels):
        values = f"{count:,} of {len(shown.labels):,} values"
        advice = "Use a smaller tolerance." if shown.about == "data" else "Explain more rows."
        text = f"For {values} it is undecided whether they are above zero {ABOUT[shown.about].where}."
        notes.append(Note(text, advice))
    return warnings_first(notes)


def _computed(explanation: Explanation) -> tuple[Block, ...]:
    """Returns the blocks on how the run ended, how its standard errors shrank, and the facts."""
    trace = _trace(explanation)
    return (
        Paragraph(end_of_run(explanation)),
        *([] if trace is None else [trace]),
        Facts(facts(explanation)),
    )


def _trace(explanation: Explanation) -> Curve | None:
    """Returns the curve of the largest standard error over model rows; None for too few points."""
    if explanation.trace is None:
        return None
    draws, rows, errors, spans = explanation.trace.T
    usable = (rows > 0) & (errors > 0) & (spans > 0)
    if usable.sum() < FEWEST_POINTS or rows[usable].min() == rows[usable].max():
        return None
    shares = errors[usable] / spans[usable]
    first, last = (f"{shares[i]:.2g} of the range of the values after {int(draws[usable][i]):,} draws" for i in (0, -1))
    return Curve(
        rows[usable],
        shares,
        "How the largest standard error shrank",
        "horizontally: model rows; vertically: largest standard error, in % of the range of the values",
        f"The largest standard error went from {first} to {last}.",
        "Trace of the run",
    )
