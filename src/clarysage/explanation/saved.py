"""Results read back from their files, by the format that a file says it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clarysage.explanation import importances_file, interactions_file, json_file

DECODERS = {room.FORMAT: room.decode for room in (importances_file, interactions_file)}


def load(path: str | Path) -> Any:
    """Read what the ``save`` of an explanation, of importances or of interactions wrote; every field is checked.

    Returns
    -------
    Explanation, Importances or Interactions
    """
    data, name = json_file.read(path), Path(path).name
    kind = data.get("format") if isinstance(data, dict) else None
    return DECODERS.get(str(kind), json_file.decode)(data, name)
