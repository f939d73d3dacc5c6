"""Interactions: what pairs of features are worth beyond what each is worth alone."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from clarysage.codec import require
from clarysage.errors import InputError
from clarysage.inference.estimate import StopReason
from clarysage.results.explanation import Explanation
from clarysage.results.files import as_plain, file_format, save

TOGETHER, SHARED, UNDECIDED, NONE = "worth more together", "share what they know", "not told from zero", "none"


@file_format("interactions", "what pairs of features are worth beyond what each is worth alone")
@dataclass(frozen=True, eq=False)
class Interactions:
    """Shapley interaction values of pairs of players (features or groups), with uncertainty.

    A positive value says that two features are worth more together than each without the other (complements, as in an
    exclusive or), a negative one that they share what they know (copies). Values are in units of the loss.

    Attributes
    ----------
    pairs : names of the two players of each of K pairs
    found : the interactions as an :class:`~clarysage.Explanation` of K values, in the same order
    sage : the SAGE values beside them
    unexplained : 1 - R2 of the additive proxy u(S), the sum of SAGE values: its mean squared distance from v(S) as a
        share of the variance of v(S), over subsets of a size uniform on 0, ..., p (as in Table 2, and in
        :meth:`~clarysage.Explanation.agreement`); None where v hardly varies, or there was no time to see
    unexplained_error : its standard error by the sampling of the run
    """

    pairs: tuple[tuple[str, str], ...]
    found: Explanation
    sage: Explanation
    unexplained: float | None = None
    unexplained_error: float | None = None

    def __post_init__(self) -> None:
        require(len(self.pairs) == len(self.found.values), "pairs", self.pairs, "a pair for each interaction")
        known = set(self.sage.feature_names)
        is_right = all(one != other and {one, other} <= known for one, other in self.pairs)
        is_distinct = len(set(map(frozenset, self.pairs))) == len(self.pairs)
        require(is_right and is_distinct, "pairs", self.pairs, "different pairs, each of two different features")

    @property
    def values(self) -> np.ndarray:
        """(K,)."""
        return self.found.values

    @property
    def std_error(self) -> np.ndarray:
        """(K,), of the run's sampling."""
        return self.found.std_error

    @property
    def feature_names(self) -> tuple[str, ...]:
        """All players, whether in a pair or not."""
        return self.sage.feature_names

    @property
    def model_rows(self) -> int:
        """Rows passed to the model in all, those for the SAGE values included where they were found here."""
        return self.found.model_rows

    @property
    def stopped(self) -> StopReason:
        return self.found.stopped

    @property
    def converged(self) -> bool:
        return self.found.converged

    @property
    def loss(self) -> str:
        return self.found.loss

    @property
    def notes(self) -> tuple[str, ...]:
        return self.found.notes

    @property
    def players(self) -> tuple[str, ...]:
        """Names that are in some pair, the largest SAGE value first."""
        inside = {name for pair in self.pairs for name in pair}
        return tuple(name for name in self.sage.top(len(self.feature_names)) if name in inside)

    @property
    def is_complete(self) -> bool:
        """Whether all pairs of the players are there."""
        k = len(self.players)
        return len(self.pairs) == k * (k - 1) // 2

    @property
    def matrix(self) -> np.ndarray:
        """Values (k, k) between the ``players``, in their order; nan on the diagonal and for pairs not asked for."""
        place = {name: i for i, name in enumerate(self.players)}
        found = np.full((len(place), len(place)), np.nan)
        for (one, other), value in zip(self.pairs, self.values, strict=True):
            found[place[one], place[other]] = found[place[other], place[one]] = value
        return found

    def between(self, one: str, other: str) -> float:
        """The interaction of two players, in either order."""
        for pair, value in zip(self.pairs, self.values, strict=True):
            if {one, other} == set(pair):
                return float(value)
        raise InputError("pair", got=f"{(one, other)!r}", wanted="one of the pairs that were asked for, in `pairs`")

    def interval(
        self, level: float = 0.95, *, about: str | None = None, joint: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Low and high ends of an interval for each value, (K,); see :meth:`clarysage.Explanation.interval`."""
        return self.found.interval(level, about=about, joint=joint)

    def meanings(self, level: float = 0.95, *, about: str | None = None) -> list[str]:
        """What each value says, by its interval: "worth more together", "share what they know", or neither."""
        low, high = self.interval(level, about=about)
        words = np.where(low > 0, TOGETHER, np.where(high < 0, SHARED, UNDECIDED))
        return [str(word) for word in np.where((low == 0) & (high == 0), NONE, words)]

    def to_frame(self, level: float = 0.95, *, about: str | None = None) -> Any:
        """A pandas DataFrame, the strongest pair first: feature, other, value, std_error, low, high, meaning.

        ``frame.attrs["about"]`` says what the interval is about, ``frame.attrs["unexplained"]`` what u leaves of v.
        """
        import pandas as pd

        low, high = self.interval(level, about=about)
        one, other = zip(*self.pairs, strict=True)
        columns = {"value": self.values, "std_error": self.std_error, "low": low, "high": high}
        meaning = self.meanings(level, about=about)
        frame = pd.DataFrame({"feature": one, "other": other, **columns, "meaning": meaning})
        frame = frame.iloc[self.order].reset_index(drop=True)
        frame.attrs.update(about=about or self.found.shown, unexplained=self.unexplained)
        return frame

    @property
    def order(self) -> np.ndarray:
        """Places of the pairs, the strongest first."""
        return np.argsort(-np.abs(self.values), kind="stable")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python objects, as in the JSON file."""
        return as_plain(self)

    def save(self, path: str | Path) -> None:
        """Write everything as JSON; :func:`clarysage.load` reads it back."""
        save(self, path)

    def plot(self, **options: Any) -> Any:
        """A heat map, or bars for pairs that were chosen; see :func:`clarysage.plots.interactions` for the options."""
        return import_module("clarysage.plots").interactions(self, **options)

    def report(
        self, path: str | Path | None = None, title: str | None = None, *, about: str | None = None
    ) -> str | None:
        """A page to send to a colleague: one HTML file with chart and table of the pairs; see `Explanation.report`."""
        from clarysage.results.page import page_of

        return page_of(self, path, title=title, about=about)

    def __str__(self) -> str:
        from clarysage.results.interactions_text import as_text

        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from clarysage.results.interactions_text import as_html

        return as_html(self)
