"""The game that measures of a model summarise, by itself."""

from __future__ import annotations

from typing import Unpack

from clarysage._measures.options import SharedOptions, apart, with_shared_options
from clarysage._measures.problem import Problem
from clarysage.games import PredictivePower
from clarysage.protocols import LossLike, LossList, ModelLike, TableLike, TargetLike

NO_RUN = dict.fromkeys(
    ("tolerance", "budget", "deadline", "stop", "n_jobs", "checkpoint", "progress", "check_manifold"),
    "a game is not yet a run",
)


@with_shared_options(unused=NO_RUN)
def game(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    loss: LossLike | LossList = "auto",
    **options: Unpack[SharedOptions],
) -> PredictivePower:
    """v_f, the predictive power of subsets of features (Eq. 2), of which :func:`~clarysage.sage` gives Shapley values.

    For :meth:`clarysage.Explanation.agreement`, and for summaries of one's own. All parameters are those of
    :func:`~clarysage.sage`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> v = game(lambda X: X[:, 0], X, X[:, 0])
    >>> float((v.weights @ (v.ends[1] - v.ends[0])).round(1)[0])  # of all features, less that of none
    1.0
    """
    data, run = apart(options)
    return Problem.of(model, X, y, run=run, **data).game(loss)[0]
