"""Mean importance: what the model loses when a feature is set to its mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clarysage._measures.best_constant import over_best_constant, with_constant
from clarysage._measures.checkpoint_identity import Kept
from clarysage._measures.problem import Setting
from clarysage._measures.repeated import check_given
from clarysage._measures.rules import observer_of
from clarysage.estimators import LEAVE_ONE_OUT, estimate
from clarysage.execution.parallel import as_executor
from clarysage.games import PredictivePower
from clarysage.losses.choice import is_auto


def mean_importance(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    background: Any = None,
    loss: Any = "auto",
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    n_jobs: Any = None,
    checkpoint: Any = None,
    progress: bool | None = None,
    feature_names: Sequence[str] | None = None,
    rng: Any = None,
) -> Any:
    r"""Mean importance: how much worse the model predicts when one feature is set to its mean.

    .. math:: \phi_i = E[\ell(f(E[X_i], X_{D \setminus \{i\}}), Y)] - E[\ell(f(X), Y)]

    and :math:`\phi_0` as in :func:`~clarysage.permutation_test` (Table 3). Categories take the most frequent one.
    Values are exact for the rows at hand; intervals are about the population of rows.

    Parameters
    ----------
    model, X, y, loss, groups, sample_weight : as in :func:`~clarysage.sage`; the columns of a group are all set to
        their means
    background : rows whose means are taken; default X itself
    n_jobs, checkpoint, progress, feature_names : as in :func:`~clarysage.sage`
    rng : not needed, since nothing is drawn; here so that all measures are called alike

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Notes
    -----
    A mean may be a value that no row has, and a row with it unlike any other. A model that is even in a feature, say,
    may hardly notice that it is gone.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> mean_importance(lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1]).top(2)
    ['x0', 'x1']
    """
    check_given(y)
    executor, kept = as_executor(n_jobs), Kept.at(checkpoint)
    setting = Setting.of(
        model, X, y, sample_weight, background=background, removal="baseline", groups=groups,
        feature_names=feature_names, rng=kept.rng(rng),
    )  # fmt: skip
    f_S = setting.removal.restrict(setting.f, setting.X)
    v = PredictivePower.of(
        f_S, loss, setting.X, setting.y, players=setting.players, sample_weight=setting.sample_weight
    )
    point = kept.of(setting, v, measure="mean importance", estimator=LEAVE_ONE_OUT, rules=())
    result = estimate(v, LEAVE_ONE_OUT, stop=(), executor=executor, seed=setting.entropy,
                      observer=observer_of(progress, []), checkpoint=point)  # fmt: skip
    notes = [*([f"Loss {v.losses[0].name!r} was chosen."] if is_auto(loss) else []), *v.remarks]
    shown = over_best_constant(v)
    found = with_constant(
        setting.explanations(shown, result, measure="mean importance", method=LEAVE_ONE_OUT.name, notes=notes)
    )
    return found if isinstance(loss, (list, tuple)) else found[0]
