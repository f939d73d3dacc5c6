"""The paper's experiments, one folder each: ``python -m experiments table2 --scale small``."""
