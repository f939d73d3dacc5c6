"""``clarysage explain --per-class`` and ``--per-target``: an explanation of each, as in Python."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import clarysage as cs
from cli_harness import enter, error_of, run

MODULE = """
import numpy as np
import clarysage as cs


def margin(X):
    return 3 * X["a"].to_numpy() - X["b"].to_numpy()


chance = cs.as_predictor(margin, output="sigmoid", classes=["no", "oh yes"], feature_names=["a", "b"])
outputs = cs.as_predictor(lambda X: np.column_stack([X["a"], 700 * X["b"]]), feature_names=["a", "b"])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "plain.py").write_text(MODULE)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    table["y"] = np.where(table["a"] > 0, "oh yes", "no")
    table.to_csv(tmp_path / "rows.csv", index=False)
    enter(tmp_path, monkeypatch)
    return tmp_path


def test_each_class_is_printed_and_has_its_own_file(folder):
    arguments = ("--target", "y", "--per-class", "--seed", "3", "--json", "out.json")
    result = run("explain", "plain:chance", "rows.csv", *arguments)
    assert result.exit_code == 0, result.stderr
    assert "cross entropy of class 'no'" in result.stdout
    assert "cross entropy of class 'oh yes'" in result.stdout
    import plain

    table = pd.read_csv(folder / "rows.csv")
    of_classes = cs.sage(plain.chance, table[["a", "b"]], table["y"], per_class=True, rng=3)
    for name, explanation in zip(["no", "oh_yes"], of_classes, strict=True):
        assert (cs.load(folder / f"out-{name}.json").values == explanation.values).all()
    assert not (folder / "out.json").exists()


def test_each_output_has_its_own_shapley_effects(folder):
    result = run("explain", "plain:outputs", "rows.csv", "--per-target", "--seed", "3", "--json", "out.json")
    assert result.exit_code == 0, result.stderr
    first, second = (cs.load(folder / f"out-{number}.json") for number in (0, 1))
    assert (first.top(1), second.top(1)) == (["a"], ["b"])


def test_several_explanations_are_not_printed_as_one_json(folder):
    options = ("--target", "y", "--per-class", "--json", "-")
    assert "--json: got -; wanted a file name" in error_of("explain", "plain:chance", "rows.csv", *options)
