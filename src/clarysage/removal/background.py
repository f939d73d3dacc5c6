"""The background of a removal: its rows as codes with weights, and the examples that are background rows themselves.

An example that is itself a background row would be compared with itself (a *self-match*). Removals recognise such rows
where it makes a difference, in order to leave them out, as a leave-one-out estimate does.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage._utils.seeds import drawn_seed
from clarysage.errors import InputError, ModelError, Set
from clarysage.models import BoundPredictor, Predictor, as_predictor
from clarysage.protocols import HoldsExamples, RestrictedModel, ability
from clarysage.tables import EncodedTable, Schema, as_table, container_of, encode_together, read_weights

ROWS_AT_ONCE = 65_536
NEARLY_ALL = 1 - 1e-9  # share of the background's weight in one row from which on no other row could replace it


@dataclass(frozen=True)
class BoundTables:
    """A predictor bound to the joint columns of X and a background, in the model's own order, and both as codes.

    Attributes
    ----------
    schema : schema of the two tables
    predictor : the bound model, which may take its rows as another kind of table than theirs
    examples : X and its codes
    background : codes of the background, (m, d)
    """

    schema: Schema
    predictor: BoundPredictor
    examples: EncodedTable
    background: np.ndarray


def bound_to(predictor: Any, X: Any, background: Any, memory_limit: float, argument: str = "background") -> BoundTables:
    """Checks X and a background, arranges their columns as the model has them, encodes them and binds the predictor."""
    if not isinstance(memory_limit, (int, float)) or not memory_limit > 0:
        hint = Set("memory_limit", 1e9)
        raise InputError("memory_limit", got=f"{memory_limit!r}", wanted="a positive number of bytes", hint=hint)
    if background is None:
        raise InputError(argument, got="None", wanted="a table of rows with the columns of X")
    f = predictor if isinstance(predictor, Predictor) else as_predictor(predictor)
    table = as_table(X, "X")
    schema, codes, rows = encode_together(
        f.arrange(table), as_table(background, argument), argument=argument, names=f.feature_names or ()
    )
    is_sparse, is_array = schema.container == "scipy", container_of(table) == "numpy" != schema.container
    is_asked = (f.feature_names is None and (is_sparse or (is_array and not f.containers))) or schema.is_combined
    takes_it = is_asked and _takes(f, schema if is_sparse else schema.for_container("numpy"), codes[:1])
    if is_sparse and takes_it:
        f = replace(f, containers=())
    elif is_sparse or takes_it:
        schema = schema.for_container("numpy")
    bound = replace(f.bind(schema), memory_limit=memory_limit, rows_asked=int(is_asked))
    return BoundTables(schema, bound, EncodedTable(X, codes), rows)


def _takes(f: Predictor, schema: Schema, codes: np.ndarray) -> bool:
    """Tells whether a model takes tables of a schema: sparse ones, or arrays beside a background of another kind."""
    try:
        f(schema.decode(codes))
    except ModelError:
        return False
    return True


def codes_of(restricted: RestrictedModel, X: Any) -> np.ndarray:
    """Returns X as codes, (N, d); those that the removal has made of this very table, if the restricted model has them.

    Call it right after a model was restricted to X, so that X cannot have been modified in between.
    """
    holder = ability(restricted, HoldsExamples)
    encoded = None if holder is None else holder.encoded
    if encoded is not None and encoded.table is X:
        return encoded.codes
    return restricted.schema.encode(X, "X")


def seed_of(rng: Any) -> int:
    """Returns a seed as it is, or draws one from a generator."""
    seed = drawn_seed(rng)
    if seed is None:
        accepted = "a seed (a whole number of zero or more), or a numpy Generator or RandomState"
        raise InputError("rng", got=f"{rng!r}", wanted=accepted)
    return seed


@dataclass(frozen=True)
class BackgroundRows:
    """The rows that a conditional removal learns from.

    Attributes
    ----------
    predictor : the model, bound to the columns of X and the background
    rows : the background rows of positive weight as codes, (m, d), in random order
    weights : their weights, (m,)
    self_matches : the examples that are background rows
    """

    predictor: BoundPredictor
    rows: np.ndarray
    weights: np.ndarray
    self_matches: SelfMatchLookup

    @classmethod
    def of(cls, removal: Any, predictor: Any, X: Any) -> tuple[BackgroundRows, EncodedTable]:
        """Reads ``background``, ``weights``, ``memory_limit`` and ``examples`` of a removal; also returns X encoded."""
        bound = bound_to(predictor, X, removal.background, removal.memory_limit)
        rows, codes = bound.background, bound.examples.codes
        weights = read_weights(removal.weights, removal.background, len(rows), "background weights", "background")
        source = source_of(removal.examples, len(rows), len(codes))
        # ties between rows must not be decided by the order of a table, which may mean something
        order = np.random.default_rng(0).permutation(np.flatnonzero(weights > 0))
        rows, weights = rows[order], weights[order]
        self_matches = SelfMatchLookup.of(codes, rows, weights, None if source is None else source[order])
        return cls(bound.predictor, rows, weights, self_matches), bound.examples


def source_of(examples: Any, rows: int, count: int) -> np.ndarray | None:
    """Validates the argument ``examples`` of a removal: the row of X, of ``count``, that each background row is."""
    if examples is None:
        return None
    source = np.asarray(examples)
    is_vector = source.ndim == 1 and len(source) == rows and source.dtype.kind in "iu"
    is_right = is_vector and ((source >= -1) & (source < count)).all()
    if not is_right or (np.unique(source[source >= 0], return_counts=True)[1] > 1).any():
        raise InputError(
            "background examples",
            got=repr(examples)[:80],
            wanted=f"the number of a row of X for each of {rows} background rows, each at most once, -1 for none",
        )
    return source


def bits(values: np.ndarray) -> np.ndarray:
    """Returns the bits of numbers: missing cells are then equal to each other, and 0.0 differs from -0.0."""
    return np.ascontiguousarray(values).view(np.int64)


def row_hashes(rows: np.ndarray) -> np.ndarray:
    """Returns a hash of the bits of each row (n, d): the same for equal rows, and almost surely not for others.

    The upper bits of a cell are mixed into the lower ones before they are multiplied, since whole numbers differ only
    in upper bits, which a product would push out.
    """
    factors = np.random.default_rng(0).integers(1, 2**62, size=rows.shape[1], dtype=np.int64) | 1
    hashes = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        mixed = bits(rows[start : start + ROWS_AT_ONCE])
        mixed = (mixed ^ (mixed >> 32)) * factors
        hashes[start : start + ROWS_AT_ONCE] = (mixed ^ (mixed >> 29)).sum(axis=1)
    return hashes


def distinct_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the first of each of the distinct rows (n, d), and which of these each row is, (n,).

    Rows are compared by hashes; rows of equal hashes are then compared in full.

    Examples
    --------
    >>> first, which = distinct_rows(np.array([[2.0], [1.0], [2.0]]))
    >>> sorted(first.tolist()), bool(which[0] == which[2] != which[1])
    ([0, 1], True)
    """
    _, first, which = np.unique(row_hashes(rows), return_index=True, return_inverse=True)
    if len(first) < len(rows) and not np.array_equal(bits(rows[first][which]), bits(rows)):
        return np.arange(len(rows)), np.arange(len(rows))
    return first, which


