"""Measures with two names: the one that everybody knows comes first, and that of the paper is understood everywhere."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import clarysage as cs

NAMES = {
    "permutation importance": "permutation test",
    "conditional permutation importance": "conditional permutation test",
    "drop column importance": "feature ablation",
}
X = np.random.default_rng(0).normal(size=(40, 2))
Y = X @ [2.0, 1.0]
MODEL = LinearRegression().fit(X, Y)


@pytest.mark.parametrize(("name", "in_paper"), NAMES.items())
def test_both_names_are_the_same_function_and_the_same_row(name, in_paper):
    function = getattr(cs, name.replace(" ", "_"))
    assert getattr(cs, in_paper.replace(" ", "_")) is function
    assert name in cs.measures().index
    assert in_paper not in cs.measures().index
    assert cs.importance(in_paper, MODEL, X, Y, rng=0).measure == name


@pytest.mark.parametrize(("name", "in_paper"), NAMES.items())
def test_a_file_with_the_name_in_the_paper_is_read_and_compared(name, in_paper, tmp_path):
    explanation = cs.importance(name, MODEL, X, Y, rng=0)
    explanation.save(tmp_path / "e.json", rows=True)
    content = json.loads((tmp_path / "e.json").read_text())
    assert content["measure"] == name
    (tmp_path / "old.json").write_text(json.dumps(content | {"measure": in_paper}))
    old = cs.load(tmp_path / "old.json")
    assert old.measure == name
    assert not cs.compare(explanation, old).changed


def test_importances_know_both_names(tmp_path):
    importances = cs.importances(MODEL, X, Y, measures=["sage", "permutation test"], rng=0)
    assert [*importances] == ["sage", "permutation importance"]
    assert importances["permutation test"] is importances["permutation importance"]
    importances.save(tmp_path / "new.json")
    text = (tmp_path / "new.json").read_text()
    (tmp_path / "old.json").write_text(text.replace('"permutation importance"', '"permutation test"'))
    assert [*cs.load(tmp_path / "old.json")] == [*importances]
