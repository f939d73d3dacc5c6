"""A method's map of MNIST in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.figure1.maps import Measured, correlation, is_central, share, smoothness
from experiments.methods.importance import Importance


@dataclass(frozen=True)
class MapFacts:
    """What is measured on a map.

    Attributes
    ----------
    central : share of the most important pixels that are in the centre
    negative : share of the centre's pixels with a negative value
    surely_negative : the same of pixels whose 95 % interval is below zero
    smooth : correlation of neighbouring pixels
    like_sage : correlation with the SAGE map
    unclear : share of all pixels whose 95 % interval holds zero
    blank : mean size of values of pixels that never vary, which no model can use, over that of the centre's values
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
    def of(cls, found: Importance, sage: Importance, varies: np.ndarray, settings: dict[str, Any]) -> MapFacts:
        values, again = found.scores, settings["resamples"]
        inside = is_central(settings["centre"])
        top = np.argsort(-values, kind="stable")[: settings["top"]]
        low, high = found.interval() or (values, values)
        return cls(
            found.method,
            central=share(inside[top]),
            negative=share(values[inside] < 0),
            surely_negative=float((high[inside] < 0).mean()),
            smooth=smoothness(values, resamples=again),
            like_sage=correlation(values, sage.scores, resamples=again),
            unclear=share((low <= 0) & (high >= 0)),
            blank=float(np.abs(values[~varies]).mean() / np.abs(values[inside]).mean()),
        )
