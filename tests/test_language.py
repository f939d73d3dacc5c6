"""The check of the source's language finds what it is there to find, and nothing in the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.language import SOURCE, findings_in, main

CLEAN = '''"""Moments of draws."""


def mean(values):
    """Returns the mean of the values."""
    total = sum(values)
    return total / len(values)
'''


def kinds_in(tmp_path, *sources):
    """The kinds of findings in files of these sources."""
    files = [tmp_path / f"module{number}.py" for number, _ in enumerate(sources)]
    for file, source in zip(files, sources, strict=True):
        file.write_text(source)
    return [finding.kind for finding in findings_in(files)]


def test_plain_source_has_no_findings(tmp_path):
    assert kinds_in(tmp_path, CLEAN) == []


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("total", "found", "name"),
        ("values", "one", "name"),
        ("def mean", "def doubt_in", "name"),
        ("Returns the mean of the values.", "What the values are on average.", "docstring"),
        ("Moments of draws.", "Of draws: their moments.", "docstring"),
        ("len(values)", "len(values)  # fmt: skip", "formatter override"),
    ],
)
def test_each_kind_of_dialect_is_found(tmp_path, before, after, kind):
    assert before in CLEAN
    assert set(kinds_in(tmp_path, CLEAN.replace(before, after))) == {kind}


def test_a_class_name_may_occur_once_in_all_files(tmp_path):
    source = "class Table:\n    pass\n"
    assert kinds_in(tmp_path, source, "class Trace:\n    pass\n") == []
    assert kinds_in(tmp_path, source, source) == ["class name that occurs twice"] * 2


def test_the_exit_code_says_whether_there_are_findings(tmp_path, capsys):
    file = tmp_path / "module.py"
    file.write_text(CLEAN)
    assert main([str(file)]) == 0
    file.write_text(CLEAN.replace("total", "told"))
    assert main([str(file)]) == 1
    assert "module.py:6: name: told" in capsys.readouterr().out


def test_the_source_speaks_the_language_of_the_field():
    assert findings_in(sorted((Path(__file__).parent.parent / SOURCE).rglob("*.py"))) == []
