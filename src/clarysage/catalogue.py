"""The catalogue: losses, removals, estimators and smaller choices that are asked for by name, one row each.

A new one is a file with its class and a row here; other packages add rows by entry points of the groups
``clarysage.losses``, ``clarysage.removals`` and ``clarysage.methods``. Choices, completion and help of the command
line, tables of the docs and hints of errors are made of these rows. A row holds the path of its class, which is
imported where it is asked for: the catalogue itself is imported in milliseconds, as completion in a shell must be.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from clarysage.registry import Registry, Special, loaded

ROWS_TO_AVERAGE, ROWS_TO_LEARN_FROM = 512, 4096  # of a background, where the user does not say how many


@dataclass(frozen=True)
class LossRow:
    """A loss by name.

    Attributes
    ----------
    name, aliases : what it is asked for by
    summary : what it is, after "the loss is"
    source : "module:class" of a class with the members of :class:`~clarysage.protocols.Loss` that is called without
        arguments, or such a class itself
    label : what sentences call it, where that is not its name
    """

    name: str
    summary: str
    source: str | Callable[[], Any]
    aliases: tuple[str, ...] = ()
    label: str = ""

    def __call__(self) -> Any:
        """A loss."""
        return loaded(self.source)()


@dataclass(frozen=True)
class RemovalRow:
    """A removal by name, and what is to be known of it before it is made.

    Attributes
    ----------
    name, aliases : what it is asked for by
    summary : what stands in for withheld features
    source : "module:class" of a class that is called with ``background`` and ``weights`` and, if it takes one, ``rng``
        (:class:`~clarysage.protocols.Removal`), or such a class itself
    is_conditional : whether it learns from the background what withheld features are, given the kept ones;
        "auto conditional" chooses among these
    can_draw : whether it has values to put in for withheld features, and does not only predict without them
    mixes : what is put beside the kept features whatever these are, so that rows may be unlike any real one: "rows" of
        its background, or "columns" of it, each by itself; None where nothing is, or where values follow the kept ones
    default_rows : rows that a background has at most where the user does not say
    max_players : players beyond which "auto conditional" leaves it out, since it would take too long
    """

    name: str
    summary: str
    source: str | Callable[..., Any]
    aliases: tuple[str, ...] = ()
    is_conditional: bool = False
    can_draw: bool = True
    mixes: Literal["rows", "columns"] | None = None
    default_rows: float = ROWS_TO_AVERAGE
    max_players: float = math.inf

    def __call__(self, background: Any, weights: Any, rng: Any) -> Any:
        """A removal made of a background, its weights, and a seed or Generator."""
        kind = loaded(self.source)
        options = {"rng": rng} if "rng" in inspect.signature(kind).parameters else {}
        return kind(background=background, weights=weights, **options)


@dataclass(frozen=True)
class MethodRow:
    """An estimator by name.

    Attributes
    ----------
    name, aliases : what it is asked for by
    summary : how it finds values
    source : "module:class" of a class that is called without arguments (:class:`~clarysage.protocols.Estimator`), or
        such a class itself
    closed_form : likewise of the estimator that takes its place where a game has exact values of its own
    by_example : likewise of the estimator that keeps examples apart, where the one of ``source`` does not
    """

    name: str
    summary: str
    source: str | Callable[[], Any]
    aliases: tuple[str, ...] = ()
    closed_form: str | Callable[[], Any] | None = None
    by_example: str | Callable[[], Any] | None = None

    def __call__(self) -> Any:
        """An estimator."""
        return loaded(self.source)()


LOSSES: Registry[LossRow] = Registry(
    "loss",
    (
        LossRow("squared error", "(prediction - y)², summed over outputs", "clarysage.losses.regression:SquaredError"),
        LossRow(
            "absolute error", "abs(prediction - y), summed over outputs", "clarysage.losses.regression:AbsoluteError"
        ),
        LossRow(
            "cross entropy",
            "-log of the probability of the true class",
            "clarysage.losses.classification:CrossEntropy",
        ),
        LossRow(
            "zero one",
            "1 where the most probable class is not the true one",
            "clarysage.losses.classification:ZeroOne",
            label="zero-one loss",
        ),
        LossRow(
            "brier",
            "squared distance between probabilities and the true class",
            "clarysage.losses.classification:Brier",
            label="Brier score",
        ),
    ),
    special=Special("auto", "to fit the model's task"),
    besides=", or a callable loss(y_true, y_pred)",
    entry_points="clarysage.losses",
)

REMOVALS: Registry[RemovalRow] = Registry(
    "removal",
    (
        RemovalRow(
            "marginal",
            "rows of the background, whatever the kept features are",
            "clarysage.removal.marginal:Marginal",
            mixes="rows",
        ),
        RemovalRow(
            "product of marginals",
            "columns of the background, each by itself",
            "clarysage.removal.product:ProductOfMarginals",
            mixes="columns",
        ),
        RemovalRow(
            "baseline",
            "one value a column, the mean by default",
            "clarysage.removal.baseline:Baseline",
            default_rows=math.inf,
        ),
        RemovalRow(
            "gaussian",
            "draws from a Gaussian law, given the kept features",
            "clarysage.removal.gaussian:Gaussian",
            is_conditional=True,
            default_rows=ROWS_TO_LEARN_FROM,
        ),
        RemovalRow(
            "copula",
            "draws by ranks, given the kept features; for columns of any kind",
            "clarysage.removal.copula:Copula",
            is_conditional=True,
            default_rows=ROWS_TO_LEARN_FROM,
        ),
        RemovalRow(
            "neighbours",
            "rows of the background that are near in the kept features",
            "clarysage.removal.neighbours:Neighbours",
            is_conditional=True,
            default_rows=ROWS_TO_LEARN_FROM,
        ),
        RemovalRow(
            "trees",
            "rows of the background in the same leaves of trees on the kept features",
            "clarysage.removal.tree_conditional:TreeConditional",
            is_conditional=True,
            default_rows=ROWS_TO_LEARN_FROM,
            max_players=12,  # since trees are fitted once a coalition
        ),
        RemovalRow(
            "surrogate",
            "none: a second model predicts from the kept features what the model would",
            "clarysage.removal.surrogate:Surrogate",
            is_conditional=True,
            can_draw=False,
            default_rows=ROWS_TO_LEARN_FROM,
        ),
    ),
    special=Special("auto conditional", "for the one of these that comes nearest to E[f | x_S] on the data"),
    besides=", or an object such as Marginal(X)",
    entry_points="clarysage.removals",
)


def removals_in_words() -> str:
    """All names of removals in words: those that disregard the kept features, those that are given them, the choice."""
    plain, given = (
        ", ".join(f'"{row.name}"' for row in REMOVALS.values() if row.is_conditional == is_given)
        for is_given in (False, True)
    )
    choice = "" if REMOVALS.special is None else f', or "{REMOVALS.special.name}" {REMOVALS.special.purpose}'
    return f"{plain}; given the kept features {given}{choice}"


def removals_that_draw_given_others() -> list[str]:
    """Names of the removals that draw values for withheld features, given the kept ones.

    Examples
    --------
    >>> removals_that_draw_given_others()
    ['gaussian', 'copula', 'neighbours', 'trees']
    """
    return [row.name for row in REMOVALS.values() if row.is_conditional and row.can_draw]


def drawing_removals_in_words() -> str:
    """Names in words of the removals that draw values given the kept features, with the choice among them."""
    names = ", ".join(f'"{name}"' for name in removals_that_draw_given_others())
    return names if REMOVALS.special is None else f'{names}, or "{REMOVALS.special.name}" {REMOVALS.special.purpose}'


METHODS: Registry[MethodRow] = Registry(
    "method",
    (
        MethodRow(
            "exact",
            "all coalitions, or a closed form of the values",
            "clarysage.estimators.exact:Exact",
            closed_form="clarysage.estimators.closed_form:ClosedFormValues",
        ),
        MethodRow(
            "paired walks",
            "random orders of the features and their reversals",
            "clarysage.estimators.paired_walks.estimator:PairedWalks",
            by_example="clarysage.estimators.per_example:PerExample",
        ),
        MethodRow(
            "surrogate walks",
            "paired walks that only correct the values of a quick copy of the model",
            "clarysage.estimators.surrogate_walks:SurrogateWalks",
        ),
        MethodRow("permutation", "random orders of the features", "clarysage.estimators.permutation:Permutation"),
        MethodRow("kernel", "least squares over random coalitions", "clarysage.estimators.kernel:Kernel"),
    ),
    special=Special("auto", "to take what is quickest for the game"),
    besides=", or an object such as Kernel()",
    entry_points="clarysage.methods",
)


@dataclass(frozen=True)
class BackendRow:
    """A kind of workers by name.

    Attributes
    ----------
    name, aliases : what it is asked for by
    summary : who works
    source : "module:function", or the function itself, that gives what ``n_jobs`` takes. It is called with a number of
        workers; that of a cluster with an address, or None
    is_cluster : whether workers are those of a cluster, which has an address and its own number of workers
    address : one to try in an error's hint
    start : the command that starts a cluster, for the same
    needs_address : whether a cluster cannot be found without one
    """

    name: str
    summary: str
    source: str | Callable[..., Any]
    aliases: tuple[str, ...] = ()
    is_cluster: bool = False
    address: str = ""
    start: str = ""
    needs_address: bool = False

    def __call__(self, of: int | str | None) -> Any:
        """So many workers, or those of the cluster at an address."""
        return loaded(self.source)(of)


BACKENDS: Registry[BackendRow] = Registry(
    "backend",
    (
        BackendRow("processes", "processes of this machine", "clarysage.execution.n_jobs:processes"),
        BackendRow("threads", "threads of this process", "clarysage.execution.n_jobs:threads"),
        BackendRow(
            "dask",
            "the workers of a Dask cluster",
            "clarysage.execution.dask:Dask",
            is_cluster=True,
            address="tcp://host:8786",
            needs_address=True,
        ),
        BackendRow(
            "ray",
            "the workers of a Ray cluster",
            "clarysage.execution.ray:Ray",
            is_cluster=True,
            address="auto",
            start="ray start --head",
        ),
    ),
)


@dataclass(frozen=True)
class AboutRow:
    """What intervals can be about, by name.

    Attributes
    ----------
    name, aliases : what it is asked for by
    summary : what it is, with the background held fixed
    choice : the same on a switch
    where : the same at the end of a sentence on what is known of features
    otherwise : what it is where something else than the background is held fixed, by what that is
    """

    name: str
    summary: str
    choice: str
    where: str
    otherwise: Mapping[str, str]
    aliases: tuple[str, ...] = ()

    def meaning(self, held_fixed: str) -> str:
        """What intervals are about, in words, where this is held fixed."""
        return self.otherwise.get(held_fixed, self.summary)


ABOUT: Registry[AboutRow] = Registry(
    "about",
    (
        AboutRow(
            "data",
            "this data and this background (sampling error of the run alone)",
            choice="this data",
            where="on this data",
            otherwise={
                "removal": "this data and this background, with the removal as fitted (sampling error of the run "
                "alone)",
                "learners": "this data, so divided (sampling error of the run alone)",
                "nothing": "this data",
            },
        ),
        AboutRow(
            "rows",
            "the population of rows, with the background as chosen",
            choice="other rows",
            where="on other rows of the same population",
            otherwise={
                "removal": "the population of rows, with the removal as fitted",
                "learners": "the population of rows, with learners as they were fitted",
                "nothing": "the population of rows",
            },
        ),
        AboutRow(
            "population",
            "the population of rows and of background",
            choice="other rows and background",
            where="on other rows of the same population, with another background",
            otherwise={"removal": "the population of rows and endless draws, with the removal as fitted"},
        ),
    ),
    is_fixed=True,  # since each takes statistics of its own
)


@dataclass(frozen=True)
class AdjustmentRow:
    """A way to adjust p-values, by name.

    Attributes
    ----------
    name, aliases : what it is asked for by
    summary : what it keeps small
    source : "module:function", or the function itself, of p-values (p,) that gives the adjusted ones (p,)
    label : what tables and charts call it
    promise : the same in numbers, after "so adjusted that"; ``{chance}`` stands for 1 less the level
    """

    name: str
    summary: str
    source: str | Callable[[Any], Any]
    label: str
    promise: str
    aliases: tuple[str, ...] = ()

    def __call__(self, p: Any) -> Any:
        """p-values (p,), adjusted."""
        return loaded(self.source)(p)


ADJUSTMENTS: Registry[AdjustmentRow] = Registry(
    "adjust",
    (
        AdjustmentRow(
            "holm",
            "the chance of any false mark is small",
            "clarysage.inference.intervals:holm",
            label="Holm",
            promise="the chance of any false mark in the table is at most {chance}",
        ),
        AdjustmentRow(
            "benjamini hochberg",
            "the share of false ones among the marks is small",
            "clarysage.inference.intervals:benjamini_hochberg",
            label="Benjamini-Hochberg",
            promise="about {chance} of the marks are false",
        ),
    ),
    special=Special("none", "to leave them as they are"),
    besides=", or None",
)


@dataclass(frozen=True)
class Period:
    """A period that dates are cut into; ``code`` is what pandas calls it."""

    name: str
    summary: str
    code: str
    aliases: tuple[str, ...] = ()


PERIODS: Registry[Period] = Registry(
    "every",
    (
        Period("hour", "slices of an hour", "h"),
        Period("day", "slices of a day", "D"),
        Period("week", "slices of a week, from Monday", "W"),
        Period("month", "slices of a month", "M"),
        Period("quarter", "slices of a quarter", "Q"),
        Period("year", "slices of a year", "Y"),
    ),
    besides=", or a number of rows",
)
