"""Explanation: what each feature contributes, how sure that is, and how it was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from clarysage import catalogue
from clarysage.codec import ON_REQUEST, Array, require, settle_arrays
from clarysage.errors import InputError, UnavailableError
from clarysage.inference.estimate import StopReason, Target
from clarysage.inference.intervals import interval
from clarysage.inference.sequential import least_lead, level_of, signs
from clarysage.inference.significance import adjusted, p_values
from clarysage.results.files import as_plain, file_format, save

if TYPE_CHECKING:
    from clarysage.results.agreement import Agreement

ValuesAre = Literal["gain", "variance", "heuristic"]
HeldFixed = Literal["background", "removal", "learners", "nothing"]

ABOUT = {row.name: row.summary for row in catalogue.ABOUT.values()}
MEANINGS: dict[HeldFixed, dict[str, str]] = {  # of intervals, by what is held fixed
    "background": ABOUT,
    "removal": {
        "data": "this data and this background, with the removal as fitted (sampling error of the run alone)",
        "rows": "the population of rows, with the removal as fitted",
        "population": "the population of rows and endless draws, with the removal as fitted",
    },
    "learners": {
        "data": "this data, so divided (sampling error of the run alone)",
        "rows": "the population of rows, with learners as they were fitted",
    },
    "nothing": {
        "data": "this data",
        "rows": "the population of rows",
    },
}
Vector = Annotated[np.ndarray, Array("p")]
ROUNDING = 1e-12  # share of the loss below which a value is zero up to rounding


class Top(list[str]):
    """Names, and whether they are certainly those of the largest values."""

    def __init__(self, names: Iterable[str], *, is_certain: bool) -> None:
        super().__init__(names)
        self.is_certain = is_certain


@file_format("explanation", "importance values of features by one measure", checked=("converged",))
@dataclass(frozen=True, eq=False)
class Explanation:
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
    notes : remarks on the run, such as the background that was chosen
    provenance : versions, seed, sizes and fingerprints of the data
    dof : (p,) degrees of freedom of the standard errors; default: those of as many independent draws
    targets : what the values say of the population of "rows", and of the "population" of rows and background, each with
        values, std_error, dof and skew (p,); those of the population are freed of the bias of a finite background
    looks, confidence : how many looks rules that decide have had at the run, over which they share out their level, and
        the least that one was asked for; of signs, and of which values are the largest
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
    notes: tuple[str, ...] = ()
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
            require(is_sum, "parts", self.parts.sum(axis=0), "parts that add up to the values")
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
        return MEANINGS[self.held_fixed].get(about, ABOUT[about])

    def target(self, about: str | None = None) -> Target:
        """Values, standard errors and degrees of freedom about the data, the rows or the population."""
        about = self.shown if about is None else about
        if about not in ABOUT:
            raise InputError("about", got=f"{about!r}", wanted=f"one of {', '.join(map(repr, ABOUT))}")
        if about == "data":
            assert self.dof is not None
            return self._rounded(Target(self.values, self.std_error, self.dof, np.zeros(len(self.values))))
        if about not in self.targets:
            known = ", ".join(map(repr, ("data", *self.targets)))
            raise UnavailableError(
                "about", got=f"{about!r}", wanted=f"one of {known}, which are known here; rows take several examples, "
                "the population several background rows drawn from it, and both a method that follows them",
                hint=f'about="{self.shown}", or method="paired walks" where another was used',
            )  # fmt: skip
        return self._rounded(self.targets[about])

    def _rounded(self, found: Target) -> Target:
        """The same, with values and errors that are rounding alone as the zeros they stand for."""
        return rounded(found, self.least)

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
        found = self.target(about)
        return interval(found.values, found.std_error, found.dof, level, joint=joint, skew=found.skew)

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
                "measure", got=f"{self.measure!r}, whose values add up to nothing that a model gains or loses",
                wanted="an additive importance measure", hint="cs.measures(), which says of each what it approximates",
            )  # fmt: skip
        return self.constant + float(self.values[self._places(features)].sum())

    def agreement(
        self, game: Any, n: int = 1000, *, n_jobs: Any = None, progress: bool | None = None, rng: Any = None
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
        result: Agreement = import_module("clarysage._measures.agreement").agreement(
            self, game, n, n_jobs=n_jobs, progress=progress, rng=rng
        )
        return result

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
        from clarysage.results.text import as_text

        return as_text(self, level, about=about, tests=tests)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the parts as plain Python objects, as in the JSON file."""
        return as_plain(self)

    def save(self, path: str | Path, *, rows: bool = False) -> None:
        """Write the explanation as JSON; :func:`clarysage.load` reads it back.

        ``rows=True`` writes the ``parts`` too, N x p numbers that say something of single examples, so that
        :func:`clarysage.compare` can pair explanations of the same rows read from their files.
        """
        if rows and self.parts is None:
            raise UnavailableError(
                "rows", got="rows=True for an explanation that does not know what single examples contribute",
                wanted="one that has parts", hint='method="paired walks", with a tolerance so small, or a budget so '
                "large, that every example is visited; or rows=False",
            )  # fmt: skip
        save(self, path, rows=rows)

    def plot(self, **options: Any) -> Any:
        """Bars with intervals on a matplotlib axis; see :func:`clarysage.plots.bars` for the options."""
        return import_module("clarysage.plots").bars(self, **options)

    def report(
        self, path: str | Path | None = None, title: str | None = None, *, about: str | None = None
    ) -> str | None:
        """A page to send to a colleague: one HTML file with chart, table, warnings and how it was computed.

        It needs no other file and no network, and holds aggregates alone: values of features, never of single examples.

        Parameters
        ----------
        path : file to write; default: the page is returned as text
        title : above the page; default: the measure and the model
        about : what intervals are about when the page is opened, as in :meth:`interval`; a switch shows the others
        """
        from clarysage.results.page import page_of

        return page_of(self, path, title=title, about=about)

    def __str__(self) -> str:
        from clarysage.results.text import as_text

        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return str(import_module("clarysage.render").notebook(self))

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


def rounded(found: Target, least: float) -> Target:
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
