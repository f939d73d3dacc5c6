r"""Kernels compiled by numba: the inner loops over examples, trees and background rows. Imported where they are called.

**Trees** are flat arrays over all trees of an ensemble. Internal nodes are numbered from 0 over all trees, leaves
likewise; a child that is leaf k is stored as ~k, so that a negative number ends a path::

            node 0                left    = [ 1, ~0]
           /      \               right   = [~2, ~1]
        node 1   leaf 2           roots   = [0]            one root for each tree
        /    \                    feature = [column of node 0, column of node 1]
    leaf 0  leaf 1                values  = (leaves, V)    added to margins output[tree], output[tree] + 1, ...

**Rows** are bits, one for each node, set where the row goes left: node k is bit ``k & 63`` of word ``k >> 6``. Kernels
know neither cells nor thresholds.

**Walks** have p - 1 proper prefixes, at steps t = 1, ..., p - 1. Column j of example i enters at step
``entry_position[i, j]``: from this step on its cell is that of the example, before that of the background row. Kernels
write how margins *change* at each step and form running sums over steps at the end.
"""
