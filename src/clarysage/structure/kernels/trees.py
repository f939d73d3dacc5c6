"""Kernels for decision trees: decisions at nodes, margins of rows, of prefixes of walks, and of all coalitions.

Arrays are described in :mod:`clarysage.structure.kernels`. A hybrid row takes the way of the example x at nodes whose
column is known, and the way of the background row b elsewhere. Three kernels go through a tree without visiting it once
for every coalition:

``walk_margins`` follows one x with one b. Each visited node has an interval of steps [start, end) for which the hybrid
row gets there. Where x and b decide differently on a column that enters within the interval, the interval is cut::

    steps     1 . . . . . . . . . . p          feature of the node enters at step e
    node      [start ------------ end)
    child b   [start --- e)                    not yet known: the way of b, followed next
    child x              [e ----- end)         known: the way of x, put on the stack

Leaves are therefore met in the order of their steps, and the margin changes at ``start`` by the new leaf's value minus
the value of the leaf before.

``walk_margins_of_row_sets`` does this for 512 background rows at once. A node has one common ``end`` and several groups
of rows; group g is a bit set of 8 words and reaches the node from step ``start[g]`` on::

    at a node   group 0: 1011 0010 ...  from step 1       ``toward_x`` = rows that decide as x does
                group 1: 0100 1000 ...  from step 4

    child x     group g & toward_x      from its own step; and from step e all rows that left for the other child
    child b     group g & ~toward_x     from its own step until e

A leaf adds its value to all rows of a group at ``start[g]`` and takes it away at ``end``.

``margins_of_all_coalitions`` follows x with each b and splits by two sets of players, those known and those unknown. A
leaf that needs ``known`` inside and ``unknown`` outside S counts for every S in between. It is entered by inclusion and
exclusion at the sets known | part, for all parts of unknown, with signs (-1)^|part|; sums over subsets (the zeta
transform) then give the margins of all 2^p coalitions.
"""

from __future__ import annotations

import numpy as np

from clarysage.structure.kernels.compiled import compiled, trailing_zeros
from clarysage.structure.trees import NEARLY_ZERO

WORDS = 8  # of 64 background rows each, which walk_margins_of_row_sets follows together
ROWS = 64 * WORDS


