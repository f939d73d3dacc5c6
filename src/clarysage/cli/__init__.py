"""The command line: ``clarysage demo``, ``clarysage explain`` and ``clarysage measures MODEL DATA --target y``.

Data goes to stdout; progress, notes and errors go to stderr, one line each. Exit codes: 0 ok, 1 error, 2 usage,
3 not converged, with the result printed and written all the same.
"""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``clarysage`` command."""
    from clarysage.cli.app import app

    app(prog_name="clarysage")


__all__ = ["main"]
