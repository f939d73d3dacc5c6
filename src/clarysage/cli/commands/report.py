"""``clarysage report FILE``: a page of a result that was saved as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clarysage._utils.atomic import write_whole
from clarysage.cli.completion import names
from clarysage.cli.console import Say, clean_stdout, guarded, print_data, speaker
from clarysage.cli.files import check_readable, check_writable
from clarysage.cli.option_checks import check_about
from clarysage.cli.options import ConsoleOptions, with_groups
from clarysage.cli.output import STDOUT, about_known


@with_groups
def report(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", show_default=False, help="What --json wrote, or save of a result."),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help='The page to write; "-" prints it. Default: FILE with the ending .html.',
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", show_default=False, help="Above the page. Default: what was found."),
    ] = None,
    about: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            autocompletion=names("about"),
            help='What intervals of an explanation are about when the page is opened: "data", "rows" or "population". '
            "Default: the widest that is known.",
        ),
    ] = None,
    console: ConsoleOptions,
) -> None:
    """Write the report of a result: one page with chart, table and warnings, to open in a browser.

    The page needs no other file and no network, and holds no rows of data.
    """
    say = speaker(console.quiet)
    with guarded(say, debug=console.debug):
        with clean_stdout():
            if about is not None:
                check_about(about)
            check_readable("FILE", file)
            target = file.with_suffix(".html") if output is None else output
            if target != STDOUT:
                check_writable("--output", target, [file])
            page = _page(file, say, title, about)
        if target == STDOUT:
            print_data(page)
            return
        write_whole(page, target)
        say(f"wrote {target}")


def _page(file: Path, say: Say, title: str | None, about: str | None) -> str:
    import clarysage as cs
    from clarysage.render import html

    result = cs.load(file)
    return html(result, title=title, about=about_known(result, about, say))
