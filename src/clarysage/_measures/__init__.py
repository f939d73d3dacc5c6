"""Importance measures: functions that return an Explanation; ``table`` lists them all."""
