"""Output of a result: files, a table or JSON on stdout, and an exit code."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from clarysage._utils.atomic import write_atomically
from clarysage._utils.display import SHOWN
from clarysage.cli.checks import check_writable
from clarysage.cli.console import FLAGGED, NOT_CONVERGED, Say, clean_stdout, print_data, terminal_width
from clarysage.cli.messages import in_shell, note_in_shell
from clarysage.errors import InputError

if TYPE_CHECKING:
    from clarysage.results.result import Result
    from clarysage.results.summary import Summary

STDOUT = Path("-")
PIXELS_PER_INCH = 150


@dataclass(frozen=True)
class OutputFiles:
    """The output files of a result; its table, or its JSON, is printed on stdout.

    ``pictures`` maps the options for plots to their files.
    """

    json_file: Path | None
    pictures: Mapping[str, Path | None]
    html: Path | None = None

    def check(self, inputs: Sequence[Path | None], during: Mapping[str, Path | None] | None = None) -> None:
        """Raises an error, before the long computation, if a file cannot be written or would overwrite an input.

        ``during`` maps options to files that are written during the run, which must not be overwritten, either.
        """
        given = [path for path in inputs if path is not None]
        drawn = {option: path for option, path in self.pictures.items() if path is not None}
        texts = {"--json": self.json_file, "--html": self.html}
        files = {**{option: path for option, path in texts.items() if path is not None}, **drawn}
        for option, path in files.items():
            if path != STDOUT:
                check_writable(option, path, given)
            elif option == "--html":
                raise InputError(option, got="-", wanted="a file name, since stdout is for the table or JSON")
        for option, path in drawn.items():
            check_picture(option, path)
        during_run = {option: path for option, path in (during or {}).items() if path is not None}
        for (first, path), (second, other) in combinations({**during_run, **files}.items(), 2):
            if path.resolve() == other.resolve():
                raise InputError(second, got=f"{other}, as for {first}", wanted="another file")

    def with_suffix(self, suffix: str) -> OutputFiles:
        """Returns the files of one of several results: the name of each gets a suffix."""

        def renamed(path: Path | None) -> Path | None:
            return None if path is None else path.with_name(f"{path.stem}-{suffix}{path.suffix}")

        pictures = {option: renamed(path) for option, path in self.pictures.items()}
        return OutputFiles(renamed(self.json_file), pictures, renamed(self.html))

    def write_and_print(
        self,
        result: Result,
        say: Say,
        *,
        top: int | None = None,
        summary: Summary | None = None,
        rows: bool = False,
    ) -> None:
        """Writes the files and prints the result, even if writing fails.

        The exit code is 4 if something is flagged, else 3 if something has not converged. Table and plots show the
        ``top`` largest features, by default as many as they usually do. ``summary`` replaces the usual summary of the
        result; ``rows`` includes the contributions of single rows in the JSON.
        """
        from clarysage.render import text
        from clarysage.results.files import as_json, as_plain

        summary = result.summary() if summary is None else summary
        data = as_json(as_plain(result, rows=rows))
        try:
            self._write(result, summary, data, say, top)
        finally:
            if self.json_file == STDOUT:
                print_data(data)
            else:
                width = summary.width or terminal_width(sys.stdout)
                in_words = replace(summary, notes=tuple(map(note_in_shell, summary.notes)), width=width)
                print(text(in_words, in_shell, top=top or SHOWN), flush=True)
        for sentence in summary.unfinished:
            say(sentence)
        if summary.flagged:
            say(f"flagged: {', '.join(summary.flagged)}.")
        if summary.flagged or summary.unfinished:
            raise typer.Exit(FLAGGED if summary.flagged else NOT_CONVERGED)

    def _write(self, result: Result, summary: Summary, data: str, say: Say, top: int | None) -> None:
        if self.json_file is not None and self.json_file != STDOUT:
            write_atomically(f"{data}\n", self.json_file)
            say(f"wrote {self.json_file}")
        for option, path in self.pictures.items():
            if path is not None:
                with clean_stdout():
                    draw = summary.pictures[option.removeprefix("--")]
                    path.write_bytes(picture(draw if top is None else partial(draw, top=top), path.suffix))
                say(f"wrote {path}")
        if self.html is not None:
            result.report(self.html, about=summary.about or None)
            say(f"wrote {self.html}")


def available_about(result: Result, about: str | None, say: Say) -> str | None:
    """Returns the requested source of uncertainty if the result has it; else the default, with a note."""
    summary = result.summary()
    if about is None or about in summary.choices:
        return about
    if not summary.choices:
        raise InputError("--about", got=about, wanted=f"no value for a result of type {type(result).__name__}")
    say(f"--about {about}: not known for this method or removal; intervals are about the {summary.about}.")
    return summary.about


def has_rows(result: Result, rows: bool | None, json_file: Path | None, say: Say) -> bool:
    """Tells whether to write contributions of single rows: if requested and known, by default also to small files.

    A note says where they are requested and not known, or left out of a file because there are too many.
    """
    from clarysage.results.files import numbers_of_rows, rows_by_default

    if rows is None and json_file not in (None, STDOUT):
        rows, note = rows_by_default(result)
        if note is not None:
            say(note)
    if rows and not numbers_of_rows(result):
        say("--rows: contributions of single rows are not known for this method or measure, and are not written.")
        return False
    return bool(rows)


def check_picture(option: str, path: Path) -> None:
    """Raises an error unless matplotlib can write files with the suffix."""
    from matplotlib.backend_bases import FigureCanvasBase

    formats = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix.lower().lstrip(".") not in formats:
        endings = f"a name that ends in .{', .'.join(formats)}"
        raise InputError(option, got=f"{path.name!r}", wanted=endings, hint=str(path.with_suffix(".png")))


def picture(draw: Callable[[], Any], suffix: str) -> bytes:
    """Returns a figure of one or several axes as the bytes of a file with this suffix."""
    import matplotlib
    import numpy as np

    matplotlib.use("Agg")  # opens no window
    figure = np.ravel(draw())[0].figure
    file = io.BytesIO()
    figure.savefig(file, format=suffix.lower().lstrip("."), dpi=PIXELS_PER_INCH, bbox_inches="tight")
    matplotlib.pyplot.close(figure)
    return file.getvalue()
