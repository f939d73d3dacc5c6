"""Which players a plot shows, in what order, and what becomes of the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.errors import InputError, Set
from clarysage.inference.intervals import interval
from clarysage.plots.axes import is_count
from clarysage.results import Explanation, Importances, Monitoring
from clarysage.results.monitoring_view import features_to_show


@dataclass(frozen=True)
class Selection:
    """Rows of a plot, in the order in which they are drawn.

    Attributes
    ----------
    names, values, low, high : (k,) of each row
    has_interval : (k,) whether low and high are the ends of an interval
    others : how many players the last row sums up; 0 if it is a player itself
    """

    names: tuple[str, ...]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    has_interval: np.ndarray
    others: int = 0


def largest(explanation: Explanation, top: int | None) -> np.ndarray:
    """Places of the ``top`` players with the largest absolute values, by value, largest first; None for all."""
    _check_top(top)
    values = explanation.values
    kept = np.sort(np.argsort(-np.abs(values), kind="stable")[:top])  # sorted, so that ties keep the players' order
    return np.asarray(kept[np.argsort(-values[kept], kind="stable")])


def largest_of_all(importances: Importances, top: int | None) -> list[str]:
    """Names of the ``top`` features with the largest shares on average over measures, most important first.

    Shares count by size, so that harmful features are not left out.
    """
    _check_top(top)
    shares = importances.shares().abs().mean(axis=1)
    kept = set(shares.sort_values(ascending=False, kind="stable").index[:top])
    return [name for name in importances.order if name in kept]


def notable(monitoring: Monitoring, top: int | None, most: int, least: int) -> list[str]:
    """Names of the features to draw, as :func:`clarysage.results.monitoring_view.features_to_show` chooses them."""
    _check_top(top)
    return features_to_show(monitoring, top, most, least)


def _check_top(top: int | None) -> None:
    if top is not None and not is_count(top):
        raise InputError(
            "top", got=f"{top!r}", wanted="a whole number of one or more, or None for all", hint=Set("top", 10)
        )


def select(explanation: Explanation, top: int | None, level: float, joint: bool, about: str) -> Selection:
    """The players of :func:`largest`, without the others."""
    kept = largest(explanation, top)
    low, high = explanation.interval(level, about=about, joint=joint)
    names = tuple(explanation.feature_names[i] for i in kept)
    known = np.full(len(kept), explanation.draws > 0 or about != "data")
    return Selection(names, explanation.values[kept], low[kept], high[kept], known)


def select_and_sum(explanation: Explanation, top: int | None, level: float, joint: bool, about: str) -> Selection:
    """The players of :func:`largest`, and a last row for the sum of the others."""
    first = select(explanation, top, level, joint, about)
    rest = np.setdiff1d(np.arange(len(explanation.values)), largest(explanation, top))
    if len(rest) == 0:
        return first
    value = float(explanation.values[rest].sum())
    ends = _interval_of_sum(explanation, rest, level, joint) if about == "data" else None
    low, high = (value, value) if ends is None else ends
    return Selection(
        names=(*first.names, f"{len(rest):,} other{'s' if len(rest) > 1 else ''}"),
        values=np.append(first.values, value),
        low=np.append(first.low, low),
        high=np.append(first.high, high),
        has_interval=np.append(first.has_interval, ends is not None),
        others=len(rest),
    )


def _interval_of_sum(
    explanation: Explanation, rest: np.ndarray, level: float, joint: bool
) -> tuple[float, float] | None:
    """Ends for the sum of some values, from their covariance; None if exact, or if the covariance was not kept."""
    if explanation.covariance is None or explanation.draws == 0:
        return None
    # values are negatively correlated, so the variance of a sum may be zero, and by rounding a hair below
    variance = max(float(explanation.covariance[np.ix_(rest, rest)].sum()), 0.0)
    # one entry a player, so that joint intervals are as many here as in Explanation.interval: at least those shown
    p = len(explanation.values)
    centre, error = np.full(p, explanation.values[rest].sum()), np.full(p, np.sqrt(variance))
    assert explanation.dof is not None
    low, high = interval(centre, error, float(explanation.dof[rest].min()), level, joint=joint)
    return float(low[0]), float(high[0])
