"""Fully connected networks (multilayer perceptrons): along a walk, the first layer's sums are updated column by column.

When column j becomes known, the sums of the first layer change by (x_j - b_j) times row j of its weights. Later layers
are evaluated only for rows that changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy

from clarysage.structure.base import Link, apply_link, n_outputs
from clarysage.structure.intrinsic_numbers import LayerWeights

CELLS_AT_ONCE = 1 << 20  # cells of rows and of first-layer sums that are in memory


@dataclass(frozen=True)
class Activation:
    """An activation function, one of ``FUNCTIONS``, with its settings; it may overwrite its argument.

    Examples
    --------
    >>> Activation("leaky relu", (0.5,))(np.array([-2.0, 2.0]))
    array([-1.,  2.])
    """

    name: str
    settings: tuple[float, ...] = ()

    def __call__(self, z: np.ndarray) -> np.ndarray:
        return FUNCTIONS[self.name](z, *self.settings)


def _relu(z: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(z, 0, out=z))


def _tanh(z: np.ndarray) -> np.ndarray:
    return np.asarray(np.tanh(z, out=z))


def _logistic(z: np.ndarray) -> np.ndarray:
    return np.asarray(scipy.special.expit(z, out=z))


def _gelu(z: np.ndarray) -> np.ndarray:
    return np.asarray(z * (0.5 * (1 + scipy.special.erf(z * math.sqrt(0.5)))))


def _gelu_by_tanh(z: np.ndarray) -> np.ndarray:
    return np.asarray(z * (0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z * z * z)))))


def _elu(z: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(z > 0, z, alpha * np.expm1(np.minimum(z, 0)))


def _leaky_relu(z: np.ndarray, slope: float) -> np.ndarray:
    return np.where(z > 0, z, slope * z)


def _silu(z: np.ndarray) -> np.ndarray:
    return np.asarray(z * scipy.special.expit(z))


def _softplus(z: np.ndarray, beta: float, threshold: float) -> np.ndarray:
    is_straight = z * beta > threshold
    return np.where(is_straight, z, np.log1p(np.exp(np.where(is_straight, 0, z * beta))) / beta)


FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "relu": _relu,
    "tanh": _tanh,
    "logistic": _logistic,
    "gelu": _gelu,
    "gelu by tanh": _gelu_by_tanh,
    "elu": _elu,
    "leaky relu": _leaky_relu,
    "silu": _silu,
    "softplus": _softplus,
}


@dataclass(frozen=True)
class Affine:
    """Sums z w + c, with weights w (a, b) and bias c (b,)."""

    weights: np.ndarray
    bias: np.ndarray

    def __call__(self, z: np.ndarray) -> np.ndarray:
        sums = z @ self.weights
        sums += self.bias
        return np.asarray(sums)


@dataclass(frozen=True)
class Layers:
    """Margins later(z w + c): a first layer with weights w (D, h), and the layers after it.

    Along a walk, rows that do not change keep their margins to the last bit. All is computed in the precision of the
    weights, and rounding errors add up over the steps. Rows of several examples are multiplied together, so the last
    bits of an example depend on the examples in the same call.

    Examples
    --------
    >>> first = Affine(np.array([[1.0], [-1.0]]), np.array([0.5]))
    >>> Layers(first, (Activation("relu"),)).margins(np.array([[2.0, 1.0], [1.0, 2.0]]))
    array([[1.5],
           [0. ]])
    """

    first: Affine
    later: tuple[Affine | Activation, ...]
    owner: np.ndarray | None = None
    is_linear: bool = False
    takes_missing: bool = False

    @property
    def n_margins(self) -> int:
        affine = [layer for layer in (self.first, *self.later) if isinstance(layer, Affine)]
        return len(affine[-1].bias)

    @property
    def is_used(self) -> np.ndarray:
        return np.asarray((self.first.weights != 0).any(axis=1))

    def thresholds(self) -> dict[int, np.ndarray]:
        return {}

    def layer_weights(self, width: int) -> LayerWeights:
        later = tuple(layer.weights for layer in self.later if isinstance(layer, Affine))
        return LayerWeights(self.first.weights.astype(np.float64), later)

    def with_owner(self, owner: np.ndarray) -> Layers:
        return replace(self, owner=owner)

    def encode(self, z: np.ndarray) -> np.ndarray:
        return z.astype(self.first.weights.dtype, copy=False)

    def margins(self, rows: np.ndarray) -> np.ndarray:
        return self.margins_of_sums(self.first(rows)).astype(np.float64)

    def margins_of_sums(self, sums: np.ndarray) -> np.ndarray:
        """Returns margins of sums of the first layer, which may be overwritten."""
        for layer in self.later:
            sums = layer(sums)
        return sums

    def prefix_margins(
        self, x: np.ndarray, b: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray, steps: int
    ) -> np.ndarray:
        (D, h), (n, q), entry = self.first.weights.shape, background_index.shape, self.entry_of_columns(entry_position)
        margins = np.empty((n, q, steps - 1, self.n_margins))
        sums_per_row = steps + 3 if steps < D else 3  # what each group adds, and copies
        for part in _slices(n, CELLS_AT_ONCE // (q * (D + sums_per_row * h))):
            self._write_walks(x[part], b[background_index[part]], entry[part], margins[part])
        return margins

    def hybrid_margins(self, x: np.ndarray, b: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        (D, h), is_kept = self.first.weights.shape, is_kept if self.owner is None else is_kept[:, self.owner]
        margins = np.empty((len(x), len(b), self.n_margins))
        for part in _slices(len(x), CELLS_AT_ONCE // (len(b) * (D + h))):
            rows = np.where(is_kept[part, None], x[part, None], b)
            margins[part] = self.margins(rows.reshape(-1, D)).reshape(margins[part].shape)
        return margins

    def with_background(self, b: np.ndarray, row_weights: np.ndarray, link: Link) -> LayersEvaluator:
        return LayersEvaluator(self, b.T.copy(), self.first(b), apply_link(self.margins(b), link), row_weights, link)

    def entry_of_columns(self, entry_position: np.ndarray) -> np.ndarray:
        """Returns the step at which each inner column enters, (n, D)."""
        return entry_position if self.owner is None else entry_position[:, self.owner]

    def _write_walks(self, x: np.ndarray, rows: np.ndarray, entry: np.ndarray, margins: np.ndarray) -> None:
        """Writes ``margins`` (n, q, p - 1, K) of background rows (n, q, D) in which columns of x enter at ``entry``."""
        steps = margins.shape[2] + 1
        if entry.shape[1] == steps and _are_distinct(entry):
            changes = self._changes_by_column(x, rows, entry)
        else:
            group = _groups_of_columns(entry)
            group_entry = entry[:, np.unique(group, return_index=True)[1]]  # (n, g)
            if not _are_distinct(group_entry):  # columns that enter together differ between walks
                for i in range(len(x)):
                    self._write_walks(x[i : i + 1], rows[i : i + 1], entry[i : i + 1], margins[i : i + 1])
                return
            changes = self._changes_by_group(x, rows, group_entry, group, steps)
        sums = self.first(rows.reshape(-1, rows.shape[2])).reshape(*rows.shape[:2], -1)
        current = self.margins_of_sums(sums.reshape(-1, sums.shape[2]).copy()).reshape(*rows.shape[:2], -1)
        for step, (is_changed, change) in enumerate(changes):
            if is_changed.any():
                sums += change
                current[is_changed] = self.margins_of_sums(sums[is_changed])
            margins[:, :, step] = current

    def _changes_by_column(
        self, x: np.ndarray, rows: np.ndarray, entry: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yields, for walks that add one column at a step, the rows (n, q) that change and the change (n, q, h)."""
        walks, is_used, weights = np.arange(len(x)), self.is_used, self.first.weights
        change = np.empty((*rows.shape[:2], weights.shape[1]), dtype=weights.dtype)
        for columns in np.argsort(entry, axis=1).T[:-1]:
            difference = (x[walks, columns, None] - rows[walks, :, columns]) * is_used[columns, None]
            yield difference != 0, np.multiply(difference[:, :, None], weights[columns, None], out=change)

    def _changes_by_group(
        self, x: np.ndarray, rows: np.ndarray, group_entry: np.ndarray, group: np.ndarray, steps: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yields the rows (n, q) that change and the change (n, q, h), where columns enter in groups.

        ``group`` (D,) is the group of each column, ``group_entry`` (n, g) the step at which each group enters.
        """
        (n, q, _), walks, is_used, weights = rows.shape, np.arange(len(x)), self.is_used, self.first.weights
        change = np.zeros((group_entry.shape[1] + 1, n, q, weights.shape[1]), dtype=weights.dtype)
        is_changed = np.zeros(change.shape[:3], dtype=bool)
        for number in range(group_entry.shape[1]):
            columns = np.flatnonzero((group == number) & is_used)
            difference = x[:, None, columns] - rows[:, :, columns]
            change[number] = (difference.reshape(n * q, -1) @ weights[columns]).reshape(n, q, -1)
            is_changed[number] = (difference != 0).any(axis=2)
        entering = np.full((n, steps + 1), -1)  # the last group, with no change, at steps at which no group enters
        entering[walks[:, None], group_entry] = np.arange(group_entry.shape[1])
        for step in range(1, steps):
            yield is_changed[entering[:, step], walks], change[entering[:, step], walks]


@dataclass(frozen=True)
class LayersEvaluator:
    """Mean predictions of a network over background rows.

    Attributes
    ----------
    columns : (D, m) background rows, column by column
    sums, predictions : (m, h) first-layer sums and (m, k) predictions of background rows, with nothing known
    """

    layers: Layers
    columns: np.ndarray
    sums: np.ndarray
    predictions: np.ndarray
    row_weights: np.ndarray
    link: Link

    def walk(self, x: np.ndarray, entry_position: np.ndarray, steps: int) -> np.ndarray:
        means = np.empty((len(x), steps - 1, n_outputs(self.layers.n_margins, self.link)))
        for example, entry, of_walk in zip(x, self.layers.entry_of_columns(entry_position), means, strict=True):
            self._write_walk(example, entry, of_walk)
        return means

    def _write_walk(self, x: np.ndarray, entry: np.ndarray, means: np.ndarray) -> None:
        """Writes mean predictions (p - 1, k) of one walk."""
        order = np.argsort(entry, kind="stable")
        ends = np.searchsorted(entry[order], np.arange(len(means) + 1), side="right")
        weights, differences = self.layers.first.weights[order], (x[:, None] - self.columns)[order]
        differences[~self.layers.is_used[order]] = 0
        is_different = differences != 0
        sums, buffer, predictions = self.sums.copy(), np.empty_like(self.sums), self.predictions.copy()
        add_product = scipy.linalg.get_blas_funcs("gemm", (sums,))
        for step in range(len(means)):
            entering = slice(ends[step], ends[step + 1])
            changed = np.flatnonzero(is_different[entering].any(axis=0))
            if len(changed):
                sums = add_product(
                    1, weights[entering].T, differences[entering].T, 1, sums.T, trans_b=True, overwrite_c=True
                ).T
                changed_sums = np.take(sums, changed, axis=0, out=buffer[: len(changed)], mode="clip")
                margins = self.layers.margins_of_sums(changed_sums)
                predictions[changed] = apply_link(margins.astype(np.float64), self.link)
            np.matmul(self.row_weights, predictions, out=means[step])


def _are_distinct(entry: np.ndarray) -> bool:
    return bool((np.diff(np.sort(entry, axis=1), axis=1) > 0).all())


def _groups_of_columns(entry: np.ndarray) -> np.ndarray:
    """Returns the number of each column's group, (D,), where a group enters together in all walks."""
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(steps.tobytes(), len(numbers)) for steps in np.ascontiguousarray(entry.T)])


def _slices(count: int, size: int) -> Iterator[slice]:
    return (slice(start, start + max(1, size)) for start in range(0, count, max(1, size)))
