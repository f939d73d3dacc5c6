"""Where draws are made: random streams, executors, observers."""
