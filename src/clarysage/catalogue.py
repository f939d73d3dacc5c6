"""The catalogue: losses, removals, estimators and other objects that users choose by name, one row each.

To add an object, write a file with its class and a row here; other packages add rows by entry points of the groups
``clarysage.losses``, ``clarysage.removals`` and ``clarysage.methods``. Choices, completion and help of the command
line, tables of the docs and hints of errors are generated from these rows. A row contains the path of its class, which
is imported on demand: shell completion needs the catalogue to import in milliseconds.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from clarysage.errors import Or, PythonOnly, Set
from clarysage.registry import Foreign, Registry, Special, loaded

# default number of background rows: of a removal that averages over them, of one that learns from them
ROWS_TO_AVERAGE, ROWS_TO_LEARN_FROM = 512, 4096


@dataclass(frozen=True)
class LossRow:
    """A loss in the catalogue.

    Attributes
    ----------
    name, aliases : the names by which users choose it
    summary : its definition, after "the loss is"
    source : "module:class" of a :class:`~clarysage.protocols.Loss` called without arguments, or the class itself
    label : its name in sentences, if that differs
    needs : what it needs, if not any number as prediction and response, or probabilities of the classes of y
    parameter : name of the number that may follow its name in parentheses, which the class takes as first argument
    values : of the parameter, if they are given
    """

    name: str
    summary: str
    source: str | Callable[..., Any]
    aliases: tuple[str, ...] = ()
    label: str = ""
    needs: str = ""
    parameter: str = ""
    values: tuple[float, ...] = ()

    def __call__(self) -> Any:
        """Returns a loss."""
        kind = loaded(self.source)
        if not self.values:
            return kind()
        return kind(self.values[0] if len(self.values) == 1 else self.values)

    def with_values(self, text: str) -> LossRow | None:
        """Returns the row with values of its parameter; None if the text is not one or several of them."""
        values = text.removeprefix(f"{self.parameter}=")
        try:
            numbers = tuple(int(part) if part.strip().isdecimal() else float(part) for part in values.split(","))
        except ValueError:
            return None
        shown = ", ".join(map(repr, numbers))
        label = f"{self.label or self.name} ({self.parameter} {', '.join(f'{number:g}' for number in numbers)})"
        return replace(self, name=f"{self.name}({shown})", label=label, values=numbers) if self.parameter else None


class LossRegistry(Registry[LossRow]):
    """The registry of losses, whose names may have the value of a parameter, as in "pinball(0.9)".

    Examples
    --------
    >>> LOSSES["Pinball(0.9)"].values, LOSSES["huber(delta=2.0)"].label, "brier(2)" in LOSSES
    ((0.9,), 'Huber loss (delta 2)', False)
    """

    def _find(self, name: object) -> LossRow | None:
        parts = re.fullmatch(r"([^()]+)\(([^()]+)\)", name.strip()) if isinstance(name, str) else None
        if parts is None:
            return super()._find(name)
        row = super()._find(parts[1])
        return None if row is None else row.with_values(parts[2])


@dataclass(frozen=True)
class RemovalRow:
    """A removal in the catalogue, with the properties that must be known before it is created.

    Attributes
    ----------
    name, aliases : the names by which users choose it
    summary : what replaces withheld features
    source : "module:class" of a :class:`~clarysage.protocols.Removal` that is called with ``background``, ``weights``
        and, if it has this parameter, ``rng``; or the class itself
    is_conditional : whether it learns from the background the distribution of withheld features given the kept ones;
        "auto conditional" chooses among these removals
    can_draw : whether it draws values of withheld features, rather than only predicts without them
    mixes : what it combines with the kept features, whatever their values, so that rows may be unrealistic: "rows" of
        the background, or its "columns" independently; None if there is no such combination
    by_rows : whether withheld cells of several columns always come from one row, so that they can be encoded together
    default_rows : default maximum number of background rows
    max_players : number of players above which "auto conditional" does not try it, because it would take too long
    """

    name: str
    summary: str
    source: str | Callable[..., Any]
    aliases: tuple[str, ...] = ()
    is_conditional: bool = False
    can_draw: bool = True
    mixes: Literal["rows", "columns"] | None = None
    by_rows: bool = False
    default_rows: float = ROWS_TO_AVERAGE
    max_players: float = math.inf

    def __call__(self, background: Any, weights: Any, rng: Any) -> Any:
        """Returns a removal with the background, its weights, and a seed or Generator."""
        kind = loaded(self.source)
        options = {"rng": rng} if "rng" in inspect.signature(kind).parameters else {}
        return kind(background=background, weights=weights, **options)


@dataclass(frozen=True)
class MethodRow:
    """An estimator in the catalogue.

    Attributes
    ----------
    name, aliases : the names by which users choose it
    summary : how it estimates values
    source : "module:class" of an :class:`~clarysage.protocols.Estimator` that is called without arguments, or the class
        itself
    closed_form : the same for the estimator that replaces it for games with a closed form
    by_example : the same for the estimator of local values, if ``source`` does not estimate these
    """

    name: str
    summary: str
    source: str | Callable[[], Any]
    aliases: tuple[str, ...] = ()
    closed_form: str | Callable[[], Any] | None = None
    by_example: str | Callable[[], Any] | None = None

    def __call__(self) -> Any:
        """Returns an estimator."""
        return loaded(self.source)()


NAMES_IN_THE_PAPER = {  # of measures with names that are better known; files of earlier versions have the paper's
    "permutation importance": "permutation test",
    "conditional permutation importance": "conditional permutation test",
    "drop column importance": "feature ablation",
}


def present_measure_name(name: str) -> str:
    """Returns the present name of a measure, given that or the one in the paper.

    Examples
    --------
    >>> present_measure_name("feature ablation"), present_measure_name("sage")
    ('drop column importance', 'sage')
    """
    return next((present for present, in_paper in NAMES_IN_THE_PAPER.items() if in_paper == name), name)


CLASS_LOSSES = (Set("loss", "cross entropy"), Or(), Set("loss", "zero one"))  # nearest to metrics of classifiers
METRICS: tuple[Foreign, ...] = (
    Foreign(
        ("rmse", "root mean squared error", "neg root mean squared error", "l2 root", "multirmse"),
        "the square root of a mean, which is no mean over examples itself",
        [Set("loss", "squared error"), ", whose mean is RMSE²"],
    ),
    Foreign(
        ("median absolute error", "neg median absolute error", "max error", "neg max error"),
        "a median or a maximum, which is no mean over examples",
        Set("loss", "absolute error"),
    ),
    Foreign(
        ("r2", "r2 score", "explained variance", "explained variance score", "d2 tweedie score"),
        "a share of the variance of y, which is no mean over examples",
        [Set("loss", "squared error"), PythonOnly("; explanation.values / explanation.base are shares of it")],
    ),
    Foreign(
        ("d2 absolute error score", "d2 pinball score"),
        "a share of the absolute deviation of y, which is no mean over examples",
        [Set("loss", "absolute error"), PythonOnly("; explanation.values / explanation.base are shares of it")],
    ),
    Foreign(
        ("d2 log loss score", "d2 brier score"),
        "a share of the loss without features, which is no mean over examples",
        [Set("loss", "cross entropy"), Or(), Set("loss", "brier")],
    ),
    Foreign(
        (
            *(
                "auc",
                "auc mu",
                "aucpr",
                "roc auc",
                "roc auc score",
                "roc auc ovr",
                "roc auc ovo",
                "roc auc ovr weighted",
            ),
            *("roc auc ovo weighted", "prauc", "average precision", "average precision score", "gini"),
            *("ndcg", "ndcg score", "dcg score", "map", "mean average precision", "lambdarank", "rank:pairwise"),
            *("rank:ndcg", "rank:map"),
        ),
        "which is about the order of predictions and no mean over examples",
        [Set("loss", "cross entropy"), " for a classifier", Or(), Set("loss", "squared error"), " for a regression"],
    ),
    Foreign(
        (
            *("f1", "f1 score", "f1 micro", "f1 macro", "f1 weighted", "fbeta score", "fbeta"),
            *("precision", "precision score", "precision micro", "precision macro", "precision weighted"),
            *("recall", "recall score", "recall micro", "recall macro", "recall weighted"),
            *("jaccard", "jaccard score", "jaccard micro", "jaccard macro", "jaccard weighted"),
            *("matthews corrcoef", "mcc", "cohen kappa score", "kappa"),
            *("positive likelihood ratio", "neg negative likelihood ratio", "class likelihood ratios"),
        ),
        "a ratio of counts over all examples, which is no mean over examples",
        CLASS_LOSSES,
    ),
    Foreign(
        ("balanced accuracy", "balanced accuracy score"),
        "a mean over classes, not over examples",
        [Set("loss", "zero one"), " with a ", Set("sample_weight"), " of one over the size of the example's class"],
    ),
    Foreign(
        (
            *("top k accuracy", "top k accuracy score", "hamming loss", "kldiv", "kullback leibler"),
            *("f1 samples", "precision samples", "recall samples", "jaccard samples"),
            *("label ranking loss", "label ranking average precision score", "coverage error"),
        ),
        "which has no name here",
        [*CLASS_LOSSES, Or(), PythonOnly("a function of your own: loss=lambda y, p: ..., one value for each example")],
    ),
    Foreign(
        ("mape", "mean absolute percentage error", "neg mean absolute percentage error", "smape"),
        "which has no name here",
        [PythonOnly("loss=lambda y, p: abs(y - p) / abs(y)"), Or(), Set("loss", "absolute error")],
    ),
    Foreign(
        ("msle", "mean squared log error", "neg mean squared log error", "reg:squaredlogerror"),
        "which has no name here",
        [PythonOnly("loss=lambda y, p: (np.log1p(y) - np.log1p(p)) ** 2"), Or(), Set("loss", "squared error")],
    ),
    Foreign(
        ("rmsle", "root mean squared log error", "neg root mean squared log error"),
        "the square root of a mean, which is no mean over examples itself",
        [PythonOnly("loss=lambda y, p: (np.log1p(y) - np.log1p(p)) ** 2"), Or(), Set("loss", "squared error")],
    ),
    Foreign(("mphe", "reg:pseudohubererror", "fair"), "which has no name here", Set("loss", "huber")),
    Foreign(("poisson nloglik",), "half the deviance, up to a number of y alone", [Set("loss", "poisson deviance")]),
    Foreign(("gamma nloglik",), "half the deviance, up to a number of y alone", [Set("loss", "gamma deviance")]),
    Foreign(("tweedie nloglik",), "half the deviance, up to a number of y alone", [Set("loss", "tweedie deviance")]),
)

LOSSES = LossRegistry(
    "loss",
    (
        LossRow(
            "squared error",
            "(prediction - y)², summed over outputs; `squared error(2.0, 150.0)` divides the errors of two outputs by "
            "these numbers first",
            "clarysage.losses.regression:SquaredError",
            parameter="scale",
            aliases=(
                "mse",
                "l2",
                "mean squared error",
                "neg mean squared error",
                "regression",
                "regression l2",
                "reg:squarederror",
            ),
        ),
        LossRow(
            "absolute error",
            "abs(prediction - y), summed over outputs",
            "clarysage.losses.regression:AbsoluteError",
            aliases=(
                "mae",
                "l1",
                "mean absolute error",
                "neg mean absolute error",
                "regression l1",
                "reg:absoluteerror",
            ),
        ),
        LossRow(
            "pinball",
            "alpha (y - prediction) if y is above the prediction, else (1 - alpha) (prediction - y); alpha is 0.9 in "
            "`pinball(0.9)`, by default 0.5",
            "clarysage.losses.robust:Pinball",
            aliases=("quantile", "pinball loss", "quantile loss", "mean pinball loss", "reg:quantileerror"),
            label="pinball loss",
            parameter="alpha",
        ),
        LossRow(
            "huber",
            "half the squared error up to errors of delta, and linear beyond; delta is 2.5 in `huber(2.5)`, by "
            "default 1",
            "clarysage.losses.robust:Huber",
            aliases=("huber loss",),
            label="Huber loss",
            parameter="delta",
        ),
        LossRow(
            "log cosh",
            "log(cosh(prediction - y))",
            "clarysage.losses.robust:LogCosh",
            aliases=("logcosh",),
        ),
        LossRow(
            "poisson deviance",
            "2 (y log(y / prediction) - y + prediction), for counts",
            "clarysage.losses.deviances:PoissonDeviance",
            aliases=("poisson", "mean poisson deviance", "neg mean poisson deviance", "count:poisson"),
            label="Poisson deviance",
            needs="positive predictions, and y of zero or more",
        ),
        LossRow(
            "gamma deviance",
            "2 (log(prediction / y) + y / prediction - 1), for positive amounts",
            "clarysage.losses.deviances:GammaDeviance",
            aliases=("gamma", "mean gamma deviance", "neg mean gamma deviance", "reg:gamma"),
            needs="positive predictions, and positive y",
        ),
        LossRow(
            "tweedie deviance",
            "for amounts that may be zero; its power (1 is Poisson, 2 gamma) is 1.2 in `tweedie deviance(1.2)`, by "
            "default 1.5",
            "clarysage.losses.deviances:TweedieDeviance",
            aliases=("tweedie", "mean tweedie deviance", "reg:tweedie"),
            label="Tweedie deviance",
            needs="positive predictions, and y of zero or more",
            parameter="power",
        ),
        LossRow(
            "cross entropy",
            "-log of the probability of the true class, or of a floor if that is larger; the floor is chosen from the "
            "model, or as in `cross entropy(0.01)`",
            "clarysage.losses.classification:CrossEntropy",
            aliases=(
                "log loss",
                "logloss",
                "neg log loss",
                "crossentropy",
                "binary",
                "binary logloss",
                "binary crossentropy",
                "binary:logistic",
                "multiclass",
                "multi logloss",
                "mlogloss",
                "categorical crossentropy",
                "multi:softprob",
                "multi:softmax",
                "xentropy",
            ),
            parameter="floor",
        ),
        LossRow(
            "multi label cross entropy",
            "the mean over labels of the cross entropy of each; y has a column of zeros and ones for each label; "
            "`multi label cross entropy(0)` is that of the first label",
            "clarysage.losses.multilabel:MultiLabel",
            aliases=("multi label", "multilabel", "multilogloss"),
            label="multi-label cross entropy",
            needs="a matrix of labels",
            parameter="label",
        ),
        LossRow(
            "zero one",
            "1 where the most probable class is not the true one",
            "clarysage.losses.classification:ZeroOne",
            aliases=("zero one loss", "accuracy", "accuracy score", "error", "binary error", "multi error", "merror"),
            label="zero-one loss",
        ),
        LossRow(
            "brier",
            "squared distance between probabilities and the true class",
            "clarysage.losses.classification:Brier",
            aliases=("brier score", "brier score loss", "neg brier score"),
            label="Brier score",
        ),
        LossRow(
            "hinge",
            "max(0, 1 - margin) of two classes, for scores of classifiers (`decision_function`)",
            "clarysage.losses.margins:Hinge",
            aliases=("hinge loss", "binary:hinge"),
            label="hinge loss",
            needs="margins",
        ),
    ),
    special=Special("auto", "to choose the one that the model was fitted with"),
    besides=", or a callable loss(y_true, y_pred)",
    foreign=METRICS,
    expected="a loss of single examples, of which values are means",
    entry_points="clarysage.losses",
)

REMOVALS: Registry[RemovalRow] = Registry(
    "removal",
    (
        RemovalRow(
            "marginal",
            "background rows, independent of the kept features",
            "clarysage.removal.marginal:Marginal",
            mixes="rows",
            by_rows=True,
        ),
        RemovalRow(
            "product of marginals",
            "columns of the background, drawn independently",
            "clarysage.removal.product:ProductOfMarginals",
            mixes="columns",
        ),
        RemovalRow(
            "baseline",
            "one constant per column, by default the mean",
            "clarysage.removal.baseline:Baseline",
            by_rows=True,
            default_rows=math.inf,
        ),
        RemovalRow(
            "gaussian",
            "draws from a Gaussian distribution, given the kept features",
            "clarysage.removal.gaussian:Gaussian",
            is_conditional=True,
            default_rows=ROWS_TO_LEARN_FROM,
        ),
        RemovalRow(
            "copula",
            "draws from a Gaussian copula of the ranks, given the kept features; for columns of any kind",
            "clarysage.removal.copula:Copula",
            is_conditional=True,
            default_rows=ROWS_TO_LEARN_FROM,
        ),
        RemovalRow(
            "neighbours",
            "background rows that are similar in the kept features (nearest neighbours)",
            "clarysage.removal.neighbours:Neighbours",
            is_conditional=True,
            default_rows=ROWS_TO_LEARN_FROM,
        ),
        RemovalRow(
            "trees",
            "background rows in the same leaves of trees on the kept features",
            "clarysage.removal.tree_conditional:TreeConditional",
            is_conditional=True,
            default_rows=ROWS_TO_LEARN_FROM,
            max_players=12,  # since trees are fitted once a coalition
        ),
        RemovalRow(
            "surrogate",
            "no values: a second model approximates the model's mean prediction from the kept features",
            "clarysage.removal.surrogate:Surrogate",
            is_conditional=True,
            can_draw=False,
            default_rows=ROWS_TO_LEARN_FROM,
        ),
    ),
    special=Special("auto conditional", "to choose the conditional one that approximates E[f | x_S] best on the data"),
    besides=", or an object such as Marginal(X)",
    entry_points="clarysage.removals",
)


def removals_in_words() -> str:
    """Returns all names of removals in one sentence: independent of the kept features, conditional, and automatic."""
    independent, conditional = (
        ", ".join(f'"{row.name}"' for row in REMOVALS.values() if row.is_conditional == is_conditional)
        for is_conditional in (False, True)
    )
    automatic = "" if REMOVALS.special is None else f', or "{REMOVALS.special.name}" {REMOVALS.special.purpose}'
    return f"{independent}; conditional on the kept features: {conditional}{automatic}"


def removals_that_draw_given_others() -> list[str]:
    """Returns the names of the conditional removals that draw values of withheld features.

    Examples
    --------
    >>> removals_that_draw_given_others()
    ['gaussian', 'copula', 'neighbours', 'trees']
    """
    return [row.name for row in REMOVALS.values() if row.is_conditional and row.can_draw]


def drawing_removals_in_words() -> str:
    """Returns the conditional removals that draw values, and the automatic choice among them, in one sentence."""
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
            "random orders of the features and their reversals (antithetic sampling)",
            "clarysage.estimators.paired_walks.estimator:PairedWalks",
            by_example="clarysage.estimators.per_example:PerExample",
        ),
        MethodRow(
            "surrogate walks",
            "paired walks that only correct the values of a fast surrogate model",
            "clarysage.estimators.surrogate_walks:SurrogateWalks",
        ),
        MethodRow("permutation", "random orders of the features", "clarysage.estimators.permutation:Permutation"),
        MethodRow("kernel", "least squares on random coalitions (KernelSHAP)", "clarysage.estimators.kernel:Kernel"),
    ),
    special=Special("auto", "to choose the fastest one"),
    besides=", or an object such as Kernel()",
    entry_points="clarysage.methods",
)


@dataclass(frozen=True)
class BackendRow:
    """A parallel backend in the catalogue.

    Attributes
    ----------
    name, aliases : the names by which users choose it
    summary : the workers of the backend
    source : "module:function", or the function itself, that returns a value of ``n_jobs``. It is called with a number
        of workers; for a cluster with its address or None
    is_cluster : whether it is a cluster, which has an address and its own number of workers
    address : an example of an address for hints of errors
    start : the command that starts a cluster, for hints of errors
    needs_address : whether a cluster cannot be found without its address
    """

    name: str
    summary: str
    source: str | Callable[..., Any]
    aliases: tuple[str, ...] = ()
    is_cluster: bool = False
    address: str = ""
    start: str = ""
    needs_address: bool = False

    def __call__(self, workers_or_address: int | str | None) -> Any:
        """Returns a value of ``n_jobs``, given a number of workers or the address of a cluster."""
        return loaded(self.source)(workers_or_address)


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
    """A target of inference in the catalogue: the sources of uncertainty that intervals cover.

    Attributes
    ----------
    name, aliases : the names by which users choose it
    summary : its description, if the background is held fixed
    choice : its description on a switch
    where : its description at the end of a sentence about features
    otherwise : its descriptions if something else is held fixed, by what is held fixed
    """

    name: str
    summary: str
    choice: str
    where: str
    otherwise: Mapping[str, str]
    aliases: tuple[str, ...] = ()

    def meaning(self, held_fixed: str) -> str:
        """Returns the description of the target, given what is held fixed."""
        return self.otherwise.get(held_fixed, self.summary)


ABOUT: Registry[AboutRow] = Registry(
    "about",
    (
        AboutRow(
            "data",
            "this data and this background (only the sampling error of the run)",
            choice="this data",
            where="on this data",
            otherwise={
                "removal": "this data and this background, with the removal as fitted (only the sampling error of "
                "the run)",
                "learners": "this data with this split (only the sampling error of the run)",
                "nothing": "this data",
            },
        ),
        AboutRow(
            "rows",
            "the population of rows, with this background",
            choice="other rows",
            where="on other rows of the same population",
            otherwise={
                "removal": "the population of rows, with the removal as fitted",
                "learners": "the population of rows, with the learners as fitted",
                "nothing": "the population of rows",
            },
        ),
        AboutRow(
            "population",
            "the population of rows and of background",
            choice="other rows and background",
            where="on other rows of the same population, with another background",
            otherwise={"removal": "the population of rows and infinitely many draws, with the removal as fitted"},
        ),
    ),
    is_fixed=True,  # since each needs its own statistics
)


@dataclass(frozen=True)
class AdjustmentRow:
    """An adjustment of p-values for multiple tests in the catalogue.

    Attributes
    ----------
    name, aliases : the names by which users choose it
    summary : the error rate that it controls
    source : "module:function", or the function itself, from p-values (p,) to adjusted p-values (p,)
    label : its name in tables and charts
    promise : the error rate in numbers, after "adjusted so that"; ``{chance}`` stands for 1 minus the level
    """

    name: str
    summary: str
    source: str | Callable[[Any], Any]
    label: str
    promise: str
    aliases: tuple[str, ...] = ()

    def __call__(self, p: Any) -> Any:
        """Returns the adjusted p-values (p,)."""
        return loaded(self.source)(p)


ADJUSTMENTS: Registry[AdjustmentRow] = Registry(
    "adjust",
    (
        AdjustmentRow(
            "holm",
            "controls the probability of any false mark",
            "clarysage.inference.intervals:holm",
            label="Holm",
            promise="the chance of any false mark in the table is at most {chance}",
        ),
        AdjustmentRow(
            "benjamini hochberg",
            "controls the expected share of false marks",
            "clarysage.inference.intervals:benjamini_hochberg",
            label="Benjamini-Hochberg",
            promise="about {chance} of the marks are false",
        ),
    ),
    special=Special("none", "for unadjusted p-values"),
    besides=", or None",
)


@dataclass(frozen=True)
class Period:
    """A period of time in the catalogue; ``code`` is its name in pandas."""

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
