"""Selection of the players that a plot shows, their order, and the sum of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.inference.intervals import interval
from clarysage.results import Explanation, Importances, Monitoring
from clarysage.results.monitoring_view import features_to_show
from clarysage.results.summary import check_top


@dataclass(frozen=True)
class Selection:
    """Rows of a plot, in the order of drawing.

    Attributes
    ----------
    names, values, low, high : (k,) of each row
    has_interval : (k,) whether low and high are the ends of an interval
    others : number of players that the last row sums up; 0 if it is a player itself
    """

    names: tuple[str, ...]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    has_interval: np.ndarray
    others: int = 0


def largest(explanation: Explanation, top: int | None) -> np.ndarray:
    """Returns indices of the ``top`` players with the largest absolute values (None: all), by value, largest first."""
    check_top(top)
    values = explanation.values
    selected = np.sort(np.argsort(-np.abs(values), kind="stable")[:top])  # sorted: ties stay in the players' order
    return np.asarray(selected[np.argsort(-values[selected], kind="stable")])


def largest_of_all(importances: Importances, top: int | None) -> list[str]:
    """Returns names of the ``top`` features with the largest mean shares over measures, most important first.

    Absolute shares count, so that harmful features are included.
    """
    check_top(top)
    shares = importances.shares().abs().mean(axis=1)
    selected = set(shares.sort_values(ascending=False, kind="stable").index[:top])
    return [name for name in importances.order if name in selected]


def notable(monitoring: Monitoring, top: int | None, most: int, least: int) -> list[str]:
    """Names of the features to draw, as :func:`clarysage.results.monitoring_view.features_to_show` chooses them."""
    check_top(top)
    return features_to_show(monitoring, top, most, least)


def select(explanation: Explanation, top: int | None, level: float, joint: bool, about: str) -> Selection:
    """Selects the players of :func:`largest`, without the others."""
    selected = largest(explanation, top)
    low, high = explanation.interval(level, about=about, joint=joint)
    names = tuple(explanation.feature_names[i] for i in selected)
    has_interval = np.full(len(selected), explanation.draws > 0 or about != "data")
    return Selection(names, explanation.values[selected], low[selected], high[selected], has_interval)


def select_and_sum(explanation: Explanation, top: int | None, level: float, joint: bool, about: str) -> Selection:
    """Selects the players of :func:`largest`, with a last row for the sum of the others."""
    first = select(explanation, top, level, joint, about)
    others = np.setdiff1d(np.arange(len(explanation.values)), largest(explanation, top))
    if len(others) == 0:
        return first
    value = float(explanation.values[others].sum())
    ends = _interval_of_sum(explanation, others, level, joint) if about == "data" else None
    low, high = (value, value) if ends is None else ends
    return Selection(
        names=(*first.names, f"{len(others):,} other{'s' if len(others) > 1 else ''}"),
        values=np.append(first.values, value),
        low=np.append(first.low, low),
        high=np.append(first.high, high),
        has_interval=np.append(first.has_interval, ends is not None),
        others=len(others),
    )


def _interval_of_sum(
    explanation: Explanation, others: np.ndarray, level: float, joint: bool
) -> tuple[float, float] | None:
    """Returns the interval of a sum of values, from their covariance; None if exact, or without a covariance."""
    if explanation.covariance is None or explanation.draws == 0:
        return None
    # values are negatively correlated, so the variance of a sum may be zero, and by rounding slightly negative
    variance = max(float(explanation.covariance[np.ix_(others, others)].sum()), 0.0)
    # one entry for each player, so that as many joint intervals are adjusted for as in Explanation.interval
    p = len(explanation.values)
    centre, error = np.full(p, explanation.values[others].sum()), np.full(p, np.sqrt(variance))
    assert explanation.dof is not None
    low, high = interval(centre, error, float(explanation.dof[others].min()), level, joint=joint)
    return float(low[0]), float(high[0])
