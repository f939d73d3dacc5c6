"""Any measure by its name."""

from __future__ import annotations

import inspect
from typing import Any

from clarysage._measures.table import as_measure
from clarysage.errors import InputError, resembling


def importance(name: Any, model: Any, X: Any, y: Any = None, **options: Any) -> Any:
    """The importance of features by the measure of the given name.

    Parameters
    ----------
    name : "sage", "permutation test", ..., a name of :func:`clarysage.measures`
    model, X, y : as in :func:`~clarysage.sage`
    options : of the measure, as in the function of its name, such as :func:`clarysage.permutation_test`

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
    known = options_of(measure.function)
    for option in options:
        if option not in known:
            got, wanted = f"an option that {measure.name!r} does not have", f"one of {', '.join(known)}"
            raise InputError(option, got=got, wanted=wanted, hint=resembling(option, known))
    return measure.function(model, X, y, **options)


def options_of(function: Any) -> list[str]:
    """Names of the options that a measure takes beside model, X and y.

    Examples
    --------
    >>> options_of(lambda model, X, y=None, *, loss="auto": None)
    ['loss']
    """
    return [one.name for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]
