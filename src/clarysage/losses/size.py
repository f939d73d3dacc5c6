"""Losses of a size that can be added and squared."""

from __future__ import annotations

import numpy as np

from clarysage.errors import InputError

LARGEST = 1e150  # the square of a larger loss, which its variance needs, is infinite


def moderate(losses: np.ndarray, name: str) -> np.ndarray:
    """The losses, if all are finite and not so large that their variance would be infinite; else an error.

    Examples
    --------
    >>> moderate(np.array([0.5]), "squared error")
    array([0.5])
    """
    if np.isfinite(losses).all() and np.abs(losses).max(initial=0.0) < LARGEST:
        return losses
    worst = losses.flat[int(np.nan_to_num(np.abs(losses), nan=np.inf).argmax())]
    raise InputError(
        "loss", got=f"{worst:.3g} from {name}", wanted=f"finite values below {LARGEST:g}",
        hint="y and predictions in other units, or another loss",
    )  # fmt: skip
