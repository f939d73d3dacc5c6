"""The laboratory: problems with known answers, repeated runs, measured coverage and planted faults.

Tests, benchmarks and experiments import it as ``tests.lab`` from a checkout. It is not part of the installed package.
"""
