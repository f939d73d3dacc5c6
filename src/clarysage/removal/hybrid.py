"""f_S by hybrid rows: kept columns from the example, withheld ones from background rows, predictions averaged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from clarysage.models import BoundPredictor
from clarysage.models.predictor import Check
from clarysage.removal.steps import Itinerary, Steps, evaluate, settled
from clarysage.structure.linear import LinearMap
from clarysage.tables import Schema

SELF_CHECK_ROWS = 256
COALITIONS_AT_ONCE = 4096  # whose masks are held at once


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
    whether the rows may be thought of as drawn independently from a population.
    """

    predictor: CodePredictor
    background: np.ndarray
    mass: np.ndarray
    structure: LinearMap | None = None
    remarks: tuple[str, ...] = ()
    rows_of_checks: int = 0
    source: np.ndarray | None = None
    is_sampled: bool = True

    @property
    def schema(self) -> Schema:
        return self.predictor.schema

    @property
    def rows_per_prediction(self) -> int:
        return len(self.background)

    def condensed(self) -> HybridModel:
        """The same with as few background rows as will do: the mean of a linear function is that of the mean row."""
        if self.structure is None or self.structure.link != "identity":
            return self
        return replace(self, background=self.mass[None] @ self.background, mass=np.ones(1), source=None)

    def guarded(self, checks: tuple[Check, ...]) -> HybridModel:
        assert isinstance(self.predictor, BoundPredictor)
        return replace(self, predictor=self.predictor.guarded(checks))

    def full(self, x: np.ndarray) -> np.ndarray:
        return self.predictor(x)

    @cached_property
    def alone(self) -> np.ndarray:
        """f(b_k) of every background row, (m, k)."""
        return self.predictor(self.background) if self.structure is None else self.structure(self.background)

    def empty(self) -> np.ndarray:
        return np.asarray(mean_over(self.alone[None], self.mass)[0])

    def steps(
        self, x: np.ndarray, full: np.ndarray, arrivals: np.ndarray, picks: np.ndarray, *, skip: bool, keep: bool
    ) -> Steps:
        """f(x_S, b_k) at every proper prefix S of walks, for the picked rows b_k: (n, d), (n, d), (n, q) -> Steps.

        ``full`` (n, k) is f(x); see :func:`~clarysage.removal.steps.evaluate` for ``skip`` and ``keep``.
        """
        walks = Itinerary(x, self.background[picks], arrivals, int(arrivals.max()))
        if self.structure is None:
            size = self.predictor.rows_per_call
            return evaluate(walks, self.alone[picks], full, self.predictor, size, skip=skip, keep=keep)
        count = walks.changes((self.structure.weights != 0).any(axis=1))
        outputs = self.structure.steps(x, walks.b, arrivals)
        outputs = settled(outputs, count[:, :, :-1], count[:, :, -1:], self.alone[picks], full)
        return Steps(outputs, outputs[..., 0].size)

    def predict(self, x: np.ndarray, kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n, m = len(x), len(self.background)
        at_once = max(1, self.predictor.rows_per_call // m)
        if m > self.predictor.rows_per_call:
            return np.stack([self._mean_in_parts(x[i], kept[i]) for i in range(n)])
        parts = []
        for start in range(0, n, at_once):
            rows = slice(start, start + at_once)
            parts.append(self._means(x[rows], kept[rows]))
        return np.concatenate(parts)

    def walk(self, x: np.ndarray, arrivals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if self.structure is not None:
            return self.structure.walk(x, self.background, self.mass, arrivals)
        inner = np.arange(1, int(arrivals.max()))
        at_once = max(1, COALITIONS_AT_ONCE // len(inner))
        parts = []
        for start in range(0, len(x), at_once):
            rows = slice(start, start + at_once)
            kept = arrivals[rows, None, :] <= inner[:, None]  # (n, p - 1, d)
            shown = np.repeat(x[rows], len(inner), axis=0)
            parts.append(self.predict(shown, kept.reshape(shown.shape), rng))
        return np.concatenate(parts).reshape(len(x), len(inner), -1)

    def each(self, x: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """f(x_S, b_k) for every background row: (n, d), (n, d) -> (n, m, k)."""
        if self.structure is not None:
            return self.structure.each(x, self.background, kept)
        m, d = self.background.shape
        rows = np.where(kept[:, None, :], x[:, None, :], self.background).reshape(-1, d)  # (n m, d)
        size = self.predictor.rows_per_call
        outputs = [self.predictor(rows[start : start + size]) for start in range(0, len(rows), size)]
        return np.concatenate(outputs).reshape(len(x), m, -1)

    def _means(self, x: np.ndarray, kept: np.ndarray) -> np.ndarray:
        if self.structure is not None:
            return self.structure.predict(x, self.background, self.mass, kept)
        return mean_over(self.each(x, kept), self.mass)

    def _mean_in_parts(self, x: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """One f_S(x) over a background larger than a call of the model."""
        size = self.predictor.rows_per_call
        first = excess = np.zeros(1)
        for start in range(0, len(self.background), size):
            outputs = self.predictor(np.where(kept, x, self.background[start : start + size]))
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
    plain = HybridModel(predictor, background, mass, rows_of_checks=predictor.rows_asked)
    structure = predictor.predictor.structure
    if structure is None or not predictor.schema.is_number.all() or len(structure.weights) != X.shape[1]:
        return plain
    if not (np.isfinite(X).all() and np.isfinite(background).all()):
        return plain
    count = min(SELF_CHECK_ROWS, max(len(X), len(background)))
    rows, others = np.resize(np.arange(len(X)), count), np.resize(np.arange(len(background)), count)
    kept = np.random.default_rng(0).random((count, X.shape[1])) < 0.5
    hybrid = np.where(kept, X[rows], background[others])
    said, known = predictor(hybrid), structure(hybrid)
    if said.shape == known.shape and np.allclose(said, known, rtol=1e-9, atol=1e-9 * max(np.abs(said).max(), 1e-300)):
        return replace(plain, structure=structure, rows_of_checks=plain.rows_of_checks + count)
    remark = (
        f"{predictor.predictor.name} was asked row by row: on hybrid rows its predictions differ from those of its "
        "coefficients."
    )
    return replace(plain, remarks=(remark,), rows_of_checks=plain.rows_of_checks + count)
