"""What README and docs say is so: their examples run, their commands and links exist."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clarysage import measures
from clarysage.measures.table import PROPERTIES

ROOT = Path(__file__).parent.parent
NEEDS = {"integrations.md": "mlflow"}  # an optional library, and the fixture of its name
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def marked(page):
    return pytest.param(page, id=page.name, marks=[pytest.mark.needs(NEEDS[page.name])] if page.name in NEEDS else [])


@pytest.mark.parametrize("page", [marked(page) for page in sorted((ROOT / "docs").glob("*.md"))])
def test_the_examples_of_a_page_run(page, request):
    if page.name in NEEDS:
        request.getfixturevalue(NEEDS[page.name])
    found = doctest.testfile(str(page), module_relative=False)
    assert found.attempted > 0
    assert found.failed == 0


def test_twelve_lines_of_the_readme_give_the_plot(tmp_path):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL).group(1)
    assert len(code.strip().splitlines()) <= 12
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={"MPLBACKEND": "Agg", "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[2].split()[0] in ("flavanoids", "proline", "alcohol")
    assert (tmp_path / "wine.png").read_bytes().startswith(b"\x89PNG")


def test_the_fault_in_the_readme_is_found_and_told_as_it_says():
    text = (ROOT / "README.md").read_text()
    code = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[1]
    shown = subprocess.run(
        [sys.executable, "-c", f"import clarysage as cs\n{code}"], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    said = re.search(r"It says: \*(.*?)\.\*", text, flags=re.DOTALL).group(1)
    assert said in shown.stdout


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
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"\bmake ([a-z]+)\b", page.read_text())}
    assert {"demo", "test"} <= named
    assert named & {"demo", "test", "lint", "bench", "calibrate", "clean"} <= targets


def test_the_page_of_measures_has_the_table_of_measures():
    rows = [[cell.strip(" `*") for cell in line.split("|")[1:-1]] for line in
            (ROOT / "docs" / "measures.md").read_text().splitlines() if line.startswith("| ")][1:]  # fmt: skip
    columns = ["approximates", "subdomain", "constant", *PROPERTIES]
    told = {name: [*cells] for name, *cells in measures()[columns].reset_index().itertuples(index=False)}
    assert {name: ["-" if cell == "–" else cell for cell in cells] for name, *cells in rows} == told
