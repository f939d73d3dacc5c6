"""A model in use: what its features contribute on current rows against what they did on reference rows."""

from clarysage.monitoring.monitor import monitor

__all__ = ["monitor"]
