"""``clarysage compare A.json B.json``: what features contribute here less what they contribute there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from clarysage.cli.config import or_configured
from clarysage.cli.console import OptionError, clean_stdout, guarded, speaker
from clarysage.cli.files import explanation_in
from clarysage.cli.options import ConfiguredOptions, DifferenceOptions, FileOptions, with_groups
from clarysage.cli.output import Delivery

# what must be alike in all files, and is no option of this command
CALLED_HERE = dict.fromkeys(("loss", "measure", "groups"), "FILE")


@with_groups
def compare(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            show_default=False,
            callback=or_configured,
            help="Explanations that --json of explain wrote, two or more; all others are compared with the first.",
        ),
    ] = None,
    *,
    differences: DifferenceOptions,
    names: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            show_default=False,
            help="What the explanations are called. Default: the names of the files.",
        ),
    ] = None,
    written: FileOptions,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default=False, help="Draw bars side by side into a .png, .svg or .pdf file."),
    ] = None,
    console: ConfiguredOptions,
) -> None:
    """Compare explanations: which features contribute more or less than before, and which differences are no accident.

    Explanations are of the same features, by the same measure and loss: of two models on the same rows, or of one model
    on rows of then and now; explain them with the same --background. Files of the same rows that "explain --json FILE
    --rows" wrote are compared row by row, which is far more precise as a rule; the table says whether they were.

    Prints a table, or JSON with --json -; notes go to stderr. Exit codes: 0 ok, whether anything changed or not,
    1 error, 2 usage, 3 some explanation not converged, with the result printed and written all the same.
    """
    say, given = speaker(console.quiet), files or []
    delivery = Delivery(written.json_file, {"--plot": plot}, written.html)
    with guarded(say, debug=console.debug, called=CALLED_HERE):
        with clean_stdout():
            import clarysage as cs

            called, settings = _names(given, names), differences.settings
            delivery.check([*given, console.config])
            found = cs.compare([explanation_in(path) for path in given], names=called, **settings)
        delivery.deliver(found, say)


def distinct(paths: Sequence[Path]) -> list[str]:
    """What files are called: their names without the suffix, with as many of their folders as tell them apart.

    Examples
    --------
    >>> distinct([Path("runs/may.json"), Path("runs/june.json")])
    ['may', 'june']
    >>> distinct([Path("may/sage.json"), Path("june/sage.json"), Path("may/sage.json")])
    ['may/sage', 'june/sage', 'may/sage (3)']
    """
    parts = [(path.parent / path.stem).parts for path in paths]
    count = len(set(parts))
    depth = next(k for k in range(1, 2 + max(map(len, parts))) if len({one[-k:] for one in parts}) == count)
    names = ["/".join(one[-depth:]) for one in parts]
    return [f"{name} ({i + 1})" if name in names[:i] else name for i, name in enumerate(names)]


def _names(files: Sequence[Path], names: str | None) -> list[str]:
    if len(files) < 2:
        raise OptionError("FILE", got=f"{len(files)} file{'s' * (len(files) != 1)}", wanted="two or more to compare")
    if names is None:
        return distinct(files)
    called = [name.strip() for name in names.split(",")]
    if len(called) != len(files) or len(set(called)) < len(called) or not all(called):
        example = ",".join(distinct(files))
        raise OptionError("--names", got=repr(names), wanted=f"{len(files)} distinct names", hint=f"--names {example}")
    return called
