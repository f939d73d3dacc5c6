"""Engines of the restricted model f_S: means over hybrid rows, means over weighted rows, and learned predictions."""
