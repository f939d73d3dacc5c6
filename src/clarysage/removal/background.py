"""What a conditional removal learns from: background rows of positive mass, and the examples that are among them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError, ModelError, Set
from clarysage.models import BoundPredictor, Predictor, as_predictor
from clarysage.protocols import HoldsExamples, RestrictedModel, ability
from clarysage.tables import EncodedTable, Schema, as_table, container_of, encode_together, read_weights


@dataclass(frozen=True)
class BoundTables:
    """A predictor bound to the joint columns of X and a background, in the model's own order, and both as codes.

    Attributes
    ----------
    schema : of the two tables
    predictor : which may want its rows as another kind of table than theirs
    examples : X and its codes
    background : its codes, (m, d)
    """

    schema: Schema
    predictor: BoundPredictor
    examples: EncodedTable
    background: np.ndarray


def bound_to(predictor: Any, X: Any, background: Any, memory_limit: float, argument: str = "background") -> BoundTables:
    """Checks X and a background, brings them into the model's own order, encodes them and binds the predictor."""
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
    is_asked = container_of(table) == "numpy" != schema.container and f.feature_names is None and not f.containers
    if is_asked and _takes_arrays(f, schema, codes[:1]):
        schema = schema.handed_as("numpy")
    bound = replace(f.bind(schema), memory_limit=memory_limit, rows_asked=int(is_asked))
    return BoundTables(schema, bound, EncodedTable(X, codes), rows)


def codes_of(restricted: RestrictedModel, X: Any) -> np.ndarray:
    """X as a restricted model has its rows, (N, d): as the removal encoded this very table, if it hands that on.

    It is for those who have just restricted a model to X, which cannot have been written to in between.
    """
    holder = ability(restricted, HoldsExamples)
    encoded = None if holder is None else holder.encoded
    if encoded is not None and encoded.table is X:
        return encoded.codes
    return restricted.schema.encode(X, "X")


def _takes_arrays(f: Predictor, schema: Schema, codes: np.ndarray) -> bool:
    """Whether a model that says nothing of its rows takes them as X has them, or else as the background does."""
    try:
        f(schema.handed_as("numpy").decode(codes))
    except ModelError:
        return False
    return True


@dataclass(frozen=True)
class BackgroundRows:
    """Rows of codes (m, d) in an order that says nothing, their masses, and the examples that they are."""

    predictor: BoundPredictor
    rows: np.ndarray
    mass: np.ndarray
    known: KnownRows

    @classmethod
    def of(cls, removal: Any, predictor: Any, X: Any) -> tuple[BackgroundRows, EncodedTable]:
        """From the ``background``, ``weights``, ``memory_limit`` and ``examples`` of a removal; beside X as codes."""
        bound = bound_to(predictor, X, removal.background, removal.memory_limit)
        rows, codes = bound.background, bound.examples.codes
        mass = read_weights(removal.weights, removal.background, len(rows), "background weights", "background")
        source = source_of(removal.examples, len(rows), len(codes))
        there = np.random.default_rng(0).permutation(np.flatnonzero(mass > 0))  # or ties would go by a table's order
        rows, mass = rows[there], mass[there]
        known = KnownRows.of(codes, rows, mass, None if source is None else source[there])
        return cls(bound.predictor, rows, mass, known), bound.examples


ROWS_AT_ONCE = 65_536
NEARLY_ALL = 1 - 1e-9  # of the weight of the background, in one row


def bits(values: np.ndarray) -> np.ndarray:
    """Numbers as their bits, by which missing is equal to missing, and 0.0 differs from -0.0."""
    return np.ascontiguousarray(values).view(np.int64)


def marks(rows: np.ndarray) -> np.ndarray:
    """Random sums of the bits of rows (n, d): the same for equal rows, and hardly ever for others."""
    factors = np.random.default_rng(0).integers(1, 2**62, size=rows.shape[1], dtype=np.int64)
    found = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        mixed = bits(rows[start : start + ROWS_AT_ONCE]) * factors
        found[start : start + ROWS_AT_ONCE] = (mixed ^ (mixed >> 29)).sum(axis=1)
    return found


