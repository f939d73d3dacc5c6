"""Conditional permutation test: what the model loses when a feature is drawn anew, given the others."""

from __future__ import annotations

from typing import Any, Unpack, overload

from clarysage._measures.options import SharedOptions, apart, with_shared_options
from clarysage._measures.permutation_test import by_repeats
from clarysage.catalogue import REMOVALS, removals_that_draw_given_others
from clarysage.errors import Call, InputError, PythonOnly, Set, Words
from clarysage.protocols import LossLike, LossList, ModelLike, TableLike, TargetLike
from clarysage.removal import is_auto_conditional
from clarysage.results import Explanation


@overload
def conditional_permutation_test(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    repeats: int | None = ...,
    **options: Unpack[SharedOptions],
) -> list[Explanation]: ...


@overload
def conditional_permutation_test(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    repeats: int | None = ...,
    **options: Unpack[SharedOptions],
) -> Explanation: ...


@with_shared_options(unused={"check_manifold": "features are drawn given the others"}, defaults={"removal": "copula"})
def conditional_permutation_test(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    loss: LossLike | LossList = "auto",
    repeats: int | None = None,
    **options: Unpack[SharedOptions],
) -> Explanation | list[Explanation]:
    r"""Conditional permutation test: how much worse the model predicts when a feature is drawn given the others.

    .. math:: \phi_i = E_{XY}\big[ E_{X_i | X_{D \setminus \{i\}}} [\ell(f(X_i, X_{D \setminus \{i\}}), Y)] \big]
        - E[\ell(f(X), Y)]

    and :math:`\phi_0` as in :func:`~clarysage.permutation_test` (Table 3). What others tell of a feature stays: it
    counts for what it alone knows, and rows look like real ones as far as the removal does.

    Parameters
    ----------
    removal : how a feature is drawn given the others: {drawing}; or an object such as ``Gaussian(X_train)``. The
        default, "copula", copes with columns of any kind. A surrogate has no values to draw
    background : rows that the removal learns from; default X itself, thinned to 4,096 rows
    model, X, y, loss, repeats : as in :func:`~clarysage.permutation_test`

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(400, 1))
    >>> X = np.hstack([x, x + 0.1 * np.random.default_rng(1).normal(size=(400, 1))])
    >>> f = lambda X: X[:, 0] + X[:, 1]
    >>> given = conditional_permutation_test(f, X, f(X), removal="gaussian", rng=0)
    >>> bool((given.values < 0.05).all())  # each is known from the other
    True
    """
    data, run = apart(options)
    data.setdefault("removal", "copula")
    _check(data["removal"])
    return by_repeats(
        "conditional permutation test", model, X, y, data, run, loss, repeats, among=removals_that_draw_given_others()
    )


def _check(removal: Any) -> None:
    """Raise for a removal that does not draw features given the others."""
    if is_auto_conditional(removal):
        return
    row = REMOVALS.get_row(removal) if isinstance(removal, str) else REMOVALS.row_of(removal)
    drawing = removals_that_draw_given_others()
    if row is None or row.name in drawing:
        return
    automatic = [] if REMOVALS.special is None else [REMOVALS.special.name]
    names = ", ".join(map(repr, (*drawing, *automatic)))
    wanted: Words = [f"one of {names}", PythonOnly(", or an object such as Gaussian(X_train)")]
    if row.is_conditional:
        got = f"a {row.name}, which predicts without a feature and has no values to put in"
        raise InputError("removal", got=got, wanted=wanted, hint=Set("removal", "copula"))
    raise InputError(
        "removal",
        got=f"{row.name!r}, which does not look at the other features",
        wanted=wanted,
        hint=[Call("cs.permutation_test", "model, X, y"), ", or cs.mean_importance for a baseline"],
    )
