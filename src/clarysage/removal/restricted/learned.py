"""f_S as the prediction of a regressor that takes coalitions: learned from the model's predictions for masked rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from clarysage._utils.lazy import Lazy
from clarysage._utils.threads import one_thread
from clarysage.losses.classification import SUM_TOLERANCE
from clarysage.models import BoundPredictor
from clarysage.protocols import Check, ModelFacts
from clarysage.removal.background import SelfMatchLookup
from clarysage.removal.restricted.hybrid import mean_over
from clarysage.removal.restricted.prefixes import at_prefixes
from clarysage.tables import EncodedTable, Schema

ROWS_AT_ONCE, CELLS_AT_ONCE = 16_384, 2**22  # of inputs that learners get in one call
FEWEST = 64

Learner = Callable[[np.ndarray], np.ndarray]  # masked inputs (n, 2 d) -> learned outputs (n, t)


@dataclass(frozen=True)
class SurrogateModel:
    """The restricted model whose predictions, except f(x) and the mean, are those of cross-fitted learners.

    Attributes
    ----------
    background_outputs : (m, k) predictions f(b_k) of the background rows
    learners : one for each fold of the background rows, fitted when a proper coalition is first evaluated
    fold : (m,) the learner that was not fitted to each background row
    copies : the number of masked rows that learners are fitted to, which bounds the background rows among them
    encoded : the examples the model was restricted to, until a game keeps them
    """

    predictor: BoundPredictor
    background: np.ndarray
    background_weights: np.ndarray
    background_outputs: np.ndarray
    learners: Lazy[tuple[Learner, ...]]
    output_range: OutputRange
    fold: np.ndarray
    self_matches: SelfMatchLookup
    copies: int
    encoded: EncodedTable | None = None

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
        note = (
            f"Predictions without the withheld features are those of a surrogate, fitted to {rows} background rows. "
            "Intervals cover the sampling of rows with the removal as it was fitted. Predictions of the surrogate "
            "count as model rows."
        )
        hint = "With a larger memory_limit the surrogate is fitted to more background rows."
        return (note,) if m <= self.copies else (note, hint)

    @property
    def rows_per_prediction(self) -> int:
        """One row, of the surrogate: a count of zero could not tell a long run from a short one."""
        return 1

    @property
    def rows_of_checks(self) -> int:
        """Rows of the first checks, and background rows that were learned from; one counts as the empty coalition."""
        return self.predictor.rows_asked + len(self.background_weights) - 1

    def guarded(self, checks: tuple[Check, ...]) -> SurrogateModel:
        for check in checks:
            check(self.background_outputs)
        return replace(self, predictor=self.predictor.guarded(checks), encoded=None)

    def full(self, x: np.ndarray) -> np.ndarray:
        return self.predictor(x)

    def empty(self) -> np.ndarray:
        return np.asarray(mean_over(self.background_outputs[None], self.background_weights)[0])

    def predict(self, x: np.ndarray, is_kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns f_S(x); the generator is not used, since nothing is drawn."""
        size = is_kept.sum(axis=1)
        is_inner, is_full = (size > 0) & (size < is_kept.shape[1]), size == is_kept.shape[1]
        outputs = np.repeat(self.empty()[None], len(x), axis=0)
        if is_full.any():
            outputs[is_full] = self.full(x[is_full])
        if is_inner.any():
            outputs[is_inner] = self._learned(x[is_inner], is_kept[is_inner])
        return outputs

    def walk(self, x: np.ndarray, entry_position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return at_prefixes(self.predict, x, entry_position, rng, coalitions_at_once=self._at_once)

    @property
    def _at_once(self) -> int:
        """The number of rows in one call of a learner."""
        return max(FEWEST, min(ROWS_AT_ONCE, CELLS_AT_ONCE // self.schema.width))

    def _learned(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """Returns predictions of the mean learner; for a self-match, of the learner that was not fitted to it."""
        self_match = self.self_matches.look_up(x)
        fold, all_learners = np.where(self_match >= 0, self.fold[self_match], -1), self.learners()
        outputs = np.empty((len(x), self.background_outputs.shape[1]))
        with one_thread():
            for number in np.unique(fold):
                rows = np.flatnonzero(fold == number)
                learners = all_learners if number < 0 else all_learners[number : number + 1]
                for start in range(0, len(rows), self._at_once):
                    part = rows[start : start + self._at_once]
                    inputs = masked_inputs(x[part], is_kept[part])
                    learned = sum(learner(inputs) for learner in learners) / len(learners)
                    outputs[part] = self.output_range(np.asarray(learned))
        return outputs


def masked_inputs(codes: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
    """Returns the inputs (n, 2 d) of learners: cells (n, d), missing where withheld, and the mask of kept columns."""
    return np.hstack([np.where(is_kept, codes, np.nan), is_kept])


@dataclass(frozen=True)
class OutputRange:
    """The range (k,) of outputs over the background, and whether they are probabilities that add up to one.

    Learned outputs are clipped to the range. A probability of exactly 0 or 1 in the background counts as that of half a
    row, since the data say nothing about smaller probabilities, and a loss may be infinite at 0. No bound moves beyond
    another observed output.

    Examples
    --------
    >>> output_range = OutputRange.of(np.array([[0.0, 1.0], [0.5, 0.5], [0.4, 0.6]]))
    >>> output_range(np.array([[1.7], [0.6]])).round(3)
    array([[0.167, 0.833],
           [0.4  , 0.6  ]])
    """

    low: np.ndarray
    high: np.ndarray
    adds_up: bool

    @classmethod
    def of(cls, outputs: np.ndarray, *, is_classifier: bool = False) -> OutputRange:
        low, high = outputs.min(axis=0), outputs.max(axis=0)
        is_share = bool(low.min() >= -SUM_TOLERANCE and high.max() <= 1 + SUM_TOLERANCE)
        error = np.abs(outputs.sum(axis=1) - 1).max()
        adds_up = is_share and outputs.shape[1] > 1 and bool(error <= SUM_TOLERANCE)
        if adds_up or (is_share and is_classifier):
            low, high = _least_above_zero(outputs), np.where(high >= 1, 1 - _least_above_zero(1 - outputs), high)
        return cls(low, high, adds_up)

    def targets(self, outputs: np.ndarray) -> np.ndarray:
        """Returns the outputs to learn, (n, t): of two that add up to one, the second."""
        return outputs[:, -1:] if self.adds_up and outputs.shape[1] == 2 else outputs

    def __call__(self, learned: np.ndarray) -> np.ndarray:
        """Returns outputs (n, k) within the range from learned ones (n, t)."""
        if learned.shape[1] < len(self.low):
            learned = np.column_stack([1 - learned, learned])
        clipped = np.clip(learned, self.low, self.high)
        return np.asarray(clipped / clipped.sum(axis=1, keepdims=True)) if self.adds_up else clipped


def _least_above_zero(probabilities: np.ndarray) -> np.ndarray:
    """Returns the least probability (k,) of each class; if that is zero, half a row's or the least positive one."""
    low = probabilities.min(axis=0)
    least = np.where(probabilities > 0, probabilities, np.inf).min(axis=0)
    return np.asarray(np.where((low <= 0) & np.isfinite(least), np.minimum(0.5 / len(probabilities), least), low))
