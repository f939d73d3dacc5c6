"""Data drift: which columns of current rows are distributed differently from the reference's, and what changed."""

from clarysage.drift.detection import shifts, shifts_of_each

__all__ = ["shifts", "shifts_of_each"]
