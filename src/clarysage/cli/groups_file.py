"""Groups of features, from a JSON file of names and lists of columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from clarysage.cli.files import check_readable
from clarysage.errors import FormatError, InputError, resembling

EXAMPLE = 'a JSON file such as {"weather": ["temp", "wind"]}'


def read_groups(path: Path) -> dict[str, list[Any]]:
    """The groups in a file, in its order."""
    check_readable("--groups", path)
    try:
        groups = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FormatError("--groups", got=f"{path.name}, which is not JSON ({error})", wanted=EXAMPLE) from error
    if not isinstance(groups, dict) or not all(isinstance(members, list) for members in groups.values()):
        raise FormatError("--groups", got=f"{path.name}, which does not map names to lists", wanted=EXAMPLE)
    return groups


def check_groups(groups: dict[str, list[Any]], columns: list[str]) -> None:
    """Raise for a member that is no feature; names like it are suggested."""
    for name, members in groups.items():
        for member in members:
            if isinstance(member, str) and member not in columns:
                raise InputError(
                    "--groups", got=f"{member!r} in the group {name!r}", wanted="features of the model",
                    hint=resembling(member, columns),
                )  # fmt: skip
