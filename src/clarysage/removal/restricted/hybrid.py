"""f_S by hybrid rows: kept columns from the example, withheld ones from background rows, predictions averaged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clarysage.models import BoundPredictor
from clarysage.protocols import Check, CodePredictor, ModelFacts, Singles, Steps
from clarysage.removal.background import self_match
from clarysage.removal.background_draws import at_levels
from clarysage.removal.restricted.matheron import Filling, Passage
from clarysage.removal.restricted.native import Native, native_of
from clarysage.removal.restricted.prefixes import Itinerary, at_prefixes, evaluate, joined, put_in
from clarysage.tables import EncodedTable, Schema

COALITIONS_AT_ONCE = 4096  # whose masks are held at once
DRAWS_OF_CONDITIONAL = 5  # made together, where what is known of an example has to be looked at first
CELLS_AT_ONCE = 4_000_000  # of rows of walks that are made whole


@dataclass(frozen=True)
class HybridModel:
    r"""The restricted model with withheld columns filled from fixed background rows b_k of weight w_k.

    .. math:: f_S(x_S) = \sum_k w_k f(x_S, b_{k, \bar S})    (Eq. 1, by the sample)

    ``source`` (m,) is the example that each background row is, -1 for none, where that is known; ``is_sampled`` says
    whether the rows may be thought of as drawn independently from a population. With a ``filling`` the rows move with
    what is known of x: b_k is then b_k(x_S), and the background has the rows with nothing known. ``drawn`` is the model
    with all background rows, where this one has only their mean row (enough for mean predictions, not for single
    draws). ``encoded`` are the examples it was made for, until a game has them.
    """

    predictor: CodePredictor
    background: np.ndarray
    background_weights: np.ndarray
    native: Native | None = None
    remarks: tuple[str, ...] = ()
    rows_of_checks: int = 0
    source: np.ndarray | None = None
    is_sampled: bool = True
    filling: Filling | None = None
    drawn: HybridModel | None = None
    encoded: EncodedTable | None = None

    @property
    def schema(self) -> Schema:
        return self.predictor.schema

    @property
    def facts(self) -> ModelFacts:
        return self.predictor.facts

    @property
    def rows_per_prediction(self) -> int:
        return len(self.background)

    @property
    def is_used(self) -> np.ndarray:
        """Which columns are not known to have no effect, (d,)."""
        return np.ones(self.schema.width, dtype=bool) if self.native is None else self.native.is_used

    def condensed(self) -> HybridModel:
        """The same with as few background rows as will do: the mean of a linear function is that of the mean row."""
        if self.native is None or not self.native.is_linear_mean:
            return self
        native = self.native.of_mean_row()
        return replace(self, background=native.inner, background_weights=native.weights, native=native, source=None)

    def asking(self, predictor: CodePredictor) -> HybridModel:
        """The same rows, asked of another model."""
        return HybridModel(
            predictor, self.background, self.background_weights, is_sampled=self.is_sampled, filling=self.filling
        )

    def self_match(self, X: np.ndarray) -> np.ndarray | None:
        """The background row that each example is, (N,), -1 for none; None where no example is one."""
        return self_match(X, self.background, self.background_weights, self.source)

    def guarded(self, checks: tuple[Check, ...]) -> HybridModel:
        assert isinstance(self.predictor, BoundPredictor)
        return replace(self, predictor=self.predictor.guarded(checks), encoded=None)

    def full(self, x: np.ndarray) -> np.ndarray:
        return self.predictor(x) if self.native is None else self.native.full(x)

    @cached_property
    def alone(self) -> np.ndarray:
        """f(b_k) of every background row, (m, k)."""
        return self.predictor(self.background) if self.native is None else self.native.alone

    def empty(self) -> np.ndarray:
        return np.asarray(mean_over(self.alone[None], self.background_weights)[0])

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
        """f(x_S, b_k) at every proper prefix S of walks, for the picked rows b_k: (n, d), (n, d), (n, q) -> Steps.

        ``full`` (n, k) is f(x); see :func:`~clarysage.removal.restricted.prefixes.evaluate` for ``skip`` and ``keep``.
        """
        if self.native is not None:
            outputs = self.native.steps(x, full, entry_position, background_index)
            return Steps(outputs, outputs[..., 0].size)
        p, d, size = int(entry_position.max()), x.shape[1], self.predictor.rows_per_call
        at_once = len(x) if self.filling is None else max(1, CELLS_AT_ONCE // (background_index.shape[1] * p * d))
        parts = []
        for start in range(0, len(x), at_once):
            part = slice(start, start + at_once)
            walks = self._walks(x[part], background_index[part], entry_position[part])
            alone = self.alone[background_index[part]]
            parts.append(evaluate(walks, alone, full[part], self.predictor, size, skip=skip, keep=keep))
        return joined(parts)

    @property
    def draws_at_once(self) -> int:
        return 1 if self.filling is None else DRAWS_OF_CONDITIONAL

    def singly(self) -> HybridModel:
        """The same with rows to draw from, each of them asked for once.

        What is known of trees pays where many rows share decisions; single ones are soonest answered by the model.
        """
        if self.drawn is not None:
            return self.drawn
        is_quick = self.native is None or self.native.structure.representation.is_linear
        return self if is_quick else replace(self, native=None)

    def single(self, x: np.ndarray, full: np.ndarray, is_kept: np.ndarray, levels: np.ndarray) -> Singles:
        """f(x_S, b_k) with single rows b_k, at quantile levels of the weights."""
        picks, columns = at_levels(self.background_weights, levels), np.flatnonzero(~is_kept)
        if self.native is not None:
            return Singles(*self.native.single(x, full, columns, picks), background_index=picks)
        if self.filling is None:
            cells = self.background[picks[:, :, None], columns]
        else:
            cells = self.filling.picked(x, is_kept, picks)
        return Singles(*put_in(x, columns, cells, full, self.predictor), background_index=picks)

    def _walks(self, x: np.ndarray, picks: np.ndarray, entry_position: np.ndarray) -> Itinerary | Passage:
        if self.filling is None:
            return Itinerary(x, self.background[picks], entry_position, int(entry_position.max()))
        return Passage(x, self.background[picks], self.filling.along(x, picks, entry_position))

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
        """f(x_S, b_k) for every background row: (n, d), (n, d) -> (n, m, k)."""
        if self.native is not None:
            return self.native.each(x, is_kept)
        m, d = self.background.shape
        rows = self._rows(x, is_kept).reshape(-1, d)  # (n m, d)
        size = self.predictor.rows_per_call
        outputs = [self.predictor(rows[start : start + size]) for start in range(0, len(rows), size)]
        return np.concatenate(outputs).reshape(len(x), m, -1)

    def _rows(self, x: np.ndarray, is_kept: np.ndarray, part: slice = slice(None)) -> np.ndarray:
        """Hybrid rows (n, m, d), or those of a part of the background."""
        if self.filling is not None:
            return self.filling.at(x, is_kept, part)
        return np.where(is_kept[:, None, :], x[:, None, :], self.background[part])

    def _means(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        if self.native is not None and len(self.background_weights) == 1:
            return self.native.beside_one(x, is_kept)
        if self.native is not None:
            return self.native.walk(x, np.where(is_kept, 1, 2), 2)[:, 0]
        return mean_over(self.each(x, is_kept), self.background_weights)

    def _mean_in_parts(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """One f_S(x) over a background larger than a call of the model."""
        size = self.predictor.rows_per_call
        first = excess = np.zeros(1)
        for start in range(0, len(self.background), size):
            outputs = self.predictor(self._rows(x[None], is_kept[None], slice(start, start + size))[0])
            first = outputs[0] if start == 0 else first
            excess = excess + _weighted((outputs - first)[None], self.background_weights[start : start + size])[0]
        return np.asarray(first + excess)


def mean_over(outputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Means of (n, m, k) over m by weight; that of equal predictions is that prediction to the last bit."""
    first = outputs[:, 0]
    return np.asarray(first + _weighted(outputs - first[:, None], weights))


def _weighted(outputs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sums of (n, m, k) over m by weight: the one way to add, so that a feature without effect has exactly none."""
    return np.asarray(np.einsum("nbk,b->nk", outputs, weights))


def hybrid_model(
    predictor: BoundPredictor, background: np.ndarray, weights: np.ndarray, X: EncodedTable
) -> HybridModel:
    """The restricted model, with the predictor's structure where it proves right on hybrid rows of X and background."""
    found = native_of(predictor, background, weights, X.codes)
    rows = predictor.rows_asked + found.rows
    return HybridModel(predictor, background, weights, found.native, found.remarks, rows, encoded=X)
