"""Explanations in files that commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clarysage.cli.files import check_readable
from clarysage.errors import InputError


def explanation_in(path: Path) -> Any:
    """The explanation in a file, and no other result."""
    import clarysage as cs

    check_readable("FILE", path)
    found = cs.load(path)
    if not isinstance(found, cs.Explanation):
        raise InputError("FILE", got=f"{path}, which holds {type(found).__name__}", wanted="an explanation",
                         hint="a file that explain --json wrote")  # fmt: skip
    return found
