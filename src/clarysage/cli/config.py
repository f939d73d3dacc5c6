"""``--config FILE``: what options are where no flag says otherwise, from a TOML file.

Keys are the names of options and arguments, with dashes or underscores. They stand at the top of the file, for any
command it is used with, or in a table with the name of a command, for that one. Paths are relative to its folder.
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

from clarysage.cli.console import OptionError
from clarysage.cli.files import check_readable
from clarysage.cli.model_files import names_object
from clarysage.errors import resembling

NO_KEYS = ("config", "help")


def configured(context: typer.Context, value: Path | None) -> Path | None:
    """The callback of ``--config``: what the file says becomes what options default to."""
    if value is not None and not context.resilient_parsing:
        context.default_map = defaults(value, context)
    return value


def or_configured(context: typer.Context, value: list[Path] | None) -> list[Path]:
    """The callback of an argument of many files: those of the configuration where none is given."""
    return value or (context.default_map or {}).get("files") or []


def defaults(path: Path, context: typer.Context) -> dict[str, Any]:
    """What a file says for a command, by the names of its parameters in Python; an error names the file and the key."""
    found, command, known = _read(path), str(context.command.name), _settings(context)
    commands = list(getattr(context.parent and context.parent.command, "commands", ()))
    for key, value in found.items():
        if isinstance(value, dict) and key not in commands:
            got, near = f"the table [{key}] in {path.name}", resembling(key, commands)
            raise OptionError("--config", got=got, wanted="tables with names of commands", hint=near)
    shared = {key: value for key, value in found.items() if not isinstance(value, dict)}
    return {**_of_table(shared, known, path, command), **_of_table(found.get(command, {}), known, path, command)}


def _read(path: Path) -> dict[str, Any]:
    check_readable("--config", path, suffix=".toml")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise OptionError(
            "--config", got=f"{path.name}, which is not TOML ({error})", wanted='lines such as html = "report.html"'
        ) from error


def _settings(context: typer.Context) -> dict[str, Setting]:
    """What can be set for a command, by key."""
    types, found = get_type_hints(context.command.callback), {}
    for parameter in context.command.params:
        name = str(parameter.name)
        key = next((option[2:] for option in parameter.opts if option.startswith("--")), name)
        if key not in NO_KEYS:
            found[key] = Setting.of(name, types[name], parameter.metavar)
    return found


def _of_table(table: Mapping[str, Any], known: Mapping[str, Setting], path: Path, command: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for spelled, value in table.items():
        key = spelled.replace("_", "-")
        if key not in known:
            raise OptionError(
                "--config",
                got=f"{spelled!r} in {path.name}, which is no option of {command}",
                wanted=f"those of clarysage {command} --help",
                hint=resembling(key, known),
            )
        if known[key].name in found:
            raise OptionError("--config", got=f"{key!r} twice in {path.name}", wanted="one spelling of it")
        found[known[key].name] = known[key].read(value, f"{spelled} = {{}} in {path.name}".format, path.parent)
    return found


SOURCES = ("model",)  # texts that are files as a rule
COUNTS = ("every",)  # texts that are numbers at times

# type of an option -> the types that its value has in a file, and how to say that
KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "a text"),
    Path: ((str,), "a text, the path of a file"),
}


@dataclass(frozen=True)
class Setting:
    """An option, or an argument, that a file can set.

    Attributes
    ----------
    name : of the parameter in Python
    kind : the type of its value, or of each of its values
    takes_many : whether it is a list; a single value will do, too
    is_joined : whether it is a text of several, separated by commas; a list will do, too
    """

    name: str
    kind: Any
    takes_many: bool
    is_joined: bool

    @classmethod
    def of(cls, name: str, annotation: Any, metavar: str | None) -> Setting:
        """From the parameter's type and what stands for its value in the help."""
        plain = next((one for one in get_args(annotation) if one is not NoneType), annotation)
        kind = plain if get_origin(annotation) is not list else annotation
        takes_many = get_origin(kind) is list
        return cls(name, get_args(kind)[0] if takes_many else kind, takes_many, "," in (metavar or ""))

    def read(self, value: Any, where: Callable[[str], str], folder: Path) -> Any:
        """The value as the option takes it; ``where`` says, of a value in words, in which file and key it stands."""
        many = value if isinstance(value, list) and (self.takes_many or self.is_joined) else [value]
        types, words = KINDS[self.kind]
        if self.name in COUNTS:
            types, words = (*types, int), f"{words} or a whole number"
        is_mixed = self.kind is not bool and any(isinstance(one, bool) for one in many)
        if is_mixed or not all(isinstance(one, types) for one in many):
            wanted = f"{words}, or a list of such" if self.takes_many or self.is_joined else words
            raise OptionError("--config", got=where(json.dumps(value, default=str, ensure_ascii=False)), wanted=wanted)
        found = [self._from(one, folder) for one in many]
        if self.takes_many:
            return found
        return ",".join(found) if self.is_joined else found[0]

    def _from(self, value: Any, folder: Path) -> Any:
        if self.kind is Path:
            return Path(value) if value == "-" else folder / Path(value).expanduser()
        if self.name in SOURCES and not names_object(value, folder):
            return str(folder / Path(value).expanduser())
        return self.kind(value)
