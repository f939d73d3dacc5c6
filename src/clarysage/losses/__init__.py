"""Losses l(prediction, y): one value per example. Their names are in :mod:`clarysage.catalogue`."""

from __future__ import annotations

from clarysage.catalogue import LOSSES
from clarysage.losses.choice import as_loss
from clarysage.losses.classification import Brier, CrossEntropy, ZeroOne
from clarysage.losses.custom import CustomLoss
from clarysage.losses.deviances import GammaDeviance, PoissonDeviance, TweedieDeviance
from clarysage.losses.margins import Hinge
from clarysage.losses.multilabel import MultiLabel
from clarysage.losses.regression import AbsoluteError, SquaredError
from clarysage.losses.robust import Huber, LogCosh, Pinball
from clarysage.losses.terms import PerClass, PerTarget

__all__ = [
    "LOSSES",
    "AbsoluteError",
    "Brier",
    "CrossEntropy",
    "CustomLoss",
    "GammaDeviance",
    "Hinge",
    "Huber",
    "LogCosh",
    "MultiLabel",
    "PerClass",
    "PerTarget",
    "Pinball",
    "PoissonDeviance",
    "SquaredError",
    "TweedieDeviance",
    "ZeroOne",
    "as_loss",
]
