"""A value in a configuration file, as the option that it sets takes it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from clarysage.cli.console import OptionError
from clarysage.cli.model_files import names_object

STDOUT = "-"
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
            return Path(value) if value == STDOUT else folder / Path(value).expanduser()
        if self.name in SOURCES and not names_object(value, folder):
            return str(folder / Path(value).expanduser())
        return self.kind(value)
