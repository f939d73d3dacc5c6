"""What is done for every example, tree and background row, compiled by numba. Imported where it is called.

Kernels see decisions, topology and values of leaves alone. Internal nodes are numbered over all trees; a child that is
a leaf is written ~leaf. A row's decisions are bits, one a node, set where the row goes left. Walks have proper prefixes
t = 1, ..., p - 1; column j of an example arrives at step ``arrivals[j]``, so that it is known at t >= arrivals[j].
"""
