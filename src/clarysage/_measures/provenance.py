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

PROBES = 256  # rows on which predictions of models are compared
SAME = 1e-9  # relative difference of predictions that counts as none
IGNORED = ("tolerance", "memory_limit", "background", "examples", "name")  # may differ, or are compared elsewhere
MAX_QUOTE = 80  # characters of a quoted value
FINGERPRINT = re.compile("[0-9a-f]{32}")  # messages show its first characters


def fingerprint(*arrays: np.ndarray) -> str:
    """Returns a hash of arrays, which depends on their order."""
    digest = hashlib.sha256()
    for array in arrays:
        kind = array.astype(str) if array.dtype.kind in "OUS" else np.ascontiguousarray(array)
        digest.update(f"{kind.dtype}{kind.shape}".encode())
        digest.update(np.ascontiguousarray(kind).view(np.uint8).data if kind.size else b"")
    return digest.hexdigest()[:32]


def fingerprint_of_rows(codes: np.ndarray, schema: Schema) -> str:
    """Returns a hash of the cells of rows of codes.

    It depends neither on the order of the columns nor on the codes that a run gave to categories.
    """
    columns = zip(schema.names, schema.columns, codes.T, strict=True)
    fingerprints = sorted((name, _of_column(numbers, column)) for name, column, numbers in columns)
    return fingerprint(np.array(fingerprints))


def _of_column(codes: np.ndarray, column: object) -> str:
    if not isinstance(column, Categories):
        return fingerprint(codes)
    distinct, numbers = np.unique(codes, return_inverse=True)  # NaN, a missing cell, comes last
    texts = np.array([str(cell) for cell in column.decode(distinct)])
    order = np.argsort(texts, kind="stable")
    return fingerprint(texts[order], np.argsort(order)[numbers])


def versions() -> dict[str, str]:
    """Returns the versions of the libraries that results depend on."""
    return {"clarysage": __version__, "numpy": np.__version__, "python": platform.python_version()}


def provenance_of(problem: Problem, v: PredictivePower) -> dict[str, Any]:
    """Returns the provenance of a run: versions, seed, sizes, and fingerprints of the data."""
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
    """The checkpoint file of a run and its content; ``file`` is None without a checkpoint."""

    file: Path | None = None
    saved: SavedRun | None = None

    @classmethod
    def at(cls, path: Any) -> CheckpointFile:
        """Opens the file at a path; an error if it cannot be written, or is damaged."""
        if path is None:
            return cls()
        file = file_for(path)
        return cls(file, read_checkpoint(file) if file.exists() else None)

    def seed(self, given: Any) -> Any:
        """Returns the given seed, or the seed of the run in the file, so that the same call continues it."""
        seed = None if self.saved is None else self.saved.identity.get("seed")
        return seed if given is None and type(seed) is int and seed >= 0 else given

    def checkpoint(
        self, problem: Problem, v: PredictivePower, *, measure: str, estimator: Any, rules: Sequence[Any]
    ) -> Checkpoint | None:
        """Returns the checkpoint of a run; an error with all differences if the file is of another run."""
        if self.file is None:
            return None
        identity = identity_of(problem, v, measure, estimator, rules)
        if self.saved is not None and (changes := differences(self.saved.identity, identity)):
            raise InputError(
                "checkpoint",
                got=f"{self.file}, which is of another run: {'; '.join(changes)}",
                wanted="a checkpoint of this one",
                hint=START_OVER,
            )
        return Checkpoint(self.file, identity, self.saved)


