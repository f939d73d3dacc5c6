"""Tools of those who build, check and publish the library: ``python -m tools.release`` and the like."""
