"""The command ``clarysage``: ``demo, explain, measures, compare, merge, monitor, report, doctor``.

Data goes to stdout; progress, notes and errors go to stderr, one line each. Exit codes: 0 ok, 1 error, 2 usage,
3 not converged, 4 something flagged; after 3 and 4 the result is printed and written all the same.
"""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``clarysage`` command."""
    from clarysage.cli.app import app

    app(prog_name="clarysage")


__all__ = ["main"]
