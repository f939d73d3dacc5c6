"""What becomes of a result: files, a table or JSON on stdout, an exit code."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from clarysage._utils.atomic import write_whole
from clarysage.cli.console import FLAGGED, NOT_CONVERGED, Say, clean_stdout, print_data
from clarysage.cli.files import check_writable
from clarysage.cli.messages import note_in_shell
from clarysage.errors import InputError

if TYPE_CHECKING:
    from clarysage.results.result import Result
    from clarysage.results.summary import Summary

STDOUT = Path("-")
PIXELS_PER_INCH = 150


@dataclass(frozen=True)
class Delivery:
    """Where a result goes: JSON, pictures and a page into files, if asked for, and a table or JSON to stdout.

    ``pictures`` are files by the options that ask for them.
    """

    json_file: Path | None
    pictures: Mapping[str, Path | None]
    html: Path | None = None

    def check(self, inputs: Sequence[Path | None], kept: Mapping[str, Path | None] | None = None) -> None:
        """Raise, before the long computation, if a file could not be written after it; inputs that there are stay.

        ``kept`` are files, by their options, that are written on the way, and are not to be overwritten either.
        """
        given = [path for path in inputs if path is not None]
        drawn = {option: path for option, path in self.pictures.items() if path is not None}
        texts = {"--json": self.json_file, "--html": self.html}
        files = {**{option: path for option, path in texts.items() if path is not None}, **drawn}
        for option, path in files.items():
            if path != STDOUT:
                check_writable(option, path, given)
            elif option == "--html":
                raise InputError(option, got="-", wanted="the name of a file, since stdout is for the table or JSON")
        for option, path in drawn.items():
            check_picture(option, path)
        on_the_way = {option: path for option, path in (kept or {}).items() if path is not None}
        for (first, one), (second, other) in combinations({**on_the_way, **files}.items(), 2):
            if one.resolve() == other.resolve():
                raise InputError(second, got=f"{other}, as for {first}", wanted="a file of its own")

    def deliver(self, result: Result, say: Say, *, summary: Summary | None = None, rows: bool = False) -> None:
        """Write the files, print the result even if that fails, and exit with 4 if something is flagged, else with 3
        if something did not converge.

        ``summary`` is what to say of the result, in place of the usual one; ``rows`` writes what single rows contribute
        into the JSON, too.
        """
        from clarysage.render import text
        from clarysage.results.files import as_json, as_plain

        summary = result.summary() if summary is None else summary
        data = as_json(as_plain(result, rows=rows))
        try:
            self._write(result, summary, data, say)
        finally:
            if self.json_file == STDOUT:
                print_data(data)
            else:
                print(text(replace(summary, notes=tuple(map(note_in_shell, summary.notes)))), flush=True)
        for sentence in summary.unfinished:
            say(sentence)
        if summary.flagged:
            say(f"flagged: {', '.join(summary.flagged)}.")
        if summary.flagged or summary.unfinished:
            raise typer.Exit(FLAGGED if summary.flagged else NOT_CONVERGED)

    def _write(self, result: Result, summary: Summary, data: str, say: Say) -> None:
        if self.json_file is not None and self.json_file != STDOUT:
            write_whole(f"{data}\n", self.json_file)
            say(f"wrote {self.json_file}")
        for option, path in self.pictures.items():
            if path is not None:
                with clean_stdout():
                    path.write_bytes(picture(summary.pictures[option.removeprefix("--")], path.suffix))
                say(f"wrote {path}")
        if self.html is not None:
            result.report(self.html, about=summary.about or None)
            say(f"wrote {self.html}")


def about_known(result: Result, about: str | None, say: Say) -> str | None:
    """What intervals are to be about, if they can be; else the default of the result, which is said."""
    summary = result.summary()
    if about is None or about in summary.choices:
        return about
    if not summary.choices:
        raise InputError("--about", got=about, wanted=f"nothing for a file of {type(result).__name__}")
    say(f"--about {about}: not known for this method or removal; intervals are about the {summary.about}.")
    return summary.about


def has_rows(result: Result, rows: bool, say: Say) -> bool:
    """Whether to write what single rows contribute: if it is asked for and known; else that is said."""
    from clarysage.results.files import has_on_request

    if rows and not has_on_request(result):
        say("--rows: what single rows contribute is not known for this method or measure, and is not written.")
        return False
    return rows


def check_picture(option: str, path: Path) -> None:
    """Raise unless matplotlib can write a picture with the file's suffix."""
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix.lower().lstrip(".") not in kinds:
        wanted = f"a name that ends in .{', .'.join(kinds)}"
        raise InputError(option, got=f"{path.name!r}", wanted=wanted, hint=str(path.with_suffix(".png")))


def picture(draw: Callable[[], Any], suffix: str) -> bytes:
    """What is drawn, on one axis or several, as the bytes of a file with this suffix."""
    import matplotlib
    import numpy as np

    matplotlib.use("Agg")  # no window, with or without a screen
    figure = np.ravel(draw())[0].figure
    file = io.BytesIO()
    figure.savefig(file, format=suffix.lower().lstrip("."), dpi=PIXELS_PER_INCH, bbox_inches="tight")
    matplotlib.pyplot.close(figure)
    return file.getvalue()
