"""Model monitoring: compares current rows with reference rows."""

from clarysage.monitoring.monitor import monitor

__all__ = ["monitor"]
