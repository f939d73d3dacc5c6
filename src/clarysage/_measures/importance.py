"""Any measure by its name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from clarysage._measures.options import DEFAULTS, options_of, taking_shared_options
from clarysage._measures.table import as_measure
from clarysage.catalogue import REMOVALS
from clarysage.errors import InputError, Note, Set, resembling
from clarysage.protocols import LossLike, LossList, ModelLike, TableLike, TargetLike
from clarysage.results import Explanation

if TYPE_CHECKING:
    from clarysage._measures.table import Measure


@overload
def importance(
    name: str | Measure,
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    **options: object,
) -> list[Explanation]: ...


@overload
def importance(
    name: str | Measure,
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    **options: object,
) -> Explanation: ...


def importance(
    name: str | Measure, model: ModelLike, X: TableLike, y: TargetLike | None = None, **options: object
) -> Explanation | list[Explanation]:
    """The importance of features by the measure of the given name.

    Parameters
    ----------
    name : "sage", "permutation test", ..., a name of :func:`clarysage.measures`
    model, X, y : as in :func:`~clarysage.sage`
    options : those that all measures share, as in :func:`~clarysage.sage`, and those of the measure's own function. A
        note in the explanation says which of the shared ones this measure has no use for, so that a loop over names may
        hand the same to all; a removal that is not for a measure that has one of its own is replaced by that

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> importance("sage", lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1], rng=0).top(2)
    ['x0', 'x1']
    """
    measure = as_measure(name)
    function = taking_shared_options(measure.function)
    known = list(dict.fromkeys([*options_of(function), *DEFAULTS]))
    for option in options:
        if option not in known:
            got, wanted = f"an option that {measure.name!r} does not have", f"one of {', '.join(known)}"
            raise InputError(option, got=got, wanted=wanted, hint=resembling(option, known))
    removal = options.get("removal")
    if isinstance(removal, str) and not REMOVALS.is_special(removal):
        REMOVALS.get_row(removal)  # raises where there is no such name
    usual = inspect.signature(function).parameters.get("removal")
    has_own = usual is not None and usual.default != DEFAULTS["removal"]
    result: Explanation | list[Explanation] = explained(measure, model, X, y, options, may_replace_removal=has_own)
    return result


def explained(
    measure: Measure, model: Any, X: Any, y: Any, options: Mapping[str, Any], *, may_replace_removal: bool
) -> Any:
    """The explanation by a measure; where it refuses the removal, by the measure's own, and a note says so."""
    function = taking_shared_options(measure.function)
    try:
        return function(model, X, y, **options)
    except InputError as error:
        if not may_replace_removal or error.argument != "removal" or "removal" not in options:
            raise
        note = Note((Set("removal"), " was not used: ", *error.got, " is not for this measure."))
    others = {name: value for name, value in options.items() if name != "removal"}
    result = function(model, X, y, **others)
    if isinstance(result, list):
        return [replace(one, notes=(*one.notes, note)) for one in result]
    return replace(result, notes=(*result.notes, note))
