"""Importance measures: functions that return an Explanation, one file each; ``table`` lists them all."""
