"""``clarysage measures``: the same numbers as in Python, costs before refits, and one line for every error."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import clarysage as cs
from clarysage._measures import importances as room
from clarysage._measures.table import MEASURES
from tests.cli_harness import enter, error_of, printed_json, run

FEATURES = ["heat", "wind", "hour"]
QUICK = ["--target", "load", "--only", "sage,shapley effects", "--tolerance", "0.2"]

MODULE = """
def heat(rows):
    return 2 * rows["heat"]

def noisy(rows):
    print("chatter of the model")
    return 2 * rows["heat"]
"""


def make_table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 3)).round(6), columns=FEATURES)
    table["load"] = 2 * table["heat"] + table["wind"] * table["hour"] + rng.normal(size=n) / 4
    return table.round({"load": 6})


TRAIN, TEST = make_table(60, 1), make_table(40, 2)
MODEL = Ridge(alpha=2.0).fit(TRAIN[FEATURES], TRAIN["load"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data, groups, a model and a module, which is the current one."""
    TRAIN.to_csv(tmp_path / "train.csv", index=False)
    TEST.to_csv(tmp_path / "test.csv", index=False)
    joblib.dump(MODEL, tmp_path / "m.joblib")
    (tmp_path / "plain.py").write_text(MODULE)
    (tmp_path / "groups.json").write_text('{"weather": ["heat", "wind"]}')
    enter(tmp_path, monkeypatch)
    return tmp_path


def measures(*arguments: str, code: int = 0) -> dict[str, Any]:
    """The importances of a run, from the JSON on its stdout: explanations by measure."""
    data = printed_json("measures", *arguments, code=code)
    explanations: dict[str, Any] = data["explanations"]
    return explanations


