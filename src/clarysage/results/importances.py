"""Importances: the values of several measures of one model, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from clarysage.codec import require
from clarysage.errors import InputError, resembling
from clarysage.results.explanation import Explanation
from clarysage.results.files import as_plain, file_format, save

ANSWERS = {"yes", "partly", "no"}
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
@dataclass(frozen=True, eq=False)
class Importances(Mapping[str, Explanation]):
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
    left_out: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self.explanations, self.traits)
        for name in ("explanations", "traits", "left_out"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[Any, ...]:
        return Importances, (dict(self.explanations), dict(self.traits), dict(self.left_out))

    def __getitem__(self, name: str) -> Explanation:
        if name not in self.explanations:
            known = f"one of {', '.join(map(repr, self.explanations))}"
            why = self.left_out.get(name)
            raise UnknownMeasureError(
                "name", got=f"{name!r}" + (f", which was left out: {why.rstrip('.')}" if why else ""), wanted=known,
                hint="" if why else resembling(str(name), self.explanations),
            )  # fmt: skip
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
        from clarysage.results.importances_text import as_text

        return as_text(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python objects, as in the JSON file."""
        return as_plain(self)

    def save(self, path: str | Path) -> None:
        """Write all explanations as one JSON file; :func:`clarysage.load` reads it back."""
        save(self, path)

    def plot(self, **options: Any) -> Any:
        """Ranked bars, one panel a measure; see :func:`clarysage.plots.side_by_side` for the options."""
        return import_module("clarysage.plots").side_by_side(self, **options)

    def report(self, path: str | Path | None = None, title: str | None = None) -> str | None:
        """A page to send to a colleague: one HTML file with values, shares and ranks by all measures.

        Parameters
        ----------
        path : file to write; default: the page is returned as text
        title : above the page; default: the number of measures, and the model
        """
        from clarysage.results.page import page_of

        return page_of(self, path, title=title)

    def __str__(self) -> str:
        return self.table()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from clarysage.results.importances_text import as_html

        return as_html(self)


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
