"""What README and docs say is so: their examples run, their commands and links exist."""

from __future__ import annotations

import ast
import doctest
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import clarysage
from clarysage import measures
from clarysage._measures.table import PROPERTIES

ROOT = Path(__file__).parent.parent
TABLES_ALONE = ROOT / "docs" / "appendix"
START = ROOT / "docs" / "site" / "index.md"
DOCS = [START, *sorted(path for folder in ("", "guide", "theory") for path in (ROOT / "docs" / folder).glob("*.md"))]
PAGES = [*sorted(ROOT.glob("*.md")), *DOCS, *sorted(TABLES_ALONE.glob("*.md"))]
NEEDS = r"Needs `clarysage\[([\w,-]+)\]`\.\n"
BLOCK = re.compile(rf"(?:^{NEEDS}\n)?^```python\n.*?^```$", re.DOTALL | re.MULTILINE)
OF_A_PAGE = re.compile(rf"\A# [^\n]+\n\n{NEEDS}")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
IMPORTED_AS = {
    "mlflow-skinny": "mlflow",
    "xgboost-cpu": "xgboost",
    "scikit-learn": "sklearn",
    "sage-importance": "sage",
}


def extras_of(match):
    """The extras that a line names, none where there is no line."""
    return frozenset(match[1].split(",")) if match and match[1] else frozenset()


def libraries(extra):
    """The import names of an extra's libraries, as the mark ``needs`` takes them; extras that it names are followed."""
    names = []
    for requirement in EXTRAS[extra]:
        name, _, inner = re.match(r"([\w.-]+)(\[([\w,-]+)\])?", requirement).groups()
        if name == "clarysage":
            names += [library for other in inner.split(",") for library in libraries(other)]
        else:
            names.append(IMPORTED_AS.get(name, name))
    return names


def parts_of(page):
    """The extras that a whole page needs, and those that its blocks need besides, one set for each kind of block."""
    text = page.read_text()
    blocks = BLOCK.finditer(OF_A_PAGE.sub("", text))
    return extras_of(OF_A_PAGE.match(text)), [extras for block in blocks if (extras := extras_of(block))]


def examples(page, extras):
    """The page with the code of blocks blanked that need another extra than these, so that line numbers stay."""

    def kept(block):
        return block.group() if extras_of(block) <= extras else re.sub(r"[^\n]", "", block.group())

    return BLOCK.sub(kept, page.read_text().replace("\r\n", "\n"))


def name_of(page):
    """The path of a page in the repository."""
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


def page_cases():
    """Each page, and each page once more with the blocks that need some extras."""
    for page in DOCS:
        whole, parts = parts_of(page)
        for part in (frozenset(), *dict.fromkeys(parts)):
            extras = whole | part
            marks = [pytest.mark.needs(name) for extra in sorted(extras) for name in libraries(extra)]
            yield pytest.param(page, extras, id="+".join([name_of(page), *sorted(part)]), marks=marks)


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


PAGE = """# Why?

```python
>>> 1
1

```

Needs `clarysage[arrow]`.

```python
>>> 2
2

```

Needs `clarysage[arrow,polars]`.

```python
>>> 3
3

```
"""


@pytest.mark.parametrize(("extras", "kept"), [("", "1"), ("arrow", "12"), ("polars", "1"), ("arrow polars", "123")])
def test_blocks_are_left_out_whose_extras_are_not_all_there(tmp_path, extras, kept):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    text = examples(page, frozenset(extras.split()))
    assert "".join(re.findall(">>> (.)", text)) == kept
    assert text.count("\n") == PAGE.count("\n")
    assert parts_of(page) == (frozenset(), [{"arrow"}, {"arrow", "polars"}])


def test_a_page_that_needs_an_extra_says_so_below_its_title(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Why?\n\nNeeds `clarysage[mlflow]`.\n\n```python\n>>> 1\n1\n\n```\n")
    assert parts_of(page) == ({"mlflow"}, [])


def test_extras_that_name_extras_are_followed():
    assert {"distributed", "ray"} == set(libraries("clusters")) < set(libraries("all"))
    assert "clarysage" not in libraries("all")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_extras_that_a_page_needs_are_named_where_the_test_looks(page):
    whole, parts = parts_of(page)
    lines = re.findall(r"^Needs `clarysage.*", page.read_text(), flags=re.MULTILINE)
    understood = len(parts) + bool(whole)
    assert len(lines) == understood, f"{lines}: the line stands below the title, or above a block with a line between"
    assert whole.union(*parts) <= set(EXTRAS)


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
        [sys.executable, "-c", setting + "\n".join(lines).replace("\nclient", "\n\nclient")],
        cwd=tmp_path,
        env={**unset, "MLFLOW_DISABLE_TELEMETRY": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "runs").rglob("explanation.json"))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_of_a_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert missing == []


def test_pages_without_examples_are_tables():
    pages = [page.read_text() for page in TABLES_ALONE.glob("*.md")]
    assert pages
    assert all(text.count("\n| ") > 10 for text in pages)
    assert not any(">>>" in text for text in pages)


