"""What the reference decides for all: the loss, the removal and the classes, where they are left to us."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clarysage.losses import as_loss
from clarysage.losses.choice import is_auto
from clarysage.losses.classification import presumed_classes
from clarysage.models import as_predictor
from clarysage.monitoring.sides import Side
from clarysage.removal import is_auto_conditional
from clarysage.results import Explanation
from clarysage.tables import rows_of
from clarysage.tables.target import read_target


@dataclass(frozen=True)
class Chosen:
    """A model, a loss and a removal."""

    model: Any
    loss: Any
    removal: Any

    def as_in(self, first: Explanation, reference: Side) -> Chosen:
        """The same as the explanation of the reference has them, so that slices are judged alike."""
        loss = first.loss if is_auto(self.loss) else self.loss
        removal = first.removal if is_auto_conditional(self.removal) else self.removal
        return Chosen(self._knowing_classes(first, loss, reference), loss, removal)

    def _knowing_classes(self, first: Explanation, loss: Any, reference: Side) -> Any:
        """A model that does not know its classes, with those of the reference: a slice may lack some.

        Of the labels 1 and 2, a slice with 1 alone would else be taken for the second of 0 and 1.
        """
        f = as_predictor(self.model)
        if f.classes is not None or first.values_are != "gain" or as_loss(loss).task != "classification":
            return self.model
        y = read_target(reference.y, reference.X, len(reference.X))
        if y.ndim > 1:  # probabilities of classes
            return self.model
        outputs = f(rows_of(reference.X, [0])).shape[1]
        return as_predictor(self.model, classes=presumed_classes(y, max(outputs, 2)))
