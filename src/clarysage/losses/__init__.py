"""Losses l(prediction, y): one value per example. Their names are in :mod:`clarysage.catalogue`."""

from __future__ import annotations

from clarysage.catalogue import LOSSES
from clarysage.losses.choice import as_loss
from clarysage.losses.classification import Brier, CrossEntropy, ZeroOne
from clarysage.losses.custom import CustomLoss
from clarysage.losses.regression import AbsoluteError, SquaredError

__all__ = ["LOSSES", "AbsoluteError", "Brier", "CrossEntropy", "CustomLoss", "SquaredError", "ZeroOne", "as_loss"]
