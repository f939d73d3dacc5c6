"""The table of measures: one row for each, with its place in the paper's framework (Tables 1 and 3).

A new measure is a function, a row here, and a line of ``__init__.pyi``. Help texts, completion and the docs are
generated from the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from clarysage.catalogue import NAMES_IN_THE_PAPER
from clarysage.errors import InputError
from clarysage.registry import Registry, loaded

if TYPE_CHECKING:
    import pandas as pd

PROPERTIES = ("agnostic", "performance", "interactions", "missingness", "tractable")  # the columns of Table 1
MARKS = {"+": "yes", "~": "partly", "-": "no"}

ALL_SUBSETS = "all subsets"
ALL_OR_ALL_BUT_ONE = "all features, all but one"
NONE_OR_ONE = "no feature, one feature"
NOTHING = "0"
THE_REST = "v(D) - sum of values"  # so that u(D) = v(D), and u of all features but one is the measured power
TYPICAL_PAIRS = 128  # of walks, for the default tolerance, if every fit is evaluated on all examples


@dataclass(frozen=True)
class Measure:
    """A measure of feature importance: a row of the table.

    Attributes
    ----------
    name : the name that users give
    headline : the sentence above its values; ``{loss}`` stands for the loss
    marks : the columns of Table 1 in their order, "+" for yes, "~" for partly, "-" for no
    approximates : the game that u(S) approximates: "v", the predictive power of the data, "v_f", that of the model, or
        "w_f", the variance of its output; None for heuristics, which are outside the framework
    subdomain : the subsets for which u(S) is close to that game (Table 3)
    constant : the constant phi_0 of u(S)
    refits : whether learners are refitted
    call : the function, or its path "module:name"; by default the public function of clarysage that has the measure's
        name, with underscores in place of blanks
    aliases : other names that users may give
    fits : the subsets of features that learners are fitted on: "one by one" (all features, and all but one or one
        alone) or "all" (every subset, or a sample of them); None if unknown
    own_learners : the learners of a measure that ignores ``learner``, such as "linear models"
    is_by_example : whether values are estimated for every single example, which takes very many model rows

    Examples
    --------
    >>> MEASURES["permutation importance"].approximates, MEASURES["permutation importance"].subdomain
    ('v_f', 'all features, all but one')
    """

    name: str
    headline: str
    marks: str
    approximates: str | None = None
    subdomain: str | None = None
    constant: str | None = None
    refits: bool = False
    call: Callable[..., Any] | str | None = None
    aliases: tuple[str, ...] = ()
    fits: Literal["one by one", "all"] | None = None
    own_learners: str = ""
    is_by_example: bool = False

    @property
    def summary(self) -> str:
        """The headline as one line of help."""
        return self.headline.format(loss="loss")

    @property
    def is_heuristic(self) -> bool:
        return self.approximates is None

    @property
    def values_are(self) -> Literal["gain", "variance", "heuristic"]:
        """The quantity that values are shares of: a gain (loss saved), a variance of the output, or neither."""
        if self.approximates is None:
            return "heuristic"
        return "variance" if self.approximates == "w_f" else "gain"

    @property
    def needs_target(self) -> bool:
        """True if the measure needs y, because it compares predictions with it."""
        return self.properties["performance"] != "no"

    @property
    def function(self) -> Callable[..., Any]:
        """The function of ``(model, X, y, **options)`` that returns an Explanation."""
        if callable(self.call):
            return self.call
        function: Callable[..., Any] = loaded(self.call or f"clarysage:{self.name.replace(' ', '_')}")
        return function

    @property
    def properties(self) -> dict[str, str]:
        """The properties of Table 1, each "yes", "partly" or "no"."""
        return dict(zip(PROPERTIES, (MARKS[mark] for mark in self.marks), strict=True))


# Table 1 has no row for Shapley effects; this one is the row of SAGE without performance, since no labels are used.
MEASURES: Registry[Measure] = Registry(
    "name",
    (
        Measure(
            "sage",
            "SAGE values: how much each feature reduces the model's {loss}",
            "+++~~",
            "v_f",
            ALL_SUBSETS,
            NOTHING,
        ),
        Measure(
            "shapley effects",
            "Shapley effects: the variance of the model's output that each feature explains",
            "+-+~~",
            "w_f",
            ALL_SUBSETS,
            NOTHING,
        ),
        Measure(
            "mean loss shap",
            "Mean loss SHAP: how much each feature reduces the model's {loss}, computed for every example",
            "+++~-",
            "v_f",
            ALL_SUBSETS,
            NOTHING,
            is_by_example=True,
        ),
        Measure(
            "shapley net effects",
            "Shapley net effects: how much each feature reduces the {loss} of a linear model",
            "-+++-",
            "v",
            ALL_SUBSETS,
            NOTHING,
            refits=True,
            fits="all",
            own_learners="linear models",
        ),
        Measure(
            "drop column importance",
            "Drop-column importance: how much the {loss} of a learner increases without each feature",
            "++-+~",
            "v",
            ALL_OR_ALL_BUT_ONE,
            THE_REST,
            refits=True,
            fits="one by one",
            aliases=(NAMES_IN_THE_PAPER["drop column importance"], "loco", "leave one covariate out"),
        ),
        Measure(
            "permutation importance",
            "Permutation importance: how much the model's {loss} increases when a feature is drawn at random",
            "++-~+",
            "v_f",
            ALL_OR_ALL_BUT_ONE,
            THE_REST,
            aliases=(NAMES_IN_THE_PAPER["permutation importance"], "pfi"),
        ),
        Measure(
            "conditional permutation importance",
            "Conditional permutation importance: how much the model's {loss} increases when a feature is drawn at "
            "random, given the others",
            "++-++",
            "v_f",
            ALL_OR_ALL_BUT_ONE,
            THE_REST,
            aliases=(NAMES_IN_THE_PAPER["conditional permutation importance"], "cfi"),
        ),
        Measure(
            "mean importance",
            "Mean importance: how much the model's {loss} increases when a feature is set to its mean",
            "++--+",
            "v_f",
            ALL_OR_ALL_BUT_ONE,
            THE_REST,
        ),
        Measure(
            "univariate predictors",
            "Univariate predictors: how much each feature alone reduces the {loss} of a learner",
            "-+-++",
            "v",
            NONE_OR_ONE,
            NOTHING,
            refits=True,
            fits="one by one",
        ),
        Measure(
            "squared correlation",
            "Squared correlation: the share of the variance of y that each feature alone explains linearly",
            "-+-++",
            "v",
            NONE_OR_ONE,
            NOTHING,
        ),
        Measure("mean absolute shap", "Mean absolute SHAP: how far each feature moves the model's output", "+-+~-"),
        Measure(
            "coefficient size",
            "Coefficient size: how large the linear model's coefficients of each feature are",
            "----+",
        ),
        Measure(
            "gini importance",
            "Gini importance: how much the splits on each feature reduce the impurity",
            "----+",
        ),
        Measure(
            "number of splits",
            "Number of splits: how often the trees split on each feature",
            "----+",
        ),
        Measure(
            "network weights",
            "Network weights: how large the weights on each feature are",
            "----+",
        ),
        Measure(
            "aggregated saliency",
            "Aggregated saliency: how large the network's gradients in each feature are, from a baseline to the row",
            "----+",
        ),
    ),
    entry_points="clarysage.measures",
)


def as_measure(name: str | Measure) -> Measure:
    """Returns the measure of a name; a row is returned as it is.

    Other packages add measures by entry points of the group "clarysage.measures".

    Examples
    --------
    >>> as_measure("Permutation-Test").approximates
    'v_f'
    """
    if isinstance(name, Measure):
        return name
    if not isinstance(name, str):
        raise InputError("name", got=repr(name), wanted="the name of a measure, or a Measure")
    return MEASURES.get_row(name)


def measures() -> pd.DataFrame:
    """Lists all measures in a pandas DataFrame with one row for each name.

    The columns say which game a measure approximates, for which subsets, with which phi_0, and which properties of
    Table 1 it has.

    Returns
    -------
    data frame, with a row for each measure

    Examples
    --------
    >>> measures().loc["sage", ["approximates", "subdomain", "tractable"]].tolist()
    ['v_f', 'all subsets', 'partly']
    """
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "approximates": row.approximates or "-",
                "subdomain": row.subdomain or "-",
                "constant": row.constant or "-",
                **row.properties,
                "heuristic": "yes" if row.is_heuristic else "no",
                "refits": "yes" if row.refits else "no",
            }
            for row in MEASURES.values()
        ],
        index=pd.Index([*MEASURES], name="measure"),
    )


def all_subsets(players: int) -> int:
    """Returns the number of non-empty subsets, for which an exact method fits learners."""
    return int(2**players - 1)


def subsets_of_walks(players: int) -> int:
    """Returns the number of subsets that paired walks typically visit, at most."""
    return 2 * (players - 1) * TYPICAL_PAIRS


def expected_fits(measure: Any, players: int, folds: int = 5) -> int | None:
    """Returns how many fits a measure needs for a number of features or groups: 0 without refits, None if unknown.

    Every subset takes one fit for each fold (``folds=1`` if training rows are given separately). For measures that may
    sample subsets this is the typical upper limit.

    Examples
    --------
    >>> expected_fits("drop column importance", players=8), expected_fits("shapley net effects", players=4)
    (45, 75)
    """
    row = as_measure(measure)
    if not row.refits:
        return 0
    if row.fits is None:
        return None
    if players == 1:
        return folds
    subsets = 1 + players if row.fits == "one by one" else min(all_subsets(players), 1 + subsets_of_walks(players))
    return subsets * folds
