"""Optional abilities of objects: a protocol declares an ability, :func:`ability` tells whether an object has it."""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Protocol, TypeVar, cast

Kind = TypeVar("Kind")


def ability(thing: object, kind: type[Kind]) -> Kind | None:
    """Returns an object that offers an optional ability of ``thing``, or None if ``thing`` does not have the ability.

    An ability is a class. A :class:`~typing.Protocol` is offered by objects that have all its public members; any other
    class is offered by its instances. Only types are inspected: no property is evaluated. An object whose abilities
    depend on its contents has a method ``__conform__(kind)`` (PEP 246), which returns the object to use, or None; it
    is called for abilities that the type alone does not offer.

    Examples
    --------
    >>> class Refits(Protocol):
    ...     def refit(self) -> str: ...
    >>> class Lasso:
    ...     def refit(self):
    ...         return "refitted"
    >>> ability(Lasso(), Refits).refit()
    'refitted'
    >>> ability("lasso", Refits) is None
    True

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Pipeline:
    ...     last: object
    ...     def __conform__(self, kind):
    ...         return ability(self.last, kind)
    >>> ability(Pipeline(Lasso()), Refits).refit()
    'refitted'
    >>> ability(Pipeline("lasso"), Refits) is None
    True
    """
    cls: type = type(thing)
    protocol: type = kind
    missing = _missing_members(cls, protocol)
    if missing is not None and (not missing or missing <= getattr(thing, "__dict__", {}).keys()):
        return cast(Kind, thing)
    conform = getattr(cls, "__conform__", None)
    return None if conform is None else cast("Kind | None", conform(thing, kind))


def gives_ability(cls: type, kind: type) -> bool:
    """Tells whether all instances of a class have an ability, because of their type alone.

    Examples
    --------
    >>> class Counts(Protocol):
    ...     def count(self, value: object) -> int: ...
    >>> gives_ability(list, Counts), gives_ability(dict, Counts)
    (True, False)
    """
    return _missing_members(cls, kind) == frozenset()


@lru_cache(maxsize=4096)
def _missing_members(cls: type, kind: type) -> frozenset[str] | None:
    """Returns the members of a protocol that a class lacks; None if ``kind`` is a class that it does not inherit."""
    if kind in cls.__mro__:
        return frozenset()
    if Protocol not in kind.__bases__:
        return None
    declared = {field.name for field in fields(cls)} if is_dataclass(cls) else set()
    bases = [base for base in kind.__mro__ if Protocol in base.__bases__]
    members = {name for base in bases for name in (*vars(base), *inspect.get_annotations(base))}
    absent = object()
    return frozenset(
        name
        for name in members - declared
        if not name.startswith("_") and inspect.getattr_static(cls, name, absent) is absent
    )
