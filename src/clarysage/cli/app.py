"""The Typer application: all commands with their examples, and the handling of wrong command lines."""

from __future__ import annotations

import re
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from clarysage.cli.commands.compare import compare
from clarysage.cli.commands.demo import demo
from clarysage.cli.commands.doctor import doctor
from clarysage.cli.commands.explain import explain
from clarysage.cli.commands.measures import measures
from clarysage.cli.commands.merge import merge
from clarysage.cli.commands.monitor import monitor
from clarysage.cli.commands.report import report
from clarysage.cli.console import FAILED, USAGE, print_error
from clarysage.cli.messages import counterpart_flag
from clarysage.errors import InputError, closest

EXAMPLES: dict[str, tuple[str, ...]] = {
    "clarysage": (
        "clarysage demo",
        "clarysage explain model.skops test.csv --target price --background train.csv --html report.html",
        "clarysage compare before.json after.json",
        "clarysage monitor model.skops test.csv june.csv --target price",
    ),
    "explain": (
        "clarysage explain model.skops test.csv --target price --background train.csv",
        "clarysage explain model.json test.parquet --target bought --loss cross-entropy --html report.html",
        "clarysage explain mymodule:predict test.csv --target y --drop id --json sage.json",
        "clarysage explain model.skops reviews.parquet --target liked --after tfidfvectorizer --top 10",
        "clarysage explain --config explain.toml --seed 1",
    ),
    "measures": (
        "clarysage measures --list",
        "clarysage measures model.skops test.csv --target price --plot measures.png --html measures.html",
        'clarysage measures model.skops test.csv --target price --only "sage,permutation importance"',
    ),
    "compare": (
        "clarysage compare before.json after.json",
        "clarysage compare old-model.json new-model.json --names old,new --html comparison.html",
        "clarysage compare may.json june.json july.json --unpaired --adjust benjamini-hochberg --json -",
    ),
    "merge": (
        "clarysage merge seed1.json seed2.json seed3.json --json merged.json",
        "clarysage merge runs/1.json runs/2.json --html merged.html --plot merged.png --tests",
    ),
    "monitor": (
        "clarysage monitor model.skops test.csv june.csv --target price --html monitoring.html",
        "clarysage monitor model.skops test.csv live.csv --target price --by date --every week --json monitoring.json",
        "clarysage monitor model.skops test.csv live.csv --background train.csv --quiet",
    ),
    "report": (
        "clarysage report sage.json",
        'clarysage report sage.json -o report.html --title "House prices, May"',
    ),
    "demo": ("clarysage demo", "clarysage demo --folder shown --seed 7"),
    "doctor": ("clarysage doctor", "clarysage doctor --json doctor.json"),
}


def examples(command: str) -> str:
    """Returns the examples of a command, for the end of its help."""
    lines = [f"  {line}" for line in EXAMPLES[command]]
    return "\n".join(["\b", "Examples:", *lines])  # \b: no rewrapping of lines


class Commands(TyperGroup):
    """A group of commands whose usage errors are one line with exit code 2."""

    def main(self, *args: Any, **options: Any) -> Any:
        _make_printable()
        try:
            code = super().main(*args, **{**options, "standalone_mode": False})
        except InputError as error:  # in a configuration file, which is read with the command line
            print_error(str(error))
            code = USAGE
        except OSError as error:  # such as a full disk while help is printed; commands catch their own errors
            print_error(f"stdout cannot be written: {error.strerror or error}")
            code = FAILED
        except Exception as error:
            message = getattr(error, "format_message", None)
            if message is None:  # not an error of the command line
                raise
            _refuse(error, message())
            code = USAGE
        sys.exit(code if isinstance(code, int) else 0)


class Command(TyperCommand):
    """A command whose help has no Python types, which some releases of typer add to arguments."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for kind, title in (("argument", "Arguments"), ("option", "Options")):
            parameters = [parameter for parameter in self.get_params(ctx) if parameter.param_type_name == kind]
            records = [parameter.get_help_record(ctx) for parameter in parameters]
            rows = [(re.sub(r" <.*>$", "", record[0]), record[1]) for record in records if record is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


EXIT_CODES = "Exit codes: 0 success, 1 error, 2 wrong usage, 3 not converged, 4 something flagged (monitor)."
SUMMARY = "Explains which features give a model its predictive power, by SAGE values with confidence intervals."

app = typer.Typer(
    cls=Commands,
    name="clarysage",
    help=SUMMARY,
    epilog=f"{examples('clarysage')}\n\n{EXIT_CODES}",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
for command, summary in (
    (explain, "Compute SAGE values of a model on a table of data."),
    (measures, "Compute several importance measures and compare them."),
    (compare, "Show how saved explanations differ."),
    (merge, "Merge saved explanations that differ only in their seeds."),
    (monitor, "Find features whose contribution changed on new data."),
    (report, "Write an HTML report of a saved result."),
    (demo, "Try it: fit a model on diabetes data and explain it."),
    (doctor, "Check the installation."),
):
    app.command(cls=Command, short_help=summary, epilog=examples(command.__name__))(command)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        from clarysage import __version__

        print(f"clarysage {__version__}")
        raise typer.Exit


@app.callback()
def _commands(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass  # the help of the application is in SUMMARY


def _refuse(error: Exception, message: str) -> None:
    """Prints a usage error as one line on stderr."""
    if type(error).__name__ == "NoArgsIsHelpError":  # the message is the help text
        print(message, file=sys.stderr)
        return
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoSuchOption":  # the text must not depend on the release of typer
        option = getattr(error, "option_name", "")
        available = {flag for parameter in context.command.params for flag in parameter.opts} if context else set()
        near = counterpart_flag(option, available) or " or ".join(
            closest(option, sorted(getattr(error, "possibilities", None) or ()))
        )
        message = f"No such option: {option}{f' (did you mean {near}?)' if near else ''}"
    where = _config_of(error, context)
    end = "" if message.endswith("?") and not where else "."
    print_error(f"{message.rstrip('.')}{where}{end} Try {context.command_path if context else 'clarysage'} --help.")


def _config_of(error: Exception, context: Any) -> str:
    """Returns " in FILE" if a wrong value comes from a configuration file, else an empty text."""
    name = getattr(getattr(error, "param", None), "name", None)
    source = None if context is None or name is None else context.get_parameter_source(name)
    return f" in {context.params.get('config')}" if getattr(source, "name", "") == "DEFAULT_MAP" else ""


def _make_printable() -> None:
    """Makes stdout and stderr replace characters that their encoding lacks by question marks, instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
