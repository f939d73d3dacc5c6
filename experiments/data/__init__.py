"""The tables of the paper's experiments: ``load("bike")`` reads or downloads one (experiments/README.md)."""

from experiments.data.files import MissingDataError
from experiments.data.tables import PaperTable, load

__all__ = ["MissingDataError", "PaperTable", "load"]
