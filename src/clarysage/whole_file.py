"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from clarysage.errors import InputError


def write_whole(text: str, path: str | Path) -> None:
    """Write text to a draft beside the file, which then takes its place; links stay, and lead to the new file.

    What is no file, such as a pipe or a device, is written to as it is.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        path.write_text(text, encoding="utf-8", newline="\n")  # a file in its place would be the end of /dev/null
        return
    file = path.resolve()
    if not path.name or file.is_dir() or not file.parent.is_dir():
        raise InputError("path", got=f"{path}", wanted="a file in a folder that exists")
    draft = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)