@compiled
def decide(z, column, threshold, missing_left, rule, first, count, in_left, sets, is_plain, bits):
    """Writes decisions (n, words) on rows z (n, D) as bits; see :class:`clarysage.structure.trees.SplitRules`.

    ``is_plain`` says that all decisions compare numbers and treat NaN, and nothing else, as missing.
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
def row_margins(bits, left, right, roots, output, values, base, margins):
    """Writes margins (n, K) of rows of decisions (n, words)."""
    bit = np.uint64(1)
    for i in range(bits.shape[0]):
        for k in range(len(base)):
            margins[i, k] = base[k]
        for tree in range(len(roots)):
            node = roots[tree]
            while node >= 0:
                goes_left = (bits[i, node >> 6] >> np.uint64(node & 63)) & bit
                node = left[node] if goes_left else right[node]
            for v in range(values.shape[1]):
                margins[i, output[tree] + v] += values[~node, v]


@compiled
def walk_margins(
    x,
    b,
    background_index,
    entry_position,
    feature,
    left,
    right,
    roots,
    output,
    values,
    base,
    depth,
    examples_at_once,
    margins,
):
    """Writes margins (n, q, p - 1, K) along walks of x (n, words) with the background rows b[background_index[i, j]].

    ``background_index`` is (n, q). Tree by tree for ``examples_at_once``, whose margins stay in the cache; see above.
    """
    bit, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    steps, size, width = margins.shape[2] + 1, depth + 2, values.shape[1]
    stack_node, stack_start, stack_end = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    for block in range(0, background_index.shape[0], examples_at_once):
        last = min(block + examples_at_once, background_index.shape[0])
        for i in range(block, last):
            for j in range(background_index.shape[1]):
                margins[i, j] = 0.0
                for k in range(len(base)):
                    margins[i, j, 0, k] = base[k]
        for tree in range(len(roots)):
            out = output[tree]
            for i in range(block, last):
                x_bits, entry = x[i], entry_position[i]
                for j in range(background_index.shape[1]):
                    b_bits, change = b[background_index[i, j]], margins[i, j]
                    node, start, end, top, leaf_before = roots[tree], 1, steps, 0, np.int64(-1)
                    while True:
                        while node >= 0:
                            node_index = np.uint64(node)  # unsigned numbers are quicker to index with
                            word, shift = node_index >> six, node_index & low
                            goes_left = x_bits[word] >> shift
                            if (goes_left ^ (b_bits[word] >> shift)) & bit:
                                entry_step = entry[feature[node_index]]
                                if entry_step > start:
                                    if entry_step < end:
                                        stack_node[top] = left[node_index] if goes_left & bit else right[node_index]
                                        stack_start[top], stack_end[top] = entry_step, end
                                        top += 1
                                        end = entry_step
                                    goes_left = ~goes_left
                            node = left[node_index] if goes_left & bit else right[node_index]
                        for v in range(width):
                            value = values[~node, v]
                            if leaf_before >= 0:
                                value -= values[leaf_before, v]
                            change[start - 1, out + v] += value
                        leaf_before = ~node
                        if top == 0:
                            break
                        top -= 1
                        node, start, end = stack_node[top], stack_start[top], stack_end[top]
        for i in range(block, last):
            for j in range(background_index.shape[1]):
                for t in range(1, steps - 1):
                    for k in range(len(base)):
                        margins[i, j, t, k] += margins[i, j, t - 1, k]


@compiled
def walk_margins_of_row_sets(
    x, goes_left, all_rows, entry_position, feature, left, right, roots, output, values, base, depth, margins
):
    """Writes margins (n, p - 1, K, m) along walks of x (n, words) with m background rows, at most ``ROWS``; see above.

    ``goes_left`` (nodes, WORDS) has the rows that go left at each node as bit sets; ``all_rows`` (WORDS,) is the set of
    the m rows.
    """
    bit, empty = np.uint64(1), np.uint64(0)
    steps, rows = margins.shape[1] + 1, margins.shape[3]
    size = depth + 2
    stack_node, stack_end, n_groups = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    group_start, group_rows = np.empty((size, size + 1), np.int64), np.empty((size, size + 1, WORDS), np.uint64)
    toward_x, leaving = np.empty(WORDS, np.uint64), np.empty(WORDS, np.uint64)
    for i in range(x.shape[0]):
        change = margins[i]
        change[:] = 0.0
        for k in range(len(base)):
            change[0, k, :] = base[k]
        for tree in range(len(roots)):
            out = output[tree]
            top = 0
            stack_node[0], stack_end[0], n_groups[0], group_start[0, 0] = roots[tree], steps, 1, 1
            for w in range(WORDS):
                group_rows[0, 0, w] = all_rows[w]
            while top >= 0:
                node, end = stack_node[top], stack_end[top]
                if node < 0 or n_groups[top] == 0:  # a leaf, or a node that no row reaches
                    for g in range(n_groups[top]):
                        start = group_start[top, g]
                        for v in range(values.shape[1]):
                            value, at_start = values[~node, v], change[start - 1, out + v]
                            if end == steps:
                                for w in range(WORDS):
                                    word = group_rows[top, g, w]
                                    while word != empty:
                                        at_start[np.uint64(64 * w) + trailing_zeros(word)] += value
                                        word &= word - bit
                                continue
                            at_end = change[end - 1, out + v]
                            for w in range(WORDS):
                                word = group_rows[top, g, w]
                                while word != empty:
                                    row = np.uint64(64 * w) + trailing_zeros(word)
                                    at_start[row] += value
                                    at_end[row] -= value
                                    word &= word - bit
                    top -= 1
                    continue
                x_goes_left = (x[i, node >> 6] >> np.uint64(node & 63)) & bit
                for w in range(WORDS):
                    toward_x[w] = goes_left[node, w] if x_goes_left else ~goes_left[node, w]
                    leaving[w] = empty
                entry_step = entry_position[i, feature[node]]
                end_of_other = min(end, entry_step)
                other_groups = 0  # groups of the other child, which they leave when the column enters
                x_groups = 0  # groups of the child on the way of x, written over those of the node
                for g in range(n_groups[top]):
                    start = group_start[top, g]
                    if start >= entry_step:  # the column is known: all rows take the way of x
                        group_start[top, x_groups] = start
                        for w in range(WORDS):
                            group_rows[top, x_groups, w] = group_rows[top, g, w]
                        x_groups += 1
                        continue
                    any_toward_x, any_other = empty, empty
                    for w in range(WORDS):
                        word = group_rows[top, g, w]
                        other_word = word & ~toward_x[w]
                        group_rows[top + 1, other_groups, w] = other_word
                        leaving[w] |= other_word
                        group_rows[top, x_groups, w] = word & toward_x[w]
                        any_toward_x |= word & toward_x[w]
                        any_other |= other_word
                    if any_other != empty:
                        group_start[top + 1, other_groups] = start
                        other_groups += 1
                    if any_toward_x != empty:
                        group_start[top, x_groups] = start
                        x_groups += 1
                if entry_step < end and other_groups > 0:  # from here on all take the way of x
                    group_start[top, x_groups] = entry_step
                    for w in range(WORDS):
                        group_rows[top, x_groups, w] = leaving[w]
                    x_groups += 1
                stack_node[top], n_groups[top] = (left[node] if x_goes_left else right[node]), x_groups
                if other_groups > 0:
                    top += 1
                    stack_node[top] = right[node] if x_goes_left else left[node]
                    stack_end[top], n_groups[top] = end_of_other, other_groups
        for t in range(1, steps - 1):
            for k in range(len(base)):
                for row in range(rows):
                    change[t, k, row] += change[t - 1, k, row]


@compiled
def margins_of_all_coalitions(x, b, player, left, right, roots, output, values, base, depth, margins):
    """Writes margins (2^p, K, m) of one example x (words,) with background rows b (m, words); see above.

    Coalition S is number sum_{i in S} 2^i; ``player`` is that of each node.
    """
    mask = np.uint64(1)
    size = depth + 2
    stack_node, stack_known, stack_unknown = (
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
    )
    margins[:] = 0.0
    for k in range(len(base)):
        margins[0, k, :] = base[k]
    for tree in range(len(roots)):
        for row in range(b.shape[0]):
            stack_node[0], stack_known[0], stack_unknown[0], top = roots[tree], 0, 0, 1
            while top > 0:
                top -= 1
                node, known_players, unknown_players = stack_node[top], stack_known[top], stack_unknown[top]
                while node >= 0:
                    shift = np.uint64(node & 63)
                    goes_left, b_goes_left = (x[node >> 6] >> shift) & mask, (b[row, node >> 6] >> shift) & mask
                    if goes_left != b_goes_left:
                        bit = 1 << player[node]
                        if unknown_players & bit:
                            goes_left = b_goes_left
                        elif not known_players & bit:
                            stack_node[top] = left[node] if b_goes_left else right[node]
                            stack_known[top], stack_unknown[top] = known_players, unknown_players | bit
                            top += 1
                            known_players |= bit
                    node = left[node] if goes_left else right[node]
                for v in range(values.shape[1]):
                    part, value = unknown_players, values[~node, v]
                    while True:  # over all subsets of the unknown players
                        sign, uncounted = value, part
                        while uncounted:
                            uncounted &= uncounted - 1
                            sign = -sign
                        margins[known_players | part, output[tree] + v, row] += sign
                        if part == 0:
                            break
                        part = (part - 1) & unknown_players
    coalitions, bit = margins.shape[0], 1
    while bit < coalitions:
        for s in range(coalitions):
            if s & bit:
                for k in range(len(base)):
                    for row in range(margins.shape[2]):
                        margins[s, k, row] += margins[s - bit, k, row]
        bit <<= 1
