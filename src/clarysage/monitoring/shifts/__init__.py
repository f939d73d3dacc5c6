"""Shifts: how columns of current rows are distributed otherwise than the reference's, and what became of them."""

from clarysage.monitoring.shifts.columns import shifts, shifts_of_each

__all__ = ["shifts", "shifts_of_each"]
