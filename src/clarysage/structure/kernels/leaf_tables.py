"""Leaf tables: mean margins over the whole background, at a cost that does not depend on its number of rows.

Let P be the distinct features on the path to a leaf of value w, k of them. Its table has 2^k entries,

    T[M] = weight of the background rows that meet the conditions of the path on all features in M,

where a set M within P is a number whose bit j stands for the j-th feature of the path. The leaf adds w T[P - S] to the
mean margin with the features S known if x meets its conditions on the features in both P and S, and nothing otherwise.
Interventional TreeSHAP (Lundberg et al., 2020) goes through all background rows instead. Layout, where leaf 0 has the
features 4 and 0::

    leaf_start  [0, 2, ...]          leaf k has the features path_features[leaf_start[k]:leaf_start[k + 1]]
    path_features  [4, 0, ...]
    path_position  for each node, the bit of its feature among those on the path: the same for all leaves below
    table_start [0, 4, ...]          leaf k has the entries table[table_start[k] + M]
    table       [T[{}], T[{4}], T[{0}], T[{4, 0}], ...]

Trees, rows of bits and walks are described in :mod:`clarysage.structure.kernels`.
"""

from __future__ import annotations

import numpy as np

from clarysage.structure.kernels.compiled import compiled


@compiled
def leaf_paths(left, right, roots, feature, depth, leaves):
    """Returns ``leaf_start`` (leaves + 1,), ``path_features`` and ``path_position`` (nodes,), as described above.

    Features of a path are in the order of their first nodes. Trees are gone through twice: to count, then to write.
    """
    path_position, leaf_start = np.zeros(len(left), np.int64), np.zeros(leaves + 1, np.int64)
    path_features = np.empty(0, np.int64)
    size = depth + 2
    stack_node, stack_count, stack_path = (
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty((size, size), np.int64),
    )
    path = np.empty(size, np.int64)
    for turn in range(2):
        if turn == 1:
            for leaf in range(leaves):
                leaf_start[leaf + 1] += leaf_start[leaf]
            path_features = np.empty(leaf_start[leaves], np.int64)
        for root in roots:
            stack_node[0], stack_count[0], top = root, 0, 1
            while top > 0:
                top -= 1
                node, count = stack_node[top], stack_count[top]
                for k in range(count):
                    path[k] = stack_path[top, k]
                while node >= 0:
                    position = 0
                    while position < count and path[position] != feature[node]:
                        position += 1
                    if position == count:
                        path[count] = feature[node]
                        count += 1
                    path_position[node] = position
                    stack_node[top], stack_count[top] = right[node], count
                    for k in range(count):
                        stack_path[top, k] = path[k]
                    top += 1
                    node = left[node]
                if turn == 0:
                    leaf_start[~node + 1] = count
                else:
                    for k in range(count):
                        path_features[leaf_start[~node] + k] = path[k]
    return leaf_start, path_features, path_position


@compiled
def fill_leaf_tables(b, row_weights, left, right, roots, path_position, leaf_start, depth, table_start, table):
    """Adds the weights of background rows b (m, words) to the tables of leaves, which are zero before.

    Each row is first counted at the set of exactly those features whose conditions it meets; sums over supersets then
    give T[M].
    """
    bit = np.uint64(1)
    size = depth + 2
    stack_node, stack_failed = np.empty(size, np.int64), np.empty(size, np.int64)
    for row in range(b.shape[0]):
        for root in roots:
            stack_node[0], stack_failed[0], top = root, 0, 1
            while top > 0:
                top -= 1
                node, failed = stack_node[top], stack_failed[top]
                while node >= 0:
                    goes_left = (b[row, node >> 6] >> np.uint64(node & 63)) & bit
                    stack_node[top] = right[node] if goes_left else left[node]
                    stack_failed[top] = failed | (1 << path_position[node])
                    top += 1
                    node = left[node] if goes_left else right[node]
                leaf = ~node
                all_features = (1 << (leaf_start[leaf + 1] - leaf_start[leaf])) - 1
                table[table_start[leaf] + (all_features & ~failed)] += row_weights[row]
    for leaf in range(len(table_start)):
        k = leaf_start[leaf + 1] - leaf_start[leaf]
        for j in range(k):
            for met in range(1 << k):
                if (met >> j) & 1 == 0:
                    table[table_start[leaf] + met] += table[table_start[leaf] + met + (1 << j)]


@compiled
def mean_walk_margins(
    x,
    entry_position,
    feature,
    left,
    right,
    roots,
    output,
    values,
    base,
    path_position,
    leaf_start,
    path_features,
    depth,
    table_start,
    table,
    examples_at_once,
    margins,
):
    """Writes mean margins (n, p - 1, K) along walks of x (n, words), tree by tree for ``examples_at_once``.

    A leaf whose conditions x fails on the features ``failed`` counts until the first of these enters, at step ``end``.
    As other features enter, P - S shrinks, and its share T[P - S] changes.
    """
    bit = np.uint64(1)
    steps, size, width = margins.shape[1] + 1, depth + 2, values.shape[1]
    stack_node, stack_failed, stack_end = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    entry_of, bit_of = np.empty(size, np.int64), np.empty(size, np.int64)
    for block in range(0, x.shape[0], examples_at_once):
        last = min(block + examples_at_once, x.shape[0])
        for i in range(block, last):
            margins[i] = 0.0
            for k in range(len(base)):
                margins[i, 0, k] = base[k]
        for tree in range(len(roots)):
            out = output[tree]
            for i in range(block, last):
                change = margins[i]
                stack_node[0], stack_failed[0], stack_end[0], top = roots[tree], 0, steps, 1
                while top > 0:
                    top -= 1
                    node, failed, end = stack_node[top], stack_failed[top], stack_end[top]
                    while node >= 0:
                        goes_left = (x[i, node >> 6] >> np.uint64(node & 63)) & bit
                        entry_step = min(end, entry_position[i, feature[node]])
                        if entry_step > 1:
                            stack_node[top] = right[node] if goes_left else left[node]
                            stack_failed[top] = failed | (1 << path_position[node])
                            stack_end[top] = entry_step
                            top += 1
                        node = left[node] if goes_left else right[node]
                    leaf = ~node
                    first = table_start[leaf]
                    if table[first + failed] == 0.0:
                        continue
                    start = leaf_start[leaf]
                    unknown = (1 << (leaf_start[leaf + 1] - start)) - 1  # P - S
                    count = 0
                    for k in range(leaf_start[leaf + 1] - start):
                        entry_step = entry_position[i, path_features[start + k]]
                        if entry_step <= 1:
                            unknown &= ~(1 << k)
                        elif entry_step < end:  # sorted by insertion
                            position = count
                            while position > 0 and entry_of[position - 1] > entry_step:
                                entry_of[position], bit_of[position] = entry_of[position - 1], bit_of[position - 1]
                                position -= 1
                            entry_of[position], bit_of[position] = entry_step, 1 << k
                            count += 1
                    share = table[first + unknown]
                    for v in range(width):
                        change[0, out + v] += values[leaf, v] * share
                    for k in range(count):
                        unknown &= ~bit_of[k]
                        next_share = table[first + unknown]
                        for v in range(width):
                            change[entry_of[k] - 1, out + v] += values[leaf, v] * (next_share - share)
                        share = next_share
                    if end < steps:
                        for v in range(width):
                            change[end - 1, out + v] -= values[leaf, v] * share
        for i in range(block, last):
            for t in range(1, steps - 1):
                for k in range(len(base)):
                    margins[i, t, k] += margins[i, t - 1, k]
