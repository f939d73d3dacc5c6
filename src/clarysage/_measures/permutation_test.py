"""Permutation test: what the model loses when a feature is drawn anew, whatever the others are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clarysage._measures.checkpoint_identity import Kept
from clarysage._measures.problem import Setting
from clarysage._measures.repeated import repeated

ROWS_TO_DRAW = 16_384  # of X, where no background is given: a row more costs nothing, since each is drawn by itself


def permutation_test(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    background: Any = None,
    loss: Any = "auto",
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    repeats: int | None = None,
    tolerance: float | None = 0.025,
    budget: float | None = None,
    deadline: float | None = None,
    stop: Any = None,
    n_jobs: Any = None,
    checkpoint: Any = None,
    progress: bool | None = None,
    feature_names: Sequence[str] | None = None,
    rng: Any = None,
) -> Any:
    r"""Permutation test: how much worse the model predicts when one feature is taken from another row.

    .. math:: \phi_i = E_{XY}\big[ E_{X_i} [\ell(f(X_i, X_{D \setminus \{i\}}), Y)] \big] - E[\ell(f(X), Y)]

    with :math:`X_i` from its marginal distribution, and :math:`\phi_0 = \min_c E[\ell(c, Y)] - E[\ell(f(X), Y)] -
    \sum_i \phi_i` (Table 3), so that u(D) is what the model saves over the best constant prediction. The model is
    judged on each drawn row, not on their mean prediction: of an additive model whose errors are independent of the
    features, under squared error and with independent features, a value is twice the SAGE value.

    Parameters
    ----------
    model, X, y, loss, groups, sample_weight : as in :func:`~clarysage.sage`; the columns of a group are taken from the
        same row
    background : rows that features are drawn from; default X itself, thinned to 16,384 rows
    repeats : so many repeats, each of which draws a row for every example and feature; default: five or more, until a
        rule says stop
    tolerance, budget, deadline, stop : as in :func:`~clarysage.sage`; with ``repeats`` the tolerance is not looked at
    n_jobs, checkpoint, progress, feature_names, rng : as in :func:`~clarysage.sage`

    Returns
    -------
    Explanation, or a list of them for a list of losses; its ``std_error`` is over repeats

    Notes
    -----
    A feature whose information others share gets little, and correlated features lead to rows unlike any real one:
    see :func:`~clarysage.conditional_permutation_test`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> permutation_test(lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1], rng=0).top(2)
    ['x0', 'x1']
    """
    kept = Kept.at(checkpoint)
    setting = Setting.of(
        model, X, y, sample_weight, background=background, removal="marginal", groups=groups,
        feature_names=feature_names, rng=kept.rng(rng), rows_to_draw=ROWS_TO_DRAW,
    )  # fmt: skip
    return repeated(
        setting, measure="permutation test", loss=loss, repeats=repeats,
        tolerance=tolerance, budget=budget, deadline=deadline, stop=stop, n_jobs=n_jobs, kept=kept,
        progress=progress,
    )  # fmt: skip
