"""The check of prose reads sentences and no code, and finds what is wrong in them."""

from __future__ import annotations

import pytest

from tools.prose import docstrings_of, findings_in, sentences_of

SOURCE = '''"""A module with with a stutter."""

def f(a):
    """Returns it.

    a : rows
        of the table

    >>> f(1)
    1 1
    """
    return "at the end of the day"
'''


def test_docstrings_keep_their_lines_and_all_else_is_blank():
    prose = docstrings_of(SOURCE)
    assert prose.count("\n") == SOURCE.count("\n")
    assert prose.splitlines()[0].strip() == "A module with with a stutter."
    assert "at the end of the day" not in prose


@pytest.mark.parametrize(
    "code",
    [
        "```python\nthe the\n```",
        "Call `the the` or ``the the``.",
        "[text](the the)",
        ">>> the the\nthe the\n",
        ".. math::\n\n    the the\n",
        "    the  the the",
    ],
)
def test_code_and_formulas_are_no_sentences_and_lines_keep_their_numbers(code):
    sentences = sentences_of(f"{code}\nThe end.\n")
    assert "the the" not in sentences
    assert sentences.splitlines()[code.count("\n") + 1].strip() == "The end."


def test_words_of_two_paragraphs_items_or_cells_are_not_side_by_side():
    for pair in ("rows\n\nrows", "rows\n- rows", "rows | rows", "a : rows\nrows : rows"):
        assert "§" in sentences_of(pair).strip()


@pytest.mark.needs("proselint")
def test_what_is_wrong_is_found_with_its_line_and_what_is_accepted_is_not():
    first, *others = findings_in(sentences_of(docstrings_of(SOURCE)))
    assert first.startswith("1: lexical_illusions")
    assert others == []
    assert list(findings_in("It is very good at 7 am.")) == []
    assert next(findings_in("\nAt the end of the day, all is well.")).startswith("2: cliches")
