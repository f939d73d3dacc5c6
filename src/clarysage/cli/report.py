"""``clarysage report FILE``: a page of an explanation that was saved as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clarysage.cli import options
from clarysage.cli.delivery import STDOUT
from clarysage.cli.option_checks import check_about
from clarysage.cli.output_files import check_writable
from clarysage.cli.presence import check_readable
from clarysage.cli.results import of_explanation
from clarysage.cli.speech import clean_stdout, guarded, speaker
from clarysage.errors import InputError
from clarysage.whole_file import write_whole


def report(
    file: Annotated[Path, typer.Argument(
        metavar="FILE", show_default=False, help="What --json of explain wrote, or save of an explanation.")],
    output: Annotated[Path | None, typer.Option(
        "--output", "-o", metavar="FILE", show_default=False,
        help='The page to write; "-" prints it. Default: FILE with the ending .html.')] = None,
    title: Annotated[str | None, typer.Option(
        metavar="TEXT", show_default=False, help="Above the page. Default: the measure and the model.")] = None,
    about: Annotated[str | None, typer.Option(
        metavar="NAME", show_default=False,
        help='What intervals are about when the page is opened: "data", "rows" or "population". Default: the widest '
        "that is known.")] = None,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:  # fmt: skip
    """Write the report of an explanation: one page with chart, table and warnings, to open in a browser.

    The page needs no other file and no network, and holds no rows of data.

    Example: clarysage report sage.json -o report.html
    """
    say = speaker(quiet)
    target = file.with_suffix(".html") if output is None else output
    with guarded(say, debug=debug):
        with clean_stdout():
            if about is not None:
                check_about(about)
            check_readable("FILE", file)
            if target != STDOUT:
                check_writable("--output", target, [file])
            page = of_explanation(_explanation(file), say, about=about, title=title).page
        assert page is not None
        if target == STDOUT:
            print(page())
            return
        write_whole(page(), target)
        say(f"wrote {target}")


def _explanation(file: Path) -> Any:
    import clarysage as cs

    found = cs.load(file)
    if not isinstance(found, cs.Explanation):
        raise InputError("FILE", got=f"{file}, which holds {type(found).__name__}", wanted="an explanation")
    return found
