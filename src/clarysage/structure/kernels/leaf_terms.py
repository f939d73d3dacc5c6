"""Möbius terms of mean margins from the leaves of trees, and Shapley values of a squared sum of terms.

Let P be the players on the path to a leaf of value w, of which an example x fails the conditions on V, and let H[B] be
the weight of the background rows that fail those on exactly B. The leaf adds w to f(x_S, b) if x meets all conditions
on S and the background row b meets all others, so that its mean margin is

    w [V and S are disjoint] sum_{B within S} H[B] = sum over B disjoint from V and W within V of
                                                     (-1)^|W| w H[B] [B | W within S].

So it adds (-1)^|W| w H[B] to the terms of the sets B | W. Only those B are gone through that some background row fails
exactly, which are few. Sets within P are numbers whose bit j stands for the j-th player of the path, as in
:mod:`clarysage.structure.kernels.leaf_tables`, which explains ``leaf_start``, ``path_players`` and ``path_position``::

    id_start    [0, 0, ...]    term ids[id_start[l] + A] is that of the set A; leaves of equal paths share their ids
    live_start  [0, 3, ...]    leaf l has the sets live_set[live_start[l]:live_start[l + 1]] with the weights live_share

Trees and rows of bits are described in :mod:`clarysage.structure.kernels`.
"""

from __future__ import annotations

import numpy as np

from clarysage.structure.kernels.compiled import compiled, part


