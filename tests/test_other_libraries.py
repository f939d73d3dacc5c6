"""The comparison with other libraries: its table is the script's, whose truth is right; and how to cite."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import clarysage as cs

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "benchmarks"))

import compare_libraries as comparison  # noqa: E402


def kept():
    return json.loads((ROOT / "docs" / "comparison.json").read_text())  # made by compare_libraries.py


def test_the_page_has_the_table_that_the_script_makes_of_the_numbers_kept():
    page = (ROOT / "docs" / "comparison.md").read_text()
    assert f"<!-- libraries -->\n\n{comparison.block(kept())}\n\n<!-- end -->" in page


def test_the_numbers_kept_are_of_every_call_on_every_problem():
    calls = {(cell["library"], cell["call"]) for cell in kept()["cells"]}
    assert calls == {(peer.library, peer.call) for peer in comparison.PEERS}
    assert len(kept()["cells"]) == 2 * len(calls)
    assert set(kept()["versions"]) == {library for library, _ in calls}
    assert min(cell["runs"] for cell in kept()["cells"]) >= 5
    assert re.fullmatch(r"[0-9a-f]{40}", kept()["made"]["commit"])


@pytest.mark.parametrize("make", [comparison.simulated_network, comparison.cancer_trees])
def test_the_truth_of_a_problem_is_the_exact_value_here(make):
    problem = make()
    loss = "squared error" if problem.is_regression else "cross entropy"
    exact = cs.sage(
        problem.predictions, problem.X, problem.y, background=problem.background, loss=loss, method="exact", rng=0
    )
    assert np.allclose(problem.truth(), exact.values, atol=1e-9 * np.ptp(exact.values))


def test_the_rows_that_are_counted_are_those_that_a_call_reports():
    problem = comparison.simulated_network()
    counted = comparison.CountedRegressor(problem)
    explanation = cs.sage(
        counted.__call__, problem.X, problem.y, background=problem.background, method="paired walks", rng=0
    )
    assert counted.rows == explanation.model_rows


def test_a_call_that_approaches_other_values_is_not_extrapolated():
    cell = {**kept()["cells"][0], "offset": 0.8, "offset in standard errors": 50.0}
    assert comparison.line(cell).endswith("| +80% | other values |")
    assert "other values" not in comparison.line({**cell, "offset in standard errors": 1.0})


@pytest.mark.parametrize("file", ["CITATION.cff", "docs/cite.md"])
def test_the_version_to_cite_is_that_of_the_software(file):
    text = (ROOT / file).read_text().replace("cff-version", "")
    versions = re.findall(r"version\b[ :={']*(\d+(?:\.\d+)+)(?!\.\d)", text)
    assert versions
    assert set(versions) == {cs.__version__}
