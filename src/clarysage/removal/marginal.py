"""Withheld features drawn from their joint marginal distribution: rows of a fixed background."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError, ModelError, Set
from clarysage.models import BoundPredictor, Predictor, as_predictor
from clarysage.protocols import HoldsExamples, RestrictedModel, ability
from clarysage.removal.hybrid import HybridModel, hybrid_model
from clarysage.removal.row_identity import source_of
from clarysage.tables import EncodedTable, Schema, as_table, container_of, encode_together, read_weights


@dataclass(frozen=True)
class Marginal:
    r"""Withheld features come together from a row of ``background``, whatever the kept ones are.

    .. math:: q(x_{\bar S} | x_S) = p(x_{\bar S})

    This is the paper's sampling assumption (Sec. 3.4). It breaks the dependence between kept and withheld features:
    with strongly correlated features some hybrid rows are unlike any real one.

    Parameters
    ----------
    background : table of rows with the columns of X
    weights : one weight a background row
    memory_limit : bytes that the rows given to the model at once may take
    examples : for a background drawn from X, the number in X of each of its rows, -1 for a row from elsewhere; such
        rows are otherwise known by being equal to a row of X, if there is but one of the kind

    Examples
    --------
    >>> import numpy as np
    >>> f_S = Marginal([[0.0, 0.0], [2.0, 2.0]]).restrict(lambda X: X.sum(axis=1), [[5.0, 7.0]])
    >>> f_S.predict(np.array([[5.0, 7.0]]), np.array([[True, False]]), rng=None)
    array([[6.]])
    """

    background: Any
    weights: Any = None
    memory_limit: float = 1e9
    examples: Any = None
    name: str = "marginal"

    def restrict(self, predictor: Any, X: Any) -> HybridModel:
        bound = bound_to(predictor, X, self.background, self.memory_limit)
        rows = bound.background
        mass = read_weights(self.weights, self.background, len(rows), "background weights", "background")
        kept = mass > 0
        f_S = hybrid_model(bound.predictor, rows[kept], mass[kept], bound.examples)
        source = source_of(self.examples, len(rows), len(bound.examples.codes))
        return f_S if source is None else replace(f_S, source=source[kept])

    def limited(self, memory_limit: float) -> Marginal:
        return replace(self, memory_limit=memory_limit)

    def knowing_examples(self, examples: np.ndarray) -> Marginal:
        return replace(self, examples=examples)


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
