"""A measure on a problem: called with the options that it has, once and again."""

from __future__ import annotations

import inspect
import pickle
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from clarysage._measures.table import Measure
from clarysage.errors import InputError
from clarysage.results import Explanation
from clarysage.testing.measure_problems import MeasureProblem

SEED = 5
CERTAIN = 1 - 1e-6  # level of intervals that are taken at their word
ROUNDING = 1e-6  # of the size of losses: what sums in another order, and fits by other steps, may differ by
CHANCE = 25.0  # over the rows, of the loss: what a fit may gain by a column that tells nothing, five deviations squared


@dataclass(frozen=True)
class Again:
    """What a second run found, and what it changed of what it was handed, or of what belongs to all."""

    found: Explanation
    changed: tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """A measure, a problem, and a loss, None for a measure without one or for the one it chooses.

    ``row`` says what is known of the measure, None where nothing is; ``pose`` makes the problem once it is needed.
    """

    function: Callable[..., Any]
    row: Measure | None
    pose: Callable[[], MeasureProblem]
    loss: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def problem(self) -> MeasureProblem:
        return self.pose()

    @cached_property
    def found(self) -> Any:
        """The explanation, which every check of this trial looks at; a measure that has none breaks every promise.

        Values that are no numbers, or errors below zero, are refused when an explanation is made of them.
        """
        try:
            return self.run()
        except InputError as error:
            raise AssertionError(f"The measure raises an error where it should explain: {error}") from error

    @cached_property
    def again(self) -> Again:
        """A second run, on copies of everything that is handed in."""
        p = self.problem
        model, X, y, background = pickle.loads(pickle.dumps((p.model, p.X, p.y, p.background)))
        given = {"model": model, "X": X, "y": y, **({"background": background} if self.takes("background") else {})}
        before = _prints(given)
        found = self.run(**given)
        return Again(found, tuple(name for name, one in _prints(given).items() if one != before[name]))

    def run(self, **changes: Any) -> Any:
        """The measure on the problem, with its model, X, y or options changed."""
        p = self.problem
        given = {"background": p.background, "rng": SEED, **({} if self.loss is None else {"loss": self.loss})}
        options = {name: value for name, value in given.items() if self.takes(name)}
        options = {"model": p.model, "X": p.X, "y": p.y, **options, **self.options, **changes}
        return self.function(options.pop("model"), options.pop("X"), options.pop("y"), **options)

    def takes(self, option: str) -> bool:
        """Whether the measure has an option."""
        parameters = inspect.signature(self.function).parameters
        return option in parameters and parameters[option].kind is not inspect.Parameter.VAR_KEYWORD

    @property
    def approximates(self) -> str | None:
        return None if self.row is None else self.row.approximates

    @property
    def scale(self) -> float:
        """The size of what values are shares of."""
        found = self.found
        return float(
            max([1e-300, *(abs(end) for end in (found.base, found.total) if end is not None), *np.abs(found.values)])
        )

    @property
    def slack(self) -> float:
        """What the value of a column that tells nothing may be off zero by, beside sampling errors."""
        chance = CHANCE / len(self.problem.y) if self.approximates == "v" else 0.0
        return (chance + ROUNDING) * self.scale


def bits(found: Explanation) -> list[bytes]:
    """Everything an explanation says in numbers."""
    targets = [getattr(one, part) for one in found.targets.values() for part in ("values", "std_error")]
    covariance = None if found.covariance is None else np.tril(found.covariance)  # products may round halves apart
    arrays = [found.values, found.std_error, covariance, found.dof, found.per_example, *targets]
    ends = np.array([np.nan if end is None else end for end in (found.constant, found.total, found.base)])
    return [b"" if array is None else np.asarray(array).tobytes() for array in (*arrays, ends)]


def _prints(given: Mapping[str, Any]) -> dict[str, str]:
    """Fingerprints of arguments, and of the random states that belong to nobody."""
    from joblib import hash as hashed

    states = {"the random state of numpy": np.random.get_state(), "that of Python": random.getstate()}  # noqa: NPY002
    arguments = {f"its argument {name!r}": one for name, one in given.items()}
    return {name: str(hashed(one)) for name, one in {**arguments, **states}.items()}
