"""What is done for every example, tree and background row of oblivious trees.

Levels are numbered over all trees, those of a tree from ``first`` on; level l of a tree decides on bit l of the number
of its leaf. Walks are as in :mod:`clarysage.structure.kernels`.
"""

from __future__ import annotations

import numpy as np

from clarysage.structure.kernels.compiled import compiled, part

DEEPEST = 16  # what CatBoost allows, and numbers of leaves hold


@part
def arranged(arrivals, feature, first, last, order, when):
    """Levels of a tree in the order in which their columns arrive, and the steps at which they do."""
    for level in range(last - first):
        place, arrival = level, arrivals[feature[first + level]]
        while place > 0 and when[place - 1] > arrival:
            order[place], when[place] = order[place - 1], when[place - 1]
            place -= 1
        order[place], when[place] = level, arrival


@compiled
def number(bits, first, rows):
    """Numbers of leaves (n, trees) from decisions, 64 to a word, set where a level decides on 0."""
    one = np.uint64(1)
    for i in range(rows.shape[0]):
        for tree in range(rows.shape[1]):
            leaf = np.int64(0)
            for level in range(first[tree], first[tree + 1]):
                is_zero = (bits[i, level >> 6] >> np.uint64(level & 63)) & one
                if not is_zero:
                    leaf |= np.int64(1) << (level - first[tree])
            rows[i, tree] = leaf


@compiled
def follow(x, others, arrivals, feature, first, leaves, values, base, margins):
    """Margins (n, p - 1, K, q) along walks, with rows (n or 1, trees, q).

    With the levels of a mask known, the leaf has the bits of x in the mask and those of the other row outside.
    """
    steps, rows = margins.shape[1] + 1, margins.shape[3]
    order, when = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    for i in range(x.shape[0]):
        found, when_known = margins[i], arrivals[i]
        found[:] = 0.0
        for k in range(len(base)):
            found[0, k, :] = base[k]
        there = others[i] if others.shape[0] > 1 else others[0]
        for tree in range(x.shape[1]):
            depth = first[tree + 1] - first[tree]
            arranged(when_known, feature, first[tree], first[tree + 1], order, when)
            own, row = np.int64(x[i, tree]), there[tree]
            at, mask, t = 0, np.int64(0), 1
            while t < steps:
                was, theirs_before = own & mask, ~mask
                while at < depth and when[at] <= t:
                    mask |= np.int64(1) << order[at]
                    at += 1
                now, theirs = own & mask, ~mask
                for k in range(len(base)):
                    value, change = values[k, leaves[tree] : leaves[tree + 1]], found[t - 1, k]
                    if t == 1:
                        for j in range(rows):
                            change[j] += value[now | (np.int64(row[j]) & theirs)]
                    else:
                        for j in range(rows):
                            leaf = np.int64(row[j])
                            change[j] += value[now | (leaf & theirs)] - value[was | (leaf & theirs_before)]
                t = when[at] if at < depth else steps
        for t in range(1, steps - 1):
            for k in range(len(base)):
                for j in range(rows):
                    found[t, k, j] += found[t - 1, k, j]


@compiled
def look_up(x, arrivals, feature, first, start, table, base, found):
    """Mean margins (n, p - 1, K) along walks: see :class:`clarysage.structure.oblivious.ObliviousTables`."""
    steps = found.shape[1] + 1
    order, when, power = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    for level in range(DEEPEST):
        power[level] = 3**level
    for i in range(x.shape[0]):
        change, when_known = found[i], arrivals[i]
        change[:] = 0.0
        change[0] = base
        for tree in range(x.shape[1]):
            depth = first[tree + 1] - first[tree]
            arranged(when_known, feature, first[tree], first[tree + 1], order, when)
            own = np.int64(x[i, tree])
            entry = start[tree + 1] - 1  # nothing is known: the last
            at = 0
            while at < depth and when[at] <= 1:
                entry -= power[order[at]] * (2 - ((own >> order[at]) & 1))
                at += 1
            for k in range(len(base)):
                change[0, k] += table[entry, k]
            while at < depth and when[at] < steps:
                after = entry - power[order[at]] * (2 - ((own >> order[at]) & 1))
                for k in range(len(base)):
                    change[when[at] - 1, k] += table[after, k] - table[entry, k]
                entry = after
                at += 1
        for t in range(1, steps - 1):
            for k in range(len(base)):
                change[t, k] += change[t - 1, k]
