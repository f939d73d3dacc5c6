"""The user's cache: where it is, and files that are put there whole or not at all."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from pathlib import Path

from clarysage.errors import ClarysageWarning

VARIABLE = "CLARYSAGE_CACHE"


def cache_directory() -> Path | None:
    """The folder for downloaded datasets, by CLARYSAGE_CACHE or where the platform keeps such; None without a home."""
    named = os.environ.get(VARIABLE)
    try:
        return (Path(os.path.expanduser(named)) if named else _of_platform() / "clarysage") / "datasets"
    except RuntimeError:
        return None


def keep(content: bytes, path: Path) -> None:
    """Put a file into the cache; a warning where that is not possible."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            draft.write_bytes(content)
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        warnings.warn(
            f"{path} could not be written ({error.strerror or error}), so that {path.name} is downloaded again next "
            f"time. Set {VARIABLE} to a folder that can be written.",
            ClarysageWarning,
            stacklevel=2,
        )


def _of_platform() -> Path:
    if sys.platform == "win32":
        return _named("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return _named("XDG_CACHE_HOME") or Path.home() / ".cache"


def _named(variable: str) -> Path | None:
    """The folder in a variable; one that is relative does not count, as the XDG specification says."""
    path = Path(os.environ.get(variable, ""))
    return path if path.is_absolute() else None
