"""What becomes of a result: files, a table or JSON on stdout, an exit code."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import typer

from clarysage.cli.console import FLAGGED, NOT_CONVERGED, Say, clean_stdout, print_data
from clarysage.cli.files import check_writable
from clarysage.cli.results import Result
from clarysage.errors import InputError
from clarysage.whole_file import write_whole

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

    def deliver(self, result: Result, say: Say) -> None:
        """Write the files, print the result even if that fails, and exit with 4 if something is flagged, else with 3
        if something did not converge."""
        data = json.dumps(result.data(), allow_nan=False, indent=1, ensure_ascii=False)
        try:
            self._write(result, data, say)
        finally:
            if self.json_file == STDOUT:
                print_data(data)
            else:
                print(result.table(), flush=True)
        for text in result.unfinished:
            say(text)
        if result.flagged:
            say(f"flagged: {', '.join(result.flagged)}.")
        if result.flagged or result.unfinished:
            raise typer.Exit(FLAGGED if result.flagged else NOT_CONVERGED)

    def _write(self, result: Result, data: str, say: Say) -> None:
        if self.json_file is not None and self.json_file != STDOUT:
            write_whole(f"{data}\n", self.json_file)
            say(f"wrote {self.json_file}")
        for option, path in self.pictures.items():
            if path is not None:
                with clean_stdout():
                    path.write_bytes(picture(result.pictures[option], path.suffix))
                say(f"wrote {path}")
        if self.html is not None and result.page is not None:
            write_whole(result.page(), self.html)
            say(f"wrote {self.html}")


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
