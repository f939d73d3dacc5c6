"""The game that measures of a model summarise, by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clarysage._measures.problem import Setting
from clarysage.games import PredictivePower


def game(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    background: Any = None,
    removal: Any = "marginal",
    loss: Any = "auto",
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
    rng: Any = None,
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
    setting = Setting.of(
        model, X, y, sample_weight, background=background, removal=removal, groups=groups, feature_names=feature_names,
        rng=rng,
    )  # fmt: skip
    return setting.game(loss)[0]
