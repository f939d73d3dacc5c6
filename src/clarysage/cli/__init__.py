"""The command ``clarysage`` with its subcommands, such as ``clarysage explain``.

Data goes to stdout; progress, notes and errors go to stderr, one line each. Exit codes: 0 success, 1 error, 2 wrong
usage, 3 not converged, 4 something flagged. With exit codes 3 and 4 the result is printed and written, too.
"""

from __future__ import annotations


def main() -> None:
    """Runs the ``clarysage`` command (entry point of the package)."""
    from clarysage.cli.app import app

    app(prog_name="clarysage")


__all__ = ["main"]
