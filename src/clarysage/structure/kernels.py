"""What is done for every example, tree and background row. Kernels see decisions, topology and values of leaves alone.

Internal nodes are numbered over all trees; a child that is a leaf is written ~leaf. A row's decisions are bits, one a
node, set where the row goes left. Walks have proper prefixes t = 1, ..., p - 1; column j of an example arrives at step
``arrivals[j]``, so that it is known at t >= arrivals[j].
"""

from __future__ import annotations

import numpy as np

from clarysage.structure.compiled import compiled, trailing_zeros
from clarysage.structure.decisions import NEARLY_ZERO

WORDS = 8  # of 64 background rows each, walked together
ROWS = 64 * WORDS


@compiled
def decide(z, column, threshold, missing_left, rule, first, count, in_left, sets, is_plain, bits):
    """Decisions (n, words) on rows z (n, D), as bits: see :class:`clarysage.structure.decisions.Decisions`.

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


@compiled
def alone(bits, left, right, roots, output, values, base, margins):
    """Margins (n, K) of rows as they are."""
    one = np.uint64(1)
    for i in range(bits.shape[0]):
        for k in range(len(base)):
            margins[i, k] = base[k]
        for tree in range(len(roots)):
            node = roots[tree]
            while node >= 0:
                goes_left = (bits[i, node >> 6] >> np.uint64(node & 63)) & one
                node = left[node] if goes_left else right[node]
            for v in range(values.shape[1]):
                margins[i, output[tree] + v] += values[~node, v]


@compiled
def along(x, b, picks, arrivals, feature, left, right, roots, output, values, base, depth, at_once, margins):
    """Margins (n, q, p - 1, K) along walks, for picked background rows, tree by tree for so many examples at once.

    A tree is gone through with the range [t0, t1) of steps for which a node is reached: where x and b decide
    differently on a column that arrives within it, b's way is taken before and x's way from then on.
    """
    one = np.uint64(1)
    steps, size, width = margins.shape[2] + 1, depth + 2, values.shape[1]
    node_of, from_of, to_of = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    for block in range(0, picks.shape[0], at_once):
        last = min(block + at_once, picks.shape[0])
        for i in range(block, last):
            for j in range(picks.shape[1]):
                margins[i, j] = 0.0
                for k in range(len(base)):
                    margins[i, j, 0, k] = base[k]
        for tree in range(len(roots)):
            out = output[tree]
            for i in range(block, last):
                for j in range(picks.shape[1]):
                    row, before = picks[i, j], np.int64(-1)
                    node_of[0], from_of[0], to_of[0], top = roots[tree], 1, steps, 1
                    while top > 0:
                        top -= 1
                        node, t0, t1 = node_of[top], from_of[top], to_of[top]
                        while node >= 0:
                            place = np.uint64(node & 63)
                            by_x = (x[i, node >> 6] >> place) & one
                            by_b = (b[row, node >> 6] >> place) & one
                            if by_x != by_b:
                                arrival = arrivals[i, feature[node]]
                                if arrival >= t1:
                                    by_x = by_b
                                elif arrival > t0:
                                    node_of[top] = left[node] if by_x else right[node]
                                    from_of[top], to_of[top] = arrival, t1
                                    top += 1
                                    t1 = arrival
                                    by_x = by_b
                            node = left[node] if by_x else right[node]
                        for v in range(width):
                            value = values[~node, v]
                            if before >= 0:
                                value -= values[before, v]
                            margins[i, j, t0 - 1, out + v] += value
                        before = ~node
        for i in range(block, last):
            for j in range(picks.shape[1]):
                for t in range(1, steps - 1):
                    for k in range(len(base)):
                        margins[i, j, t, k] += margins[i, j, t - 1, k]


@compiled
def spread(x, goes_left, everyone, arrivals, feature, left, right, roots, output, values, base, depth, margins):
    """Margins (n, p - 1, K, m) along walks, for all background rows together, by sets of rows.

    ``goes_left`` (nodes, WORDS) are the rows that go left at a node. A node is reached by groups of rows, each from
    some step t0 on, all until some step t1.
    """
    one, nothing = np.uint64(1), np.uint64(0)
    steps, rows = margins.shape[1] + 1, margins.shape[3]
    size = depth + 2
    node_of, to_of, groups = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    from_of, sets = np.empty((size, size + 1), np.int64), np.empty((size, size + 1, WORDS), np.uint64)
    way, joined = np.empty(WORDS, np.uint64), np.empty(WORDS, np.uint64)
    for i in range(x.shape[0]):
        found = margins[i]
        found[:] = 0.0
        for k in range(len(base)):
            found[0, k, :] = base[k]
        for tree in range(len(roots)):
            out = output[tree]
            top = 0
            node_of[0], to_of[0], groups[0], from_of[0, 0] = roots[tree], steps, 1, 1
            for w in range(WORDS):
                sets[0, 0, w] = everyone[w]
            while top >= 0:
                node, t1 = node_of[top], to_of[top]
                if node < 0 or groups[top] == 0:
                    for g in range(groups[top]):
                        t0 = from_of[top, g]
                        for v in range(values.shape[1]):
                            value, begun = values[~node, v], found[t0 - 1, out + v]
                            if t1 == steps:
                                for w in range(WORDS):
                                    word = sets[top, g, w]
                                    while word != nothing:
                                        begun[np.uint64(64 * w) + trailing_zeros(word)] += value
                                        word &= word - one
                                continue
                            over = found[t1 - 1, out + v]
                            for w in range(WORDS):
                                word = sets[top, g, w]
                                while word != nothing:
                                    row = np.uint64(64 * w) + trailing_zeros(word)
                                    begun[row] += value
                                    over[row] -= value
                                    word &= word - one
                    top -= 1
                    continue
                x_left = (x[i, node >> 6] >> np.uint64(node & 63)) & one
                for w in range(WORDS):
                    way[w] = goes_left[node, w] if x_left else ~goes_left[node, w]
                    joined[w] = nothing
                arrival = arrivals[i, feature[node]]
                until = min(t1, arrival)
                theirs = 0  # groups that go the other way, until the column arrives
                ours = 0  # those that go the way of x
                for g in range(groups[top]):
                    t0 = from_of[top, g]
                    if t0 >= arrival:
                        from_of[top, ours] = t0
                        for w in range(WORDS):
                            sets[top, ours, w] = sets[top, g, w]
                        ours += 1
                        continue
                    some, others = nothing, nothing
                    for w in range(WORDS):
                        word = sets[top, g, w]
                        other = word & ~way[w]
                        sets[top + 1, theirs, w] = other
                        joined[w] |= other
                        sets[top, ours, w] = word & way[w]
                        some |= word & way[w]
                        others |= other
                    if others != nothing:
                        from_of[top + 1, theirs] = t0
                        theirs += 1
                    if some != nothing:
                        from_of[top, ours] = t0
                        ours += 1
                if arrival < t1 and theirs > 0:
                    from_of[top, ours] = arrival
                    for w in range(WORDS):
                        sets[top, ours, w] = joined[w]
                    ours += 1
                node_of[top], groups[top] = (left[node] if x_left else right[node]), ours
                if theirs > 0:
                    top += 1
                    node_of[top], to_of[top], groups[top] = (right[node] if x_left else left[node]), until, theirs
        for t in range(1, steps - 1):
            for k in range(len(base)):
                for row in range(rows):
                    found[t, k, row] += found[t - 1, k, row]


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
    x, arrivals, feature, left, right, roots, output, values, base, place, starts, features, depth, firsts, tables,
    at_once, margins,
):  # fmt: skip
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
    shares = np.empty(1 << min(depth, 30))
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
