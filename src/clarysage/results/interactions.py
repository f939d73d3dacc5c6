"""Interactions: Shapley interaction values of pairs of features (Grabisch & Roubens 1999)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage._utils.display import SHOWN, shortened
from clarysage.codec import require
from clarysage.errors import InputError, Note
from clarysage.inference.estimate import StopReason
from clarysage.inference.sequential import HELPS, HURTS, NO_EFFECT
from clarysage.inference.sequential import UNDECIDED as OPEN
from clarysage.results.explanation import Explanation, page_of_values, value_bars
from clarysage.results.files import file_format
from clarysage.results.result import Result, plots, text_of
from clarysage.results.summary import Column, Page, Paragraph, Section, Squares, Summary, Table
from clarysage.results.text import cost_words, interval_words, number_format
from clarysage.results.verdicts import LIKELY_HELPS, LIKELY_HURTS, Vocabulary, verdicts_about

if TYPE_CHECKING:
    import pandas as pd

TOGETHER, SHARED, UNDECIDED, NONE = "worth more together", "share what they know", "undecided", "none"

LITTLE = 0.05  # share of the variance of v that is negligible
MOST, FEWEST = 20, 3  # players of a grid
LABEL_COLUMNS = 24  # characters of a name in the description of a square
SHARED_IN_TEXT = "share information"  # frames keep the value SHARED, which users compare
WORDS = Vocabulary(
    noun="pair",
    is_by_size=True,
    labels={
        HELPS: TOGETHER,
        LIKELY_HELPS: f"likely {TOGETHER}",
        HURTS: SHARED_IN_TEXT,
        LIKELY_HURTS: f"likely {SHARED_IN_TEXT}",
        OPEN: "undecided",
        NO_EFFECT: NONE,
    },
    leads={
        HELPS: "{count} of {all} {are} worth more together than each feature without the other {where}:",
        LIKELY_HELPS: "{count} of {all} {are} likely worth more together {where} (pointwise, not simultaneous):",
        HURTS: "{count} of {all} {share} information {where}, so that one can replace the other:",
        LIKELY_HURTS: "{count} of {all} likely {share} information {where} (pointwise, not simultaneous):",
        OPEN: "The sign is undecided for {count} of {all} {where}:",
        NO_EFFECT: "{count} of {all} {have} no interaction:",
    },
)


@file_format("interactions", "interaction values of pairs of features")
@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Result):
    """Shapley interaction values of pairs of players (features or groups), with uncertainty.

    A positive value means that two features are worth more together than separately (complements, as in an exclusive
    or), a negative value that they share information (redundancy, as in copies). Values are in units of the loss.

    Attributes
    ----------
    pairs : names of the two players of each of the K pairs
    explanation : the interactions as an :class:`~clarysage.Explanation` of K values, in the same order
    sage : the SAGE values of all players
    unexplained : lack of fit of the additive proxy u(S), the sum of SAGE values: 1 - R2, its mean squared distance from
        v(S) as a share of the variance of v(S), over subsets of a size uniform on 0, ..., p (as in Table 2, and in
        :meth:`~clarysage.Explanation.agreement`); None where v hardly varies, or where there was no time to estimate it
    unexplained_error : standard error of ``unexplained`` by the sampling of the run

    Examples
    --------
    >>> import numpy as np
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).choice([-1.0, 1.0], size=(200, 2))
    >>> interactions = cs.interactions(lambda X: X[:, 0] * X[:, 1], X, X[:, 0] * X[:, 1], rng=0)
    >>> interactions.pairs, bool(interactions.explanation.values[0] > 0)
    ((('x0', 'x1'),), True)
    """

    pairs: tuple[tuple[str, str], ...]
    explanation: Explanation
    sage: Explanation
    unexplained: float | None = None
    unexplained_error: float | None = None

    def __post_init__(self) -> None:
        require(len(self.pairs) == len(self.explanation.values), "pairs", self.pairs, "a pair for each interaction")
        players = set(self.sage.feature_names)
        is_right = all(first != second and {first, second} <= players for first, second in self.pairs)
        is_distinct = len(set(map(frozenset, self.pairs))) == len(self.pairs)
        require(is_right and is_distinct, "pairs", self.pairs, "different pairs, each of two different features")

    @property
    def values(self) -> np.ndarray:
        """Interaction values, (K,)."""
        return self.explanation.values

    @property
    def std_error(self) -> np.ndarray:
        """Standard errors by the sampling of the run, (K,)."""
        return self.explanation.std_error

    @property
    def feature_names(self) -> tuple[str, ...]:
        """All players, whether in a pair or not."""
        return self.sage.feature_names

    @property
    def model_rows(self) -> int:
        """Rows passed to the model, including those for SAGE values that were computed in the same run."""
        return self.explanation.model_rows

    @property
    def stopped(self) -> StopReason:
        return self.explanation.stopped

    @property
    def converged(self) -> bool:
        return self.explanation.converged

    @property
    def loss(self) -> str:
        return self.explanation.loss

    @property
    def notes(self) -> tuple[Note, ...]:
        return self.explanation.notes

    @property
    def players(self) -> tuple[str, ...]:
        """Names of the players of all pairs, the largest SAGE value first."""
        inside = {name for pair in self.pairs for name in pair}
        return tuple(name for name in self.sage.top(len(self.feature_names)) if name in inside)

    @property
    def is_complete(self) -> bool:
        """True if all pairs of the players are included."""
        k = len(self.players)
        return len(self.pairs) == k * (k - 1) // 2

    @property
    def matrix(self) -> np.ndarray:
        """Values (k, k) between the ``players``, in their order; nan on the diagonal and for other pairs."""
        index = {name: i for i, name in enumerate(self.players)}
        values = np.full((len(index), len(index)), np.nan)
        for (first, second), value in zip(self.pairs, self.values, strict=True):
            values[index[first], index[second]] = values[index[second], index[first]] = value
        return values

    def between(self, first: str, second: str) -> float:
        """Return the interaction of two players, in either order."""
        for pair, value in zip(self.pairs, self.values, strict=True):
            if {first, second} == set(pair):
                return float(value)
        raise InputError("pair", got=f"{(first, second)!r}", wanted="one of the pairs in `pairs`")

    def interval(
        self, level: float = 0.95, *, about: str | None = None, joint: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return low and high ends of an interval for each value, (K,); see :meth:`clarysage.Explanation.interval`."""
        return self.explanation.interval(level, about=about, joint=joint)

    def meanings(self, level: float = 0.95, *, about: str | None = None) -> list[str]:
        """Return the meaning of each value by its interval, such as "worth more together" or "share what they know"."""
        low, high = self.interval(level, about=about)
        words = np.where(low > 0, TOGETHER, np.where(high < 0, SHARED, UNDECIDED))
        return [str(word) for word in np.where((low == 0) & (high == 0), NONE, words)]

    def to_frame(self, level: float = 0.95, *, about: str | None = None) -> pd.DataFrame:
        """Return a pandas DataFrame, the strongest pair first: feature, other, value, std_error, low, high, meaning.

        ``frame.attrs["about"]`` says what the interval is about, ``frame.attrs["unexplained"]`` is ``unexplained``.
        """
        import pandas as pd

        low, high = self.interval(level, about=about)
        first, second = zip(*self.pairs, strict=True)
        columns = {"value": self.values, "std_error": self.std_error, "low": low, "high": high}
        meaning = self.meanings(level, about=about)
        frame = pd.DataFrame({"feature": first, "other": second, **columns, "meaning": meaning})
        frame = frame.iloc[self.order].reset_index(drop=True)
        frame.attrs.update(about=about or self.explanation.shown, unexplained=self.unexplained)
        return frame

    @property
    def order(self) -> np.ndarray:
        """Indices of the pairs, the strongest first."""
        return np.argsort(-np.abs(self.values), kind="stable")

    def table(self, level: float = 0.95, *, about: str | None = None, top: int | None = SHOWN) -> str:
        """Return the printed table of the ``top`` strongest pairs; None for all."""
        return text_of(self.summary(level, about=about), top)

    def plot(self, **options: Any) -> Any:
        """Draw a heat map, or bars for selected pairs; see :func:`clarysage.plots.interactions` for the options."""
        return plots().interactions(self, **options)

    def summary(self, level: float = 0.95, *, about: str | None = None) -> Summary:
        """Return the pairs in brief, the strongest first."""
        about = self.explanation.shown if about is None else about
        words = [unexplained_words(self), interval_words(self.explanation, about), cost_words(self.explanation)]
        return replace(
            self.explanation.summary(level, about=about),
            kind="interactions",
            headline=self.explanation.headline,
            tables=(_table(self, level, about),),
            notes=(*map(Note, words), *self.notes),
            figure=value_bars(self.explanation, [verdicts_about(self.explanation, about, level)], WORDS),
            pictures={"plot": partial(self.plot, about=about)},
        )

    def details(self, level: float = 0.95, *, about: str | None = None) -> Page:
        """Return the page of the values of pairs, with a grid of all pairs."""
        grid = pair_grid(self, level, about)
        picture = [] if grid is None else [Section("pairs", "All pairs", (GRID_WORDS, grid))]
        return page_of_values(
            self.explanation, level, about, WORDS, overview=(Paragraph(unexplained_words(self)),), pictures=picture
        )


