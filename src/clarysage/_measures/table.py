"""The measures by name, one row each: what they are in the paper's framework (Tables 1 and 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from clarysage.errors import InputError, resembling

if TYPE_CHECKING:
    import pandas as pd

PROPERTIES = ("agnostic", "performance", "interactions", "missingness", "tractable")  # the columns of Table 1
MARKS = {"+": "yes", "~": "partly", "-": "no"}

ALL_SUBSETS = "all subsets"
ALL_OR_ALL_BUT_ONE = "all features, all but one"
NONE_OR_ONE = "no feature, one feature"
NOTHING = "0"
THE_REST = "v(D) - sum of values"  # so that u(D) is v(D), and u of all but one what was measured


@dataclass(frozen=True)
class Measure:
    """A row of the table.

    Attributes
    ----------
    name : by which it is asked for; the file and the function have underscores in place of blanks
    headline : the sentence above its values; ``{loss}`` stands for the loss
    marks : the columns of Table 1 in their order, "+" for yes, "~" for partly, "-" for no
    approximates : "v", the power of the data, "v_f", that of the model, "w_f", the variance of its output; None for
        heuristics, which are outside the framework
    subdomain : subsets for which u(S) comes close to that (Table 3)
    constant : phi_0 of u(S)
    refits : whether learners are fitted anew
    call : the function, where it is not in a file of this room
    """

    name: str
    headline: str
    marks: str
    approximates: str | None = None
    subdomain: str | None = None
    constant: str | None = None
    refits: bool = False
    call: Callable[..., Any] | None = None

    @property
    def is_heuristic(self) -> bool:
        return self.approximates is None

    @property
    def function(self) -> Callable[..., Any]:
        """The function, called with model, X, y and options, which returns an Explanation."""
        if self.call is not None:
            return self.call
        name = self.name.replace(" ", "_")
        found: Callable[..., Any] = getattr(import_module(f"clarysage._measures.{name}"), name)
        return found

    @property
    def properties(self) -> dict[str, str]:
        """Properties of Table 1, "yes", "partly" or "no"."""
        return dict(zip(PROPERTIES, (MARKS[mark] for mark in self.marks), strict=True))


# Table 1 has no row for Shapley effects; theirs is that of SAGE, without labels and so without performance.
ROWS = (
    Measure("sage", "SAGE values: the {loss} that each feature saves the model", "+++~~",
            "v_f", ALL_SUBSETS, NOTHING),
    Measure("shapley effects", "Shapley effects: the variance of the model's output that each feature explains",
            "+-+~~", "w_f", ALL_SUBSETS, NOTHING),
    Measure("mean loss shap", "Mean loss SHAP: the {loss} that each feature saves the model, example by example",
            "+++~-", "v_f", ALL_SUBSETS, NOTHING),
    Measure("shapley net effects", "Shapley net effects: the {loss} that each feature saves a linear model",
            "-+++-", "v", ALL_SUBSETS, NOTHING, refits=True),
    Measure("feature ablation", "Feature ablation: the {loss} that a learner loses without each feature",
            "++-+~", "v", ALL_OR_ALL_BUT_ONE, THE_REST, refits=True),
    Measure("permutation test", "Permutation test: the {loss} that the model loses when a feature is drawn anew",
            "++-~+", "v_f", ALL_OR_ALL_BUT_ONE, THE_REST),
    Measure("conditional permutation test",
            "Conditional permutation test: the {loss} that the model loses when a feature is drawn given the others",
            "++-++", "v_f", ALL_OR_ALL_BUT_ONE, THE_REST),
    Measure("mean importance", "Mean importance: the {loss} that the model loses when a feature is set to its mean",
            "++--+", "v_f", ALL_OR_ALL_BUT_ONE, THE_REST),
    Measure("univariate predictors", "Univariate predictors: the {loss} that each feature alone saves a learner",
            "-+-++", "v", NONE_OR_ONE, NOTHING, refits=True),
    Measure("squared correlation", "Squared correlation: the share of the variance of y that each feature alone "
            "explains linearly", "-+-++", "v", NONE_OR_ONE, NOTHING),
    Measure("mean absolute shap", "Mean absolute SHAP: how far each feature moves the model's output", "+-+~-"),
    Measure("coefficient size", "Coefficient size: how steep the linear model is in each feature", "----+"),
    Measure("gini importance", "Gini importance: the impurity that splits on each feature take away", "----+"),
    Measure("number of splits", "Number of splits: how often the trees ask for each feature", "----+"),
    Measure("network weights", "Network weights: how large the weights on each feature are", "----+"),
    Measure("aggregated saliency", "Aggregated saliency: how steep the network is in each feature on the way from a "
            "baseline", "----+"),
)  # fmt: skip
MEASURES = {row.name: row for row in ROWS}


def as_measure(name: Any) -> Measure:
    """A measure by name, or as a row of one's own; names of others' packages are entry points "clarysage.measures".

    Examples
    --------
    >>> as_measure("Permutation-Test").approximates
    'v_f'
    """
    if isinstance(name, Measure):
        return name
    known = {**MEASURES, **_entries()}
    spelled = " ".join(name.lower().replace("_", " ").replace("-", " ").split()) if isinstance(name, str) else ""
    if spelled not in known:
        wanted = f"one of {', '.join(map(repr, known))}"
        raise InputError("name", got=f"{name!r}", wanted=wanted, hint=resembling(spelled, known))
    return known[spelled]


def measures() -> pd.DataFrame:
    """All measures as a pandas DataFrame, by name: what they approximate, where, from which phi_0, and their
    properties.

    Examples
    --------
    >>> measures().loc["sage", ["approximates", "subdomain", "tractable"]].tolist()
    ['v_f', 'all subsets', 'partly']
    """
    import pandas as pd

    rows = {**MEASURES, **_entries()}.values()
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
            for row in rows
        ],
        index=pd.Index([row.name for row in rows], name="measure"),
    )


@cache
def _entries() -> dict[str, Measure]:
    return {entry.name: entry.load() for entry in entry_points(group="clarysage.measures")}
