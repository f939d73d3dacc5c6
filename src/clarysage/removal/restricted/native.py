"""A model's structure beside the background of a run: walks that follow margins instead of asking the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from clarysage.errors import ClarysageError
from clarysage.models import BoundPredictor
from clarysage.removal.background import bits, marks
from clarysage.removal.restricted.prefixes import Itinerary, put_in, settled
from clarysage.structure.base import DOUBLE_ROUNDING, BackgroundEvaluator, Structure, UnknownStructureError, apply_link
from clarysage.tables import Schema

BYTES_AT_HAND = 2**29  # of background rows as a form sees them
BYTES_REMEMBERED = 2**28  # of examples
SELF_CHECK_ROWS = 256
VISIBLE = 1e-3  # as a share of the range of predictions
TIES = 0.25  # share of the cells of these rows that are put on a threshold, or next to it


@dataclass(frozen=True)
class Native:
    """f(x_S, b_k) by the model's insides.

    Attributes
    ----------
    codes, inner : (m, d), (m, D) the background rows, and these as the insides have them
    varies : (d,) columns that are not the same in all examples and background rows
    """

    structure: Structure
    schema: Schema
    codes: np.ndarray
    inner: np.ndarray
    weights: np.ndarray
    varies: np.ndarray
    examples: Memory | None = None

    @property
    def is_linear_mean(self) -> bool:
        """Whether the mean prediction is the prediction of the mean row."""
        s = self.structure
        return s.link == "identity" and s.representation.is_linear and s.view is None

    def of_mean_row(self) -> Native:
        """The same with the mean row alone."""
        mean = self.inner[:1] + self.weights[None] @ (self.inner - self.inner[:1])  # of equal cells, that cell
        return replace(self, codes=mean, inner=mean, weights=np.ones(1))

    @cached_property
    def rows(self) -> np.ndarray:
        """The background rows as the form sees them."""
        return self.structure.representation.encode(self.inner)

    @cached_property
    def evaluator(self) -> BackgroundEvaluator:
        return self.structure.representation.with_background(self.rows, self.weights, self.structure.link)

    @cached_property
    def alone(self) -> np.ndarray:
        """f(b_k), (m, k)."""
        return apply_link(self.structure.representation.margins(self.rows), self.structure.link)

    def steps(
        self, x: np.ndarray, full: np.ndarray, entry_position: np.ndarray, background_index: np.ndarray
    ) -> np.ndarray:
        """f(x_S, b_k) at every proper prefix S of walks, for the picked rows b_k: (n, q, p - 1, k)."""
        steps = int(entry_position.max())
        count = Itinerary(x, self.codes[background_index], entry_position, steps).changes(self.is_used)
        encoded = self.looked_at(x)[1]
        margins = self.structure.representation.prefix_margins(
            encoded, self.rows, background_index, entry_position, steps
        )
        outputs, alone = apply_link(margins, self.structure.link), self.alone[background_index]
        settled(outputs, count[:, :, :-1], count[:, :, -1:], alone, full)
        if self.is_used.any():  # f(x) may differ in the last bits from that of an equal row b_k
            is_start = np.arange(1, steps) < entry_position[:, self.is_used].min(axis=1, keepdims=True)
            np.copyto(outputs, alone[:, :, None, :], where=is_start[:, None, :, None])
        return outputs

    def single(
        self, x: np.ndarray, full: np.ndarray, columns: np.ndarray, background_index: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """f(x) with columns (c,) of picked rows (n, q); see :func:`~clarysage.removal.restricted.prefixes.put_in`."""
        s, d = self.structure, len(self.varies)
        owner = np.arange(d) if s.owner is None else s.owner
        inner = np.flatnonzero(s.representation.is_used & np.isin(owner, columns[self.varies[columns]]))
        z = x if s.view is None else self.looked_at(x)[0]
        return put_in(z, inner, self.inner[background_index[:, :, None], inner], full, s)

    def full(self, x: np.ndarray) -> np.ndarray:
        """f(x), (n, k): as walks have it, since a model that adds up in single precision has other last digits."""
        return apply_link(self.structure.representation.margins(self.looked_at(x)[1]), self.structure.link)

    def walk(self, x: np.ndarray, entry_position: np.ndarray, steps: int) -> np.ndarray:
        """Mean predictions at every proper prefix, over all background rows: (n, p - 1, k)."""
        return self.evaluator.walk(self.looked_at(x)[1], entry_position, steps)

    def beside_one(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """f(x_S, b) of a background of one row: (n, d), (n, d) -> (n, k). All at once, where walks go row by row."""
        owner = np.arange(len(self.varies)) if self.structure.owner is None else self.structure.owner
        return self.structure(np.where(is_kept[:, owner], self.looked_at(x)[0], self.inner[0]))

    @cached_property
    def is_used(self) -> np.ndarray:
        """Which of the model's columns have any effect, (d,)."""
        s = self.structure
        is_used = s.representation.is_used
        if s.owner is not None:
            is_used = np.isin(np.arange(len(self.varies)), s.owner[is_used])
        return np.asarray(is_used & self.varies)

    def each(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """f(x_S, b_k) for every background row: (n, m, k)."""
        margins = self.structure.representation.hybrid_margins(self.looked_at(x)[1], self.rows, is_kept)
        return apply_link(margins, self.structure.link)

    def looked_at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of codes as inner rows, and as the form sees them; those of examples are remembered."""
        places = None if self.examples is None else self.examples.places(x)
        if self.examples is not None and places is not None:
            return self.examples.inner[places], self.examples.seen[places]
        z = inner_rows(self.structure, self.schema, x)
        return z, self.structure.representation.encode(z)


@dataclass(frozen=True)
class Memory:
    """Rows that come up again and again: their codes, and what was made of them.

    ``order`` sorts them by their marks.
    """

    codes: np.ndarray
    inner: np.ndarray
    seen: np.ndarray
    marks: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, structure: Structure, schema: Schema, codes: np.ndarray) -> Memory | None:
        """A memory of rows of codes; None where it would be too large."""
        one = inner_rows(structure, schema, codes[:1])
        if len(codes) * (one.nbytes + structure.representation.encode(one).nbytes) > BYTES_REMEMBERED:
            return None
        inner, found = inner_rows(structure, schema, codes), marks(codes)
        return cls(codes, inner, structure.representation.encode(inner), found, np.argsort(found, kind="stable"))

    def places(self, x: np.ndarray) -> np.ndarray | None:
        """Where rows of codes are in the memory; None where some are not."""
        places = np.searchsorted(self.marks, marks(x), sorter=self.order)
        places = self.order[np.minimum(places, len(self.order) - 1)]
        return places if np.array_equal(bits(self.codes[places]), bits(x)) else None


@dataclass(frozen=True)
class Found:
    """What came of looking into a model: its structure beside the background, or a remark; and the rows it took."""

    native: Native | None = None
    remarks: tuple[str, ...] = ()
    rows: int = 0


def native_of(predictor: BoundPredictor, background: np.ndarray, weights: np.ndarray, X: np.ndarray) -> Found:
    """The structure of a model, where it has one that proves right on hybrid rows of X and background."""
    name, read = predictor.predictor.name, predictor.predictor.structure
    if read is None:
        return Found()
    try:
        structure = read()
        return _proven(structure, predictor, background, weights, X)
    except UnknownStructureError as error:
        return Found(remarks=(f"{name} was asked row by row: {error}.",))
    except ClarysageError:  # of the model itself, which cannot be asked either
        raise
    except Exception as error:  # a library whose insides have changed, or rows that a transformer refuses
        return Found(remarks=(f"{name} was asked row by row: its insides were not understood ({error!r}).",))


def _proven(
    structure: Structure, predictor: BoundPredictor, background: np.ndarray, weights: np.ndarray, X: np.ndarray
) -> Found:
    name, inner = predictor.predictor.name, inner_rows(structure, predictor.schema, background)
    d = X.shape[1]
    if inner.shape[1] != len(structure.representation.is_used):
        return Found()
    owner = np.arange(d) if structure.owner is None else structure.owner
    if structure.view is not None and not _is_apart(structure.view, owner, predictor.schema, background, X, inner):
        return Found(remarks=(f"{name} was asked row by row: it does not keep columns apart as it was thought to.",))
    structure = replace(structure, representation=structure.representation.with_owner(owner))
    if len(background) * structure.representation.encode(inner[:1]).nbytes > BYTES_AT_HAND:
        return Found(remarks=(f"{name} was asked row by row: it is too large to be taken apart.",))
    rows = _trial(structure, background, X)
    widened = predictor.schema.widened(rows)
    tried = inner_rows(structure, widened, rows)
    if not structure.representation.takes_missing and not (np.isfinite(tried).all() and np.isfinite(inner).all()):
        return Found()
    said, known = replace(predictor, schema=widened)(rows), structure(tried)
    if said.shape == known.shape and _is_same(said, known, structure):
        memory = Memory.of(structure, predictor.schema, X)
        varies = np.any([(bits(part) != bits(background[:1])).any(axis=0) for part in (X, background)], axis=0)
        return Found(Native(structure, predictor.schema, background, inner, weights, varies, memory), rows=len(rows))
    remark = f"{name} was asked row by row: on hybrid rows its predictions differ from those of its structure."
    return Found(remarks=(remark,), rows=len(rows))


def _is_same(said: np.ndarray, known: np.ndarray, structure: Structure) -> bool:
    """Whether predictions (n, k) are the same, but for rounding, and that small beside how they differ among rows."""
    off, spread = np.abs(said - known), np.ptp(said, axis=0)
    size = np.abs(said) if structure.link == "exponential" else np.abs(said).max()
    is_visible = (off > VISIBLE * spread) & (spread > 0)
    return bool((off <= structure.rounding * size).all() and not is_visible.any())


def _is_apart(
    view: Callable[[Any], np.ndarray],
    owner: np.ndarray,
    schema: Schema,
    background: np.ndarray,
    X: np.ndarray,
    inner: np.ndarray,
) -> bool:
    """Whether inner rows of hybrid rows are hybrids of inner rows (m, D), on some rows of X and background."""
    if len(owner) != inner.shape[1]:
        return False
    count = min(SELF_CHECK_ROWS, max(len(X), len(background)))
    rows, others = np.resize(np.arange(len(X)), count), np.resize(np.arange(len(background)), count)
    is_kept = np.random.default_rng(1).random((count, X.shape[1])) < 0.5
    hybrid = view(schema.decode(np.where(is_kept, X[rows], background[others])))
    wanted = np.where(is_kept[:, owner], view(schema.decode(X[rows])), inner[others])
    return bool(np.allclose(hybrid, wanted, rtol=DOUBLE_ROUNDING, atol=DOUBLE_ROUNDING, equal_nan=True))


def inner_rows(structure: Structure, schema: Schema, codes: np.ndarray) -> np.ndarray:
    """Rows of codes as the model's insides have them, (n, D)."""
    if structure.view is not None:
        return structure.view(schema.decode(codes))
    if not schema.is_number.all():
        raise UnknownStructureError("some columns are not numbers")
    return codes


def _trial(structure: Structure, background: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Hybrid rows on which to try a structure, with cells on and beside its thresholds."""
    rng = np.random.default_rng(0)
    count = max(SELF_CHECK_ROWS, min(2 * SELF_CHECK_ROWS, max(len(X), len(background))))
    rows, others = np.resize(np.arange(len(X)), count), np.resize(np.arange(len(background)), count)
    trial = np.where(rng.random((count, X.shape[1])) < 0.5, X[rows], background[others])
    if structure.view is None:
        for column, thresholds in structure.representation.thresholds().items():
            there = np.flatnonzero(rng.random(count) < TIES)
            trial[there, column] = beside(rng.choice(thresholds, len(there)), rng)
    return trial


def beside(marks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers on the marks and next to them, in double and in single precision."""
    with np.errstate(over="ignore"):  # next to the largest number in single precision is infinity
        single = marks.astype(np.float32)
        near = [marks, *(np.nextafter(one, way) for one in (marks, single) for way in (-np.inf, np.inf)), single]
    return np.asarray(np.choose(rng.integers(len(near), size=len(marks)), [np.float64(one) for one in near]))
