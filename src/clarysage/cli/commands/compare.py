"""``clarysage compare A.json B.json``: differences of the features' values between explanations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from clarysage.cli.checks import explanation_in
from clarysage.cli.config import or_configured
from clarysage.cli.console import OptionError, clean_stdout, handled_errors, note_printer
from clarysage.cli.options import ConfiguredOptions, DifferenceOptions, FileOptions, with_option_groups
from clarysage.cli.output import OutputFiles

# arguments that must be equal in all files, but are not options of this command
ARGUMENT_NAMES = dict.fromkeys(("loss", "measure", "groups"), "FILE")


@with_option_groups
def compare(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            callback=or_configured,
            help='Two or more explanations, written by "clarysage explain --json"; the others are compared with the '
            "first.",
        ),
    ] = None,
    *,
    differences: DifferenceOptions,
    names: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            show_default=False,
            help="Names of the explanations in the output. Default: the names of the files.",
        ),
    ] = None,
    written: FileOptions,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", show_default=False, help="Plot bars side by side to this .png, .svg or .pdf file."
        ),
    ] = None,
    console: ConfiguredOptions,
) -> None:
    """Compare explanations: which features contribute more or less, and which differences are significant.

    The explanations must have the same features, measure and loss: for example, two models on the same rows, or one
    model on old and new rows. Use the same --background for all. Explanations of the same rows
    are compared row by row, which is usually far more precise; the table says whether they were.

    Prints a table, or JSON with --json -; notes go to stderr. Exit codes: 0 success, with or without differences,
    1 error, 2 wrong usage, 3 an explanation has not converged (the result is printed and written, too).
    """
    say, given = note_printer(console.quiet), files or []
    output_files = OutputFiles(written.json_file, {"--plot": plot}, written.html)
    with handled_errors(say, debug=console.debug, argument_names=ARGUMENT_NAMES):
        with clean_stdout():
            import clarysage as cs

            options = {"names": _names(given, names), **differences.settings}
            output_files.check([*given, console.config])
            comparison = cs.compare([explanation_in(path) for path in given], **options)
        output_files.write_and_print(comparison, say, top=written.top)


def distinct_names(paths: Sequence[Path]) -> list[str]:
    """Returns distinct names of files: without the suffix, with as many of their folders as needed.

    Examples
    --------
    >>> distinct_names([Path("runs/may.json"), Path("runs/june.json")])
    ['may', 'june']
    >>> distinct_names([Path("may/sage.json"), Path("june/sage.json"), Path("may/sage.json")])
    ['may/sage', 'june/sage', 'may/sage (3)']
    """
    parts = [(path.parent / path.stem).parts for path in paths]
    count = len(set(parts))
    depth = next(k for k in range(1, 2 + max(map(len, parts))) if len({path[-k:] for path in parts}) == count)
    names = ["/".join(path[-depth:]) for path in parts]
    return [f"{name} ({i + 1})" if name in names[:i] else name for i, name in enumerate(names)]


def _names(files: Sequence[Path], names: str | None) -> list[str]:
    if len(files) < 2:
        raise OptionError("FILE", got=f"{len(files)} file{'s' * (len(files) != 1)}", wanted="two or more to compare")
    if names is None:
        return distinct_names(files)
    given_names = [name.strip() for name in names.split(",")]
    if len(given_names) != len(files) or len(set(given_names)) < len(given_names) or not all(given_names):
        example = ",".join(distinct_names(files))
        raise OptionError("--names", got=repr(names), wanted=f"{len(files)} distinct names", hint=f"--names {example}")
    return given_names
