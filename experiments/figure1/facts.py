"""Measurements of a method's map of MNIST."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.figure1.maps import Measured, correlation, is_central, share, smoothness
from experiments.methods.importance import Importance


@dataclass(frozen=True)
class MapFacts:
    """Measurements of a map.

    Attributes
    ----------
    central : share of the most important pixels that are in the centre
    negative : share of the centre's pixels with a negative value
    surely_negative : share of the centre's pixels whose 95 % interval is below zero
    smooth : correlation of neighbouring pixels
    like_sage : correlation with the SAGE map
    unclear : share of all pixels whose 95 % interval contains zero
    blank : mean absolute value of constant pixels, which no model can use, relative to that of the centre
    """

    method: str
    central: Measured
    negative: Measured
    surely_negative: float
    smooth: Measured
    like_sage: Measured
    unclear: Measured
    blank: float

    @classmethod
    def of(cls, importance: Importance, sage: Importance, varies: np.ndarray, settings: dict[str, Any]) -> MapFacts:
        values, resamples = importance.scores, settings["resamples"]
        inside = is_central(settings["centre"])
        top = np.argsort(-values, kind="stable")[: settings["top"]]
        low, high = importance.interval() or (values, values)
        return cls(
            importance.method,
            central=share(inside[top]),
            negative=share(values[inside] < 0),
            surely_negative=float((high[inside] < 0).mean()),
            smooth=smoothness(values, resamples=resamples),
            like_sage=correlation(values, sage.scores, resamples=resamples),
            unclear=share((low <= 0) & (high >= 0)),
            blank=float(np.abs(values[~varies]).mean() / np.abs(values[inside]).mean()),
        )
