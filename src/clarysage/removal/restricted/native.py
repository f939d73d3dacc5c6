"""f_S by the known structure of a model (linear, trees, networks), evaluated natively in place of calls of the model.

The structure is used only if it reproduces the model's own predictions on hybrid rows of X and the background.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from clarysage._utils.pace import Pace
from clarysage.errors import ClarysageError
from clarysage.models import BoundPredictor
from clarysage.removal.background import bits, row_hashes
from clarysage.removal.restricted.prefixes import FixedRowWalks, impute, with_ends
from clarysage.structure.base import DOUBLE_ROUNDING, BackgroundEvaluator, Structure, UnknownStructureError, apply_link
from clarysage.structure.combined import over_combined
from clarysage.tables import Schema

MOST_BACKGROUND_BYTES = 2**29  # of background rows in the representation of a structure
MOST_CACHED_BYTES = 2**28  # of examples
SELF_CHECK_ROWS = 256
VISIBLE = 1e-3  # a difference of predictions that matters, as a share of their range
TIES = 0.25  # share of the cells of the rows of the check that are put on a threshold, or next to it


@dataclass(frozen=True)
class Native:
    """Predictions f(x_S, b_k) by the structure of the model.

    Attributes
    ----------
    codes, inner : (m, d), (m, D) the background rows, before and after the model's preprocessing
    varies : (d,) mask of the columns that are not constant over all examples and background rows
    examples : a cache of the examples after preprocessing; None if it would be too large
    pace : the time until a deadline; evaluations are not measured, since their rows differ much in cost
    """

    structure: Structure
    schema: Schema
    codes: np.ndarray
    inner: np.ndarray
    weights: np.ndarray
    varies: np.ndarray
    examples: EncodedRows | None = None
    pace: Pace = field(default_factory=Pace, repr=False, compare=False)

    @property
    def is_linear_mean(self) -> bool:
        """True if the mean prediction is the prediction for the mean row."""
        s = self.structure
        return s.link == "identity" and s.representation.is_linear and s.view is None

    def of_mean_row(self) -> Native:
        """Returns the structure with the mean background row as the only one."""
        mean = self.inner[:1] + self.weights[None] @ (self.inner - self.inner[:1])  # exact for equal cells
        return replace(self, codes=mean, inner=mean, weights=np.ones(1))

    @cached_property
    def rows(self) -> np.ndarray:
        """The background rows in the representation of the structure."""
        return self.structure.representation.encode(self.inner)

    @cached_property
    def evaluator(self) -> BackgroundEvaluator:
        return self.structure.representation.with_background(self.rows, self.weights, self.structure.link)

    @cached_property
    def background_outputs(self) -> np.ndarray:
        """The predictions f(b_k), (m, k)."""
        return apply_link(self.structure.representation.margins(self.rows), self.structure.link)

    def steps(
        self, x: np.ndarray, full: np.ndarray, entry_position: np.ndarray, background_index: np.ndarray
    ) -> np.ndarray:
        """Returns f(x_S, b_k) at every proper prefix S of walks, for the drawn rows b_k: (n, q, p - 1, k)."""
        self.pace.check()
        steps = int(entry_position.max())
        count = FixedRowWalks(x, self.codes[background_index], entry_position, steps).changes(self.is_used)
        encoded = self.represent(x)[1]
        margins = self.structure.representation.prefix_margins(
            encoded, self.rows, background_index, entry_position, steps
        )
        outputs, alone = apply_link(margins, self.structure.link), self.background_outputs[background_index]
        with_ends(outputs, count[:, :, :-1], count[:, :, -1:], alone, full)
        if self.is_used.any():  # f(x) may differ in the last bits from that of an equal row b_k
            is_start = np.arange(1, steps) < entry_position[:, self.is_used].min(axis=1, keepdims=True)
            np.copyto(outputs, alone[:, :, None, :], where=is_start[:, None, :, None])
        return outputs

    def single(
        self, x: np.ndarray, full: np.ndarray, columns: np.ndarray, background_index: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Returns f(x) with columns (c,) of drawn rows (n, q), and the count of rows evaluated (single imputation)."""
        s, d = self.structure, len(self.varies)
        owner = np.arange(d) if s.owner is None else s.owner
        inner = np.flatnonzero(s.representation.is_used & np.isin(owner, columns[self.varies[columns]]))
        z = x if s.view is None else self.represent(x)[0]
        return impute(z, inner, self.inner[background_index[:, :, None], inner], full, s)

    def full(self, x: np.ndarray) -> np.ndarray:
        """Returns f(x), (n, k), by the structure, as in walks; models in single precision round differently."""
        return apply_link(self.structure.representation.margins(self.represent(x)[1]), self.structure.link)

    def walk(self, x: np.ndarray, entry_position: np.ndarray, steps: int) -> np.ndarray:
        """Returns mean predictions over all background rows, (n, steps - 1, k).

        They are those at the proper prefixes of walks of x (n, d).
        """
        self.pace.check()
        return self.evaluator.walk(self.represent(x)[1], entry_position, steps)

    def with_single_row(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """Returns f(x_S, b) for a background of one row, vectorised over rows: (n, d), (n, d) -> (n, k)."""
        owner = np.arange(len(self.varies)) if self.structure.owner is None else self.structure.owner
        return self.structure(np.where(is_kept[:, owner], self.represent(x)[0], self.inner[0]))

    @cached_property
    def is_used(self) -> np.ndarray:
        """Mask of the columns that have an effect on the model, (d,)."""
        s = self.structure
        is_used = s.representation.is_used
        if s.owner is not None:
            is_used = np.isin(np.arange(len(self.varies)), s.owner[is_used])
        return np.asarray(is_used & self.varies)

    def each(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """Returns f(x_S, b_k) for every background row: (n, m, k)."""
        margins = self.structure.representation.hybrid_margins(self.represent(x)[1], self.rows, is_kept)
        return apply_link(margins, self.structure.link)

    def represent(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns rows of codes after preprocessing and in the structure's representation; examples are cached."""
        index = None if self.examples is None else self.examples.look_up(x)
        if self.examples is not None and index is not None:
            return self.examples.inner[index], self.examples.encoded[index]
        z = inner_rows(self.structure, self.schema, x)
        return z, self.structure.representation.encode(z)


@dataclass(frozen=True)
class EncodedRows:
    """A cache of rows that are needed repeatedly: codes (n, d), after preprocessing (n, D), and in the representation.

    ``order`` sorts the rows by their ``hashes``.
    """

    codes: np.ndarray
    inner: np.ndarray
    encoded: np.ndarray
    hashes: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, structure: Structure, schema: Schema, codes: np.ndarray) -> EncodedRows | None:
        """Makes the cache of rows of codes; returns None if it would be too large."""
        row = inner_rows(structure, schema, codes[:1])
        if len(codes) * (row.nbytes + structure.representation.encode(row).nbytes) > MOST_CACHED_BYTES:
            return None
        inner, hashes = inner_rows(structure, schema, codes), row_hashes(codes)
        return cls(codes, inner, structure.representation.encode(inner), hashes, np.argsort(hashes, kind="stable"))

    def look_up(self, x: np.ndarray) -> np.ndarray | None:
        """Returns the index of each row of codes; None unless all of them are cached."""
        position = np.searchsorted(self.hashes, row_hashes(x), sorter=self.order)
        index = self.order[np.minimum(position, len(self.order) - 1)]
        return index if np.array_equal(bits(self.codes[index]), bits(x)) else None


@dataclass(frozen=True)
class StructureReading:
    """The result of reading a model's structure: the structure or a remark, and the number of rows of the check."""

    native: Native | None = None
    remarks: tuple[str, ...] = ()
    rows: int = 0


def native_of(
    predictor: BoundPredictor, background: np.ndarray, weights: np.ndarray, X: np.ndarray
) -> StructureReading:
    """Reads the structure of a model, and checks it on hybrid rows of X and background."""
    name, read = predictor.predictor.name, predictor.predictor.structure
    if read is None:
        return StructureReading()
    try:
        structure, owner = read(), predictor.schema.owner
        if owner is not None:
            structure = over_combined(structure, owner)
        return _checked(structure, predictor, background, weights, X)
    except UnknownStructureError as error:
        return StructureReading(remarks=(f"{name} was called row by row: {error}.",))
    except ClarysageError:  # raised by the model itself, which then cannot be evaluated row by row either
        raise
    except Exception as error:  # a library whose internals have changed, or rows that a transformer refuses
        remark = f"{name} was called row by row: its structure could not be read ({error!r})."
        return StructureReading(remarks=(remark,))


def _checked(
    structure: Structure, predictor: BoundPredictor, background: np.ndarray, weights: np.ndarray, X: np.ndarray
) -> StructureReading:
    """Returns the structure if its predictions on hybrid rows are those of the model, or else a remark."""
    name, inner = predictor.predictor.name, inner_rows(structure, predictor.schema, background)
    d = X.shape[1]
    if inner.shape[1] != len(structure.representation.is_used):
        return StructureReading()
    owner = np.arange(d) if structure.owner is None else structure.owner
    if structure.view is not None and not _is_columnwise(structure.view, owner, predictor.schema, background, X, inner):
        remark = f"{name} was called row by row: its preprocessing does not keep columns apart."
        return StructureReading(remarks=(remark,))
    structure = replace(structure, representation=structure.representation.with_owner(owner))
    if len(background) * structure.representation.encode(inner[:1]).nbytes > MOST_BACKGROUND_BYTES:
        return StructureReading(remarks=(f"{name} was called row by row: its structure takes too much memory.",))
    rows = _rows_to_check(structure, background, X)
    widened = predictor.schema.widened(rows)
    inner_check_rows = inner_rows(structure, widened, rows)
    is_finite = np.isfinite(inner_check_rows).all() and np.isfinite(inner).all()
    if not structure.representation.takes_missing and not is_finite:
        return StructureReading()
    expected, outputs = replace(predictor, schema=widened)(rows), structure(inner_check_rows)
    if expected.shape == outputs.shape and _agree(expected, outputs, structure):
        examples = EncodedRows.of(structure, predictor.schema, X)
        varies = np.any([(bits(part) != bits(background[:1])).any(axis=0) for part in (X, background)], axis=0)
        pace = predictor.pace.unmeasured()
        native = Native(structure, predictor.schema, background, inner, weights, varies, examples, pace)
        return StructureReading(native, rows=len(rows))
    remark = f"{name} was called row by row: on hybrid rows its predictions differ from those of its structure."
    return StructureReading(remarks=(remark,), rows=len(rows))


def _agree(expected: np.ndarray, outputs: np.ndarray, structure: Structure) -> bool:
    """Tells whether predictions (n, k) differ only by rounding, and by little relative to their range over rows."""
    error, spread = np.abs(expected - outputs), np.ptp(expected, axis=0)
    size = np.abs(expected) if structure.link == "exponential" else np.abs(expected).max()
    is_visible = (error > VISIBLE * spread) & (spread > 0)
    return bool((error <= structure.rounding * size).all() and not is_visible.any())


def _is_columnwise(
    view: Callable[[Any], np.ndarray],
    owner: np.ndarray,
    schema: Schema,
    background: np.ndarray,
    X: np.ndarray,
    inner: np.ndarray,
) -> bool:
    """Tells whether preprocessed hybrid rows are hybrids of preprocessed rows, on some rows of X and background."""
    if len(owner) != inner.shape[1]:
        return False
    count = min(SELF_CHECK_ROWS, max(len(X), len(background)))
    rows, others = np.resize(np.arange(len(X)), count), np.resize(np.arange(len(background)), count)
    is_kept = np.random.default_rng(1).random((count, X.shape[1])) < 0.5
    hybrid = view(schema.decode(np.where(is_kept, X[rows], background[others])))
    expected = np.where(is_kept[:, owner], view(schema.decode(X[rows])), inner[others])
    return bool(np.allclose(hybrid, expected, rtol=DOUBLE_ROUNDING, atol=DOUBLE_ROUNDING, equal_nan=True))


def inner_rows(structure: Structure, schema: Schema, codes: np.ndarray) -> np.ndarray:
    """Returns rows of codes after the model's preprocessing, (n, D)."""
    if structure.view is not None:
        return structure.view(schema.decode(codes))
    if not schema.is_number.all():
        raise UnknownStructureError("some columns are not numbers")
    if schema.container == "scipy" and np.isnan(structure.absent):
        return np.where(bits(codes) == 0, structure.absent, codes)
    return codes


def _rows_to_check(structure: Structure, background: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Returns hybrid rows on which to check a structure, some cells on or next to its thresholds."""
    rng = np.random.default_rng(0)
    count = max(SELF_CHECK_ROWS, min(2 * SELF_CHECK_ROWS, max(len(X), len(background))))
    rows, others = np.resize(np.arange(len(X)), count), np.resize(np.arange(len(background)), count)
    hybrid = np.where(rng.random((count, X.shape[1])) < 0.5, X[rows], background[others])
    if structure.view is None:
        for column, thresholds in structure.representation.thresholds().items():
            changed = np.flatnonzero(rng.random(count) < TIES)
            hybrid[changed, column] = near(rng.choice(thresholds, len(changed)), rng)
    return hybrid


def near(thresholds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns numbers on or next to the thresholds, in double and in single precision."""
    with np.errstate(over="ignore"):  # next to the largest number in single precision is infinity
        single = thresholds.astype(np.float32)
        next_to = [np.nextafter(values, end) for values in (thresholds, single) for end in (-np.inf, np.inf)]
        choices = [np.float64(values) for values in (thresholds, *next_to, single)]
    return np.asarray(np.choose(rng.integers(len(choices), size=len(thresholds)), choices))
