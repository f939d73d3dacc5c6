"""Losses in place of metrics and scorers of scikit-learn, which return one number for all examples.

A metric is recognised by identity, and a scorer by the metric that it was made of. Whether larger is better plays no
part: a value here is the reduction of a loss, so that it is positive for a feature that makes predictions better.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from clarysage.catalogue import LOSSES
from clarysage.errors import InputError, PythonOnly
from clarysage.protocols import Loss
from clarysage.registry import loaded

MODULE = "sklearn.metrics"
WITHOUT_EFFECT = ("labels", "pos_label")  # the model knows its classes, and both classes of two have the same losses


@dataclass(frozen=True)
class Metric:
    """A metric of scikit-learn: its function, and the parameters that it is called with."""

    function: Callable[..., Any]
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def loss(self) -> Loss:
        """The loss whose mean is the metric, or one minus the metric; raises an error if there is none."""
        kind = loaded(LOSSES.get_row(self.name).source)
        defaults = {name: each.default for name, each in inspect.signature(self.function).parameters.items()}
        shared = [each.name for each in fields(kind) if each.name in defaults]
        for name, value in self.given.items():
            is_default = isinstance(value, (bool, str)) and value == defaults.get(name)
            if name not in (*shared, *WITHOUT_EFFECT) and not is_default:
                raise InputError(
                    "loss",
                    got=f"{self.name} with {name}={value!r}"[:80],
                    wanted=f"{self.name} as it is by default",
                    hint=PythonOnly("a function that returns one value for each example"),
                )
        loss: Loss = kind(**{name: self.given.get(name, defaults[name]) for name in shared})
        return loss


def metric_of(value: Any) -> Metric | None:
    """Returns the metric of scikit-learn that a function, a partial function or a scorer stands for, else None.

    Examples
    --------
    >>> from functools import partial
    >>> from sklearn.metrics import make_scorer, mean_pinball_loss
    >>> metric_of(partial(mean_pinball_loss, alpha=0.9)).loss
    Pinball(alpha=0.9)
    >>> metric_of(make_scorer(mean_pinball_loss, greater_is_better=False)).loss
    Pinball(alpha=0.5)
    >>> metric_of(lambda y_true, y_pred: abs(y_true - y_pred)) is None
    True
    """
    module = sys.modules.get(MODULE)
    if module is None:
        return None
    if isinstance(value, partial):
        inner = None if value.args else metric_of(value.func)
        return None if inner is None else Metric(inner.function, {**inner.given, **value.keywords})
    if _is_scorer(value):
        return _metric_of_scorer(value)
    is_function = callable(value) and getattr(module, getattr(value, "__name__", ""), None) is value
    return Metric(value) if is_function else None


def _is_scorer(value: Any) -> bool:
    return type(value).__module__.startswith(f"{MODULE}._scorer")


def _metric_of_scorer(scorer: Any) -> Metric:
    """Returns the metric that a scorer was made of; an error if that is not one of scikit-learn's."""
    function = getattr(scorer, "_score_func", None)  # no public attribute has it
    metric = None if function is None else metric_of(function)
    if metric is None:
        name = getattr(function, "__name__", type(scorer).__name__)
        raise InputError(
            "loss",
            got=f"a scorer by {name}, which returns one number for all examples",
            wanted="a loss of single examples, of which values are means",
            hint=PythonOnly("a function of (y_true, y_pred) that returns one value for each example"),
        )
    return Metric(metric.function, {**metric.given, **getattr(scorer, "_kwargs", {})})
