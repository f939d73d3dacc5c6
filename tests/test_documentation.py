"""What README and docs say is so: their examples run, their commands and links exist."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import matplotlib as mpl
import pytest

import clarysage
from clarysage import measures
from clarysage.measures.table import PROPERTIES

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
BLOCK = re.compile(
    r"(?:^Needs `clarysage\[(?P<extra>\w+)\]`\.\n\n)?^```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
OF_A_PAGE = re.compile(r"\A# [^\n]+\n\nNeeds `clarysage\[(\w+)\]`\.\n")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
IMPORTED_AS = {"mlflow-skinny": "mlflow", "xgboost-cpu": "xgboost", "scikit-learn": "sklearn"}


def libraries(extra):
    """The import names of an extra's libraries, as the mark ``needs`` takes them."""
    names = [re.match(r"[\w.-]+", requirement).group() for requirement in EXTRAS[extra]]
    return [IMPORTED_AS.get(name, name) for name in names]


def needed(page):
    """The extra that a whole page needs, as the line below its title says; None for most."""
    stated = OF_A_PAGE.match(page.read_text())
    return stated and stated.group(1)


def examples(page, extras):
    """The page with the code of blocks blanked that need another extra than these, so that line numbers stay."""

    def kept(block):
        if block["extra"] in (None, *extras):
            return block.group()
        return re.sub(r"[^\n]", "", block.group())

    return BLOCK.sub(kept, page.read_text().replace("\r\n", "\n"))


def page_cases():
    """Each page, and each page once more with the blocks that need an extra."""
    for page in DOCS:
        whole = needed(page)
        first = OF_A_PAGE.sub("", page.read_text())
        parts = sorted({block["extra"] for block in BLOCK.finditer(first)} - {None})
        for part in (None, *parts):
            extras = [extra for extra in (whole, part) if extra]
            marks = [pytest.mark.needs(name) for extra in extras for name in libraries(extra)]
            yield pytest.param(page, extras, id="+".join([page.name, *([part] if part else [])]), marks=marks)


@pytest.mark.parametrize(("page", "extras"), list(page_cases()))
def test_the_examples_of_a_page_run(page, extras, request):
    if "mlflow" in extras:
        request.getfixturevalue("mlflow")
    test = doctest.DocTestParser().get_doctest(
        examples(page, extras), {"__name__": "__main__"}, page.name, str(page), 0
    )
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.tries > 0
    assert runner.failures == 0


def test_a_block_that_needs_an_extra_is_left_out_where_the_extra_is(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Why?\n\n```python\n>>> 1\n1\n\n```\n\nNeeds `clarysage[arrow]`.\n\n```python\n>>> 2\n2\n\n```\n")
    assert ">>> 1" in examples(page, [])
    assert ">>> 2" not in examples(page, [])
    assert ">>> 2" in examples(page, ["arrow"])
    assert examples(page, []).count("\n") == page.read_text().count("\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_extras_that_a_page_needs_are_named_where_the_test_looks(page):
    """The line stands below the title or right above a block, and names an extra of pyproject.toml."""
    text = page.read_text()
    lines = re.findall(r"^Needs `clarysage\[(\w+)\]`", text, flags=re.MULTILINE)
    understood = [needed(page)] if needed(page) else []
    understood += [block["extra"] for block in BLOCK.finditer(OF_A_PAGE.sub("", text)) if block["extra"]]
    assert lines == understood
    assert set(lines) <= set(EXTRAS)


def blocks_of_readme():
    """The blocks of Python in README.md."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def test_twelve_lines_of_the_readme_give_the_plot(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    code = blocks_of_readme()[0]
    assert len(code.strip().splitlines()) <= 12
    exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.splitlines()[2].split()[0] in ("flavanoids", "proline", "alcohol")
    assert (tmp_path / "wine.png").read_bytes().startswith(b"\x89PNG")


def test_the_fault_in_the_readme_is_found_and_told_as_it_says(capsys):
    exec(compile(blocks_of_readme()[1], "README.md", "exec"), {"__name__": "__main__", "cs": clarysage})
    sentence = re.search(r"It says: \*(.*?)\.\*", (ROOT / "README.md").read_text(), flags=re.DOTALL).group(1)
    assert sentence in capsys.readouterr().out


@pytest.mark.subprocess
@pytest.mark.needs("mlflow")
def test_the_page_of_integrations_can_be_tried_in_a_folder(tmp_path):
    """Its examples as written, one after the other, where nothing of MLflow is set."""
    text = (ROOT / "docs" / "integrations.md").read_text()
    setting, *_ = re.findall(r"```python\n(import os.*?)```", text, flags=re.DOTALL)
    blocks = re.findall(r"```python\n(>>> .*?)```", text, flags=re.DOTALL)[:2]
    lines = [line[4:] for line in "".join(blocks).splitlines() if line.startswith((">>> ", "... "))]
    unset = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    done = subprocess.run(
        [sys.executable, "-c", setting + "\n".join(lines).replace("\nclient", "\n\nclient")], cwd=tmp_path,
        env={**unset, "MLFLOW_DISABLE_TELEMETRY": "true"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "runs").rglob("explanation.json"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []


def test_every_make_target_that_is_named_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    commands = re.compile(r"(?:^|`)make ([a-z-]+)(?= *#|`|$| [A-Z]+=)", re.MULTILINE)  # of a block, or within a line
    named = {name for page in PAGES for name in commands.findall(page.read_text())}
    assert {"demo", "test", "test-all", "same-bits"} <= named
    assert named <= targets


def test_the_page_of_measures_has_the_table_of_measures():
    rows = [[cell.strip(" `*") for cell in line.split("|")[1:-1]] for line in
            (ROOT / "docs" / "measures.md").read_text().splitlines() if line.startswith("| ")][1:]  # fmt: skip
    columns = ["approximates", "subdomain", "constant", *PROPERTIES]
    told = {name: [*cells] for name, *cells in measures()[columns].reset_index().itertuples(index=False)}
    assert {name: ["-" if cell == "–" else cell for cell in cells] for name, *cells in rows} == told