def match_by_source(source: np.ndarray, examples: int) -> np.ndarray | None:
    """The background row that each example is, (N,), from the examples that background rows are, (m,); -1 for none.

    Examples
    --------
    >>> match_by_source(np.array([2, -1, 0]), 4)
    array([ 2, -1,  0, -1])
    """
    own = np.full(examples, -1)
    own[source[source >= 0]] = np.flatnonzero(source >= 0)
    return own if (own >= 0).any() else None


def match_by_cells(X: np.ndarray, background: np.ndarray) -> np.ndarray | None:
    """The number of the background row that each example is, (N,), -1 for none; None where no example is one.

    Rows of codes are the same where the two tables are; or where a row occurs once in each of them, if that is so for
    at least half of the smaller table. Else, and among rows that occur more often, equal ones may well be of different
    individuals.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> match_by_cells(X, X[[2, 0]])
    array([ 1, -1,  0])
    """
    if X.shape == background.shape and np.array_equal(X, background, equal_nan=True):
        return np.arange(len(X))
    mine, theirs = marks(X), marks(background)
    alike = np.flatnonzero(np.isin(mine, theirs))
    places = {mark: place for place, mark in enumerate(theirs.tolist())}
    often = Counter(mine[alike].tolist()), Counter(theirs.tolist())
    found = np.full(len(X), -1)
    for example in alike.tolist():
        mark = int(mine[example])
        is_single = often[0][mark] == often[1][mark] == 1
        if is_single and np.array_equal(bits(X[example]), bits(background[places[mark]])):
            found[example] = places[mark]
    return found if (found >= 0).sum() >= min(len(X), len(background)) / 2 else None


def source_of(examples: Any, rows: int, count: int) -> np.ndarray | None:
    """The example that each of so many background rows is, of so many examples, as a user gives it; None for None."""
    if examples is None:
        return None
    source = np.asarray(examples)
    is_whole = source.ndim == 1 and len(source) == rows and source.dtype.kind in "iu"
    is_right = is_whole and ((source >= -1) & (source < count)).all()
    if not is_right or (np.unique(source[source >= 0], return_counts=True)[1] > 1).any():
        raise InputError(
            "background examples",
            got=repr(examples)[:80],
            wanted=f"the number of a row of X for each of {rows} background rows, each at most once, -1 for none",
        )
    return source


def self_match(
    X: np.ndarray, background: np.ndarray, weights: np.ndarray, source: np.ndarray | None
) -> np.ndarray | None:
    """The background row that each example is, (N,), -1 for none; None where no example is one.

    Known by ``source`` (m,), the example that each background row is, or else by cells. No example is one where a row
    has all the weight, since nothing would be left to stand in for it.
    """
    if len(weights) < 2 or weights.max() > NEARLY_ALL:
        return None
    return match_by_cells(X, background) if source is None else match_by_source(source, len(X))


@dataclass(frozen=True)
class KnownRows:
    """Which background row a row of codes is, -1 for none; examples that are equal in all cells are treated alike.

    ``codes`` (q, d) are the examples that are background rows, in the order of their ``marks``, and ``own`` (q,) those
    rows.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> KnownRows.of(X, X[[2, 0]], np.full(2, 0.5), None).places(X)
    array([ 1, -1,  0])
    """

    codes: np.ndarray
    own: np.ndarray
    marks: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, background: np.ndarray, weights: np.ndarray, source: np.ndarray | None) -> KnownRows:
        """The examples X that are background rows; see :func:`self_match`."""
        own = self_match(X, background, weights, source)
        if own is None:
            own = np.full(len(X), -1)
        is_one = own >= 0
        found = marks(X[is_one])
        order = np.argsort(found, kind="stable")
        return cls(X[is_one][order], own[is_one][order], found[order])

    def __len__(self) -> int:
        return len(self.own)

    def places(self, x: np.ndarray) -> np.ndarray:
        """The background row that each row of codes (n, d) is, -1 for none."""
        if not len(self):
            return np.full(len(x), -1)
        place = np.minimum(np.searchsorted(self.marks, marks(x)), len(self) - 1)
        is_same = (bits(self.codes[place]) == bits(x)).all(axis=1)
        return np.where(is_same, self.own[place], -1)


def seed_of(rng: Any) -> int:
    """A seed stands for itself; a Generator gives of its own."""
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    raise InputError("rng", got=f"{rng!r}", wanted="a seed (a whole number of zero or more), or a numpy Generator")
