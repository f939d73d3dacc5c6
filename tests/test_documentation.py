"""What README and docs say is so: their examples run, their commands and links exist."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clarysage import measures
from clarysage.measures.table import PROPERTIES

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page):
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
