"""Numbers so few that they are taken for categories."""

from __future__ import annotations

import numpy as np

from clarysage.monitoring.shifts.reading import Cells

FEW = 20


def are_few(reference: Cells, current: Cells) -> bool:
    """Whether both columns together have at most twenty numbers, all of them whole."""
    seen = np.zeros(0)
    for side in (reference, current):
        for some in (side.present[: 50 * FEW], side.present):  # a look at some spares most columns the work
            seen = np.union1d(seen, some)
            if len(seen) > FEW:
                return False
    return bool(np.isfinite(seen).all() and (seen == np.round(seen)).all())
