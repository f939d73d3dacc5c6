"""Which way rows go."""

from __future__ import annotations

import numpy as np

from clarysage.structure.kernels.compiled import compiled
from clarysage.structure.splits import NEARLY_ZERO


@compiled
def decide(z, column, threshold, missing_left, rule, first, count, in_left, sets, is_plain, bits):
    """Decisions (n, words) on rows z (n, D), as bits: see :class:`clarysage.structure.splits.Decisions`.

    ``is_plain``: all decisions compare numbers, of which missing ones are as they are.
    """
    for i in range(z.shape[0]):
        for w in range(bits.shape[1]):
            word = np.uint64(0)
            for node in range(64 * w, min(64 * w + 64, len(column))):
                value = z[i, column[node]]
                is_left = value < threshold[node]
                if is_plain:
                    is_left |= (value != value) & missing_left[node]
                else:
                    if rule[node] == 1 and value != value:
                        value = 0.0
                        is_left = value < threshold[node]
                    if count[node] >= 0:
                        is_in = False
                        if 0.0 <= value < 32.0 * count[node]:
                            code = np.int64(value)
                            is_in = (np.int64(sets[first[node] + code // 32]) >> (code % 32)) & 1 == 1
                        is_left = is_in == in_left[node]
                    if value != value or (rule[node] == 2 and abs(value) <= NEARLY_ZERO):
                        is_left = missing_left[node]
                word |= np.uint64(is_left) << np.uint64(node - 64 * w)
            bits[i, w] = word
