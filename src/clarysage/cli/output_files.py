"""Files that a run writes: checked before the long computation, written whole after it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clarysage.errors import InputError

PIXELS_PER_INCH = 150


def check_writable(option: str, path: Path, inputs: list[Path]) -> None:
    """Raise unless the file can be made where it is asked for without destroying an input."""
    if not path.parent.is_dir():
        raise InputError(
            option, got=f"{path}, in a folder that does not exist", wanted="a file in a folder that exists"
        )
    if path.is_dir():
        raise InputError(option, got=f"{path}, which is a folder", wanted="the name of a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(option, got=f"{path}, which may not be written", wanted="a file that may be written")
    if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
        raise InputError(option, got=f"{path}, which is an input of the run", wanted="another file")


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
