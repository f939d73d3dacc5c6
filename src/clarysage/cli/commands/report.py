"""``clarysage report FILE``: writes an HTML report of a saved result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clarysage._utils.atomic import write_atomically
from clarysage.cli.checks import check_about, check_readable, check_writable
from clarysage.cli.completion import completion_of
from clarysage.cli.console import Say, clean_stdout, handled_errors, note_printer, print_data
from clarysage.cli.options import ConsoleOptions, with_option_groups
from clarysage.cli.output import STDOUT, available_about


@with_option_groups
def report(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", show_default=False, help="Result file, written by --json or by save in Python."),
    ],
    *,
    html_file: Annotated[
        Path | None,
        typer.Option(
            "--html",
            "-o",
            metavar="FILE",
            show_default=False,
            help='HTML file to write; "-" prints it. Default: FILE with the ending .html.',
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", show_default=False, help="Title of the page. Default: what was computed."),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            autocompletion=completion_of("about"),
            help='Source of uncertainty in the intervals that the page shows first: "data", "rows" or "population" '
            '(see "clarysage explain --help"). Default: the widest available.',
        ),
    ] = None,
    console: ConsoleOptions,
) -> None:
    """Write a report of a saved result: an HTML page with chart, table and warnings.

    The page needs no other files and no network, and contains no rows of the data.
    """
    say = note_printer(console.quiet)
    with handled_errors(say, debug=console.debug):
        with clean_stdout():
            if about is not None:
                check_about(about)
            check_readable("FILE", file)
            path = file.with_suffix(".html") if html_file is None else html_file
            if path != STDOUT:
                check_writable("--html", path, [file])
            page = _page(file, say, title, about)
        if path == STDOUT:
            print_data(page)
            return
        write_atomically(page, path)
        say(f"wrote {path}")


def _page(file: Path, say: Say, title: str | None, about: str | None) -> str:
    import clarysage as cs
    from clarysage.render import html

    result = cs.load(file)
    return html(result, title=title, about=available_about(result, about, say))
