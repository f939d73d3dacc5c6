"""The measures by name, one row each: what they are in the paper's framework (Tables 1 and 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

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
THE_REST = "v(D) - sum of values"  # so that u(D) is v(D), and u of all but one what was measured
TYPICAL_PAIRS = 128  # that walks commonly need at the default tolerance, where all examples are judged at once


@dataclass(frozen=True)
class Measure:
    """A row of the table.

    Attributes
    ----------
    name : by which it is asked for
    headline : the sentence above its values; ``{loss}`` stands for the loss
    marks : the columns of Table 1 in their order, "+" for yes, "~" for partly, "-" for no
    approximates : "v", the power of the data, "v_f", that of the model, "w_f", the variance of its output; None for
        heuristics, which are outside the framework
    subdomain : subsets for which u(S) comes close to that (Table 3)
    constant : phi_0 of u(S)
    refits : whether learners are fitted anew
    call : the function, or its path "module:name"; by default the public function of clarysage that has the measure's
        name, with underscores in place of blanks
    aliases : other names by which it is asked for
    fits : which subsets of features learners are fitted to: "one by one", all and all but one or one alone, or "all",
        of which some may be sampled; None where that is not known
    own_learners : what is fitted whatever ``learner`` other measures are given, such as "linear models"
    is_by_example : whether values are found for single examples, which takes very many model rows
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
        """One line of help."""
        return self.headline.format(loss="loss")

    @property
    def is_heuristic(self) -> bool:
        return self.approximates is None

    @property
    def values_are(self) -> Literal["gain", "variance", "heuristic"]:
        """What the values are amounts of: of a loss that is saved, of the output's variance, or nothing so certain."""
        if self.approximates is None:
            return "heuristic"
        return "variance" if self.approximates == "w_f" else "gain"

    @property
    def needs_target(self) -> bool:
        """Whether it compares predictions with y, as measures of performance do."""
        return self.properties["performance"] != "no"

    @property
    def function(self) -> Callable[..., Any]:
        """The function, called with model, X, y and options, which returns an Explanation."""
        if callable(self.call):
            return self.call
        function: Callable[..., Any] = loaded(self.call or f"clarysage:{self.name.replace(' ', '_')}")
        return function

    @property
    def properties(self) -> dict[str, str]:
        """Properties of Table 1, "yes", "partly" or "no"."""
        return dict(zip(PROPERTIES, (MARKS[mark] for mark in self.marks), strict=True))


# Table 1 has no row for Shapley effects; theirs is that of SAGE, without labels and so without performance.
MEASURES: Registry[Measure] = Registry(
    "name",
    (
        Measure(
            "sage", "SAGE values: the {loss} that each feature saves the model", "+++~~", "v_f", ALL_SUBSETS, NOTHING
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
            "Mean loss SHAP: the {loss} that each feature saves the model, example by example",
            "+++~-",
            "v_f",
            ALL_SUBSETS,
            NOTHING,
            is_by_example=True,
        ),
        Measure(
            "shapley net effects",
            "Shapley net effects: the {loss} that each feature saves a linear model",
            "-+++-",
            "v",
            ALL_SUBSETS,
            NOTHING,
            refits=True,
            fits="all",
            own_learners="linear models",
        ),
        Measure(
            "feature ablation",
            "Feature ablation: the {loss} that a learner loses without each feature",
            "++-+~",
            "v",
            ALL_OR_ALL_BUT_ONE,
            THE_REST,
            refits=True,
            fits="one by one",
        ),
        Measure(
            "permutation test",
            "Permutation test: the {loss} that the model loses when a feature is drawn anew",
            "++-~+",
            "v_f",
            ALL_OR_ALL_BUT_ONE,
            THE_REST,
        ),
        Measure(
            "conditional permutation test",
            "Conditional permutation test: the {loss} that the model loses when a feature is drawn given the others",
            "++-++",
            "v_f",
            ALL_OR_ALL_BUT_ONE,
            THE_REST,
        ),
        Measure(
            "mean importance",
            "Mean importance: the {loss} that the model loses when a feature is set to its mean",
            "++--+",
            "v_f",
            ALL_OR_ALL_BUT_ONE,
            THE_REST,
        ),
        Measure(
            "univariate predictors",
            "Univariate predictors: the {loss} that each feature alone saves a learner",
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
            "Coefficient size: how steep the linear model is in each feature",
            "----+",
        ),
        Measure(
            "gini importance",
            "Gini importance: the impurity that splits on each feature take away",
            "----+",
        ),
        Measure(
            "number of splits",
            "Number of splits: how often the trees ask for each feature",
            "----+",
        ),
        Measure(
            "network weights",
            "Network weights: how large the weights on each feature are",
            "----+",
        ),
        Measure(
            "aggregated saliency",
            "Aggregated saliency: how steep the network is in each feature on the way from a baseline",
            "----+",
        ),
    ),
    entry_points="clarysage.measures",
)


def as_measure(name: str | Measure) -> Measure:
    """A measure by name, or as a row of one's own; names of others' packages are entry points "clarysage.measures".

    Examples
    --------
    >>> as_measure("Permutation-Test").approximates
    'v_f'
    """
    if isinstance(name, Measure):
        return name
    if not isinstance(name, str):
        raise InputError("name", got=repr(name), wanted="the name of a measure, or a row of one's own")
    return MEASURES.get_row(name)


def measures() -> pd.DataFrame:
    """All measures as a pandas DataFrame, by name: what they approximate, where, from which phi_0, and their
    properties.

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
    """Subsets to be fitted where none is left out: all but the empty one."""
    return int(2**players - 1)


def subsets_of_walks(players: int) -> int:
    """Subsets that paired walks commonly come by, at most."""
    return 2 * (players - 1) * TYPICAL_PAIRS


def one_by_one(players: int) -> int:
    """Subsets of all players, and of all but one or of one alone."""
    return 1 if players == 1 else 1 + players


def _every_subset(players: int) -> int:
    return min(all_subsets(players), 1 + subsets_of_walks(players)) if players > 1 else 1


SUBSETS: dict[str, Callable[[int], int]] = {"one by one": one_by_one, "all": _every_subset}


def fits_wanted(measure: Any, players: int, folds: int = 5) -> int | None:
    """Fits that a measure takes for so many features or groups; 0 if it makes none, None if that is not known.

    One fit a fold: 1 where rows to fit on are given apart from those to judge by. Of measures that may sample, what
    they commonly take at most.

    Examples
    --------
    >>> fits_wanted("feature ablation", players=8), fits_wanted("shapley net effects", players=4)
    (45, 75)
    """
    row = as_measure(measure)
    if not row.refits:
        return 0
    return None if row.fits is None else SUBSETS[row.fits](players) * folds
