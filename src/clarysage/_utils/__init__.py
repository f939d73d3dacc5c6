"""Small tools without a statistical idea in them: threads, atomic files, names that are safe to show, lazy values."""