def match_by_source(source: np.ndarray, examples: int) -> np.ndarray | None:
    """Returns the background row that each example is, (N,), from the example that each background row is, (m,).

    -1 stands for none, in both.

    Examples
    --------
    >>> match_by_source(np.array([2, -1, 0]), 4)
    array([ 2, -1,  0, -1])
    """
    match = np.full(examples, -1)
    match[source[source >= 0]] = np.flatnonzero(source >= 0)
    return match if (match >= 0).any() else None


def match_by_cells(X: np.ndarray, background: np.ndarray) -> np.ndarray | None:
    """Returns the background row that each example is, (N,), -1 for none; None if no example is one.

    Rows are taken for the same individual if the two tables are equal; or if a row of codes occurs once in each of
    them, and this holds for at least half of the smaller table. Otherwise, and among rows that occur more often, equal
    rows may well be of different individuals.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> match_by_cells(X, X[[2, 0]])
    array([ 1, -1,  0])
    """
    if X.shape == background.shape and np.array_equal(X, background, equal_nan=True):
        return np.arange(len(X))
    hashes_of_x, hashes = row_hashes(X), row_hashes(background)
    candidates = np.flatnonzero(np.isin(hashes_of_x, hashes))
    index = {value: row for row, value in enumerate(hashes.tolist())}
    counts_in_x, counts = Counter(hashes_of_x[candidates].tolist()), Counter(hashes.tolist())
    match = np.full(len(X), -1)
    for example in candidates.tolist():
        value = int(hashes_of_x[example])
        is_unique = counts_in_x[value] == counts[value] == 1
        if is_unique and np.array_equal(bits(X[example]), bits(background[index[value]])):
            match[example] = index[value]
    return match if (match >= 0).sum() >= min(len(X), len(background)) / 2 else None


def self_match(
    X: np.ndarray, background: np.ndarray, weights: np.ndarray, source: np.ndarray | None
) -> np.ndarray | None:
    """Returns the background row that each example is, (N,), -1 for none; None if no example is one.

    It is known by ``source`` (m,), the example that each background row is, or else by equal cells. If one row has all
    the weight, no example counts as a self-match, since no other row could replace it.
    """
    if len(weights) < 2 or weights.max() > NEARLY_ALL:
        return None
    return match_by_cells(X, background) if source is None else match_by_source(source, len(X))


@dataclass(frozen=True)
class SelfMatchLookup:
    """A lookup from rows of codes to the background rows that they are; examples with equal cells are treated alike.

    ``codes`` (q, d) are the examples that are background rows, sorted by their ``hashes``, and ``index`` (q,) the
    numbers of these background rows.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> SelfMatchLookup.of(X, X[[2, 0]], np.full(2, 0.5), None).look_up(X)
    array([ 1, -1,  0])
    """

    codes: np.ndarray
    index: np.ndarray
    hashes: np.ndarray

    @classmethod
    def of(
        cls, X: np.ndarray, background: np.ndarray, weights: np.ndarray, source: np.ndarray | None
    ) -> SelfMatchLookup:
        """Finds the examples X that are background rows; see :func:`self_match`."""
        match = self_match(X, background, weights, source)
        if match is None:
            match = np.full(len(X), -1)
        is_matched = match >= 0
        hashes = row_hashes(X[is_matched])
        order = np.argsort(hashes, kind="stable")
        return cls(X[is_matched][order], match[is_matched][order], hashes[order])

    def __len__(self) -> int:
        return len(self.index)

    def look_up(self, x: np.ndarray) -> np.ndarray:
        """Returns the background row that each row of codes (n, d) is, -1 for none."""
        if not len(self):
            return np.full(len(x), -1)
        position = np.minimum(np.searchsorted(self.hashes, row_hashes(x)), len(self) - 1)
        is_same = (bits(self.codes[position]) == bits(x)).all(axis=1)
        return np.where(is_same, self.index[position], -1)
