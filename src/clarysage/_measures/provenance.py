"""Provenance of results, and the identity by which a checkpoint belongs to a run."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage import __version__
from clarysage.errors import InputError
from clarysage.estimators.checkpoint import Checkpoint
from clarysage.execution.checkpoint_file import START_OVER, SavedRun, file_for, read_checkpoint
from clarysage.games import PredictivePower
from clarysage.inference.stopping import LIMITS, Converged, row_limit
from clarysage.protocols import FromBackground, RestrictedModel, ability
from clarysage.removal import seed_in
from clarysage.tables import Categories, Schema

if TYPE_CHECKING:
    from clarysage._measures.problem import Problem

PROBES = 256  # rows at which a model's predictions are compared
SAME = 1e-9  # of the size of predictions
FREE = ("tolerance", "memory_limit", "background", "examples", "name")  # settings that may differ, or are told apart
LONGEST = 80  # signs of a value that is quoted
FINGERPRINT = re.compile("[0-9a-f]{32}")  # of which the beginning will do


def fingerprint(*arrays: np.ndarray) -> str:
    """The fingerprint of arrays, in their order."""
    digest = hashlib.sha256()
    for array in arrays:
        kind = array.astype(str) if array.dtype.kind in "OUS" else np.ascontiguousarray(array)
        digest.update(f"{kind.dtype}{kind.shape}".encode())
        digest.update(np.ascontiguousarray(kind).view(np.uint8).data if kind.size else b"")
    return digest.hexdigest()[:32]


def fingerprint_of_rows(codes: np.ndarray, schema: Schema) -> str:
    """The fingerprint of rows of codes, which is the same for the same cells.

    Neither the order in which a model has the columns nor the codes that a run gave to categories make a difference.
    """
    columns = zip(schema.names, schema.columns, codes.T, strict=True)
    found = sorted((name, _of_column(numbers, column)) for name, column, numbers in columns)
    return fingerprint(np.array(found))


def _of_column(codes: np.ndarray, column: object) -> str:
    if not isinstance(column, Categories):
        return fingerprint(codes)
    there, places = np.unique(codes, return_inverse=True)  # NaN, a missing cell, comes last
    texts = np.array([str(cell) for cell in column.decode(there)])
    order = np.argsort(texts, kind="stable")
    return fingerprint(texts[order], np.argsort(order)[places])


def versions() -> dict[str, str]:
    """Versions of what results depend on."""
    return {"clarysage": __version__, "numpy": np.__version__, "python": platform.python_version()}


def provenance_of(problem: Problem, v: PredictivePower) -> dict[str, Any]:
    """All that tells one run on a problem from another."""
    seed, made = seed_in(problem.removal), ability(v.restricted, FromBackground)
    return {
        **versions(),
        "seed": problem.seed,
        "model": problem.predictor.name,
        "examples": len(v.X),
        **({} if problem.source_rows is None else {"rows_of_source": problem.source_rows}),
        "columns": int(v.X.shape[1]),
        "background_rows": v.rows_per_payoff if made is None else len(made.background),
        **({} if seed is None else {"removal_seed": seed}),
        "fingerprints": {
            "X": fingerprint_of_rows(v.X, v.restricted.schema),
            "y": fingerprint(v.targets[0]),
            "weights": fingerprint(v.weights),
            "background": _of_background(v.restricted),
        },
    }


def _of_background(restricted: RestrictedModel) -> str:
    made = ability(restricted, FromBackground)
    return fingerprint(np.empty(0)) if made is None else fingerprint_of_rows(made.background, restricted.schema)


@dataclass(frozen=True)
class CheckpointFile:
    """A file to keep a run in, and what it holds already; no file at all where ``file`` is None."""

    file: Path | None = None
    saved: SavedRun | None = None

    @classmethod
    def at(cls, path: Any) -> CheckpointFile:
        """The file at a path; an error where nothing can be written, or of a file that is not to be trusted."""
        if path is None:
            return cls()
        file = file_for(path)
        return cls(file, read_checkpoint(file) if file.exists() else None)

    def seed(self, given: Any) -> Any:
        """The seed that is given, or that of the run that is kept: the same call then goes on with it."""
        seed = None if self.saved is None else self.saved.identity.get("seed")
        return seed if given is None and type(seed) is int and seed >= 0 else given

    def checkpoint(
        self, problem: Problem, v: PredictivePower, *, measure: str, estimator: Any, rules: Sequence[Any]
    ) -> Checkpoint | None:
        """The checkpoint of a run; an error where the file is of another, with all that differs."""
        if self.file is None:
            return None
        identity = identity_of(problem, v, measure, estimator, rules)
        if self.saved is not None and (found := differences(self.saved.identity, identity)):
            raise InputError(
                "checkpoint",
                got=f"{self.file}, which is of another run: {'; '.join(found)}",
                wanted="a checkpoint of this one",
                hint=START_OVER,
            )
        return Checkpoint(self.file, identity, self.saved)


def identity_of(
    problem: Problem, v: PredictivePower, measure: str, estimator: Any, rules: Sequence[Any]
) -> dict[str, Any]:
    """What makes a run the one it is: all that its bits depend on.

    Workers, a deadline, memory and the tolerance do not belong to it: rounds are the same whatever these are. Plans
    reckon with fewer model rows where there is a deadline, but a plan that was made is kept to.
    """
    known, chosen = provenance_of(problem, v), np.unique(np.linspace(0, len(v.X) - 1, PROBES).astype(int))
    budget = row_limit(rules)
    deciding = [rule for rule in rules if not isinstance(rule, (*LIMITS, Converged))]
    return {
        "clarysage": __version__,
        "measure": measure,
        "model": problem.predictor.name,
        "seed": problem.seed,
        "method": told(estimator),
        "removal": f"{problem.removal_name} {told(problem.removal)}",
        "loss": ", ".join(loss.name for loss in v.losses),
        "features": ", ".join(problem.players.names),
        "columns of features": fingerprint(np.asarray(problem.players.owner)),
        "groups": repr(problem.members),
        **{f"data of {name}": found for name, found in known["fingerprints"].items()},
        "batch size": v.batch_size,
        "budget": f"{float(budget):.17g}" if budget < np.inf else "none",
        "stop": ", ".join(told(rule) for rule in deciding) or "none",
        "predictions of the model": np.vstack([v.outputs[chosen], v.outputs.mean(axis=0)]),
        "losses without features": v.weights @ v.ends[0],
    }


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What differs between the run of a file and this one, in words.

    Examples
    --------
    >>> differences({"seed": 1, "loss": "brier"}, {"seed": 2, "loss": "brier"})
    ['seed: 1 there, 2 here']
    """
    found = []
    for name in dict.fromkeys([*there, *here]):
        one, other = there.get(name), here.get(name)
        if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
            found += _apart(name, one, other)
        elif type(one) is not type(other) or one != other:
            found.append(f"{name}: {_quoted(one)} there, {_quoted(other)} here")
    return found


