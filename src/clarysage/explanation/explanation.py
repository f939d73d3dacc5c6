"""Explanation: what each feature contributes, how sure that is, and how it was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from clarysage.errors import InputError, UnavailableError
from clarysage.estimate import StopReason
from clarysage.inference.intervals import interval

ABOUT = {
    "data": "this data and this background (sampling error of the run alone)",
    "rows": "the population of rows, with the background as chosen",
    "population": "the population of rows and of background",
}


@dataclass(frozen=True, eq=False)
class Explanation:
    """Importance values of players (features or groups), with uncertainty and provenance.

    Attributes
    ----------
    values, std_error : (p,) contributions, and the standard errors of the run's sampling
    covariance : (p, p) of the values; None for very many players
    feature_names : names of the players
    constant : phi_0 of the additive proxy u(S) = phi_0 + sum of phi_i
    total : v(D), what all features together bring, known without sampling error
    base : loss with no features known; ``base - total`` is the loss of the model itself
    model_rows : rows passed to the model, or evaluated through its structure in the model's place
    draws : independent draws behind the values (0: exact)
    stopped : why the run ended; ``converged`` says whether that was convergence
    notes : remarks on the run, such as the background that was chosen
    provenance : versions, seed, sizes and fingerprints of the data
    dof : (p,) degrees of freedom of the standard errors; default: those of as many independent draws
    """

    values: np.ndarray
    std_error: np.ndarray
    covariance: np.ndarray | None
    feature_names: tuple[str, ...]
    total: float
    base: float
    model_rows: int
    draws: int
    stopped: StopReason
    measure: str
    loss: str
    removal: str
    method: str
    constant: float = 0.0
    groups: dict[str, list[str]] | None = None
    notes: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    dof: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.dof is None:
            object.__setattr__(self, "dof", np.full(len(self.values), max(self.draws - 1.0, 1.0)))
        for name in ("values", "std_error", "covariance", "dof"):
            array = getattr(self, name)
            if array is not None:
                array = np.array(array, dtype=np.float64)
                array.setflags(write=False)
                object.__setattr__(self, name, array)

    @property
    def converged(self) -> bool:
        return self.stopped.is_converged

    def interval(
        self, level: float = 0.95, *, about: str = "data", joint: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Low and high ends of an interval for each value.

        ``about="data"`` speaks of this data and this background: how far the sampling of the run may be off. It says
        nothing about other rows from the same population. ``joint=True`` makes all intervals hold at once.
        """
        if about not in ABOUT:
            raise InputError("about", got=f"{about!r}", wanted=f"one of {', '.join(map(repr, ABOUT))}")
        if about != "data":
            raise UnavailableError(
                "about", got=f"{about!r}", wanted='"data": this estimate holds no variance over other rows yet',
                hint='about="data", or the spread over bootstrap samples of X and y',
            )  # fmt: skip
        assert self.dof is not None
        return interval(self.values, self.std_error, self.dof, level, joint=joint)

    def power(self, features: Iterable[str | int]) -> float:
        """u(S) = phi_0 + the sum of the values of the given players: a proxy for the power of that subset."""
        return self.constant + float(self.values[self._places(features)].sum())

    def top(self, k: int) -> list[str]:
        """Names of the k players with the largest values, largest first."""
        if not isinstance(k, (int, np.integer)) or k < 0:
            raise InputError("k", got=f"{k!r}", wanted="a whole number of zero or more")
        return [self.feature_names[i] for i in np.argsort(-self.values, kind="stable")[:k]]

    def to_frame(self, level: float = 0.95) -> Any:
        """A pandas DataFrame: feature, value, std_error, and the ends of its interval about the data."""
        import pandas as pd

        low, high = self.interval(level)
        columns = {"value": self.values, "std_error": self.std_error, "low": low, "high": high}
        return pd.DataFrame({"feature": self.feature_names, **columns})

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain Python objects, as in the JSON file."""
        from clarysage.explanation.json_file import encode

        return encode(self)

    def save(self, path: str | Path) -> None:
        """Write the explanation as JSON; :func:`clarysage.load` reads it back."""
        from clarysage.explanation.json_file import save

        save(self, path)

    def plot(self, **options: Any) -> Any:
        """Bars with intervals on a matplotlib axis; see :func:`clarysage.plots.bars` for the options."""
        return import_module("clarysage.plots").bars(self, **options)

    def __str__(self) -> str:
        from clarysage.explanation.text import as_text

        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from clarysage.explanation.text import as_html

        return as_html(self)

    def _places(self, features: Iterable[str | int]) -> list[int]:
        if isinstance(features, str):
            features = [features]
        places = []
        for feature in features:
            if isinstance(feature, str) and feature in self.feature_names:
                places.append(self.feature_names.index(feature))
            elif isinstance(feature, (int, np.integer)) and 0 <= feature < len(self.values):
                places.append(int(feature))
            else:
                raise InputError(
                    "features", got=f"{feature!r}", wanted="names or numbers of features in the explanation"
                )
        if len(set(places)) < len(places):
            raise InputError("features", got="a feature more than once", wanted="each at most once")
        return places
