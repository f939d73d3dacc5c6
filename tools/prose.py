"""Checks the prose of pages and docstrings with proselint: part of ``make lint``.

    python -m tools.prose                # every finding, and exit code 1 where there is one

Code, formulas and addresses are taken out first, so that proselint reads sentences. ``NOT_CHECKED`` and ``ACCEPTED``
say which of its findings do not count, and why.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator

from tools.environments import ROOT

PAGES = ("*.md", "docs/*.md", "docs/site/*.md", "docs/gallery/*.rst", "experiments/*.md", ".github/*.md")
SOURCES = ("src/*.py", "src/*.pyi", "tools/*.py", "docs/gallery/*.py", "benchmarks/*.py", "experiments/*.py")
NOT_CHECKED = {  # checks, or what their names begin with, and the reason
    "typography": "quotes, dots and signs are typed as they are in code, and the site sets them",
    "needless_variants": "antithetic (sampling) and saliency (maps) are the terms of the field",
    "weasel_words.very": "it is a plain word, for what is far beyond the usual",
}
ACCEPTED = {  # what is found, in lower case, and the reason
    "7 am": "British usage, as in the rest",
    "colour": "British usage; color is the word in code and files",
    "enter in": "players enter in an order: nothing is entered",
    "family-": "family-wise error rate is the term of statistics",
    "(family-": "family-wise error rate is the term of statistics",
    "for ever": "as in: for every",
    "in a word": "bits in a word of memory",
    "less than or less than or": "less than, or less than or equal",
    "more false": "more false alarms",
    "p = 0.00": "the beginning of 0.0071",
}
PLACEHOLDER = "§"  # in place of what is no prose
FENCE = re.compile(r"^(```+|~~~+).*?^\1 *$", re.DOTALL | re.MULTILINE)
EXAMPLE = re.compile(r"^ *>>>.*\n(?: *\S.*\n)*", re.MULTILINE)
DIRECTIVE = re.compile(r"^( *)\.\. [\w-]+::.*\n(?:(?:\1 +.*)?\n)*", re.MULTILINE)
INLINE = re.compile(r":\w+:`[^`]*`|``[^`]+``|`[^`]+`|\$[^$\n]+\$|<[^>\n]+>|https?://\S+")
LINK = re.compile(r"\]\([^)]*\)")
TABLE = re.compile(r"^.*\S {2,}\S.*$", re.MULTILINE)
BREAK = re.compile(r"^ *$|^ *[-*] |^ *[*\w, ]+ :(?= |$)|\|", re.MULTILINE)  # of paragraphs, items, arguments, cells


def main() -> int:
    """Prints the findings; the exit code is 1 if there are any."""
    number = 0
    for path in files_in(*PAGES, *SOURCES):
        text = (ROOT / path).read_text(encoding="utf-8")
        prose = docstrings_of(text) if path.endswith((".py", ".pyi")) else text
        for finding in findings_in(sentences_of(prose)) if prose.strip() else ():
            print(f"{path}:{finding}")
            number += 1
    return int(number > 0)


def files_in(*patterns: str) -> list[str]:
    """Files of the repository that match a pattern; a star matches folders, too."""
    command = ["git", "ls-files", "--", *patterns]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def docstrings_of(source: str) -> str:
    """A source with everything blank but its docstrings, each in its lines."""
    lines = [""] * (source.count("\n") + 1)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            docstring = node.body[0]
            first, last = docstring.lineno - 1, docstring.end_lineno or docstring.lineno
            lines[first:last] = source.splitlines()[first:last]
    return "\n".join(lines).replace('"""', " ")


def sentences_of(text: str) -> str:
    """A text in which code, formulas and addresses are blank or a placeholder; its lines keep their numbers."""
    for block in (FENCE, EXAMPLE, DIRECTIVE, TABLE):
        text = block.sub(lambda match: "\n" * match[0].count("\n"), text)
    return BREAK.sub(f" {PLACEHOLDER} ", LINK.sub("]", INLINE.sub(PLACEHOLDER, text)))


def findings_in(text: str) -> Iterator[str]:
    """Line, check and message of each of proselint's findings that counts."""
    from proselint.checks import __register__
    from proselint.config import DEFAULT
    from proselint.registry import CheckRegistry
    from proselint.tools import LintFile

    if not CheckRegistry().checks:
        CheckRegistry().register_many(__register__)
    for result in LintFile("prose", text).lint(DEFAULT):
        start, end = result.check_result.span
        found = " ".join(f"\n{text}\n"[start:end].lower().split())
        if found not in ACCEPTED and not result.check_result.check_path.startswith(tuple(NOT_CHECKED)):
            yield f"{result.pos[0]}: {result.check_result.check_path}: {result.check_result.message} ({found})"


if __name__ == "__main__":
    sys.exit(main())