def told(thing: Any) -> str:
    """An object by its type and its settings, the same in every process.

    Examples
    --------
    >>> from clarysage.inference.sequential import TopKnown
    >>> told(TopKnown(3))
    'TopKnown(k=3, confidence=0.95, negligible=0.01)'
    >>> told(differences)
    'function differences'
    """
    if isinstance(thing, np.generic):
        thing = thing.item()
    if thing is None or isinstance(thing, (bool, int, float, str)):
        return repr(thing)
    if isinstance(thing, np.ndarray):
        return f"array {fingerprint(thing)[:12]}"
    if isinstance(thing, (tuple, list)):
        return f"({', '.join(told(one) for one in thing)})"
    kind = type(thing).__name__
    if is_dataclass(thing) and type(thing).__module__.startswith("clarysage."):
        inside = {field.name: getattr(thing, field.name) for field in fields(thing) if field.name not in FREE}
        return f"{kind}({', '.join(f'{name}={told(value)}' for name, value in inside.items())})"
    if hasattr(thing, "get_params"):  # a regressor
        return " ".join(repr(thing).split())
    return f"{kind} {thing.__qualname__}" if hasattr(thing, "__qualname__") else kind


def _apart(name: str, one: np.ndarray, other: np.ndarray) -> list[str]:
    if one.shape != other.shape:
        return [f"{name}: of shape {one.shape} there, {other.shape} here"]
    with np.errstate(invalid="ignore"):
        off = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, np.abs(one - other))
    size = max((float(np.abs(part[np.isfinite(part)]).max(initial=0.0)) for part in (one, other)), default=0.0)
    return [] if (off <= SAME * size).all() else [f"{name}: differ by up to {np.max(off):.3g}"]


def _quoted(value: Any) -> str:
    text = "nothing" if value is None else str(value) if isinstance(value, str) else repr(value)
    if FINGERPRINT.fullmatch(text):
        return text[:8]
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
