"""Statistical inference about estimates: variances, intervals, tests and stopping rules."""
