"""Importance measures: functions that return an Explanation."""