def few(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let the table hold these measures alone, so that a run is quick."""
    monkeypatch.setattr(room, "MEASURES", {name: MEASURES[name] for name in names})


# numbers


def test_values_are_those_of_python(folder: Path) -> None:
    found = measures("plain:heat", "test.csv", *QUICK, "--background", "train.csv", "--seed", "4")
    expected = cs.importances(
        lambda rows: 2 * rows["heat"],
        TEST[FEATURES],
        TEST["load"],
        measures=["sage", "shapley effects"],
        background=TRAIN[FEATURES],
        tolerance=0.2,
        rng=4,
    )
    assert list(found) == list(expected) == ["sage", "shapley effects"]
    for name, explanation in expected.items():
        np.testing.assert_array_equal(found[name]["values"], explanation.values)


def test_rows_and_batches_are_limited_as_in_python(folder: Path) -> None:
    limits = ["--max-rows", "20", "--batch-size", "64", "--memory-limit", "1e8"]
    found = measures("plain:heat", "test.csv", *QUICK, *limits)
    expected = cs.importances(
        lambda rows: 2 * rows["heat"],
        TEST[FEATURES],
        TEST["load"],
        measures=["sage", "shapley effects"],
        tolerance=0.2,
        rng=0,
        max_rows=20,
        batch_size=64,
        memory_limit=1e8,
    )
    for name, explanation in expected.items():
        np.testing.assert_array_equal(found[name]["values"], explanation.values)
        assert found[name]["provenance"]["examples"] == 20


def test_conditional_test_alone_has_its_own_removal(folder: Path) -> None:
    name = "conditional permutation importance"
    found = measures("plain:heat", "test.csv", "--target", "load", "--only", name)
    assert found[name]["removal"] == "copula"


def test_options_reach_every_measure(folder: Path) -> None:
    options = ["--groups", "groups.json", "--loss", "Absolute_Error", "--removal", "baseline"]
    found = measures("plain:heat", "test.csv", *QUICK, *options)
    assert found["sage"]["feature_names"] == found["shapley effects"]["feature_names"] == ["weather", "hour"]
    assert found["sage"]["loss"] == "absolute error"
    assert {one["removal"] for one in found.values()} == {"baseline"}


def test_everything_that_applies_is_the_default_and_the_rest_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch, "sage", "drop column importance", "squared correlation", "network weights")
    result = run("measures", "m.joblib", "test.csv", "--target", "load", "--allow-pickle")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("3 features by 2 measures, loss: squared error\n")
    left_out = result.stdout[result.stdout.index("Left out") :]
    assert "drop column importance" in left_out
    assert "--refits allows them" in left_out
    assert "network weights. Got Ridge" in left_out


def test_table_is_that_of_the_importances(folder: Path) -> None:
    result = run("measures", "plain:heat", "test.csv", *QUICK)
    model = cs.as_predictor(lambda rows: 2 * rows["heat"])
    names = ["sage", "shapley effects"]
    expected = cs.importances(model, TEST[FEATURES], TEST["load"], measures=names, tolerance=0.2, rng=0)
    assert result.stdout == f"{expected}\n"


def test_without_target_measures_that_need_none_are_left(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, "sage", "shapley effects", "squared correlation")
    result = run("measures", "plain:heat", "test.csv", "--drop", "load", "--json", "-")
    data = json.loads(result.stdout)
    assert list(data["explanations"]) == ["shapley effects"]
    assert list(data["left_out"]) == ["sage", "squared correlation"]
    assert "refit the model" not in result.stderr


# refits


def test_cost_of_refits_is_said_to_those_who_did_not_ask(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, "sage", "drop column importance")
    said = run("measures", "m.joblib", "test.csv", "--target", "load", "--allow-pickle").stderr
    assert "shapley net effects (35 fits), drop column importance (20 fits), univariate predictors (20 fits)" in said
    assert "--refits asks for them" in said
    assert "about" not in said


def test_refits_are_made_on_request_and_their_cost_is_said_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, "sage", "shapley net effects", "drop column importance", "univariate predictors")
    arguments = ["m.joblib", "test.csv", "--target", "load", "--allow-pickle", "--refits", "--train", "train.csv"]
    result = run("measures", *arguments)
    assert result.exit_code == 0, result.stderr
    (cost,) = (line for line in result.stderr.splitlines() if "fits" in line)
    time = r"(less than a second|about \d+ s)"
    pattern = (
        rf"note: shapley net effects: 7 fits of linear models; drop column importance: 4 fits, {time}; "
        rf"univariate predictors: 4 fits, {time}\."
    )
    assert re.fullmatch(pattern, cost), cost
    found = measures(*arguments)
    train = (TRAIN[FEATURES], TRAIN["load"])
    expected = cs.drop_column_importance(MODEL, TEST[FEATURES], TEST["load"], train=train, rng=0)
    np.testing.assert_array_equal(found["drop column importance"]["values"], expected.values)
    assert found["drop column importance"]["provenance"]["fits"] == 4  # as was said
    assert found["univariate predictors"]["provenance"]["fits"] == 4
    assert found["shapley net effects"]["provenance"]["fits"] == 7


def test_refits_asked_for_by_name_need_no_flag(folder: Path) -> None:
    found = measures("m.joblib", "test.csv", "--target", "load", "--allow-pickle", "--only", "Feature-Ablation")
    expected = cs.drop_column_importance(MODEL, TEST[FEATURES], TEST["load"], rng=0)
    np.testing.assert_array_equal(found["drop column importance"]["values"], expected.values)
    assert found["drop column importance"]["provenance"]["fits"] == 20


def test_model_that_cannot_be_fitted_anew_has_no_refits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, "sage", "drop column importance")
    result = run("measures", "plain:heat", "test.csv", "--target", "load", "--refits", "--json", "found.json")
    assert result.exit_code == 0, result.stderr
    found = cs.load("found.json")
    assert list(found) == ["sage"]
    assert "cannot be refitted" in found.left_out["drop column importance"]
    text = " ".join(result.stdout.split())  # whose lines are wrapped
    assert "Left out: drop column importance. MODEL: got None, and a model that cannot be refitted" in text
    assert "Try a scikit-learn model in a .skops or .joblib file." in text
    said = error_of(
        "measures", "plain:heat", "test.csv", "--target", "load", "--only", "drop column importance", "--quiet"
    )
    assert said.startswith("error: MODEL: got None, and a model that cannot be refitted")
    assert said.endswith("Try a scikit-learn model in a .skops or .joblib file.")


def test_no_cost_is_said_of_fits_that_will_not_be_made(folder: Path) -> None:
    result = run(
        "measures", "plain:heat", "test.csv", *QUICK[:2], "--only", "sage,shapley net effects,drop column importance"
    )
    assert result.exit_code == 1
    assert "note: shapley net effects: 35 fits of linear models.\n" in result.stderr
    alone = run("measures", "plain:heat", "test.csv", *QUICK[:2], "--only", "drop column importance")
    assert "fits" not in alone.stderr


def test_rows_to_fit_on_without_the_weights_are_said_to_count_alike(folder: Path) -> None:
    TEST.assign(w=1.0).to_csv("test.csv", index=False)
    arguments = ["m.joblib", "test.csv", "--allow-pickle", *QUICK[:2], "--only", "drop column importance"]
    result = run("measures", *arguments, "--sample-weight", "w", "--train", "train.csv")
    assert result.exit_code == 0
    assert "note: train.csv has no column 'w': the model is refitted on its rows without weights." in result.stderr
    assert "without weights" not in run("measures", *arguments, "--train", "train.csv").stderr


@pytest.mark.needs("xgboost")
def test_booster_file_has_no_refits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import xgboost

    few(monkeypatch, "sage", "drop column importance")
    data = xgboost.DMatrix(TRAIN[FEATURES], TRAIN["load"])
    xgboost.train({"max_depth": 2, "nthread": 1}, data, 4).save_model("m.json")
    left_out = printed_json("measures", "m.json", "test.csv", "--target", "load", "--refits")["left_out"]
    assert "Booster" in str(left_out["drop column importance"]["text"])


def test_weights_of_rows_to_fit_on_are_used_where_the_file_has_them(folder: Path) -> None:
    weights = np.arange(len(TRAIN)) % 3
    TRAIN.assign(w=weights).to_csv("weighted.csv", index=False)
    TEST.assign(w=1.0).to_csv("t.csv", index=False)
    named = ["--target", "load", "--sample-weight", "w", "--train", "weighted.csv"]
    found = measures("m.joblib", "t.csv", "--allow-pickle", "--only", "drop column importance", *named)
    train = (TRAIN[FEATURES], TRAIN["load"], weights)
    expected = cs.drop_column_importance(
        MODEL, TEST[FEATURES], TEST["load"], train=train, sample_weight=np.ones(len(TEST)), rng=0
    )
    np.testing.assert_array_equal(found["drop column importance"]["values"], expected.values)


# files and exit codes


def test_files_are_written_and_load_again(folder: Path) -> None:
    files = ["--html", "all.html", "--json", "all.json", "--plot", "bars.png", "--ranks", "ranks.SVG"]
    result = run("measures", "plain:heat", "test.csv", *QUICK, *files)
    assert result.exit_code == 0, result.stderr
    assert isinstance(cs.load("all.json"), cs.Importances)
    assert cs.load("all.json").to_dict()["explanations"] == measures("plain:heat", "test.csv", *QUICK)
    assert (folder / "bars.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "ranks.SVG").read_text()
    assert [f"note: wrote {name}" in result.stderr for name in files[1::2]] == [True] * 4
    assert "sage" in (folder / "all.html").read_text()


def test_run_that_does_not_converge_prints_and_exits_with_3(folder: Path) -> None:
    arguments = ["m.joblib", "test.csv", "--target", "load", "--allow-pickle", "--only", "sage"]
    stop = ["--tolerance", "1e-6", "--budget", "3e3", "--json", "all.json"]
    (folder / "plain.py").write_text("def bent(rows):\n    return rows['heat'] * rows['wind'] - abs(rows['hour'])\n")
    result = run("measures", "plain:bent", *arguments[1:], *stop)
    assert result.exit_code == 3, result.stderr
    assert "note: not converged: sage. Stopped at the budget" in result.stderr
    assert "not converged" in result.stdout
    assert cs.load("all.json").unfinished == ("sage",)


def test_interrupted_run_keeps_what_it_has_and_exits_with_3(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(model: Any, X: Any, y: Any = None) -> Any:
        raise KeyboardInterrupt

    slow = replace(MEASURES["squared correlation"], call=interrupted)
    monkeypatch.setattr(room, "MEASURES", {"sage": MEASURES["sage"], slow.name: slow})
    result = run("measures", "plain:heat", "test.csv", "--target", "load", "--json", "all.json")
    assert result.exit_code == 3, result.stderr
    assert "note: interrupted; left out: squared correlation." in result.stderr
    assert list(cs.load("all.json")) == ["sage"]


def test_stdout_is_for_data_alone(folder: Path) -> None:
    assert list(measures("plain:noisy", "test.csv", *QUICK)) == ["sage", "shapley effects"]


def test_quiet_says_nothing(folder: Path) -> None:
    assert run("measures", "plain:heat", "test.csv", *QUICK, "--quiet").stderr == ""


def test_list_needs_no_model_and_names_every_measure() -> None:
    result = run("measures", "--list")
    assert result.exit_code == 0
    for name, row in MEASURES.items():
        game, properties = (line for line in result.stdout.splitlines() if re.match(rf"{name}\*?  ", line))
        assert properties.split()[-len(row.properties) :] == [*row.properties.values()]
        assert game.endswith("yes" if row.refits else "no")
        assert (f"{name}*" in game) == (f"{name}*" in properties) == row.is_heuristic
    assert max(map(len, result.stdout.splitlines())) <= 110


# wrong command lines


def test_wrong_options_are_usage_errors(folder: Path) -> None:
    arguments = ["measures", "plain:heat", "test.csv"]
    assert "MODEL: got nothing" in error_of("measures", code=2)
    assert "DATA: got nothing" in error_of("measures", "plain:heat", code=2)
    assert "Try 'permutation importance'" in error_of(*arguments, "--only", "sage,permutaton test", code=2)
    assert "--only: got ','" in error_of(*arguments, "--only", ",", code=2)
    assert "--loss: got 'squard error'" in error_of(*arguments, "--loss", "squard-error", code=2)
    assert "--tolerance: got -1" in error_of(*arguments, "--tolerance", "-1", code=2)
    assert "No such option: --method" in error_of(*arguments, "--method", "exact", code=2)


def test_wrong_files_are_told_before_anything_runs(folder: Path) -> None:
    arguments = ["measures", "plain:heat", "test.csv", *QUICK]
    assert "--train: got no.csv, which does not exist" in error_of(*arguments, "--train", "no.csv")
    assert "--ranks: got 'x.xyz'" in error_of(*arguments, "--ranks", "x.xyz")
    assert "--ranks: got a.png, as for --plot" in error_of(*arguments, "--plot", "a.png", "--ranks", "a.png")
    assert "--plot: got train.csv, which is an input" in error_of(
        *arguments, "--train", "train.csv", "--plot", "train.csv"
    )
    TRAIN[FEATURES].to_csv("bare.csv", index=False)
    assert "'load', which is not a column of bare.csv" in error_of(*arguments, "--train", "bare.csv")
    without = ["plain:heat", "test.csv", "--drop", "load", "--only", "shapley effects", "--train", "train.csv"]
    assert "--train: got rows to fit on without --target" in error_of("measures", *without)


def test_measure_that_needs_a_target_says_so(folder: Path) -> None:
    assert "--target: got None" in error_of("measures", "plain:heat", "test.csv", "--drop", "load", "--only", "sage")
