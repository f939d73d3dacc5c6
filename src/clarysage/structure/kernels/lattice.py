"""All coalitions at once."""

from __future__ import annotations

import numpy as np

from clarysage.structure.kernels.compiled import compiled


@compiled
def lattice(x, b, player, left, right, roots, output, values, base, depth, margins):
    """Margins (2^p, K, m) of one example x (words,) with every background row, for every coalition by number.

    A leaf that is reached when the players of one set are known and those of another are not has a value for all
    coalitions between; sums over subsets at the end give it to them.
    """
    one = np.uint64(1)
    size = depth + 2
    node_of, in_of, out_of = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    margins[:] = 0.0
    for k in range(len(base)):
        margins[0, k, :] = base[k]
    for tree in range(len(roots)):
        for row in range(b.shape[0]):
            node_of[0], in_of[0], out_of[0], top = roots[tree], 0, 0, 1
            while top > 0:
                top -= 1
                node, known, unknown = node_of[top], in_of[top], out_of[top]
                while node >= 0:
                    where = np.uint64(node & 63)
                    by_x, by_b = (x[node >> 6] >> where) & one, (b[row, node >> 6] >> where) & one
                    if by_x != by_b:
                        bit = 1 << player[node]
                        if unknown & bit:
                            by_x = by_b
                        elif not known & bit:
                            node_of[top] = left[node] if by_b else right[node]
                            in_of[top], out_of[top] = known, unknown | bit
                            top += 1
                            known |= bit
                    node = left[node] if by_x else right[node]
                for v in range(values.shape[1]):
                    part, value = unknown, values[~node, v]
                    while True:
                        sign, rest = value, part
                        while rest:
                            rest &= rest - 1
                            sign = -sign
                        margins[known | part, output[tree] + v, row] += sign
                        if part == 0:
                            break
                        part = (part - 1) & unknown
    coalitions, bit = margins.shape[0], 1
    while bit < coalitions:
        for s in range(coalitions):
            if s & bit:
                for k in range(len(base)):
                    for row in range(margins.shape[2]):
                        margins[s, k, row] += margins[s - bit, k, row]
        bit <<= 1
