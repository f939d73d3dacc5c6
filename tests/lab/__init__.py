"""Tools for statistical and mutation tests: problems with known values, repeated runs, coverage and planted faults.

Tests, benchmarks and experiments import it as ``tests.lab`` from a checkout. It is not part of the installed package.
"""