def names_defined_in(path):
    """The names that a file of the source defines: classes and their members, functions, variables."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def files_called(path):
    """The files that a page means by a path: of the repository, of the source, or by the end of it."""
    whole = [folder / path for folder in (ROOT, ROOT / "src" / "clarysage") if (folder / path).exists()]
    return whole or [file for file in (ROOT / "src").rglob("*.py") if file.as_posix().endswith(f"/{path}")]


@pytest.mark.parametrize("page", ["glossary.md", "design.md"])
def test_files_and_names_that_a_page_gives_exist(page):
    text = (ROOT / "docs" / page).read_text()
    references = re.findall(r"`([\w/]+\.py)(?:: (\w+(?:, \w+)*))?`", text)
    assert len(references) > 20
    missing = [
        f"{path}: {name}"
        for path, names in references
        for name in names.split(", ")
        if not any(not name or name in names_defined_in(file) for file in files_called(path))
    ]
    assert missing == []


def test_the_map_names_every_file_in_the_row_of_its_room():
    source = ROOT / "src" / "clarysage"
    page = (ROOT / "docs" / "design.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)/` \| (.*) \|$", page, flags=re.MULTILINE))
    assert set(rows) == {folder.parent.name for folder in source.glob("*/__init__.py")}
    for room, text in rows.items():
        folders = re.findall(r"`(\w+)/` \(a file each", text)  # whose files need no names
        named = {file.name for folder in folders for file in (source / room / folder).glob("*.py")}
        named |= set(re.findall(r"`(\w+\.py)`", text))
        assert named - {"__init__.py"} == {file.name for file in (source / room).rglob("*.py")} - {"__init__.py"}, room
    assert all(f"| `{file.name}`" in page or f", `{file.name}`" in page for file in source.glob("[!_]*.py"))


def functions_called(run):
    """The functions of the source that a call runs, (path, name) in the order of their first calls; and its result."""
    called = {}

    def note(frame, event, _):
        path = frame.f_code.co_filename.rpartition("/src/clarysage/")[2]
        if event == "call":
            called.update(dict.fromkeys((path, name) for name in frame.f_code.co_qualname.split(".")))

    run()  # imports, which would be slow while calls are noted
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        result = run()
    finally:
        sys.setprofile(before)
    return list(called), result


def functions_in_the_map(start, end):
    """The functions and classes that a part of the map names, with their files, but not those of other ways."""
    text = (ROOT / "docs" / "design.md").read_text().partition(start)[2].partition(end)[0]
    references = re.findall(r"`([\w/]+\.py): (\w+(?:, \w+)*)`", text)
    named = [(path, name) for path, names in references for name in names.split(", ")]
    return [(path, name) for path, name in named if name != "choose_removal" and "native.py" not in path]


def test_calls_pass_through_the_functions_of_the_map_in_its_order():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 14))
    y = X[:, 0] * X[:, 1] + rng.normal(size=60)
    called, explanation = functions_called(
        lambda: clarysage.sage(lambda X: X[:, 0] * X[:, 1], X, y, budget=40_000, rng=0)
    )
    named = functions_in_the_map("2. `_measures/sage.py", "**One chunk")
    assert len(named) > 20
    assert [function for function in called if function in named] == named
    assert set(functions_in_the_map("**One chunk", "**`cs.monitor")) <= set(called)
    called, _ = functions_called(explanation.report)
    named = functions_in_the_map("**`explanation.report()`**", "## ")
    assert [function for function in called if function in named] == named
    tables = [pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "y"]).assign(batch=1) for _ in range(2)]
    called, _ = functions_called(
        lambda: clarysage.monitor(lambda X: X["a"], *tables, target="y", by="batch", loss="squared error", rng=0)
    )
    assert set(functions_in_the_map("**`cs.monitor", "**`clarysage explain")) <= set(called)


def test_every_make_target_that_is_named_exists():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
    assert targets == set(re.search(r"^\.PHONY: (.*)", makefile, flags=re.MULTILINE)[1].split())
    commands = re.compile(r"(?:^|`)make ([a-z-]+)(?= *#|`|$| [A-Z]+=)", re.MULTILINE)  # of a block, or within a line
    named = {name for page in PAGES for name in commands.findall(page.read_text())}
    assert {"demo", "test", "test-all", "same-bits"} <= named
    assert named <= targets


def test_contributing_lists_every_make_target_with_what_it_does():
    targets = re.search(r"^\.PHONY: (.*)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)[1].split()
    listed = re.findall(r"^make ([a-z-]+).* # \w", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)
    assert sorted(listed) == sorted(targets)


def test_the_page_of_measures_has_the_table_of_measures():
    rows = [
        [cell.strip(" `*") for cell in line.split("|")[1:-1]]
        for line in (ROOT / "docs" / "measures.md").read_text().splitlines()
        if line.startswith("| ")
    ][1:]
    columns = ["approximates", "subdomain", "constant", *PROPERTIES]
    told = {name: [*cells] for name, *cells in measures()[columns].reset_index().itertuples(index=False)}
    assert {name: ["-" if cell == "–" else cell for cell in cells] for name, *cells in rows} == told
