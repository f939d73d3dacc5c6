"""The commands, and the one place where a wrong command line ends."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from clarysage.cli.demo import demo
from clarysage.cli.explain import explain
from clarysage.cli.measures import measures
from clarysage.cli.report import report
from clarysage.cli.speech import USAGE, complain


class Commands(TyperGroup):
    """A group whose usage errors are one line and the exit code 2."""

    def main(self, *args: Any, **options: Any) -> Any:
        _make_printable()
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except Exception as error:
            message = getattr(error, "format_message", None)
            if message is None:  # no error of the command line, and the commands catch their own
                raise
            _refuse(error, message())
            code = USAGE
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=Commands,
    name="clarysage",
    help="Which features bring a model its predictive power: SAGE values with honest uncertainty.",
    epilog="Exit codes: 0 ok, 1 error, 2 usage, 3 not converged.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
app.command(short_help="Explain a model in a file by the rows in another.")(explain)
app.command(short_help="Compare measures of a model in a file, side by side.")(measures)
app.command(short_help="Write the page of a saved explanation, to open in a browser.")(report)
app.command(short_help="Explain a model of diabetes, made on the spot.")(demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        from clarysage import __version__

        print(f"clarysage {__version__}")
        raise typer.Exit


@app.callback()
def _commands(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Which features bring a model its predictive power: SAGE values with honest uncertainty."""


def _refuse(error: Exception, message: str) -> None:
    if type(error).__name__ == "NoArgsIsHelpError":  # the message is the whole help
        print(message, file=sys.stderr)
        return
    context = getattr(error, "ctx", None)
    complain(f"{message.rstrip('.')}. Try {context.command_path if context else 'clarysage'} --help.")


def _make_printable() -> None:
    """Bars and names that the terminal's encoding does not have come out as question marks, not as an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
