"""Kernels for oblivious (symmetric) trees, all of whose nodes on one level decide alike, as CatBoost grows them.

A row reaches the leaf whose number has the decision of level l as bit l, so a row is one leaf number for each tree. In
a hybrid row the levels whose columns are known decide as for the example x, the others as for the background row b; a
bit mask of the known levels gives the leaf at once::

    leaf of the hybrid row = (x_leaf & known) | (b_leaf & ~known)

    x_leaf  0 1 1 0      known  0 0 1 1      hybrid  b b 1 0

Levels are numbered over all trees, those of a tree from ``level_start`` on, and leaves from ``leaf_start`` on. Walks
are described in :mod:`clarysage.structure.kernels`.

``mean_walk_margins`` looks means over the background up in a table with 3^depth entries a tree. Entry sum_l 3^l c_l is
the mean value of the tree where level l has decided c_l = 0 or 1, or is left to the background, c_l = 2; see
:class:`clarysage.structure.oblivious.ObliviousTables`.
"""

from __future__ import annotations

import numpy as np

from clarysage.structure.kernels.compiled import compiled, part

DEEPEST = 16  # levels: what CatBoost allows, and what leaf numbers of 16 bits hold


@part
def sort_levels(entry_position, feature, first, last, sorted_level, entry_of):
    """Sorts the levels first, ..., last - 1 of a tree by the steps at which their columns enter."""
    for level in range(last - first):
        position, entry_step = level, entry_position[feature[first + level]]
        while position > 0 and entry_of[position - 1] > entry_step:
            sorted_level[position], entry_of[position] = sorted_level[position - 1], entry_of[position - 1]
            position -= 1
        sorted_level[position], entry_of[position] = level, entry_step


@compiled
def leaf_numbers(bits, level_start, leaf):
    """Writes leaf numbers (n, trees) of decisions, 64 to a word, whose bits are set where a level decides 0."""
    mask = np.uint64(1)
    for i in range(leaf.shape[0]):
        for tree in range(leaf.shape[1]):
            number = np.int64(0)
            for level in range(level_start[tree], level_start[tree + 1]):
                is_zero = (bits[i, level >> 6] >> np.uint64(level & 63)) & mask
                if not is_zero:
                    number |= np.int64(1) << (level - level_start[tree])
            leaf[i, tree] = number


@compiled
def walk_margins(x, b, entry_position, feature, level_start, leaf_start, values, base, margins):
    """Writes margins (n, p - 1, K, q) along walks of leaf numbers x (n, trees) with background rows b.

    ``b`` is (n, trees, q) with rows for each example, or (1, trees, q) with the same rows for all.
    """
    steps, rows = margins.shape[1] + 1, margins.shape[3]
    sorted_level, entry_of = np.empty(DEEPEST, np.int64), np.empty(DEEPEST, np.int64)
    for i in range(x.shape[0]):
        change, entry = margins[i], entry_position[i]
        change[:] = 0.0
        for k in range(len(base)):
            change[0, k, :] = base[k]
        background = b[i] if b.shape[0] > 1 else b[0]
        for tree in range(x.shape[1]):
            depth = level_start[tree + 1] - level_start[tree]
            sort_levels(entry, feature, level_start[tree], level_start[tree + 1], sorted_level, entry_of)
            x_leaf, b_leaf = np.int64(x[i, tree]), background[tree]
            entered, known_levels, t = 0, np.int64(0), 1
            while t < steps:
                x_before, unknown_before = x_leaf & known_levels, ~known_levels
                while entered < depth and entry_of[entered] <= t:
                    known_levels |= np.int64(1) << sorted_level[entered]
                    entered += 1
                x_now, unknown_levels = x_leaf & known_levels, ~known_levels
                for k in range(len(base)):
                    value, step_change = values[k, leaf_start[tree] : leaf_start[tree + 1]], change[t - 1, k]
                    if t == 1:
                        for j in range(rows):
                            step_change[j] += value[x_now | (np.int64(b_leaf[j]) & unknown_levels)]
                    else:
                        for j in range(rows):
                            leaf = np.int64(b_leaf[j])
                            before = value[x_before | (leaf & unknown_before)]
                            step_change[j] += value[x_now | (leaf & unknown_levels)] - before
                t = entry_of[entered] if entered < depth else steps
        for t in range(1, steps - 1):
            for k in range(len(base)):
                for j in range(rows):
                    change[t, k, j] += change[t - 1, k, j]


@compiled
def mean_walk_margins(x, entry_position, feature, level_start, table_start, table, base, margins):
    """Writes mean margins (n, p - 1, K) along walks of leaf numbers x (n, trees), by tables of means; see above."""
    steps = margins.shape[1] + 1
    sorted_level, entry_of, power = (
        np.empty(DEEPEST, np.int64),
        np.empty(DEEPEST, np.int64),
        np.empty(DEEPEST, np.int64),
    )
    for level in range(DEEPEST):
        power[level] = 3**level
    for i in range(x.shape[0]):
        change, entry = margins[i], entry_position[i]
        change[:] = 0.0
        change[0] = base
        for tree in range(x.shape[1]):
            depth = level_start[tree + 1] - level_start[tree]
            sort_levels(entry, feature, level_start[tree], level_start[tree + 1], sorted_level, entry_of)
            x_leaf = np.int64(x[i, tree])
            code = table_start[tree + 1] - 1  # the last entry: nothing is known
            entered = 0
            while entered < depth and entry_of[entered] <= 1:
                code -= power[sorted_level[entered]] * (2 - ((x_leaf >> sorted_level[entered]) & 1))
                entered += 1
            for k in range(len(base)):
                change[0, k] += table[code, k]
            while entered < depth and entry_of[entered] < steps:
                next_code = code - power[sorted_level[entered]] * (2 - ((x_leaf >> sorted_level[entered]) & 1))
                for k in range(len(base)):
                    change[entry_of[entered] - 1, k] += table[next_code, k] - table[code, k]
                code = next_code
                entered += 1
        for t in range(1, steps - 1):
            for k in range(len(base)):
                change[t, k] += change[t - 1, k]
