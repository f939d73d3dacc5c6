"""Kernels for decision trees."""

from __future__ import annotations

import numpy as np

from clarysage.structure.kernels.compiled import compiled, trailing_zeros
from clarysage.structure.trees import NEARLY_ZERO


@compiled
def decide(z, column, threshold, missing_left, rule, first, count, in_left, sets, is_plain, bits):
    """Decisions (n, words) on rows z (n, D), as bits: see :class:`clarysage.structure.trees.SplitRules`.

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


WORDS = 8  # of 64 background rows each, walked together
ROWS = 64 * WORDS


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
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
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
                known, when = x[i], arrivals[i]
                for j in range(picks.shape[1]):
                    drawn, found = b[picks[i, j]], margins[i, j]
                    node, t0, t1, top, before = roots[tree], 1, steps, 0, np.int64(-1)
                    while True:
                        while node >= 0:
                            here = np.uint64(node)  # numbers without a sign are quicker to index with
                            word, place = here >> six, here & low
                            goes_left = known[word] >> place
                            if (goes_left ^ (drawn[word] >> place)) & one:
                                arrival = when[feature[here]]
                                if arrival > t0:
                                    if arrival < t1:
                                        node_of[top] = left[here] if goes_left & one else right[here]
                                        from_of[top], to_of[top] = arrival, t1
                                        top += 1
                                        t1 = arrival
                                    goes_left = ~goes_left
                            node = left[here] if goes_left & one else right[here]
                        for v in range(width):
                            value = values[~node, v]
                            if before >= 0:
                                value -= values[before, v]
                            found[t0 - 1, out + v] += value
                        before = ~node
                        if top == 0:
                            break
                        top -= 1
                        node, t0, t1 = node_of[top], from_of[top], to_of[top]
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
def margins_of_all_coalitions(x, b, player, left, right, roots, output, values, base, depth, margins):
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
