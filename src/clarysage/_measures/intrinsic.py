"""Heuristics that are read off a model: values of its columns, and an explanation made of plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage._measures.fingerprints import fingerprint, fingerprint_of_rows
from clarysage._measures.lineup import Lineup, column_names
from clarysage._measures.problem import versions
from clarysage._measures.table import MEASURES
from clarysage.errors import InputError
from clarysage.inference.estimate import StopReason
from clarysage.inference.moments import FULL_COVARIANCE
from clarysage.models import Predictor, as_predictor
from clarysage.models.unwrap import Inside, Opened, opened
from clarysage.results import Explanation
from clarysage.structure.form import Structure, UnknownStructureError
from clarysage.tables import as_table, read_weights, schema_of

ANY_MODEL = "cs.sage, which works with any model"

Reader = Callable[[Any], np.ndarray | None]


@dataclass(frozen=True)
class Reading:
    """A model that a measure is to be read off, taken out of its wrappers."""

    measure: str
    f: Predictor
    opened: Opened

    @classmethod
    def of(cls, measure: str, model: Any) -> Reading:
        return cls(measure, as_predictor(model), opened(model))

    def read(self, readers: Mapping[tuple[str, str], Reader]) -> np.ndarray | None:
        """What the reader of the last estimator's class, or of its next base, finds; None without one."""
        return read(self.opened.last, readers)

    @property
    def inside(self) -> Inside:
        """Where the columns of the last estimator come from."""
        try:
            return self.opened.inside()
        except UnknownStructureError as error:
            raise InputError(
                "model", got=f"{self.f.name}, of whose steps {error}", wanted="steps before the last each column of "
                "which is made of one column of X: scalers, imputers, encoders, selectors", hint=ANY_MODEL,
            ) from error  # fmt: skip

    @property
    def structure(self) -> Structure | None:
        """The model's insides as an adapter has read them; None where it has not."""
        try:
            return None if self.f.structure is None else self.f.structure()
        except Exception:  # insides that were not understood are as good as none
            return None

    def refused(self, wanted: str, hint: str = ANY_MODEL) -> InputError:
        """The error for a model that has no such thing."""
        origin, last = self.f.origin, self.opened.last
        got = self.f.name if origin is None or origin is last else f"{self.f.name} around {type(last).__name__}"
        return InputError("model", got=f"{got}, which has no {self.measure}", wanted=wanted, hint=hint)

    def beside(self, X: Any, *, groups: Any, sample_weight: Any, feature_names: Any) -> Read:
        """The model beside the columns of X."""
        table = as_table(X, "X")
        arranged, names = self.f.arrange(table), column_names(table, feature_names, self.f.feature_names)
        lineup = Lineup.of(names, table, arranged, groups)
        return Read(self, arranged, lineup, read_weights(sample_weight, table, len(table)))


