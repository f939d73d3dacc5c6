"""Data inside a page: JSON that no HTML parser can mistake for the end of its script."""

from __future__ import annotations

import json
from typing import Any

# "<", ">" and "&" mean something to HTML; all beyond ASCII, such as U+2028, is escaped by json itself
ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"}


def inline_json(data: Any) -> str:
    r"""Plain objects as text for the inside of ``<script type="application/json">``.

    Examples
    --------
    >>> inline_json("</script>\u2028")
    '"\\u003c/script\\u003e\\u2028"'
    """
    return json.dumps(data, allow_nan=False, separators=(",", ":")).translate(ESCAPED)
