"""Fully connected networks: along a walk, the pre-activations of the first layer are updated column by column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy

from clarysage.structure.abilities import LayerWeights
from clarysage.structure.base import Link, apply_link, n_outputs


@dataclass(frozen=True)
class Activation:
    """One of ``FUNCTIONS`` with its settings, which may write over what it is given.

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


CELLS_AT_ONCE = 1 << 20  # of rows and of sums, for examples that are followed together


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
    """Margins later(z w + c), with the sums of a first layer, of weights w (D, h), and the layers after it.

    Along a walk the sums are followed, and the later layers are asked for rows that changed; the others keep their
    margins to the last bit. All is computed in the precision of the weights, and rounding adds up over the steps. Rows
    of several examples are multiplied together, so the last bits of an example depend on those it is handed over with.

    Examples
    --------
    >>> first = Affine(np.array([[1.0], [-1.0]]), np.array([0.5]))
    >>> Layers(first, (Activation("relu"),)).alone(np.array([[2.0, 1.0], [1.0, 2.0]]))
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
        return self.after(self.first(rows)).astype(np.float64)

    def after(self, sums: np.ndarray) -> np.ndarray:
        """Margins of sums of the first layer, which are used up."""
        for layer in self.later:
            sums = layer(sums)
        return sums

    def prefix_margins(
        self, x: np.ndarray, b: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray, steps: int
    ) -> np.ndarray:
        (D, h), (n, q), when = self.first.weights.shape, background_index.shape, self.when(entry_position)
        found = np.empty((n, q, steps - 1, self.n_margins))
        held = steps + 3 if steps < D else 3  # sums a row: what each group brings, and copies at work
        for part in _slices(n, CELLS_AT_ONCE // (q * (D + held * h))):
            self._follow(x[part], b[background_index[part]], when[part], found[part])
        return found

    def hybrid_margins(self, x: np.ndarray, b: np.ndarray, kept: np.ndarray) -> np.ndarray:
        (D, h), is_kept = self.first.weights.shape, kept if self.owner is None else kept[:, self.owner]
        found = np.empty((len(x), len(b), self.n_margins))
        for part in _slices(len(x), CELLS_AT_ONCE // (len(b) * (D + h))):
            rows = np.where(is_kept[part, None], x[part, None], b)
            found[part] = self.margins(rows.reshape(-1, D)).reshape(found[part].shape)
        return found

    def with_background(self, b: np.ndarray, mass: np.ndarray, link: Link) -> LayersEvaluator:
        return LayersEvaluator(self, b.T.copy(), self.first(b), apply_link(self.margins(b), link), mass, link)

    def when(self, arrivals: np.ndarray) -> np.ndarray:
        """When each of the inner columns arrives, (n, D)."""
        return arrivals if self.owner is None else arrivals[:, self.owner]

    def _follow(self, x: np.ndarray, rows: np.ndarray, when: np.ndarray, found: np.ndarray) -> None:
        """Margins of rows (n, q, D) as columns arrive, put into found (n, q, p - 1, K)."""
        steps = found.shape[2] + 1
        if when.shape[1] == steps and _are_distinct(when):
            path = self._by_column(x, rows, when)
        else:
            group = _together(when)
            groups = when[:, np.unique(group, return_index=True)[1]]  # (n, g)
            if not _are_distinct(groups):  # what arrives together differs between walks
                for i in range(len(x)):
                    self._follow(x[i : i + 1], rows[i : i + 1], when[i : i + 1], found[i : i + 1])
                return
            path = self._by_group(x, rows, groups, group, steps)
        sums = self.first(rows.reshape(-1, rows.shape[2])).reshape(*rows.shape[:2], -1)
        margins = self.after(sums.reshape(-1, sums.shape[2]).copy()).reshape(*rows.shape[:2], -1)
        for step, (is_moved, brought) in enumerate(path):
            if is_moved.any():
                sums += brought
                margins[is_moved] = self.after(sums[is_moved])
            found[:, :, step] = margins

    def _by_column(self, x: np.ndarray, rows: np.ndarray, when: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Which rows (n, q) change at steps at each of which a column arrives, and what it brings, (n, q, h)."""
        walks, is_used, weights = np.arange(len(x)), self.is_used, self.first.weights
        brought = np.empty((*rows.shape[:2], weights.shape[1]), dtype=weights.dtype)
        for columns in np.argsort(when, axis=1).T[:-1]:
            moves = (x[walks, columns, None] - rows[walks, :, columns]) * is_used[columns, None]
            yield moves != 0, np.multiply(moves[:, :, None], weights[columns, None], out=brought)

    def _by_group(
        self, x: np.ndarray, rows: np.ndarray, groups: np.ndarray, group: np.ndarray, steps: int
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The same for groups that arrive at the given steps (n, g), where ``group`` (D,) is that of each column."""
        (n, q, _), walks, is_used, weights = rows.shape, np.arange(len(x)), self.is_used, self.first.weights
        brought = np.zeros((groups.shape[1] + 1, n, q, weights.shape[1]), dtype=weights.dtype)
        is_moved = np.zeros(brought.shape[:3], dtype=bool)
        for number in range(groups.shape[1]):
            columns = np.flatnonzero((group == number) & is_used)
            moves = x[:, None, columns] - rows[:, :, columns]
            brought[number] = (moves.reshape(n * q, -1) @ weights[columns]).reshape(n, q, -1)
            is_moved[number] = (moves != 0).any(axis=2)
        comes = np.full((n, steps + 1), -1)  # the last, which brings nothing, at steps at which no group arrives
        comes[walks[:, None], groups] = np.arange(groups.shape[1])
        for step in range(1, steps):
            yield is_moved[comes[:, step], walks], brought[comes[:, step], walks]


@dataclass(frozen=True)
class LayersEvaluator:
    """Background rows (D, m), the sums (m, h) and predictions (m, k) that they have with nothing known."""

    representation: Layers
    columns: np.ndarray
    sums: np.ndarray
    alone: np.ndarray
    mass: np.ndarray
    link: Link

    def walk(self, x: np.ndarray, arrivals: np.ndarray, steps: int) -> np.ndarray:
        found = np.empty((len(x), steps - 1, n_outputs(self.representation.n_margins, self.link)))
        for known, when, means in zip(x, self.representation.when(arrivals), found, strict=True):
            self._follow(known, when, means)
        return found

    def _follow(self, x: np.ndarray, when: np.ndarray, found: np.ndarray) -> None:
        """Mean predictions of one walk, put into found (p - 1, k)."""
        order = np.argsort(when, kind="stable")
        ends = np.searchsorted(when[order], np.arange(len(found) + 1), side="right")
        weights, moves = self.representation.first.weights[order], (x[:, None] - self.columns)[order]
        moves[~self.representation.is_used[order]] = 0
        is_moved = moves != 0
        sums, shown, predictions = self.sums.copy(), np.empty_like(self.sums), self.alone.copy()
        add_product = scipy.linalg.get_blas_funcs("gemm", (sums,))
        for step in range(len(found)):
            now = slice(ends[step], ends[step + 1])
            changed = np.flatnonzero(is_moved[now].any(axis=0))
            if len(changed):
                sums = add_product(1, weights[now].T, moves[now].T, 1, sums.T, trans_b=True, overwrite_c=True).T
                changed_sums = np.take(sums, changed, axis=0, out=shown[: len(changed)], mode="clip")
                margins = self.representation.after(changed_sums)
                predictions[changed] = apply_link(margins.astype(np.float64), self.link)
            np.matmul(self.mass, predictions, out=found[step])


def _are_distinct(when: np.ndarray) -> bool:
    return bool((np.diff(np.sort(when, axis=1), axis=1) > 0).all())


def _together(when: np.ndarray) -> np.ndarray:
    """The number of each column's group, (D,), of columns that arrive together in all walks."""
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(steps.tobytes(), len(numbers)) for steps in np.ascontiguousarray(when.T)])


def _slices(count: int, size: int) -> Iterator[slice]:
    return (slice(start, start + max(1, size)) for start in range(0, count, max(1, size)))
