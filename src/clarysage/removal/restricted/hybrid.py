"""f_S as a mean over hybrid rows: kept columns from the example, withheld ones from background rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clarysage._utils.pace import Pace
from clarysage.models import BoundPredictor
from clarysage.protocols import Check, CodePredictor, Kind, ModelFacts, SingleImputations, Steps, ability
from clarysage.removal.background import distinct_rows, self_match
from clarysage.removal.background_draws import inverse_cdf
from clarysage.removal.restricted.matheron import ConditionalWalks, GaussianSimulation
from clarysage.removal.restricted.native import Native, native_of
from clarysage.removal.restricted.prefixes import FixedRowWalks, at_prefixes, batches, concatenated, evaluate, impute
from clarysage.tables import EncodedTable, Schema

COALITIONS_AT_ONCE = 4096  # masks that are held in memory together
DRAWS_OF_CONDITIONAL = 5  # made together by removals that first have to compute a distribution given the kept cells
CELLS_AT_ONCE = 4_000_000  # of rows of walks that are held in memory together


@dataclass(frozen=True)
class HybridModel:
    r"""The restricted model with withheld columns filled from fixed background rows b_k of weight w_k.

    .. math:: f_S(x_S) = \sum_k w_k f(x_S, b_{k, \bar S})    (Eq. 1, estimated by the sample)

    Attributes
    ----------
    source : (m,) the example that each background row is, -1 for none, if this is known
    is_sampled : whether the rows can be regarded as an independent sample of a population
    simulation : simulation of withheld cells given the kept ones; the rows b_k = b_k(x_S) then depend on the kept
        columns, and ``background`` has the rows for nothing kept
    drawn : the model with all background rows, if this one has only their mean row (which is enough for mean
        predictions of a linear model, but not for single draws)
    encoded : the examples the model was restricted to, until a game keeps them
    """

    predictor: CodePredictor
    background: np.ndarray
    background_weights: np.ndarray
    native: Native | None = None
    remarks: tuple[str, ...] = ()
    rows_of_checks: int = 0
    source: np.ndarray | None = None
    is_sampled: bool = True
    simulation: GaussianSimulation | None = None
    drawn: HybridModel | None = None
    encoded: EncodedTable | None = None

    @property
    def schema(self) -> Schema:
        return self.predictor.schema

    @property
    def facts(self) -> ModelFacts:
        return self.predictor.facts

    def __conform__(self, kind: type[Kind]) -> object:
        """Returns the pace of what is evaluated: the model, or its known structure."""
        if kind is not Pace:
            return None
        return ability(self.predictor, Pace) if self.native is None else self.native.pace

    @property
    def rows_per_prediction(self) -> int:
        return len(self.background)

    @property
    def is_used(self) -> np.ndarray:
        """Mask of the columns that may have an effect, (d,)."""
        return np.ones(self.schema.width, dtype=bool) if self.native is None else self.native.is_used

    def condensed(self) -> HybridModel:
        """Returns an equal model with fewer background rows if possible: for a linear mean, their mean row."""
        if self.native is None or not self.native.is_linear_mean:
            return self
        native = self.native.of_mean_row()
        return replace(self, background=native.inner, background_weights=native.weights, native=native, source=None)

    def with_predictor(self, predictor: CodePredictor) -> HybridModel:
        """Returns the restricted model of another predictor with the same background rows."""
        return HybridModel(
            predictor, self.background, self.background_weights, is_sampled=self.is_sampled, simulation=self.simulation
        )

    def self_match(self, X: np.ndarray) -> np.ndarray | None:
        """Returns the background row that each example is, (N,), -1 for none; None if no example is one."""
        return self_match(X, self.background, self.background_weights, self.source)

    def guarded(self, checks: tuple[Check, ...]) -> HybridModel:
        assert isinstance(self.predictor, BoundPredictor)
        return replace(self, predictor=self.predictor.guarded(checks), encoded=None)

    def full(self, x: np.ndarray) -> np.ndarray:
        return self.predictor(x) if self.native is None else self.native.full(x)

    @cached_property
    def background_outputs(self) -> np.ndarray:
        """The predictions f(b_k) of all background rows, (m, k)."""
        return self.predictor(self.background) if self.native is None else self.native.background_outputs

    def empty(self) -> np.ndarray:
        return np.asarray(mean_over(self.background_outputs[None], self.background_weights)[0])

    def steps(
        self,
        x: np.ndarray,
        full: np.ndarray,
        entry_position: np.ndarray,
        background_index: np.ndarray,
        *,
        skip: bool,
        keep: bool,
    ) -> Steps:
        """Returns f(x_S, b_k) at every proper prefix S of walks, for drawn rows b_k: (n, d), (n, d), (n, q) -> Steps.

        ``full`` (n, k) is f(x); see :func:`~clarysage.removal.restricted.prefixes.evaluate` for ``skip`` and ``keep``.
        """
        if self.native is not None:
            outputs = self.native.steps(x, full, entry_position, background_index)
            return Steps(outputs, outputs[..., 0].size)
        p, d, size = int(entry_position.max()), x.shape[1], self.predictor.rows_per_call
        at_once = len(x) if self.simulation is None else max(1, CELLS_AT_ONCE // (background_index.shape[1] * p * d))
        parts = []
        for start in range(0, len(x), at_once):
            part = slice(start, start + at_once)
            walks = self._walks(x[part], background_index[part], entry_position[part])
            alone = self.background_outputs[background_index[part]]
            parts.append(evaluate(walks, alone, full[part], self.predictor, size, skip=skip, keep=keep))
        return concatenated(parts)

    @property
    def draws_at_once(self) -> int:
        return 1 if self.simulation is None else DRAWS_OF_CONDITIONAL

    def singly(self) -> HybridModel:
        """Returns an equal model for single draws, which are all distinct rows.

        The known structure of trees pays if many rows share split decisions; single rows are faster to pass to the
        model itself.
        """
        if self.drawn is not None:
            return self.drawn
        is_quick = self.native is None or self.native.structure.representation.is_linear
        return self if is_quick else replace(self, native=None)

    def single(self, x: np.ndarray, full: np.ndarray, is_kept: np.ndarray, levels: np.ndarray) -> SingleImputations:
        """Returns f(x_S, b_k) for single background rows b_k, drawn at quantile levels (n, q) of the rows' weights."""
        index, columns = inverse_cdf(self.background_weights, levels), np.flatnonzero(~is_kept)
        if self.native is not None:
            return SingleImputations(*self.native.single(x, full, columns, index), background_index=index)
        if self.simulation is None:
            cells = self.background[index[:, :, None], columns]
        else:
            cells = self.simulation.withheld_cells(x, is_kept, index)
        return SingleImputations(*impute(x, columns, cells, full, self.predictor), background_index=index)

    def _walks(
        self, x: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray
    ) -> FixedRowWalks | ConditionalWalks:
        b = self.background[background_index]
        if self.simulation is None:
            return FixedRowWalks(x, b, entry_position, int(entry_position.max()))
        return ConditionalWalks(x, b, self.simulation.at_prefixes(x, background_index, entry_position))

    def predict(self, x: np.ndarray, is_kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, m = len(x), len(self.background)
        at_once = max(1, self.predictor.rows_per_call // m)
        if m > self.predictor.rows_per_call and self.native is None:
            return np.stack([self._mean_in_parts(x[i], is_kept[i]) for i in range(n)])
        parts = []
        for start in range(0, n, at_once):
            rows = slice(start, start + at_once)
            parts.append(self._means(x[rows], is_kept[rows]))
        return np.concatenate(parts)

    def walk(self, x: np.ndarray, entry_position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if self.native is not None:
            return self.native.walk(x, entry_position, int(entry_position.max()))
        return at_prefixes(self.predict, x, entry_position, rng, coalitions_at_once=COALITIONS_AT_ONCE)

    def each(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """Returns f(x_S, b_k) for every background row: (n, d), (n, d) -> (n, m, k)."""
        if self.native is not None:
            return self.native.each(x, is_kept)
        m, d = self.background.shape
        rows = self._rows(x, is_kept).reshape(-1, d)  # (n m, d)
        size = self.predictor.rows_per_call
        outputs = [self.predictor(rows[start : start + size]) for start in range(0, len(rows), size)]
        return np.concatenate(outputs).reshape(len(x), m, -1)

    def distinct(self, x: np.ndarray, is_kept: np.ndarray) -> DistinctOutputs:
        """Returns f(x_S, b_k) for every background row, with kept columns (d,), from each distinct hybrid row."""
        return DistinctOutputs.of(self.predictor, self.predictor.rows_per_call, x, self.background, is_kept)

    def _rows(self, x: np.ndarray, is_kept: np.ndarray, part: slice = slice(None)) -> np.ndarray:
        """Returns the hybrid rows (n, m, d) with all background rows, or a part of them."""
        if self.simulation is not None:
            return self.simulation.given(x, is_kept, part)
        return np.where(is_kept[:, None, :], x[:, None, :], self.background[part])

    def _means(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        if self.native is not None and len(self.background_weights) == 1:
            return self.native.with_single_row(x, is_kept)
        if self.native is not None:
            return self.native.walk(x, np.where(is_kept, 1, 2), 2)[:, 0]
        return mean_over(self.each(x, is_kept), self.background_weights)

    def _mean_in_parts(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """Returns one f_S(x) over a background that has more rows than a call of the model may have."""
        size = self.predictor.rows_per_call
        first = excess = np.zeros(1)
        for start in range(0, len(self.background), size):
            outputs = self.predictor(self._rows(x[None], is_kept[None], slice(start, start + size))[0])
            first = outputs[0] if start == 0 else first
            excess = excess + _weighted_sum((outputs - first)[None], self.background_weights[start : start + size])[0]
        return np.asarray(first + excess)


@dataclass(frozen=True)
class DistinctOutputs:
    """Predictions for the hybrid rows of one coalition, of which equal ones are passed to the model only once.

    If columns have few distinct values, the kept cells of many of the n examples are equal, and so are the withheld
    cells of many of the m background rows: u times w hybrid rows then stand for all n times m.

    Attributes
    ----------
    outputs : (u, w, k) for distinct kept cells and distinct withheld cells
    of_examples, of_rows : (n,) and (m,), which of them the examples and the background rows have
    """

    outputs: np.ndarray
    of_examples: np.ndarray
    of_rows: np.ndarray

    @classmethod
    def of(
        cls,
        predict: Callable[[np.ndarray], np.ndarray],
        rows_per_call: int,
        x: np.ndarray,
        b: np.ndarray,
        is_kept: np.ndarray,
    ) -> DistinctOutputs:
        """Returns the predictions for examples x (n, d) and background rows b (m, d), with kept columns (d,)."""
        (first_x, of_examples), (first_b, of_rows) = distinct_rows(x[:, is_kept]), distinct_rows(b[:, ~is_kept])
        x, b, outputs = x[first_x], b[first_b], []
        for part in batches(len(x) * len(b), rows_per_call):
            pair = np.arange(part.start, min(part.stop, len(x) * len(b)))
            outputs.append(predict(np.where(is_kept, x[pair // len(b)], b[pair % len(b)])))
        return cls(np.concatenate(outputs).reshape(len(x), len(b), -1), of_examples, of_rows)

    @property
    def rows(self) -> int:
        """Rows that were passed to the model."""
        return int(self.outputs.shape[0] * self.outputs.shape[1])

    def __call__(self, part: slice) -> np.ndarray:
        """Returns the predictions (n, m, k) for a part of the examples."""
        return np.take(
            self.outputs[self.of_examples[part]], self.of_rows, axis=1
        )  # contiguous, as sums of other rows are


def mean_over(outputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns weighted means of (n, m, k) over m; the mean of equal predictions is that prediction to the last bit."""
    first = outputs[:, 0]
    return np.asarray(first + _weighted_sum(outputs - first[:, None], weights))


def _weighted_sum(outputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns weighted sums of (n, m, k) over m, always added in one order, so that idle features get exactly zero."""
    return np.asarray(np.einsum("nbk,b->nk", outputs, weights))


def hybrid_model(
    predictor: BoundPredictor, background: np.ndarray, weights: np.ndarray, X: EncodedTable
) -> HybridModel:
    """Makes the restricted model, with the model's known structure if it passes a check on hybrid rows."""
    reading = native_of(predictor, background, weights, X.codes)
    rows = predictor.rows_asked + reading.rows
    return HybridModel(predictor, background, weights, reading.native, reading.remarks, rows, encoded=X)
