"""Small tools without a statistical idea: threads, atomic files, display of names, lazy values, caches."""
