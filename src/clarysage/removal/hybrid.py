"""f_S by hybrid rows: kept columns from the example, withheld ones from background rows, predictions averaged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from clarysage.models import BoundPredictor
from clarysage.models.predictor import Check
from clarysage.removal.matheron import Filling, Passage
from clarysage.removal.native import Native, native_of
from clarysage.removal.prefixes import Itinerary, Steps, at_prefixes, evaluate, joined
from clarysage.removal.single_imputation import Singles, along, put_in
from clarysage.tables import Schema

COALITIONS_AT_ONCE = 4096  # whose masks are held at once
CELLS_AT_ONCE = 4_000_000  # of rows of walks that are made whole


class CodePredictor(Protocol):
    """f for rows of codes (n, d), asked for so many rows at once."""

    @property
    def schema(self) -> Schema: ...

    @property
    def rows_per_call(self) -> int: ...

    def __call__(self, codes: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True)
class HybridModel:
    r"""The restricted model with withheld columns filled from fixed background rows b_k of mass w_k.

    .. math:: f_S(x_S) = \sum_k w_k f(x_S, b_{k, \bar S})    (Eq. 1, by the sample)

    ``source`` (m,) is the example that each background row is, -1 for none, where that is known; ``is_sampled`` says
    whether the rows may be thought of as drawn independently from a population. With a ``filling`` the rows move with
    what is known of x: b_k is then b_k(x_S), and the background has the rows with nothing known. ``drawn`` is the same
    with all its rows, where their mean alone is here, which will do for mean predictions.
    """

    predictor: CodePredictor
    background: np.ndarray
    mass: np.ndarray
    native: Native | None = None
    remarks: tuple[str, ...] = ()
    rows_of_checks: int = 0
    source: np.ndarray | None = None
    is_sampled: bool = True
    filling: Filling | None = None
    drawn: HybridModel | None = None

    @property
    def schema(self) -> Schema:
        return self.predictor.schema

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
        return replace(self, background=native.inner, mass=native.mass, native=native, source=None)

    def guarded(self, checks: tuple[Check, ...]) -> HybridModel:
        assert isinstance(self.predictor, BoundPredictor)
        return replace(self, predictor=self.predictor.guarded(checks))

    def full(self, x: np.ndarray) -> np.ndarray:
        return self.predictor(x) if self.native is None else self.native.full(x)

    @cached_property
    def alone(self) -> np.ndarray:
        """f(b_k) of every background row, (m, k)."""
        return self.predictor(self.background) if self.native is None else self.native.alone

    def empty(self) -> np.ndarray:
        return np.asarray(mean_over(self.alone[None], self.mass)[0])

    def steps(
        self, x: np.ndarray, full: np.ndarray, arrivals: np.ndarray, picks: np.ndarray, *, skip: bool, keep: bool
    ) -> Steps:
        """f(x_S, b_k) at every proper prefix S of walks, for the picked rows b_k: (n, d), (n, d), (n, q) -> Steps.

        ``full`` (n, k) is f(x); see :func:`~clarysage.removal.prefixes.evaluate` for ``skip`` and ``keep``.
        """
        if self.native is not None:
            outputs = self.native.steps(x, full, arrivals, picks)
            return Steps(outputs, outputs[..., 0].size)
        p, d, size = int(arrivals.max()), x.shape[1], self.predictor.rows_per_call
        at_once = len(x) if self.filling is None else max(1, CELLS_AT_ONCE // (picks.shape[1] * p * d))
        parts = []
        for start in range(0, len(x), at_once):
            part = slice(start, start + at_once)
            walks = self._walks(x[part], picks[part], arrivals[part])
            alone = self.alone[picks[part]]
            parts.append(evaluate(walks, alone, full[part], self.predictor, size, skip=skip, keep=keep))
        return joined(parts)

    def singly(self) -> HybridModel:
        """The same with rows to draw from, each of them asked for once.

        What is known of trees pays where many rows share decisions; single ones are soonest answered by the model.
        """
        if self.drawn is not None:
            return self.drawn
        is_quick = self.native is None or self.native.structure.form.is_linear
        return self if is_quick else replace(self, native=None)

    def single(self, x: np.ndarray, full: np.ndarray, kept: np.ndarray, places: np.ndarray) -> Singles:
        """f(x_S, b_k) with single rows b_k, at the given places along the masses; see :mod:`.single_imputation`."""
        picks, columns = along(self.mass, places), np.flatnonzero(~kept)
        if self.native is not None:
            return Singles(*self.native.single(x, full, columns, picks), picks=picks)
        if self.filling is None:
            cells = self.background[picks[:, :, None], columns]
        else:
            cells = self.filling.picked(x, kept, picks)
        return Singles(*put_in(x, columns, cells, full, self.predictor), picks=picks)

    def _walks(self, x: np.ndarray, picks: np.ndarray, arrivals: np.ndarray) -> Itinerary | Passage:
        if self.filling is None:
            return Itinerary(x, self.background[picks], arrivals, int(arrivals.max()))
        return Passage(x, self.background[picks], self.filling.along(x, picks, arrivals))

    def predict(self, x: np.ndarray, kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, m = len(x), len(self.background)
        at_once = max(1, self.predictor.rows_per_call // m)
        if m > self.predictor.rows_per_call and self.native is None:
            return np.stack([self._mean_in_parts(x[i], kept[i]) for i in range(n)])
        parts = []
        for start in range(0, n, at_once):
            rows = slice(start, start + at_once)
            parts.append(self._means(x[rows], kept[rows]))
        return np.concatenate(parts)

    def walk(self, x: np.ndarray, arrivals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if self.native is not None:
            return self.native.walk(x, arrivals, int(arrivals.max()))
        return at_prefixes(self.predict, x, arrivals, rng, coalitions_at_once=COALITIONS_AT_ONCE)

    def each(self, x: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """f(x_S, b_k) for every background row: (n, d), (n, d) -> (n, m, k)."""
        if self.native is not None:
            return self.native.each(x, kept)
        m, d = self.background.shape
        rows = self._rows(x, kept).reshape(-1, d)  # (n m, d)
        size = self.predictor.rows_per_call
        outputs = [self.predictor(rows[start : start + size]) for start in range(0, len(rows), size)]
        return np.concatenate(outputs).reshape(len(x), m, -1)

    def _rows(self, x: np.ndarray, kept: np.ndarray, part: slice = slice(None)) -> np.ndarray:
        """Hybrid rows (n, m, d), or those of a part of the background."""
        if self.filling is not None:
            return self.filling.at(x, kept, part)
        return np.where(kept[:, None, :], x[:, None, :], self.background[part])

    def _means(self, x: np.ndarray, kept: np.ndarray) -> np.ndarray:
        if self.native is not None and len(self.mass) == 1:
            return self.native.beside_one(x, kept)
        if self.native is not None:
            return self.native.walk(x, np.where(kept, 1, 2), 2)[:, 0]
        return mean_over(self.each(x, kept), self.mass)

    def _mean_in_parts(self, x: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """One f_S(x) over a background larger than a call of the model."""
        size = self.predictor.rows_per_call
        first = excess = np.zeros(1)
        for start in range(0, len(self.background), size):
            outputs = self.predictor(self._rows(x[None], kept[None], slice(start, start + size))[0])
            first = outputs[0] if start == 0 else first
            excess = excess + _weighted((outputs - first)[None], self.mass[start : start + size])[0]
        return np.asarray(first + excess)


def mean_over(outputs: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Means of (n, m, k) over m by mass; that of equal predictions is that prediction to the last bit."""
    first = outputs[:, 0]
    return np.asarray(first + _weighted(outputs - first[:, None], mass))


def _weighted(outputs: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Sums of (n, m, k) over m by mass: the one way to add, so that a feature without effect has exactly none."""
    return np.asarray(np.einsum("nbk,b->nk", outputs, mass))


def hybrid_model(predictor: BoundPredictor, background: np.ndarray, mass: np.ndarray, X: np.ndarray) -> HybridModel:
    """The restricted model, with the predictor's structure where it proves right on hybrid rows of X and background."""
    found = native_of(predictor, background, mass, X)
    rows = predictor.rows_asked + found.rows
    return HybridModel(predictor, background, mass, found.native, found.remarks, rows)
