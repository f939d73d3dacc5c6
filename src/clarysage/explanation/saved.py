"""Results read back from their files, by the format that a file says it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clarysage.explanation import importances_file, json_file


def load(path: str | Path) -> Any:
    """Read what :meth:`Explanation.save`, or :meth:`Importances.save`, wrote; every field is checked.

    Returns
    -------
    Explanation or Importances
    """
    data, name = json_file.read(path), Path(path).name
    if isinstance(data, dict) and data.get("format") == importances_file.FORMAT:
        return importances_file.decode(data, name)
    return json_file.decode(data, name)
