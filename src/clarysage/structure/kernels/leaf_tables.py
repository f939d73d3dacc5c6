"""Tables of leaves: which share of the background meets their conditions, and what follows from it."""

from __future__ import annotations

import numpy as np

from clarysage.structure.kernels.compiled import compiled


@compiled
def paths(left, right, roots, feature, depth, leaves):
    """Distinct features on the way to each leaf, in the order of their first nodes.

    Returns where they begin for each leaf (leaves + 1,), the features, and the place of each node's feature among those
    on the way to it, which is the same for all leaves beneath.
    """
    place, starts = np.zeros(len(left), np.int64), np.zeros(leaves + 1, np.int64)
    features = np.empty(0, np.int64)
    size = depth + 2
    node_of, known_of, way_of = np.empty(size, np.int64), np.empty(size, np.int64), np.empty((size, size), np.int64)
    way = np.empty(size, np.int64)
    for turn in range(2):  # how many there are, and then which
        if turn == 1:
            for leaf in range(leaves):
                starts[leaf + 1] += starts[leaf]
            features = np.empty(starts[leaves], np.int64)
        for root in roots:
            node_of[0], known_of[0], top = root, 0, 1
            while top > 0:
                top -= 1
                node, known = node_of[top], known_of[top]
                for k in range(known):
                    way[k] = way_of[top, k]
                while node >= 0:
                    here = 0
                    while here < known and way[here] != feature[node]:
                        here += 1
                    if here == known:
                        way[known] = feature[node]
                        known += 1
                    place[node] = here
                    node_of[top], known_of[top] = right[node], known
                    for k in range(known):
                        way_of[top, k] = way[k]
                    top += 1
                    node = left[node]
                if turn == 0:
                    starts[~node + 1] = known
                else:
                    for k in range(known):
                        features[starts[~node] + k] = way[k]
    return starts, features, place


@compiled
def leaf_tables(b, mass, left, right, roots, place, starts, depth, firsts, tables):
    """Of each leaf with k features on its way, T[M]: the mass of background rows that meet the conditions on M.

    ``tables`` has 2^k entries for each leaf, from ``firsts`` on.
    """
    one = np.uint64(1)
    size = depth + 2
    node_of, failed_of = np.empty(size, np.int64), np.empty(size, np.int64)
    for row in range(b.shape[0]):
        for root in roots:
            node_of[0], failed_of[0], top = root, 0, 1
            while top > 0:
                top -= 1
                node, failed = node_of[top], failed_of[top]
                while node >= 0:
                    goes_left = (b[row, node >> 6] >> np.uint64(node & 63)) & one
                    node_of[top] = right[node] if goes_left else left[node]
                    failed_of[top] = failed | (1 << place[node])
                    top += 1
                    node = left[node] if goes_left else right[node]
                leaf = ~node
                everything = (1 << (starts[leaf + 1] - starts[leaf])) - 1
                tables[firsts[leaf] + (everything & ~failed)] += mass[row]
    for leaf in range(len(firsts)):
        k = starts[leaf + 1] - starts[leaf]
        for bit in range(k):
            for met in range(1 << k):
                if (met >> bit) & 1 == 0:
                    tables[firsts[leaf] + met] += tables[firsts[leaf] + met + (1 << bit)]


