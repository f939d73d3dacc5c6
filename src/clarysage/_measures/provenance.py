"""Provenance of results: versions, seed and sizes of a run, and fingerprints (hashes) of its data."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage import __version__
from clarysage.games import PredictivePower
from clarysage.losses.classification import LEAST_FLOOR
from clarysage.protocols import FromBackground, Loss, RestrictedModel, ability
from clarysage.removal import seed_in
from clarysage.tables import Categories, Schema
from clarysage.tables.cells.scipy import keys_of_rows
from clarysage.tables.sparse import is_sparse

if TYPE_CHECKING:
    from clarysage._measures.problem import Problem


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
    cells = column.decode(distinct)
    texts = np.array(keys_of_rows(cells) if is_sparse(cells) else [str(cell) for cell in cells])
    order = np.argsort(texts, kind="stable")
    return fingerprint(texts[order], np.argsort(order)[numbers])


def versions() -> dict[str, str]:
    """Returns the versions of the libraries that results depend on."""
    return {"clarysage": __version__, "numpy": np.__version__, "python": platform.python_version()}


def provenance_of(problem: Problem, v: PredictivePower) -> dict[str, Any]:
    """Returns the provenance of a run: versions, seed, sizes, and fingerprints of the data."""
    seed, made = seed_in(problem.removal), ability(v.restricted, FromBackground)
    of_rows = problem.fingerprints if v.X is problem.codes else fingerprints_of(v.X, v.restricted)
    return {
        **versions(),
        "seed": problem.seed,
        "model": problem.predictor.name,
        "examples": len(v.X),
        **({} if problem.source_rows is None else {"rows_of_source": problem.source_rows}),
        "columns": int(v.X.shape[1]),
        "background_rows": v.rows_per_payoff if made is None else len(made.background),
        **({} if seed is None else {"removal_seed": seed}),
        **_floor_of(v.losses),
        "fingerprints": {
            "X": of_rows["X"],
            "y": fingerprint(v.targets[0]),
            "weights": fingerprint(v.weights),
            "background": of_rows["background"],
        },
    }


def _floor_of(losses: Iterable[Loss]) -> dict[str, float]:
    """Returns the floor of probabilities that was chosen from the model, where there is one."""
    floors = [getattr(loss, "default_floor", LEAST_FLOOR) for loss in losses]
    return {"probability_floor": max(floors)} if max(floors) > LEAST_FLOOR else {}


def fingerprints_of(codes: np.ndarray, restricted: RestrictedModel) -> dict[str, str]:
    """Returns the fingerprints of examples and of background rows."""
    made, schema = ability(restricted, FromBackground), restricted.schema
    background = fingerprint(np.empty(0)) if made is None else fingerprint_of_rows(made.background, schema)
    return {"X": fingerprint_of_rows(codes, schema), "background": background}
