"""Fingerprints: data in short, so that it can be seen whether two runs had the same."""

from __future__ import annotations

import hashlib

import numpy as np

from clarysage.tables import Categories, Schema


def fingerprint(*arrays: np.ndarray) -> str:
    """Of arrays, in their order."""
    digest = hashlib.sha256()
    for array in arrays:
        kind = array.astype(str) if array.dtype.kind in "OUS" else np.ascontiguousarray(array)
        digest.update(f"{kind.dtype}{kind.shape}".encode())
        digest.update(np.ascontiguousarray(kind).view(np.uint8).data if kind.size else b"")
    return digest.hexdigest()[:32]


def fingerprint_of_rows(codes: np.ndarray, schema: Schema) -> str:
    """Of rows of codes: the same for the same cells.

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
