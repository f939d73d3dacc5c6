"""Reads defaults of options and arguments from a TOML file (``--config FILE``).

Keys are the names of options and arguments, with dashes or underscores. Keys at the top of the file apply to all
commands; keys in a table with the name of a command apply to that command. Paths are relative to the file's folder.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import typer

from clarysage.cli.checks import check_readable
from clarysage.cli.console import OptionError
from clarysage.cli.messages import counterpart_flag
from clarysage.cli.model_files import names_object
from clarysage.errors import resembling

NO_KEYS = ("config", "help")


def configured(context: typer.Context, value: Path | None) -> Path | None:
    """Callback of ``--config``: the values in the file become the defaults of options."""
    if value is not None and not context.resilient_parsing:
        context.default_map = defaults(value, context)
    return value


def or_configured(context: typer.Context, value: list[Path] | None) -> list[Path]:
    """Callback of an argument of several files: without files on the command line, takes those of the configuration."""
    return value or (context.default_map or {}).get("files") or []


def defaults(path: Path, context: typer.Context) -> dict[str, Any]:
    """Returns the values for a command, by the Python names of its parameters; errors name the file and the key."""
    content, command, settings = _read(path), str(context.command.name), _settings(context)
    commands = list(getattr(context.parent and context.parent.command, "commands", ()))
    for key, value in content.items():
        if isinstance(value, dict) and key not in commands:
            got, similar = f"the table [{key}] in {path.name}", resembling(key, commands)
            raise OptionError("--config", got=got, wanted="tables with names of commands", hint=similar)
    shared = {key: value for key, value in content.items() if not isinstance(value, dict)}
    of_command = content.get(command, {})
    return {**_values(shared, settings, path, command), **_values(of_command, settings, path, command)}


def _read(path: Path) -> dict[str, Any]:
    check_readable("--config", path, suffix=".toml")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise OptionError(
            "--config", got=f"{path.name}, which is not TOML ({error})", wanted='lines such as html = "report.html"'
        ) from error


def _settings(context: typer.Context) -> dict[str, Setting]:
    """Returns the settings of a command by key."""
    types, settings = get_type_hints(context.command.callback), {}
    for parameter in context.command.params:
        name = str(parameter.name)
        key = next((option[2:] for option in parameter.opts if option.startswith("--")), name)
        if key not in NO_KEYS:
            settings[key] = Setting.of(name, types[name], parameter.metavar)
    return settings


def _values(table: Mapping[str, Any], settings: Mapping[str, Setting], path: Path, command: str) -> dict[str, Any]:
    """Returns the values of a TOML table by the Python names of parameters, checked and converted."""
    values: dict[str, Any] = {}
    for spelling, value in table.items():
        key = spelling.replace("_", "-")
        if key not in settings:
            near = counterpart_flag(key, [f"--{name}" for name in settings])
            raise OptionError(
                "--config",
                got=f"{spelling!r} in {path.name}, which is not an option of {command}",
                wanted=f"an option of clarysage {command} --help",
                hint=f"'{near[2:]}'" if near else resembling(key, settings),
            )
        setting = settings[key]
        if setting.name in values:
            raise OptionError("--config", got=f"{key!r} twice in {path.name}", wanted="one spelling of it")
        values[setting.name] = setting.read(value, f"{spelling} = {{}} in {path.name}".format, path.parent)
    return values


SOURCES = ("model",)  # texts that are usually files
COUNTS = ("every",)  # texts that may also be numbers

# type of an option -> the types of its value in a file, and their description
KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "a text"),
    Path: ((str,), "a text, the path of a file"),
}


@dataclass(frozen=True)
class Setting:
    """An option or argument that a configuration file can set.

    Attributes
    ----------
    name : the name of the parameter in Python
    kind : the type of its value, or of the items of its value
    takes_many : whether it is a list; files may have a single value instead
    is_joined : whether it is a text with commas between items; files may have a list instead
    """

    name: str
    kind: Any
    takes_many: bool
    is_joined: bool

    @classmethod
    def of(cls, name: str, annotation: Any, metavar: str | None) -> Setting:
        """Returns the setting of a parameter, given its type and its placeholder in the help."""
        plain = next((part for part in get_args(annotation) if part is not NoneType), annotation)
        kind = plain if get_origin(annotation) is not list else annotation
        takes_many = get_origin(kind) is list
        return cls(name, get_args(kind)[0] if takes_many else kind, takes_many, "," in (metavar or ""))

    def read(self, value: Any, where: Callable[[str], str], folder: Path) -> Any:
        """Returns the value as the option takes it; ``where`` adds the key and the file to a value in messages."""
        items = value if isinstance(value, list) and (self.takes_many or self.is_joined) else [value]
        types, description = KINDS[self.kind]
        if self.name in COUNTS:
            types, description = (*types, int), f"{description} or a whole number"
        is_mixed = self.kind is not bool and any(isinstance(item, bool) for item in items)
        if is_mixed or not all(isinstance(item, types) for item in items):
            description += ", or a list of these" if self.takes_many or self.is_joined else ""
            got = where(json.dumps(value, default=str, ensure_ascii=False))
            raise OptionError("--config", got=got, wanted=description)
        converted = [self._convert(item, folder) for item in items]
        if self.takes_many:
            return converted
        return ",".join(converted) if self.is_joined else converted[0]

    def _convert(self, value: Any, folder: Path) -> Any:
        if self.kind is Path:
            return Path(value) if value == "-" else folder / Path(value).expanduser()
        if self.name in SOURCES and not names_object(value, folder):
            return str(folder / Path(value).expanduser())
        return self.kind(value)