@dataclass(frozen=True)
class Read:
    """A model beside X, its columns in the model's order, and the mass of its rows (n,)."""

    reading: Reading
    X: Any
    lineup: Lineup
    mass: np.ndarray

    def owner(self, inside: Inside, count: int) -> np.ndarray:
        """The column of X that each of so many inner columns is made of."""
        d = int(self.X.shape[1])
        owner = np.arange(count) if inside.owner is None else inside.owner
        if len(owner) != count or (inside.owner is None and count != d) or (count and owner.max() >= d):
            raise InputError("X", got=f"{d} columns", wanted=f"those that {self.reading.f.name} was fitted on",
                             hint="the columns that the model predicts from")  # fmt: skip
        return np.asarray(owner)

    def summed(self, values: np.ndarray, inside: Inside) -> np.ndarray:
        """Values (D, ...) of inner columns, added up over those that are made of one column: (d, ...)."""
        found = np.zeros((int(self.X.shape[1]), *values.shape[1:]))
        np.add.at(found, self.owner(inside, len(values)), values)
        return found

    def sizes(self, weights: np.ndarray, inside: Inside, *, scaled: bool) -> np.ndarray:
        """Of weights (D, H) of inner columns how large they are for each column of X, (d, H).

        The sum of their magnitudes over what is made of a column; ``scaled``: the standard deviation, over the rows
        of X, of what the column brings to each of the H sums.
        """
        if not scaled:
            return self.summed(np.abs(weights), inside)
        owner, z = self.owner(inside, len(weights)), self._rows(inside)
        found = np.zeros((int(self.X.shape[1]), weights.shape[1]))
        for column in np.unique(owner):
            its = owner == column
            brought = (z[:, its] - z[:1, its]) @ weights[its]  # from the first row on, so that a constant brings zero
            found[column] = np.sqrt(self.mass @ (brought - self.mass @ brought) ** 2)
        return found

    def _rows(self, inside: Inside) -> np.ndarray:
        """Rows of X as the last estimator gets them, (n, D)."""
        schema = schema_of(self.X)
        rows = schema.encode(self.X, "X")
        try:
            if inside.view is not None:
                rows = inside.view(self.reading.f.bind(schema).schema.decode(rows))
            elif not schema.is_number.all():
                raise UnknownStructureError("some columns are not numbers")
        except Exception as error:
            raise InputError("X", got=f"rows that {self.reading.f.name} does not take ({error})",
                             wanted="rows that the model predicts from") from error  # fmt: skip
        if not np.isfinite(rows).all():
            raise InputError("X", got="missing or infinite cells", wanted="numbers, for standard deviations",
                             hint="rows without such cells, or scaled=False")  # fmt: skip
        return rows

    def by_player(self, values: np.ndarray) -> np.ndarray:
        """Values (..., d) of columns, added up over the members of groups, in the user's order: (..., p)."""
        players = self.lineup.players
        found = np.zeros((len(players), *values.shape[:-1]))
        np.add.at(found, players.owner, np.moveaxis(values, -1, 0))
        return np.moveaxis(found[list(self.lineup.order)], 0, -1)

    def explanation(self, values: np.ndarray, notes: Sequence[str], **told: Any) -> Explanation:
        """Values (d,) of columns as an explanation; ``told`` goes into it in place of what is said of a heuristic."""
        found = self.by_player(values)
        if self.lineup.members is not None:
            notes = (*notes, "The value of a group is the sum of the values of its members.")
        measure = self.reading.measure
        return Explanation(
            **{
                "values": found,
                "std_error": np.zeros(len(found)),
                "covariance": np.zeros((len(found), len(found))) if len(found) <= FULL_COVARIANCE else None,
                "feature_names": tuple(self.lineup.players.names[i] for i in self.lineup.order),
                "constant": None,
                "total": None,
                "base": None,
                "model_rows": 0,
                "draws": 0,
                "stopped": StopReason.EXACT,
                "measure": measure,
                "headline": MEASURES[measure].headline,
                "values_are": MEASURES[measure].values_are,
                "held_fixed": "nothing",
                "loss": "none",
                "removal": "none",
                "method": "read off the model",
                "groups": self.lineup.members,
                "notes": tuple(notes),
                "provenance": self._provenance(),
                **told,
            }
        )

    def _provenance(self) -> dict[str, Any]:
        X = self.X
        schema = schema_of(X)
        return {
            **versions(),
            "model": self.reading.f.name,
            "examples": int(X.shape[0]),
            "columns": int(X.shape[1]),
            "fingerprints": {
                "X": fingerprint_of_rows(schema.encode(X, "X"), schema),
                "weights": fingerprint(self.mass),
            },
        }


def read(model: Any, readers: Mapping[tuple[str, str], Reader]) -> np.ndarray | None:
    """What the reader finds that goes with a model's class, (library, class), or with the next of its bases."""
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(model).__mro__)
    reader = next((readers[kind] for kind in kinds if kind in readers), None)
    return None if reader is None else reader(model)
