"""What a model's outputs look like, and learned numbers brought into that form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from clarysage._utils.lazy import Lazy
from clarysage._utils.threads import one_thread
from clarysage.losses.classification import SUM_TOLERANCE
from clarysage.models import BoundPredictor
from clarysage.protocols import Check, ModelFacts
from clarysage.removal.background import KnownRows
from clarysage.removal.restricted.hybrid import mean_over
from clarysage.removal.restricted.prefixes import at_prefixes
from clarysage.tables import EncodedTable, Schema

ROWS_AT_ONCE, CELLS_AT_ONCE = 16_384, 2**22
FEWEST = 64

Learner = Callable[[np.ndarray], np.ndarray]  # what is seen (n, 2 d) -> (n, t)


@dataclass(frozen=True)
class OutputForm:
    """The range (k,) of outputs over the background, and whether they are probabilities that add up to one.

    A class that some rows do not have at all, or alone, is held to be that of half a row: what was learned says nothing
    of shares below that, and a loss may not forgive a share of none. No bound is moved past another observed output.

    Examples
    --------
    >>> form = OutputForm.of(np.array([[0.0, 1.0], [0.5, 0.5], [0.4, 0.6]]))
    >>> form(np.array([[1.7], [0.6]])).round(3)
    array([[0.167, 0.833],
           [0.4  , 0.6  ]])
    """

    low: np.ndarray
    high: np.ndarray
    adds_up: bool

    @classmethod
    def of(cls, outputs: np.ndarray, *, is_classifier: bool = False) -> OutputForm:
        low, high = outputs.min(axis=0), outputs.max(axis=0)
        is_share = bool(low.min() >= -SUM_TOLERANCE and high.max() <= 1 + SUM_TOLERANCE)
        off = np.abs(outputs.sum(axis=1) - 1).max()
        adds_up = is_share and outputs.shape[1] > 1 and bool(off <= SUM_TOLERANCE)
        if adds_up or (is_share and is_classifier):
            low, high = _above_none(outputs), np.where(high >= 1, 1 - _above_none(1 - outputs), high)
        return cls(low, high, adds_up)

    def wanted(self, outputs: np.ndarray) -> np.ndarray:
        """Outputs to be learned, (n, t): one of two that add up to one."""
        return outputs[:, -1:] if self.adds_up and outputs.shape[1] == 2 else outputs

    def __call__(self, learned: np.ndarray) -> np.ndarray:
        """Outputs (n, k) of what was learned (n, t)."""
        if learned.shape[1] < len(self.low):
            learned = np.column_stack([1 - learned, learned])
        inside = np.clip(learned, self.low, self.high)
        return np.asarray(inside / inside.sum(axis=1, keepdims=True)) if self.adds_up else inside


def _above_none(shares: np.ndarray) -> np.ndarray:
    """The least share (k,) of each class; half a row, or the least that is there, where some have none."""
    low = shares.min(axis=0)
    there = np.where(shares > 0, shares, np.inf).min(axis=0)
    return np.asarray(np.where((low <= 0) & np.isfinite(there), np.minimum(0.5 / len(shares), there), low))


@dataclass(frozen=True)
class SurrogateModel:
    """The restricted model whose predictions, but for the ends, are those of learners, one for each fold of the rows.

    ``alone`` (m, k) is f of the background rows, ``fold`` (m,) the learner that has not seen each of them.
    They learn from at most so many ``copies`` of rows, when a proper coalition is first asked for.
    """

    predictor: BoundPredictor
    background: np.ndarray
    background_weights: np.ndarray
    alone: np.ndarray
    learners: Lazy[tuple[Learner, ...]]
    form: OutputForm
    fold: np.ndarray
    known: KnownRows
    copies: int
    encoded: EncodedTable | None = None  # the examples it was made for, until a game has them

    @property
    def schema(self) -> Schema:
        return self.predictor.schema

    @property
    def facts(self) -> ModelFacts:
        return self.predictor.facts

    @property
    def remarks(self) -> tuple[str, ...]:
        m = len(self.background_weights)
        rows = f"{m:,}" if m <= self.copies else f"{self.copies:,} of {m:,}"
        said = (
            f"Withheld features follow the kept ones, by a surrogate that has learned from {rows} background rows: "
            "intervals are about rows with the removal as it was fitted. Its predictions count as model rows."
        )
        return (
            (said,)
            if m <= self.copies
            else (said, "More of the background is learned from with a larger memory_limit.")
        )

    @property
    def rows_per_prediction(self) -> int:
        """One, of the surrogate: what costs nothing could not be told from what costs less."""
        return 1

    @property
    def rows_of_checks(self) -> int:
        """The background rows that were learned from, one of which is counted for the empty coalition."""
        return self.predictor.rows_asked + len(self.background_weights) - 1

    def guarded(self, checks: tuple[Check, ...]) -> SurrogateModel:
        for check in checks:
            check(self.alone)
        return replace(self, predictor=self.predictor.guarded(checks), encoded=None)

    def full(self, x: np.ndarray) -> np.ndarray:
        return self.predictor(x)

    def empty(self) -> np.ndarray:
        return np.asarray(mean_over(self.alone[None], self.background_weights)[0])

    def predict(self, x: np.ndarray, is_kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """g(x_S, S); the generator is not used, since nothing is drawn."""
        size = is_kept.sum(axis=1)
        inner, whole = (size > 0) & (size < is_kept.shape[1]), size == is_kept.shape[1]
        outputs = np.repeat(self.empty()[None], len(x), axis=0)
        if whole.any():
            outputs[whole] = self.full(x[whole])
        if inner.any():
            outputs[inner] = self._learned(x[inner], is_kept[inner])
        return outputs

    def walk(self, x: np.ndarray, entry_position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return at_prefixes(self.predict, x, entry_position, rng, coalitions_at_once=self._at_once)

    @property
    def _at_once(self) -> int:
        """Rows that are shown to learners at once."""
        return max(FEWEST, min(ROWS_AT_ONCE, CELLS_AT_ONCE // self.schema.width))

    def _learned(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        own = self.known.places(x)
        fold, all_learners = np.where(own >= 0, self.fold[own], -1), self.learners()
        outputs = np.empty((len(x), self.alone.shape[1]))
        with one_thread():
            for kind in np.unique(fold):
                its = np.flatnonzero(fold == kind)
                learners = all_learners if kind < 0 else all_learners[kind : kind + 1]
                for start in range(0, len(its), self._at_once):
                    part = its[start : start + self._at_once]
                    seen = as_seen(x[part], is_kept[part])
                    said = sum(learner(seen) for learner in learners) / len(learners)
                    outputs[part] = self.form(np.asarray(said))
        return outputs


def as_seen(codes: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
    """Cells (n, d) with those withheld missing, beside marks of the kept ones: (n, 2 d)."""
    return np.hstack([np.where(is_kept, codes, np.nan), is_kept])
