"""Any measure by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from clarysage._measures.options import DEFAULTS, options_of, taking_shared_options
from clarysage._measures.table import as_measure
from clarysage.errors import InputError, resembling
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
    options : those that all measures share, as in :func:`~clarysage.sage` (a note in the explanation says which of
        them this measure has no use for), and those of the measure's own function

    Returns
    -------
    Explanation

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
    explanation: Explanation | list[Explanation] = function(model, X, y, **options)
    return explanation
