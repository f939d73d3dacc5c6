"""The docstrings of all public names are complete: parameters, what is returned, and an example that is run."""

from __future__ import annotations

import enum
import inspect
import re
import textwrap

import pytest

import clarysage

SECTION = re.compile(r"^(Parameters|Attributes|Returns|Yields|Raises|Notes|See Also|References|Examples)\n-+$", re.M)
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) :", re.M)
CONSTANTS = {"name", "ceiling"}  # what a class is called in results, and its largest loss: no choices of users
MODULES = ("datasets", "plots", "integrations")


def sections(docstring):
    """The sections of a docstring, by title."""
    parts = SECTION.split(docstring)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(text):
    """The names that a section has entries for."""
    return {name.strip("*") for line in ENTRY.findall(text) for name in line.split(", ")}


def parameters(thing):
    """The parameters that users can pass: for classes, to make an object."""
    if inspect.isclass(thing) and issubclass(thing, BaseException | enum.Enum):
        return []
    given = inspect.signature(thing).parameters.values()
    return [one.name for one in given if one.name not in CONSTANTS or one.default is one.empty]


def missing(thing):
    """What the docstring of a class or function lacks."""
    text = sections(inspect.getdoc(thing) or "")
    described = entries(text.get("Parameters", "")) | entries(text.get("Attributes", ""))
    lacks = [f"the parameter {name}" for name in parameters(thing) if name not in described]
    if not inspect.isclass(thing):
        returns = inspect.signature(thing).return_annotation
        lacks += ["what it returns"] if returns not in (None, "None") and not text.get("Returns", "").strip() else []
    return lacks + ([] if ">>> " in text.get("Examples", "") else ["an example"])


def public_things():
    """The public classes and functions, and the functions of the public modules."""
    for name in clarysage.__all__:
        thing = getattr(clarysage, name)
        if name in MODULES:
            functions = [(part, getattr(thing, part)) for part in thing.__all__]
            yield from ((f"{name}.{part}", one) for part, one in functions if inspect.isfunction(one))
        else:
            yield name, thing


@pytest.mark.parametrize("name", [name for name, _ in public_things()])
def test_a_public_name_is_documented(name):
    assert missing(dict(public_things())[name]) == []


def test_public_modules_have_functions_that_are_looked_at():
    names = [name for name, _ in public_things()]
    assert {"sage", "Explanation", "plots.bars", "datasets.wine"} <= set(names)
    assert len(names) > len(clarysage.__all__)


def whole(rows: int, name: str = "whole") -> int:
    """Returns the number.

    Parameters
    ----------
    rows : a number

    Returns
    -------
    the number

    Examples
    --------
    >>> whole(2)
    2
    """
    return rows


@pytest.mark.parametrize(
    ("cut", "lacks"),
    [
        ("rows : a number", "the parameter rows"),
        ("Returns\n-------\nthe number\n", "what it returns"),
        (">>> whole(2)\n2", "an example"),
    ],
)
def test_what_a_docstring_lacks_is_found(monkeypatch, cut, lacks):
    assert missing(whole) == []
    text = textwrap.dedent(f"    {whole.__doc__}")
    assert cut in text
    monkeypatch.setattr(whole, "__doc__", text.replace(cut, ""))
    assert missing(whole) == [lacks]