@part
def _find(keys, key):
    """Returns the slot of a key in a hash table, or the empty slot where it belongs."""
    mask = len(keys) - 1
    slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
    while keys[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & mask
    return slot


@part
def _doubled_table(keys, numbers):
    """Returns a hash table with twice as many slots."""
    new_keys, new_numbers = np.full(2 * len(keys), -1, np.int64), np.empty(2 * len(keys), np.int64)
    for old in range(len(keys)):
        if keys[old] >= 0:
            slot = _find(new_keys, keys[old])
            new_keys[slot], new_numbers[slot] = keys[old], numbers[old]
    return new_keys, new_numbers


@part
def _doubled(array):
    longer = np.empty(2 * len(array), array.dtype)
    longer[: len(array)] = array
    return longer


@compiled
def first_of_equal_paths(leaf_start, path_players, n_players):
    """Returns for each leaf the first one whose path has the same players in the same order."""
    first = np.empty(len(leaf_start) - 1, np.int64)
    keys, numbers, count = np.full(1 << 12, -1, np.int64), np.empty(1 << 12, np.int64), 1
    leaf_of = np.full(1 << 12, -1, np.int64)  # by the number of the path
    for leaf in range(len(first)):
        number = 0
        for j in range(leaf_start[leaf], leaf_start[leaf + 1]):
            key = number * n_players + path_players[j]
            slot = _find(keys, key)
            if keys[slot] < 0:
                keys[slot], numbers[slot] = key, count
                count += 1
            number = numbers[slot]
            if 2 * count > len(keys):
                keys, numbers = _doubled_table(keys, numbers)
        while number >= len(leaf_of):
            length = len(leaf_of)
            leaf_of = _doubled(leaf_of)
            leaf_of[length:] = -1
        if leaf_of[number] < 0:
            leaf_of[number] = leaf
        first[leaf] = leaf_of[number]
    return first


@compiled
def number_sets(leaf_start, path_players, n_players, first_leaf, id_start, ids, most_sets):
    """Numbers all sets of players that share a path, the empty set first, and lists their edges (A, A without i).

    Writes ``ids``, where ``first_leaf`` says which leaves are the first with their path. Returns the number of sets,
    which is -1 if there are more than ``most_sets``, and the edges: A, A without i, and i.

    A set is known by its largest player and by the number of the set without it, which is a key without collisions.
    """
    keys, numbers, n_sets = np.full(1 << 12, -1, np.int64), np.empty(1 << 12, np.int64), 1
    edge_set, edge_without, edge_player = (
        np.empty(1 << 12, np.int64),
        np.empty(1 << 12, np.int64),
        np.empty(1 << 12, np.int64),
    )
    n_edges = 0
    for leaf in range(len(first_leaf)):
        if first_leaf[leaf] != leaf:
            continue
        start, k, table = leaf_start[leaf], leaf_start[leaf + 1] - leaf_start[leaf], id_start[leaf]
        ascending = np.argsort(path_players[start : start + k])
        of_set = np.zeros(1 << k, np.int64)  # sets of the path whose bits are of players in ascending order
        position = np.zeros(1 << k, np.int64)  # the same sets with bits in the order of the path
        ids[table] = 0
        highest = -1
        for members in range(1, 1 << k):
            if members >> (highest + 1):
                highest += 1
            rest = members - (1 << highest)
            position[members] = position[rest] | (1 << ascending[highest])
            key = of_set[rest] * n_players + path_players[start + ascending[highest]]
            slot = _find(keys, key)
            if keys[slot] < 0:
                if n_sets >= most_sets:
                    return -1, edge_set, edge_without, edge_player
                keys[slot], numbers[slot] = key, n_sets
                of_set[members] = n_sets
                if n_edges + k > len(edge_set):
                    edge_set, edge_without = _doubled(edge_set), _doubled(edge_without)
                    edge_player = _doubled(edge_player)
                for j in range(highest + 1):
                    if (members >> j) & 1:
                        edge_set[n_edges] = n_sets
                        edge_without[n_edges] = of_set[members - (1 << j)]
                        edge_player[n_edges] = path_players[start + ascending[j]]
                        n_edges += 1
                n_sets += 1
                if 2 * n_sets > len(keys):
                    keys, numbers = _doubled_table(keys, numbers)
            else:
                of_set[members] = numbers[slot]
            ids[table + position[members]] = of_set[members]
    return n_sets, edge_set[:n_edges], edge_without[:n_edges], edge_player[:n_edges]


@compiled
def number_sets_by_bits(leaf_start, path_players, first_leaf, id_start, ids):
    """Writes ``ids`` that number sets A of players by sum_{i in A} 2^i."""
    for leaf in range(len(first_leaf)):
        if first_leaf[leaf] != leaf:
            continue
        table, highest = id_start[leaf], -1
        ids[table] = 0
        for members in range(1, 1 << (leaf_start[leaf + 1] - leaf_start[leaf])):
            if members >> (highest + 1):
                highest += 1
            player = path_players[leaf_start[leaf] + highest]
            ids[table + members] = ids[table + members - (1 << highest)] + (1 << player)


@compiled
def failing_shares(b, row_weights, left, right, roots, path_position, leaf_start, depth, tree_leaf):
    """Returns ``live_start``, ``live_set`` and ``live_share`` of background rows b (m, words), as described above.

    ``tree_leaf`` (trees + 1,) has the first leaf of each tree, and the number of all leaves.
    """
    bit = np.uint64(1)
    size, leaves = depth + 2, len(leaf_start) - 1
    stack_node, stack_failed = np.empty(size, np.int64), np.empty(size, np.int64)
    live_start = np.zeros(leaves + 1, np.int64)
    live_set, live_share, count = np.empty(1 << 12, np.int64), np.empty(1 << 12), 0
    shares, share_start = np.empty(0), np.empty(leaves, np.int64)
    for tree in range(len(roots)):
        entries = 0
        for leaf in range(tree_leaf[tree], tree_leaf[tree + 1]):
            share_start[leaf] = entries
            entries += 1 << (leaf_start[leaf + 1] - leaf_start[leaf])
        if entries > len(shares):
            shares = np.zeros(entries)
        shares[:entries] = 0.0
        for row in range(b.shape[0]):
            stack_node[0], stack_failed[0], top = roots[tree], 0, 1
            while top > 0:
                top -= 1
                node, failed = stack_node[top], stack_failed[top]
                while node >= 0:
                    goes_left = (b[row, node >> 6] >> np.uint64(node & 63)) & bit
                    stack_node[top] = right[node] if goes_left else left[node]
                    stack_failed[top] = failed | (1 << path_position[node])
                    top += 1
                    node = left[node] if goes_left else right[node]
                shares[share_start[~node] + failed] += row_weights[row]
        for leaf in range(tree_leaf[tree], tree_leaf[tree + 1]):
            for failed in range(1 << (leaf_start[leaf + 1] - leaf_start[leaf])):
                if shares[share_start[leaf] + failed] != 0.0:
                    if count == len(live_set):
                        live_set, live_share = _doubled(live_set), _doubled(live_share)
                    live_set[count], live_share[count] = failed, shares[share_start[leaf] + failed]
                    count += 1
            live_start[leaf + 1] = count
    return live_start, live_set[:count], live_share[:count]


@compiled
def add_leaf_terms(
    x,
    left,
    right,
    roots,
    output,
    values,
    path_position,
    depth,
    id_start,
    ids,
    live_start,
    live_set,
    live_share,
    terms,
):
    """Adds the terms of mean margins of x (n, words) to ``terms`` (K, M, n); returns the number of changes of terms."""
    bit, changes = np.uint64(1), 0
    size, width = depth + 2, values.shape[1]
    stack_node, stack_failed = np.empty(size, np.int64), np.empty(size, np.int64)
    for tree in range(len(roots)):
        out = output[tree]
        for i in range(x.shape[0]):
            stack_node[0], stack_failed[0], top = roots[tree], 0, 1
            while top > 0:
                top -= 1
                node, failed = stack_node[top], stack_failed[top]
                while node >= 0:
                    goes_left = (x[i, node >> 6] >> np.uint64(node & 63)) & bit
                    stack_node[top] = right[node] if goes_left else left[node]
                    stack_failed[top] = failed | (1 << path_position[node])
                    top += 1
                    node = left[node] if goes_left else right[node]
                leaf = ~node
                first = id_start[leaf]
                for live in range(live_start[leaf], live_start[leaf + 1]):
                    members = live_set[live]
                    if members & failed:
                        continue
                    subset, share = failed, live_share[live]
                    while True:  # all subsets W of the conditions that x fails
                        term = ids[first + (members | subset)]
                        sign = subset ^ (subset >> 16)
                        sign ^= sign >> 8
                        sign ^= sign >> 4
                        sign = 1 - 2 * ((0x6996 >> (sign & 15)) & 1)  # -1 where W is odd
                        changes += 1
                        for v in range(width):
                            terms[out + v, term, i] += sign * share * values[leaf, v]
                        if subset == 0:
                            break
                        subset = (subset - 1) & failed
    return changes


@compiled
def squared_values(terms, sizes, player_start, edge_set, edge_without, points, point_weights, values):
    """Writes the Shapley values (p, 8) of the game S -> -(sum of the terms within S)^2, for terms (M, 8) of 8 games.

    See :class:`clarysage.games.closed_form.SquaredSums`. Edges (A, A without i) are sorted by i: those of player i are
    ``player_start[i]`` to ``player_start[i + 1]``. The integral over q is a sum over Gauss-Legendre points.
    """
    players, count, largest = len(player_start) - 1, len(terms), 0
    for number in range(count):
        largest = max(largest, sizes[number])
    u, power = np.empty_like(terms), np.empty(largest + 1)
    values[:] = 0.0
    for point in range(len(points)):
        q = points[point]
        power[0] = 0.0
        for size in range(1, largest + 1):
            power[size] = 1.0 if size == 1 else power[size - 1] * (q * (1 - q))
        u[:] = terms
        for player in range(players):  # sums over supersets, player by player
            for edge in range(player_start[player], player_start[player + 1]):
                source, target = u[edge_set[edge]], u[edge_without[edge]]
                s0, s1, s2, s3 = source[0], source[1], source[2], source[3]
                s4, s5, s6, s7 = source[4], source[5], source[6], source[7]
                t0, t1, t2, t3 = target[0], target[1], target[2], target[3]
                t4, t5, t6, t7 = target[4], target[5], target[6], target[7]
                target[0], target[1], target[2], target[3] = t0 + q * s0, t1 + q * s1, t2 + q * s2, t3 + q * s3
                target[4], target[5], target[6], target[7] = t4 + q * s4, t5 + q * s5, t6 + q * s6, t7 + q * s7
        slope, weight = 1 - 2 * q, point_weights[point]
        for player in range(players):
            v0, v1, v2, v3, v4, v5, v6, v7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for edge in range(player_start[player], player_start[player + 1]):
                number = edge_set[edge]
                a, b, r = u[number], u[edge_without[edge]], power[sizes[number]]
                v0 += r * a[0] * (2 * b[0] + slope * a[0])
                v1 += r * a[1] * (2 * b[1] + slope * a[1])
                v2 += r * a[2] * (2 * b[2] + slope * a[2])
                v3 += r * a[3] * (2 * b[3] + slope * a[3])
                v4 += r * a[4] * (2 * b[4] + slope * a[4])
                v5 += r * a[5] * (2 * b[5] + slope * a[5])
                v6 += r * a[6] * (2 * b[6] + slope * a[6])
                v7 += r * a[7] * (2 * b[7] + slope * a[7])
            row = values[player]
            row[0], row[1] = row[0] - weight * v0, row[1] - weight * v1
            row[2], row[3] = row[2] - weight * v2, row[3] - weight * v3
            row[4], row[5] = row[4] - weight * v4, row[5] - weight * v5
            row[6], row[7] = row[6] - weight * v6, row[7] - weight * v7
