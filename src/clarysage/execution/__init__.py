"""Execution: random streams, the scheduler and its backends, observers of a run, and the file of a checkpoint."""
