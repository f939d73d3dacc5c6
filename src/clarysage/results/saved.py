"""Results read back from their files, by the format that a file says it has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from clarysage.results import comparison_file, importances_file, interactions_file, json_file, monitoring_file

Decode = Callable[[Any, str], Any]
FORMATS: dict[str, Decode] = {
    json_file.FORMAT: json_file.decode,
    comparison_file.FORMAT: comparison_file.decode,
    importances_file.FORMAT: importances_file.decode,
    interactions_file.FORMAT: interactions_file.decode,
    monitoring_file.FORMAT: monitoring_file.decode,
}


def load(path: str | Path) -> Any:
    """Read what ``save`` wrote of any result; every field is checked.

    Returns
    -------
    Explanation, Comparison, Monitoring, Importances or Interactions
    """
    data, name = json_file.read(path), Path(path).name
    found = data.get("format") if isinstance(data, dict) else None
    return FORMATS.get(str(found), FORMATS[json_file.FORMAT])(data, name)
