"""The page of a result, made by a room above this one, as text or as a file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from clarysage.whole_file import write_whole


def page_of(found: Any, path: str | Path | None, **options: Any) -> str | None:
    """The page as text, or None where it was written to a file; see :func:`clarysage.render.html` for the options."""
    page: str = import_module("clarysage.render").html(found, **options)
    if path is None:
        return page
    write_whole(page, path)
    return None