@compiled
def by_tables(
    x,
    arrivals,
    feature,
    left,
    right,
    roots,
    output,
    values,
    base,
    place,
    starts,
    features,
    depth,
    firsts,
    tables,
    at_once,
    margins,
):
    """Mean margins (n, p - 1, K) along walks, by tables of leaves, tree by tree for so many examples at once.

    A leaf of value w with features P on its way adds w T[P - S] to f_S, and nothing where x fails it on S.
    """
    one = np.uint64(1)
    steps, size, width = margins.shape[1] + 1, depth + 2, values.shape[1]
    node_of, failed_of, until_of = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    when, bit_of = np.empty(size, np.int64), np.empty(size, np.int64)
    for block in range(0, x.shape[0], at_once):
        last = min(block + at_once, x.shape[0])
        for i in range(block, last):
            margins[i] = 0.0
            for k in range(len(base)):
                margins[i, 0, k] = base[k]
        for tree in range(len(roots)):
            out = output[tree]
            for i in range(block, last):
                change = margins[i]
                node_of[0], failed_of[0], until_of[0], top = roots[tree], 0, steps, 1
                while top > 0:
                    top -= 1
                    node, failed, until = node_of[top], failed_of[top], until_of[top]
                    while node >= 0:
                        goes_left = (x[i, node >> 6] >> np.uint64(node & 63)) & one
                        arrival = min(until, arrivals[i, feature[node]])
                        if arrival > 1:
                            node_of[top] = right[node] if goes_left else left[node]
                            failed_of[top] = failed | (1 << place[node])
                            until_of[top] = arrival
                            top += 1
                        node = left[node] if goes_left else right[node]
                    leaf = ~node
                    first = firsts[leaf]
                    if tables[first + failed] == 0.0:
                        continue
                    start = starts[leaf]
                    unmet = (1 << (starts[leaf + 1] - start)) - 1
                    count = 0
                    for k in range(starts[leaf + 1] - start):
                        arrival = arrivals[i, features[start + k]]
                        if arrival <= 1:
                            unmet &= ~(1 << k)
                        elif arrival < until:  # put in the order of arrival
                            here = count
                            while here > 0 and when[here - 1] > arrival:
                                when[here], bit_of[here] = when[here - 1], bit_of[here - 1]
                                here -= 1
                            when[here], bit_of[here] = arrival, 1 << k
                            count += 1
                    share = tables[first + unmet]
                    for v in range(width):
                        change[0, out + v] += values[leaf, v] * share
                    for k in range(count):
                        unmet &= ~bit_of[k]
                        more = tables[first + unmet]
                        for v in range(width):
                            change[when[k] - 1, out + v] += values[leaf, v] * (more - share)
                        share = more
                    if until < steps:
                        for v in range(width):
                            change[until - 1, out + v] -= values[leaf, v] * share
        for i in range(block, last):
            for t in range(1, steps - 1):
                for k in range(len(base)):
                    margins[i, t, k] += margins[i, t - 1, k]


@compiled
def sets_of_leaves(starts, features, firsts, ids):
    """Numbers of the sets of players that the entries of leaves' tables are about, player i being bit i."""
    for leaf in range(len(firsts)):
        count = starts[leaf + 1] - starts[leaf]
        for entry in range(1 << count):
            number = 0
            for k in range(count):
                if (entry >> k) & 1:
                    number |= 1 << features[starts[leaf] + k]
            ids[firsts[leaf] + entry] = number


@compiled
def leaf_terms(x, left, right, roots, output, values, place, starts, depth, firsts, tables, ids, terms):
    """Terms (n, M, K), by whose sums over sets A within S mean margins are f_S: entry e of a leaf adds to term ids[e].

    Of a leaf with features P, [x meets s] T[P - s] for all s within P is turned into differences over sets.
    """
    one = np.uint64(1)
    size, width = depth + 2, values.shape[1]
    node_of, failed_of = np.empty(size, np.int64), np.empty(size, np.int64)
    longest = 0
    for leaf in range(len(firsts)):
        longest = max(longest, starts[leaf + 1] - starts[leaf])
    shares = np.empty(1 << longest)
    for i in range(x.shape[0]):
        for tree in range(len(roots)):
            out = output[tree]
            node_of[0], failed_of[0], top = roots[tree], 0, 1
            while top > 0:
                top -= 1
                node, failed = node_of[top], failed_of[top]
                while node >= 0:
                    goes_left = (x[i, node >> 6] >> np.uint64(node & 63)) & one
                    node_of[top] = right[node] if goes_left else left[node]
                    failed_of[top] = failed | (1 << place[node])
                    top += 1
                    node = left[node] if goes_left else right[node]
                leaf = ~node
                first = firsts[leaf]
                if tables[first + failed] == 0.0:
                    continue
                count = starts[leaf + 1] - starts[leaf]
                entries = 1 << count
                for s in range(entries):
                    shares[s] = 0.0 if s & failed else tables[first + entries - 1 - s]
                for k in range(count):
                    bit = 1 << k
                    for s in range(entries):
                        if s & bit:
                            shares[s] -= shares[s - bit]
                for s in range(entries):
                    for v in range(width):
                        terms[i, ids[first + s], out + v] += shares[s] * values[leaf, v]