GRID_WORDS = Paragraph("Stronger colours are further from zero.", "quiet", key=(TOGETHER, SHARED_IN_TEXT))


def _table(interactions: Interactions, level: float, about: str) -> Table:
    """Returns the table of pairs, the strongest first, with intervals and their meanings."""
    show, order = number_format(interactions.explanation), interactions.order
    low, high = interactions.interval(level, about=about)
    meanings = _meanings_in_text(interactions, level, about)
    return Table(
        (
            Column("features", [interactions.explanation.feature_names[i] for i in order], "name"),
            Column("value", [show(interactions.values[i]) for i in order]),
            Column(f"{100 * level:g}% interval", [f"[{show(low[i])}, {show(high[i])}]" for i in order], "interval"),
            Column("", [meanings[i] for i in order], "words"),
        ),
        weights=np.abs(interactions.values)[order],
        noun="pair",
    )


def _meanings_in_text(interactions: Interactions, level: float, about: str | None) -> list[str]:
    """Returns the meaning of each value in the words of tables and pages."""
    meanings = interactions.meanings(level, about=about)
    return [SHARED_IN_TEXT if meaning == SHARED else meaning for meaning in meanings]


def unexplained_words(interactions: Interactions) -> str:
    """Returns a sentence on how well SAGE values predict the power of subsets of features."""
    share, error = interactions.unexplained, interactions.unexplained_error
    if share is None or error is None:
        return "How much of the variance of v(S) the SAGE values leave unexplained is unknown."
    much = f"{100 * max(share, 0.0):.1f} %" + (f" (± {100 * error:.1f} %)" if error > 0 else "")
    sentence = f"SAGE values leave {much} of the variance of v(S), the power of subsets S, unexplained"
    if share - 2 * error > LITTLE:
        return f"{sentence}: the power of a subset depends on which features it combines."
    return f"{sentence}{': their sums predict it well.' if share + 2 * error <= LITTLE else '.'}"


def pair_grid(interactions: Interactions, level: float, about: str | None) -> Squares | None:
    """Returns the grid of pairs, players with the largest SAGE values first; None for too few players."""
    players = interactions.players[:MOST]
    if len(players) < FEWEST:
        return None
    numbers = interactions.matrix[: len(players), : len(players)]
    show = number_format(interactions.explanation)
    meanings = dict(zip(map(frozenset, interactions.pairs), _meanings_in_text(interactions, level, about), strict=True))
    names = tuple(shortened(name, LABEL_COLUMNS) for name in players)
    texts = [["" if np.isnan(value) else show(value) for value in row] for row in numbers]
    words = [
        [
            f"{names[i]} × {names[j]}: {texts[i][j]}, {meanings.get(frozenset((first, second)), '')}"
            for j, second in enumerate(players)
        ]
        for i, first in enumerate(players)
    ]
    count = "Features"
    if len(interactions.players) > MOST:
        count = f"{len(players):,} of {len(interactions.players):,} features"
    return Squares(
        numbers,
        texts,
        words,
        tuple(players),
        tuple(players),
        "Interactions of all pairs",
        f"{count} by features, those with the largest SAGE values first. The table has all numbers.",
        "Grid of all pairs",
    )
