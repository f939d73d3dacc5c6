"""The identity of a checkpoint: everything that the bits of a run depend on, so that a file continues no other run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage import __version__
from clarysage._measures.provenance import fingerprint, provenance_of
from clarysage.errors import InputError
from clarysage.estimators.checkpoint import Checkpoint
from clarysage.execution.checkpoint_file import START_OVER, SavedRun, file_for, read_checkpoint
from clarysage.games import PredictivePower
from clarysage.inference.stopping import LIMITS, Converged, row_limit

if TYPE_CHECKING:
    from clarysage._measures.problem import Problem

PROBES = 256  # rows on which predictions of models are compared
SAME = 1e-9  # relative difference of predictions that counts as none
IGNORED = (
    "tolerance",
    "memory_limit",
    "background",
    "examples",
    "name",
    "stop",
)  # may differ, or are compared elsewhere
MAX_QUOTE = 80  # characters of a quoted value
FINGERPRINT = re.compile("[0-9a-f]{32}")  # messages show its first characters


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
    ['seed: 1 in the file, 2 in this call']
    """
    changes = []
    for name in dict.fromkeys([*file, *run]):
        saved, current = file.get(name), run.get(name)
        if isinstance(saved, np.ndarray) and isinstance(current, np.ndarray):
            changes += _differences_of_arrays(name, saved, current)
        elif type(saved) is not type(current) or saved != current:
            changes.append(f"{name}: {_quote(saved)} in the file, {_quote(current)} in this call")
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
        return [f"{name}: of shape {saved.shape} in the file, {current.shape} in this call"]
    with np.errstate(invalid="ignore"):
        error = np.where((saved == current) | (np.isnan(saved) & np.isnan(current)), 0.0, np.abs(saved - current))
    size = max((float(np.abs(part[np.isfinite(part)]).max(initial=0.0)) for part in (saved, current)), default=0.0)
    return [] if (error <= SAME * size).all() else [f"{name}: differ by up to {np.max(error):.3g}"]


def _quote(value: Any) -> str:
    text = "nothing" if value is None else str(value) if isinstance(value, str) else repr(value)
    if FINGERPRINT.fullmatch(text):
        return text[:8]
    return text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]}..."
