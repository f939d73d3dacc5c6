"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from clarysage.errors import InputError


def write_whole(text: str, path: str | Path) -> None:
    """Write text to a draft beside the file, which then takes its place."""
    path = Path(path)
    if not path.name or path.is_dir() or not path.parent.is_dir():
        raise InputError("path", got=f"{path}", wanted="a file in a folder that exists")
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
