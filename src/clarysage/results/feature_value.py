"""The value of one feature of an explanation, ``explanation["age"]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clarysage.errors import InputError, PythonOnly, Words, resembling
from clarysage.synonyms import IN_PLACE_OF_ATTRIBUTES

if TYPE_CHECKING:
    from clarysage.results.explanation import Explanation


class FeatureValue(float):
    """The value of one feature: a number, which also knows its uncertainty.

    Methods are those of the explanation, for this feature alone.

    Examples
    --------
    >>> import numpy as np
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> value = cs.sage(lambda X: X[:, 0], X, X[:, 0], feature_names=["age", "noise"], rng=0)["age"]
    >>> low, high = value.interval(0.9)
    >>> low < value < high, value.p_value() < 0.01
    (True, True)
    """

    explanation: Explanation
    number: int

    @classmethod
    def of(cls, explanation: Explanation, number: int) -> FeatureValue:
        """Returns the value of the feature of the given number in an explanation."""
        value = cls(explanation.values[number])
        value.explanation, value.number = explanation, number
        return value

    @property
    def name(self) -> str:
        """The name of the feature."""
        return self.explanation.feature_names[self.number]

    @property
    def std_error(self) -> float:
        """The standard error by the sampling of the run, about the data."""
        return float(self.explanation.std_error[self.number])

    def interval(self, level: float = 0.95, *, about: str | None = None, joint: bool = False) -> tuple[float, float]:
        """Returns low and high end of the interval: see :meth:`clarysage.Explanation.interval`."""
        low, high = self.explanation.interval(level, about=about, joint=joint)
        return float(low[self.number]), float(high[self.number])

    def p_value(self, alternative: str = "helps", *, about: str | None = None, adjust: str | None = None) -> float:
        """Returns the p-value of a test of the value: see :meth:`clarysage.Explanation.p_values`."""
        return float(self.explanation.p_values(alternative, about=about, adjust=adjust)[self.number])


class UnknownFeatureError(InputError, KeyError):
    """Raised for a feature that is not in the explanation."""

    __str__ = InputError.__str__  # a KeyError would quote the message


ATTRIBUTES = ("importances_mean", "importances_std", "feature_importances_", "values", "std_error")


def unknown_feature(name: object, names: Sequence[str]) -> UnknownFeatureError:
    """Returns the error for the name of a feature that an explanation does not have, or for the name of an attribute.

    Examples
    --------
    >>> print(unknown_feature("agge", ["age"]))
    name: got 'agge'; wanted the name of a feature. Try 'age'.
    >>> print(unknown_feature("importances_mean", ["age"]))
    name: got 'importances_mean'; wanted the name of a feature. Try explanation.importances_mean.
    """
    hint: Words
    if not isinstance(name, str):
        hint = PythonOnly("explanation.values[0]")
    elif name in ATTRIBUTES or name in IN_PLACE_OF_ATTRIBUTES:
        hint = PythonOnly(f"explanation.{IN_PLACE_OF_ATTRIBUTES.get(name, name)}")
    else:
        hint = resembling(name, names)
    return UnknownFeatureError("name", got=f"{name!r}", wanted="the name of a feature", hint=hint)
