"""Changes of registries for the duration of a test."""

from __future__ import annotations

from typing import Any

import pytest

from clarysage.registry import Registry


def with_rows(monkeypatch: pytest.MonkeyPatch, registry: Registry[Any], *rows: Any) -> None:
    """Adds rows to a registry; they replace rows of the same name."""
    only_rows(
        monkeypatch,
        registry,
        *{**{row.name: row for row in registry.values()}, **{row.name: row for row in rows}}.values(),
    )


def only_rows(monkeypatch: pytest.MonkeyPatch, registry: Registry[Any], *rows: Any) -> None:
    """Replaces all rows of a registry."""
    stand_in = Registry(registry.argument, rows, special=registry.special)
    for name in ("_rows", "_spellings"):
        monkeypatch.setattr(registry, name, getattr(stand_in, name))