def identity_of(
    problem: Problem, v: PredictivePower, measure: str, estimator: Any, rules: Sequence[Any]
) -> dict[str, Any]:
    """Returns the identity of a run: everything that its bits depend on.

    Workers, a deadline, memory and the tolerance are no part of it: they do not change the rounds. A pilot run is
    shorter if there is a deadline, but its result is stored in the checkpoint.
    """
    provenance, chosen = provenance_of(problem, v), np.unique(np.linspace(0, len(v.X) - 1, PROBES).astype(int))
    budget = row_limit(rules)
    deciding = [rule for rule in rules if not isinstance(rule, (*LIMITS, Converged))]
    return {
        "clarysage": __version__,
        "measure": measure,
        "model": problem.predictor.name,
        "seed": problem.seed,
        "method": describe(estimator),
        "removal": f"{problem.removal_name} {describe(problem.removal)}",
        "loss": ", ".join(loss.name for loss in v.losses),
        "features": ", ".join(problem.players.names),
        "columns of features": fingerprint(np.asarray(problem.players.owner)),
        "groups": repr(problem.members),
        **{f"data of {name}": digest for name, digest in provenance["fingerprints"].items()},
        "batch size": v.batch_size,
        "budget": f"{float(budget):.17g}" if budget < np.inf else "none",
        "stop": ", ".join(describe(rule) for rule in deciding) or "none",
        "predictions of the model": np.vstack([v.outputs[chosen], v.outputs.mean(axis=0)]),
        "losses without features": v.weights @ v.ends[0],
    }


def differences(file: Mapping[str, Any], run: Mapping[str, Any]) -> list[str]:
    """Describes the differences between the run of a file and this run.

    Examples
    --------
    >>> differences({"seed": 1, "loss": "brier"}, {"seed": 2, "loss": "brier"})
    ['seed: 1 there, 2 here']
    """
    changes = []
    for name in dict.fromkeys([*file, *run]):
        saved, current = file.get(name), run.get(name)
        if isinstance(saved, np.ndarray) and isinstance(current, np.ndarray):
            changes += _differences_of_arrays(name, saved, current)
        elif type(saved) is not type(current) or saved != current:
            changes.append(f"{name}: {_quote(saved)} there, {_quote(current)} here")
    return changes


def describe(thing: Any) -> str:
    """Describes an object by its type and its settings, identically in every process.

    Examples
    --------
    >>> from clarysage.inference.sequential import TopKnown
    >>> describe(TopKnown(3))
    'TopKnown(k=3, confidence=0.95, negligible=0.01)'
    >>> describe(differences)
    'function differences'
    """
    if isinstance(thing, np.generic):
        thing = thing.item()
    if thing is None or isinstance(thing, (bool, int, float, str)):
        return repr(thing)
    if isinstance(thing, np.ndarray):
        return f"array {fingerprint(thing)[:12]}"
    if isinstance(thing, (tuple, list)):
        return f"({', '.join(describe(item) for item in thing)})"
    kind = type(thing).__name__
    if is_dataclass(thing) and type(thing).__module__.startswith("clarysage."):
        inside = {field.name: getattr(thing, field.name) for field in fields(thing) if field.name not in IGNORED}
        return f"{kind}({', '.join(f'{name}={describe(value)}' for name, value in inside.items())})"
    if hasattr(thing, "get_params"):  # a regressor
        return " ".join(repr(thing).split())
    return f"{kind} {thing.__qualname__}" if hasattr(thing, "__qualname__") else kind


def _differences_of_arrays(name: str, saved: np.ndarray, current: np.ndarray) -> list[str]:
    if saved.shape != current.shape:
        return [f"{name}: of shape {saved.shape} there, {current.shape} here"]
    with np.errstate(invalid="ignore"):
        error = np.where((saved == current) | (np.isnan(saved) & np.isnan(current)), 0.0, np.abs(saved - current))
    size = max((float(np.abs(part[np.isfinite(part)]).max(initial=0.0)) for part in (saved, current)), default=0.0)
    return [] if (error <= SAME * size).all() else [f"{name}: differ by up to {np.max(error):.3g}"]


def _quote(value: Any) -> str:
    text = "nothing" if value is None else str(value) if isinstance(value, str) else repr(value)
    if FINGERPRINT.fullmatch(text):
        return text[:8]
    return text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}..."
