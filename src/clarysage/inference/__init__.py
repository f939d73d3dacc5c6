"""What an estimate is worth: moments that add, intervals, rules for stopping."""
